#include "sandbox/browser/page_frames.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/browser/cdp_message.h"
#include "sandbox/browser/driver.h"

/* No legitimate page nests frames deeper. */
enum { MAX_DEPTH = 16 };

void page_frames_clear(struct driver *driver)
{
    for (size_t i = 0; i < driver->n_frames; i++)
        mem_free(driver->frames[i].url);
    driver->n_frames = 0;
}

static void add_frame(struct driver *driver, const json_t *frame)
{
    struct page_frame *added = &driver->frames[driver->n_frames++];

    *added = (struct page_frame){.url = mem_dup_text(json_text_or(frame, "url", ""))};
    cdp_copy_id(added->id, json_text_or(frame, "id", ""));
}

/* The frames of one level, and the next one to visit. */
struct level {
    const json_t *trees;
    size_t at;
};

/* Walks in document order without recursion, since the page controls the depth. */
static void add_frames(struct driver *driver, const json_t *tree)
{
    struct level levels[MAX_DEPTH] = {{json_object_get(tree, "childFrames"), 0}};
    size_t depth = 1;

    add_frame(driver, json_object_get(tree, "frame"));
    while (depth > 0 && driver->n_frames < MAX_FRAMES) {
        struct level *level = &levels[depth - 1];
        const json_t *child = json_array_get(level->trees, level->at++);

        if (child == NULL) {
            depth--;
            continue;
        }
        add_frame(driver, json_object_get(child, "frame"));
        if (depth < MAX_DEPTH)
            levels[depth++] = (struct level){json_object_get(child, "childFrames"), 0};
    }
}

/* A frame that has just vanished has no world. */
static int open_world(struct driver *driver, struct page_frame *frame, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put_text(params, "frameId", frame->id);
    json_put_text(params, "worldName", "deft");
    if (driver_ask_tab(driver, "Page.createIsolatedWorld", params, &result, err) < 0)
        return err->code == ERROR_INVALID ? 0 : -1;
    frame->world = json_int_or(result, "executionContextId", 0);
    return 0;
}

int page_frames_open_main(struct driver *driver, struct page_frame *frame_out, struct error *err)
{
    if (driver->current == NULL)
        return error_set(err, ERROR_NOT_FOUND, "no tab is open");
    *frame_out = (struct page_frame){.url = NULL};
    memcpy(frame_out->id, driver->current->target, sizeof(frame_out->id));
    return open_world(driver, frame_out, err);
}

int page_frames_read(struct driver *driver, struct error *err)
{
    json_auto_t *result = NULL;

    page_frames_clear(driver);
    if (driver_ask_tab(driver, "Page.getFrameTree", NULL, &result, err) < 0)
        return -1;
    add_frames(driver, json_object_get(result, "frameTree"));
    for (size_t i = 0; i < driver->n_frames; i++) {
        if (open_world(driver, &driver->frames[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Returns the exception of a script as an error. */
static int check_thrown(const json_t *result, struct error *err)
{
    const json_t *thrown = json_object_get(result, "exceptionDetails");
    const char *text = json_text_or(thrown, "text", "");

    if (thrown == NULL)
        return 0;
    return error_set(err, ERROR_INVALID, "The page's script failed: %s",
                     json_text_or(json_object_get(thrown, "exception"), "description", text));
}

/* Our functions return JSON text, so only a string has to be read from a page. */
static int read_value(const json_t *result, json_t **value_out, struct error *err)
{
    const json_t *value = json_object_get(json_object_get(result, "result"), "value");

    if (check_thrown(result, err) < 0)
        return -1;
    if (!json_is_string(value))
        return error_set(err, ERROR_INVALID, "The page's script returned no result.");
    return cdp_parse(json_string_value(value), json_string_length(value), value_out, err);
}

int frame_call(struct driver *driver, const struct page_frame *frame, const char *function,
               const char *arguments, json_t **value_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf expression = STRBUF_INIT;
    json_auto_t *result = NULL;
    json_t *params = json_object();

    strbuf_appendf(&expression, "(%s)(%s)", function, arguments);
    json_put_text(params, "expression", expression.text);
    json_put(params, "contextId", json_integer(frame->world));
    json_put(params, "returnByValue", json_true());
    if (driver_ask_tab(driver, "Runtime.evaluate", params, &result, err) < 0)
        return -1;
    return read_value(result, value_out, err);
}

int frame_object(struct driver *driver, const struct page_frame *frame, const char *expression,
                 char **object_out, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put_text(params, "expression", expression);
    json_put(params, "contextId", json_integer(frame->world));
    if (driver_ask_tab(driver, "Runtime.evaluate", params, &result, err) < 0 ||
        check_thrown(result, err) < 0)
        return -1;
    *object_out = mem_dup_text(json_text_or(json_object_get(result, "result"), "objectId", ""));
    return 0;
}

static json_t *one_argument(const char *text)
{
    json_t *arguments = json_array();
    json_t *argument = json_object();

    json_put_text(argument, "value", text);
    json_push(arguments, argument);
    return arguments;
}

int object_call(struct driver *driver, const char *object, const char *function, const char *text,
                json_t **value_out, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put_text(params, "objectId", object);
    json_put_text(params, "functionDeclaration", function);
    json_put(params, "returnByValue", json_true());
    if (text != NULL)
        json_put(params, "arguments", one_argument(text));
    if (driver_ask_tab(driver, "Runtime.callFunctionOn", params, &result, err) < 0)
        return -1;
    return read_value(result, value_out, err);
}

#include "sandbox/browser/input.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/navigate.h"
#include "sandbox/browser/page_frames.h"
#include "sandbox/browser/page_state.h"
#include "sandbox/browser/script.h"
#include "sandbox/browser/tabs.h"

enum {
    MIN_SENSITIVE_CHARS = 6,
    MIN_KEY_CHARS = 16,
    SCROLL_PIXELS = 500,
    ENTER_KEY = 13,
};

/* A listed element, ready for input. */
struct element {
    char *object;  /* its handle */
    json_t *facts; /* of SCRIPT_READY */
};

static void element_done(struct element *element)
{
    mem_free(element->object);
    json_decref(element->facts);
}

static int fail_missing(json_int_t index, struct error *err)
{
    return error_set(err, ERROR_INVALID,
                     "Element with index %lld not found. browser_get_state lists the elements.",
                     (long long)index);
}

static int find_element(struct driver *driver, const json_t *args, struct element *element,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf expression = STRBUF_INIT;
    json_int_t index = json_int_or(args, "index", -1);
    size_t place = 0;
    const struct page_frame *frame = page_state_find(driver, index, &place);

    if (frame == NULL)
        return fail_missing(index, err);
    strbuf_appendf(&expression, "globalThis.deftElements?.[%zu]", place);
    if (frame_object(driver, frame, expression.text, &element->object, err) < 0)
        return err->code == ERROR_INVALID ? fail_missing(index, err) : -1;
    if (element->object[0] == '\0')
        return fail_missing(index, err);
    if (object_call(driver, element->object, SCRIPT_READY, NULL, &element->facts, err) < 0)
        return -1;
    if (json_bool_or(element->facts, "gone", 0))
        return fail_missing(index, err);
    return 0;
}

/* --- pressing --- */

static int send_mouse(struct driver *driver, const char *type, double x, double y,
                      struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put_text(params, "type", type);
    json_put(params, "x", json_real(x));
    json_put(params, "y", json_real(y));
    json_put_text(params, "button", text_equal(type, "mouseMoved") ? "none" : "left");
    json_put(params, "clickCount", json_integer(1));
    return driver_ask_tab(driver, "Input.dispatchMouseEvent", params, &result, err);
}

/* The center of its first box, in the page's own coordinates also within frames. */
static int find_middle(struct driver *driver, const struct element *element, double *x_out,
                       double *y_out, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();
    const json_t *quad = NULL;

    json_put_text(params, "objectId", element->object);
    if (driver_ask_tab(driver, "DOM.getContentQuads", params, &result, err) < 0)
        return -1;
    quad = json_array_get(json_object_get(result, "quads"), 0);
    if (json_array_size(quad) != 8)
        return error_set(err, ERROR_INVALID, "the element is not visible on the page");
    *x_out =
        (json_number_value(json_array_get(quad, 0)) + json_number_value(json_array_get(quad, 4))) /
        2;
    *y_out =
        (json_number_value(json_array_get(quad, 1)) + json_number_value(json_array_get(quad, 5))) /
        2;
    return 0;
}

static int press_by_script(struct driver *driver, const struct element *element, struct error *err)
{
    json_auto_t *done = NULL;

    return object_call(driver, element->object, SCRIPT_PRESS, NULL, &done, err);
}

static int press(struct driver *driver, const struct element *element, struct error *err)
{
    double x = 0;
    double y = 0;

    if (!json_bool_or(element->facts, "hit", 0))
        return press_by_script(driver, element, err);
    if (find_middle(driver, element, &x, &y, err) < 0)
        return err->code == ERROR_INVALID ? press_by_script(driver, element, err) : -1;
    if (send_mouse(driver, "mouseMoved", x, y, err) < 0 ||
        send_mouse(driver, "mousePressed", x, y, err) < 0)
        return -1;
    return send_mouse(driver, "mouseReleased", x, y, err);
}

/* A page that closes itself or navigates away on a click counts as clicked. */
static int press_and_settle(struct driver *driver, const struct element *element, struct error *err)
{
    if (press(driver, element, err) < 0 &&
        (err->code != ERROR_NOT_FOUND || (driver->current != NULL && driver->current->is_crashed)))
        return -1;
    return navigate_settle(driver, err);
}

static void note_new_tab(struct driver *driver, const char *target_before)
{
    if (driver->current == NULL)
        driver_note(driver, "The page closed its tab.");
    else if (!text_equal(driver->current->target, target_before))
        driver_note(driver, "The current tab is now %s: %s", tab_name(driver->current),
                    driver->current->url);
}

static int open_link(struct driver *driver, const char *href, struct driver_reply *reply,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

    if (navigate_read_url(href, &url, err) < 0 || navigate_open_tab(driver, url.text, err) < 0)
        return -1;
    strbuf_appendf(&reply->text, " and opened its link in a new tab: %s", url.text);
    return 0;
}

int input_click(struct driver *driver, const json_t *args, struct driver_reply *reply,
                struct error *err)
{
    CLEANUP(element_done) struct element element = {NULL, NULL};
    char before[CDP_ID_BYTES];
    const char *href = NULL;

    memcpy(before, driver->current->target, sizeof(before));
    if (find_element(driver, args, &element, err) < 0)
        return -1;
    strbuf_appendf(&reply->text, "Clicked element %lld", (long long)json_int_or(args, "index", 0));
    href = json_text_or(element.facts, "href", "");
    if (json_bool_or(args, "new_tab", 0) && text_starts_with(href, "http"))
        return open_link(driver, href, reply, err);
    if (press_and_settle(driver, &element, err) < 0)
        return -1;
    note_new_tab(driver, before);
    return 0;
}

/* --- typing --- */

static bool is_address(const char *text)
{
    const char *at = strrchr(text, '@');

    return at != NULL && strchr(at, '.') != NULL && strchr(text, ' ') == NULL;
}

static bool is_key(const char *text)
{
    return strlen(text) >= MIN_KEY_CHARS && strpbrk(text, "0123456789") != NULL &&
           strpbrk(text, ".-_") != NULL && strpbrk(text, " \n\t/") == NULL;
}

const char *input_shown_text(const char *text)
{
    if (strlen(text) >= MIN_SENSITIVE_CHARS && is_address(text))
        return "<email>";
    return is_key(text) ? "<credential>" : text;
}

static int insert_text(struct driver *driver, const char *text, size_t len, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put(params, "text", json_text(text, len));
    return driver_ask_tab(driver, "Input.insertText", params, &result, err);
}

static int send_enter(struct driver *driver, const char *type, struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();

    json_put_text(params, "type", type);
    json_put_text(params, "key", "Enter");
    json_put_text(params, "code", "Enter");
    json_put_text(params, "text", text_equal(type, "keyDown") ? "\r" : NULL);
    json_put(params, "windowsVirtualKeyCode", json_integer(ENTER_KEY));
    return driver_ask_tab(driver, "Input.dispatchKeyEvent", params, &result, err);
}

/* A newline is sent as the Enter key, which submits a form or starts a new line. */
static int write_lines(struct driver *driver, const char *text, struct error *err)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");

        if (len > 0 && insert_text(driver, text, len, err) < 0)
            return -1;
        text += len;
        if (*text != '\n')
            continue;
        if (send_enter(driver, "keyDown", err) < 0 || send_enter(driver, "keyUp", err) < 0)
            return -1;
        text++;
    }
    return 0;
}

static int clear_field(struct driver *driver, const struct element *element, struct error *err)
{
    static const char *const types[] = {"keyDown", "keyUp"};
    json_auto_t *done = NULL;

    if (object_call(driver, element->object, SCRIPT_FOCUS, NULL, &done, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        json_auto_t *result = NULL;
        json_t *params = json_object();

        json_put_text(params, "type", types[i]);
        json_put_text(params, "key", "Delete");
        json_put_text(params, "code", "Delete");
        json_put(params, "windowsVirtualKeyCode", json_integer(46));
        if (driver_ask_tab(driver, "Input.dispatchKeyEvent", params, &result, err) < 0)
            return -1;
    }
    return 0;
}

static int type_text(struct driver *driver, const struct element *element, const char *text,
                     struct error *err)
{
    json_auto_t *is_set = NULL;

    if (object_call(driver, element->object, SCRIPT_SET_VALUE, text, &is_set, err) < 0)
        return -1;
    if (json_is_true(is_set))
        return 0;
    if (clear_field(driver, element, err) < 0)
        return -1;
    return write_lines(driver, text, err);
}

static int choose_option(struct driver *driver, const struct element *element, const char *text,
                         struct error *err)
{
    json_auto_t *options = NULL;

    if (object_call(driver, element->object, SCRIPT_CHOOSE, text, &options, err) < 0)
        return -1;
    if (json_is_string(options))
        return error_set(err, ERROR_INVALID, "There is no such option. The options are: %s",
                         json_string_value(options));
    return 0;
}

/* For a file input, sets the path of a file in the sandbox. */
static int choose_file(struct driver *driver, const struct element *element, const char *path,
                       struct error *err)
{
    json_auto_t *result = NULL;
    json_t *params = json_object();
    json_t *files = json_array();

    json_push(files, json_text(path, strlen(path)));
    json_put(params, "files", files);
    json_put_text(params, "objectId", element->object);
    return driver_ask_tab(driver, "DOM.setFileInputFiles", params, &result, err);
}

static int write_into(struct driver *driver, const struct element *element, const char *text,
                      struct error *err)
{
    const char *kind = json_text_or(element->facts, "kind", "none");

    if (text_equal(kind, "none"))
        return error_set(err, ERROR_INVALID,
                         "Nothing can be typed into this element; click it instead.");
    if (text_equal(kind, "file"))
        return choose_file(driver, element, text, err);
    if (text_equal(kind, "select"))
        return choose_option(driver, element, text, err);
    return type_text(driver, element, text, err);
}

int input_type(struct driver *driver, const json_t *args, struct driver_reply *reply,
               struct error *err)
{
    CLEANUP(element_done) struct element element = {NULL, NULL};
    const char *text = json_text_or(args, "text", "");
    const char *shown = input_shown_text(text);
    char before[CDP_ID_BYTES];

    memcpy(before, driver->current->target, sizeof(before));
    if (find_element(driver, args, &element, err) < 0)
        return -1;
    if (write_into(driver, &element, text, err) < 0 || navigate_settle(driver, err) < 0)
        return -1;
    if (text_equal(json_text_or(element.facts, "kind", ""), "secret"))
        shown = "<credential>";
    strbuf_appendf(&reply->text,
                   shown == text ? "Typed '%s' into element %lld" : "Typed %s into element %lld",
                   shown, (long long)json_int_or(args, "index", 0));
    note_new_tab(driver, before);
    return 0;
}

/* --- scrolling --- */

int input_scroll(struct driver *driver, const json_t *args, struct driver_reply *reply,
                 struct error *err)
{
    const char *direction = json_text_or(args, "direction", "down");
    bool is_up = text_equal(direction, "up");
    CLEANUP(strbuf_done) struct strbuf pixels = STRBUF_INIT;
    json_auto_t *where = NULL;
    struct page_frame page = {.url = NULL};

    if (!is_up && !text_equal(direction, "down"))
        return error_set(err, ERROR_INVALID, "direction must be up or down.");
    strbuf_appendf(&pixels, "%d", is_up ? -SCROLL_PIXELS : SCROLL_PIXELS);
    if (page_frames_open_main(driver, &page, err) < 0 ||
        frame_call(driver, &page, SCRIPT_SCROLL, pixels.text, &where, err) < 0)
        return -1;
    strbuf_appendf(&reply->text, "Scrolled %s; %lld pixels are above now", direction,
                   (long long)json_int_or(where, "y", 0));
    return 0;
}

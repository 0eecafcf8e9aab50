#include "sandbox/browser/page_state.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/navigate.h"
#include "sandbox/browser/page_frames.h"
#include "sandbox/browser/screenshot.h"
#include "sandbox/browser/script.h"
#include "sandbox/browser/tabs.h"

enum { MAX_ELEMENTS = 2000, MAX_TRIES = 3 };

static const char *const element_members[] = {"tag", "text", "placeholder", "href"};

/* A page's description of an element, reduced to the members and types that we know. */
static json_t *read_element(const json_t *told, size_t index)
{
    json_t *element = json_object();

    json_put(element, "index", json_integer((json_int_t)index));
    for (size_t i = 0; i < ARRAY_SIZE(element_members); i++)
        json_put_text(element, element_members[i],
                      json_text_or(told, element_members[i], i < 2 ? "" : NULL));
    return element;
}

size_t page_state_append(struct strbuf *out, json_t *page, const json_t *elements)
{
    json_t *listed = json_array();
    size_t start = out->len;
    size_t n_chars = 0;
    size_t i = 0;
    const json_t *told = NULL;

    json_put(page, "interactive_elements", listed);
    json_append_text(out, page);
    n_chars = utf8_length(out->text + start, out->len - start);
    strbuf_truncate(out, start);
    json_array_foreach (elements, i, told) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_t *element = read_element(told, i);

        json_append_text(&text, element);
        n_chars += utf8_length(text.text, text.len) + 1;
        if (n_chars > MAX_BROWSER_TEXT_CHARS) {
            json_decref(element);
            break;
        }
        json_push(listed, element);
    }
    json_append_text(out, page);
    return json_array_size(listed);
}

const struct page_frame *page_state_find(const struct driver *driver, json_int_t index,
                                         size_t *place_out)
{
    /* The numbers belong to another tab's elements. */
    if (driver->current == NULL || index < 0 ||
        !text_equal(driver->indexed_target, driver->current->target))
        return NULL;
    for (size_t i = 0; i < driver->n_frames; i++) {
        const struct page_frame *frame = &driver->frames[i];

        if ((size_t)index >= frame->first && (size_t)index - frame->first < frame->n) {
            *place_out = (size_t)index - frame->first;
            return frame;
        }
    }
    return NULL;
}

static int collect_of_frame(struct driver *driver, struct page_frame *frame, json_t *elements,
                            struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf most = STRBUF_INIT;
    json_auto_t *list = NULL;

    frame->first = json_array_size(elements);
    frame->n = 0;
    strbuf_appendf(&most, "%zu", (size_t)MAX_ELEMENTS - frame->first);
    if (frame_call(driver, frame, SCRIPT_ELEMENTS, most.text, &list, err) < 0)
        return -1;
    frame->n = json_array_size(list);
    if (frame->n > (size_t)MAX_ELEMENTS - frame->first)
        return error_set(err, ERROR_INVALID, "The page lists too many elements.");
    (void)json_array_extend(elements, list);
    return 0;
}

/* A frame that vanishes during the read has no elements; the page itself must answer. */
static int collect(struct driver *driver, json_t *elements, struct error *err)
{
    (void)json_array_clear(elements);
    if (page_frames_read(driver, err) < 0)
        return -1;
    for (size_t i = 0; i < driver->n_frames; i++) {
        if (collect_of_frame(driver, &driver->frames[i], elements, err) < 0 &&
            (i == 0 || err->code != ERROR_INVALID))
            return -1;
    }
    memcpy(driver->indexed_target, driver->current->target, sizeof(driver->indexed_target));
    return 0;
}

/* A page that navigates away while it is read is read again. */
static int collect_settled(struct driver *driver, json_t *elements, struct error *err)
{
    for (int i = 1; i < MAX_TRIES; i++) {
        if (collect(driver, elements, err) == 0)
            return 0;
        if (err->code != ERROR_INVALID || navigate_settle(driver, err) < 0)
            return -1;
    }
    return collect(driver, elements, err);
}

static int measure(struct driver *driver, json_t *page, struct error *err)
{
    static const char *const names[] = {"viewport", "page", "scroll"};
    json_auto_t *measures = NULL;

    if (frame_call(driver, &driver->frames[0], SCRIPT_MEASURES, "", &measures, err) < 0)
        return err->code == ERROR_INVALID ? 0 : -1;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        json_put(page, names[i], json_incref(json_object_get(measures, names[i])));
    return 0;
}

int page_state_get(struct driver *driver, const json_t *args, struct driver_reply *reply,
                   struct error *err)
{
    json_auto_t *page = json_object();
    json_auto_t *elements = json_array();
    size_t n_listed = 0;

    if (collect_settled(driver, elements, err) < 0 || tabs_refresh(driver, err) < 0)
        return -1;
    if (driver->current == NULL)
        return error_set(err, ERROR_NOT_FOUND, "The page closed its tab. Navigate again.");
    json_put_text(page, "url", driver->current->url);
    json_put_text(page, "title", driver->current->title);
    json_put(page, "tabs", tabs_list(driver));
    json_put(page, "interactive_elements", json_array());
    if (measure(driver, page, err) < 0)
        return -1;
    n_listed = page_state_append(&reply->text, page, elements);
    if (n_listed < json_array_size(elements))
        driver_note(driver, "%zu further elements are not listed.",
                    json_array_size(elements) - n_listed);
    if (!json_bool_or(args, "include_screenshot", 0))
        return 0;
    return screenshot_take(driver, &reply->screenshot, err);
}

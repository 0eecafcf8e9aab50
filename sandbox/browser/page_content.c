#include "sandbox/browser/page_content.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/browser/driver.h"
#include "sandbox/browser/navigate.h"
#include "sandbox/browser/page_frames.h"
#include "sandbox/browser/script.h"

int page_content_append_window(struct strbuf *out, const char *url, const struct strbuf *text,
                               json_int_t start, struct error *err)
{
    size_t n_chars = utf8_length(text->text, text->len);
    size_t first = start > 0 ? (size_t)start : 0;
    size_t last = first + CONTENT_WINDOW_CHARS;
    size_t from = 0;
    size_t to = 0;

    if (first > n_chars || (first == n_chars && first > 0))
        return error_set(err, ERROR_INVALID,
                         "start_from_char (%zu) is past the end: the content has %zu characters.",
                         first, n_chars);
    if (last > n_chars)
        last = n_chars;
    from = utf8_offset(text->text, text->len, first);
    to = utf8_offset(text->text, text->len, last);
    strbuf_appendf(out, "URL: %s\nCharacters %zu to %zu of %zu.", url, first, last, n_chars);
    if (last < n_chars)
        strbuf_appendf(out, " For more: start_from_char=%zu.", last);
    strbuf_append(out, "\n\n");
    strbuf_append_bytes(out, text->text + from, to - from);
    return 0;
}

/* An empty, hidden or vanished frame adds nothing; the page itself must answer. */
static int append_frame(struct driver *driver, const struct page_frame *frame, const char *links,
                        struct strbuf *text, struct error *err)
{
    json_auto_t *markdown = NULL;

    if (frame_call(driver, frame, SCRIPT_MARKDOWN, links, &markdown, err) < 0)
        return err->code == ERROR_INVALID && frame != driver->frames ? 0 : -1;
    if (!json_is_string(markdown) || json_string_length(markdown) == 0)
        return 0;
    if (frame != driver->frames)
        strbuf_appendf(text, "\n\n---\nFrame: %s\n\n", frame->url);
    strbuf_append(text, json_string_value(markdown));
    return 0;
}

static int read_frames(struct driver *driver, const char *links, struct strbuf *text,
                       struct error *err)
{
    struct page_frame kept[MAX_FRAMES];
    size_t n_kept = driver->n_frames;
    int rc = 0;

    /* Restored below: the element numbers of the last state stay valid. */
    for (size_t i = 0; i < n_kept; i++)
        kept[i] = driver->frames[i];
    driver->n_frames = 0;
    rc = page_frames_read(driver, err);
    for (size_t i = 0; rc == 0 && i < driver->n_frames; i++)
        rc = append_frame(driver, &driver->frames[i], links, text, err);
    page_frames_clear(driver);
    for (size_t i = 0; i < n_kept; i++)
        driver->frames[i] = kept[i];
    driver->n_frames = n_kept;
    return rc;
}

int page_content_get(struct driver *driver, const json_t *args, struct driver_reply *reply,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *links = json_bool_or(args, "extract_links", 0) ? "true" : "false";

    if (read_frames(driver, links, &text, err) < 0)
        return -1;
    return page_content_append_window(&reply->text,
                                      driver->current != NULL ? driver->current->url : "", &text,
                                      json_int_or(args, "start_from_char", 0), err);
}

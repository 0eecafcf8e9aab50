#include "gateway/bash/bash_window.h"

#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "gateway/core/frame.h"

enum { MAX_BYTES = 2 << 20 };

static void drop_oldest(struct bash_window *window)
{
    struct bash_window_item *oldest = &window->items[window->first];

    window->from_us = oldest->stamp_us;
    window->bytes -= oldest->frame->len;
    frame_release(oldest->frame);
    window->first = (window->first + 1) % BASH_WINDOW_EVENTS;
    window->n--;
}

void bash_window_reset(struct bash_window *window, int64_t from_us)
{
    while (window->n > 0)
        drop_oldest(window);
    window->from_us = from_us;
}

void bash_window_done(struct bash_window *window)
{
    if (window != NULL)
        bash_window_reset(window, 0);
}

static bool is_full(const struct bash_window *window, size_t more_bytes)
{
    return window->n > 0 &&
           (window->n == BASH_WINDOW_EVENTS || window->bytes + more_bytes > MAX_BYTES);
}

static void push(struct bash_window *window, struct frame *frame, int64_t stamp_us)
{
    window->items[(window->first + window->n) % BASH_WINDOW_EVENTS] =
        (struct bash_window_item){stamp_us, frame};
    window->n++;
    window->bytes += frame->len;
}

static struct frame *frame_of(const json_t *event)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, event);
    return frame_new(text.text, text.len);
}

/* False for anything that is not an event, or is an old one. */
static bool read_stamp(const json_t *event, int64_t after_us, int64_t *stamp_us_out)
{
    struct error bad = ERROR_INIT;

    return clock_parse(json_text_or(event, "timestamp", ""), stamp_us_out, &bad) == 0 &&
           *stamp_us_out > after_us;
}

/* Which events to drop when the window is full: the oldest or the new ones. */
enum overflow { DROP_OLDEST, DROP_REST };

/* Adds the page's events after from_us; returns the time of the last one added. */
static int64_t take_page(struct bash_window *window, const json_t *page, int64_t from_us,
                         enum overflow overflow)
{
    const json_t *event = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(page, "items"), i, event) {
        struct frame *frame = NULL;
        int64_t stamp_us = 0;

        if (!read_stamp(event, from_us, &stamp_us))
            continue;
        frame = frame_of(event);
        if (overflow == DROP_REST && is_full(window, frame->len)) {
            frame_release(frame);
            return from_us;
        }
        while (is_full(window, frame->len))
            drop_oldest(window);
        push(window, frame, stamp_us);
        from_us = stamp_us;
    }
    return from_us;
}

int64_t bash_window_slide(struct bash_window *window, const json_t *page, int64_t from_us)
{
    return take_page(window, page, from_us, DROP_OLDEST);
}

void bash_window_fill(struct bash_window *window, const json_t *page)
{
    (void)take_page(window, page, window->from_us, DROP_REST);
}

struct frame *bash_window_next(const struct bash_window *window, int64_t *at_us)
{
    for (size_t i = 0; i < window->n; i++) {
        const struct bash_window_item *item =
            &window->items[(window->first + i) % BASH_WINDOW_EVENTS];

        if (item->stamp_us <= *at_us)
            continue;
        *at_us = item->stamp_us;
        return frame_hold(item->frame);
    }
    return NULL;
}

/*
 * Consecutive bash events as frames that sockets share: the newest of a sandbox, or a page of older
 * ones. An event is identified by its timestamp, which is unique.
 *
 * Ownership: holds its frames until bash_window_reset(). Bounds: 64 events and 2 MiB, or one event.
 */
#ifndef DEFT_GATEWAY_BASH_BASH_WINDOW_H
#define DEFT_GATEWAY_BASH_BASH_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct frame;

enum { BASH_WINDOW_EVENTS = 64 };

struct bash_window_item {
    int64_t stamp_us;
    struct frame *frame;
};

struct bash_window {
    int64_t from_us; /* holds every event after this time, up to its last one */
    size_t first;    /* index of the oldest */
    size_t n;
    size_t bytes;
    struct bash_window_item items[BASH_WINDOW_EVENTS];
};

/* Empties the window: the next event will be the first one after from_us. */
void bash_window_reset(struct bash_window *window, int64_t from_us) NONNULL;
/* Releases its frames; accepts NULL. */
void bash_window_done(struct bash_window *window);
/*
 * Adds the events that a search found after from_us, oldest first, and drops the window's oldest to
 * make room. Returns the time of the last event added, or from_us.
 */
int64_t bash_window_slide(struct bash_window *window, const json_t *page,
                          int64_t from_us) NONNULL MUST_CHECK;
/*
 * Adds the events that a search found, oldest first, to an empty window, as far as there is room.
 */
void bash_window_fill(struct bash_window *window, const json_t *page) NONNULL;
/*
 * Returns the first event after *at_us and advances *at_us to it; the caller owns a reference. NULL
 * when there is none.
 */
struct frame *bash_window_next(const struct bash_window *window, int64_t *at_us) NONNULL MUST_CHECK;

#endif

/*
 * Bash events that follow one another, as frames that sockets share: the newest of a sandbox, or a
 * page of older ones. An event's place is its time, which no two share.
 *
 * Ownership: holds its frames until bash_window_reset(). Bounds: 64 events and 2 MiB, or one event.
 */
#ifndef DEFT_GATEWAY_BASH_WINDOW_H
#define DEFT_GATEWAY_BASH_WINDOW_H

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
    int64_t from_us; /* every event after that, up to the last one here, is here */
    size_t first;    /* the oldest */
    size_t n;
    size_t bytes;
    struct bash_window_item items[BASH_WINDOW_EVENTS];
};

/* Empties it: the next event will be the first one after from_us. */
void bash_window_reset(struct bash_window *window, int64_t from_us) NONNULL;
/* Lets go of its frames; NULL is fine. */
void bash_window_done(struct bash_window *window);
/*
 * Adds what a search found behind from_us, oldest first; the oldest of the window make room. The
 * time of the last one that was added, or from_us.
 */
int64_t bash_window_slide(struct bash_window *window, const json_t *page,
                          int64_t from_us) NONNULL MUST_CHECK;
/* Adds what a search found, oldest first, to an empty window, as far as there is room. */
void bash_window_fill(struct bash_window *window, const json_t *page) NONNULL;
/* The first event after *at_us, which moves there: a hold of the caller's, or NULL. */
struct frame *bash_window_next(const struct bash_window *window, int64_t *at_us) NONNULL MUST_CHECK;

#endif

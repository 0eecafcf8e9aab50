/*
 * The answer that a model is streaming, as its latest pieces, and what tools report of their calls:
 * frames that all subscribers share.
 *
 * A piece is sent after the event it is anchored to and before the event it becomes. A slow
 * subscriber misses pieces, never an event. Every subscriber that saw an item begin sees it end: by
 * its event, or by an `item_aborted`, which the gateway adds if a worker died.
 * Ownership: a stream owns its buffer.
 * Decision: docs/decisions/0014-answers-under-way.md
 */
#ifndef DEFT_GATEWAY_FEED_DELTA_BUFFER_H
#define DEFT_GATEWAY_FEED_DELTA_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "gateway/feed/event_cache.h"

struct frame;
struct progress;
struct delta_buffer;

/* A subscriber's position. */
struct delta_cursor {
    int64_t n_seen;    /* of all pieces that the buffer ever had */
    int64_t open_item; /* the item it saw begin but not end; 0: none */
    bool wants_tool_progress;
};

/* n_before: the number of pieces the stream had before, to keep cursors valid. */
struct delta_buffer *delta_buffer_new(int64_t n_before) MUST_CHECK;
void delta_buffer_free(struct delta_buffer *buffer);
int64_t delta_buffer_count(const struct delta_buffer *buffer) NONNULL MUST_CHECK;
/* True while an item is open. */
bool delta_buffer_is_open(const struct delta_buffer *buffer) NONNULL MUST_CHECK;

/*
 * All sockets have seen that many pieces: later ones are kept for the rest, even while a model
 * produces many at once.
 */
void delta_buffer_keep(struct delta_buffer *buffer, int64_t n_seen_by_all) NONNULL;
/* last_seq: the stream's current one. */
void delta_buffer_add(struct delta_buffer *buffer, const struct progress *progress,
                      int64_t last_seq) NONNULL;
/* An event was read: it may be the one that the open item became. */
void delta_buffer_see_event(struct delta_buffer *buffer, const struct uuid *id) NONNULL;
/* The run is over: ends an item that is still open. */
void delta_buffer_abort(struct delta_buffer *buffer, const char *reason, int64_t last_seq) NONNULL;

/*
 * Returns the next frame for a subscriber whose newest event is last_sent; the caller owns a
 * reference. NULL when there is none, or an event must be sent first.
 */
struct frame *delta_buffer_next(const struct delta_buffer *buffer, struct delta_cursor *cursor,
                                int64_t last_sent, enum frame_form form) NONNULL MUST_CHECK;

#endif

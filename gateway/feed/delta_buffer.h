/*
 * The answer that a model is streaming, as its latest pieces: frames that all subscribers share.
 *
 * A piece is sent after the event it is anchored to and before the event it becomes. A slow
 * subscriber misses pieces, never an event. Every subscriber that saw an item begin sees it end: by
 * its event, or by an `item_aborted`, which the gateway adds if a worker died.
 * Ownership: a stream owns its log.
 * Decision: docs/decisions/0014-answers-under-way.md
 */
#ifndef DEFT_GATEWAY_PROGRESS_LOG_H
#define DEFT_GATEWAY_PROGRESS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "gateway/recent.h"

struct frame;
struct progress;
struct progress_log;

/* A subscriber's position. */
struct progress_cursor {
    int64_t n_seen;    /* of all pieces that the log ever had */
    int64_t open_item; /* the item it saw begin but not end; 0: none */
};

/* n_before: the number of pieces the stream had before, to keep cursors valid. */
struct progress_log *progress_log_new(int64_t n_before) MUST_CHECK;
void progress_log_free(struct progress_log *log);
int64_t progress_log_count(const struct progress_log *log) NONNULL MUST_CHECK;
/* True while an item is open. */
bool progress_log_is_open(const struct progress_log *log) NONNULL MUST_CHECK;

/*
 * All sockets have seen that many pieces: later ones are kept for the rest, even while a model
 * produces many at once.
 */
void progress_log_keep(struct progress_log *log, int64_t n_seen_by_all) NONNULL;
/* last_seq: the stream's current one. */
void progress_log_add(struct progress_log *log, const struct progress *progress,
                      int64_t last_seq) NONNULL;
/* An event was read: it may be the one that the open item became. */
void progress_log_see_event(struct progress_log *log, const struct uuid *id) NONNULL;
/* The run is over: ends an item that is still open. */
void progress_log_abort(struct progress_log *log, const char *reason, int64_t last_seq) NONNULL;

/*
 * Returns the next frame for a subscriber whose newest event is last_sent; the caller owns a
 * reference. NULL when there is none, or an event must be sent first.
 */
struct frame *progress_log_next(const struct progress_log *log, struct progress_cursor *cursor,
                                int64_t last_sent, enum frame_form form) NONNULL MUST_CHECK;

#endif

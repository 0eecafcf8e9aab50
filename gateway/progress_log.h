/*
 * The answer that a model is giving, as its last pieces: frames that all subscribers share.
 *
 * A piece is sent behind the event it is anchored to and before the event it becomes. Who is slow
 * misses pieces, never an event. An item that began is ended for everybody who saw it begin: by its
 * event, or by an `item_aborted`, which the gateway adds where a worker died.
 * Ownership: a stream owns its log.
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

/* How far a subscriber is. */
struct progress_cursor {
    int64_t n_seen;    /* of all pieces that the log ever had */
    int64_t open_item; /* the one it saw begin, and not end; 0: none */
};

/* n_before: how many pieces the stream had before, so that cursors stay right. */
struct progress_log *progress_log_new(int64_t n_before) MUST_CHECK;
void progress_log_free(struct progress_log *log);
int64_t progress_log_count(const struct progress_log *log) NONNULL MUST_CHECK;
/* True while an item is under way. */
bool progress_log_is_open(const struct progress_log *log) NONNULL MUST_CHECK;

/*
 * All sockets have got that many pieces: the ones after them are kept for those that have not, also
 * where a model says much at once.
 */
void progress_log_keep(struct progress_log *log, int64_t n_seen_by_all) NONNULL;
/* last_seq: of the stream, now. */
void progress_log_add(struct progress_log *log, const struct progress *progress,
                      int64_t last_seq) NONNULL;
/* An event was read: perhaps it is what the item became. */
void progress_log_see_event(struct progress_log *log, const struct uuid *id) NONNULL;
/* The run is over: so is an item that nobody ended. */
void progress_log_abort(struct progress_log *log, const char *reason, int64_t last_seq) NONNULL;

/*
 * The next frame for a subscriber whose newest event is last_sent, a hold of the caller's; NULL
 * when there is none, or an event goes first.
 */
struct frame *progress_log_next(const struct progress_log *log, struct progress_cursor *cursor,
                                int64_t last_sent, enum frame_form form) NONNULL MUST_CHECK;

#endif

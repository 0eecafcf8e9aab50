/*
 * One conversation that is being watched: its newest events, read once for all its subscribers, the
 * snapshot they are due, and the answer that the model is streaming.
 *
 * Ownership: a stream lives as long as it has subscribers.
 * Nothing is queued per socket: a subscriber has a cursor, and takes the next frame from here or,
 * when it is far behind, from the database. A stream that is idle for a while keeps no events.
 * Decision: docs/decisions/0004-gateway-pulls.md
 */
#ifndef DEFT_GATEWAY_STREAM_H
#define DEFT_GATEWAY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "gateway/recent.h"

struct frame;
struct fresh_event;
struct gateway;
struct progress_log;
struct snapshot;
struct subscriber;

enum stream_link { LINK_ALL, LINK_DUE, LINK_WARM, STREAM_N_LINKS };

struct stream_place {
    struct stream *next;
    struct stream *previous;
    bool is_listed;
};

struct stream {
    struct stream *next_in_bucket;
    struct stream_place places[STREAM_N_LINKS];
    struct gateway *gateway;
    struct uuid conversation_id;
    struct uuid user_id;
    struct subscriber *subscribers; /* linked by next */
    size_t n_subscribers;
    int64_t last_seq;              /* newest event read */
    int64_t snapshot_version;      /* as last read from the row */
    int64_t snapshot_round;        /* incremented for each snapshot that subscribers are due */
    struct snapshot *snapshot;     /* the newest, and the query for the next; NULL: none */
    struct recent *recent;         /* NULL while it keeps no event */
    struct progress_log *progress; /* NULL while it keeps none */
    int64_t n_progress;            /* number of pieces in earlier logs */
    struct stream *next_dirty;
    int64_t run_seen_ms;     /* when the start of the newest run was read; 0: it was not */
    int64_t snapshot_due_ms; /* when to send the run's end, while the stream is listed for that */
    int64_t used_at_ms;      /* last use, while it keeps events */
    int64_t looked_at_ms;
    size_t asked_at; /* index in the query under way, while is_asked */
    bool is_dirty;   /* queued for the next query */
    bool is_asked;
    bool has_news; /* in the answer being read */
};

/* Returns the stream of that conversation, new or shared. */
struct stream *stream_get(struct gateway *gateway, const struct uuid *conversation_id,
                          const struct uuid *user_id) NONNULL MUST_CHECK;
/* Frees a stream that has no subscriber left. */
void stream_drop_if_unused(struct stream *stream) NONNULL;

/* Takes an event that the log has after last_seq. */
void stream_take_event(struct stream *stream, const struct fresh_event *event) NONNULL;
/* Takes the row's version; if it grew, all subscribers are due a snapshot. */
void stream_take_version(struct stream *stream, int64_t version) NONNULL;
/* Takes a progress line, as JSON. */
void stream_take_progress(struct stream *stream, const char *json) NONNULL;
/* All subscribers are due a snapshot. */
void stream_begin_round(struct stream *stream) NONNULL;
/* Requests a turn for every subscriber. */
void stream_wake_all(struct stream *stream) NONNULL;
/* The conversation is gone: closes its subscribers. */
void stream_close_all(struct stream *stream) NONNULL;
/* The stream now holds data, which the tick releases when it has been idle. */
void stream_warm(struct stream *stream) NONNULL;
/* Releases what can be read again. */
void stream_cool(struct stream *stream) NONNULL;

/* Returns the frame of an event that is kept (the caller owns a reference), or NULL. */
struct frame *stream_event_frame(struct stream *stream, int64_t seq,
                                 enum frame_form form) NONNULL MUST_CHECK;

#endif

/*
 * One conversation that is being watched: its newest events, read once for all its readers, the
 * snapshot they are due, and the answer that the model is streaming.
 *
 * Ownership: a stream lives as long as it has readers (stream_registry_drop_if_unused()).
 * Nothing is queued per socket: a reader has a cursor, and takes the next frame from here or, when
 * it is far behind, from the database. A stream that is idle for a while keeps no events.
 * Decision: docs/decisions/0004-gateway-pulls.md
 */
#ifndef DEFT_GATEWAY_FEED_STREAM_H
#define DEFT_GATEWAY_FEED_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "gateway/feed/delta_buffer.h"
#include "gateway/feed/event_cache.h"

struct connection;
struct db_async;
struct frame;
struct fresh_event;
struct snapshot;
struct ticker;

TAILQ_HEAD(stream_list, stream);

/* The parts that all streams use; the lists are those with work due later. */
struct stream_parts {
    struct db_async *live;
    struct ticker *ticker;
    struct stream_list due;  /* with a snapshot that is held back briefly */
    struct stream_list warm; /* with data in memory, longest unused first */
};

/* A reader as its stream sees it; event_reader.h. */
struct stream_reader {
    LIST_ENTRY(stream_reader) link;
    struct connection *connection;
    struct delta_cursor deltas;
};

struct stream {
    struct stream_parts *parts;
    TAILQ_ENTRY(stream) all;  /* in the registry */
    TAILQ_ENTRY(stream) due;  /* while is_due */
    TAILQ_ENTRY(stream) warm; /* while is_warm */
    TAILQ_ENTRY(stream) poll; /* while is_queued */
    struct uuid conversation_id;
    struct uuid user_id;
    LIST_HEAD(stream_readers, stream_reader) readers;
    size_t n_readers;
    int64_t last_seq;            /* newest event read */
    int64_t snapshot_version;    /* as last read from the row */
    int64_t snapshot_round;      /* incremented for each snapshot that readers are due */
    struct snapshot *snapshot;   /* the newest, and the query for the next; NULL: none */
    struct event_cache *cache;   /* NULL while it keeps no event */
    struct delta_buffer *deltas; /* NULL while it keeps none */
    int64_t n_deltas;            /* number of pieces in earlier buffers */
    int64_t run_seen_ms;         /* when the start of the present run was read; 0: it was not */
    int64_t snapshot_due_ms;     /* when to send the run's end, while is_due */
    int64_t used_at_ms;          /* last use, while is_warm */
    int64_t polled_at_ms;
    size_t poll_index; /* in the query under way, while is_polled */
    bool is_due;
    bool is_warm;
    bool is_queued; /* for the next query of the poller */
    bool is_polled; /* by the query under way */
    bool has_news;  /* in the answer being read */
};

/* parts: borrowed. */
struct stream *stream_new(struct stream_parts *parts, const struct uuid *conversation_id,
                          const struct uuid *user_id) NONNULL MUST_CHECK;
/* No reader, poller or registry may know it any more. */
void stream_free(struct stream *stream) NONNULL;

/* Adds a reader, borrowed until stream_leave(). It gets the deltas that come from now on. */
void stream_join(struct stream *stream, struct stream_reader *reader) NONNULL;
/* Removes a reader of the stream. */
void stream_leave(struct stream *stream, struct stream_reader *reader) NONNULL;

/* Takes an event that the log has after last_seq. */
void stream_take_event(struct stream *stream, const struct fresh_event *event) NONNULL;
/* Takes the row's version; if it grew, all readers are due a snapshot. */
void stream_take_version(struct stream *stream, int64_t version) NONNULL;
/* Takes a progress line, as JSON. */
void stream_take_progress(struct stream *stream, const char *json) NONNULL;
/* The held-back end of a run is due: all readers are due a snapshot. */
void stream_end_run(struct stream *stream) NONNULL;
/* Requests a turn for every reader. */
void stream_wake_all(struct stream *stream) NONNULL;
/* The conversation is gone: closes its readers' connections. */
void stream_close_all(struct stream *stream) NONNULL;
/* Releases what can be read again. */
void stream_cool(struct stream *stream) NONNULL;

/* Returns the frame of an event that is kept (the caller owns a reference), or NULL. */
struct frame *stream_event_frame(struct stream *stream, int64_t seq,
                                 enum frame_form form) NONNULL MUST_CHECK;
/*
 * Returns the seq of the snapshot for the current round. -1 if there is none, or none of min_seq or
 * later: one is then requested, and all readers are woken when it has arrived.
 */
int64_t stream_snapshot_seq(struct stream *stream, int64_t min_seq) NONNULL MUST_CHECK;
/* Returns its frame; the caller owns a reference. Only after a stream_snapshot_seq() not -1. */
struct frame *stream_snapshot_frame(struct stream *stream, enum frame_form form) NONNULL MUST_CHECK;

#endif

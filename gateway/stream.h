/*
 * One conversation that somebody watches: its newest events, read once for all its subscribers, and
 * the snapshot they are due.
 *
 * Ownership: a stream lives as long as it has subscribers.
 * Nothing is queued per socket: a subscriber has a cursor, and takes the next frame from here or,
 * when it is far behind, from the database.
 */
#ifndef DEFT_GATEWAY_STREAM_H
#define DEFT_GATEWAY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "store/conversation_store.h"

struct error;
struct frame;
struct gateway;
struct subscriber;

enum { STREAM_CACHE_EVENTS = 64 };

struct stream {
    struct stream *next;
    struct stream *previous;
    struct gateway *gateway;
    struct uuid conversation_id;
    struct uuid user_id;
    struct subscriber *subscribers; /* list by next_subscriber */
    size_t n_subscribers;
    int64_t last_seq;         /* newest event that was read */
    int64_t snapshot_version; /* as last read from the row */
    int64_t snapshot_round;   /* grows with each snapshot that subscribers are due */
    struct frame *snapshot;   /* full_state as of snapshot_seq, or NULL */
    int64_t snapshot_seq;
    int64_t repeat_at_ms;             /* when the last snapshot is sent once more; 0: not */
    bool is_dirty;                    /* a hint came, or a read failed: read again */
    char *cache[STREAM_CACHE_EVENTS]; /* bodies of the newest events, by seq modulo size */
};

/* The stream of that conversation, new or shared. */
struct stream *stream_get(struct gateway *gateway, const struct uuid *conversation_id,
                          const struct uuid *user_id) NONNULL MUST_CHECK;
/* The stream of that id, or NULL when nobody watches it. */
struct stream *stream_find(struct gateway *gateway, const char *conversation_id) NONNULL MUST_CHECK;
/* Frees a stream that has no subscriber left. */
void stream_drop_if_unused(struct stream *stream) NONNULL;

/* Reads what is new and asks for a turn of every subscriber that it concerns. */
void stream_refresh(struct stream *stream) NONNULL;
/* The body of an event in the cache, or NULL. Borrowed until the next stream_refresh(). */
const char *stream_cached(const struct stream *stream, int64_t seq) NONNULL MUST_CHECK;
/*
 * The full_state of now, as text of an event in *frame_out (a hold of the caller's), and the seq it
 * speaks of: it is to be sent behind that event.
 */
int stream_snapshot(struct stream *stream, struct frame **frame_out, int64_t *seq_out,
                    struct error *err) NONNULL MUST_CHECK;
/* Once in a while: sends due repetitions, and reads what a lost hint left unread. */
void stream_tick(struct stream *stream, int64_t now_ms) NONNULL;

#endif

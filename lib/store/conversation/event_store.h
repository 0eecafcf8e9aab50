/*
 * Reading events. Writing is conversation_store_write() and conversation_store_append().
 */
#ifndef DEFT_STORE_CONVERSATION_EVENT_STORE_H
#define DEFT_STORE_CONVERSATION_EVENT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "store/conversation/stored_event.h"

struct conversation_scope;
struct db;
struct error;
struct strbuf;

struct event_filter {
    struct uuid conversation_id;
    const char *kind;   /* short name; NULL: any */
    const char *source; /* NULL: any */
    const char *body;   /* substring of message texts; NULL: any */
    const char *since;  /* naive timestamp, inclusive; NULL: any */
    const char *before; /* naive timestamp, exclusive; NULL: any */
    bool descending;
    const char *page_id; /* event id; unknown or NULL: the first page */
    /* of a search: see branch_store_find_path(); NULL: all events */
    const char *path;
    int64_t limit;
};

/* Appends {"items":[…],"next_page_id":…}; ERROR_NOT_FOUND when the scope has no such conversation.
 */
int event_store_search(struct db *db, const struct conversation_scope *scope,
                       const struct event_filter *filter, struct strbuf *json_out,
                       struct error *err) NONNULL MUST_CHECK;
int event_store_count(struct db *db, const struct event_filter *filter, int64_t *n_out,
                      struct error *err) NONNULL MUST_CHECK;
/* Appends the event's JSON; ERROR_NOT_FOUND. */
int event_store_get(struct db *db, const struct uuid *conversation_id, const char *event_id,
                    struct strbuf *json_out, struct error *err) NONNULL MUST_CHECK;
/* Appends an array in the order of ids, null for unknown ids. */
int event_store_get_many(struct db *db, const struct uuid *conversation_id, const char *const *ids,
                         size_t n, struct strbuf *json_out, struct error *err) NONNULL MUST_CHECK;

/* What a history keeps of the events that it leaves out: see condensed_view_store.h. */
struct history_gap {
    int64_t seq;          /* of the newest Condensation before which events are left out; 0: none */
    int64_t n_iterations; /* model answers of the run in progress there, up to it */
    uint32_t *ids;        /* hashes of the call ids and response ids left out */
    size_t n_ids;
    size_t size; /* of the array */
};

struct history {
    struct stored_event *items;
    size_t n;
    size_t size;
    int64_t last_seq;
    int64_t last_timestamp_us;
    struct history_gap gap;
    int64_t branch_seq; /* from_seq and parent_seq of the newest branch before it was loaded; */
    int64_t parent_seq; /* 0: none */
};

/* clang-format off */
#define HISTORY_INIT {NULL, 0, 0, 0, 0, {0, 0, NULL, 0, 0}, 0, 0}
/* clang-format on */

void history_done(struct history *history);
/* Adds an event, all zero, and returns it: valid until the next one is added. */
struct stored_event *history_add(struct history *history) NONNULL MUST_CHECK;
/*
 * Adds to *history the events after history->last_seq: a worker keeps its history and calls again.
 */
int event_store_load_after(struct db *db, const struct uuid *conversation_id,
                           struct history *history, struct error *err) NONNULL MUST_CHECK;

/* A batch for a socket: bodies as they are, oldest first. */
struct event_batch {
    int64_t *seqs;
    char **bodies;
    size_t n;
    int64_t snapshot_version; /* the conversation's, read in the same snapshot as the events */
};

void event_batch_done(struct event_batch *batch);
/*
 * Reads up to `limit` events after `after_seq` and, in the same snapshot, the conversation's
 * snapshot_version, for one step of a gateway's subscriber. When the version has grown, the gateway
 * loads the row (conversation_store_load()), sends events up to that row's last_seq, and then the
 * snapshot. ERROR_NOT_FOUND when the conversation is gone.
 */
int event_store_read_batch(struct db *db, const struct uuid *conversation_id, int64_t after_seq,
                           int64_t limit, struct event_batch *batch_out,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * The last seq before the first event with timestamp >= since; the newest seq when there is none.
 */
int event_store_seq_before(struct db *db, const struct uuid *conversation_id, const char *since,
                           int64_t *seq_out, struct error *err) NONNULL MUST_CHECK;

#endif

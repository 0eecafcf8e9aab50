/*
 * A gateway's non-blocking queries: who the caller is, where a conversation's log ends, what is new
 * in many conversations at once, and older events of one.
 *
 * A query is a struct of the caller's: its members up to `pending` are set before it is sent,
 * the others by the answer; then `done` is called, with NULL or the error. A query whose owner
 * goes away is withdrawn with async_query_cancel(&query->pending).
 * Ownership: the caller's; each query says what must be released.
 * Threading: that of the connection. Answers on one connection never show an older state than
 * earlier answers.
 */
#ifndef DEFT_STORE_CONVERSATION_ASYNC_STORE_H
#define DEFT_STORE_CONVERSATION_ASYNC_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "store/conversation/event_store.h"

struct conversation_scope;
struct db_async;
struct async_query;
struct error;

/* --- who calls --- */

enum caller_kind { CALLER_USER_KEY, CALLER_SESSION, CALLER_SANDBOX_KEY };

struct caller_query {
    enum caller_kind kind;
    char hash[CRYPTO_HASH_HEX_BYTES]; /* of the token */
    struct async_query *pending;
    struct uuid user_id; /* of a sandbox: its owner; unset when it has none */
    struct uuid key_id;  /* of a user's key or a session */
    int64_t valid_ms;    /* SESSION: time until it expires */
    char runtime_id[17];
    char runtime_session[80];
    bool has_tenant; /* the sandbox belongs to a tenant of the Runtime API */
    void (*done)(struct caller_query *query, const struct error *err);
};

/* ERROR_UNAUTHENTICATED when there is no such key or session. */
void async_store_find_caller(struct db_async *async, struct caller_query *query) NONNULL;

struct ended_query {
    const char *const *ids; /* of keys, sessions and sandboxes; borrowed for the call */
    size_t n;
    struct async_query *pending;
    /* Called for each id that is no longer valid, before done(). */
    void (*ended)(struct ended_query *query, const char *id);
    void (*done)(struct ended_query *query, const struct error *err);
};

/* Reports which of the ids are no longer valid. */
void async_store_find_ended(struct db_async *async, struct ended_query *query) NONNULL;

/* --- where a socket begins --- */

struct position_query {
    struct uuid conversation_id;
    struct uuid user_id;         /* owner of the visible conversations … */
    const char *runtime_session; /* … or only those of this sandbox; NULL: all. Borrowed. */
    const char *since;           /* naive timestamp; NULL: not asked for. Borrowed. */
    struct async_query *pending;
    int64_t last_seq;
    int64_t since_seq; /* the last before the first event with timestamp >= since */
    int64_t snapshot_version;
    int64_t silent_ms; /* of a run: time since its newest event; 0: no run */
    void (*done)(struct position_query *query, const struct error *err);
};

/* ERROR_NOT_FOUND when the scope has no such conversation. */
void async_store_find_position(struct db_async *async, struct position_query *query) NONNULL;

/* --- new events --- */

struct fresh_event {
    size_t watch; /* index of the watch it belongs to */
    int64_t seq;
    struct uuid id;
    const char *body; /* borrowed for the call */
    size_t body_len;
};

/* A watched conversation, and the state known of it. */
struct watched {
    struct uuid conversation_id;
    int64_t last_seq;
    int64_t snapshot_version; /* in and out */
    bool is_gone;             /* out: the conversation no longer exists */
    bool has_more;            /* out: more events than one answer holds */
};

struct new_events_query {
    struct watched *watches;
    size_t n;
    struct async_query *pending;
    /* Once for each new event, by watch and seq, before done(). */
    void (*event)(struct new_events_query *query, const struct fresh_event *event);
    void (*done)(struct new_events_query *query, const struct error *err);
};

/* Asks for events and state newer than those known, for each of the watched conversations. */
void async_store_read_new(struct db_async *async, struct new_events_query *query) NONNULL;

/* --- older events --- */

struct replay_query {
    struct uuid conversation_id;
    int64_t after_seq;
    struct async_query *pending;
    struct event_batch batch; /* oldest first, 256 KiB or one event; event_batch_done() */
    void (*done)(struct replay_query *query, const struct error *err);
};

/* ERROR_NOT_FOUND when the conversation no longer exists. */
void async_store_replay(struct db_async *async, struct replay_query *query) NONNULL;

/* --- how it is --- */

struct state_query {
    struct uuid conversation_id;
    struct uuid user_id;
    const char *runtime_session; /* NULL: any. Borrowed. */
    struct async_query *pending;
    struct conversation conversation; /* conversation_done() */
    void (*done)(struct state_query *query, const struct error *err);
};

/* ERROR_NOT_FOUND when the user has no such conversation. */
void async_store_read_state(struct db_async *async, struct state_query *query) NONNULL;

#endif

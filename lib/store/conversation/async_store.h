/*
 * A gateway's non-blocking queries: who the caller is, where a conversation's log ends, what is new
 * in many conversations at once, and older events of one.
 *
 * A question is a struct of the caller's: its members up to `ticket` are set before it is asked,
 * the others by the answer; then `done` is called, with NULL or the error. A question whose owner
 * goes away is withdrawn with db_ticket_forget(&question->ticket).
 * Ownership: the caller's; each question says what must be released.
 * Threading: that of the pipe. Answers of one pipe never show an older state than earlier answers.
 */
#ifndef DEFT_STORE_CONVERSATION_LIVE_STORE_H
#define DEFT_STORE_CONVERSATION_LIVE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "store/conversation/event_store.h"

struct conversation_scope;
struct db_pipe;
struct db_ticket;
struct error;

/* --- who calls --- */

enum caller_kind { CALLER_USER_KEY, CALLER_SESSION, CALLER_SANDBOX_KEY };

struct caller_question {
    enum caller_kind kind;
    char hash[CRYPTO_HASH_HEX_BYTES]; /* of the token */
    struct db_ticket *ticket;
    struct uuid user_id; /* of a sandbox: its owner; unset when it has none */
    struct uuid key_id;  /* of a user's key or a session */
    int64_t valid_ms;    /* SESSION: time until it expires */
    char runtime_id[17];
    char runtime_session[80];
    bool has_tenant; /* the sandbox belongs to a tenant of the Runtime API */
    void (*done)(struct caller_question *question, const struct error *err);
};

/* ERROR_UNAUTHENTICATED when there is no such key or session. */
void live_ask_caller(struct db_pipe *pipe, struct caller_question *question) NONNULL;

struct ended_question {
    const char *const *ids; /* of keys, sessions and sandboxes; borrowed for the call */
    size_t n;
    struct db_ticket *ticket;
    /* Called for each id that is no longer valid, before done(). */
    void (*ended)(struct ended_question *question, const char *id);
    void (*done)(struct ended_question *question, const struct error *err);
};

void live_ask_ended(struct db_pipe *pipe, struct ended_question *question) NONNULL;

/* --- where a socket begins --- */

struct place_question {
    struct uuid conversation_id;
    struct uuid user_id;         /* owner of the visible conversations … */
    const char *runtime_session; /* … or only those of this sandbox; NULL: all. Borrowed. */
    const char *since;           /* naive timestamp; NULL: not asked for. Borrowed. */
    struct db_ticket *ticket;
    int64_t last_seq;
    int64_t since_seq; /* the last before the first event with timestamp >= since */
    int64_t snapshot_version;
    int64_t silent_ms; /* of a run: time since its newest event; 0: no run */
    void (*done)(struct place_question *question, const struct error *err);
};

/* ERROR_NOT_FOUND when the scope has no such conversation. */
void live_ask_place(struct db_pipe *pipe, struct place_question *question) NONNULL;

/* --- what is new --- */

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

struct news_question {
    struct watched *watches;
    size_t n;
    struct db_ticket *ticket;
    /* Once for each new event, by watch and seq, before done(). */
    void (*event)(struct news_question *question, const struct fresh_event *event);
    void (*done)(struct news_question *question, const struct error *err);
};

/* Asks for events and state newer than those known, for each of the watched conversations. */
void live_ask_news(struct db_pipe *pipe, struct news_question *question) NONNULL;

/* --- what is old --- */

struct replay_question {
    struct uuid conversation_id;
    int64_t after_seq;
    struct db_ticket *ticket;
    struct event_batch batch; /* oldest first, 256 KiB or one event; event_batch_done() */
    void (*done)(struct replay_question *question, const struct error *err);
};

/* ERROR_NOT_FOUND when the conversation no longer exists. */
void live_ask_replay(struct db_pipe *pipe, struct replay_question *question) NONNULL;

/* --- how it is --- */

struct state_question {
    struct uuid conversation_id;
    struct uuid user_id;
    const char *runtime_session; /* NULL: any. Borrowed. */
    struct db_ticket *ticket;
    struct conversation conversation; /* conversation_done() */
    void (*done)(struct state_question *question, const struct error *err);
};

/* ERROR_NOT_FOUND when the user has no such conversation. */
void live_ask_state(struct db_pipe *pipe, struct state_question *question) NONNULL;

#endif

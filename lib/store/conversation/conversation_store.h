/*
 * Conversations and their leases. All writes to a conversation go through
 * conversation_store_write(): events and row change in one statement, or not at all. Functions that
 * write send the hints that their changes call for.
 *
 * Ownership: out structs are filled for the caller, who releases them with conversation_done().
 */
#ifndef DEFT_STORE_CONVERSATION_CONVERSATION_STORE_H
#define DEFT_STORE_CONVERSATION_CONVERSATION_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"

struct db;
struct error;
struct event_list;
struct strbuf;

/* Kind of the job that ends sessions at MCP servers: {"sessions": {server: sealed}}. */
#define JOB_END_SESSIONS "sessions"

/* Work for a worker in addition to the conversation's run, see job_store.h. */
struct job_request {
    const char *kind;      /* NULL: none */
    const json_t *payload; /* an object, or NULL */
    struct uuid key;       /* for waiting for its result; unset: no client waits */
};

/*
 * Scope of a query: a user's conversations, or with `runtime_session` only those of that sandbox.
 */
struct conversation_scope {
    struct uuid user_id;
    const char *runtime_session; /* NULL: all of the user's */
};

/* A worker's right to write. */
struct lease {
    struct uuid conversation_id;
    struct uuid owner; /* the worker's id, new at each start of a worker */
    int64_t fence;
};

enum write_guard {
    GUARD_NONE,     /* a client: races are settled by seq alone */
    GUARD_NO_LEASE, /* only while no worker has it */
    GUARD_LEASE,    /* only under the given lease */
    GUARD_JOB,      /* only while the given worker holds the job */
};

/* A job that a worker holds, see job_store.h. */
struct job_hold {
    int64_t id;
    struct uuid owner;
};

struct conversation_write;

/* A new conversation that a write creates, with its own first events and state. */
struct new_conversation {
    struct conversation *conversation;
    struct event_list *events;
    const struct conversation_write *write;
};

/* Changes to the row together with the events; zeroed members change nothing. */
struct conversation_write {
    enum write_guard guard;
    const struct lease *lease; /* for GUARD_LEASE */
    struct job_hold hold;      /* for GUARD_JOB */
    const char *status;        /* execution_status */
    bool want_run;             /* wanted_at = now() unless set */
    bool end_run;       /* wanted_at, stop_requested, lease, waits cleared; claim_count = 0 */
    bool bump_snapshot; /* subscribers get a full_state */
    bool made_progress; /* claim_count = 0 */
    const char *stats;  /* JSON text; NULL: unchanged */
    int64_t cost_nanos; /* of the model call that they are new by; workers only */
    const json_t *agent_state;
    const struct uuid *ended_waits; /* sub-agents whose results these events are */
    size_t n_ended_waits;
    const json_t *spec;
    const char *title;
    const char *first_title; /* only if there is no title: a client may have set one by now */
    const char *secrets;     /* sealed */
    struct uuid last_user_message_id;
    struct job_request job;
    const struct new_conversation *child; /* stored in the same transaction; NULL: none */
};

/*
 * Appends events at conversation->last_seq + 1 (n may be 0) and changes the row, atomically. Sets
 * ids that are unset, and strictly increasing times; on success moves the conversation's last_seq,
 * last_timestamp_us, leaf_event_id, status and is_wanted forward.
 * Errors: ERROR_CONFLICT: another writer used that number, or a result for that action exists: load
 * and decide again. ERROR_STALE: the guard failed (lease or job lost, conversation gone, or a
 * worker has it), or write->spec, ->secrets or ->stats would overwrite a change made since
 * *conversation was read. ERROR_TOO_LARGE: an event above EVENT_MAX_BYTES. ERROR_INVALID:
 * write->child's id is taken.
 */
int conversation_store_write(struct db *db, struct conversation *conversation,
                             struct event_list *events, const struct conversation_write *write,
                             struct error *err) NONNULL MUST_CHECK;

/* The hot path: events only, one INSERT under the lease. Errors as above. */
int conversation_store_append(struct db *db, const struct lease *lease,
                              struct conversation *conversation, struct event_list *events,
                              struct error *err) NONNULL MUST_CHECK;

/*
 * Stores a new conversation with its first events and, with want_run, requests a run.
 * *was_there_out = true, with nothing written, when that id exists already for the same user;
 * ERROR_CONFLICT when it belongs to another user.
 */
int conversation_store_create(struct db *db, struct conversation *conversation,
                              struct event_list *events, const struct conversation_write *write,
                              bool *was_there_out, struct error *err) NONNULL MUST_CHECK;

/* ERROR_NOT_FOUND when the scope has no such conversation. */
int conversation_store_load(struct db *db, const struct conversation_scope *scope,
                            const struct uuid *id, struct conversation *conversation_out,
                            struct error *err) NONNULL MUST_CHECK;

/* As above without the owner check; for workers. */
int conversation_store_load_any(struct db *db, const struct uuid *id,
                                struct conversation *conversation_out,
                                struct error *err) NONNULL MUST_CHECK;

/* Checks that the scope has it, without reading it: ERROR_NOT_FOUND when not. */
int conversation_store_check(struct db *db, const struct conversation_scope *scope,
                             const struct uuid *id, struct error *err) NONNULL MUST_CHECK;

/*
 * The fence of its newest lease, 0 before the first: the sandbox requires it with each action of
 * the conversation. For readers that do not hold the lease. ERROR_NOT_FOUND.
 */
int conversation_store_load_fence(struct db *db, const struct uuid *id, int64_t *fence_out,
                                  struct error *err) NONNULL MUST_CHECK;

/*
 * ERROR_INVALID when the conversation may start no more children: it has too many ancestors, or has
 * started too many.
 */
int conversation_store_check_child(struct db *db, const struct uuid *id,
                                   struct error *err) NONNULL MUST_CHECK;

struct conversation_page {
    struct conversation *items;
    size_t n;
    struct uuid next_id; /* first of the next page; unset at the end */
};

struct conversation_filter {
    struct conversation_scope scope;
    const char *status; /* NULL: any */
    bool by_updated;    /* else by created_at */
    bool ascending;
    struct uuid from_id; /* page id; if unknown, the first page */
    int64_t limit;       /* 1..PAGE_MAX_ITEMS */
};

/* Loads those of the ids that the scope has, in no order. */
int conversation_store_load_many(struct db *db, const struct conversation_scope *scope,
                                 const struct uuid *ids, size_t n,
                                 struct conversation_page *page_out,
                                 struct error *err) NONNULL MUST_CHECK;

void conversation_page_done(struct conversation_page *page);
/* Loads a page of the conversations that match the filter. */
int conversation_store_search(struct db *db, const struct conversation_filter *filter,
                              struct conversation_page *page_out,
                              struct error *err) NONNULL MUST_CHECK;
/* Counts all that match the filter's scope and status. */
int conversation_store_count(struct db *db, const struct conversation_filter *filter,
                             int64_t *n_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Removes the row and the events, also those of its sub-agents; marks a sandbox of its own for
 * deletion unless another conversation works in it. ERROR_NOT_FOUND.
 */
int conversation_store_delete(struct db *db, const struct conversation_scope *scope,
                              const struct uuid *id, struct error *err) NONNULL MUST_CHECK;
/*
 * Deletes a conversation whose start has failed: its worktree is pending or refused. *is_undone_out
 * is false, and nothing changes, if there is no such conversation, if the start has succeeded after
 * all, or if a user has written to it since: what was acknowledged to another client remains.
 */
int conversation_store_undo_start(struct db *db, const struct conversation_scope *scope,
                                  const struct uuid *id, bool *is_undone_out,
                                  struct error *err) NONNULL MUST_CHECK;

struct uuid_list {
    struct uuid *items;
    size_t n;
};
void uuid_list_done(struct uuid_list *list);
/* Its sub-agents, recursively. */
int conversation_store_list_sub_agents(struct db *db, const struct uuid *id,
                                       struct uuid_list *ids_out,
                                       struct error *err) NONNULL MUST_CHECK;

/*
 * Requests a stop ("pause" or "interrupt") from the worker that has it, and of all sub-agents that
 * it waits for, with theirs. *n_out: how many were asked; 0, with nothing written, when no worker
 * has it and it waits for no sub-agent: then the caller writes the pause itself (GUARD_NO_LEASE).
 */
int conversation_store_request_stop(struct db *db, const struct uuid *id, const char *kind,
                                    size_t *n_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Waits, woken by hints, until no run is requested any more; ERROR_TIMEOUT after deadline_ms
 * (clock_monotonic_ms()). Holds a connection for the whole wait.
 */
int conversation_store_wait_stopped(struct db *db, const struct uuid *id, int64_t deadline_ms,
                                    struct error *err) NONNULL MUST_CHECK;

struct claim {
    struct lease lease;
    struct conversation conversation;
    char stop_requested[16]; /* "", "pause" or "interrupt" */
    int64_t claim_count;
    int64_t n_model_waits; /* of the outage of its model that lasts; 0: none */
    int64_t model_out_ms;  /* since that outage began */
};

void claim_done(struct claim *claim);
/*
 * Claims the conversation that has waited longest, if any: fence + 1, claim_count + 1. When none is
 * waiting, *claimed_out = false. run_slots: maximum concurrent runs of a user whose row sets none;
 * further runs wait.
 */
int conversation_store_claim(struct db *db, const struct uuid *owner, int64_t run_slots,
                             bool *claimed_out, struct claim *claim_out,
                             struct error *err) NONNULL MUST_CHECK;

/* Limits of a user's runs. */
struct run_limits {
    int64_t n_slots;  /* concurrent runs */
    int64_t n_queued; /* further runs that may wait */
};
/* The requester of a run. */
struct run_seeker {
    const struct uuid *user_id;
    const struct uuid *conversation_id; /* NULL: a new one */
};
/*
 * ERROR_RATE_LIMITED when that user can request no further run; a run already requested stays so.
 * limits: defaults where the user's row sets none.
 */
int conversation_store_check_room(struct db *db, const struct run_seeker *seeker,
                                  const struct run_limits *limits,
                                  struct error *err) NONNULL MUST_CHECK;
/* The queue position of a conversation that waits for a slot, from 1; 0: it does not wait. */
int conversation_store_queue_place(struct db *db, const struct uuid *id, int64_t run_slots,
                                   int64_t *place_out, struct error *err) NONNULL MUST_CHECK;

/* A held conversation, for the heartbeat. */
struct held_lease {
    struct uuid conversation_id;
    int64_t fence;           /* in */
    bool is_held;            /* out: false when it is lost */
    char stop_requested[16]; /* out */
};

/* Renews all leases of this owner in one statement, LEASE_MS from now. */
int conversation_store_renew(struct db *db, const struct uuid *owner, struct held_lease *held,
                             size_t n, struct error *err) NONNULL MUST_CHECK;
/* Returns a lease without ending the run: another worker may claim at once (shutdown). */
int conversation_store_hand_over(struct db *db, const struct lease *lease,
                                 struct error *err) NONNULL MUST_CHECK;

#endif

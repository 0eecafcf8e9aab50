/*
 * Conversations and their leases. All writes to a conversation go through
 * conversation_store_write(): events and row change in one statement, or not at all.
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

/* Work for a worker beside the conversation's run, see job_store.h. */
struct job_wish {
    const char *kind;      /* NULL: none */
    const json_t *payload; /* an object, or NULL */
    struct uuid key;       /* by which its result is waited for; unset: nobody waits */
};

/* Whose conversations: a user's, or with `runtime_session` only those of that sandbox. */
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
    GUARD_NONE,     /* a client: wins or loses by seq alone */
    GUARD_NO_LEASE, /* only while no worker has it */
    GUARD_LEASE,    /* only under the given lease */
    GUARD_JOB,      /* only while the job is in those hands */
};

/* A job in a worker's hands, see job_store.h. */
struct job_hold {
    int64_t id;
    struct uuid owner;
};

struct conversation_write;

/* A conversation that a write starts, with its own first events and state. */
struct conversation_birth {
    struct conversation *conversation;
    struct event_list *events;
    const struct conversation_write *write;
};

/* What changes in the row together with the events; zeroed members leave things as they are. */
struct conversation_write {
    enum write_guard guard;
    const struct lease *lease; /* for GUARD_LEASE */
    struct job_hold hold;      /* for GUARD_JOB */
    const char *status;        /* execution_status */
    bool want_run;             /* wanted_at = now() unless set */
    bool end_run;       /* wanted_at, stop_requested, waits_for, lease cleared; claim_count = 0 */
    bool bump_snapshot; /* subscribers get a full_state */
    bool made_progress; /* claim_count = 0, waits_for cleared */
    const char *stats;  /* JSON text; NULL: as they are */
    const json_t *agent_state;
    const json_t *spec;
    const char *title;
    const char *first_title; /* only where there is none: a client may have named it meanwhile */
    const char *secrets;     /* sealed */
    struct uuid last_user_message_id;
    struct job_wish job;
    const struct conversation_birth *child; /* is stored in the same transaction; NULL: none */
};

/*
 * Appends events at conversation->last_seq + 1 (n may be 0) and changes the row, atomically.
 * Stamps ids that are unset, and times that grow strictly; on success moves the conversation's
 * last_seq, last_timestamp_us, leaf_event_id, status and is_wanted forward. Errors: ERROR_CONFLICT:
 * somebody else wrote that number, or a result for that action exists: load and decide again.
 * ERROR_STALE: the guard failed (lease or job lost, conversation gone, or a worker has it), or
 * write->spec, ->secrets or ->stats would replace what somebody else put there since *conversation
 * was read.
 * ERROR_TOO_LARGE: an event above EVENT_MAX_BYTES. ERROR_INVALID: write->child's id is taken.
 */
int conversation_store_write(struct db *db, struct conversation *conversation,
                             struct event_list *events, const struct conversation_write *write,
                             struct error *err) NONNULL MUST_CHECK;

/* The hot path: events only, one INSERT under the lease. Errors as above. */
int conversation_store_append(struct db *db, const struct lease *lease,
                              struct conversation *conversation, struct event_list *events,
                              struct error *err) NONNULL MUST_CHECK;

/*
 * Stores a new conversation with its first events and, with want_run, asks for a run.
 * *was_there_out = true, and nothing is written, when that id exists already for the same user;
 * ERROR_CONFLICT when it belongs to somebody else.
 */
int conversation_store_create(struct db *db, struct conversation *conversation,
                              struct event_list *events, const struct conversation_write *write,
                              bool *was_there_out, struct error *err) NONNULL MUST_CHECK;

/* ERROR_NOT_FOUND when the scope has no such conversation. */
int conversation_store_load(struct db *db, const struct conversation_scope *scope,
                            const struct uuid *id, struct conversation *conversation_out,
                            struct error *err) NONNULL MUST_CHECK;

/* The same whoever it belongs to: for a worker, whom the row itself has sent. */
int conversation_store_load_any(struct db *db, const struct uuid *id,
                                struct conversation *conversation_out,
                                struct error *err) NONNULL MUST_CHECK;

/* Whether the scope has it, without reading it: ERROR_NOT_FOUND when not. */
int conversation_store_check(struct db *db, const struct conversation_scope *scope,
                             const struct uuid *id, struct error *err) NONNULL MUST_CHECK;

/*
 * The fence of its newest lease, 0 before the first: what the sandbox wants beside an action of the
 * conversation. Who does not hold the lease only reads it. ERROR_NOT_FOUND.
 */
int conversation_store_load_fence(struct db *db, const struct uuid *id, int64_t *fence_out,
                                  struct error *err) NONNULL MUST_CHECK;

/* ERROR_INVALID when it descends from so many, or has started so many, that it may start no more.
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
    struct uuid from_id; /* page id; an unknown one starts at the beginning */
    int64_t limit;       /* 1..PAGE_MAX_ITEMS */
};

/* Those of the ids that the scope has, in no order. */
int conversation_store_load_many(struct db *db, const struct conversation_scope *scope,
                                 const struct uuid *ids, size_t n,
                                 struct conversation_page *page_out,
                                 struct error *err) NONNULL MUST_CHECK;

void conversation_page_done(struct conversation_page *page);
int conversation_store_search(struct db *db, const struct conversation_filter *filter,
                              struct conversation_page *page_out,
                              struct error *err) NONNULL MUST_CHECK;
int conversation_store_count(struct db *db, const struct conversation_filter *filter,
                             int64_t *n_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Removes row and events, those of its sub-agents too; a sandbox of its own that no other
 * conversation works in is marked to be deleted. ERROR_NOT_FOUND.
 * The caller sends HINT_RUNTIME, HINT_CONTROL and HINT_WORK.
 */
int conversation_store_delete(struct db *db, const struct conversation_scope *scope,
                              const struct uuid *id, struct error *err) NONNULL MUST_CHECK;

struct uuid_list {
    struct uuid *items;
    size_t n;
};
void uuid_list_done(struct uuid_list *list);
/* Its sub-agents, and theirs. */
int conversation_store_list_sub_agents(struct db *db, const struct uuid *id,
                                       struct uuid_list *ids_out,
                                       struct error *err) NONNULL MUST_CHECK;

/* Conversations that were asked to stop together: each waits for the end of the next. */
struct stop_line {
    struct uuid ids[CHILD_DEPTH_MAX + 1];
    size_t n;
};
/*
 * "pause" or "interrupt" for the worker that has it, and for the sub-agents that it waits for.
 * line_out->n = 0, and nothing is written, when no worker has it and it waits for nobody: then the
 * caller writes the pause itself (GUARD_NO_LEASE). Else the caller sends HINT_CONTROL for each, and
 * HINT_WORK.
 */
int conversation_store_request_stop(struct db *db, const struct uuid *id, const char *kind,
                                    struct stop_line *line_out,
                                    struct error *err) NONNULL MUST_CHECK;
/* Waits, woken by hints, until no run is wanted any more; ERROR_TIMEOUT after deadline_ms
 * (clock_monotonic_ms()). Takes a connection for the whole wait. */
int conversation_store_wait_stopped(struct db *db, const struct uuid *id, int64_t deadline_ms,
                                    struct error *err) NONNULL MUST_CHECK;

/*
 * Claims the conversation that has waited longest, if any: fence + 1, claim_count + 1.
 * *claimed_out = false when nothing waits. stop_requested_out: "", "pause" or "interrupt".
 */
struct claim {
    struct lease lease;
    struct conversation conversation;
    char stop_requested[16];
    int64_t claim_count;
};

void claim_done(struct claim *claim);
/*
 * run_slots: most runs of one user at a time, where the user's row says nothing else; more wait.
 */
int conversation_store_claim(struct db *db, const struct uuid *owner, int64_t run_slots,
                             bool *claimed_out, struct claim *claim_out,
                             struct error *err) NONNULL MUST_CHECK;

/* A user's runs: how many may go on and wait, and how many are asked for. */
struct run_limits {
    int64_t n_slots;  /* at a time */
    int64_t n_queued; /* more, that wait */
};
/* Who wants a run. */
struct run_seeker {
    const struct uuid *user_id;
    const struct uuid *conversation_id; /* NULL: a new one */
};
/* ERROR_RATE_LIMITED when no other run of that user can be asked for; one that was asked for stays
 * so. limits: where the user's row says nothing else. */
int conversation_store_check_room(struct db *db, const struct run_seeker *seeker,
                                  const struct run_limits *limits,
                                  struct error *err) NONNULL MUST_CHECK;
/* The place of a conversation that waits for a slot, from 1; 0: it does not wait. */
int conversation_store_queue_place(struct db *db, const struct uuid *id, int64_t run_slots,
                                   int64_t *place_out, struct error *err) NONNULL MUST_CHECK;

/* One held conversation as the heartbeat finds it. */
struct held_lease {
    struct uuid conversation_id;
    int64_t fence;           /* in */
    bool is_held;            /* out: false when it is lost */
    char stop_requested[16]; /* out */
};

/* Renews all leases of this owner in one statement, LEASE_MS from now. */
int conversation_store_renew(struct db *db, const struct uuid *owner, struct held_lease *held,
                             size_t n, struct error *err) NONNULL MUST_CHECK;
/* Gives a lease back without ending the run: another worker may claim at once (shutdown). */
int conversation_store_hand_over(struct db *db, const struct lease *lease,
                                 struct error *err) NONNULL MUST_CHECK;

#endif

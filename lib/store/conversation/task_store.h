/*
 * Sub-agents: conversations whose runs another run waits for. A run gives work to several, and then
 * waits for all of them without a lease and without a thread. It can be claimed again when the run
 * of one has ended, in whatever way.
 *
 * Ownership: everything is borrowed. Threading: no state; any thread.
 * Decision: docs/decisions/0025-tasks-give-way.md, 0102-waits-for-several-sub-agents.md
 */
#ifndef DEFT_STORE_CONVERSATION_TASK_STORE_H
#define DEFT_STORE_CONVERSATION_TASK_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "store/conversation/run_hold.h"

struct conversation;
struct conversation_write;
struct db;
struct error;
struct event_list;
struct lease;
struct strbuf;

/* Work for a sub-agent, given by a run. */
struct task_work {
    const struct lease *lease; /* of the run */
    const json_t *agent_state; /* the new state of its row; NULL: unchanged */
    struct conversation *child;
    struct event_list *events; /* of the child */
    const struct conversation_write *write;
};

/*
 * Gives the work and begins to wait for its end, atomically; the run keeps its lease. The sub-agent
 * has at least its parent's place in the queue. task_store_begin() stores a new child,
 * task_store_go_on() writes to an existing one.
 * Errors: ERROR_STALE when the lease is lost; ERROR_CANCELLED when the run was asked to stop:
 * stop_out says how ("pause", "interrupt"); ERROR_CONFLICT when another writer wrote to the child
 * since it was read; ERROR_INVALID when a new child's id is taken. Repeating a call
 * with a new agent_state whose commit had an unknown outcome gives the work once.
 */
int task_store_begin(struct db *db, const struct task_work *work, char stop_out[STOP_WORD_BYTES],
                     struct error *err) NONNULL MUST_CHECK;
int task_store_go_on(struct db *db, const struct task_work *work, char stop_out[STOP_WORD_BYTES],
                     struct error *err) NONNULL MUST_CHECK;

/*
 * Releases the lease until the run of one of these n sub-agents has ended; all of them, if the run
 * was asked to stop. Others whose results are not stored have ended, and do not wake it.
 * ERROR_STALE when the lease is lost.
 */
int task_store_suspend(struct db *db, const struct lease *lease, const struct uuid *child_ids,
                       size_t n, struct error *err) NONNULL MUST_CHECK;

/* Sets *is_waited_out: whether the conversation's run waits, or waited, for that sub-agent's, and
 * has not stored its result. */
int task_store_is_waited_for(struct db *db, const struct uuid *id, const struct uuid *child_id,
                             bool *is_waited_out, struct error *err) NONNULL MUST_CHECK;

/*
 * A sub-agent's outcome: the event with its last message since the last one to it, and the event
 * that says why its run failed; appends the JSON, or nothing where there is none.
 */
int task_store_read_end(struct db *db, const struct uuid *id, struct strbuf *words_out,
                        struct strbuf *failure_out, struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * Sub-agents: conversations whose run another run waits for. While it waits, the parent has no
 * lease and no thread; when the sub-agent's run ends, in whatever way, the parent can be claimed
 * again.
 *
 * Ownership: everything is borrowed. Threading: no state; any thread.
 * Decision: docs/decisions/0025-tasks-give-way.md
 */
#ifndef DEFT_STORE_CONVERSATION_TASK_STORE_H
#define DEFT_STORE_CONVERSATION_TASK_STORE_H

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

/* A run that is to wait. */
struct task_wait {
    const struct lease *lease; /* released */
    const json_t *agent_state; /* the row's new state; NULL: unchanged */
    struct uuid child_id;
};

/* The sub-agent's task; without events and want_run it is running already. */
struct task_work {
    struct conversation *child;
    struct event_list *events;
    const struct conversation_write *write;
};

/*
 * Assigns the task and starts to wait for it, atomically. The sub-agent takes over the parent's
 * place in the queue and among its user's runs. A child that is not stored yet is stored;
 * task_store_wait_again() is for one that has its task.
 * Errors: ERROR_STALE when the lease is lost; ERROR_CANCELLED when the parent was asked to stop:
 * stop_out says how ("pause", "interrupt"); ERROR_CONFLICT when another writer wrote to the child
 * since it was read; ERROR_INVALID when a new child's id is taken.
 */
int task_store_begin(struct db *db, const struct task_wait *wait, const struct task_work *work,
                     char stop_out[STOP_WORD_BYTES], struct error *err) NONNULL MUST_CHECK;
int task_store_go_on(struct db *db, const struct task_wait *wait, const struct task_work *work,
                     char stop_out[STOP_WORD_BYTES], struct error *err) NONNULL MUST_CHECK;
int task_store_wait_again(struct db *db, const struct task_wait *wait,
                          char stop_out[STOP_WORD_BYTES], struct error *err) NONNULL MUST_CHECK;

/*
 * A sub-agent's outcome: the event with its last message since the last one to it, and the event
 * that says why its run failed; appends the JSON, or nothing where there is none.
 */
int task_store_read_end(struct db *db, const struct uuid *id, struct strbuf *words_out,
                        struct strbuf *failure_out, struct error *err) NONNULL MUST_CHECK;

#endif

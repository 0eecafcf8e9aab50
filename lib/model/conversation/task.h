/*
 * The tasks that an agent has given to sub-agents, as kept in its agent_state: each with its name,
 * the sub-agent's conversation, and the last call that gave it work. A delegate is a task of the
 * tool delegate, with a name that the model chose; its sub-agent's conversation is made when it
 * first gets work.
 *
 * Ownership: tasks are borrowed from the state.
 * Threading: no state of its own.
 */
#ifndef DEFT_MODEL_CONVERSATION_TASK_H
#define DEFT_MODEL_CONVERSATION_TASK_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

/* Adds a task for a conversation, which need not exist yet: {"task_id": "task_00000001", …}. */
json_t *task_add(json_t *agent_state, const struct uuid *conversation_id,
                 const char *subagent) NONNULL MUST_CHECK;
/* Sets the budget that its sub-agent got, in US dollars. */
void task_set_allowance(json_t *task, double allowance) NONNULL;
/* Sets the call that last gave it work. */
void task_set_call(json_t *task, const struct uuid *action_id) NONNULL;
/* The task of that name, or NULL. */
json_t *task_find(const json_t *agent_state, const char *task_id) NONNULL MUST_CHECK;
/* The task that the call gave work to, or NULL. */
json_t *task_of_call(const json_t *agent_state, const struct uuid *action_id) NONNULL MUST_CHECK;

/* Adds a delegate that has no work yet. */
void delegate_add(json_t *agent_state, const char *name, const struct uuid *conversation_id,
                  const char *subagent) NONNULL;
/* The delegate of that name, or NULL. */
json_t *delegate_find(const json_t *agent_state, const char *name) NONNULL MUST_CHECK;
size_t delegate_count(const json_t *agent_state) NONNULL MUST_CHECK;

/* The call that last gave it work, or "". */
const char *task_call(const json_t *task) NONNULL MUST_CHECK;
/* Members of a task; texts are borrowed from it. */
const char *task_id(const json_t *task) NONNULL MUST_CHECK;
const char *task_subagent(const json_t *task) NONNULL MUST_CHECK;
/* 0 if none was set. */
double task_allowance(const json_t *task) NONNULL MUST_CHECK;
struct uuid task_conversation_id(const json_t *task) NONNULL MUST_CHECK;

#endif

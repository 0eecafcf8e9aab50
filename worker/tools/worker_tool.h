/*
 * Tools that need no sandbox: they run in the worker, without blocking.
 *
 * Threading: pure, except for the conversation's agent_state that is passed in.
 */
#ifndef DEFT_WORKER_TOOLS_WORKER_TOOL_H
#define DEFT_WORKER_TOOLS_WORKER_TOOL_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct catalogue;
struct conversation;

/*
 * Runs the tool of that name and returns its observation, a new reference; NULL if the worker has
 * no such tool. The conversation's agent_state is the tools' memory; *is_changed_out = true if it
 * was changed.
 */
json_t *worker_tool_run(const struct catalogue *catalogue, const struct conversation *conversation,
                        const char *name, const json_t *action,
                        bool *is_changed_out) NONNULL MUST_CHECK;

/* think: the thought is only kept in the log. */
json_t *worker_tool_think(const json_t *action, json_t *agent_state,
                          bool *is_changed_out) NONNULL MUST_CHECK;
/* finish: repeats the message. */
json_t *worker_tool_finish(const json_t *action) NONNULL MUST_CHECK;
/* task_tracker: keeps {"task_list": […]} in agent_state. */
json_t *worker_tool_task_tracker(const json_t *action, json_t *agent_state,
                                 bool *is_changed_out) NONNULL MUST_CHECK;
/* invoke_skill: the text of a skill in AgentSkills format, found in the workspace or given. */
json_t *worker_tool_invoke_skill(const struct catalogue *catalogue,
                                 const struct conversation *conversation,
                                 const json_t *action) NONNULL MUST_CHECK;

#endif

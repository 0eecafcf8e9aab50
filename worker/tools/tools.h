/*
 * Tools that need no sandbox: they run in the worker, and at once.
 *
 * Threading: pure, but for the conversation's agent_state that is handed in.
 */
#ifndef DEFT_WORKER_TOOLS_TOOLS_H
#define DEFT_WORKER_TOOLS_TOOLS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct tool;

/*
 * Runs a tool and gives its observation, a new reference; NULL when the worker has no such tool.
 * agent_state is the tools' memory; *is_changed_out = true when it was written to.
 */
json_t *worker_tool_run(const struct tool *tool, const json_t *action, json_t *agent_state,
                        bool *is_changed_out) NONNULL MUST_CHECK;

/* think: the thought stays in the log, which is all. */
json_t *worker_tool_think(const json_t *action) NONNULL MUST_CHECK;
/* finish: repeats the message. */
json_t *worker_tool_finish(const json_t *action) NONNULL MUST_CHECK;
/* task_tracker: keeps {"task_list": […]} in agent_state. */
json_t *worker_tool_task_tracker(const json_t *action, json_t *agent_state,
                                 bool *is_changed_out) NONNULL MUST_CHECK;

#endif

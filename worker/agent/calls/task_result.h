/*
 * Results of calls of the tool task: one observation, with the sub-agent's cost.
 *
 * Errors of all: as event_writer_append().
 */
#ifndef DEFT_WORKER_AGENT_CALLS_TASK_RESULT_H
#define DEFT_WORKER_AGENT_CALLS_TASK_RESULT_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct conversation;
struct error;

/* After the sub-agent's run: its last message, or why there is none. child: NULL: it was deleted.
 */
int task_result_store(struct agent *agent, size_t action, const json_t *task,
                      const struct conversation *child, struct error *err)
    __attribute__((nonnull(1, 3, 5))) MUST_CHECK;
/* No task was started; words: the reason, for the model. */
int task_result_refuse(struct agent *agent, size_t action, const char *words,
                       struct error *err) NONNULL MUST_CHECK;

#endif

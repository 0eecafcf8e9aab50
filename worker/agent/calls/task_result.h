/*
 * What came of a call of the tool task: one observation, with what the sub-agent cost.
 *
 * Errors of all: as record_behind().
 */
#ifndef DEFT_WORKER_AGENT_CALLS_TASK_RESULT_H
#define DEFT_WORKER_AGENT_CALLS_TASK_RESULT_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct conversation;
struct error;

/* The sub-agent's run is over: its last words, or why there are none. */
int task_result_store(struct agent *agent, size_t action, const json_t *task,
                      const struct conversation *child, struct error *err) NONNULL MUST_CHECK;
/* Its conversation is gone. */
int task_result_deleted(struct agent *agent, size_t action, const json_t *task,
                        struct error *err) NONNULL MUST_CHECK;
/* There is no task: why, for the model. */
int task_result_refuse(struct agent *agent, size_t action, const char *words,
                       struct error *err) NONNULL MUST_CHECK;

#endif

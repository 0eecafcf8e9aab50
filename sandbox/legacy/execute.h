/*
 * The older action API: POST /execute_action runs one action and answers with its observation. One
 * shell, one editor and one Python serve all callers; actions run one after another, in the order
 * they came. Nothing is kept: who hangs up loses the answer, what runs goes on.
 *
 * Ownership: struct executions owns what it runs actions with.
 * Threading: one thread.
 * Source:    docs/api/action-execution.md
 */
#ifndef DEFT_SANDBOX_LEGACY_EXECUTE_H
#define DEFT_SANDBOX_LEGACY_EXECUTE_H

#include <stdbool.h>

#include "base/attr.h"

struct executions;
struct request;
struct server;

struct executions *executions_new(struct server *server) NONNULL MUST_CHECK;
/* Ends the shell; requests that wait are answered as failed. */
void executions_free(struct executions *executions);
/* True while an action runs. */
bool executions_are_busy(const struct executions *executions) NONNULL MUST_CHECK;
/* Where the shell is; relative paths begin there. Borrowed until the next action. */
const char *executions_working_dir(const struct executions *executions) NONNULL MUST_CHECK;

/* POST {"action": {"action", "args", "timeout"?}} -> 200 observation | 422 | 429 | 500 */
void execute_handle(struct request *request) NONNULL;

#endif

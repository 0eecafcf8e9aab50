/*
 * The older action API: POST /execute_action runs one action and answers with its observation. One
 * shell, one editor and one Python serve all callers; actions run one after another, in order of
 * arrival. Nothing is stored: a client that disconnects loses the answer, but its action continues.
 *
 * Ownership: struct executions owns the shell, the editor and the Python process.
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
/* Ends the shell; waiting requests are answered as failed. */
void executions_free(struct executions *executions);
/* True while an action runs. */
bool executions_are_busy(const struct executions *executions) NONNULL MUST_CHECK;
/* Current folder of the shell, where relative paths begin. Borrowed until the next action. */
const char *executions_working_dir(const struct executions *executions) NONNULL MUST_CHECK;

/* POST {"action": {"action", "args", "timeout"?}} -> 200 observation | 422 | 429 | 500 */
void execute_handle(struct request *request) NONNULL;

#endif

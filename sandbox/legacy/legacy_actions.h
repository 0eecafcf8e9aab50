/*
 * The older action API: POST /execute_action runs one action and answers with its observation. One
 * shell, one editor and one Python serve all callers; actions run one after another, in order of
 * arrival. Nothing is stored: a client that disconnects loses the answer, but its action continues.
 *
 * Ownership: struct legacy_actions owns the shell, the editor and the Python process.
 * Threading: one thread.
 * Source:    docs/api/action-execution.md
 */
#ifndef DEFT_SANDBOX_LEGACY_LEGACY_ACTIONS_H
#define DEFT_SANDBOX_LEGACY_LEGACY_ACTIONS_H

#include <stdbool.h>

#include "base/attr.h"

struct action_server;
struct legacy_actions;
struct server_request;

struct legacy_actions *legacy_actions_new(struct action_server *server) NONNULL MUST_CHECK;
/* Ends the shell; waiting requests are answered as failed. */
void legacy_actions_free(struct legacy_actions *legacy);
/* True while an action runs. */
bool legacy_actions_are_busy(const struct legacy_actions *legacy) NONNULL MUST_CHECK;
/* Current folder of the shell, where relative paths begin. Borrowed until the next action. */
const char *legacy_actions_working_dir(const struct legacy_actions *legacy) NONNULL MUST_CHECK;

/* POST {"action": {"action", "args", "timeout"?}} -> 200 observation | 422 | 429 | 500 */
void legacy_actions_handle(struct server_request *request) NONNULL;

#endif

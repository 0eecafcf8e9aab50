/*
 * The tool "hook", with which deft runs the commands of a project's hooks. No model calls it.
 *
 * A command ends with its own process: programs that it left in the background do not delay the
 * result, and what they print later is lost. After the time limit, or an interrupt, its whole
 * process group is killed.
 *
 * Blocks: hook_tool_run() only in forks.
 */
#ifndef DEFT_SANDBOX_ACTIONS_HOOK_TOOL_H
#define DEFT_SANDBOX_ACTIONS_HOOK_TOOL_H

#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/attr.h"

struct credentials;
struct error;

struct hook_call {
    const json_t *args;
    const char *working_dir;
    const char *workspace; /* HOME if the image's is not writable */
    const struct credentials *credentials;
    pid_t *session; /* of fork_task_session_new(): names the command while it runs */
};

/* ERROR_INVALID for malformed arguments, with the member's name. */
int hook_tool_check(const json_t *args, struct error *err) __attribute__((nonnull(2))) MUST_CHECK;
/* Time limit of the fork, above the command's own. */
int64_t hook_tool_deadline_ms(const json_t *args) NONNULL MUST_CHECK;
/* Runs the command and returns its observation. what: struct hook_call. */
json_t *hook_tool_run(const void *what) NONNULL MUST_CHECK;
/* The observation of a command that did not run to its end. */
json_t *hook_tool_failure(const char *why) NONNULL MUST_CHECK;

#endif

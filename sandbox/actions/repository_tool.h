/*
 * The tool "repository", with which deft prepares a conversation's workspace: a clone, a new
 * repository, the hook. No model calls it.
 *
 * Blocks: repository_tool_run() only in errands.
 */
#ifndef DEFT_SANDBOX_ACTIONS_REPOSITORY_TOOL_H
#define DEFT_SANDBOX_ACTIONS_REPOSITORY_TOOL_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct credentials;
struct error;

struct repository_call {
    const json_t *args;
    const char *working_dir;
    const struct credentials *credentials;
};

/* ERROR_INVALID for malformed arguments. */
int repository_tool_check(const json_t *args, struct error *err)
    __attribute__((nonnull(2))) MUST_CHECK;
/* Time limit of the call. */
int64_t repository_tool_deadline_ms(const json_t *args) NONNULL MUST_CHECK;
/* Carries out the call and returns its observation. order: struct repository_call. */
json_t *repository_tool_run(const void *order) NONNULL MUST_CHECK;
/* The observation of a failed preparation. */
json_t *repository_tool_failure(const char *why) NONNULL MUST_CHECK;

#endif

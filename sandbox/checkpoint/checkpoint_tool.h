/*
 * The tool "checkpoint", with which deft sets a workspace back. No model calls it.
 *
 * Blocks: checkpoint_tool_run() only in forks.
 * Source: docs/api/action-server.md, section 5.6
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_CHECKPOINT_TOOL_H
#define DEFT_SANDBOX_CHECKPOINT_CHECKPOINT_TOOL_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

/* The process is ended after the first; it ends by itself after the second, at the next file, and
 * tells what it did. */
#define CHECKPOINT_TOOL_DEADLINE_MS 120000
#define CHECKPOINT_TOOL_OWN_DEADLINE_MS 100000

struct checkpoint_call {
    const json_t *args;
    const char *working_dir;
    const char *folder;  /* the server's own, with the store */
    int64_t deadline_ms; /* of the setting back; clock_monotonic_ms() */
};

/* ERROR_INVALID for malformed arguments. */
int checkpoint_tool_check(const json_t *args, struct error *err) NONNULL MUST_CHECK;
/* Sets the workspace back and returns the observation. what: struct checkpoint_call. */
json_t *checkpoint_tool_run(const void *what) NONNULL MUST_CHECK;
/* The observation of a call that did not run to its end. */
json_t *checkpoint_tool_failure(const char *why) NONNULL MUST_CHECK;

#endif

/*
 * The tools that read, search and change files without a state of their own: glob, grep, read_file,
 * write_file, edit, list_directory, apply_patch.
 *
 * Blocks: file_tool_run() only in forks.
 * Decision: docs/decisions/0088-file-tools.md
 */
#ifndef DEFT_SANDBOX_ACTIONS_FILE_TOOL_H
#define DEFT_SANDBOX_ACTIONS_FILE_TOOL_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

#define FILE_TOOL_DEADLINE_MS 60000

struct file_tool_call {
    const char *tool;
    const json_t *args;
    const char *working_dir;
};

bool file_tool_exists(const char *name) NONNULL MUST_CHECK;
/* Carries out the call and returns its observation. what: struct file_tool_call. */
json_t *file_tool_run(const void *what) NONNULL MUST_CHECK;
/* The observation of a call that could not be carried out. */
json_t *file_tool_failure(const char *tool, const char *why) NONNULL MUST_CHECK;

#endif

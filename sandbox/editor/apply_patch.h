/*
 * The tool apply_patch: changes the files of a patch, all or none of them.
 *
 * Blocks: only in forks (core/fork_task.h).
 */
#ifndef DEFT_SANDBOX_EDITOR_APPLY_PATCH_H
#define DEFT_SANDBOX_EDITOR_APPLY_PATCH_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct strbuf;

/*
 * Adds message, fuzz and commit to *facts, and the text to *words. ERROR_INVALID and others, with
 * words for the model: then no file was changed, unless the words say so.
 */
int apply_patch_tool_run(const json_t *args, const char *working_dir, json_t *facts,
                         struct strbuf *words, struct error *err) NONNULL MUST_CHECK;

#endif

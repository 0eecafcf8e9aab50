/*
 * The tools glob and grep. A failing call is an observation with is_error, not an error.
 *
 * Blocks: only in forks (core/fork_task.h).
 */
#ifndef DEFT_SANDBOX_SEARCH_SEARCH_TOOLS_H
#define DEFT_SANDBOX_SEARCH_SEARCH_TOOLS_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct strbuf;

/*
 * Adds the members of the observation to *facts and its text to *words. ERROR_INVALID, with words
 * for the model.
 */
int glob_tool_run(const json_t *args, const char *working_dir, json_t *facts, struct strbuf *words,
                  struct error *err) NONNULL MUST_CHECK;
int grep_tool_run(const json_t *args, const char *working_dir, json_t *facts, struct strbuf *words,
                  struct error *err) NONNULL MUST_CHECK;

#endif

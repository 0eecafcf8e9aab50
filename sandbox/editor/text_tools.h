/*
 * The tools read_file, write_file, edit and list_directory. A failing call is an observation with
 * is_error, not an error.
 *
 * Each adds the members of its observation to *facts and its text to *words. ERROR_INVALID and
 * others, with words for the model.
 * Blocks: only in forks (core/fork_task.h).
 */
#ifndef DEFT_SANDBOX_EDITOR_TEXT_TOOLS_H
#define DEFT_SANDBOX_EDITOR_TEXT_TOOLS_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct strbuf;

int read_file_tool_run(const json_t *args, const char *working_dir, json_t *facts,
                       struct strbuf *words, struct error *err) NONNULL MUST_CHECK;
int write_file_tool_run(const json_t *args, const char *working_dir, json_t *facts,
                        struct strbuf *words, struct error *err) NONNULL MUST_CHECK;
int edit_tool_run(const json_t *args, const char *working_dir, json_t *facts, struct strbuf *words,
                  struct error *err) NONNULL MUST_CHECK;
int list_directory_tool_run(const json_t *args, const char *working_dir, json_t *facts,
                            struct strbuf *words, struct error *err) NONNULL MUST_CHECK;

#endif

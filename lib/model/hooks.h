/*
 * A project's hooks: commands that run when the agent does something, as a file of theirs says.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_HOOKS_H
#define DEFT_MODEL_HOOKS_H

#include <jansson.h>

#include "base/attr.h"

struct error;

/*
 * The HookConfig of a hooks file, defaults filled in; names of events may be written PreToolUse or
 * pre_tool_use, in an outer {"hooks": …} or not. ERROR_INVALID says what is wrong. A new reference.
 */
int hooks_read(const char *text, json_t **config_out, struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * A project's hooks: commands that run when the agent does something, as a file of theirs says.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_AGENT_HOOKS_H
#define DEFT_MODEL_AGENT_HOOKS_H

#include <jansson.h>

#include "base/attr.h"
#include "model/schema/shape.h"

struct error;

/* A HookConfig, as files and start requests have it. */
extern const struct shape hook_config_shape;

/*
 * The HookConfig of a hooks file, defaults filled in; names of events may be written PreToolUse or
 * pre_tool_use, in an outer {"hooks": …} or not. ERROR_INVALID says what is wrong. A new reference.
 */
int hooks_read(const char *text, json_t **config_out, struct error *err) NONNULL MUST_CHECK;

#endif

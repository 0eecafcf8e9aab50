/*
 * A model's call to a tool, checked and turned into an action.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_CALL_H
#define DEFT_MODEL_TOOLS_TOOL_CALL_H

#include "base/attr.h"

struct tool_call_check;
struct toolset;

/*
 * Repairs the name, parses and repairs the arguments, extracts security_risk and summary, validates
 * against the schema and fills in defaults. A bad call is not an error: it sets `problem`, for the
 * model.
 */
void tool_call_check(const struct toolset *tools, const char *name, const char *arguments,
                     struct tool_call_check *check_out) NONNULL;

#endif

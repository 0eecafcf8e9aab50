/*
 * Names by which models call tools.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_ALIAS_H
#define DEFT_MODEL_TOOLS_TOOL_ALIAS_H

#include <jansson.h>

#include "base/attr.h"

struct agent_tool;
struct toolset;

/*
 * Finds the tool that a call means: by its name, by the name's leading identifier, or by an alias
 * that models use. A command in the name is moved to arguments. NULL: unknown.
 */
const struct agent_tool *tool_alias_find(const struct toolset *tools, const char *name,
                                         json_t *arguments) NONNULL MUST_CHECK;
#endif

/*
 * deft's own tools as tools of an agent: described and checked by their entries in the catalogue.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_CATALOGUE_TOOLS_H
#define DEFT_MODEL_TOOLS_CATALOGUE_TOOLS_H

#include "base/attr.h"
#include "model/tools/agent_tool.h"

/* The tool of that entry, with an action_kind that the caller frees. */
struct agent_tool catalogue_tool(const struct tool *entry) NONNULL MUST_CHECK;

#endif

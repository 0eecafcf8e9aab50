/*
 * The catalogue: a table of all tools of deft.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_TABLE_H
#define DEFT_MODEL_TOOLS_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "model/tools/tool.h"

extern const struct tool tool_table[];
extern const size_t tool_table_n;
/* Names of tools that OpenHands has and deft does not: "a|b". */
extern const char tool_names_elsewhere[];

/* True if `name` in an agent's specification means the tool or its set. */
bool tool_is_meant(const struct tool *tool, const char *name) NONNULL MUST_CHECK;
/* True if agents of this installation can have the tool or set of that name. */
bool tools_have(enum sandbox_browser browser, const char *name) NONNULL MUST_CHECK;

/* True if no call of the tool changes files of the sandbox. */
bool tool_leaves_files(const struct tool *tool) NONNULL MUST_CHECK;

/* The values of security_risk. */
extern const char tool_risks[];

#endif

/*
 * The catalogue: every tool that deft has, as a table.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_TABLE_H
#define DEFT_MODEL_TOOLS_TOOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "model/tools/tool.h"

extern const struct tool tool_table[];
extern const size_t tool_table_n;
/* Names of tools that OpenHands has and deft has not: "a|b". */
extern const char tool_names_elsewhere[];

/* Whether an agent's specification that says `name` means the tool, or the set that it is in. */
bool tool_is_meant(const struct tool *tool, const char *name) NONNULL MUST_CHECK;
/* Whether agents here can be given the tool or set of that name. */
bool tools_have(enum sandbox_browser browser, const char *name) NONNULL MUST_CHECK;

/* The values of security_risk. */
extern const char tool_risks[];
/* What the model is told of the two members that every function has in front. */
extern const char tool_risk_help[];
extern const char tool_summary_help[];

#endif

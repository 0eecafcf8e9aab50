/*
 * The catalogue: every tool that deft has, as a table.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_TABLE_H
#define DEFT_MODEL_TOOLS_TOOL_TABLE_H

#include <stddef.h>

#include "model/tools/tools.h"

extern const struct tool tool_table[];
extern const size_t tool_table_n;
/* Names of tools that OpenHands has and deft has not: "a|b". */
extern const char tool_names_elsewhere[];

/* The values of security_risk. */
extern const char tool_risks[];
/* What the model is told of the two members that every function has in front. */
extern const char tool_risk_help[];
extern const char tool_summary_help[];

#endif

/*
 * The result of checking a model's call, and the steps of it that tools of all sources share.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_TOOL_CHECK_H
#define DEFT_MODEL_TOOLS_TOOL_CHECK_H

#include <jansson.h>

#include "base/attr.h"

struct agent_tool;
struct conversation;

struct tool_call_check {
    const struct agent_tool *tool; /* NULL: unknown; lives as long as the toolset */
    char *arguments;               /* JSON text to keep as tool_call.arguments */
    json_t *action;                /* with kind and defaults; NULL if invalid */
    char *summary;                 /* NULL if invalid */
    char security_risk[8];         /* UNKNOWN, LOW, MEDIUM, HIGH */
    char *problem;                 /* text for the AgentErrorEvent if action is NULL */
};

void tool_call_check_done(struct tool_call_check *check);
/*
 * Removes security_risk from the arguments and keeps it in the check, if an analyzer uses it;
 * appends an entry to `problems` for a value that is not a risk.
 */
void tool_check_take_risk(const struct agent_tool *tool, const struct conversation *conversation,
                          json_t *arguments, json_t *problems,
                          struct tool_call_check *check) NONNULL;
/* Removes summary from the arguments, or makes one from them. The caller frees it. */
char *tool_check_take_summary(const struct agent_tool *tool, json_t *arguments) NONNULL MUST_CHECK;
/* Sets the check's problem, which lists the errors by member, without the values. */
void tool_check_refuse(const struct agent_tool *tool, const json_t *problems, json_t *arguments,
                       struct tool_call_check *check) NONNULL;
/* Sets the check's risk to UNKNOWN. */
void tool_check_clear_risk(struct tool_call_check *check) NONNULL;

#endif

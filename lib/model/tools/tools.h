/*
 * The tools an agent may have: names, JSON schemas for the model, ToolDefinitions for the first
 * event, and the check that turns a call's arguments into an action.
 */
#ifndef DEFT_MODEL_TOOLS_TOOLS_H
#define DEFT_MODEL_TOOLS_TOOLS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/tools/tool.h"

struct conversation;
struct error;
struct strbuf;

/*
 * True if an agent's specification may name this tool: one of deft's, or one that only OpenHands
 * has, which the agent then does not get.
 */
bool tools_may_be_named(const char *spec_name) NONNULL MUST_CHECK;
/* True if every agent has the tool without naming it. */
bool tools_is_built_in(const struct tool *tool) NONNULL MUST_CHECK;
/* Lists the names of tools that agents of this installation can have; a set is listed by its own
 * name. A new reference. */
json_t *tools_names(enum sandbox_browser browser) MUST_CHECK;
/* True if the conversation's agent has the browser tools. */
bool tools_have_browser(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The tools of the conversation's agent, including finish and think, terminated by a NULL. The
 * caller frees the array with mem_free(); the tools are static. */
const struct tool **tools_of(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The conversation's tool of that name or alias, or NULL. */
const struct tool *tools_find(const struct conversation *conversation,
                              const char *name) NONNULL MUST_CHECK;
/* Returns an array of ToolDefinition for SystemPromptEvent. A new reference. */
json_t *tools_definitions(const struct conversation *conversation) NONNULL MUST_CHECK;
/* Returns an array of {"type":"function","function":{…}} for a chat completion. A new reference. */
json_t *tools_functions(const struct conversation *conversation) NONNULL MUST_CHECK;

struct tool_call_check {
    const struct tool *tool; /* NULL: unknown */
    char *arguments;         /* JSON text to keep as tool_call.arguments */
    json_t *action;          /* with kind and defaults; NULL if invalid */
    char *summary;           /* NULL if invalid */
    char security_risk[8];   /* UNKNOWN, LOW, MEDIUM, HIGH */
    char *problem;           /* text for the AgentErrorEvent if action is NULL */
};

void tool_call_check_done(struct tool_call_check *check);
/*
 * Repairs the name, parses and repairs the arguments, extracts security_risk and summary, validates
 * against the schema and fills in defaults. A bad call is not an error: it sets `problem`, for the
 * model.
 */
void tool_call_check(const struct conversation *conversation, const char *name,
                     const char *arguments, struct tool_call_check *check_out) NONNULL;

#endif

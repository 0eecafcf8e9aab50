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
 * Whether an agent's specification may name a tool so: one of ours, or one that OpenHands has and
 * this server does not; agents go without those.
 */
bool tools_may_be_named(const char *spec_name) NONNULL MUST_CHECK;
/* Whether every agent has the tool, so that nobody has to name it. */
bool tools_is_built_in(const struct tool *tool) NONNULL MUST_CHECK;
/* Names of the tools that agents here can be given, a set by its own: a list of texts. A new
 * reference. */
json_t *tools_names(enum sandbox_browser browser) MUST_CHECK;
/* Whether the conversation's agent has the browser tools. */
bool tools_have_browser(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The tools of the conversation's agent, finish and think among them; ends with a NULL. The caller
 * frees the array with mem_free(); the tools live for ever. */
const struct tool **tools_of(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The conversation's tool of that name or alias, or NULL. */
const struct tool *tools_find(const struct conversation *conversation,
                              const char *name) NONNULL MUST_CHECK;
/* Array of ToolDefinition for SystemPromptEvent. A new reference. */
json_t *tools_definitions(const struct conversation *conversation) NONNULL MUST_CHECK;
/* Array of {"type":"function","function":{…}} for a chat completion. A new reference. */
json_t *tools_functions(const struct conversation *conversation) NONNULL MUST_CHECK;

struct tool_call_check {
    const struct tool *tool; /* NULL: unknown */
    char *arguments;         /* JSON text to keep as tool_call.arguments */
    json_t *action;          /* with kind and defaults; NULL when invalid */
    char *summary;           /* NULL when invalid */
    char security_risk[8];   /* UNKNOWN, LOW, MEDIUM, HIGH */
    char *problem;           /* text for the AgentErrorEvent when action is NULL */
};

void tool_call_check_done(struct tool_call_check *check);
/*
 * Name repair, argument parsing and repair, security_risk and summary taken out, validation against
 * the schema, defaults filled in. A bad call is no error: it is a `problem` for the model.
 */
void tool_call_check(const struct conversation *conversation, const char *name,
                     const char *arguments, struct tool_call_check *check_out) NONNULL;

#endif

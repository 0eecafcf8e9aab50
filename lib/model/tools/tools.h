/*
 * The tools an agent may have: names, JSON schemas for the model, ToolDefinitions for the first
 * event, and the check that turns a call's arguments into an action.
 */
#ifndef DEFT_MODEL_TOOLS_TOOLS_H
#define DEFT_MODEL_TOOLS_TOOLS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct error;
struct shape;
struct strbuf;

/* Where a tool's work is done. */
enum tool_place {
    TOOL_IN_SANDBOX,
    TOOL_IN_WORKER,
    TOOL_IN_CHILD, /* a conversation that the call starts */
};

/* Whether the sandboxes of this installation have a browser. */
enum sandbox_browser { SANDBOX_WITHOUT_BROWSER, SANDBOX_WITH_BROWSER };

struct tool {
    const char *name;             /* terminal */
    const char *title;            /* NULL when it has none */
    const char *kind;             /* TerminalTool */
    const char *action_kind;      /* TerminalAction */
    const char *observation_kind; /* TerminalObservation */
    enum tool_place place;
    bool is_read_only;
    const struct shape *shape; /* the members of its action; what the model fills in */
    const char *description;   /* for the model */
    const char *hints;         /* d: destructive, i: idempotent, w: open world */
    const char *spec_names;    /* how agent specifications may call it: "a|b" */
    const char *set_names;     /* of the browser's set, that brings it along; NULL: in none */
    const char *told_set;      /* a set that is this tool alone, and told beside it; NULL: none */
    bool shows_working_dir;    /* the description ends with the working directory */
    bool lists_sub_agents;     /* the description ends with the kinds of sub-agents */
};

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
/* Whether agents here can be given the tool or set of that name. */
bool tools_have(enum sandbox_browser browser, const char *name) NONNULL MUST_CHECK;
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

/* The text that the model reads of an observation (terminal: output, directory, exit code …). */
void observation_append_text(json_t *observation, struct strbuf *out) NONNULL;

#endif

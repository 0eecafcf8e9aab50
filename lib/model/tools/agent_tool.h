/*
 * A tool of one agent: one of deft's own, or one that the conversation's creator provides. Whatever
 * its source, it is described, checked and run through this interface.
 *
 * Ownership: a toolset (toolset.h) owns its tools; they borrow from its conversation.
 */
#ifndef DEFT_MODEL_TOOLS_AGENT_TOOL_H
#define DEFT_MODEL_TOOLS_AGENT_TOOL_H

#include <stdbool.h>

#include <jansson.h>

#include "model/tools/tool.h"

struct agent_tool;
struct catalogue;
struct conversation;
struct tool_call_check;

/* A tool's effects, in the words of the Model Context Protocol. */
struct tool_annotations {
    bool is_read_only;
    bool is_destructive;
    bool is_idempotent;
    bool is_open_world;
};

/* What tools of one source have in common. All JSON results are new references. */
struct tool_source {
    /* A ToolDefinition for the SystemPromptEvent. */
    json_t *(*definition)(const struct agent_tool *tool, const struct catalogue *catalogue,
                          const struct conversation *conversation);
    /* The description for the model. */
    json_t *(*description)(const struct agent_tool *tool, const struct catalogue *catalogue,
                           const struct conversation *conversation);
    /* The JSON schema of the arguments, for the model. */
    json_t *(*parameters)(const struct agent_tool *tool, const struct catalogue *catalogue);
    /*
     * Validates a call's arguments, which it may change, and sets the check's action and summary,
     * or its problem.
     */
    void (*check)(const struct agent_tool *tool, const struct conversation *conversation,
                  json_t *arguments, struct tool_call_check *check);
};

struct agent_tool {
    const char *name; /* that the model calls it by */
    enum tool_place place;
    struct tool_annotations annotations;
    char *action_kind;
    const char *observation_kind;
    const struct tool_source *source;
    const struct tool *own; /* its entry in the catalogue; NULL: not one of deft's */
    const json_t *provided; /* {name, description, parameters, annotations}; NULL: deft's own */
};

#endif

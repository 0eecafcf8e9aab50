/*
 * Tools that the creator of a conversation brings along: the model is offered them, and a call is
 * handed to the client, who sees its ActionEvent. The agent does not wait for what comes of it.
 */
#ifndef DEFT_MODEL_TOOLS_CLIENT_TOOLS_H
#define DEFT_MODEL_TOOLS_CLIENT_TOOLS_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct tool;

/* What the model reads as the result of each call. */
#define CLIENT_TOOL_RESULT "Tool call dispatched to client."

/* How the kinds of their actions begin; the tool's name follows. */
#define CLIENT_ACTION_PREFIX "ClientAction_"

/* Stands for all of them where a tool is asked for. */
extern const struct tool client_tool;

/* {name, description, parameters, annotations} of that name, or NULL. Borrowed. */
const json_t *client_tool_find(const struct conversation *conversation,
                               const char *name) NONNULL MUST_CHECK;
/* Appends their ToolDefinitions. */
void client_tools_add_definitions(const struct conversation *conversation, json_t *list) NONNULL;
/* Appends what a chat model is offered, without those of a name that one of the agent's own tools
 * (tools_of()) has. */
void client_tools_add_functions(const struct conversation *conversation,
                                const struct tool *const *own, json_t *list) NONNULL;
/* The kind of the actions of a tool of that name. The caller frees it. */
char *client_tool_action_kind(const char *name) NONNULL MUST_CHECK;

#endif

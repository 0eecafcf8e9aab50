/*
 * Tools provided by the creator of a conversation: they are offered to the model, and the client
 * receives a call as its ActionEvent. The agent does not wait for a result.
 */
#ifndef DEFT_MODEL_TOOLS_CLIENT_TOOLS_H
#define DEFT_MODEL_TOOLS_CLIENT_TOOLS_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct tool;

/* The result of each call, for the model. */
#define CLIENT_TOOL_RESULT "Tool call dispatched to client."

/* Prefix of their actions' kinds; the tool's name follows. */
#define CLIENT_ACTION_PREFIX "ClientAction_"

/* Represents all of them where a struct tool is needed. */
extern const struct tool client_tool;

/* Returns {name, description, parameters, annotations} of that name, or NULL. Borrowed. */
const json_t *client_tool_find(const struct conversation *conversation,
                               const char *name) NONNULL MUST_CHECK;
/* Appends their ToolDefinitions. */
void client_tools_add_definitions(const struct conversation *conversation, json_t *list) NONNULL;
/* Appends their functions for a chat model, except those with the name of one of the agent's own
 * tools (tools_of()). */
void client_tools_add_functions(const struct conversation *conversation,
                                const struct tool *const *own, json_t *list) NONNULL;
/* Returns the action kind of the tool of that name. The caller frees it. */
char *client_tool_action_kind(const char *name) NONNULL MUST_CHECK;

#endif

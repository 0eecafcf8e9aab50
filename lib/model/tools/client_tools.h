/*
 * Tools provided by the creator of a conversation: they are offered to the model, and the client
 * receives a call as its ActionEvent. The agent does not wait for a result.
 */
#ifndef DEFT_MODEL_TOOLS_CLIENT_TOOLS_H
#define DEFT_MODEL_TOOLS_CLIENT_TOOLS_H

#include <jansson.h>

#include "base/attr.h"
#include "model/tools/agent_tool.h"

struct conversation;

/* The result of each call, for the model. */
#define CLIENT_TOOL_RESULT "Tool call dispatched to client."

/* Prefix of their actions' kinds; the tool's name follows. */
#define CLIENT_ACTION_PREFIX "ClientAction_"

/* Returns [{name, description, parameters, annotations}], or NULL. Borrowed. */
const json_t *client_tools_of(const struct conversation *conversation) NONNULL MUST_CHECK;
/* Returns the one of that name, or NULL. Borrowed. */
const json_t *client_tool_find(const struct conversation *conversation,
                               const char *name) NONNULL MUST_CHECK;
/* The tool so provided, with an action_kind that the caller frees. */
struct agent_tool client_tool(const json_t *provided) NONNULL MUST_CHECK;

#endif

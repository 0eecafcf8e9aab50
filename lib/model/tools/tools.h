/*
 * Which of deft's own tools an agent may have, and which ones its specification names.
 */
#ifndef DEFT_MODEL_TOOLS_TOOLS_H
#define DEFT_MODEL_TOOLS_TOOLS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/tools/tool.h"

struct conversation;

/*
 * True if an agent's specification may name this tool: one of deft's, or one that only OpenHands
 * has, which the agent then does not get.
 */
bool tools_may_be_named(const char *spec_name) NONNULL MUST_CHECK;
/* True if agents have the tool without naming it: all, or those with skills to open. */
bool tools_is_built_in(const struct tool *tool) NONNULL MUST_CHECK;
/* Lists the names of tools that agents of this installation can have; a set is listed by its own
 * name. A new reference. */
json_t *tools_names(enum sandbox_browser browser) MUST_CHECK;
/* True if the conversation's agent has the browser tools. */
bool tools_have_browser(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The catalogue's entries for the conversation's agent, including finish and think, terminated by a
 * NULL. The caller frees the array with mem_free(); the entries are static. */
const struct tool **tools_of(const struct conversation *conversation) NONNULL MUST_CHECK;

#endif

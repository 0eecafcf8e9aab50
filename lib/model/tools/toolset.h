/*
 * The tools of one agent, from all sources, made once from its conversation's specification: found
 * by name, described for the model and for clients.
 *
 * Ownership: toolset_free() releases it; it borrows the catalogue and the conversation, whose
 *            specification must not change as long as the toolset is used.
 * Threading: one thread.
 */
#ifndef DEFT_MODEL_TOOLS_TOOLSET_H
#define DEFT_MODEL_TOOLS_TOOLSET_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent_tool;
struct catalogue;
struct conversation;
struct toolset;

struct toolset *toolset_new(const struct catalogue *catalogue,
                            const struct conversation *conversation) NONNULL MUST_CHECK;
void toolset_free(struct toolset *tools);
void toolset_freep(struct toolset **tools) NONNULL;

const struct conversation *toolset_conversation(const struct toolset *tools) NONNULL MUST_CHECK;
/* deft's own tools come first, in the specification's order. */
size_t toolset_size(const struct toolset *tools) NONNULL MUST_CHECK;
const struct agent_tool *toolset_at(const struct toolset *tools, size_t i) NONNULL MUST_CHECK;
/*
 * The tool of that name, or NULL. One of deft's own also goes by its names in specifications, and
 * takes precedence.
 */
const struct agent_tool *toolset_find(const struct toolset *tools,
                                      const char *name) NONNULL MUST_CHECK;
/* True if one of the tools needs a sandbox. */
bool toolset_needs_sandbox(const struct toolset *tools) NONNULL MUST_CHECK;

/* Returns an array of ToolDefinition for SystemPromptEvent. A new reference. */
json_t *toolset_definitions(const struct toolset *tools) NONNULL MUST_CHECK;
/* Returns an array of {"type":"function","function":{…}} for a chat completion. A new reference. */
json_t *toolset_functions(const struct toolset *tools) NONNULL MUST_CHECK;

#endif

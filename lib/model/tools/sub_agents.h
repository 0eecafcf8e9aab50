/*
 * Sub-agents: the available kinds (deft's own, and those defined by a start request), and creating
 * a sub-agent's conversation.
 *
 * Ownership: definitions are AgentDefinition objects of the wire, with is_builtin.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_TOOLS_SUB_AGENTS_H
#define DEFT_MODEL_TOOLS_SUB_AGENTS_H

#include <jansson.h>

#include "base/attr.h"
#include "model/tools/tool.h"

struct catalogue;
struct conversation;
struct error;
struct keyring;
struct strbuf;

/* Lists deft's own kinds whose tools are available. A new reference. */
json_t *sub_agents_builtin(const struct catalogue *catalogue,
                           enum sandbox_browser browser) NONNULL MUST_CHECK;
/* Finds a kind that agents of the conversation may call, by name, or NULL. The conversation's
 * definitions take precedence over deft's own. A new reference. */
json_t *sub_agent_find(const struct catalogue *catalogue, const struct conversation *conversation,
                       const char *name) NONNULL MUST_CHECK;
/* Appends a line for each kind, "- name: purpose", separated by line ends. */
void sub_agents_append_list(const struct catalogue *catalogue,
                            const struct conversation *conversation, struct strbuf *out) NONNULL;
struct sub_agent {
    const json_t *definition;
    const char *role; /* the prompt of all sub-agents, before its own */
    double allowance; /* what its parent's budget leaves, in US dollars; -1: any amount */
};

/*
 * Fills *child_out as child_conversation_make() does, with the tools and the prompt of the
 * definition, and at most the allowance as its budget. It uses the parent's model even if the
 * definition names another, never asks for confirmation, and gets no automatic title.
 */
int sub_agent_make(const struct keyring *keyring, const struct conversation *parent,
                   const struct sub_agent *sub_agent, const char *title,
                   struct conversation *child_out, struct error *err) NONNULL MUST_CHECK;

#endif

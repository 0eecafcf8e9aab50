/*
 * Sub-agents: which kinds there are (deft's own, and those that a start request defines), and the
 * conversation of one.
 *
 * Ownership: definitions are AgentDefinition objects of the wire, with is_builtin.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_TOOLS_SUB_AGENTS_H
#define DEFT_MODEL_TOOLS_SUB_AGENTS_H

#include <jansson.h>

#include "base/attr.h"
#include "model/tools/tool.h"

struct conversation;
struct error;
struct keyring;
struct strbuf;

/* deft's own, those whose tools it has: a list. A new reference. */
json_t *sub_agents_builtin(enum sandbox_browser browser) MUST_CHECK;
/* The kind of that name that agents of the conversation may call, or NULL. The conversation's
 * definitions stand before deft's own. A new reference. */
json_t *sub_agent_find(const struct conversation *conversation,
                       const char *name) NONNULL MUST_CHECK;
/* A line for each kind: "\n- name: what it is for". */
void sub_agents_append_list(const struct conversation *conversation, struct strbuf *out) NONNULL;
/*
 * Fills *child_out as child_make() does, with the tools and the words of the definition. It has the
 * parent's model whatever the definition says, asks nobody for confirmation, and names itself.
 */
int sub_agent_make(const struct keyring *keyring, const struct conversation *parent,
                   const json_t *definition, const char *title, struct conversation *child_out,
                   struct error *err) NONNULL MUST_CHECK;

#endif

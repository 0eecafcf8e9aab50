/*
 * Tools that a hook of the type agent may use: those of deft that only read files. They have no
 * state that the conversation's agent would find changed, and may be run again after a crash.
 *
 * Ownership: hook_tools_free() releases them. Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_HOOKS_HOOK_TOOLS_H
#define DEFT_WORKER_AGENT_HOOKS_HOOK_TOOLS_H

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct error;
struct hook_tools;
struct llm_tool_call;
struct strbuf;
struct uuid;

/* Those that the list of names has; others are left out. */
struct hook_tools *hook_tools_new(const struct agent *agent,
                                  const json_t *names) NONNULL MUST_CHECK;
void hook_tools_free(struct hook_tools *tools);
void hook_tools_freep(struct hook_tools **tools) NONNULL;

/* As toolset_functions(); empty if there are none. A new reference. */
json_t *hook_tools_functions(const struct hook_tools *tools) NONNULL MUST_CHECK;
/*
 * Runs a call in the sandbox under an id made from `id` and the call, and appends its result for
 * the model, masked; a call that cannot be run has a message as its result. Errors as
 * own_action_run().
 */
int hook_tools_run(struct agent *agent, const struct hook_tools *tools, const struct uuid *id,
                   const struct llm_tool_call *call, struct strbuf *result,
                   struct error *err) NONNULL MUST_CHECK;

#endif

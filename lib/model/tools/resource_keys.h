/*
 * What a call occupies while it runs: calls that share a key run one after the other, in the order
 * of the model's answer; others may run at once.
 *
 * Keys: file:PATH, terminal:session, browser, task:ID for a sub-agent that goes on, and tool:NAME
 * for tools without a resource of their own. A read-only tool without one occupies nothing, nor
 * does a call for a new sub-agent.
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_RESOURCE_KEYS_H
#define DEFT_MODEL_TOOLS_RESOURCE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent_tool;

/* Sorted, without duplicates. */
struct resource_keys {
    char **items;
    size_t n;
};

/* clang-format off */
#define RESOURCE_KEYS_INIT {NULL, 0}
/* clang-format on */

void resource_keys_done(struct resource_keys *keys);
/* Adds a key unless it is there; takes it over. */
void resource_keys_add(struct resource_keys *keys, char *key) NONNULL;
/* Adds the keys of a call to the tool with that action. */
void resource_keys_add_call(struct resource_keys *keys, const struct agent_tool *tool,
                            const json_t *action) NONNULL;
bool resource_keys_overlap(const struct resource_keys *a,
                           const struct resource_keys *b) NONNULL MUST_CHECK;

#endif

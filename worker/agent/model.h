/*
 * Which model a conversation asks, and with whose key.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_MODEL_H
#define DEFT_WORKER_AGENT_MODEL_H

#include <jansson.h>

#include "base/attr.h"

struct secret;
struct worker_settings;

struct model_choice {
    json_t *spec;             /* the LLM object to ask with */
    const struct secret *key; /* borrowed; NULL: none */
};

/* clang-format off */
#define MODEL_CHOICE_INIT {NULL, NULL}
/* clang-format on */

void model_choice_done(struct model_choice *choice) NONNULL;
/*
 * The conversation's own model and key. The server's key and address stand in only where it names
 * the server's model or none, and has neither a key nor an address of its own: so the server's key
 * never goes where a user points.
 */
void model_choose(const struct worker_settings *settings, json_t *spec, const struct secret *key,
                  struct model_choice *choice_out) NONNULL;

#endif

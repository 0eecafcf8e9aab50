/*
 * What a server fills in where a request to start a conversation is silent.
 *
 * Ownership: its texts are borrowed.
 */
#ifndef DEFT_MODEL_AGENT_CONVERSATION_DEFAULTS_H
#define DEFT_MODEL_AGENT_CONVERSATION_DEFAULTS_H

#include <stdbool.h>

/* "local": the shared sandbox of the key that called; "docker": a sandbox of its own. */
enum runtime_kind { RUNTIME_LOCAL, RUNTIME_DOCKER };

struct conversation_defaults {
    enum runtime_kind runtime_kind;
    const char *model;    /* LLM_MODEL, such as scripted/hello */
    const char *base_url; /* NULL: the provider's own */
    bool has_browser;     /* sandboxes do */
};

#endif

/*
 * The server's defaults for members that a start request leaves out.
 *
 * Ownership: strings are borrowed.
 */
#ifndef DEFT_MODEL_AGENT_CONVERSATION_DEFAULTS_H
#define DEFT_MODEL_AGENT_CONVERSATION_DEFAULTS_H

#include <stdbool.h>

/* "local": the shared sandbox of the caller's key; "docker": a sandbox of its own. */
enum runtime_kind { RUNTIME_LOCAL, RUNTIME_DOCKER };

struct conversation_defaults {
    enum runtime_kind runtime_kind;
    const char *model;    /* LLM_MODEL, such as scripted/hello */
    const char *base_url; /* NULL: the provider's default */
    bool has_browser;     /* of sandboxes */
};

#endif

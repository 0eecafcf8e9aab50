/*
 * Texts of the system prompt, by section.
 */
#ifndef DEFT_MODEL_PROMPT_PROMPT_TEXT_H
#define DEFT_MODEL_PROMPT_PROMPT_TEXT_H

enum prompt_when {
    PROMPT_ALWAYS,
    PROMPT_WITHOUT_PERSONA,
    PROMPT_MEMORY,  /* always, in one of two forms */
    PROMPT_POLICY,  /* unless the agent has no security policy */
    PROMPT_RISK,    /* if the model rates security_risk; in one of two forms */
    PROMPT_BROWSER, /* if the agent has the browser tools */
    PROMPT_FAMILY,  /* if the model's family needs it */
};

struct prompt_section {
    const char *tag;
    enum prompt_when when;
    const char *text; /* unused for PROMPT_FAMILY */
};

struct prompt_family {
    const char *part; /* of the lower-case model name */
    const char *text; /* "" if the family needs none */
};

/* In order; both are terminated by a NULL. */
extern const struct prompt_section prompt_sections[];
extern const struct prompt_family prompt_families[];

extern const char prompt_memory_tiers[];
extern const char prompt_risk_sandbox[];
/* Introductions of the conversation-specific sections. */
extern const char prompt_untrusted[];
extern const char prompt_secrets[];

#endif

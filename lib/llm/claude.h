/*
 * Internal to lib/llm: what Anthropic's models take, by name, whichever server they are called at.
 */
#ifndef DEFT_LLM_CLAUDE_H
#define DEFT_LLM_CLAUDE_H

#include "base/attr.h"

enum claude_thinking {
    CLAUDE_THINKING_NONE,
    CLAUDE_THINKING_BY_EFFORT, /* a budget of tokens that follows from the effort */
    CLAUDE_THINKING_MANUAL,    /* the configured budget, also between calls of tools */
    CLAUDE_THINKING_ADAPTIVE,  /* the model decides, given an effort */
    CLAUDE_THINKING_BOUND,     /* as ADAPTIVE; its blocks are valid after the same prompt only */
};

struct claude_model {
    const char *name; /* beginning of the name without provider */
    enum claude_thinking thinking;
};

/* The entry for a model; NULL if it is not one of Anthropic's. Static storage. */
const struct claude_model *claude_find(const char *model) NONNULL MUST_CHECK;

#endif

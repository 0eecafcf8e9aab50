/*
 * What a model's server reports of prompts against the estimates of token_count.h: it corrects
 * later estimates, and shows a server that drops a part of a prompt without saying so.
 *
 * Ownership: the caller owns the gauge until token_gauge_done().
 * Threading: belongs to its conversation's thread.
 * Decision:  docs/decisions/0093-tokens-of-views.md
 */
#ifndef DEFT_WORKER_AGENT_CORE_TOKEN_GAUGE_H
#define DEFT_WORKER_AGENT_CORE_TOKEN_GAUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"

/* A prompt that was sent. */
struct token_prompt {
    const char *model;
    size_t n_estimated;  /* by token_count.h */
    size_t n_text;       /* of these, tokens of text and tools */
    uint64_t generation; /* the transcript's: a prompt of the same one only grows */
};

struct token_gauge {
    struct strbuf model;   /* the rest holds for this one */
    double scale;          /* reported tokens per estimated one; 0: nothing reported yet */
    uint64_t generation;   /* of the longest prompt as reported */
    size_t n_text;         /* in that prompt */
    int64_t n_reported;    /* for it; 0: none */
    int64_t window_tokens; /* to which the server cuts prompts; 0: it is not known to do so */
};

/* clang-format off */
#define TOKEN_GAUGE_INIT {.model = STRBUF_INIT}
/* clang-format on */

void token_gauge_done(struct token_gauge *gauge);
/*
 * Notes the count that the server reported for a prompt; 0 or less: none. True if it shows, for the
 * first time, that the server cut the prompt.
 */
bool token_gauge_note(struct token_gauge *gauge, const struct token_prompt *prompt,
                      int64_t n_reported) NONNULL MUST_CHECK;
/* Tokens of that model per estimated token. */
double token_gauge_scale(const struct token_gauge *gauge, const char *model) NONNULL MUST_CHECK;
/* The length in tokens to which that model's server silently cuts prompts; 0: unknown. */
int64_t token_gauge_window(const struct token_gauge *gauge, const char *model) NONNULL MUST_CHECK;

#endif

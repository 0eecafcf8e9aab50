/*
 * Internal to lib/llm: an answer while it arrives, whole or in pieces, and the reply made from it.
 *
 * Ownership: the caller owns struct draft; draft_done() releases what it holds.
 * Source: OpenAI Chat Completions and known variants of compatible servers.
 */
#ifndef DEFT_LLM_DRAFT_H
#define DEFT_LLM_DRAFT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "llm/llm.h"

struct llm_trouble;

/* An answer with more calls is refused. */
#define DRAFT_CALLS_MAX 128

struct draft_call {
    json_int_t index;
    struct strbuf id;
    struct strbuf name;
    struct strbuf arguments;
};

struct draft {
    struct strbuf text;
    struct strbuf reasoning;
    struct strbuf response_id;
    struct strbuf finish_reason;
    struct draft_call *calls;
    size_t n_calls;
    bool has_choice;    /* the answer had at least one */
    bool has_odd_calls; /* calls of types other than function were dropped */
    struct llm_usage usage;
};

/* clang-format off */
#define DRAFT_INIT                                                                                 \
    {.text = STRBUF_INIT, .reasoning = STRBUF_INIT, .response_id = STRBUF_INIT, .finish_reason = STRBUF_INIT}
/* clang-format on */

void draft_done(struct draft *draft);
/* Takes a whole answer ("message") or a piece of one ("delta"); the member says which. */
int draft_take(struct draft *draft, const json_t *answer,
               struct llm_trouble *trouble) NONNULL MUST_CHECK;
/* Adds a call with complete arguments; for models that are not HTTP servers. */
int draft_add_call(struct draft *draft, const char *name, const char *arguments,
                   struct llm_trouble *trouble) NONNULL MUST_CHECK;
/*
 * Moves the draft into *reply_out, generating ids where they are missing or duplicate. Fails if
 * there is no answer or it cannot be used.
 */
int draft_finish(struct draft *draft, struct llm_reply *reply_out,
                 struct llm_trouble *trouble) NONNULL MUST_CHECK;

#endif

/*
 * Inside of lib/llm: an answer while it comes in, piece by piece or whole, and the reply made of
 * it.
 *
 * Ownership: the caller owns struct draft; draft_done() releases what it holds.
 * Source: OpenAI Chat Completions and the variants that compatible servers are known for.
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

/* An answer with more calls than that is no use to anybody. */
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
    bool has_odd_calls; /* calls that are no function calls were left out */
    struct llm_usage usage;
};

/* clang-format off */
#define DRAFT_INIT                                                                                 \
    {.text = STRBUF_INIT, .reasoning = STRBUF_INIT, .response_id = STRBUF_INIT, .finish_reason = STRBUF_INIT}
/* clang-format on */

void draft_done(struct draft *draft);
/* Takes a whole answer ("message") or a piece of one ("delta"), told apart by their member. */
int draft_take(struct draft *draft, const json_t *answer,
               struct llm_trouble *trouble) NONNULL MUST_CHECK;
/* Adds text, or a call whose arguments are whole: for models that are no HTTP servers. */
int draft_add_call(struct draft *draft, const char *name, const char *arguments,
                   struct llm_trouble *trouble) NONNULL MUST_CHECK;
/*
 * Moves the draft into *reply_out, with ids made up where they are missing or used twice. Fails
 * when there is no answer, or one that cannot be used.
 */
int draft_finish(struct draft *draft, struct llm_reply *reply_out,
                 struct llm_trouble *trouble) NONNULL MUST_CHECK;

#endif

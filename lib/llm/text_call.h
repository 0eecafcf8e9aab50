/*
 * Internal to lib/llm: reads the call that an answer has as text (see text_calls.h).
 *
 * Ownership: text_call_done() releases the texts.
 * Threading: pure.
 */
#ifndef DEFT_LLM_TEXT_CALL_H
#define DEFT_LLM_TEXT_CALL_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

/* More parameters in a call, or a longer name, are refused. */
#define TEXT_CALL_PARAMETERS_MAX 64
#define TEXT_CALL_NAME_MAX_BYTES 128

enum text_call_kind {
    TEXT_CALL_NONE, /* no call */
    TEXT_CALL_READ,
    TEXT_CALL_CUT, /* the answer ends within a parameter or a name */
    TEXT_CALL_BAD, /* see problem */
};

struct text_call {
    struct strbuf words; /* what comes before the call, or the whole answer */
    struct strbuf name;
    struct strbuf arguments; /* JSON */
    struct strbuf problem;   /* for the model */
};

/* clang-format off */
#define TEXT_CALL_INIT {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT}
/* clang-format on */

void text_call_done(struct text_call *call) NONNULL;
/*
 * Reads an answer: len bytes and a NUL, in time that is linear in len. The first call counts, and
 * what comes after it is left out, as is what comes before a "</think>".
 * functions: see llm_prompt_set_tools(). A function that is none of them is read, too, with all its
 * values as texts: the name may be another one for a tool.
 */
enum text_call_kind text_call_read(const json_t *functions, const char *text, size_t len,
                                   struct text_call *call_out) NONNULL MUST_CHECK;

#endif

/*
 * Internal to lib/llm: calls of functions as text, for models that have no calls of their own
 * (native_tool_calling: false). It is above the wire formats: functions become a part of the system
 * text, calls and results become words, before a format renders them.
 *
 *     <function=NAME>
 *     <parameter=KEY>VALUE</parameter>
 *     </function>
 *
 * Threading: pure.
 * Decision:  docs/decisions/0087-calls-as-text.md
 */
#ifndef DEFT_LLM_TEXT_CALLS_H
#define DEFT_LLM_TEXT_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct catalogue;
struct llm_reply;

/* A provider stops here, if the model takes stop words: what comes after a call is of no use. */
#define TEXT_CALLS_STOP "</function"

/* The functions of a prompt. */
struct text_calls {
    const struct catalogue *catalogue; /* borrowed */
    json_t *functions;                 /* NULL: none, or the model has calls of its own */
    struct strbuf description;
    bool takes_example; /* of a call */
    bool takes_stop_words;
};

/* clang-format off */
#define TEXT_CALLS_INIT {.description = STRBUF_INIT}
/* clang-format on */

/* The end of a prompt, as far as the next message depends on it. A plain value. */
struct text_calls_end {
    bool is_described; /* the functions were described */
    bool has_user;     /* there was a message of the user */
    size_t n_calls;
};

void text_calls_done(struct text_calls *calls) NONNULL;
/* Sets the functions, see llm_prompt_set_tools(). */
void text_calls_set(struct text_calls *calls, const json_t *functions) NONNULL;
/* The message as it is shown to such a model. A new reference. */
json_t *text_calls_message(const struct text_calls *calls, struct text_calls_end *end,
                           json_t *message) NONNULL MUST_CHECK;
/* The message that must precede this one, or NULL: the functions are described in a system message.
 * A new reference. */
json_t *text_calls_opening(const struct text_calls *calls, struct text_calls_end *end,
                           const json_t *message) NONNULL MUST_CHECK;
/*
 * Finds the call in an answer's words: it becomes the reply's only call, or, if it cannot be read,
 * its problem for the model (llm_reply.call_problem). A reply with calls is left as it is.
 */
void text_calls_take(const struct text_calls *calls, const struct text_calls_end *end,
                     struct llm_reply *reply) NONNULL;
/* The stop words of a request, or NULL for none. A new reference. */
json_t *text_calls_stop_words(const struct text_calls *calls) NONNULL MUST_CHECK;

#endif

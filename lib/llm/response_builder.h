/*
 * Internal to lib/llm: an answer while it arrives, whole or in pieces, and the reply made from it.
 *
 * Ownership: the caller owns struct response_builder; response_builder_done() releases what it
 * holds. Formats (format.h) fill it in.
 */
#ifndef DEFT_LLM_RESPONSE_BUILDER_H
#define DEFT_LLM_RESPONSE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "llm/llm.h"

struct llm_error;

/* An answer with more calls is refused. */
#define RESPONSE_CALLS_MAX 128
#define RESPONSE_THINKING_MAX 1024
/* A larger count of tokens is taken for this one: sums of counts must not overflow. */
#define RESPONSE_TOKENS_MAX 1000000000000

struct response_call {
    json_int_t index;
    struct strbuf id;
    struct strbuf item_id; /* the server's own, beside the id of the call; often empty */
    struct strbuf name;
    struct strbuf arguments;
    struct strbuf signature; /* of the thought that led to it; becomes a part of the id */
};

/* Thinking that the model wants back unchanged. */
struct response_thinking {
    json_int_t index;
    bool is_redacted;
    struct strbuf text;
    struct strbuf proof; /* the signature of the text; of a redacted block all there is */
};

struct response_builder {
    struct strbuf text;
    struct strbuf reasoning;
    struct strbuf response_id;
    struct strbuf finish_reason;
    struct strbuf signature;    /* of the thought that led to the words */
    struct strbuf call_problem; /* as llm_reply.call_problem, if there are no calls */
    struct response_call *calls;
    size_t n_calls;
    struct response_thinking *thinking;
    size_t n_thinking;
    json_t *reasoning_item;    /* as llm_reply.reasoning_item; NULL: none */
    bool has_pieces;           /* text came in pieces */
    bool has_reasoning_pieces; /* so did reasoning */
    bool has_answer;           /* even if it is empty */
    bool has_odd_calls;        /* calls of types other than function were dropped */
    bool has_late_thinking;    /* a block came after words or calls: not kept, its place is lost */
    struct llm_usage usage;
};

/* clang-format off */
#define RESPONSE_BUILDER_INIT                                                                                 \
    {.text = STRBUF_INIT, .reasoning = STRBUF_INIT, .response_id = STRBUF_INIT, .finish_reason = STRBUF_INIT,  \
     .signature = STRBUF_INIT, .call_problem = STRBUF_INIT}
/* clang-format on */

void response_builder_done(struct response_builder *builder);
/* Appends a text of an answer; other values are ignored. */
void response_builder_append(struct strbuf *out, const json_t *text) __attribute__((nonnull(1)));
/* As response_builder_append(), unless there is text already. */
void response_builder_set_once(struct strbuf *out, const json_t *text) __attribute__((nonnull(1)));
/* A new part, valid until the next one; NULL if there are too many, with the error set. */
struct response_call *response_builder_new_call(struct response_builder *builder, json_int_t index,
                                                struct llm_error *llm_error) NONNULL MUST_CHECK;
struct response_thinking *
response_builder_new_thinking(struct response_builder *builder, json_int_t index,
                              struct llm_error *llm_error) NONNULL MUST_CHECK;
/* The call or the block of thinking with that index, the last if there are several; NULL: none. */
struct response_call *response_builder_find_call(const struct response_builder *builder,
                                                 json_int_t index) NONNULL MUST_CHECK;
struct response_thinking *response_builder_find_thinking(const struct response_builder *builder,
                                                         json_int_t index) NONNULL MUST_CHECK;
/* Adds a text to a block of thinking and to the reasoning, where blocks are separated by a line
 * end.
 */
void response_builder_append_thinking(struct response_builder *builder,
                                      struct response_thinking *block, const json_t *text)
    __attribute__((nonnull(1, 2)));

/* A format's word for the end of an answer, and llm_reply.finish_reason. */
struct response_word {
    const char *theirs;
    const char *ours;
};

/* Sets the reason, unless there is one. words end with NULL; another word is kept as it is. */
void response_builder_set_finish(struct response_builder *builder,
                                 const struct response_word *words, const char *reason) NONNULL;

/* A count of tokens, at least known and at most RESPONSE_TOKENS_MAX. */
int64_t response_builder_read_count(const json_t *usage, const char *key, int64_t known)
    __attribute__((nonnull(2))) MUST_CHECK;

/* Names of counts of tokens. */
struct response_counts {
    const char *fresh; /* of the prompt, without what is cached */
    const char *cache_read;
    const char *cache_write;
    const char *completion;
};

/* Takes the counts of an answer or, if they are sums so far, of an event of a stream. */
void response_builder_count(struct response_builder *builder, const struct response_counts *names,
                            const json_t *usage) __attribute__((nonnull(1, 2)));
/* Adds a call with complete arguments; for models that are not HTTP servers. */
int response_builder_add_call(struct response_builder *builder, const char *name,
                              const char *arguments,
                              struct llm_error *llm_error) NONNULL MUST_CHECK;
/*
 * Moves the response into *reply_out, generating ids where they are missing or duplicate. Fails if
 * there is no answer or it cannot be used.
 */
int response_builder_finish(struct response_builder *builder, struct llm_reply *reply_out,
                            struct llm_error *llm_error) NONNULL MUST_CHECK;

#endif

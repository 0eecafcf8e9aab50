/*
 * What a model is asked: system text, messages, tools and cache marks, rendered in the wire form of
 * that model. A prompt grows with its conversation: each message is rendered once and not for every
 * call. Another model may need another form: then the prompt begins anew.
 *
 *     llm_prompt_begin(&prompt, catalogue, spec);
 *     llm_prompt_set_tools(&prompt, tools);
 *     llm_prompt_add(&prompt, message);       // for each message, oldest first
 *
 * Messages are neutral: {"role": system|user|assistant|tool, "content": [part, …]} where a part is
 * {"type":"text","text":…} or {"type":"image_url","image_url":{"url":…}}. An assistant's has
 * "tool_calls": [{"id","item_id","type":"function","function":{"name","arguments"}}],
 * "reasoning_content", "thinking_blocks" (llm_reply.thinking) and "responses_reasoning_item"
 * (llm_reply.reasoning_item), all optional; a tool's has "tool_call_id", "name" and,
 * if the call has failed, "is_error".
 * All results follow the message with their calls, in the order of the calls.
 *
 * Ownership: the caller owns struct llm_prompt until llm_prompt_done(); it borrows the catalogue.
 * Threading: one thread at a time.
 * Decision: docs/decisions/0081-formats-of-models.md
 */
#ifndef DEFT_LLM_LLM_PROMPT_H
#define DEFT_LLM_LLM_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "llm/text_calls.h"

struct catalogue;
struct llm_format;

/* In which form the model's server wants the signatures in ids of calls back (llm/call_id.h). */
enum llm_signatures {
    LLM_SIGNATURES_LEFT_OUT, /* it does not know them */
    LLM_SIGNATURES_IN_IDS,   /* as they are stored */
    LLM_SIGNATURES_BESIDE,   /* as a member of the call, whose id has none */
};

/* What the model takes. */
struct llm_features {
    bool takes_litellm;   /* cache_control and thinking_blocks in chat messages */
    bool takes_images;    /* else images are left out */
    bool takes_reasoning; /* reasoning_content of its earlier answers */
    bool takes_plain;     /* content as one string rather than parts */
    bool marks_cache;     /* cache marks in the prompt */
    bool calls_as_text;   /* it has no calls of its own: see llm/text_calls.h */
    bool takes_stop_words;
    bool takes_example; /* of a call as text */
    enum llm_signatures signatures;
    bool needs_signatures;    /* it refuses calls of its history without one */
    bool takes_result_images; /* images in results of calls */
    bool takes_outcomes;      /* whether a call has failed */
};

/* LLM_ROLE_TOOL: results of calls, in formats where they are no message of the user. */
enum llm_role { LLM_ROLE_NONE, LLM_ROLE_USER, LLM_ROLE_ASSISTANT, LLM_ROLE_TOOL };

/* The end of a prompt, which further messages may change. A plain value. */
struct llm_prompt_end {
    size_t system_len;
    size_t messages_len;
    size_t mark_at;           /* the place in the messages for a cache mark; 0: none */
    enum llm_role role;       /* of the last message */
    bool is_result;           /* the last block is the result of a call */
    bool is_without_thinking; /* the last calls came without thinking blocks */
    size_t n_images;          /* in the messages, as far as the format counts them */
    size_t image_bytes;       /* of their URLs */
    struct text_calls_end calls;
};

struct llm_prompt {
    const struct llm_format *format; /* static storage; NULL before llm_prompt_begin() */
    struct llm_features features;
    char *model; /* as in the spec */
    /* JSON in the wire form of the format, which alone reads it. */
    struct strbuf system;
    struct strbuf messages;
    struct strbuf tools;
    struct text_calls calls;
    struct llm_prompt_end end;
};

/* clang-format off */
#define LLM_PROMPT_END_INIT {.role = LLM_ROLE_NONE}
#define LLM_PROMPT_INIT                                                                            \
    {.system = STRBUF_INIT,                                                                        \
     .messages = STRBUF_INIT,                                                                      \
     .tools = STRBUF_INIT,                                                                         \
     .calls = TEXT_CALLS_INIT}
/* clang-format on */

void llm_prompt_done(struct llm_prompt *prompt);
/* Empties the prompt and chooses the form for the model of an LLM object (llm_request.spec). */
void llm_prompt_begin(struct llm_prompt *prompt, const struct catalogue *catalogue,
                      const json_t *spec) NONNULL;
/* True if the prompt was begun for a model that takes the same form. */
bool llm_prompt_fits(const struct llm_prompt *prompt, const struct catalogue *catalogue,
                     const json_t *spec) NONNULL MUST_CHECK;
/* False if the model of an LLM object is known to see no images, or shall be sent none. */
bool llm_takes_images(const struct catalogue *catalogue, const json_t *spec) NONNULL MUST_CHECK;
/* Appends a message; what the model does not take is left out. */
void llm_prompt_add(struct llm_prompt *prompt, json_t *message) NONNULL;
/*
 * Sets the tools: an array of {"type":"function","function":{name, description, parameters}}.
 * Before the first message, since some models read them in the system text.
 */
void llm_prompt_set_tools(struct llm_prompt *prompt, const json_t *tools) NONNULL;
/* Drops the messages added since prompt->end was this. */
void llm_prompt_rewind(struct llm_prompt *prompt, const struct llm_prompt_end *end) NONNULL;

#endif

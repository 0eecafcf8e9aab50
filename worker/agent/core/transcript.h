/*
 * A conversation's prompt, kept between model calls: the history only grows, so final messages are
 * rendered once.
 *
 * Ownership: the caller owns struct transcript until transcript_done().
 * Threading: belongs to its conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_CORE_TRANSCRIPT_H
#define DEFT_WORKER_AGENT_CORE_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "llm/llm_prompt.h"
#include "worker/agent/core/token_count.h"

struct catalogue;
struct history;

struct transcript {
    struct llm_prompt prompt;         /* for llm_request.prompt */
    json_t *spec;                     /* that the prompt was begun for; NULL: not yet */
    struct llm_prompt_end settled;    /* the end of its final part */
    size_t n_events;                  /* events of the history whose messages are final */
    size_t n_packed;                  /* those that transcript_pack() has looked at */
    struct token_count count;         /* of the messages */
    struct token_count settled_count; /* of the final ones */
    size_t n_tool_tokens;             /* estimated, as `count` */
    uint64_t generation;              /* changes with every restart */
    bool has_tools;
};

/* clang-format off */
#define TRANSCRIPT_INIT {.prompt = LLM_PROMPT_INIT}
/* clang-format on */

void transcript_done(struct transcript *transcript);
/* Discards the prompt: the next update begins with the first event. */
void transcript_restart(struct transcript *transcript) NONNULL;
/*
 * Begins the prompt anew, without tools, if the model that `spec` names takes another form. Keeps a
 * reference to `spec`, which must not change any more.
 */
void transcript_begin(struct transcript *transcript, const struct catalogue *catalogue,
                      json_t *spec) NONNULL;
/*
 * Sets the tools, see llm_prompt_set_tools(), after transcript_begin(); they are kept until the
 * prompt begins anew.
 */
void transcript_set_tools(struct transcript *transcript, const json_t *tools) NONNULL;
/* Brings the messages of a prompt that has begun up to the history's end. */
void transcript_update(struct transcript *transcript, const struct history *history) NONNULL;
/*
 * Packs the events whose messages are final, except the newest, which are compared with what comes
 * next: see stored_event_pack(). For the time in which a model is waited for.
 */
void transcript_pack(struct transcript *transcript, const struct history *history) NONNULL;

#endif

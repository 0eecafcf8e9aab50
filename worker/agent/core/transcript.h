/*
 * A conversation's messages as the text of a request, kept from question to question: the history
 * only grows, so what is settled is written out once.
 *
 * Ownership: the caller owns struct transcript until transcript_done().
 * Threading: belongs to its conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_CORE_TRANSCRIPT_H
#define DEFT_WORKER_AGENT_CORE_TRANSCRIPT_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct history;

struct transcript {
    struct strbuf text; /* for llm_request.messages */
    size_t settled_len; /* of the text */
    size_t n_events;    /* of the history, whose messages are settled */
};

/* clang-format off */
#define TRANSCRIPT_INIT {STRBUF_INIT, 0, 0}
/* clang-format on */

void transcript_done(struct transcript *transcript);
/* What was written is void: the next update begins with the first event. */
void transcript_restart(struct transcript *transcript) NONNULL;
/* Brings the text up to the history's end; `spec` names the model, the same one every time. */
void transcript_update(struct transcript *transcript, const struct history *history,
                       const json_t *spec) NONNULL;

#endif

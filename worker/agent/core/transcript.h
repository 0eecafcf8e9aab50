/*
 * A conversation's messages as request text, kept between model calls: the history only grows, so
 * final messages are serialized once.
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
    size_t settled_len; /* length of the final part of the text */
    size_t n_events;    /* events of the history whose messages are final */
};

/* clang-format off */
#define TRANSCRIPT_INIT {STRBUF_INIT, 0, 0}
/* clang-format on */

void transcript_done(struct transcript *transcript);
/* Discards the text: the next update begins with the first event. */
void transcript_restart(struct transcript *transcript) NONNULL;
/*
 * Brings the text up to the history's end. `spec` names the model and must be the same every time.
 */
void transcript_update(struct transcript *transcript, const struct history *history,
                       const json_t *spec) NONNULL;

#endif

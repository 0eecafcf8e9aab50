/*
 * Streams the model's answer to subscribers as it arrives, with secrets masked; only if the model
 * streams.
 *
 * Ownership: belongs to one call of the model; telling_done() ends it.
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_LLM_TELLING_H
#define DEFT_WORKER_AGENT_LLM_TELLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "llm/llm.h"
#include "worker/outbox.h"

struct agent;
struct masking;

struct telling {
    struct agent *agent;
    bool is_open; /* its item has begun and was not aborted */
    struct outbox_item item;
    struct masking *text; /* masks secrets across pieces; NULL: there are none */
    struct masking *reasoning;
    struct strbuf chunk_id;
};

/* For the answer with id agent->answer_id. */
struct telling telling_begin(struct agent *agent) NONNULL MUST_CHECK;
/* The listener for the call of the model; borrows the telling. */
struct llm_listener telling_listener(struct telling *telling) NONNULL MUST_CHECK;
/* The answer is complete: sends text that was held back. */
void telling_done(struct telling *telling) NONNULL;
/* Reports the failed attempts of a model call whose answer is not streamed. */
struct retry_telling {
    struct agent *agent;
    struct uuid item_id;
    int64_t attempt;
};
struct retry_telling retry_telling_begin(struct agent *agent) NONNULL MUST_CHECK;
/* The listener for the call of the model; borrows the telling. */
struct llm_listener retry_telling_listener(struct retry_telling *telling) NONNULL MUST_CHECK;

/* Retracts a streamed answer that will not become an event. */
void telling_retract(struct agent *agent, const char *reason) NONNULL;

#endif

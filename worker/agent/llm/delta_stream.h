/*
 * Streams the model's answer to subscribers as it arrives, with secrets masked; only if the model
 * streams.
 *
 * Ownership: belongs to one call of the model; delta_stream_done() ends it.
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_LLM_DELTA_STREAM_H
#define DEFT_WORKER_AGENT_LLM_DELTA_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "llm/llm.h"
#include "worker/delta_outbox.h"

struct agent;
struct masking;

struct delta_stream {
    struct agent *agent;
    bool is_open; /* its item has begun and was not aborted */
    struct delta_item item;
    struct masking *text; /* masks secrets across pieces; NULL: there are none */
    struct masking *reasoning;
    struct strbuf chunk_id;
};

/* For the answer with id agent->answer_id. */
struct delta_stream delta_stream_begin(struct agent *agent) NONNULL MUST_CHECK;
/* The listener for the call of the model; borrows the stream. */
struct llm_listener delta_stream_listener(struct delta_stream *stream) NONNULL MUST_CHECK;
/* The answer is complete: sends text that was held back. */
void delta_stream_done(struct delta_stream *stream) NONNULL;
/* Reports the failed attempts of a model call whose answer is not streamed. */
struct retry_notice {
    struct agent *agent;
    struct uuid item_id;
    int64_t attempt;
};
struct retry_notice retry_notice_begin(struct agent *agent) NONNULL MUST_CHECK;
/* The listener for the call of the model; borrows the notice. */
struct llm_listener retry_notice_listener(struct retry_notice *notice) NONNULL MUST_CHECK;

/*
 * Reports that the run waits for its model: attempt->n_attempts - 1 times by now, as the last of
 * its attempts failed.
 */
void retry_notice_send_outage(struct agent *agent, const struct llm_attempt *attempt) NONNULL;

/* Retracts a streamed answer that will not become an event. */
void delta_stream_retract(struct agent *agent, const char *reason) NONNULL;

#endif

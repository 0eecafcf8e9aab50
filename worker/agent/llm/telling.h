/*
 * Telling who watches what the model is saying, while it says it: secrets hidden, and only where
 * the model streams.
 *
 * Ownership: belongs to one question to the model; telling_done() ends it.
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
    bool is_open; /* its item was begun, and not aborted */
    struct outbox_item item;
    struct masking *text; /* hides secrets in pieces; NULL: there are none */
    struct masking *reasoning;
    struct strbuf chunk_id;
};

/* For the answer that will be agent->answer_id. */
struct telling telling_begin(struct agent *agent) NONNULL MUST_CHECK;
/* What the call of the model is to be given; borrows the telling. */
struct llm_listener telling_listener(struct telling *telling) NONNULL MUST_CHECK;
/* The whole answer is there: what is held back goes out. */
void telling_done(struct telling *telling) NONNULL;
/* Tells the attempts that failed, of a call whose answer itself is not told. */
struct retry_telling {
    struct agent *agent;
    struct uuid item_id;
    int64_t attempt;
};
struct retry_telling retry_telling_begin(struct agent *agent) NONNULL MUST_CHECK;
/* What the call of the model is to be given; borrows the telling. */
struct llm_listener retry_telling_listener(struct retry_telling *telling) NONNULL MUST_CHECK;

/* An answer that was told becomes no event. */
void telling_retract(struct agent *agent, const char *reason) NONNULL;

#endif

/*
 * A model whose server is out of order: after its retries the run waits without a lease, asks once
 * in a while, and ends with the model's error when the outage lasts for too long.
 *
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0105-outages-of-models.md
 */
#ifndef DEFT_WORKER_AGENT_LLM_OUTAGE_H
#define DEFT_WORKER_AGENT_LLM_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct agent;
struct error;
struct llm_failure;

struct outage_times {
    int64_t lasted_ms;
    int64_t limit_ms;       /* 0: outages are not waited out */
    int64_t retry_after_ms; /* that the server asked for; -1: none */
};

/*
 * The delay before the next attempt; -1: there is none. random: of all 32 bits. The last attempt is
 * made when the limit is reached.
 */
int64_t outage_next_ms(const struct outage_times *times, uint32_t random) NONNULL MUST_CHECK;

/* True if the run may wait after such a failure of its own model. */
bool outage_may_wait(const struct agent *agent,
                     const struct llm_failure *failure) NONNULL MUST_CHECK;
/*
 * Ends the claim: the run waits. Errors: ERROR_CANCELLED, ERROR_CONFLICT: decide the step again;
 * ERROR_STALE: the lease is lost.
 */
int outage_wait(struct agent *agent, const struct llm_failure *failure,
                struct error *err) NONNULL MUST_CHECK;
/* True between the first wait and the model's next answer: each claim makes one attempt. */
bool outage_lasts(const struct agent *agent) NONNULL MUST_CHECK;
/* The model has answered. */
void outage_note_end(struct agent *agent) NONNULL;

#endif

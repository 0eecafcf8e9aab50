/*
 * Repeats a run's calls to the store while the database is unavailable.
 *
 * Threading: that of the conversation.
 */
#ifndef DEFT_WORKER_AGENT_CORE_DATABASE_RETRY_H
#define DEFT_WORKER_AGENT_CORE_DATABASE_RETRY_H

#include "base/attr.h"

struct agent;
struct error;

/* One attempt; call: the caller's arguments and results, NULL if it needs none. */
typedef int database_call(struct agent *agent, void *call, struct error *err);

/*
 * Calls `attempt` until it succeeds or fails for a reason that is not temporary. The delay between
 * two attempts doubles each time, from 50 ms to 1 s.
 * Errors: the last attempt's; ERROR_STALE if the lease is lost during a delay.
 */
int database_retry(struct agent *agent, database_call *attempt, void *call, struct error *err)
    __attribute__((nonnull(1, 2, 4))) MUST_CHECK;

#endif

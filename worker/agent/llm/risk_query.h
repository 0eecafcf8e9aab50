/*
 * Guards: security analyzers that ask a model of their own about the calls of an answer, before the
 * confirmation policy decides about them. Each is asked once about all calls together.
 *
 * Nothing of it is stored but the cost, at once: a worker that takes over asks the agent's model
 * and the guards anew.
 *
 * Ownership: risk_verdicts_done() releases what the guards said.
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0111-guards-that-ask-a-model.md
 */
#ifndef DEFT_WORKER_AGENT_LLM_RISK_QUERY_H
#define DEFT_WORKER_AGENT_LLM_RISK_QUERY_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/security/policy_risk.h"

struct agent;
struct call_verdicts;
struct error;
struct llm_reply;
struct security_call;

struct risk_verdicts {
    json_t *analyzer;        /* whose guards were asked; NULL: none was */
    enum policy_risk *risks; /* as analyzer_guards() lists them */
    size_t n;
    json_t *details; /* {"guards": [{"model", "risk", "answer", "error"}]} */
};

/* clang-format off */
#define RISK_VERDICTS_INIT {NULL, NULL, 0, NULL}
/* clang-format on */

void risk_verdicts_done(struct risk_verdicts *verdicts) NONNULL;
/*
 * Asks the guards of the conversation's analyzer about the calls that hooks have not blocked; none
 * if there is no call, or only one without side effects. A guard that cannot be asked, gives no
 * answer in time, or none with a risk, says UNKNOWN, and its details why. What they cost is stored:
 * the history may have grown, and the row is as new as the history. ERROR_CANCELLED after a stop
 * request, ERROR_STALE if the lease is lost, and errors of the database.
 */
int risk_query_ask(struct agent *agent, const struct llm_reply *reply,
                   const struct call_verdicts *hooks, struct risk_verdicts *verdicts_out,
                   struct error *err) NONNULL MUST_CHECK;
/*
 * Tells the call what the guards stated; nothing if a client has replaced the analyzer since: then
 * their risk is unknown.
 */
void risk_verdicts_tell(const struct risk_verdicts *verdicts, const json_t *analyzer,
                        struct security_call *call) __attribute__((nonnull(1, 3)));
/* The details for a SecurityAnalysisEvent, or NULL. Borrowed. */
json_t *risk_verdicts_details(const struct risk_verdicts *verdicts, const json_t *analyzer)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif

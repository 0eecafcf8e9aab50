/*
 * The last resort of a condensation: one summary replaces all but the system prompt.
 *
 * Threading: the agent's thread.
 * Source:    agent specification, LLMSummarizingCondenser, hard context reset
 */
#ifndef DEFT_WORKER_AGENT_LLM_HARD_RESET_H
#define DEFT_WORKER_AGENT_LLM_HARD_RESET_H

#include "base/attr.h"

struct agent;
struct error;
struct llm_failure;
struct llm_reply;
struct summary_request;

/*
 * Asks for a summary of request->range. Where the range is empty or its summary fails, asks for one
 * of everything after the system prompt, and, as long as a shorter text may help, again with less
 * of each event, as often as the condenser allows. request->range becomes what the summary
 * replaces. Errors: as summary_ask(), of the last attempt; ERROR_NOT_FOUND, with *failure_out as it
 * was, if there is nothing to summarise.
 */
int hard_reset_ask(struct agent *agent, struct summary_request *request,
                   struct llm_reply *reply_out, struct llm_failure *failure_out,
                   struct error *err) NONNULL MUST_CHECK;

#endif

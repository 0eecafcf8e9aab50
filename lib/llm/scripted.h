/*
 * Inside of lib/llm: scripted/<name>, the model that plays <name>.json of a directory: how a
 * newcomer sees deft at work without a key, and how tests know what the model says.
 *
 * A script is {"turns": [turn, …], "later": [turn, …]}; a turn is {"match": [word, …], "steps":
 * [step, …]}. The n-th message of the user is answered by turns[n]; after the last, by the first
 * turn of `later` one of whose words stands in the message, or that has no words. Which step is
 * next is counted in the conversation: the assistant's messages since the user's last. So a script
 * has no state, and any worker can go on with it.
 * A step is {"text": …, "reasoning": …, "calls": [{"name": …, "arguments": {…}}], "delay_ms": n},
 * or
 * {"status": 429, "error": "words"} to fail as a server would. In texts {{message}} is the user's
 * last message, {{cwd}} the directory that the terminal spoke of last.
 */
#ifndef DEFT_LLM_SCRIPTED_H
#define DEFT_LLM_SCRIPTED_H

#include "base/attr.h"

struct draft;
struct llm_call;
struct llm_request;
struct llm_trouble;

/* name: what stands behind scripted/; a plain file name without its ending. */
int scripted_attempt(struct llm_call *call, const struct llm_request *request, const char *name,
                     struct draft *draft, struct llm_trouble *trouble) NONNULL MUST_CHECK;

#endif

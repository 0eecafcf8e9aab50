/*
 * Internal to lib/llm: scripted/<name>, the model that plays back <name>.json of a directory, for
 * trying deft without a key and for tests.
 *
 * A script is {"turns": [turn, …], "later": [turn, …]}; a turn is {"match": [word, …], "steps":
 * [step, …]}. The n-th message of the user is answered by turns[n]; after the last, by the first
 * turn of `later` that has no words or one of whose words occurs in the message. The next step is
 * the number of the assistant's messages since the user's last one: a script has no state, so any
 * worker can continue it.
 * A step is {"text": …, "reasoning": …, "calls": [{"name": …, "arguments": {…}}], "delay_ms": n},
 * or {"status": 429, "error": "words"} to fail as a server would. In texts, {{message}} is the
 * user's last message and {{cwd}} the working directory last reported by the terminal.
 */
#ifndef DEFT_LLM_SCRIPTED_H
#define DEFT_LLM_SCRIPTED_H

#include "base/attr.h"

struct response_builder;
struct llm_call;
struct llm_request;
struct llm_error;

/* name: the part after scripted/, a plain file name without its extension. */
int scripted_attempt(struct llm_call *call, const struct llm_request *request, const char *name,
                     struct response_builder *builder,
                     struct llm_error *llm_error) NONNULL MUST_CHECK;

#endif

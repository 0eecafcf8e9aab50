/*
 * Calls that are too large for an event, in which their arguments stand twice: as the model wrote
 * them, and as the action that they are.
 */
#ifndef DEFT_WORKER_AGENT_CORE_FIT_H
#define DEFT_WORKER_AGENT_CORE_FIT_H

struct llm_reply;
struct tool_call_check;

/*
 * Where the event of the call would be too large: takes the action out, so that the call is not
 * run, and says why in words for the model. What it wrote stays, unless that alone is too large.
 * reply: its text and reasoning stand beside the call; NULL: nothing does.
 */
void call_fit(struct tool_call_check *check, const struct llm_reply *reply);

#endif

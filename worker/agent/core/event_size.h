/*
 * Limits the size of call events, which contain the arguments twice: as the model wrote them and as
 * the parsed action.
 */
#ifndef DEFT_WORKER_AGENT_CORE_EVENT_SIZE_H
#define DEFT_WORKER_AGENT_CORE_EVENT_SIZE_H

struct llm_reply;
struct llm_tool_call;
struct tool_call_check;

/*
 * If the call's event would be too large, removes the action, so that the call is not run, and
 * gives the model the reason. The arguments are kept unless they alone are too large.
 * call: its id, which can be long, is contained twice, too.
 * reply: its text and reasoning go into the same event; NULL: no text.
 */
void event_size_limit(struct tool_call_check *check, const struct llm_tool_call *call,
                      const struct llm_reply *reply);

#endif

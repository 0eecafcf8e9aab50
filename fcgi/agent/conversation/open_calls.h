/*
 * Calls of the agent that have no result yet.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_OPEN_CALLS_H
#define DEFT_FCGI_AGENT_CONVERSATION_OPEN_CALLS_H

#include "base/attr.h"

struct call_ref;
struct conversation;
struct error;
struct event_list;
struct request;

/* How to end a call: event_add_agent_error() or event_add_rejection(), and its text. */
struct call_end {
    void (*add)(struct event_list *list, const struct call_ref *call, const char *text);
    const char *text;
};

/*
 * Adds an end for each open call on the path to the conversation's last event
 * (store/conversation/waiting_calls.h).
 */
int open_calls_end(const struct request *request, const struct conversation *conversation,
                   const struct call_end *end, struct event_list *events,
                   struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * The answer of an agent as a stream of server-sent events, while its run is under way: everything
 * that the agent says, in order. Text that its model is still writing is sent as it comes, the end
 * only when the run's end is stored. A client that leaves ends the run.
 *
 * Threading: the thread of the request.
 * Decision:  docs/decisions/0094-streams-of-answers.md
 */
#ifndef DEFT_FCGI_AGENT_STREAMED_TURN_H
#define DEFT_FCGI_AGENT_STREAMED_TURN_H

#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "model/openai/openai_answer.h"

struct error;
struct openai_stream;
struct reply;
struct request;

struct streamed_turn {
    struct uuid conversation_id;
    int64_t after_seq;            /* what is stored up to here was said before */
    struct openai_usage before;   /* of the conversation at that time */
    int64_t deadline_ms;          /* clock_monotonic_ms() */
    struct openai_stream *stream; /* not begun */
};

/*
 * Sends the whole reply. Fails only before its first byte; later failures are a last event of the
 * stream.
 */
int streamed_turn_send(const struct request *request, struct reply *reply,
                       const struct streamed_turn *turn, struct error *err) NONNULL MUST_CHECK;

#endif

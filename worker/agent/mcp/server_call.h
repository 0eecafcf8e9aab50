/*
 * Calls of MCP servers' tools, several at once if wanted. A server keeps no results, so the action
 * is noted before it is sent: a call that was noted and has no result is in doubt, and is only
 * repeated if its tool says that it reads, or that repeating has no effect.
 *
 * Ownership: a call borrows the agent and its group until server_call_free().
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0092-mcp-servers.md
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_CALL_H
#define DEFT_WORKER_AGENT_MCP_SERVER_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct agent_tool;
struct error;
struct server_call;
struct server_talks;
struct strbuf;

/*
 * Starts the call at that index of the history in the group of those that run. ERROR_CANCELLED
 * after a stop request, ERROR_STALE if the lease is lost, and the errors of event_writer_append();
 * all other failures are for server_call_end().
 */
int server_call_begin(struct agent *agent, struct server_talks *talks, size_t action,
                      const struct agent_tool *tool, struct server_call **call_out,
                      struct error *err) NONNULL MUST_CHECK;
/* Whether the call was sent before, and must not be sent again without knowing its outcome. */
bool server_call_is_in_doubt(const struct agent *agent, size_t action,
                             const struct agent_tool *tool) NONNULL MUST_CHECK;
/* False if it has ended without being sent. */
bool server_call_is_running(const struct server_call *call) NONNULL MUST_CHECK;
/* Whether a running call has its outcome: server_call_end() does not block. */
bool server_call_is_over(const struct server_call *call) NONNULL MUST_CHECK;
/*
 * Tells subscribers of the progress of a running call, unless that was done just now. Returns the
 * time until it is to be done again, in milliseconds.
 */
int64_t server_call_tell_progress(struct server_call *call, int64_t now_ms) NONNULL;
size_t server_call_action(const struct server_call *call) NONNULL MUST_CHECK;
/*
 * Waits for the end: *observation_out is a new reference, or *problem_out has the reason why there
 * is none, for the model. ERROR_CANCELLED after a stop request.
 */
int server_call_end(struct server_call *call, json_t **observation_out, struct strbuf *problem_out,
                    struct error *err) NONNULL MUST_CHECK;
/*
 * After the end: true if the agent's state has a new session, made for the call, that is to be
 * stored with the result.
 */
bool server_call_has_new_session(const struct server_call *call) NONNULL MUST_CHECK;
/* Cancels a call that still runs, with its whole group. */
void server_call_free(struct server_call *call);
void server_call_freep(struct server_call **call) NONNULL;

#endif

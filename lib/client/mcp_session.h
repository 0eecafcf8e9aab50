/*
 * What a client says to an MCP server: the greeting, the list of tools, a call.
 *
 * Ownership and threading: as mcp.h. Errors: as mcp_ask(), and ERROR_INVALID with the server's
 * words if its answer is an error.
 * Source: Model Context Protocol, "Lifecycle" and "Tools", revision 2025-06-18.
 */
#ifndef DEFT_CLIENT_MCP_SESSION_H
#define DEFT_CLIENT_MCP_SESSION_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct mcp;
struct mcp_options;
struct mcp_progress_watch;
struct mcp_session;

struct mcp_session *mcp_session_new(const struct mcp_options *options) NONNULL MUST_CHECK;
/*
 * A connection of its own to a session over streamable HTTP that has begun, so that calls of the
 * session can run on several threads; takes a few request ids from it.
 */
struct mcp_session *mcp_session_share(struct mcp_session *with,
                                      const struct mcp_options *options) NONNULL MUST_CHECK;
/* What is needed to continue the session elsewhere, a new reference; NULL if it has no name. */
json_t *mcp_session_to_json(const struct mcp_session *session) NONNULL MUST_CHECK;
/* Continues such a session over streamable HTTP; ERROR_STALE comes from a server that forgot it. */
struct mcp_session *mcp_session_resume(const struct mcp_options *options,
                                       const json_t *kept) NONNULL MUST_CHECK;
/* Connects, and exchanges the greeting. */
int mcp_session_begin(struct mcp_session *session, struct error *err) NONNULL MUST_CHECK;
void mcp_session_free(struct mcp_session *session);
void mcp_session_freep(struct mcp_session **session) NONNULL;
/* Its connection, for mcp_cancel() and mcp_set_timeout(). Borrowed. */
struct mcp *mcp_session_connection(struct mcp_session *session) NONNULL MUST_CHECK;
/*
 * Whether the session can be used after its last request: the server has replied, also with an
 * error of its own, or has only taken too long; with HTTP+SSE, its stream is still open.
 */
bool mcp_session_is_intact(const struct mcp_session *session) NONNULL MUST_CHECK;
/* Appends the server's tools, each an object as the server describes it; at most 20 pages,
 * and none after 4 MiB. */
int mcp_session_list(struct mcp_session *session, json_t *tools,
                     struct error *err) NONNULL MUST_CHECK;
/*
 * Calls a tool; *result_out is a new reference. arguments may be NULL, and so may watch: then the
 * call has the connection's time, and its progress is ignored.
 */
int mcp_session_call(struct mcp_session *session, const char *tool, json_t *arguments,
                     const struct mcp_progress_watch *watch, json_t **result_out, struct error *err)
    __attribute__((nonnull(1, 2, 5, 6))) MUST_CHECK;
/*
 * After mcp_cancel(): tells the server that nobody waits for the last request, for at most a
 * second, whether or not it hears that. The session can be used again over streamable HTTP; the
 * stream of HTTP+SSE has ended.
 */
void mcp_session_tell_cancelled(struct mcp_session *session) NONNULL;

#endif

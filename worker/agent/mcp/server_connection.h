/*
 * A connection to an MCP server: over HTTP, a session, made at the first use and again if the
 * server has forgotten it. A server that is a program is the sandbox's: see program_call.h.
 *
 * Calls run on threads of their own, each with a copy of its server's connection. Over streamable
 * HTTP the copies have their session in common. Over HTTP+SSE a copy takes the session with it, and
 * gives it back: calls of such a server run one after the other (pending_call_plan()).
 *
 * Ownership: the holder's, from server_connection_init() or _copy() to _done() or _join().
 * Threading: one thread at a time, and cancel_set(&connection->cancel) from any.
 */
#ifndef DEFT_WORKER_AGENT_MCP_SERVER_CONNECTION_H
#define DEFT_WORKER_AGENT_MCP_SERVER_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "client/address_filter.h"
#include "client/cancel.h"
#include "client/mcp_headers.h"
#include "model/tools/mcp_config.h"

struct agent;
struct error;
struct mcp_session;
struct worker_context;

struct server_connection {
    const struct worker_context *context;
    struct uuid user_id; /* the conversation's owner */
    enum address_owner address_of;
    const char *name; /* in the configuration; borrowed */
    json_t *server;   /* its configuration, with its secrets */
    enum mcp_transport transport;
    struct mcp_headers headers;
    struct mcp_session *session; /* NULL: none */
    bool is_greeted;             /* the session has begun */
    bool is_shared;              /* it is that of the connection that it was copied from, too */
    json_t *kept;                /* the session as it is stored; NULL: it is not */
    bool has_changed_tools;      /* the server has said so in a session that is closed */
    struct cancel cancel;        /* of its requests, also for a new token */
};

/* A server's connection, without a session. name: borrowed. server: its configuration, shared. */
void server_connection_init(struct server_connection *connection, const struct agent *agent,
                            const char *name, json_t *server) NONNULL;
void server_connection_done(struct server_connection *connection) NONNULL;
/* True if the server has said that its tools have changed; says so once. */
bool server_connection_take_changed(struct server_connection *connection) NONNULL MUST_CHECK;
/*
 * Prepares a new session, over HTTP, whose calls have that time together; nothing is sent yet.
 * ERROR_INVALID if the server's credentials cannot be used.
 */
int server_connection_prepare(struct server_connection *connection, int64_t timeout_ms,
                              struct error *err) NONNULL MUST_CHECK;
/* Continues a session of mcp_session_to_json(), for the next call. As above. */
int server_connection_resume(struct server_connection *connection, const json_t *kept,
                             struct error *err) NONNULL MUST_CHECK;
/* Begins the prepared session unless it has begun. Errors as mcp_session_begin(). */
int server_connection_greet(struct server_connection *connection,
                            struct error *err) NONNULL MUST_CHECK;
void server_connection_close(struct server_connection *connection) NONNULL;
/* Closes a session whose stream the server has ended. */
void server_connection_drop_ended(struct server_connection *connection) NONNULL;
/* Takes the headers of further requests, also of an open session, from the configuration. */
int server_connection_read_headers(struct server_connection *connection,
                                   struct error *err) NONNULL MUST_CHECK;
/* Masks the server's credentials from now on: it may repeat them. */
void server_connection_hide(struct agent *agent,
                            const struct server_connection *connection) NONNULL;
/* The same for a configuration. */
void server_connection_hide_config(struct agent *agent, const json_t *server) NONNULL;

/* Makes a copy for another thread, in the session if one has begun. It is to be joined. */
void server_connection_copy(struct server_connection *connection,
                            struct server_connection *copy_out) NONNULL;
/*
 * Releases a copy after its talk and takes from it: new tokens, whether the tools have changed, and
 * the session that it used or made, unless that is broken.
 */
void server_connection_join(struct server_connection *connection,
                            struct server_connection *copy) NONNULL;

#endif

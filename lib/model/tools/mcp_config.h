/*
 * The MCP servers of an agent: the member mcp_config of its specification, {name: server}, and
 * those of its workspace to which the user has consented (project_servers.h).
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_TOOLS_MCP_SERVERS_H
#define DEFT_MODEL_TOOLS_MCP_SERVERS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;

/* How a server is reached. */
enum mcp_transport {
    MCP_STREAMABLE_HTTP,
    MCP_SSE,
    MCP_STDIO, /* a program in the sandbox */
};

/* Only so many of an agent's servers are used, in the order of the configuration. */
enum { MCP_SERVERS_MAX = 16 };

/*
 * Returns those of spec's agent that are enabled and name a URL or a command, {name: server}, then
 * those of the workspace. A new reference; the servers are shared with spec.
 */
json_t *mcp_servers_of(const json_t *spec) NONNULL MUST_CHECK;
/* True for a server of the agent's own configuration. */
bool mcp_server_is_own(const json_t *spec, const char *name) NONNULL MUST_CHECK;
/* Without a transport of its own: stdio for a command, SSE for a path with "/sse", else HTTP. */
enum mcp_transport mcp_server_transport(const json_t *server) NONNULL MUST_CHECK;
/*
 * True if calls of the server of that name run one after the other: over HTTP+SSE, where the stream
 * that has the replies belongs to one call at a time.
 */
bool mcp_server_is_sequential(const json_t *spec, const char *name) NONNULL MUST_CHECK;
/* Longest time for one call, in milliseconds: `timeout`, in seconds, or 300 s. */
int64_t mcp_server_call_ms(const json_t *server) NONNULL MUST_CHECK;
/* True if one of the conversation's servers is a program in its sandbox. */
bool mcp_servers_need_sandbox(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The members of a server that say how its program is started. A new reference. */
json_t *mcp_server_program(const json_t *server) NONNULL MUST_CHECK;
/* The sandbox's path for a talk to a server that is a program. */
#define MCP_PROGRAM_PATH "/programs/talk"
/* Returns the body of such a request, with the messages for the program. A new reference. */
json_t *mcp_server_order(const json_t *server, json_t *messages,
                         int64_t timeout_ms) NONNULL MUST_CHECK;

#endif

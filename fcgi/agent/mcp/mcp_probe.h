/*
 * A test of a Model Context Protocol server: connects, lists its tools, calls one.
 *
 * Ownership: mcp_probe_done(); the server and the call are borrowed.
 */
#ifndef DEFT_FCGI_AGENT_MCP_MCP_PROBE_H
#define DEFT_FCGI_AGENT_MCP_MCP_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct fcgi_context;
struct request;

struct mcp_probe {
    const struct request *request;
    const json_t *server;    /* {"type", "url" or "command", …}, its secrets in clear */
    const json_t *tool_call; /* NULL: none */
    int64_t timeout_ms;
    json_t *tools;   /* names */
    json_t *outcome; /* of the call; NULL without one */
};

/* clang-format off */
#define MCP_PROBE_INIT {.tools = NULL}
/* clang-format on */

void mcp_probe_done(struct mcp_probe *probe);
/*
 * Reads a request's body: *body_out is a new reference, from which the probe borrows. Errors as
 * request_json_schema().
 */
int mcp_probe_read(const struct request *request, json_t **body_out, struct mcp_probe *probe_out,
                   struct error *err) NONNULL MUST_CHECK;
/* True when the server is a program, not a URL. */
bool mcp_probe_is_program(const struct mcp_probe *probe) NONNULL MUST_CHECK;
/* Fills in tools and outcome. Error messages are for the user, as those of client/mcp.h. */
int mcp_probe_run(struct mcp_probe *probe, struct error *err) NONNULL MUST_CHECK;
/* Returns "timeout", "connection" or "unknown"; a static string. */
const char *mcp_probe_error_kind(const struct error *err) NONNULL MUST_CHECK;

#endif

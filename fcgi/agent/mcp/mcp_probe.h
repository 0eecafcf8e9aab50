/*
 * A test of a Model Context Protocol server: connects, lists its tools, calls one.
 *
 * Ownership: mcp_trial_done(); the server and the call are borrowed.
 */
#ifndef DEFT_FCGI_AGENT_MCP_MCP_TRIAL_H
#define DEFT_FCGI_AGENT_MCP_MCP_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct fcgi_context;
struct request;

struct mcp_trial {
    const struct request *request;
    const json_t *server;    /* {"type", "url" or "command", …}, its secrets in clear */
    const json_t *tool_call; /* NULL: none */
    int64_t timeout_ms;
    json_t *tools;   /* names */
    json_t *outcome; /* of the call; NULL without one */
};

/* clang-format off */
#define MCP_TRIAL_INIT {.tools = NULL}
/* clang-format on */

void mcp_trial_done(struct mcp_trial *trial);
/*
 * Reads a request's body: *body_out is a new reference, from which the trial borrows. Errors as
 * request_json_shape().
 */
int mcp_trial_read(const struct request *request, json_t **body_out, struct mcp_trial *trial_out,
                   struct error *err) NONNULL MUST_CHECK;
/* True when the server is a program, not a URL. */
bool mcp_trial_is_program(const struct mcp_trial *trial) NONNULL MUST_CHECK;
/* Fills in tools and outcome. Error messages are for the user, as those of client/mcp.h. */
int mcp_trial_run(struct mcp_trial *trial, struct error *err) NONNULL MUST_CHECK;
/* Returns "timeout", "connection" or "unknown"; a static string. */
const char *mcp_trial_error_kind(const struct error *err) NONNULL MUST_CHECK;

#endif

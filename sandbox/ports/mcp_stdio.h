/*
 * Talks to a program in lines of JSON (an MCP server on standard input and output): starts it,
 * sends messages, collects replies, ends it.
 */
#ifndef DEFT_SANDBOX_PORTS_MCP_STDIO_H
#define DEFT_SANDBOX_PORTS_MCP_STDIO_H

#include "base/attr.h"

struct server_request;

/*
 * POST {"command","args","env","cwd","timeout_ms","messages"} -> 200 {"replies"} | 400 with a
 * message
 */
void mcp_stdio_handle(struct server_request *request) NONNULL;

#endif

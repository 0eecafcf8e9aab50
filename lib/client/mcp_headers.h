/*
 * The headers of requests to an MCP server, as its configuration names them: its own, and those of
 * its credentials.
 *
 * Ownership: mcp_headers_done() wipes and releases.
 */
#ifndef DEFT_CLIENT_MCP_HEADERS_H
#define DEFT_CLIENT_MCP_HEADERS_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "client/http.h"
#include "client/mcp.h"

struct error;

struct mcp_headers {
    struct http_header items[MCP_MAX_HEADERS + 1]; /* ends with a NULL name */
    char *values[MCP_MAX_HEADERS];
    size_t n;
};

/* clang-format off */
#define MCP_HEADERS_INIT {.n = 0}
/* clang-format on */

void mcp_headers_done(struct mcp_headers *headers) NONNULL;
/*
 * Fills empty headers from {"headers", "auth"} of a server's configuration, with its secrets; names
 * are borrowed from it. More than MCP_MAX_HEADERS are left out. ERROR_INVALID if the strategy is
 * unknown, or if no user has signed in yet.
 */
int mcp_headers_read(struct mcp_headers *headers, const json_t *server,
                     struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * A Model Context Protocol server at a URL: sends messages to it and reads its replies, over
 * streamable HTTP or the older HTTP+SSE transport.
 *
 * Ownership: the caller owns struct mcp until mcp_free(); it borrows what the options point to.
 * Threading: one thread. Safety: as http.h; replies are bounded.
 * Source: Model Context Protocol, "Transports", revisions 2025-06-18 and 2024-11-05.
 */
#ifndef DEFT_CLIENT_MCP_H
#define DEFT_CLIENT_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "client/address_filter.h"

struct error;
struct http;
struct http_header;
struct mcp;

struct mcp_options {
    struct http *http;
    const char *url;
    const struct http_header *headers; /* ends with a NULL name; at most MCP_MAX_HEADERS */
    bool uses_sse;
    enum address_owner address_of; /* who supplied the URL */
    int64_t timeout_ms;            /* for all calls together */
};

enum { MCP_MAX_HEADERS = 24 };

/*
 * Connects to the server; with streamable HTTP nothing is sent yet. Errors here and below:
 * ERROR_TIMEOUT, ERROR_UNAVAILABLE and ERROR_FORBIDDEN for the connection, ERROR_INVALID if the
 * server refuses or does not speak the protocol, ERROR_TOO_LARGE.
 */
int mcp_open(const struct mcp_options *options, struct mcp **mcp_out,
             struct error *err) NONNULL MUST_CHECK;
void mcp_free(struct mcp *mcp);
void mcp_freep(struct mcp **mcp) NONNULL;
/* Sends a notification, which has no reply. */
int mcp_tell(struct mcp *mcp, const json_t *message, struct error *err) NONNULL MUST_CHECK;
/* Sends a request and waits for the reply with its id; a new reference. */
int mcp_ask(struct mcp *mcp, const json_t *request, json_t **reply_out,
            struct error *err) NONNULL MUST_CHECK;

#endif

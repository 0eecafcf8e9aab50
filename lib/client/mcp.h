/*
 * A Model Context Protocol server at a URL: sends messages to it and reads its replies, over
 * streamable HTTP or the older HTTP+SSE transport.
 *
 * Ownership: the caller owns struct mcp until mcp_free(); it borrows what the options point to.
 * Threading: one thread at a time; mcp_cancel() from any. Safety: as http.h; replies are bounded.
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

struct cancel;
struct error;
struct http;
struct http_header;
struct mcp;
struct mcp_progress;

struct mcp_options {
    struct http *http;
    const char *url;
    const struct http_header *headers; /* ends with a NULL name; at most MCP_MAX_HEADERS */
    bool uses_sse;
    enum address_owner address_of; /* who supplied the URL */
    int64_t timeout_ms;            /* for all calls together, until mcp_set_timeout() */
    struct cancel *cancel;         /* borrowed; NULL: its own */
};

enum { MCP_MAX_HEADERS = 24 };

struct mcp *mcp_new(const struct mcp_options *options) NONNULL MUST_CHECK;
/*
 * Connects to the server, again after a failure; with streamable HTTP nothing is sent yet. Errors
 * here and below: ERROR_TIMEOUT, ERROR_UNAVAILABLE and ERROR_FORBIDDEN for the connection,
 * ERROR_INVALID if the server refuses or does not speak the protocol, ERROR_TOO_LARGE,
 * ERROR_CANCELLED, and two after which the server has ignored the message: ERROR_UNAUTHENTICATED if
 * it does not accept the credentials, ERROR_STALE if it does not know the session any more.
 */
int mcp_connect(struct mcp *mcp, struct error *err) NONNULL MUST_CHECK;
void mcp_free(struct mcp *mcp);
void mcp_freep(struct mcp **mcp) NONNULL;
/* Gives all calls from now on, together, that time. */
void mcp_set_timeout(struct mcp *mcp, int64_t timeout_ms) NONNULL;
/*
 * Replaces the options, for the same server; the time stays. With HTTP+SSE the stream stays open.
 */
void mcp_set_options(struct mcp *mcp, const struct mcp_options *options) NONNULL;
/* False if the stream of HTTP+SSE has ended: nothing that is sent now has a reply. */
bool mcp_is_connected(const struct mcp *mcp) NONNULL MUST_CHECK;
/* The session, as the server named it, and the version; NULL: not known. Borrowed. */
const char *mcp_session_name(const struct mcp *mcp) NONNULL MUST_CHECK;
const char *mcp_version(const struct mcp *mcp) NONNULL MUST_CHECK;
/* Continues a session of that name, NULL: none; copied. */
void mcp_set_session(struct mcp *mcp, const char *name) __attribute__((nonnull(1)));
/* The protocol's version as the server chose it, to be named in later requests; copied. */
void mcp_set_version(struct mcp *mcp, const char *version) NONNULL;
/* Ends the running call, and each later one at its start, with ERROR_CANCELLED. */
void mcp_cancel(struct mcp *mcp) NONNULL;
/* Ends the effect of mcp_cancel(); the calls from now on have that time together. */
void mcp_resume(struct mcp *mcp, int64_t timeout_ms) NONNULL;
/* Whether the server has said, since the last question, that its list of tools has changed. */
bool mcp_take_tools_changed(struct mcp *mcp) NONNULL MUST_CHECK;
/* Sends a notification, which has no reply. */
int mcp_tell(struct mcp *mcp, const json_t *message, struct error *err) NONNULL MUST_CHECK;
/*
 * Ends a session over streamable HTTP at the server, which may refuse that (ERROR_INVALID) or not
 * know it any more (ERROR_STALE).
 */
int mcp_end(struct mcp *mcp, struct error *err) NONNULL MUST_CHECK;
/* Sends a request and waits for the reply with its id; a new reference. */
int mcp_ask(struct mcp *mcp, const json_t *request, json_t **reply_out,
            struct error *err) NONNULL MUST_CHECK;

/* How a request may take longer than its time: progress that the server reports renews it. */
struct mcp_progress_watch {
    int64_t silence_ms; /* longest time without progress or the reply */
    /* Called for each report, from mcp_ask_watching(). */
    void (*progressed)(void *owner, const struct mcp_progress *progress);
    void *owner;
};
/*
 * As mcp_ask() for a request with a token for progress. It has silence_ms from now, and as much
 * after each report, up to MCP_CALL_MAX_MS in all.
 */
int mcp_ask_watching(struct mcp *mcp, const json_t *request, const struct mcp_progress_watch *watch,
                     json_t **reply_out, struct error *err) NONNULL MUST_CHECK;

#endif

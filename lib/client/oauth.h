/*
 * OAuth 2.1 client for Model Context Protocol servers: finds a server's authorization server,
 * registers there and requests tokens. Results are JSON, so that they can be stored between steps.
 *
 * Ownership: the caller's; returned JSON is a new reference.
 * Threading: any thread.
 * Safety: no address is trusted: https only (http too where private addresses are allowed), no
 * redirects, bounded replies, otherwise as http.h.
 * Source: Model Context Protocol, "Authorization", revision 2025-06-18; RFC 6749, 7591, 7636, 8414,
 * 8707, 9728.
 * Decision: docs/decisions/0016-signing-in-at-mcp-servers.md
 */
#ifndef DEFT_CLIENT_OAUTH_H
#define DEFT_CLIENT_OAUTH_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "client/address_filter.h"

struct cancel;
struct error;
struct http;
struct http_call;
struct http_header;
struct strbuf;

/* Common to all requests of one exchange. */
struct oauth {
    struct http *http;
    enum address_owner
        address_of;        /* who supplied the server's URL, and so the URLs that it refers to */
    int64_t deadline_ms;   /* clock_monotonic_ms() by which the whole exchange must be over */
    struct cancel *cancel; /* ends the exchange with ERROR_CANCELLED; borrowed; NULL: none */
};

/*
 * Finds the authorization server of the server at url: {"resource", "scope" (optional; with
 * "offline_access" if the authorization server offers refresh tokens by it), "issuer",
 * "authorization_endpoint", "token_endpoint", "registration_endpoint" (optional),
 * "auth_methods" (a list), "answers_with_issuer", "takes_metadata_urls"}. Errors here and below:
 * ERROR_TIMEOUT, ERROR_UNAVAILABLE and ERROR_FORBIDDEN for the connection, ERROR_UNAVAILABLE also
 * for a status of 500 or more, ERROR_INVALID if the server refuses or its reply is not valid.
 */
int oauth_discover(const struct oauth *oauth, const char *url, json_t **provider_out,
                   struct error *err) NONNULL MUST_CHECK;
/* Registers a client (RFC 7591). The result has "client_id" and possibly "client_secret". */
int oauth_register(const struct oauth *oauth, const json_t *provider, const json_t *metadata,
                   json_t **client_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Requests tokens with the members of form, all strings. client: {"client_id", "client_secret",
 * "token_endpoint_auth_method"}. The result has "access_token".
 */
int oauth_ask_tokens(const struct oauth *oauth, const json_t *provider, const json_t *client,
                     const json_t *form, json_t **tokens_out, struct error *err) NONNULL MUST_CHECK;

/* RFC 6749, section 2.1: whether the client has a secret. */
enum oauth_client_type { OAUTH_PUBLIC, OAUTH_CONFIDENTIAL };

/*
 * The client authentication method for the token endpoint: the simplest that the provider offers.
 * Static storage.
 */
const char *oauth_pick_method(const json_t *provider,
                              enum oauth_client_type type) NONNULL MUST_CHECK;
/* Whether a list of scopes, separated by spaces, has that one. */
bool oauth_scope_has(const char *scope, const char *word) NONNULL MUST_CHECK;
#define OAUTH_OFFLINE_ACCESS "offline_access"
/* Appends the object's string members as application/x-www-form-urlencoded. */
void oauth_append_form(struct strbuf *out, const json_t *form) NONNULL;
/* Appends the S256 challenge of a verifier (RFC 7636, section 4.2). */
void oauth_append_challenge(struct strbuf *out, const char *verifier) NONNULL;
/* ERROR_INVALID for a URL that must not be called or shown to a user. */
int oauth_check_url(const struct oauth *oauth, const char *url,
                    struct error *err) NONNULL MUST_CHECK;

/* One request and its complete reply. For oauth_*.c. */
struct oauth_call {
    const char *method;
    const char *url;
    const struct http_header *headers; /* NULL: none */
    const struct strbuf *body;         /* NULL: none */
    const char *content_type;
};
int oauth_send(const struct oauth *oauth, const struct oauth_call *what,
               struct http_call **call_out, struct error *err) NONNULL MUST_CHECK;
/* Parses the reply's body as an object; ERROR_INVALID if it is not one. */
int oauth_read_object(const struct http_call *call, json_t **object_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif

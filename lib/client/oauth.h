/*
 * OAuth 2.1 as a client of servers of the Model Context Protocol: finds out who gives out tokens
 * for a server, registers there, and asks for tokens. What is learnt is JSON, so that it can be
 * kept between the steps.
 *
 * Ownership: the caller's; JSON that comes back is a new reference.
 * Threading: any thread. Safety: every address is a stranger's word: https alone (http too where
 * private addresses are allowed), no redirects, bounded replies, otherwise as http.h.
 * Source: Model Context Protocol, "Authorization", revision 2025-06-18; RFC 6749, 7591, 7636, 8414,
 * 8707, 9728.
 */
#ifndef DEFT_CLIENT_OAUTH_H
#define DEFT_CLIENT_OAUTH_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "client/guard.h"

struct error;
struct http;
struct http_call;
struct http_header;
struct strbuf;

/* Who asks. */
struct oauth {
    struct http *http;
    enum address_owner address_of; /* whose word named the server, and so what it points to */
    int64_t deadline_ms;           /* clock_monotonic_ms() at which all of it must be over */
};

/*
 * Who gives out tokens for the server at url: {"resource", "scope" (may be missing), "issuer",
 * "authorization_endpoint", "token_endpoint", "registration_endpoint" (may be missing),
 * "auth_methods" (a list), "answers_with_issuer", "takes_metadata_urls"}. Errors here and below:
 * ERROR_TIMEOUT, ERROR_UNAVAILABLE and ERROR_FORBIDDEN for the connection, ERROR_INVALID for a
 * server that refuses, or says what cannot be.
 */
int oauth_discover(const struct oauth *oauth, const char *url, json_t **provider_out,
                   struct error *err) NONNULL MUST_CHECK;
/* Registers a client (RFC 7591); the answer has "client_id" and may have "client_secret". */
int oauth_register(const struct oauth *oauth, const json_t *provider, const json_t *metadata,
                   json_t **client_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Asks for tokens with the members of form, all texts. client: {"client_id", "client_secret",
 * "token_endpoint_auth_method"}. The answer has "access_token".
 */
int oauth_ask_tokens(const struct oauth *oauth, const json_t *provider, const json_t *client,
                     const json_t *form, json_t **tokens_out, struct error *err) NONNULL MUST_CHECK;

/* How a client shows who it is at the token endpoint: what the provider offers, most simple first.
 * Lives for ever. */
const char *oauth_pick_method(const json_t *provider, bool has_secret) NONNULL MUST_CHECK;
/* Members that are texts as application/x-www-form-urlencoded. */
void oauth_append_form(struct strbuf *out, const json_t *form) NONNULL;
/* The S256 challenge of a verifier (RFC 7636, section 4.2). */
void oauth_append_challenge(struct strbuf *out, const char *verifier) NONNULL;
/* ERROR_INVALID for a URL that must not be called or shown. */
int oauth_check_url(const struct oauth *oauth, const char *url,
                    struct error *err) NONNULL MUST_CHECK;

/* A call of ours, answered whole. For oauth_*.c. */
struct oauth_call {
    const char *method;
    const char *url;
    const struct http_header *headers; /* NULL: none */
    const struct strbuf *body;         /* NULL: none */
    const char *content_type;
};
int oauth_send(const struct oauth *oauth, const struct oauth_call *what,
               struct http_call **call_out, struct error *err) NONNULL MUST_CHECK;
/* The answer's body as an object; ERROR_INVALID when it is none. */
int oauth_read_object(const struct http_call *call, json_t **object_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif

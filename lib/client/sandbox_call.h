/*
 * Calls to the server in a sandbox; all of them are made here. The server proves its identity on
 * the connection before anything is sent to it, and receives the call key, never the sandbox's
 * session key (docs/decisions/0046-sandbox-proofs.md).
 *
 * Ownership: struct sandbox_endpoint owns its texts until sandbox_endpoint_done().
 * Threading: any thread.
 */
#ifndef DEFT_CLIENT_SANDBOX_CALL_H
#define DEFT_CLIENT_SANDBOX_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/secret.h"

struct error;
struct http;
struct http_call;
struct http_request;

#define RUNTIME_ID_MAX_BYTES 17

struct sandbox_endpoint {
    char runtime_id[RUNTIME_ID_MAX_BYTES];
    char *url;
    struct secret session_key; /* for the owner only; never sent to a sandbox */
    struct secret call_key;
    struct secret proof_key; /* unset: a sandbox started before servers proved their identity; its
                                call key is the session key */
};

/* clang-format off */
#define SANDBOX_ENDPOINT_INIT {.url = NULL, .session_key = SECRET_INIT, .call_key = SECRET_INIT, .proof_key = SECRET_INIT}
/* clang-format on */

/* Key scheme of a sandbox's server: the session key itself, or keys derived from it. */
enum sandbox_keys { SANDBOX_KEYS_OLD, SANDBOX_KEYS_DERIVED };

/* Sets the keys from the session key. */
void sandbox_endpoint_set_keys(struct sandbox_endpoint *endpoint, const char *session_key,
                               enum sandbox_keys keys) NONNULL;
void sandbox_endpoint_done(struct sandbox_endpoint *endpoint);

/*
 * http_start() to the endpoint. request->url is the path and query; its headers, at most
 * SANDBOX_HEADERS_MAX, contain no key; private addresses are allowed. Errors: as http_wait();
 * ERROR_UNAVAILABLE says so if another server answers in the sandbox's place.
 */
int sandbox_call_start(struct http *http, const struct sandbox_endpoint *endpoint,
                       const struct http_request *request, struct http_call **call_out,
                       struct error *err) NONNULL MUST_CHECK;
#define SANDBOX_HEADERS_MAX 14

/* As sandbox_call_start(), GET /alive without sending a key: an address may outlive its sandbox. */
int sandbox_probe_start(struct http *http, const struct sandbox_endpoint *endpoint,
                        int64_t timeout_ms, struct http_call **call_out,
                        struct error *err) NONNULL MUST_CHECK;
/* Checks that the sandbox's own server answers at that address; ERROR_UNAVAILABLE if not. */
int sandbox_check_alive(struct http *http, const struct sandbox_endpoint *endpoint,
                        int64_t timeout_ms, struct error *err) NONNULL MUST_CHECK;

/* Delivers keys and environment to a sandbox that was started without them; borrows. */
struct sandbox_init {
    const char *url;
    const char *init_key;
    const char *session_key;
    json_t *environment; /* object of strings; NULL: none */
    int64_t timeout_ms;
};

/*
 * Sends the keys derived from the session key to a sandbox that is waiting for them, after it has
 * proven that it has the init key. ERROR_UNAVAILABLE if it does not answer or expects another init
 * key.
 */
int sandbox_initialise(struct http *http, const struct sandbox_init *init,
                       struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * Calls to the server in a sandbox. Every one goes through here: the server proves itself on the
 * connection before it is sent anything, and is shown the call key, never the sandbox's session
 * key (docs/decisions/sandbox-proofs.md).
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
    struct secret session_key; /* for its owner alone: no call shows it to a sandbox */
    struct secret call_key;
    struct secret proof_key; /* unset: of a sandbox that was started before servers proved
                                themselves, whose call key is its session key */
};

/* clang-format off */
#define SANDBOX_ENDPOINT_INIT {.url = NULL, .session_key = SECRET_INIT, .call_key = SECRET_INIT, .proof_key = SECRET_INIT}
/* clang-format on */

/* How the server in a sandbox was told its keys. */
enum sandbox_keys { SANDBOX_KEYS_OLD, SANDBOX_KEYS_DERIVED };

/* Sets the keys by the session key. */
void sandbox_endpoint_set_keys(struct sandbox_endpoint *endpoint, const char *session_key,
                               enum sandbox_keys keys) NONNULL;
void sandbox_endpoint_done(struct sandbox_endpoint *endpoint);

/*
 * http_start() of a call to the endpoint. request->url is its path and query, headers are without a
 * key, of which there may be SANDBOX_HEADERS_MAX; private addresses are allowed. Errors: as
 * http_wait(); ERROR_UNAVAILABLE in words when another server answers in place of the sandbox's.
 */
int sandbox_call_start(struct http *http, const struct sandbox_endpoint *endpoint,
                       const struct http_request *request, struct http_call **call_out,
                       struct error *err) NONNULL MUST_CHECK;
#define SANDBOX_HEADERS_MAX 14

/* As sandbox_call_start(), GET /alive without showing a key: an address may outlive its sandbox. */
int sandbox_probe_start(struct http *http, const struct sandbox_endpoint *endpoint,
                        int64_t timeout_ms, struct http_call **call_out,
                        struct error *err) NONNULL MUST_CHECK;
/* Whether the sandbox's own server answers at that address. ERROR_UNAVAILABLE when it does not. */
int sandbox_check_alive(struct http *http, const struct sandbox_endpoint *endpoint,
                        int64_t timeout_ms, struct error *err) NONNULL MUST_CHECK;

/* How a sandbox that was started without its keys gets them, and its environment; borrows. */
struct sandbox_init {
    const char *url;
    const char *init_key;
    const char *session_key;
    json_t *environment; /* object of texts; NULL: none */
    int64_t timeout_ms;
};

/*
 * Hands the keys that come from the session key to a sandbox that waits for them, after it has
 * proven that it has the init key. ERROR_UNAVAILABLE when it does not answer, or takes another init
 * key than ours.
 */
int sandbox_initialise(struct http *http, const struct sandbox_init *init,
                       struct error *err) NONNULL MUST_CHECK;

#endif

#include "client/sandbox_call.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/strbuf.h"
#include "client/http.h"

enum { INIT_REPLY_MAX_BYTES = 1 << 20, STATUS_OK = 200 };

#define KEY_HEADER "X-Session-API-Key"

void sandbox_endpoint_set_keys(struct sandbox_endpoint *endpoint, const char *session_key,
                               enum sandbox_keys keys)
{
    secret_set(&endpoint->session_key, session_key);
    secret_done(&endpoint->proof_key);
    if (keys == SANDBOX_KEYS_OLD) {
        secret_set(&endpoint->call_key, session_key);
        return;
    }
    sandbox_key_derive(session_key, SANDBOX_KEY_CALL, &endpoint->call_key);
    sandbox_key_derive(session_key, SANDBOX_KEY_PROOF, &endpoint->proof_key);
}

void sandbox_endpoint_done(struct sandbox_endpoint *endpoint)
{
    if (endpoint == NULL)
        return;
    mem_free(endpoint->url);
    secret_done(&endpoint->session_key);
    secret_done(&endpoint->call_key);
    secret_done(&endpoint->proof_key);
    *endpoint = (struct sandbox_endpoint)SANDBOX_ENDPOINT_INIT;
}

static int start_at(struct http *http, const struct sandbox_endpoint *endpoint,
                    const struct http_request *request, struct http_call **call_out,
                    struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    struct http_request whole = *request;

    if (endpoint->url == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox has no address yet");
    strbuf_appendf(&url, "%s%s", endpoint->url, request->url);
    whole.url = url.text;
    whole.address_of = ADDRESS_OF_DEFT;
    whole.proof_key = &endpoint->proof_key;
    return http_start(http, &whole, call_out, err);
}

int sandbox_call_start(struct http *http, const struct sandbox_endpoint *endpoint,
                       const struct http_request *request, struct http_call **call_out,
                       struct error *err)
{
    struct http_header headers[SANDBOX_HEADERS_MAX + 2] = {
        {KEY_HEADER, secret_reveal(&endpoint->call_key)}};
    struct http_request keyed = *request;
    size_t n = 1;

    for (const struct http_header *header = request->headers;
         header != NULL && header->name != NULL; header++) {
        if (n > SANDBOX_HEADERS_MAX)
            return error_set(err, ERROR_INTERNAL, "too many headers for a sandbox");
        headers[n++] = *header;
    }
    keyed.headers = headers;
    return start_at(http, endpoint, &keyed, call_out, err);
}

int sandbox_probe_start(struct http *http, const struct sandbox_endpoint *endpoint,
                        int64_t timeout_ms, struct http_call **call_out, struct error *err)
{
    const struct http_request request = {
        .method = "GET", .url = "/alive", .timeout_ms = timeout_ms, .max_reply_bytes = 4096};

    return start_at(http, endpoint, &request, call_out, err);
}

int sandbox_check_alive(struct http *http, const struct sandbox_endpoint *endpoint,
                        int64_t timeout_ms, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;

    if (sandbox_probe_start(http, endpoint, timeout_ms, &call, err) < 0 ||
        http_wait(call, err) < 0) {
        err->code = ERROR_UNAVAILABLE;
        return -1;
    }
    if (http_status(call) != STATUS_OK)
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox is not alive");
    return 0;
}

static void append_init_body(struct strbuf *text, const struct sandbox_init *init)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint told = SANDBOX_ENDPOINT_INIT;
    json_auto_t *body = json_object();
    json_t *keys = json_array();

    sandbox_endpoint_set_keys(&told, init->session_key, SANDBOX_KEYS_DERIVED);
    json_push(keys, json_text_of(secret_reveal(&told.call_key)));
    json_put(body, "session_api_keys", keys);
    json_put_text(body, "proof_key", secret_reveal(&told.proof_key));
    if (init->environment != NULL)
        json_put(body, "env", json_incref(init->environment));
    json_append_text(text, body);
}

/*
 * The kernel reports a recently unused address as unreachable while its neighbor entry is failed; a
 * second connection makes it probe again. A call that was connected is not repeated.
 */
static int reach(struct http *http, const struct sandbox_endpoint *endpoint,
                 const struct http_request *request, struct http_call **call_out, struct error *err)
{
    if (start_at(http, endpoint, request, call_out, err) < 0)
        return -1;
    if (http_wait(*call_out, err) == 0)
        return 0;
    if (!http_is_unreached(*call_out))
        return -1;
    http_call_freep(call_out);
    *err = (struct error)ERROR_INIT;
    if (start_at(http, endpoint, request, call_out, err) < 0)
        return -1;
    return http_wait(*call_out, err);
}

int sandbox_initialise(struct http *http, const struct sandbox_init *init, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint waiting = SANDBOX_ENDPOINT_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    const struct http_header headers[] = {{"X-Init-API-Key", init->init_key}, {NULL, NULL}};
    struct http_request request = {.method = "POST",
                                   .url = "/api/init",
                                   .headers = headers,
                                   .timeout_ms = init->timeout_ms,
                                   .max_reply_bytes = INIT_REPLY_MAX_BYTES};

    waiting.url = mem_dup_text(init->url);
    sandbox_key_derive(init->init_key, SANDBOX_KEY_PROOF, &waiting.proof_key);
    append_init_body(&text, init);
    request.body = text.text;
    request.body_len = text.len;
    if (reach(http, &waiting, &request, &call, err) < 0) {
        err->code = ERROR_UNAVAILABLE;
        return -1;
    }
    if (http_status(call) != STATUS_OK)
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox answered %ld", http_status(call));
    return 0;
}

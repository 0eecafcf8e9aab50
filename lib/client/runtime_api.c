#include "client/runtime_api.h"

#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "model/start/memory_size.h"

enum {
    REPLY_MAX_BYTES = 1 << 20,
    SLACK_MS = 30000, /* in addition to the wait requested of the service */
    RESUME_MS = 250,  /* a runtime that can continue at once is up by then */
};

static const int64_t NANO_PER_CPU = 1000000000;

static void put_limits(json_t *body, const json_t *container)
{
    int64_t memory_bytes = memory_size_bytes(json_text_or(container, "memory", ""));
    double cpus = json_number_or(container, "cpus", 0);

    if (memory_bytes > 0)
        json_put(body, "memory_bytes", json_integer((json_int_t)memory_bytes));
    if (cpus > 0)
        json_put(body, "nano_cpus", json_integer((json_int_t)(cpus * (double)NANO_PER_CPU)));
}

static json_t *start_body(const struct sandbox_start *start)
{
    json_t *body = json_object();
    json_t *command = json_array();

    json_push(command, json_text("deft-action", strlen("deft-action")));
    json_put_text(body, "image", start->image);
    json_put(body, "command", command);
    json_put_text(body, "working_dir", "/workspace");
    json_put(body, "environment", json_object());
    json_put_text(body, "session_id", start->session_id);
    json_put_text(body, "owner_id", start->owner_id);
    json_put_text(body, "conversation_id", start->conversation_id);
    json_put(body, "wait_ms", json_integer((json_int_t)start->wait_ms));
    if (start->is_doubted)
        json_put(body, "is_doubted", json_true());
    if (start->keeps_image)
        json_put(body, "keeps_image", json_true());
    put_limits(body, start->container);
    return body;
}

static enum error_code code_of(long status)
{
    if (status == 404)
        return ERROR_NOT_FOUND;
    return status == 429 ? ERROR_RATE_LIMITED : ERROR_UNAVAILABLE;
}

/* body NULL: a GET. */
static int begin(const struct runtime_api *api, const char *path, const json_t *body,
                 int64_t timeout_ms, struct http_call **call_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct http_header headers[] = {{"X-API-Key", secret_reveal(api->key)}, {NULL, NULL}};
    struct http_request request = {.method = body != NULL ? "POST" : "GET",
                                   .unix_socket = api->socket,
                                   .headers = headers,
                                   .timeout_ms = timeout_ms,
                                   .max_reply_bytes = REPLY_MAX_BYTES,
                                   .address_of = ADDRESS_OF_DEFT,
                                   .done_fd = api->done_fd};

    strbuf_appendf(&url, "%s%s", api->url, path);
    request.url = url.text;
    if (body != NULL) {
        json_append_text(&text, body);
        request.body = text.text;
        request.body_len = text.len;
    }
    return http_start(api->http, &request, call_out, err);
}

/* Parses; a status other than 2xx is an error with the service's message. */
static int read_reply(const struct http_call *call, json_t **reply_out, struct error *err)
{
    json_auto_t *reply = NULL;
    struct error ignored = ERROR_INIT;
    size_t len = 0;
    const char *bytes = http_body(call, &len);

    if (json_parse(bytes, len, &reply, &ignored) < 0)
        reply = json_object();
    if (http_status(call) < 200 || http_status(call) > 299)
        return error_set(err, code_of(http_status(call)), "the sandbox service answered %ld: %s",
                         http_status(call), json_text_or(reply, "detail", "no reason given"));
    *reply_out = TAKE_PTR(reply);
    return 0;
}

static int call_api(const struct runtime_api *api, const char *path, const json_t *body,
                    int64_t timeout_ms, json_t **reply_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;

    if (begin(api, path, body, timeout_ms, &call, err) < 0 || http_wait(call, err) < 0)
        return error_wrap(err, "the sandbox service does not answer");
    return read_reply(call, reply_out, err);
}

NONNULL static int read_endpoint(const json_t *reply, struct sandbox_endpoint *endpoint_out,
                                 struct error *err)
{
    const char *status = json_text_or(reply, "status", "");
    const char *url = json_text_or(reply, "url", "");
    const char *key = json_text_or(reply, "session_api_key", "");
    const char *call_key = json_text_or(reply, "call_key", "");
    const char *id = json_text_or(reply, "runtime_id", "");

    if (text_equal(status, "starting"))
        return error_set(err, ERROR_TIMEOUT, "the sandbox is still starting");
    if (!text_equal(status, "running"))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox did not start: %s",
                         json_text_or(reply, "status_detail", status));
    if (url[0] == '\0' || key[0] == '\0' || call_key[0] == '\0' ||
        strlen(id) >= sizeof(endpoint_out->runtime_id))
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox service returned no address");
    sandbox_endpoint_done(endpoint_out);
    memcpy(endpoint_out->runtime_id, id, strlen(id) + 1);
    endpoint_out->url = mem_dup_text(url);
    secret_set(&endpoint_out->session_key, key);
    secret_set(&endpoint_out->call_key, call_key);
    if (json_is_string(json_object_get(reply, "proof_key")))
        secret_set(&endpoint_out->proof_key, json_text_or(reply, "proof_key", ""));
    return 0;
}

int runtime_api_begin_start(const struct runtime_api *api, const struct sandbox_start *start,
                            struct http_call **call_out, struct error *err)
{
    json_auto_t *body = start_body(start);

    return begin(api, "/start", body, start->wait_ms + SLACK_MS, call_out, err);
}

int runtime_api_read_start(const struct http_call *call, struct sandbox_endpoint *endpoint_out,
                           struct error *err)
{
    json_auto_t *reply = NULL;

    if (read_reply(call, &reply, err) < 0)
        return -1;
    return read_endpoint(reply, endpoint_out, err);
}

int runtime_api_start(const struct runtime_api *api, const struct sandbox_start *start,
                      struct sandbox_endpoint *endpoint_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;

    if (runtime_api_begin_start(api, start, &call, err) < 0 || http_wait(call, err) < 0)
        return error_wrap(err, "the sandbox service does not answer");
    return runtime_api_read_start(call, endpoint_out, err);
}

int runtime_api_resume(const struct runtime_api *api, const char *runtime_id, int64_t wait_ms,
                       struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    json_auto_t *body = json_object();
    json_auto_t *reply = NULL;

    json_put_text(body, "runtime_id", runtime_id);
    json_put(body, "wait_ms", json_integer((json_int_t)wait_ms));
    if (call_api(api, "/resume", body, wait_ms + SLACK_MS, &reply, err) < 0)
        return -1;
    return read_endpoint(reply, &endpoint, err);
}

int runtime_api_create(const struct runtime_api *api, const struct sandbox_start *start,
                       char id_out[RUNTIME_ID_MAX_BYTES], struct error *err)
{
    json_auto_t *body = start_body(start);
    json_auto_t *reply = NULL;
    const char *id = "";

    if (call_api(api, "/start", body, start->wait_ms + SLACK_MS, &reply, err) < 0)
        return -1;
    id = json_text_or(reply, "runtime_id", "");
    if (id[0] == '\0' || strlen(id) >= RUNTIME_ID_MAX_BYTES)
        return error_set(err, ERROR_UNAVAILABLE, "the sandbox service returned no id");
    memcpy(id_out, id, strlen(id) + 1);
    return 0;
}

static const char *const order_paths[] = {
    [RUNTIME_ORDER_PAUSE] = "/pause",
    [RUNTIME_ORDER_RESUME] = "/resume",
    [RUNTIME_ORDER_STOP] = "/stop",
    [RUNTIME_ORDER_FORGET] = "/stop",
};

int runtime_api_order(const struct runtime_api *api, enum runtime_order order,
                      const char *runtime_id, struct error *err)
{
    json_auto_t *body = json_object();
    json_auto_t *reply = NULL;

    json_put_text(body, "runtime_id", runtime_id);
    if (order == RUNTIME_ORDER_RESUME)
        json_put(body, "wait_ms", json_integer(RESUME_MS));
    if (order == RUNTIME_ORDER_FORGET)
        json_put(body, "forget", json_true());
    return call_api(api, order_paths[order], body, SLACK_MS, &reply, err);
}

int runtime_api_refusals(const struct runtime_api *api, const char *runtime_id, json_t **reply_out,
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, "/egress_refusals/");
    percent_append(&path, runtime_id);
    return call_api(api, path.text, NULL, SLACK_MS, reply_out, err);
}

int runtime_api_begin_find(const struct runtime_api *api, const char *session_id,
                           int64_t timeout_ms, struct http_call **call_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, "/sessions/");
    percent_append(&path, session_id);
    return begin(api, path.text, NULL, timeout_ms, call_out, err);
}

int runtime_api_find(const struct runtime_api *api, const char *session_id, int64_t timeout_ms,
                     struct sandbox_endpoint *endpoint_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;

    if (runtime_api_begin_find(api, session_id, timeout_ms, &call, err) < 0 ||
        http_wait(call, err) < 0)
        return error_wrap(err, "the sandbox service does not answer");
    return runtime_api_read_start(call, endpoint_out, err);
}

/*
 * Preview URLs of the servers in a conversation's sandbox, for its owner.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/reply.h"
#include "fcgi/preview/preview_origin.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/conversation/preview.h"
#include "store/runtime/runtime_store.h"

enum { ASK_MS = 5000, NAME_BYTES = 16, PORTS_MAX = 1000 };

static bool has_name(int port)
{
    for (size_t i = 0; i < PREVIEW_N_NAMED; i++) {
        if (preview_ports[i].port == port)
            return true;
    }
    return false;
}

static void push_port(const struct request *request, json_t *list, const char *runtime_id, int port)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    char name[NAME_BYTES] = "";

    (void)snprintf(name, sizeof(name), "PORT_%d", port);
    preview_append_origin(request, runtime_id, port, &url);
    preview_push_url(list, name, url.text, port);
}

/* The named ports, and all other ports that a program listens on. */
static json_t *exposed_urls(const struct request *request, const char *runtime_id,
                            const struct preview_editor *editor, const json_t *listening)
{
    json_t *list = json_array();
    const json_t *item = NULL;
    size_t i = 0;

    preview_push_named(request, runtime_id, editor, list);
    json_array_foreach (listening, i, item) {
        int port = (int)json_integer_value(item);

        if (!has_name(port) && preview_port_is_allowed(port))
            push_port(request, list, runtime_id, port);
    }
    return list;
}

/* The sandbox's answer is untrusted. */
static json_t *read_ports(const json_t *said)
{
    json_t *ports = json_array();
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (said, i, item) {
        json_int_t port = json_integer_value(item);

        if (port >= 1 && port <= 65535 && json_array_size(ports) < PORTS_MAX)
            json_push(ports, json_integer(port));
    }
    return ports;
}

/*
 * A sandbox with an older deft-action cannot list open ports; its named ports are shown all the
 * same.
 */
static int put_urls(const struct request *request, const struct conversation *conversation,
                    const struct runtime *runtime, json_t *answer, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    char token[PREVIEW_EDITOR_TOKEN_BYTES] = "";
    const struct preview_editor editor = {token, conversation_working_dir(conversation)};
    json_auto_t *nothing = json_object();
    json_auto_t *said = NULL;
    struct error ignored = ERROR_INIT;
    const struct sandbox_request to_sandbox = {.owner = {&request->principal, conversation},
                                               .path = "/ports/listening",
                                               .body = nothing,
                                               .timeout_ms = ASK_MS};
    json_auto_t *listening = NULL;

    if (sandbox_open(request->context, runtime, &endpoint, err) < 0)
        return -1;
    preview_editor_token(secret_reveal(&endpoint.call_key), token);
    error_ignore(sandbox_request_send_running(request->context, &to_sandbox, &said, &ignored),
                 "no port is known to be listening then");
    listening = read_ports(json_object_get(said, "ports"));
    json_put(answer, "exposed_urls", exposed_urls(request, runtime->id, &editor, listening));
    json_put(answer, "listening", json_incref(listening));
    return 0;
}

/* GET -> 200 {"exposed_urls": [{"name","url","port"}] or null, "listening": [port]} | 404 */
static int previews(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    const struct sandbox_owner owner = {&request->principal, &conversation};
    json_auto_t *answer = json_object();

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    json_put(answer, "exposed_urls", json_null());
    json_put(answer, "listening", json_array());
    if (sandbox_load_row(request->context, &owner, &runtime, err) < 0)
        return err->code == ERROR_NOT_FOUND ? reply_json(reply, 200, answer) : -1;
    if (runtime.status == RUNTIME_RUNNING && runtime.desired == DESIRED_RUNNING &&
        put_urls(request, &conversation, &runtime, answer, err) < 0)
        return -1;
    return reply_json(reply, 200, answer);
}

const struct route preview_list_routes[] = {
    {HTTP_GET, "/api/conversations/{conversation_id}/previews", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_READS, 0, previews},
    {.handle = NULL},
};

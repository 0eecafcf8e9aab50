#include "sandbox/init.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/server_request.h"
#include "sandbox/http/validation.h"

static void answer_state(struct server_request *request)
{
    json_auto_t *body = json_object();

    json_put_text(body, "state",
                  action_config_is_dormant(request->server->config) ? "dormant" : "ready");
    json_put(body, "error", json_null());
    server_request_answer_json(request, 200, body);
}

void init_handle_get(struct server_request *request)
{
    answer_state(request);
}

static bool has_init_key(const struct server_request *request)
{
    CLEANUP(mem_freep) char *key = server_request_header(request, "x-init-api-key");

    return key != NULL && text_equal_secret(key, secret_reveal(&request->server->config->init_key));
}

/* The body's only key; NULL when the body is malformed. */
static const char *read_key(const json_t *body)
{
    const json_t *keys = json_object_get(body, "session_api_keys");
    const char *key = json_string_value(json_array_get(keys, 0));

    if (json_array_size(keys) != 1 || key == NULL)
        return NULL;
    return key[0] != '\0' ? key : NULL;
}

/* True for an object of variables, or NULL. */
static bool is_environment(json_t *environment)
{
    const char *name = NULL;
    const json_t *value = NULL;

    if (environment == NULL)
        return true;
    if (!json_is_object(environment))
        return false;
    json_object_foreach (environment, name, value) {
        if (name[0] == '\0' || strchr(name, '=') != NULL || !json_is_string(value))
            return false;
    }
    return true;
}

/* The error in the body, or NULL. */
static const char *find_fault(const json_t *body, const char **member_out)
{
    json_t *environment = json_object_get(body, "env");
    const json_t *proof_key = json_object_get(body, "proof_key");
    size_t n_known = 1 + (environment != NULL) + (proof_key != NULL);

    *member_out = "session_api_keys";
    if (read_key(body) == NULL)
        return "Input should be a list with one key";
    *member_out = "proof_key";
    if (proof_key != NULL && json_string_length(proof_key) == 0)
        return "Input should be a key";
    *member_out = "env";
    if (!is_environment(environment))
        return "Input should be an object of strings";
    *member_out = NULL;
    return json_object_size(body) == n_known ? NULL : "Input should have no other members";
}

static void take_body(struct server_request *request)
{
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;
    const char *member = NULL;
    const char *fault = NULL;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0) {
        validation_answer(request, "json_invalid", "body", NULL, err.message);
        return;
    }
    fault = find_fault(body, &member);
    if (fault != NULL) {
        validation_answer(request, "value_error", "body", member, fault);
        return;
    }
    action_config_take_environment(request->server->config, json_object_get(body, "env"));
    action_config_take_keys(request->server->config, read_key(body),
                            json_string_value(json_object_get(body, "proof_key")));
    answer_state(request);
}

/* False: the request has been answered. */
static bool check_access(struct server_request *request)
{
    bool is_dormant = action_config_is_dormant(request->server->config);

    if (is_dormant && has_init_key(request))
        return true;
    if (is_dormant)
        server_request_answer_detail(request, 401, "Unauthorized");
    else
        server_request_answer_detail(request, 400, "server already in state: ready");
    return false;
}

void init_begin_post(struct server_request *request)
{
    (void)check_access(request);
}

/* Again: another request may have brought the key while this one's body arrived. */
void init_handle_post(struct server_request *request)
{
    if (check_access(request))
        take_body(request);
}

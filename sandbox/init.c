#include "sandbox/init.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "sandbox/action_config.h"
#include "sandbox/http.h"
#include "sandbox/server.h"
#include "sandbox/validation.h"

static void answer_state(struct request *request)
{
    json_auto_t *body = json_object();

    json_put_text(body, "state", config_is_dormant(request->server->config) ? "dormant" : "ready");
    json_put(body, "error", json_null());
    request_answer_json(request, 200, body);
}

void init_handle_get(struct request *request)
{
    answer_state(request);
}

static bool has_init_key(const struct request *request)
{
    CLEANUP(mem_freep) char *key = request_header(request, "x-init-api-key");

    return key != NULL && text_equal_secret(key, secret_reveal(&request->server->config->init_key));
}

/* The one key that the body brings; NULL when it has another form. */
static const char *read_key(const json_t *body)
{
    const json_t *keys = json_object_get(body, "session_api_keys");
    const char *key = json_string_value(json_array_get(keys, 0));

    if (json_object_size(body) != 1 || json_array_size(keys) != 1 || key == NULL)
        return NULL;
    return key[0] != '\0' ? key : NULL;
}

static void take_key(struct request *request)
{
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;
    const char *key = NULL;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0) {
        validation_answer(request, "json_invalid", "body", NULL, err.message);
        return;
    }
    key = read_key(body);
    if (key == NULL) {
        validation_answer(request, "value_error", "body", "session_api_keys",
                          "Input should be a list of one key, and nothing else");
        return;
    }
    config_take_key(request->server->config, key);
    answer_state(request);
}

void init_handle_post(struct request *request)
{
    if (!config_is_dormant(request->server->config))
        request_answer_detail(request, 400, "server already in state: ready");
    else if (!has_init_key(request))
        request_answer_detail(request, 401, "Unauthorized");
    else
        take_key(request);
}

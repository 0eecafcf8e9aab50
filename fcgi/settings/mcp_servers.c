/*
 * /api/settings/mcp/{settings_key}: edits one server of the settings' mcp_config.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"
#include "fcgi/settings/user_settings.h"
#include "model/agent/agent_settings.h"
#include "model/schema/validation_error.h"

enum { KEY_MAX_CHARS = 256 };

static const struct json_path body_place = {NULL, "body", 0};

static int check_key(const struct request *request, const char **key_out, struct error *err)
{
    const char *key = request_path_text(request, "settings_key");

    if (key[0] == '\0' || strlen(key) > KEY_MAX_CHARS || strchr(key, '/') != NULL)
        return error_set(err, ERROR_INVALID,
                         "The name of an MCP server must have 1 to %d characters",
                         (int)KEY_MAX_CHARS);
    *key_out = key;
    return 0;
}

/* The body with its sealed secrets opened. A new reference. */
static int read_body(const struct request *request, json_t **body_out, struct error *err)
{
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0)
        return -1;
    secrets_open(&mcp_server_secrets, body, request->context->keyring.fernet, request->problems);
    if (json_array_size(request->problems) > 0)
        return request_problems_noted(err);
    *body_out = json_incref(body);
    return 0;
}

/* The servers after the edit: one added, changed or removed. */
static int add_server(const struct request *request, json_t *servers, const char *key,
                      struct error *err)
{
    json_auto_t *body = NULL;
    json_t *server = NULL;

    if (json_object_get(servers, key) != NULL)
        return error_set(err, ERROR_CONFLICT, "MCP server '%s' already exists", key);
    if (read_body(request, &body, err) < 0)
        return -1;
    server = mcp_server_read(body, &body_place, request->problems);
    json_put(servers, key, server);
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

static int no_server(const char *key, struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "MCP server '%s' not found", key);
}

static int change_server(const struct request *request, json_t *servers, const char *key,
                         struct error *err)
{
    json_t *there = json_object_get(servers, key);
    json_auto_t *body = NULL;
    json_t *server = NULL;

    if (there == NULL)
        return no_server(key, err);
    if (read_body(request, &body, err) < 0)
        return -1;
    /* Members of one auth strategy are invalid in another. */
    if (json_is_object(json_object_get(body, "auth")))
        (void)json_object_del(there, "auth");
    settings_merge(there, body);
    server = mcp_server_read(there, &body_place, request->problems);
    json_put(servers, key, server);
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

static int remove_server(const struct request *request, json_t *servers, const char *key,
                         struct error *err)
{
    (void)request;
    return json_object_del(servers, key) < 0 ? no_server(key, err) : 0;
}

static int edit(const struct request *request, struct document *settings, struct error *err)
{
    json_auto_t *agent = user_settings_agent(settings);
    json_t *servers = json_object_get(agent, "mcp_config");
    const char *key = NULL;
    int rc = -1;

    if (check_key(request, &key, err) < 0)
        return -1;
    if (request->method == HTTP_POST)
        rc = add_server(request, servers, key, err);
    else if (request->method == HTTP_PATCH)
        rc = change_server(request, servers, key, err);
    else
        rc = remove_server(request, servers, key, err);
    if (rc < 0)
        return -1;
    user_settings_set_agent(request, settings, agent, &body_place, request->problems);
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

static int try_edit(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    json_auto_t *json = NULL;

    if (user_settings_load(request, &settings, err) < 0 || edit(request, &settings, err) < 0 ||
        user_settings_put(request, &settings, err) < 0)
        return -1;
    json = user_settings_to_json(request, &settings, EXPOSE_MASKED, err);
    if (json == NULL)
        return -1;
    return reply_json(reply, request->method == HTTP_POST ? 201 : 200, json);
}

/* POST MCPServer -> 201 settings | 409; PATCH -> 200 | 404; DELETE -> 200 | 404; 422 */
static int mcp_server_edit(const struct request *request, struct reply *reply, struct error *err)
{
    return user_documents_retry(request, reply, try_edit, err);
}

#define SERVER "/api/settings/mcp/{settings_key}"

const struct route mcp_settings_routes[] = {
    {HTTP_POST, SERVER, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     mcp_server_edit},
    {HTTP_PATCH, SERVER, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     mcp_server_edit},
    {HTTP_DELETE, SERVER, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, mcp_server_edit},
    {.handle = NULL},
};

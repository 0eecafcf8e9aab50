/*
 * Health and capabilities of the server.
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/tools/tools.h"
#include "store/db/db.h"

/* In the contract's order. Capabilities of the contract that are missing here have no routes. */
static const char *const capabilities[] = {
    "conversation_runtime_routes_v1",
    "profile_secret_scope_v1",
    "profile_persona_v1",
    "idempotent_conversation_create_v1",
    "tool_catalog_v1",
    "agent_profile_draft_materialize_v1",
    "agent_launch_pipeline_v1",
    "skill_catalog_v1",
};

static int answer_status(struct reply *reply, int status, const char *word)
{
    json_auto_t *json = json_object();

    json_put_text(json, "status", word);
    return reply_json(reply, status, json);
}

/* GET -> 200 {"status":"ok"} */
static int health(const struct request *request, struct reply *reply, struct error *err)
{
    (void)request;
    (void)err;
    return answer_status(reply, 200, "ok");
}

/* GET -> 200 {"status":"ready"} | 503 */
static int ready(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *json = NULL;

    if (db_ping(request->context->db, err) == 0)
        return answer_status(reply, 200, "ready");
    json = json_object();
    json_put_text(json, "status", "initializing");
    json_put_text(json, "message", "The database does not answer");
    return reply_json(reply, 503, json);
}

static json_t *text_list(const char *const *texts, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_push(list, json_text_of(texts[i]));
    return list;
}

static void put_versions(json_t *info)
{
    static const char *const members[] = {"version", "sdk_version", "tools_version",
                                          "workspace_version"};

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put_text(info, members[i], CONTRACT_VERSION);
    json_put_text(info, "build_git_sha", "unknown");
    json_put_text(info, "build_git_ref", "unknown");
    json_put_text(info, "python_version", "3.13");
}

static void put_runtimes(json_t *info, enum runtime_kind kind)
{
    static const char *const offered[] = {"local", "docker"};

    json_put_text(info, "conversation_runtime", kind == RUNTIME_DOCKER ? "docker" : "local");
    json_put(info, "available_conversation_runtimes", text_list(offered, ARRAY_SIZE(offered)));
    json_put(info, "runtime_idle_timeout_seconds", json_null());
}

static double whole_seconds_since(int64_t monotonic_ms)
{
    int64_t elapsed_s = (clock_monotonic_ms() - monotonic_ms) / 1000;

    return (double)elapsed_s;
}

/* GET -> 200 */
static int server_info(const struct request *request, struct reply *reply, struct error *err)
{
    const struct fcgi_context *context = request->context;
    json_auto_t *info = json_object();

    (void)err;
    json_put(info, "uptime", json_real(whole_seconds_since(context->started_ms)));
    json_put(info, "idle_time",
             json_real(whole_seconds_since(atomic_load(context->last_active_ms))));
    json_put_text(info, "title", "OpenHands Agent Server");
    put_versions(info);
    json_put(info, "usable_tools",
             tools_names(context->settings->sandbox_browser != 0 ? SANDBOX_WITH_BROWSER
                                                                 : SANDBOX_WITHOUT_BROWSER));
    put_runtimes(info, context->default_runtime);
    json_put(info, "capabilities", text_list(capabilities, ARRAY_SIZE(capabilities)));
    json_put(info, "app_backend_ingress_url", json_null());
    json_put(info, "max_foreground_terminal_timeout_seconds", json_null());
    json_put_text(info, "docs", "/docs");
    json_put_text(info, "redoc", "/redoc");
    return reply_json(reply, 200, info);
}

const struct route health_routes[] = {
    {HTTP_GET, "/health", ORIGIN_BOTH, ACCESS_PUBLIC, SANDBOX_OPEN, 0, health},
    {HTTP_GET, "/alive", ORIGIN_BOTH, ACCESS_PUBLIC, SANDBOX_OPEN, 0, health},
    {HTTP_GET, "/ready", ORIGIN_BOTH, ACCESS_PUBLIC, SANDBOX_OPEN, 0, ready},
    {HTTP_GET, "/server_info", ORIGIN_BOTH, ACCESS_PUBLIC, SANDBOX_OPEN, 0, server_info},
    {HTTP_GET, "/", ORIGIN_AGENT, ACCESS_PUBLIC, SANDBOX_OPEN, 0, server_info},
    {.handle = NULL},
};

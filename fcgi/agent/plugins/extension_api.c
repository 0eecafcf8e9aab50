/*
 * Parts of this API that deft does not implement: extensions of the canvas page, automations. The
 * page calls them anyway, so each replies in its format.
 */
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/reply.h"

static int no_extensions(const struct request *request, struct reply *reply, struct error *err)
{
    (void)request;
    (void)err;
    return reply_detail(reply, 501, "Canvas extensions are not supported by this server");
}

static int answer_empty_list(struct reply *reply, const char *member)
{
    json_auto_t *answer = json_object();

    json_put(answer, member, json_array());
    return reply_json(reply, 200, answer);
}

/* GET -> 200 {"canvas_extensions":[]} */
static int extensions(const struct request *request, struct reply *reply, struct error *err)
{
    (void)request;
    (void)err;
    return answer_empty_list(reply, "canvas_extensions");
}

/* GET -> 200 {"status":"ok"} */
static int automation_health(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();

    (void)request;
    (void)err;
    json_put_text(answer, "status", "ok");
    return reply_json(reply, 200, answer);
}

/* GET -> 200 {"version","sdk_version"} */
static int automation_version(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *answer = json_object();

    (void)request;
    (void)err;
    json_put_text(answer, "version", CONTRACT_VERSION);
    json_put_text(answer, "sdk_version", CONTRACT_VERSION);
    return reply_json(reply, 200, answer);
}

/* GET -> 200: no automation, with every list name that the page may look for */
static int automation_list(const struct request *request, struct reply *reply, struct error *err)
{
    static const char *const members[] = {"automations", "items", "runs"};
    json_auto_t *answer = json_object();

    (void)request;
    (void)err;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(answer, members[i], json_array());
    json_put(answer, "total", json_integer(0));
    return reply_json(reply, 200, answer);
}

/* POST -> 200 {"success":true}: nothing is sent anywhere */
static int automation_consent(const struct request *request, struct reply *reply, struct error *err)
{
    (void)request;
    (void)err;
    return reply_success(reply);
}

#define ROUTE(method, pattern, handler)                                                            \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, BODY_SMALL_BYTES, handler}
#define CANVAS "/api/canvas-extensions"
#define ONE CANVAS "/installed/{extension_name}"

const struct route extension_routes[] = {
    ROUTE(HTTP_GET, CANVAS "/installed", extensions),
    ROUTE(HTTP_POST, CANVAS "/install", no_extensions),
    ROUTE(HTTP_GET, ONE, no_extensions),
    ROUTE(HTTP_PATCH, ONE, no_extensions),
    ROUTE(HTTP_DELETE, ONE, no_extensions),
    ROUTE(HTTP_GET, ONE "/backend", no_extensions),
    ROUTE(HTTP_POST, ONE "/backend/prepare", no_extensions),
    ROUTE(HTTP_POST, ONE "/backend/start", no_extensions),
    ROUTE(HTTP_POST, ONE "/backend/stop", no_extensions),
    ROUTE(HTTP_GET, ONE "/backend/logs", no_extensions),
    ROUTE(HTTP_DELETE, ONE "/backend/data", no_extensions),
    ROUTE(HTTP_GET, ONE "/bundle", no_extensions),
    ROUTE(HTTP_GET, ONE "/icon", no_extensions),
    ROUTE(HTTP_POST, "/app-backends/{extension_name}/session", no_extensions),
    ROUTE(HTTP_DELETE, "/app-backends/{extension_name}/session", no_extensions),
    ROUTE(HTTP_GET, "/api/automation/health", automation_health),
    ROUTE(HTTP_GET, "/api/automation/sdk-version", automation_version),
    ROUTE(HTTP_GET, "/api/automation/v1", automation_list),
    ROUTE(HTTP_POST, "/api/automation/v1/telemetry/consent", automation_consent),
    {.handle = NULL},
};

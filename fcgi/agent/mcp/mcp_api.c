/*
 * /api/mcp: tests a Model Context Protocol server for a user, and lets the user sign in at one.
 * Failures of the server are reported in a 200 reply.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/mcp/mcp_probe.h"
#include "fcgi/agent/mcp/mcp_return.h"
#include "fcgi/agent/mcp/mcp_sign_in.h"
#include "fcgi/agent/mcp/mcp_token.h"
#include "fcgi/core/reply.h"
#include "model/schema/object_schema.h"

static int answer_failure(struct reply *reply, const struct error *why)
{
    json_auto_t *answer = json_object();

    json_put(answer, "ok", json_false());
    json_put_text(answer, "error", why->message);
    json_put_text(answer, "error_kind", mcp_probe_error_kind(why));
    return reply_json(reply, 200, answer);
}

static int answer_success(struct reply *reply, const struct mcp_probe *probe, json_t *fresh_state)
{
    json_auto_t *answer = json_object();

    json_put(answer, "ok", json_true());
    json_put(answer, "tools", json_incref(probe->tools));
    json_put(answer, "tool_result",
             probe->outcome != NULL ? json_incref(probe->outcome) : json_null());
    if (fresh_state != NULL)
        json_put(answer, "oauth_state", mcp_token_seal(probe->request, fresh_state));
    return reply_json(reply, 200, answer);
}

/* POST {"server","timeout","tool_call"} -> 200 {"ok":true,"tools"} or {"ok":false,"error"} | 422 */
static int mcp_test(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(mcp_probe_done) struct mcp_probe probe = MCP_PROBE_INIT;
    json_auto_t *body = NULL;
    json_auto_t *fresh_state = NULL;
    struct error why = ERROR_INIT;

    if (mcp_probe_read(request, &body, &probe, err) < 0)
        return -1;
    if (mcp_token_freshen(&probe, json_object_get(body, "server"), &fresh_state, &why) < 0 ||
        mcp_probe_run(&probe, &why) < 0)
        return answer_failure(reply, &why);
    return answer_success(reply, &probe, fresh_state);
}

/* --- signing in --- */

/*
 * POST as for a test -> 200 {"ok":true,"job_id","authorization_url"} or {"ok":false,"error"} | 422
 */
static int oauth_start(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(mcp_probe_done) struct mcp_probe probe = MCP_PROBE_INIT;
    json_auto_t *body = NULL;
    json_auto_t *answer = NULL;
    struct error why = ERROR_INIT;

    if (mcp_probe_read(request, &body, &probe, err) < 0)
        return -1;
    if (mcp_sign_in_begin(&probe, &answer, &why) < 0)
        return why.code == ERROR_INTERNAL ? (*err = why, -1) : answer_failure(reply, &why);
    return reply_json(reply, 200, answer);
}

static int load(const struct request *request, struct mcp_sign_in *sign_in_out, struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);
    struct uuid id = UUID_INIT;

    if (!uuid_parse(request_path_text(request, "job_id"), &id))
        return error_set(err, ERROR_NOT_FOUND, "There is no such sign-in, or it has ended");
    return mcp_sign_in_store_get(&scope, &id, sign_in_out, err);
}

static int answer_status(const struct request *request, struct reply *reply,
                         const struct mcp_sign_in *sign_in)
{
    json_auto_t *answer = mcp_sign_in_to_json(request, sign_in);

    return reply_json(reply, 200, answer);
}

/* GET -> 200 {"ok","status","tools","oauth_state",…} | 404 */
static int oauth_status(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in sign_in = MCP_SIGN_IN_INIT;

    if (load(request, &sign_in, err) < 0)
        return -1;
    return answer_status(request, reply, &sign_in);
}

static const struct field callback_fields[] = {
    {.name = "callback_url", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .max_chars = 16384},
};
static const struct object_schema callback_schema = SCHEMA(callback_fields);

/* POST {"callback_url"}: the redirect URL, for browsers that cannot reach this server -> 200 */
static int oauth_callback(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in sign_in = MCP_SIGN_IN_INIT;
    CLEANUP(mcp_return_done) struct mcp_return back = MCP_RETURN_INIT;
    json_auto_t *body = NULL;

    if (request_json_schema(request, &callback_schema, &body, err) < 0 ||
        load(request, &sign_in, err) < 0)
        return -1;
    mcp_return_from_url(&back, json_text_or(body, "callback_url", ""));
    if (!mcp_sign_in_is_of(&sign_in, back.state))
        return error_set(err, ERROR_INVALID, "callback_url belongs to another sign-in");
    mcp_sign_in_done(&sign_in);
    if (mcp_sign_in_complete(request, &back, &sign_in, err) < 0)
        return -1;
    return answer_status(request, reply, &sign_in);
}

/* GET ?state=&code= from the redirected browser -> 200 text | 400 */
static int oauth_redirect(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in sign_in = MCP_SIGN_IN_INIT;
    CLEANUP(mcp_return_done) struct mcp_return back = MCP_RETURN_INIT;

    mcp_return_from_url(&back, request->target);
    reply_header(reply, "Referrer-Policy", "no-referrer");
    if (mcp_sign_in_complete(request, &back, &sign_in, err) < 0)
        return err->code == ERROR_NOT_FOUND ? reply_detail(reply, 400, err->message) : -1;
    if (sign_in.status != SIGN_IN_SUCCEEDED)
        return reply_detail(reply, 400,
                            "Signing in failed. The page on which you started shows the reason.");
    return reply_text(reply, 200, "You are signed in. You can close this window.\n");
}

const struct route mcp_routes[] = {
    {HTTP_POST, "/api/mcp/test", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     mcp_test},
    {HTTP_POST, "/api/mcp/oauth/start", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     oauth_start},
    {HTTP_GET, "/api/mcp/oauth/status/{job_id}", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0,
     oauth_status},
    {HTTP_POST, "/api/mcp/oauth/callback/{job_id}", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED,
     BODY_SMALL_BYTES, oauth_callback},
    {HTTP_GET, MCP_REDIRECT_PATH, ORIGIN_BOTH, ACCESS_PUBLIC, SANDBOX_OPEN, 0, oauth_redirect},
    {.handle = NULL},
};

#include "fcgi/core/dispatch.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "auth/principal.h"
#include "auth/session.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "fcgi/core/cors.h"
#include "fcgi/core/deferred_init.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "fcgi/core/sandbox_caller.h"
#include "fcgi/core/session_cookie.h"
#include "web/reply_status.h"

enum { WORKSPACE_KEY_MAX_BYTES = 128 };

/* The key of "Authorization: Bearer key", or NULL. */
static const char *bearer_key(const struct request *request)
{
    static const char scheme[] = "Bearer ";
    const char *value = request_param(request, "HTTP_AUTHORIZATION");

    if (value == NULL || strncasecmp(value, scheme, strlen(scheme)) != 0)
        return NULL;
    return value + strlen(scheme);
}

/* Authenticates the caller: a key takes precedence; a cookie counts on the app origin only. */
static int identify(struct request *request, struct error *err)
{
    const struct fcgi_context *context = request->context;
    const char *key = request_param(request, "HTTP_X_SESSION_API_KEY");
    char token[SESSION_TOKEN_MAX_BYTES];
    char cookie[WORKSPACE_KEY_MAX_BYTES];

    if (key == NULL && request->route->access == ACCESS_WORKSPACE &&
        request_cookie(request, WORKSPACE_COOKIE, cookie, sizeof(cookie)))
        key = cookie;
    if (key == NULL && request->route->access == ACCESS_BEARER)
        key = bearer_key(request);
    if (key != NULL &&
        principal_from_key(context->db, &context->keyring, key, &request->principal, err) < 0)
        return request_refuse_key(request, err);
    if (key != NULL)
        return 0;
    if (request->origin == ORIGIN_APP && session_cookie_read(request, token))
        return principal_from_session(context->db, &context->keyring, token, &request->principal,
                                      err);
    return error_set(err, ERROR_UNAUTHENTICATED, "no key");
}

static int check_sandbox(const struct request *request, struct error *err)
{
    if (principal_may(&request->principal, request->route->sandbox))
        return 0;
    return error_set(err, ERROR_FORBIDDEN, "A sandbox's key may not do this");
}

static int check_principal(const struct request *request, struct error *err)
{
    enum principal_kind kind = request->principal.kind;

    switch (request->route->access) {
    case ACCESS_PUBLIC:
        return 0;
    case ACCESS_CALLER:
    case ACCESS_WORKSPACE:
        if (kind != PRINCIPAL_NOBODY)
            return 0;
        break;
    case ACCESS_USER:
    case ACCESS_BEARER:
        if (kind == PRINCIPAL_USER_KEY || kind == PRINCIPAL_SESSION)
            return 0;
        break;
    case ACCESS_SESSION:
        if (kind == PRINCIPAL_SESSION)
            return 0;
        break;
    case ACCESS_SANDBOX:
    case ACCESS_UNSET:
        break;
    }
    return error_set(err, ERROR_UNAUTHENTICATED, "not signed in");
}

/*
 * Browsers attach the cookie to any request, so a request that changes state must come from our own
 * page. Signing in needs no cookie: there a request without an origin is accepted, one from another
 * page is not.
 */
static int check_same_origin(const struct request *request, struct error *err)
{
    enum same_origin same = SAME_ORIGIN_YES;
    bool has_session = request->principal.kind == PRINCIPAL_SESSION;
    bool is_open = request->route->access == ACCESS_PUBLIC && request->origin == ORIGIN_APP;

    if (!http_method_is_unsafe(request->method) || (!has_session && !is_open))
        return 0;
    same = request_same_origin(request);
    if (same == SAME_ORIGIN_YES || (same == SAME_ORIGIN_UNKNOWN && !has_session))
        return 0;
    return error_set(err, ERROR_FORBIDDEN, "The request comes from another origin");
}

static int authorise(struct request *request, struct error *err)
{
    if (request->route->access != ACCESS_PUBLIC && identify(request, err) < 0)
        return -1;
    if (check_sandbox(request, err) < 0 || check_principal(request, err) < 0)
        return -1;
    return check_same_origin(request, err);
}

/* *refusal_out: the message of a 401, which tells clients the cause; NULL when there is none. */
static int admit(struct request *request, const char **refusal_out, struct error *err)
{
    if (request->route->access == ACCESS_SANDBOX) {
        if (sandbox_caller_identify(request, refusal_out, err) < 0)
            return -1;
        return *refusal_out != NULL ? 0 : check_sandbox(request, err);
    }
    return authorise(request, err);
}

/*
 * A page of another site can make a browser send text, forms or untyped bytes along with our
 * cookie, but not JSON unless CORS allows it. Older clients send no type: a key suffices, since
 * browsers never add one by themselves.
 */
static bool has_json_type(const struct request *request)
{
    const char *type = request_param(request, "CONTENT_TYPE");
    enum principal_kind kind = request->principal.kind;

    if (type != NULL)
        return json_is_media_type(type);
    return request->origin == ORIGIN_AGENT || kind == PRINCIPAL_USER_KEY ||
           kind == PRINCIPAL_SANDBOX_KEY;
}

static int handle(struct request *request, struct reply *reply, struct error *err)
{
    const struct route *route = request->route;

    if (route->body_max_bytes > 0 &&
        request_read_body(request, (size_t)route->body_max_bytes, err) < 0)
        return -1;
    /* All bodies but those that a handler reads itself are JSON. */
    if (request->body.len > 0 && !has_json_type(request))
        return json_refuse_media_type(err);
    return route->handle(request, reply, err);
}

static int serve_route(struct request *request, struct reply *reply, struct error *err)
{
    const struct route *route = request->route;
    const char *refusal = NULL;
    bool is_blocked = false;

    if (deferred_init_blocks(request, &is_blocked, err) < 0)
        return -1;
    if (is_blocked)
        return reply_exception(reply, 503, DEFERRED_INIT_DETAIL);
    if (admit(request, &refusal, err) < 0)
        return -1;
    if (refusal != NULL)
        return reply_detail(reply, 401, refusal);
    /* Tells clients of the Runtime API that they must resume the sandbox. */
    if (request->principal.is_held)
        return reply_exception(reply, 503, "the sandbox is paused");
    if (route->access != ACCESS_PUBLIC)
        atomic_store(request->context->last_active_ms, clock_monotonic_ms());
    return handle(request, reply, err);
}

static void answer_other_method(struct reply *reply, unsigned allowed)
{
    CLEANUP(strbuf_done) struct strbuf allow = STRBUF_INIT;

    for (unsigned i = 0; i < HTTP_OTHER; i++) {
        if ((allowed & 1U << i) != 0)
            strbuf_appendf(&allow, "%s%s", allow.len > 0 ? ", " : "",
                           http_method_to_string((enum http_method)i));
    }
    reply_header(reply, "Allow", allow.text);
    error_ignore(reply_detail(reply, 405, reply_phrase(405)), "cannot fail");
}

/*
 * Relative, so that it works below a prefix that the proxy strips: the last segment, with or
 * without a slash.
 */
static void answer_other_slash(const struct request *request, struct reply *reply)
{
    CLEANUP(strbuf_done) struct strbuf location = STRBUF_INIT;
    size_t path_len = strcspn(request->target, "?");
    bool has_slash = path_len > 1 && request->target[path_len - 1] == '/';
    size_t end = has_slash ? path_len - 1 : path_len;
    size_t start = end;

    while (start > 0 && request->target[start - 1] != '/')
        start--;
    strbuf_append(&location, has_slash ? "../" : "./");
    strbuf_append_bytes(&location, request->target + start, end - start);
    strbuf_append(&location, has_slash ? "" : "/");
    strbuf_append(&location, request->target + path_len);
    reply_header(reply, "Location", location.text);
    error_ignore(reply_empty(reply, 307), "cannot fail");
}

/* After the head is sent, the client notices an error by the missing bytes. */
static void answer_error(const struct request *request, struct reply *reply,
                         const struct error *err)
{
    if (!reply->is_streaming)
        reply_error(reply, request, err);
    else if (!reply->is_broken)
        log_warning("request.cut_off", LOG_ERROR(err));
}

static void answer(struct request *request, struct reply *reply)
{
    struct error err = ERROR_INIT;
    unsigned allowed = 0;

    if (cors_answer_preflight(request, reply))
        return;
    switch (route_find(request, &allowed)) {
    case ROUTE_FOUND:
        if (serve_route(request, reply, &err) < 0)
            answer_error(request, reply, &err);
        return;
    case ROUTE_OTHER_METHOD:
        answer_other_method(reply, allowed);
        return;
    case ROUTE_OTHER_SLASH:
        answer_other_slash(request, reply);
        return;
    case ROUTE_UNKNOWN:
        error_ignore(reply_detail(reply, 404, reply_phrase(404)), "cannot fail");
        return;
    }
}

static void log_request(const struct request *request, const struct reply *reply, int64_t start_us)
{
    log_access("request.answered", LOG_STR("method", http_method_to_string(request->method)),
               LOG_STR("route", request->route != NULL ? request->route->pattern : "-"),
               LOG_INT("status", reply->status), LOG_INT("bytes", reply->n_bytes),
               LOG_DOUBLE("ms", (double)(clock_monotonic_us() - start_us) / 1000.0));
}

void dispatch(const struct fcgi_context *context, const struct request_input *input,
              struct reply *reply)
{
    CLEANUP(request_done) struct request request = {.body = STRBUF_INIT};
    struct error err = ERROR_INIT;
    int64_t start_us = clock_monotonic_us();
    int rc = request_init(&request, context, input, &err);

    log_context_set("request_id", request.id);
    reply_header(reply, "X-Request-Id", request.id);
    cors_add_headers(&request, reply);
    if (rc < 0)
        error_ignore(reply_detail(reply, 400, reply_phrase(400)), "cannot fail");
    else
        answer(&request, reply);
    reply_send(reply);
    log_request(&request, reply, start_us);
    log_context_set("request_id", NULL);
}

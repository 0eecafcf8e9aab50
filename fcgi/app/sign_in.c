/*
 * Signing in with a one-time link, signing out, and who is signed in.
 */
#include "config.h"

#include <stdbool.h>

#include "auth/session.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/app/app.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "store/user_store.h"

enum { TOKEN_MAX_CHARS = 200, BODY_MAX_BYTES = 16384 };

/* TLS may end before us: then the page's own address says so. */
static bool is_secure(const struct request *request)
{
    const char *scheme = request_param(request, "REQUEST_SCHEME");

    return text_starts_with(request->context->settings->app_url, "https://") ||
           (scheme != NULL && text_equal(scheme, "https"));
}

/* RFC 6265, section 4.1. Secure only where there is TLS: a cookie so marked is not sent without. */
static void set_cookie(const struct request *request, struct reply *reply, const char *token,
                       int64_t max_age_s)
{
    CLEANUP(strbuf_done) struct strbuf cookie = STRBUF_INIT;

    strbuf_appendf(&cookie, "%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%lld",
                   request->context->settings->session_cookie, token, (long long)max_age_s);
    if (is_secure(request))
        strbuf_append(&cookie, "; Secure");
    reply_header(reply, "Set-Cookie", cookie.text);
}

/* POST {"token"} -> 200 and a cookie | 401 | 422 */
static int sign_in(const struct request *request, struct reply *reply, struct error *err)
{
    const struct text_rule rule = {1, TOKEN_MAX_CHARS, true};
    char session[CRYPTO_TOKEN_BYTES];
    json_auto_t *body = NULL;
    const char *token = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        request_member_text(request, body, "token", &rule, &token, err) < 0 ||
        session_open(request->context->db, &request->context->keyring, token, session, err) < 0)
        return -1;
    set_cookie(request, reply, session, SESSION_VALID_S);
    return reply_success(reply);
}

/* POST -> 200 and the cookie is gone | 401 */
static int sign_out(const struct request *request, struct reply *reply, struct error *err)
{
    char token[SESSION_TOKEN_MAX_BYTES];

    if (!request_cookie(request, request->context->settings->session_cookie, token, sizeof(token)))
        return error_set(err, ERROR_UNAUTHENTICATED, "no cookie");
    if (session_close(request->context->db, &request->context->keyring, token, err) < 0)
        return -1;
    set_cookie(request, reply, "", 0);
    return reply_success(reply);
}

/* GET -> 200 {"id","email","name","model","scripted","version"} | 401 */
static int me(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(user_done) struct user user = USER_INIT;
    json_auto_t *json = json_object();

    if (user_store_get(request->context->db, &request->principal.user_id, &user, err) < 0)
        return -1;
    json_put_text(json, "id", user.id.text);
    json_put_text(json, "email", user.email);
    json_put_text(json, "name", user.name);
    json_put_text(json, "model", context_model(request->context));
    json_put(json, "scripted", json_boolean(context_is_scripted(request->context)));
    json_put_text(json, "version", PACKAGE_VERSION);
    return reply_json(reply, 200, json);
}

const struct route sign_in_routes[] = {
    {HTTP_POST, "/api/v1/sign-in", ORIGIN_APP, ACCESS_PUBLIC, SANDBOX_OPEN, BODY_MAX_BYTES,
     sign_in},
    {HTTP_POST, "/api/v1/sign-out", ORIGIN_APP, ACCESS_SESSION, SANDBOX_REFUSED, BODY_MAX_BYTES,
     sign_out},
    {HTTP_GET, "/api/v1/me", ORIGIN_APP, ACCESS_USER, SANDBOX_REFUSED, 0, me},
    {.handle = NULL},
};

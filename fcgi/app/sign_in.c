/*
 * Signing in with a one-time link, signing out, and the current user.
 */
#include "config.h"

#include <stdbool.h>

#include "auth/principal.h"
#include "auth/session.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/app/app.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/session_cookie.h"
#include "store/user/user_store.h"

enum { TOKEN_MAX_CHARS = 200, BODY_MAX_BYTES = 16384 };

/* The user of the browser's current session; unset without a valid session. */
static int find_present(const struct request *request, struct principal *present, struct error *err)
{
    const struct fcgi_context *context = request->context;
    char token[SESSION_TOKEN_MAX_BYTES];

    if (!session_cookie_read(request, token) ||
        principal_from_session(context->db, &context->keyring, token, present, err) == 0)
        return 0;
    return err->code == ERROR_UNAUTHENTICATED ? 0 : -1;
}

/* Another user's link is not consumed before the person at the browser has agreed. */
static int ask_first(struct reply *reply, const struct user *present, const struct user *owner)
{
    json_auto_t *json = json_object();

    json_put_text(json, "detail",
                  "Another user is signed in in this browser; send \"replace\": true to continue");
    json_put_text(json, "signed_in_as", present->email);
    json_put_text(json, "link_for", owner->email);
    return reply_json(reply, 409, json);
}

/* *asked_out: another user is signed in, and the reply says so. */
static int check_present(const struct request *request, struct reply *reply, const char *token,
                         bool *asked_out, struct error *err)
{
    const struct fcgi_context *context = request->context;
    CLEANUP(user_done) struct user owner = USER_INIT;
    CLEANUP(user_done) struct user user = USER_INIT;
    struct principal present = {.kind = PRINCIPAL_NOBODY};

    if (find_present(request, &present, err) < 0)
        return -1;
    if (present.kind == PRINCIPAL_NOBODY)
        return 0;
    if (session_link_owner(context->db, &context->keyring, token, &owner, err) < 0)
        return request_refuse_key(request, err);
    if (text_equal(owner.id.text, present.user_id.text))
        return 0;
    if (user_store_get(context->db, &present.user_id, &user, err) < 0)
        return -1;
    *asked_out = true;
    return ask_first(reply, &user, &owner);
}

/*
 * POST {"token","replace"?} -> 200 and a cookie | 401 | 409 another user is signed in | 422 | 429
 * the address sent too many wrong links. A valid link is accepted regardless.
 */
static int sign_in(const struct request *request, struct reply *reply, struct error *err)
{
    const struct text_rule rule = {1, TOKEN_MAX_CHARS, true};
    char session[CRYPTO_TOKEN_BYTES];
    json_auto_t *body = NULL;
    const char *token = NULL;
    bool may_replace = false;
    bool is_asked = false;

    if (request_json_object(request, &body, err) < 0 ||
        request_member_text(request, body, "token", &rule, &token, err) < 0 ||
        request_member_bool(request, body, "replace", &may_replace, err) < 0)
        return -1;
    if (!may_replace && check_present(request, reply, token, &is_asked, err) < 0)
        return -1;
    if (is_asked)
        return 0;
    if (session_open(request->context->db, &request->context->keyring, token, session, err) < 0)
        return request_refuse_key(request, err);
    session_cookie_set(request, reply, session, SESSION_VALID_S);
    return reply_success(reply);
}

/* POST -> 200 and deletes the cookie | 401 */
static int sign_out(const struct request *request, struct reply *reply, struct error *err)
{
    char token[SESSION_TOKEN_MAX_BYTES];

    if (!session_cookie_read(request, token))
        return error_set(err, ERROR_UNAUTHENTICATED, "no cookie");
    if (session_close(request->context->db, &request->context->keyring, token, err) < 0)
        return -1;
    session_cookie_set(request, reply, "", 0);
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

/*
 * On the page's origin: gives a signed-in user who owns the sandbox a pass to one of its ports.
 */
#include <string.h>

#include "auth/session.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/session_cookie.h"
#include "fcgi/preview/preview_origin.h"
#include "model/conversation/preview.h"
#include "store/user/user_store.h"

static const struct preview_words not_found = {
    404, "There is no such preview",
    "None of your sandboxes has this address. It may have been deleted, or belong to another user.",
    "Go to the conversations"};
static const struct preview_words not_signed_in = {
    401, "Sign in first",
    "This address shows a server in a sandbox of deft. Sign in, then open it again.", "Sign in"};

/* Parameters sent by the preview's origin. */
struct pass_params {
    const char *label;
    const char *runtime_id;
    const char *state;
    const char *to;
    int port;
};

static bool read_params(const struct request *request, struct pass_params *params)
{
    params->label = request_query(request, "label");
    params->runtime_id = request_query(request, "sandbox");
    params->state = request_query(request, "state");
    params->to = request_query(request, "to");
    if (params->label == NULL || params->runtime_id == NULL || params->state == NULL ||
        params->to == NULL)
        return false;
    params->port = preview_port_of_label(params->label);
    return preview_port_is_allowed(params->port);
}

static int add_pass(const struct request *request, const struct pass_params *params,
                    const char *session_token, char pass[CRYPTO_TOKEN_BYTES], struct error *err)
{
    const struct keyring *keyring = &request->context->keyring;
    const struct preview_key key = {params->runtime_id, params->port};
    char pass_hash[CRYPTO_HASH_HEX_BYTES] = "";
    char state_hash[CRYPTO_HASH_HEX_BYTES] = "";
    char session_hash[CRYPTO_HASH_HEX_BYTES] = "";
    const struct preview_grant grant = {pass_hash, state_hash, session_hash, PREVIEW_PASS_VALID_S};

    crypto_random_token(pass);
    keyring_hash_token(keyring, pass, pass_hash);
    keyring_hash_token(keyring, params->state, state_hash);
    keyring_hash_token(keyring, session_token, session_hash);
    return preview_store_add_pass(request->context->db, &key, &grant, err);
}

static int check_session(const struct request *request, const char *token, struct error *err)
{
    char hash[CRYPTO_HASH_HEX_BYTES] = "";
    struct uuid user = {""};

    keyring_hash_token(&request->context->keyring, token, hash);
    return user_store_find_session(request->context->db, hash, &user, err);
}

static void append_entry(const struct request *request, const struct pass_params *params,
                         const char *pass, struct strbuf *url)
{
    const char *host = request_param(request, "HTTP_HOST");

    strbuf_appendf(url, "%s://%s-%s.sandbox.%s/.deft/enter?pass=%s&to=", preview_scheme(request),
                   params->label, params->runtime_id, host != NULL ? host : "localhost", pass);
    percent_append(url, params->to);
}

/* GET ?label=&sandbox=&state=&to= -> 303 to the preview's origin | 401, 404 text pages */
static int give_pass(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    struct pass_params params = {.label = NULL};
    char token[SESSION_TOKEN_MAX_BYTES];
    char pass[CRYPTO_TOKEN_BYTES] = "";

    if (!session_cookie_read(request, token))
        return preview_page(reply, &not_signed_in, "/");
    if (check_session(request, token, err) < 0)
        return err->code == ERROR_UNAUTHENTICATED ? preview_page(reply, &not_signed_in, "/") : -1;
    if (!read_params(request, &params))
        return preview_page(reply, &not_found, "/");
    if (add_pass(request, &params, token, pass, err) < 0)
        return err->code == ERROR_NOT_FOUND ? preview_page(reply, &not_found, "/") : -1;
    append_entry(request, &params, pass, &url);
    reply_header(reply, "Location", url.text);
    return reply_empty(reply, 303);
}

const struct route preview_pass_routes[] = {
    {HTTP_GET, "/api/v1/preview", ORIGIN_APP, ACCESS_PUBLIC, SANDBOX_OPEN, 0, give_pass},
    {.handle = NULL},
};

#include "fcgi/agent/mcp/mcp_sign_in.h"

#include <string.h>

#include "auth/mcp_grant.h"
#include "auth/session.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/oauth.h"
#include "fcgi/agent/mcp/mcp_probe.h"
#include "fcgi/agent/mcp/mcp_return.h"
#include "fcgi/agent/mcp/mcp_token.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/session_cookie.h"
#include "fcgi/core/wait_slots.h"

/*
 * For the redirect back, which keeps a browser waiting; one that takes longer than INTERRUPTED_MS
 * has been interrupted.
 */
enum { EXCHANGE_MS = 20000, TRY_MS = 25000, INTERRUPTED_MS = 60000, PENDING_MS = 15 * 60 * 1000 };

static struct oauth oauth_for(const struct request *request, int64_t timeout_ms)
{
    return (struct oauth){request->context->http, ADDRESS_OF_USER,
                          clock_monotonic_ms() + timeout_ms, NULL};
}

/* --- who deft is at the sign-in server --- */

/* Appends scopes, given as a list or as one text, as one text; nothing when there are none. */
static void append_scopes(struct strbuf *out, const json_t *scopes)
{
    if (json_is_string(scopes))
        strbuf_append(out, json_string_value(scopes));
    for (size_t i = 0; i < json_array_size(scopes); i++) {
        const char *scope = json_string_value(json_array_get(scopes, i));

        if (scope != NULL)
            strbuf_appendf(out, "%s%s", out->len > 0 ? " " : "", scope);
    }
}

static json_t *registration(const json_t *authentication, const json_t *provider,
                            const char *redirect_uri, const char *method)
{
    json_t *more = json_object_get(authentication, "additional_client_metadata");
    json_t *metadata = json_is_object(more) ? json_deep_copy(more) : json_object();
    json_t *redirects = json_array();
    json_t *grants = json_array();
    json_t *responses = json_array();

    json_push(redirects, json_text_of(redirect_uri));
    json_push(grants, json_text_of("authorization_code"));
    json_push(grants, json_text_of("refresh_token"));
    json_push(responses, json_text_of("code"));
    json_put_text(metadata, "client_name", json_text_or(authentication, "client_name", "deft"));
    json_put(metadata, "redirect_uris", redirects);
    json_put(metadata, "grant_types", grants);
    json_put(metadata, "response_types", responses);
    json_put_text(metadata, "token_endpoint_auth_method", method);
    json_put_text(metadata, "scope", json_text_or(provider, "scope", NULL));
    return metadata;
}

/* A client registered beforehand, from the credentials that the user entered. */
static json_t *known_client(const json_t *authentication, const json_t *provider)
{
    const char *secret = json_text_or(authentication, "client_secret", NULL);
    const char *method = json_text_or(authentication, "client_auth_method", NULL);
    enum oauth_client_type type = secret != NULL ? OAUTH_CONFIDENTIAL : OAUTH_PUBLIC;
    json_t *client = json_object();

    json_put_text(client, "client_id", json_text_or(authentication, "client_id", ""));
    json_put_text(client, "client_secret", secret);
    json_put_text(client, "token_endpoint_auth_method",
                  method != NULL ? method : oauth_pick_method(provider, type));
    return client;
}

static int register_client(const struct oauth *oauth, const json_t *authentication,
                           const json_t *provider, const char *redirect_uri, json_t **client_out,
                           struct error *err)
{
    const char *method = json_text_or(authentication, "client_auth_method", NULL);
    const char *asked = method != NULL ? method : oauth_pick_method(provider, OAUTH_PUBLIC);
    json_auto_t *metadata = registration(authentication, provider, redirect_uri, asked);

    if (oauth_register(oauth, provider, metadata, client_out, err) < 0)
        return -1;
    if (json_text_or(*client_out, "token_endpoint_auth_method", NULL) == NULL)
        json_put_text(*client_out, "token_endpoint_auth_method", asked);
    return 0;
}

static int find_client(const struct oauth *oauth, const json_t *authentication,
                       const json_t *provider, const char *redirect_uri, json_t **client_out,
                       struct error *err)
{
    const char *metadata_url = json_text_or(authentication, "client_metadata_url", NULL);

    if (text_equal(json_text_or(authentication, "client_auth_method", ""), "private_key_jwt"))
        return error_set(err, ERROR_INVALID, "Signing in with private_key_jwt is not supported");
    if (json_text_or(authentication, "client_id", "")[0] != '\0') {
        *client_out = known_client(authentication, provider);
        return 0;
    }
    if (metadata_url != NULL && json_is_true(json_object_get(provider, "takes_metadata_urls"))) {
        *client_out = json_object();
        json_put_text(*client_out, "client_id", metadata_url);
        json_put_text(*client_out, "token_endpoint_auth_method", "none");
        return 0;
    }
    if (json_text_or(provider, "registration_endpoint", NULL) == NULL)
        return error_set(err, ERROR_INVALID,
                         "The sign-in server does not support dynamic registration: give a "
                         "registered client_id with the redirect URI %s",
                         redirect_uri);
    return register_client(oauth, authentication, provider, redirect_uri, client_out, err);
}

/* --- the way there --- */

/* Adds "authorization_url" to secrets: the page that asks the user for consent. */
static void put_authorization_url(json_t *secrets, const char *scope)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf challenge = STRBUF_INIT;
    const json_t *provider = json_object_get(secrets, "provider");
    const char *page = json_text_or(provider, "authorization_endpoint", "");
    json_auto_t *query = json_object();

    oauth_append_challenge(&challenge, json_text_or(secrets, "verifier", ""));
    json_put_text(query, "response_type", "code");
    json_put_text(query, "client_id",
                  json_text_or(json_object_get(secrets, "client"), "client_id", ""));
    json_put_text(query, "redirect_uri", json_text_or(secrets, "redirect_uri", ""));
    json_put_text(query, "state", json_text_or(secrets, "state", ""));
    json_put_text(query, "code_challenge", challenge.text);
    json_put_text(query, "code_challenge_method", "S256");
    json_put_text(query, "resource", json_text_or(provider, "resource", NULL));
    json_put_text(query, "scope", scope[0] != '\0' ? scope : NULL);
    /* Otherwise the scope must be ignored (OpenID Connect Core 1.0, section 11). */
    json_put_text(query, "prompt", oauth_scope_has(scope, OAUTH_OFFLINE_ACCESS) ? "consent" : NULL);
    strbuf_appendf(&url, "%s%c", page, strchr(page, '?') != NULL ? '&' : '?');
    oauth_append_form(&url, query);
    json_put_text(secrets, "authorization_url", url.text);
}

static void put_random(json_t *secrets, const char *name)
{
    char token[CRYPTO_TOKEN_BYTES];

    crypto_random_token(token);
    json_put_text(secrets, name, token);
}

/*
 * Finds the authorization server and our client there; stores everything that the redirect needs in
 * secrets.
 */
static int prepare(const struct mcp_probe *probe, json_t *secrets, struct error *err)
{
    const struct oauth oauth = oauth_for(probe->request, probe->timeout_ms);
    const json_t *authentication =
        json_object_get(json_object_get(probe->server, "auth"), "authentication");
    CLEANUP(strbuf_done) struct strbuf redirect_uri = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf scope = STRBUF_INIT;
    json_auto_t *provider = NULL;
    json_auto_t *client = NULL;

    strbuf_appendf(&redirect_uri, "%s" MCP_REDIRECT_PATH,
                   probe->request->context->settings->app_url);
    if (oauth_discover(&oauth, json_text_or(probe->server, "url", ""), &provider, err) < 0)
        return -1;
    append_scopes(&scope, json_object_get(authentication, "scopes"));
    if (scope.len > 0)
        json_put_text(provider, "scope", scope.text);
    if (find_client(&oauth, authentication, provider, redirect_uri.text, &client, err) < 0)
        return -1;
    json_put(secrets, "server", json_deep_copy(probe->server));
    json_put(secrets, "tool_call", json_deep_copy(probe->tool_call));
    json_put(secrets, "provider", json_incref(provider));
    json_put(secrets, "client", json_incref(client));
    json_put_text(secrets, "redirect_uri", redirect_uri.text);
    put_random(secrets, "verifier");
    put_random(secrets, "state");
    put_authorization_url(secrets, json_text_or(provider, "scope", ""));
    return 0;
}

static int prepare_in_turn(const struct mcp_probe *probe, json_t *secrets, struct error *err)
{
    struct wait_slots *slots = probe->request->context->wait_slots;
    const struct uuid *user = &probe->request->principal.user_id;
    int rc = wait_slot_take(slots, user, err);

    if (rc < 0)
        return -1;
    rc = prepare(probe, secrets, err);
    wait_slot_return(slots, user);
    return rc;
}

int mcp_sign_in_begin(const struct mcp_probe *probe, json_t **answer_out, struct error *err)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in sign_in = {
        .id = uuid_random(),
        .user_id = probe->request->principal.user_id,
        .body = json_object(),
        .secrets = json_object(),
    };
    const struct document_scope scope = user_documents_scope(probe->request);
    json_t *answer = NULL;

    if (mcp_probe_is_program(probe))
        return error_set(err, ERROR_INVALID, "Only a server with a URL supports signing in");
    if (prepare_in_turn(probe, sign_in.secrets, err) < 0)
        return -1;
    if (mcp_sign_in_store_add(&scope, &sign_in, json_text_or(sign_in.secrets, "state", ""), err) <
        0)
        return -1;
    answer = json_object();
    json_put(answer, "ok", json_true());
    json_put_text(answer, "job_id", sign_in.id.text);
    json_put_text(answer, "authorization_url",
                  json_text_or(sign_in.secrets, "authorization_url", ""));
    *answer_out = answer;
    return 0;
}

/* --- the way back --- */

bool mcp_sign_in_is_of(const struct mcp_sign_in *sign_in, const char *state)
{
    return state[0] != '\0' &&
           text_equal_secret(json_text_or(sign_in->secrets, "state", ""), state);
}

/* The answer must come from the server that was asked (RFC 9207, section 2.4). */
static int check_issuer(const json_t *provider, const struct mcp_return *back, struct error *err)
{
    bool must_say = json_is_true(json_object_get(provider, "answers_with_issuer"));

    if (back->issuer[0] == '\0' ? must_say
                                : !text_equal(back->issuer, json_text_or(provider, "issuer", "")))
        return error_set(err, ERROR_INVALID, "The response comes from another sign-in server");
    return 0;
}

/*
 * If the browser is signed in as another user, an attacker may have sent it here to get that user's
 * tokens.
 */
static int check_browser(const struct request *request, const struct mcp_sign_in *sign_in,
                         struct error *err)
{
    const struct fcgi_context *context = request->context;
    struct principal principal = {.kind = PRINCIPAL_NOBODY};
    struct error ignored = ERROR_INIT;
    char token[SESSION_TOKEN_MAX_BYTES];

    if (request->origin != ORIGIN_APP || !session_cookie_read(request, token) ||
        principal_from_session(context->db, &context->keyring, token, &principal, &ignored) < 0)
        return 0;
    if (!text_equal(principal.user_id.text, sign_in->user_id.text))
        return error_set(err, ERROR_FORBIDDEN, "The browser is signed in as another user");
    return 0;
}

static int ask_tokens(const struct request *request, struct mcp_sign_in *sign_in,
                      const struct mcp_return *back, struct error *err)
{
    const struct oauth oauth = oauth_for(request, EXCHANGE_MS);
    json_t *secrets = sign_in->secrets;
    json_t *provider = json_object_get(secrets, "provider");
    json_t *client = json_object_get(secrets, "client");
    json_auto_t *form = json_object();
    json_auto_t *tokens = NULL;
    struct wait_slots *slots = request->context->wait_slots;
    int rc = 0;

    if (check_browser(request, sign_in, err) < 0 || check_issuer(provider, back, err) < 0)
        return -1;
    if (back->code[0] == '\0')
        return error_set(err, ERROR_INVALID, "The sign-in server says: %s",
                         back->error[0] != '\0' ? back->error : "nothing");
    json_put_text(form, "grant_type", "authorization_code");
    json_put_text(form, "code", back->code);
    json_put_text(form, "redirect_uri", json_text_or(secrets, "redirect_uri", ""));
    json_put_text(form, "code_verifier", json_text_or(secrets, "verifier", ""));
    json_put_text(form, "resource", json_text_or(provider, "resource", NULL));
    if (wait_slot_take(slots, &sign_in->user_id, err) < 0)
        return -1;
    rc = oauth_ask_tokens(&oauth, provider, client, form, &tokens, err);
    wait_slot_return(slots, &sign_in->user_id);
    if (rc < 0)
        return -1;
    json_put(secrets, "oauth_state", mcp_grant_state_new(tokens, client));
    return 0;
}

/* Tests that the server accepts the token. */
static int try_server(const struct request *request, struct mcp_sign_in *sign_in, struct error *err)
{
    CLEANUP(mcp_probe_done) struct mcp_probe probe = MCP_PROBE_INIT;
    json_t *server = json_object_get(sign_in->secrets, "server");
    json_t *auth = json_object();

    json_put_text(auth, "strategy", "oauth2");
    json_put(auth, "state", json_incref(json_object_get(sign_in->secrets, "oauth_state")));
    json_put(server, "auth", auth);
    probe = (struct mcp_probe){.request = request,
                               .server = server,
                               .tool_call = json_object_get(sign_in->secrets, "tool_call"),
                               .timeout_ms = TRY_MS,
                               .tools = json_array()};
    if (mcp_probe_run(&probe, err) < 0)
        return -1;
    json_put(sign_in->body, "tools", json_incref(probe.tools));
    json_put(sign_in->body, "tool_result", json_incref(probe.outcome));
    return 0;
}

/* A finished sign-in keeps only the tokens. */
static void forget_the_way(struct mcp_sign_in *sign_in)
{
    json_t *kept = json_object();

    if (sign_in->status == SIGN_IN_SUCCEEDED)
        json_put(kept, "oauth_state",
                 json_incref(json_object_get(sign_in->secrets, "oauth_state")));
    json_decref(sign_in->secrets);
    sign_in->secrets = kept;
}

static void note_failure(struct mcp_sign_in *sign_in, const struct error *why)
{
    sign_in->status = SIGN_IN_FAILED;
    json_put_text(sign_in->body, "error", why->message);
    json_put_text(sign_in->body, "error_kind", mcp_probe_error_kind(why));
}

int mcp_sign_in_complete(const struct request *request, const struct mcp_return *back,
                         struct mcp_sign_in *sign_in_out, struct error *err)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in sign_in = MCP_SIGN_IN_INIT;
    const struct document_scope scope = user_documents_scope(request);
    struct error why = ERROR_INIT;

    if (mcp_sign_in_store_take(&scope, back->state, &sign_in, err) < 0)
        return -1;
    sign_in.status = SIGN_IN_SUCCEEDED;
    if (ask_tokens(request, &sign_in, back, &why) < 0 || try_server(request, &sign_in, &why) < 0)
        note_failure(&sign_in, &why);
    forget_the_way(&sign_in);
    if (mcp_sign_in_store_finish(&scope, &sign_in, err) < 0)
        return -1;
    sign_in.unchanged_ms = 0;
    *sign_in_out = sign_in;
    sign_in = (struct mcp_sign_in)MCP_SIGN_IN_INIT;
    return 0;
}

/* --- how it goes --- */

/* The error of a sign-in that has timed out; NULL while it may still complete. */
static const char *verdict(const struct mcp_sign_in *sign_in)
{
    if (sign_in->status == SIGN_IN_PENDING && sign_in->unchanged_ms > PENDING_MS)
        return "Signing in timed out";
    if (sign_in->status == SIGN_IN_AUTHORIZING && sign_in->unchanged_ms > INTERRUPTED_MS)
        return "Signing in was interrupted; start again";
    return NULL;
}

static void put_member(json_t *answer, const struct mcp_sign_in *sign_in, const char *name)
{
    json_t *value = json_object_get(sign_in->body, name);

    json_put(answer, name, value != NULL ? json_incref(value) : json_null());
}

json_t *mcp_sign_in_to_json(const struct request *request, const struct mcp_sign_in *sign_in)
{
    const char *lost = verdict(sign_in);
    bool has_failed = lost != NULL || sign_in->status == SIGN_IN_FAILED;
    const char *page = json_text_or(sign_in->secrets, "authorization_url", NULL);
    json_t *state = json_object_get(sign_in->secrets, "oauth_state");
    json_t *answer = json_object();

    json_put(answer, "ok", json_boolean(!has_failed));
    json_put_text(answer, "status",
                  sign_in_state_to_string(lost != NULL ? SIGN_IN_FAILED : sign_in->status));
    json_put_text(answer, "job_id", sign_in->id.text);
    json_put(answer, "authorization_url", json_text_of(page));
    json_put(answer, "callback_ready",
             json_boolean(!has_failed && sign_in->status == SIGN_IN_PENDING));
    put_member(answer, sign_in, "tools");
    put_member(answer, sign_in, "tool_result");
    put_member(answer, sign_in, "error");
    put_member(answer, sign_in, "error_kind");
    json_put(answer, "oauth_state", state != NULL ? mcp_token_seal(request, state) : json_null());
    if (lost != NULL) {
        json_put_text(answer, "error", lost);
        json_put_text(answer, "error_kind", "timeout");
    }
    return answer;
}

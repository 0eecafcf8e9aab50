#include "fcgi/agent/mcp/mcp_token.h"

#include "auth/mcp_grant.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "client/oauth.h"
#include "fcgi/agent/mcp/mcp_probe.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/settings/user_documents.h"
#include "fcgi/settings/user_settings.h"
#include "model/secrets/secret_walk.h"

enum { RENEW_MS = 20000, KEEP_TRIES = 5 };

json_t *mcp_token_seal(const struct request *request, json_t *state)
{
    json_auto_t *server = json_object();
    json_t *auth = json_object();

    json_put(server, "auth", auth);
    json_put(auth, "state", json_deep_copy(state));
    secrets_seal(&mcp_server_secrets, server, request->context->keyring.fernet);
    return json_incref(json_object_get(auth, "state"));
}

static const char *refresh_token(const json_t *state)
{
    return json_text_or(json_object_get(state, "tokens"), "refresh_token", "");
}

static int renew_in_turn(const struct mcp_probe *probe, const json_t *old, json_t **state_out,
                         struct error *err)
{
    const struct fcgi_context *context = probe->request->context;
    const struct document_scope scope = user_documents_scope(probe->request);
    const struct uuid *user = &probe->request->principal.user_id;
    const struct mcp_renewal renewal = {
        .scope = &scope,
        .oauth = {context->http, ADDRESS_OF_USER, clock_monotonic_ms() + RENEW_MS, NULL},
        .url = json_text_or(probe->server, "url", ""),
    };
    int rc = wait_slot_take(context->wait_slots, user, err);

    if (rc < 0)
        return -1;
    rc = mcp_grant_renew(&renewal, old, state_out, err);
    wait_slot_return(context->wait_slots, user);
    return rc;
}

/* The auth state of a server in the settings, if it is the one that was used. Borrowed. */
static json_t *stored_auth(json_t *stored, const char *url, const json_t *old)
{
    json_t *auth = json_object_get(stored, "auth");

    if (!text_equal(json_text_or(stored, "url", ""), url) ||
        !text_equal(refresh_token(json_object_get(auth, "state")), refresh_token(old)))
        return NULL;
    return auth;
}

static int try_keep(const struct mcp_probe *probe, const json_t *old, json_t *fresh,
                    struct error *err)
{
    CLEANUP(document_done) struct document settings = DOCUMENT_INIT;
    const struct json_path path = {NULL, "settings", 0};
    json_auto_t *problems = json_array();
    json_auto_t *agent = NULL;
    const char *name = NULL;
    json_t *stored = NULL;
    size_t n_changed = 0;

    if (user_settings_load(probe->request, &settings, err) < 0)
        return -1;
    agent = user_settings_agent(&settings);
    json_object_foreach (json_object_get(agent, "mcp_config"), name, stored) {
        json_t *auth = stored_auth(stored, json_text_or(probe->server, "url", ""), old);

        if (auth != NULL) {
            json_put(auth, "state", json_incref(fresh));
            n_changed++;
        }
    }
    if (n_changed == 0)
        return 0;
    user_settings_set_agent(probe->request, &settings, agent, &path, problems);
    if (json_array_size(problems) > 0)
        return error_set(err, ERROR_INTERNAL, "the settings rejected an MCP server's new tokens");
    return user_settings_put(probe->request, &settings, err);
}

/* So that clients find the new one there, and a later renewal is not needed. */
static void store_token(const struct mcp_probe *probe, const json_t *old, json_t *fresh)
{
    struct error err = ERROR_INIT;
    int rc = try_keep(probe, old, fresh, &err);

    for (int i = 1; i < KEEP_TRIES && rc < 0 && err.code == ERROR_STALE; i++)
        rc = try_keep(probe, old, fresh, &err);
    if (rc < 0)
        log_warning("mcp_token.store_failed", LOG_ERROR(&err));
}

int mcp_token_freshen(const struct mcp_probe *probe, json_t *server, json_t **state_out,
                      struct error *err)
{
    json_t *auth = json_object_get(server, "auth");
    json_auto_t *old = json_incref(json_object_get(auth, "state"));
    json_auto_t *fresh = NULL;

    if (!text_equal(json_text_or(auth, "strategy", ""), "oauth2") || !mcp_grant_is_over(old))
        return 0;
    if (renew_in_turn(probe, old, &fresh, err) < 0)
        return -1;
    store_token(probe, old, fresh);
    json_put(auth, "state", json_incref(fresh));
    *state_out = json_incref(fresh);
    return 0;
}

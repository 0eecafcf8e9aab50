#include "auth/mcp_grant.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "store/user/mcp_grant_store.h"

/* MARGIN_S: a token that expires this soon counts as expired. */
enum { MARGIN_S = 60, US_PER_S = 1000000 };

#define SIGN_IN_AGAIN "Sign in to this server again"

static double now_s(void)
{
    return (double)clock_utc_us() / US_PER_S;
}

json_t *mcp_grant_state_new(json_t *tokens, json_t *client)
{
    double lives_s = json_number_or(tokens, "expires_in", 0);
    json_t *state = json_object();

    json_put(state, "tokens", json_incref(tokens));
    json_put(state, "client_info", json_incref(client));
    json_put(state, "token_expires_at", lives_s > 0 ? json_real(now_s() + lives_s) : json_null());
    return state;
}

static const char *token_of(const json_t *state, const char *name)
{
    return json_text_or(json_object_get(state, "tokens"), name, "");
}

bool mcp_grant_can_renew(const json_t *state)
{
    return token_of(state, "refresh_token")[0] != '\0';
}

bool mcp_grant_is_over(const json_t *state)
{
    double end_s = json_number_or(state, "token_expires_at", 0);

    return end_s > 0 && end_s < now_s() + MARGIN_S && mcp_grant_can_renew(state);
}

/* Requests new tokens with the refresh token. */
static int exchange(const struct mcp_renewal *renewal, const json_t *old, json_t **state_out,
                    struct error *err)
{
    json_t *client = json_object_get(old, "client_info");
    json_auto_t *form = json_object();
    json_auto_t *provider = NULL;
    json_auto_t *tokens = NULL;

    if (!json_is_object(client))
        return error_set(err, ERROR_INVALID, "No user has signed in to this server yet");
    if (oauth_discover(&renewal->oauth, renewal->url, &provider, err) < 0)
        return -1;
    json_put_text(form, "grant_type", "refresh_token");
    json_put_text(form, "refresh_token", token_of(old, "refresh_token"));
    json_put_text(form, "resource", json_text_or(provider, "resource", NULL));
    if (oauth_ask_tokens(&renewal->oauth, provider, client, form, &tokens, err) < 0)
        return err->code == ERROR_INVALID ? error_wrap(err, SIGN_IN_AGAIN) : -1;
    /* If the server sends no new refresh token, the old one stays valid. */
    if (json_text_or(tokens, "refresh_token", NULL) == NULL)
        json_put_text(tokens, "refresh_token", token_of(old, "refresh_token"));
    *state_out = mcp_grant_state_new(tokens, client);
    return 0;
}

static bool is_due(const struct mcp_renewal *renewal, const json_t *state)
{
    return mcp_grant_is_over(state) ||
           (renewal->refused != NULL &&
            text_equal(token_of(state, "access_token"), renewal->refused));
}

int mcp_grant_renew(const struct mcp_renewal *renewal, const json_t *held, json_t **state_out,
                    struct error *err)
{
    CLEANUP(mcp_grant_freep) struct mcp_grant *grant = NULL;
    json_auto_t *fresh = NULL;
    const json_t *newest = NULL;

    if (!mcp_grant_can_renew(held))
        return error_set(err, ERROR_INVALID, SIGN_IN_AGAIN ": it does not accept the access token");
    /* Held during the exchange: the refresh token may be valid once. */
    if (mcp_grant_store_lock(renewal->scope, token_of(held, "refresh_token"), &grant, err) < 0)
        return -1;
    newest = mcp_grant_state(grant) != NULL ? mcp_grant_state(grant) : held;
    if (!is_due(renewal, newest)) {
        *state_out = json_incref((json_t *)(uintptr_t)newest);
        return 0;
    }
    if (exchange(renewal, newest, &fresh, err) < 0 ||
        mcp_grant_store_put(grant, token_of(fresh, "refresh_token"), fresh, err) < 0)
        return -1;
    *state_out = json_incref(fresh);
    return 0;
}

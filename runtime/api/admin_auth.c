#include "runtime/api/admin_auth.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/core/service.h"
#include "store/runtime/admin_store.h"

#define BEARER "Bearer "
#define ITERATIONS 10000
#define SALT_HEX_DIGITS 32
#define CHALLENGE_VALID_S 120
#define TOKEN_VALID_S (12LL * 3600)
#define US_PER_S 1000000
#define STAMP_MAX_BYTES 200

static const struct admin_limits limits = {.window_s = 60, .most_failures = 10};

/* Purposes of stamps: a stamp for one is not valid for the other. */
static const char for_challenge[] = "admin.challenge";
static const char for_token[] = "admin.token";

/* Covers purpose, expiry, nonce and password: changing the password invalidates all stamps. */
static void sign_stamp(const struct service *service, const char *purpose, const char *text,
                       size_t len, char hash[CRYPTO_HASH_HEX_BYTES])
{
    CLEANUP(strbuf_done) struct strbuf signed_text = STRBUF_INIT;

    strbuf_appendf(&signed_text, "%s:", purpose);
    strbuf_append_bytes(&signed_text, text, len);
    strbuf_appendf(&signed_text, ":%s", secret_reveal(&service->settings->admin_password));
    keyring_hash_token(&service->keyring, signed_text.text, hash);
    explicit_bzero(signed_text.text, signed_text.len);
}

/* "<expiry>.<nonce>.<signature>", the expiry in seconds. */
static void append_stamp(const struct service *service, const char *purpose, int64_t valid_s,
                         struct strbuf *stamp)
{
    int64_t end_s = clock_utc_us() / US_PER_S + valid_s;
    char nonce[CRYPTO_TOKEN_BYTES] = "";
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    crypto_random_token(nonce);
    strbuf_appendf(stamp, "%lld.%s", (long long)end_s, nonce);
    sign_stamp(service, purpose, stamp->text, stamp->len, hash);
    strbuf_appendf(stamp, ".%s", hash);
}

/* True if this instance issued it for that purpose and it has not expired. */
static bool stamp_holds(const struct service *service, const char *purpose, const char *stamp)
{
    const char *last = strrchr(stamp, '.');
    char hash[CRYPTO_HASH_HEX_BYTES] = "";
    char end_text[24] = "";
    size_t end_len = strcspn(stamp, ".");
    int64_t end_s = 0;
    struct error nonsense = ERROR_INIT;

    if (last == NULL || strnlen(stamp, STAMP_MAX_BYTES) == STAMP_MAX_BYTES ||
        end_len >= sizeof(end_text))
        return false;
    sign_stamp(service, purpose, stamp, (size_t)(last - stamp), hash);
    if (!text_equal_secret(last + 1, hash))
        return false;
    memcpy(end_text, stamp, end_len);
    return text_parse_int(end_text, 0, INT64_MAX, &end_s, &nonsense) == 0 &&
           clock_utc_us() / US_PER_S < end_s;
}

static bool has_password(const struct service *service)
{
    return secret_is_set(&service->settings->admin_password);
}

static int refuse_disabled(struct error *err)
{
    return error_set(err, ERROR_FORBIDDEN, "Admin functionality is disabled");
}

static bool is_key(const struct service *service, const char *given)
{
    const struct secret *key = &service->settings->admin_key;

    return secret_is_set(key) && text_equal_secret(given, secret_reveal(key));
}

int admin_check(const struct service *service, const char *authorization, struct error *err)
{
    const char *given = NULL;

    if (!has_password(service) && !secret_is_set(&service->settings->admin_key))
        return refuse_disabled(err);
    if (authorization != NULL && strncasecmp(authorization, BEARER, sizeof(BEARER) - 1) == 0)
        given = authorization + sizeof(BEARER) - 1;
    if (given != NULL && (is_key(service, given) ||
                          (has_password(service) && stamp_holds(service, for_token, given))))
        return 0;
    return error_set(err, ERROR_UNAUTHENTICATED, "invalid token");
}

/* Neither secret nor random: it only has to differ between instances. */
static void append_salt(const struct service *service, struct strbuf *salt)
{
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    keyring_hash_token(&service->keyring, "admin.salt", hash);
    strbuf_append_bytes(salt, hash, SALT_HEX_DIGITS);
}

int admin_handle_challenge(struct service *service, const struct front_request *request,
                           json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf challenge = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf salt = STRBUF_INIT;

    (void)request;
    if (!has_password(service))
        return refuse_disabled(err);
    append_stamp(service, for_challenge, CHALLENGE_VALID_S, &challenge);
    append_salt(service, &salt);
    *reply_out = json_build(err, "{s:s, s:s, s:I}", "challenge", challenge.text, "salt", salt.text,
                            "iterations", (json_int_t)ITERATIONS);
    return *reply_out != NULL ? 0 : -1;
}

static bool is_answer(const struct service *service, const char *challenge, const char *hash)
{
    CLEANUP(strbuf_done) struct strbuf salt = STRBUF_INIT;
    char expected[CRYPTO_HASH_HEX_BYTES] = "";

    append_salt(service, &salt);
    strbuf_append(&salt, challenge);
    crypto_password_hex(&service->settings->admin_password, salt.text, ITERATIONS, expected);
    return text_equal_secret(hash, expected);
}

static int try_challenge(struct service *service, const char *challenge, struct error *err)
{
    static const char words[] = "Invalid or expired challenge";

    if (!stamp_holds(service, for_challenge, challenge))
        return error_set(err, ERROR_INVALID, "%s", words);
    if (admin_store_try(service->db, challenge, &limits, err) == 0)
        return 0;
    return err->code == ERROR_CONFLICT ? error_set(err, ERROR_INVALID, "%s", words) : -1;
}

int admin_handle_login(struct service *service, const struct front_request *request,
                       json_t **reply_out, struct error *err)
{
    const char *challenge = json_text_or(request->body, "challenge", "");
    const char *hash = json_text_or(request->body, "hash", "");
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;

    if (!has_password(service))
        return refuse_disabled(err);
    if (try_challenge(service, challenge, err) < 0)
        return -1;
    if (!is_answer(service, challenge, hash))
        return error_set(err, ERROR_UNAUTHENTICATED, "Invalid admin password");
    if (admin_store_succeed(service->db, challenge, err) < 0)
        return -1;
    append_stamp(service, for_token, TOKEN_VALID_S, &token);
    *reply_out = json_build(err, "{s:s}", "token", token.text);
    return *reply_out != NULL ? 0 : -1;
}

int admin_handle_keys(struct service *service, const struct front_request *request,
                      json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;

    (void)request;
    if (admin_store_list_keys(service->db, service->settings->tenant_runtimes, &json, err) < 0)
        return -1;
    return json_parse_own(json.text, json.len, reply_out, err);
}

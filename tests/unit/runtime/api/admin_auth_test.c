/*
 * The administrator's sign-in: a challenge that is answered with the password, for a token.
 */
#include "runtime/api/admin_auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/secret.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "unit/runtime/api/api_fixture.h"

#define CHALLENGE (&(struct asked){"GET", "/api/admin/challenge", .key = NULL, .is_outside = true})
#define DISABLED "Admin functionality is disabled"
#define STALE "Invalid or expired challenge"

static json_t *challenge(struct service_fixture *fixture)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *parsed = NULL;

    assert_int_equal(api_ask(fixture, CHALLENGE, &reply), 200);
    assert_int_equal(json_parse(api_body(&reply), strlen(api_body(&reply)), &parsed, &err), 0);
    return parsed;
}

/* The answer that a client with that password gives. */
static void append_answer(const json_t *challenge, const char *password, struct strbuf *body)
{
    CLEANUP(secret_done) struct secret secret = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf salt = STRBUF_INIT;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";
    const char *text = json_text_or(challenge, "challenge", "");

    secret_set(&secret, password);
    strbuf_appendf(&salt, "%s%s", json_text_or(challenge, "salt", ""), text);
    crypto_password_hex(&secret, salt.text, (int)json_int_or(challenge, "iterations", 0), hash);
    strbuf_appendf(body, "{\"challenge\":\"%s\",\"hash\":\"%s\"}", text, hash);
}

static struct asked login(const struct strbuf *body)
{
    return (struct asked){"POST",
                          "/api/admin/login",
                          .key = NULL,
                          .is_outside = true,
                          .body = body->text,
                          .type = "application/json"};
}

static void append_token(struct service_fixture *fixture, struct strbuf *header)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    json_auto_t *asked = challenge(fixture);
    json_auto_t *parsed = NULL;
    struct asked request = {.method = NULL};
    struct error err = ERROR_INIT;

    append_answer(asked, ADMIN_PASSWORD, &body);
    request = login(&body);
    assert_int_equal(api_ask(fixture, &request, &reply), 200);
    assert_int_equal(json_parse(api_body(&reply), strlen(api_body(&reply)), &parsed, &err), 0);
    strbuf_appendf(header, "Bearer %s", json_text_or(parsed, "token", ""));
}

static struct asked keys_with(const char *authorization)
{
    return (struct asked){"GET", "/api/admin/api-keys", .key = NULL, .is_outside = true,
                          .authorization = authorization};
}

static void password_opens_the_administration(void **state)
{
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
    struct asked asked = {.method = NULL};

    append_token(*state, &header);
    asked = keys_with(header.text);
    assert_replied(*state, &asked, "[0].name", "\"one\"");
    assert_replied(*state, &asked, "[0].max_runtimes", "5");
    assert_replied(*state, &asked, "[1].name", "\"two\"");
    header.text[0] = 'b'; /* the scheme's case does not matter */
    assert_status(*state, &asked, 200);
    header.text[5] = 'R';
    assert_status(*state, &asked, 200);
    header.text[5] = 'x';
    assert_status(*state, &asked, 401);
    asked = keys_with("Bearer " ADMIN_KEY);
    assert_status(*state, &asked, 200);
    asked = keys_with(ADMIN_KEY);
    assert_refused(*state, &asked, 401, "invalid token");
    assert_status(*state, &(struct asked){"GET", "/api/admin/api-keys", .key = HOUSE_KEY}, 200);
}

static void challenge_is_signed_and_expires(void **state)
{
    json_auto_t *first = challenge(*state);
    json_auto_t *second = challenge(*state);
    const char *text = json_text_or(first, "challenge", "");
    int64_t end_s = strtoll(text, NULL, 10);
    int64_t now_s = clock_utc_us() / 1000000;

    assert_in_range(end_s, now_s + 119 - 60, now_s + 120);
    assert_string_not_equal(text, json_text_or(second, "challenge", ""));
    assert_string_equal(json_text_or(first, "salt", ""), json_text_or(second, "salt", "x"));
    assert_int_equal(strlen(json_text_or(first, "salt", "")), 32);
    assert_int_equal(json_int_or(first, "iterations", 0), 10000);
}

static void token_is_valid_for_half_a_day(void **state)
{
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
    int64_t now_s = clock_utc_us() / 1000000;

    append_token(*state, &header);
    assert_in_range(strtoll(header.text + 7, NULL, 10), now_s + 43200, now_s + 43200 + 60);
}

static void wrong_password_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *asked = challenge(*state);
    struct asked request = {.method = NULL};

    append_answer(asked, "another", &body);
    request = login(&body);
    assert_refused(*state, &request, 401, "Invalid admin password");
    assert_refused(*state, &request, 400, STALE); /* each challenge can be tried once */
}

static void answered_challenge_is_used_up(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *asked = challenge(*state);
    struct asked request = {.method = NULL};

    append_answer(asked, ADMIN_PASSWORD, &body);
    request = login(&body);
    assert_status(*state, &request, 200);
    assert_refused(*state, &request, 400, STALE);
}

/* A success does not count as a failure. */
static void failures_are_limited(void **state)
{
    struct asked request = {.method = NULL};

    for (int i = 0; i < 12; i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        json_auto_t *asked = challenge(*state);

        append_answer(asked, i < 2 ? ADMIN_PASSWORD : "wrong", &body);
        request = login(&body);
        assert_status(*state, &request, i < 2 ? 200 : 401);
    }
    {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        json_auto_t *asked = challenge(*state);

        append_answer(asked, ADMIN_PASSWORD, &body);
        request = login(&body);
        assert_status(*state, &request, 429);
        test_sql("UPDATE admin_logins SET at = at - interval '61 seconds'");
        assert_status(*state, &request, 200);
    }
}

static void forged_stamps_are_refused(void **state)
{
    static const char *const texts[] = {
        "", "x", "1.2", "9999999999.x.y", ".", "99999999999999999999999999.x.y"};
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *given = challenge(*state);
    struct asked asked = {.method = NULL};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        strbuf_reset(&body);
        strbuf_appendf(&body, "{\"challenge\":\"%s\",\"hash\":\"x\"}", texts[i]);
        asked = login(&body);
        assert_refused(*state, &asked, 400, STALE);
        strbuf_reset(&header);
        strbuf_appendf(&header, "Bearer %s", texts[i]);
        asked = keys_with(header.text);
        assert_refused(*state, &asked, 401, "invalid token");
    }
    /* One for a challenge is no token. */
    strbuf_reset(&header);
    strbuf_appendf(&header, "Bearer %s", json_text_or(given, "challenge", ""));
    asked = keys_with(header.text);
    assert_refused(*state, &asked, 401, "invalid token");
    /* Nor is a token with another end. */
    strbuf_reset(&header);
    append_token(*state, &header);
    header.text[7] = (char)(header.text[7] + 1);
    asked = keys_with(header.text);
    assert_refused(*state, &asked, 401, "invalid token");
}

static void new_password_ends_all_tokens(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
    struct asked asked = {.method = NULL};

    append_token(fixture, &header);
    secret_done(&fixture->settings.admin_password);
    secret_set(&fixture->settings.admin_password, "new");
    asked = keys_with(header.text);
    assert_status(fixture, &asked, 401);
}

static void administration_may_be_disabled(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *given = challenge(fixture);
    struct asked asked = {.method = NULL};

    append_token(fixture, &header);
    append_answer(given, ADMIN_PASSWORD, &body);
    secret_done(&fixture->settings.admin_password);
    assert_refused(fixture, CHALLENGE, 403, DISABLED);
    asked = login(&body);
    assert_refused(fixture, &asked, 403, DISABLED);
    asked = keys_with(header.text);
    assert_refused(fixture, &asked, 401, "invalid token");
    asked = keys_with("Bearer " ADMIN_KEY);
    assert_status(fixture, &asked, 200);
    secret_done(&fixture->settings.admin_key);
    assert_refused(fixture, &asked, 403, DISABLED);
    asked = keys_with("Bearer ");
    assert_refused(fixture, &asked, 403, DISABLED);
}

static void password_alone_is_enough(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
    struct asked asked = {.method = NULL};

    secret_done(&fixture->settings.admin_key);
    append_token(fixture, &header);
    asked = keys_with(header.text);
    assert_status(fixture, &asked, 200);
    asked = keys_with("Bearer ");
    assert_status(fixture, &asked, 401);
}

int admin_auth_tests(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(password_opens_the_administration), API_TEST(challenge_is_signed_and_expires),
        API_TEST(token_is_valid_for_half_a_day),     API_TEST(wrong_password_is_refused),
        API_TEST(answered_challenge_is_used_up),     API_TEST(failures_are_limited),
        API_TEST(forged_stamps_are_refused),         API_TEST(new_password_ends_all_tokens),
        API_TEST(administration_may_be_disabled),    API_TEST(password_alone_is_enough),
    };

    return cmocka_run_group_tests_name("runtime/admin_auth", tests, NULL, NULL);
}

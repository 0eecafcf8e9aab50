#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"

#include "auth/credential.h"
#include "auth/session.h"
#include "auth/wrong_keys.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/core/router.h"
#include "fixture.h"
#include "store/user/user_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)
#define DISPATCH_WITH(name, params, ...)                                                           \
    CLEANUP(test_answer_done) struct test_answer name =                                            \
        test_dispatch_with(*state, params, __VA_ARGS__)

/* The pattern itself serves as a path; a {name*} loses its star. */
static void call_without_key(void **state, const struct route *route, const char *origin)
{
    const char *params[] = {origin, "HTTP_SEC_FETCH_SITE=same-origin", NULL};
    const char *method = http_method_to_string(route->method);
    DISPATCH_WITH(answer, params, method, route->pattern, NULL);

    if (route->access == ACCESS_PUBLIC)
        return;
    if (answer.status != 401)
        fail_msg("%s %s answers %d", method, route->pattern, answer.status);
}

static void without_a_key_all_but_the_public_routes_say_401(void **state)
{
    for (const struct route *const *table = route_tables; *table != NULL; table++) {
        for (const struct route *route = *table; route->handle != NULL; route++) {
            if ((route->origins & ORIGIN_AGENT) != 0)
                call_without_key(state, route, "DEFT_ORIGIN=agent");
            if ((route->origins & ORIGIN_APP) != 0)
                call_without_key(state, route, "DEFT_ORIGIN=app");
        }
    }
}

static void wrong_empty_and_foreign_keys_are_refused(void **state)
{
    static const char *const keys[] = {
        "HTTP_X_SESSION_API_KEY=wrong",
        "HTTP_X_SESSION_API_KEY=",
        "HTTP_X_SESSION_API_KEY=sk-deft-x",
        "HTTP_AUTHORIZATION=Bearer x",
    };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *params[] = {"DEFT_ORIGIN=agent", keys[i], NULL};
        DISPATCH_WITH(answer, params, "GET", "/api/conversations/count", NULL);

        assert_answer_json(&answer, 401, "{\"detail\":\"Unauthorized\"}");
    }
}

static void key_as_a_bearer_counts_on_routes_that_say_so(void **state)
{
    const struct fixture *fixture = *state;
    char bearer[128];
    const char *agent[] = {"DEFT_ORIGIN=agent", bearer, NULL};
    const char *app[] = {"DEFT_ORIGIN=app", bearer, NULL};

    (void)snprintf(bearer, sizeof(bearer), "HTTP_AUTHORIZATION=Bearer %s", fixture->alice_key);
    {
        DISPATCH_WITH(refused, agent, "GET", "/api/conversations/count", NULL);
        DISPATCH_WITH(served, app, "GET", "/api/v1/sandboxes/search", NULL);

        assert_answer(&refused, 401, "Unauthorized");
        assert_int_equal(served.status, 200);
    }
}

static void key_sent_twice_is_refused(void **state)
{
    struct fixture *fixture = *state;
    char key[128];
    const char *params[] = {"DEFT_ORIGIN=agent", key, key, NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        DISPATCH_WITH(answer, params, "GET", "/api/conversations/count", NULL);
        assert_answer(&answer, 400, "Bad Request");
    }
}

static void unknown_paths_methods_and_slashes(void **state)
{
    DISPATCH(unknown, NOBODY, "GET", "/api/nothing/here", NULL);
    DISPATCH(method, NOBODY, "BREW", "/api/conversations/search", NULL);
    DISPATCH(slash, NOBODY, "GET", "/api/tools?x=1", NULL);
    DISPATCH(extra, NOBODY, "GET", "/api/conversations/search/", NULL);
    DISPATCH(dots, NOBODY, "GET", "/api/conversations/../tools/", NULL);
    DISPATCH(bytes, NOBODY, "GET", "/api/conversations/%ff", NULL);

    assert_answer_json(&unknown, 404, "{\"detail\":\"Not Found\"}");
    assert_answer_json(&method, 405, "{\"detail\":\"Method Not Allowed\"}");
    assert_non_null(strstr(method.head.text, "Allow: GET"));
    assert_int_equal(slash.status, 307);
    assert_non_null(strstr(slash.head.text, "Location: ./tools/?x=1\r\n"));
    assert_int_equal(extra.status, 307);
    assert_non_null(strstr(extra.head.text, "Location: ../search\r\n"));
    assert_answer(&dots, 404, "Not Found");
    assert_answer(&bytes, 400, "Bad Request");
}

static void unserved_routes_say_so(void **state)
{
    DISPATCH(answer, ALICE, "POST", "/api/canvas-extensions/install", NULL);

    assert_answer_member(&answer, 501, "detail",
                         "Canvas extensions are not supported by this server");
}

static void oversized_bodies_are_refused(void **state)
{
    struct test_path path = test_conversation(*state);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    for (int i = 0; i < 300; i++)
        strbuf_appendf(&body, "%01000d", i);
    {
        DISPATCH(answer, ALICE, "PATCH", path.text, body.text);
        assert_answer(&answer, 413, "detail");
    }
}

static void bodies_that_break_off_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct test_path path = test_conversation(*state);
    char key[128];
    const char *params[] = {"DEFT_ORIGIN=agent", key, "CONTENT_LENGTH=50", NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        DISPATCH_WITH(answer, params, "PATCH", path.text, NULL);
        assert_answer(&answer, 422, "cut off");
    }
}

static void every_answer_carries_the_protecting_headers(void **state)
{
    DISPATCH(answer, NOBODY, "GET", "/health", NULL);

    assert_answer_json(&answer, 200, "{\"status\":\"ok\"}");
    assert_non_null(strstr(answer.head.text, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(answer.head.text, "Cache-Control: no-store"));
    assert_non_null(strstr(answer.head.text, "X-Request-Id: "));
    assert_null(strstr(answer.head.text, "Access-Control-Allow-Origin"));
}

static void wrong_keys_are_limited_for_the_address_of_the_connection(void **state)
{
    struct fixture *fixture = *state;
    const char *wrong[] = {"DEFT_ORIGIN=agent", "REMOTE_ADDR=192.0.2.1",
                           "HTTP_X_SESSION_API_KEY=wrong", NULL, NULL};
    const char *other[] = {"DEFT_ORIGIN=agent", "REMOTE_ADDR=192.0.2.2",
                           "HTTP_X_SESSION_API_KEY=wrong", NULL};
    char forwarded[64] = "";
    char key[128] = "";
    const char *right[] = {"DEFT_ORIGIN=agent", "REMOTE_ADDR=192.0.2.1", key, NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    fixture->context.wrong_keys = wrong_keys_new();
    for (int i = 0; i <= WRONG_KEYS_PER_MINUTE; i++) {
        /* Each from elsewhere, by its own word. */
        (void)snprintf(forwarded, sizeof(forwarded), "HTTP_X_FORWARDED_FOR=198.51.100.%d", i);
        wrong[3] = forwarded;
        {
            DISPATCH_WITH(refused, wrong, "GET", "/api/conversations/count", NULL);
            assert_int_equal(refused.status, i < WRONG_KEYS_PER_MINUTE ? 401 : 429);
        }
    }
    {
        DISPATCH_WITH(elsewhere, other, "GET", "/api/conversations/count", NULL);
        DISPATCH_WITH(served, right, "GET", "/api/conversations/count", NULL);

        assert_int_equal(elsewhere.status, 401);
        assert_int_equal(served.status, 200);
    }
    wrong_keys_free(fixture->context.wrong_keys);
    fixture->context.wrong_keys = NULL;
}

/* Signs in and gives "HTTP_COOKIE=deft_session=…". */
static void sign_in(void **state, char cookie_out[160])
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    const char *params[] = {"DEFT_ORIGIN=app", NULL};
    struct error err = ERROR_INIT;
    const char *value = NULL;

    assert_int_equal(
        credential_new_link(fixture->context.db, &fixture->context.keyring, &token, &err), 0);
    strbuf_appendf(&body, "{\"token\":\"%s\"}", token.text);
    {
        DISPATCH_WITH(answer, params, "POST", "/api/v1/sign-in", body.text);
        DISPATCH_WITH(again, params, "POST", "/api/v1/sign-in", body.text);

        assert_answer_json(&answer, 200, SUCCESS);
        assert_answer(&again, 401, "Unauthorized");
        value = strstr(answer.head.text, "Set-Cookie: deft_session=");
        assert_non_null(value);
        assert_non_null(strstr(value, "; HttpOnly; SameSite=Lax"));
        value += strlen("Set-Cookie: ");
        (void)snprintf(cookie_out, 160, "HTTP_COOKIE=%.*s", (int)strcspn(value, ";"), value);
    }
}

/* The owner's id, as JSON. */
static void read_owner(struct fixture *fixture, char id_out[60])
{
    CLEANUP(user_done) struct user user = USER_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(user_store_ensure(fixture->context.db, CREDENTIAL_OWNER_EMAIL, &user, &err),
                     0);
    (void)snprintf(id_out, 60, "\"%s\"", user.id.text);
}

static void link_signs_in_once_and_the_session_ends(void **state)
{
    char cookie[160];
    char id[60];
    const char *params[] = {"DEFT_ORIGIN=app", cookie, "HTTP_SEC_FETCH_SITE=same-origin", NULL};

    sign_in(state, cookie);
    read_owner(*state, id);
    {
        DISPATCH_WITH(me, params, "GET", "/api/v1/me", NULL);
        DISPATCH_WITH(out, params, "POST", "/api/v1/sign-out", NULL);
        DISPATCH_WITH(after, params, "GET", "/api/v1/me", NULL);

        assert_answer_member(&me, 200, "email", "owner@localhost");
        assert_int_equal(me.status, 200);
        assert_json_at(me.body.text, "scripted", "true");
        assert_json_at(me.body.text, "name", "\"owner\"");
        assert_json_at(me.body.text, "model", "\"scripted/hello\"");
        assert_json_at(me.body.text, "version", "\"" PACKAGE_VERSION "\"");
        assert_json_at(me.body.text, "id", id);
        assert_answer_json(&out, 200, SUCCESS);
        assert_non_null(strstr(out.head.text, "Set-Cookie: deft_session=; "));
        assert_non_null(strstr(out.head.text, "; Max-Age=0"));
        assert_answer(&after, 401, "Unauthorized");
    }
}

/* A link of Bob's; "{\"token\":\"…\"" without its end. */
static void bobs_link(void **state, struct strbuf *body)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(
        credential_new_link(fixture->context.db, &fixture->context.keyring, &token, &err), 0);
    strbuf_appendf(&sql, "UPDATE sign_in_links SET user_id = '%s' WHERE used_at IS NULL",
                   fixture->bob.text);
    test_sql(sql.text);
    strbuf_appendf(body, "{\"token\":\"%s\"", token.text);
}

/* As JSON. */
static void read_bobs_email(struct fixture *fixture, char email_out[120])
{
    CLEANUP(user_done) struct user user = USER_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(user_store_get(fixture->context.db, &fixture->bob, &user, &err), 0);
    (void)snprintf(email_out, 120, "\"%s\"", user.email);
}

static void link_of_another_user_asks_first(void **state)
{
    char cookie[160];
    char bobs_email[120];
    const char *params[] = {"DEFT_ORIGIN=app", cookie, "HTTP_SEC_FETCH_SITE=same-origin", NULL};
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf agreed = STRBUF_INIT;

    read_bobs_email(*state, bobs_email);
    sign_in(state, cookie);
    bobs_link(state, &body);
    strbuf_appendf(&agreed, "%s,\"replace\":true}", body.text);
    strbuf_append(&body, "}");
    {
        DISPATCH_WITH(asked, params, "POST", "/api/v1/sign-in", body.text);
        DISPATCH_WITH(me, params, "GET", "/api/v1/me", NULL);
        DISPATCH_WITH(again, params, "POST", "/api/v1/sign-in", body.text);
        DISPATCH_WITH(replaced, params, "POST", "/api/v1/sign-in", agreed.text);
        DISPATCH_WITH(used, params, "POST", "/api/v1/sign-in", body.text);

        assert_answer_member(&asked, 409, "signed_in_as", "owner@localhost");
        assert_json_at(asked.body.text, "link_for", bobs_email);
        assert_null(strstr(asked.head.text, "Set-Cookie"));
        assert_answer(&me, 200, "owner@localhost");
        assert_answer(&again, 409, "link_for");
        assert_answer_json(&replaced, 200, SUCCESS);
        assert_non_null(strstr(replaced.head.text, "Set-Cookie: deft_session="));
        assert_answer(&used, 401, "Unauthorized");
    }
}

static void link_of_the_same_user_or_an_ended_session_asks_nothing(void **state)
{
    char cookie[160];
    const char *params[] = {"DEFT_ORIGIN=app", cookie, "HTTP_SEC_FETCH_SITE=same-origin", NULL};
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf own = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf bobs = STRBUF_INIT;
    struct error err = ERROR_INIT;

    sign_in(state, cookie);
    assert_int_equal(
        credential_new_link(fixture->context.db, &fixture->context.keyring, &token, &err), 0);
    strbuf_appendf(&own, "{\"token\":\"%s\"}", token.text);
    {
        DISPATCH_WITH(same, params, "POST", "/api/v1/sign-in", own.text);
        DISPATCH_WITH(out, params, "POST", "/api/v1/sign-out", NULL);

        assert_answer_json(&same, 200, SUCCESS);
        assert_answer_json(&out, 200, SUCCESS);
    }
    bobs_link(state, &bobs);
    strbuf_append(&bobs, "}");
    {
        DISPATCH_WITH(ended, params, "POST", "/api/v1/sign-in", bobs.text);
        assert_answer_json(&ended, 200, SUCCESS);
    }
}

/* The cookie that the browser sends next: the one of that name that the answer sets. */
static void take_cookie(const struct test_answer *answer, const char *name, const char *sent_name,
                        char cookie_out[160])
{
    char line[64];
    const char *value = NULL;

    (void)snprintf(line, sizeof(line), "Set-Cookie: %s=", name);
    value = strstr(answer->head.text, line);
    assert_non_null(value);
    value += strlen(line);
    (void)snprintf(cookie_out, 160, "HTTP_COOKIE=%s=%.*s", sent_name, (int)strcspn(value, ";"),
                   value);
}

static void cookie_is_of_the_host_alone_where_tls_is(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    char cookie[160] = "X=";
    char older[160];
    const char *params[] = {"DEFT_ORIGIN=app", cookie, "HTTP_SEC_FETCH_SITE=same-origin", NULL};
    const char *old_params[] = {"DEFT_ORIGIN=app", older, NULL};

    bobs_link(state, &body);
    strbuf_append(&body, "}");
    fixture->settings.app_url = "https://deft.test";
    {
        DISPATCH_WITH(signed_in, params, "POST", "/api/v1/sign-in", body.text);

        take_cookie(&signed_in, "__Host-deft_session", "__Host-deft_session", cookie);
        take_cookie(&signed_in, "__Host-deft_session", "deft_session", older);
        assert_non_null(strstr(signed_in.head.text, "; Path=/; HttpOnly; SameSite=Lax;"));
        assert_non_null(strstr(signed_in.head.text, "; Secure\r\n"));
        assert_null(strstr(signed_in.head.text, "Domain"));
        assert_non_null(strstr(signed_in.head.text, "Set-Cookie: deft_session=; "));
    }
    {
        DISPATCH_WITH(me, params, "GET", "/api/v1/me", NULL);
        DISPATCH_WITH(before, old_params, "GET", "/api/v1/me", NULL);

        assert_answer(&me, 200, "email");
        assert_answer(&before, 200, "email");
    }
    fixture->settings.app_url = "http://localhost:3000";
    {
        DISPATCH_WITH(plain, params, "GET", "/api/v1/me", NULL);
        assert_answer(&plain, 401, "Unauthorized");
    }
}

static void cookie_is_nothing_on_the_agent_origin(void **state)
{
    char cookie[160];
    const char *params[] = {"DEFT_ORIGIN=agent", cookie, NULL};

    sign_in(state, cookie);
    {
        DISPATCH_WITH(answer, params, "GET", "/api/conversations/count", NULL);
        assert_answer(&answer, 401, "Unauthorized");
    }
}

/* It is for the files that a page of the workspace shows; a browser attaches it to any request. */
static void cookie_of_the_workspace_opens_nothing_else(void **state)
{
    const struct fixture *fixture = *state;
    char cookie[160];
    const char *params[] = {"DEFT_ORIGIN=agent", cookie, NULL};

    (void)snprintf(cookie, sizeof(cookie), "HTTP_COOKIE=" WORKSPACE_COOKIE "=%s",
                   fixture->alice_key);
    {
        DISPATCH_WITH(answer, params, "GET", "/api/conversations/count", NULL);
        assert_answer(&answer, 401, "Unauthorized");
    }
}

static void cookie_changes_things_only_from_its_own_page(void **state)
{
    static const struct {
        const char *site;
        const char *origin;
        int status;
    } rows[] = {
        {"X=", "Y=", 403},
        {"X=", "HTTP_ORIGIN=http://localhost:3000", 422},
        {"X=", "HTTP_ORIGIN=http://localhost:3001", 403},
        {"X=", "HTTP_ORIGIN=http://localhost:3000.evil.test", 403},
        {"X=", "HTTP_ORIGIN=null", 403},
        {"X=", "HTTP_ORIGIN=https://localhost:3000", 403},
        {"X=", "HTTP_ORIGIN=http://LOCALHOST:3000", 422},
        {"X=", "HTTP_ORIGIN=http://user@localhost:3000", 403},
        {"X=", "HTTP_ORIGIN=http://localhost:3000/", 403},
        {"HTTP_SEC_FETCH_SITE=same-origin", "Y=", 422},
        {"HTTP_SEC_FETCH_SITE=same-site", "Y=", 403},
        {"HTTP_SEC_FETCH_SITE=cross-site", "HTTP_ORIGIN=http://localhost:3000", 403},
        {"HTTP_SEC_FETCH_SITE=same-origin", "HTTP_ORIGIN=http://evil.test", 403},
    };
    char cookie[160];

    sign_in(state, cookie);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *params[] = {"DEFT_ORIGIN=app", cookie,         "HTTP_HOST=localhost:3000",
                                rows[i].site,      rows[i].origin, NULL};
        DISPATCH_WITH(answer, params, "POST", "/api/conversations", "{}");

        assert_answer(&answer, rows[i].status, "detail");
    }
}

static void bodies_are_json_and_say_so(void **state)
{
    static const struct {
        const char *type;
        int with_key;
        int with_cookie;
    } rows[] = {
        {"CONTENT_TYPE=application/json", 422, 422},
        {"CONTENT_TYPE=Application/JSON; charset=utf-8", 422, 422},
        {"CONTENT_TYPE=application/merge-patch+json", 422, 422},
        {"CONTENT_TYPE=", 422, 415},
        {"CONTENT_TYPE=text/plain", 415, 415},
        {"CONTENT_TYPE=text/plain; application/json", 415, 415},
        {"CONTENT_TYPE=application/jsonx", 415, 415},
        {"CONTENT_TYPE=application/+json", 415, 415},
        {"CONTENT_TYPE=multipart/form-data; boundary=b", 415, 415},
    };
    struct fixture *fixture = *state;
    char cookie[160];
    char key[128];

    sign_in(state, cookie);
    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *params[] = {"DEFT_ORIGIN=app", key, rows[i].type, NULL};
        const char *cookies[] = {"DEFT_ORIGIN=app", cookie, "HTTP_SEC_FETCH_SITE=same-origin",
                                 rows[i].type, NULL};
        DISPATCH_WITH(keyed, params, "POST", "/api/conversations", "{}");
        DISPATCH_WITH(signed_in, cookies, "POST", "/api/conversations", "{}");

        assert_answer(&keyed, rows[i].with_key, "detail");
        assert_answer(&signed_in, rows[i].with_cookie, "detail");
        if (rows[i].with_cookie == 415)
            assert_answer(&signed_in, 415, "Content-Type: application/json");
    }
}

static void bad_sign_ins_are_refused(void **state)
{
    const char *params[] = {"DEFT_ORIGIN=app", NULL};
    const char *foreign[] = {"DEFT_ORIGIN=app", "HTTP_SEC_FETCH_SITE=cross-site", NULL};
    DISPATCH_WITH(unknown, params, "POST", "/api/v1/sign-in", "{\"token\":\"guess\"}");
    DISPATCH_WITH(missing, params, "POST", "/api/v1/sign-in", "{}");
    DISPATCH_WITH(typed, params, "POST", "/api/v1/sign-in", "{\"token\":[]}");
    DISPATCH_WITH(cross, foreign, "POST", "/api/v1/sign-in", "{\"token\":\"guess\"}");

    assert_answer(&unknown, 401, "Unauthorized");
    assert_answer(&missing, 422, "missing");
    assert_answer(&typed, 422, "string_type");
    assert_answer(&cross, 403, "detail");
}

static void server_info_has_what_clients_compare(void **state)
{
    DISPATCH(answer, NOBODY, "GET", "/server_info", NULL);
    json_auto_t *info = answer_json(&answer);

    assert_int_equal(answer.status, 200);
    assert_string_equal(json_text_or(info, "version", ""), "1.58.0");
    assert_string_equal(json_text_or(info, "conversation_runtime", ""), "local");
    assert_int_equal(json_array_size(json_object_get(info, "available_conversation_runtimes")), 2);
    assert_non_null(strstr(answer.body.text, "conversation_runtime_routes_v1"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_key_all_but_the_public_routes_say_401),
        cmocka_unit_test(wrong_empty_and_foreign_keys_are_refused),
        cmocka_unit_test(key_as_a_bearer_counts_on_routes_that_say_so),
        cmocka_unit_test(key_sent_twice_is_refused),
        cmocka_unit_test(unknown_paths_methods_and_slashes),
        cmocka_unit_test(unserved_routes_say_so),
        cmocka_unit_test(oversized_bodies_are_refused),
        cmocka_unit_test(bodies_that_break_off_are_refused),
        cmocka_unit_test(every_answer_carries_the_protecting_headers),
        cmocka_unit_test(wrong_keys_are_limited_for_the_address_of_the_connection),
        cmocka_unit_test(link_signs_in_once_and_the_session_ends),
        cmocka_unit_test(link_of_another_user_asks_first),
        cmocka_unit_test(link_of_the_same_user_or_an_ended_session_asks_nothing),
        cmocka_unit_test(cookie_is_of_the_host_alone_where_tls_is),
        cmocka_unit_test(cookie_is_nothing_on_the_agent_origin),
        cmocka_unit_test(cookie_of_the_workspace_opens_nothing_else),
        cmocka_unit_test(cookie_changes_things_only_from_its_own_page),
        cmocka_unit_test(bodies_are_json_and_say_so),
        cmocka_unit_test(bad_sign_ins_are_refused),
        cmocka_unit_test(server_info_has_what_clients_compare),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

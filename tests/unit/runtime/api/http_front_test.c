/*
 * Access to the Runtime API: deft's own processes with the service's key, external clients with a
 * tenant's.
 */
#include "runtime/api/http_front.h"

#include <string.h>

#include "auth/wrong_keys.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "unit/runtime/api/api_fixture.h"

/* Also for a path that does not exist: who has no key learns nothing. */
static void caller_without_the_right_key_is_refused(void **state)
{
    static const struct asked cases[] = {
        {"GET", "/list", .key = NULL},
        {"GET", "/list", .key = "wrong"},
        {"GET", "/list", .key = TENANT_KEY},
        {"GET", "/list", .key = "", .is_outside = true},
        {"GET", "/list", .key = NULL, .is_outside = true},
        {"GET", "/list", .key = HOUSE_KEY, .is_outside = true},
        {"GET", "/metrics", .key = NULL},
        {"GET", "/none", .key = NULL, .is_outside = true},
        {"GET", "/none", .key = HOUSE_KEY, .is_outside = true},
        {"GET", "/runtime/" OURS, .key = NULL},
        {"POST", "/stop", .key = TENANT_KEY},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_status(*state, &cases[i], 401);
    assert_status(*state, &(struct asked){"GET", "/metrics", .key = HOUSE_KEY}, 200);
    assert_status(*state, &(struct asked){"GET", "/list", .key = TENANT_KEY, .is_outside = true},
                  200);
}

static void tenant_sees_neither_defts_runtimes_nor_another_tenants(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    assert_int_equal(api_ask(*state,
                             &(struct asked){"GET", "/list", .key = TENANT_KEY, .is_outside = true},
                             &reply),
                     200);
    assert_null(strstr(reply.text, OURS));
    assert_null(strstr(reply.text, THEIRS));
    assert_status(*state,
                  &(struct asked){"GET", "/runtime/" OURS, .key = TENANT_KEY, .is_outside = true},
                  404);
    assert_status(*state,
                  &(struct asked){"GET", "/runtime/" THEIRS, .key = TENANT_KEY, .is_outside = true},
                  404);
    assert_status(
        *state, &(struct asked){"GET", "/sessions/s-" OURS, .key = TENANT_KEY, .is_outside = true},
        404);
    assert_status(
        *state,
        &(struct asked){"GET", "/egress_refusals/" OURS, .key = TENANT_KEY, .is_outside = true},
        404);
}

static void figures_are_for_the_house(void **state)
{
    assert_status(*state, &(struct asked){"GET", "/metrics", .key = TENANT_KEY, .is_outside = true},
                  404);
    assert_status(*state, &(struct asked){"GET", "/metrics", .key = HOUSE_KEY}, 200);
}

/* An administrator's routes are not opened by a tenant's key. */
static void administration_needs_an_administrator(void **state)
{
    static const struct asked cases[] = {
        {"GET", "/api/admin/api-keys", .key = TENANT_KEY, .is_outside = true},
        {"GET", "/api/admin/api-keys", .key = NULL, .is_outside = true},
        {"DELETE", "/api/admin/warm-runtime-configs/default", .key = TENANT_KEY,
         .is_outside = true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_status(*state, &cases[i], 401);
}

static void other_methods_and_paths_are_told_to_who_has_a_key(void **state)
{
    assert_refused(*state, &(struct asked){"DELETE", "/list", .key = HOUSE_KEY}, 400,
                   "DELETE is not for this path");
    assert_refused(*state, &(struct asked){"GET", "/none", .key = HOUSE_KEY}, 404, "no such path");
    assert_status(*state, &(struct asked){"GET", "/none", .key = TENANT_KEY, .is_outside = true},
                  404);
    assert_status(*state, &(struct asked){"GET", "/runtime/%00", .key = HOUSE_KEY}, 404);
}

/* What went wrong inside is for the log. */
static void internal_error_says_no_more(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    test_sql("UPDATE runtimes SET session_key = 'not sealed' WHERE id = '" OURS "'");
    assert_int_equal(
        api_ask(*state, &(struct asked){"GET", "/runtime/" OURS, .key = HOUSE_KEY}, &reply), 500);
    assert_json_at(api_body(&reply), "", "{\"detail\":\"internal error\"}");
}

static void keys_in_excess_are_refused_for_a_while(void **state)
{
    static const struct asked keys[] = {
        {"GET", "/list", .key = "wrong", .is_outside = true, .address = "192.0.2.1"},
        {"GET", "/api/admin/api-keys", .key = NULL, .is_outside = true,
         .authorization = "Bearer wrong", .address = "192.0.2.2"},
    };
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;

    fixture->service.wrong_keys = wrong_keys_new();
    for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
        const struct asked bare = {"GET", keys[k].path, .key = NULL, .is_outside = true,
                                   .address = keys[k].address};

        for (int i = 0; i < 2 * WRONG_KEYS_PER_MINUTE; i++)
            assert_status(fixture, &bare, 401); /* a request without a key is no attempt */
        for (int i = 0; i < WRONG_KEYS_PER_MINUTE; i++)
            assert_status(fixture, &keys[k], 401);
        assert_int_equal(api_ask(fixture, &keys[k], &reply), 429);
        assert_non_null(strstr(reply.text, "\r\nRetry-After: " WRONG_KEYS_RETRY_S "\r\n"));
        assert_status(fixture, &bare, 401);
    }
    assert_status(fixture,
                  &(struct asked){"GET", "/list", .key = TENANT_KEY, .is_outside = true,
                                  .address = "192.0.2.1"},
                  200);
    for (int i = 0; i < 2 * WRONG_KEYS_PER_MINUTE; i++)
        assert_status(fixture, &(struct asked){"GET", "/list", .key = "wrong"}, 401);
    wrong_keys_free(fixture->service.wrong_keys);
}

static void head_says_what_follows(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    struct service_fixture *fixture = *state;

    assert_int_equal(api_ask(fixture,
                             &(struct asked){"GET", "/health", .key = NULL, .is_outside = true},
                             &reply),
                     200);
    strbuf_appendf(&head,
                   "Status: 200\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n{",
                   strlen(api_body(&reply)));
    assert_int_equal(strncmp(reply.text, head.text, head.len), 0);
    assert_int_equal(api_ask(fixture, &(struct asked){"GET", "/metrics", .key = HOUSE_KEY}, &reply),
                     200);
    assert_non_null(strstr(reply.text, "\r\nContent-Type: text/plain; version=0.0.4\r\n"));
    assert_int_equal(strncmp(api_body(&reply), "# HELP ", 7), 0);
    fixture->backend.check_error = ERROR_UNAVAILABLE;
    assert_int_equal(api_ask(fixture,
                             &(struct asked){"POST", "/start", .key = HOUSE_KEY,
                                             .body = "{\"session_id\":\"s\"}"},
                             &reply),
                     503);
    assert_non_null(strstr(reply.text, "\r\nRetry-After: 1\r\n"));
    assert_json_at(api_body(&reply), "", "{\"detail\":\"as the test wants it\"}");
}

static void body_must_be_json_of_a_moderate_size(void **state)
{
    struct service_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct asked asked = {"POST", "/stop", .key = HOUSE_KEY, .body = "{}",
                          .type = "application/json"};

    assert_refused(fixture, &asked, 400, "runtime_id: missing");
    asked.type = NULL;
    assert_refused(fixture, &asked, 400, "runtime_id: missing");
    asked.body = NULL;
    assert_refused(fixture, &asked, 400, "runtime_id: missing");
    asked.type = "text/plain";
    assert_refused(fixture, &asked, 400, "runtime_id: missing");
    asked.body = "{}";
    assert_status(fixture, &asked, 415);
    asked.type = "application/json";
    asked.body = "{";
    assert_status(fixture, &asked, 400);
    strbuf_append(&body, "{\"x\":\"");
    while (body.len < 16UL * 1024 - 2)
        strbuf_append_char(&body, 'x');
    strbuf_append(&body, "\"}");
    asked.body = body.text;
    assert_refused(fixture, &asked, 400, "runtime_id: missing");
    strbuf_append(&body, " ");
    asked.body = body.text;
    assert_refused(fixture, &asked, 413, "the body is larger than 16384 bytes");
}

int http_front_tests(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(caller_without_the_right_key_is_refused),
        API_TEST(tenant_sees_neither_defts_runtimes_nor_another_tenants),
        API_TEST(figures_are_for_the_house),
        API_TEST(administration_needs_an_administrator),
        API_TEST(other_methods_and_paths_are_told_to_who_has_a_key),
        API_TEST(internal_error_says_no_more),
        API_TEST(keys_in_excess_are_refused_for_a_while),
        API_TEST(head_says_what_follows),
        API_TEST(body_must_be_json_of_a_moderate_size),
    };

    return cmocka_run_group_tests_name("runtime/http_front", tests, NULL, NULL);
}

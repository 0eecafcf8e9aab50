/*
 * What users order of their sandboxes: the calls of the Runtime API behind it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define SANDBOXES "/api/v1/sandboxes"
#define NOT_FOUND "{\"detail\":\"Not Found\"}"
#define FAILED(status, text)                                                                       \
    "{\"detail\":\"Internal Server Error\",\"exception\":\"" status ": " text "\"}"

static const struct test_reply done[] = {TEST_SAYS("200 OK", "{\"status\":\"done\"}")};

/* A request on the app origin. */
static struct test_answer ask(void **state, enum caller caller, const char *method,
                              const char *path)
{
    const struct fixture *fixture = *state;
    char key[128];
    const char *params[] = {"DEFT_ORIGIN=app", key, NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s",
                   caller == ALICE ? fixture->alice_key : fixture->bob_key);
    return test_dispatch_with(*state, params, method, path, NULL);
}

#define ASK(name, ...) CLEANUP(test_answer_done) struct test_answer name = ask(state, __VA_ARGS__)

/* --- sandboxes without a conversation --- */

/* A sandbox of Alice with that session; its id is in the fixture. */
static void add(void **state, const char *session)
{
    test_add_sandbox(*state, session, "http://127.0.0.1:1");
}

static void orders_are_passed_to_the_runtime(void **state)
{
    static const struct {
        const char *method;
        const char *rest;
        const char *line;
        const char *more;
    } rows[] = {
        {"POST", "/pause", "POST /pause HTTP", ""},
        {"POST", "/resume", "POST /resume HTTP", ",\"wait_ms\":"},
        {"DELETE", "", "POST /stop HTTP", ",\"forget\":true"},
    };
    const struct fixture *fixture = *state;

    test_sql("DELETE FROM runtimes");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *runtime = test_start_runtime_api(*state, done, 1);
        char path[100];
        char id[40];

        add(state, "s-one");
        (void)snprintf(path, sizeof(path), SANDBOXES "/%s%s", fixture->sandbox_id, rows[i].rest);
        (void)snprintf(id, sizeof(id), "\"%s\"", fixture->sandbox_id);
        {
            ASK(foreign, BOB, rows[i].method, path);
            ASK(own, ALICE, rows[i].method, path);

            assert_answer_json(&foreign, 404, NOT_FOUND);
            assert_answer_json(&own, 200, SUCCESS);
        }
        assert_int_equal(test_server_n_requests(runtime), 1);
        assert_asked(runtime, 0, rows[i].line);
        assert_asked_json(runtime, 0, "runtime_id", id);
        assert_asked(runtime, 0, rows[i].more);
        test_stop_runtime_api(*state, runtime);
    }
}

static void query_names_the_sandbox_before_the_path(void **state)
{
    const struct fixture *fixture = *state;
    struct test_server *runtime = test_start_runtime_api(*state, done, 1);
    char path[100];

    test_sql("DELETE FROM runtimes");
    add(state, "s-one");
    (void)snprintf(path, sizeof(path), SANDBOXES "/other/pause?sandbox_id=%s", fixture->sandbox_id);
    {
        ASK(own, ALICE, "POST", path);
        ASK(none, ALICE, "POST", SANDBOXES "/other/pause");
        ASK(unknown, ALICE, "POST", SANDBOXES "/abcdefghijklmnop/pause");
        ASK(long_id, ALICE, "POST", SANDBOXES "/abcdefghijklmnopq/pause");

        assert_answer_json(&own, 200, SUCCESS);
        assert_answer_json(&none, 404, NOT_FOUND);
        assert_answer_json(&unknown, 404, NOT_FOUND);
        assert_answer_json(&long_id, 404, NOT_FOUND);
    }
    assert_int_equal(test_server_n_requests(runtime), 1);
    test_stop_runtime_api(*state, runtime);
}

static void failures_of_the_runtime_are_told(void **state)
{
    static const struct {
        struct test_reply reply;
        int status;
    } rows[] = {
        {TEST_SAYS("404 Not Found", "{\"detail\":\"gone\"}"), 404},
        {TEST_SAYS("429 Too Many Requests", "{\"detail\":\"full\"}"), 429},
        {TEST_SAYS("503 Service Unavailable", "{\"detail\":\"busy\"}"), 503},
        {TEST_SAYS("500 Internal Server Error", "{}"), 503},
    };
    const struct fixture *fixture = *state;
    char path[100];

    test_sql("DELETE FROM runtimes");
    add(state, "s-one");
    (void)snprintf(path, sizeof(path), SANDBOXES "/%s/pause", fixture->sandbox_id);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *runtime = test_start_runtime_api(*state, &rows[i].reply, 1);
        ASK(answer, ALICE, "POST", path);

        assert_int_equal(answer.status, rows[i].status);
        if (rows[i].status == 404)
            assert_answer_json(&answer, 404, NOT_FOUND);
        test_stop_runtime_api(*state, runtime);
    }
    {
        ASK(away, ALICE, "POST", path);

        assert_int_equal(away.status, 503);
        assert_non_null(strstr(away.body.text, "\"503: "));
    }
}

/* The oldest ones are paused, so that one more may run. */
static void surplus_sandboxes_are_paused_first(void **state)
{
    struct fixture *fixture = *state;
    struct test_server *runtime = test_start_runtime_api(*state, done, 1);
    char oldest[40];
    char path[100];
    char sql[200];

    test_sql("DELETE FROM runtimes");
    for (int i = 0; i < 3; i++) {
        char session[20];

        (void)snprintf(session, sizeof(session), "s-%d", i);
        add(state, session);
        (void)snprintf(sql, sizeof(sql),
                       "UPDATE runtimes SET created_at = now() - interval '%d minutes', since ="
                       " now() - interval '%d minutes' WHERE session_id = '%s'",
                       30 - i, 30 - i, session);
        test_sql(sql);
        if (i == 0)
            (void)snprintf(oldest, sizeof(oldest), "\"%s\"", fixture->sandbox_id);
    }
    fixture->settings.sandbox_most = 2;
    (void)snprintf(path, sizeof(path), SANDBOXES "/%s/resume", fixture->sandbox_id);
    {
        ASK(answer, ALICE, "POST", path);
        assert_answer_json(&answer, 200, SUCCESS);
    }
    fixture->settings.sandbox_most = 5;
    assert_int_equal(test_server_n_requests(runtime), 2);
    assert_asked(runtime, 0, "POST /pause HTTP");
    assert_asked_json(runtime, 0, "runtime_id", oldest);
    assert_asked(runtime, 1, "POST /resume HTTP");
    test_stop_runtime_api(*state, runtime);
}

/* Three that run, the oldest first in ids. */
static void add_three(void **state, char ids[3][40])
{
    const struct fixture *fixture = *state;

    test_sql("DELETE FROM runtimes");
    for (int i = 0; i < 3; i++) {
        char session[20];
        char sql[200];

        (void)snprintf(session, sizeof(session), "s-%d", i);
        add(state, session);
        (void)snprintf(sql, sizeof(sql),
                       "UPDATE runtimes SET created_at = now() - interval '%d minutes', since ="
                       " now() - interval '%d minutes' WHERE session_id = '%s'",
                       30 - i, 30 - i, session);
        test_sql(sql);
        (void)snprintf(ids[i], 40, "\"%s\"", fixture->sandbox_id);
    }
}

/* A new one needs room, too, and is kept as its image is now; a pause needs none. */
static void room_is_made_for_what_is_to_run(void **state)
{
    struct fixture *fixture = *state;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *runtime = NULL;
    char ids[3][40];
    char bytes[200];
    char path[100];

    add_three(state, ids);
    (void)snprintf(bytes, sizeof(bytes), "HTTP/1.1 200 OK\r\n\r\n{\"runtime_id\":%s}", ids[2]);
    reply.bytes = bytes;
    fixture->settings.sandbox_most = 3;
    runtime = test_start_runtime_api(*state, &reply, 1);
    {
        ASK(made, ALICE, "POST", SANDBOXES);
        assert_int_equal(made.status, 200);
    }
    assert_int_equal(test_server_n_requests(runtime), 2);
    assert_asked(runtime, 0, "POST /pause HTTP");
    assert_asked_json(runtime, 0, "runtime_id", ids[0]);
    assert_asked(runtime, 1, "POST /start HTTP");
    assert_asked_json(runtime, 1, "keeps_image", "true");
    fixture->settings.sandbox_most = 1;
    (void)snprintf(path, sizeof(path), SANDBOXES "/%.16s/pause", ids[1] + 1);
    {
        ASK(paused, ALICE, "POST", path);
        assert_answer_json(&paused, 200, SUCCESS);
    }
    assert_int_equal(test_server_n_requests(runtime), 3);
    assert_asked_json(runtime, 2, "runtime_id", ids[1]);
    fixture->settings.sandbox_most = 5;
    test_stop_runtime_api(*state, runtime);
}

/* One that is gone by then takes no room; any other failure leaves things as they are. */
static void room_that_cannot_be_made_starts_nothing(void **state)
{
    static const struct test_reply gone[] = {TEST_SAYS("404 Not Found", "{\"detail\":\"gone\"}"),
                                             TEST_SAYS("200 OK", "{}")};
    static const struct test_reply busy[] = {
        TEST_SAYS("503 Service Unavailable", "{\"detail\":\"busy\"}"), TEST_SAYS("200 OK", "{}")};
    struct fixture *fixture = *state;
    char ids[3][40];
    char path[100];

    add_three(state, ids);
    fixture->settings.sandbox_most = 2;
    (void)snprintf(path, sizeof(path), SANDBOXES "/%.16s/resume", ids[2] + 1);
    for (int i = 0; i < 2; i++) {
        struct test_server *runtime = test_start_runtime_api(*state, i == 0 ? gone : busy, 2);
        ASK(answer, ALICE, "POST", path);

        assert_int_equal(answer.status, i == 0 ? 200 : 503);
        assert_int_equal(test_server_n_requests(runtime), i == 0 ? 2 : 1);
        test_stop_runtime_api(*state, runtime);
    }
    fixture->settings.sandbox_most = 5;
}

static void sandbox_is_created_of_a_known_image(void **state)
{
    const struct fixture *fixture = *state;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *runtime = NULL;
    char bytes[200];
    char owner[60];
    char id[40];

    test_sql("DELETE FROM runtimes");
    add(state, "s-made");
    (void)snprintf(bytes, sizeof(bytes), "HTTP/1.1 200 OK\r\n\r\n{\"runtime_id\":\"%s\"}",
                   fixture->sandbox_id);
    reply.bytes = bytes;
    runtime = test_start_runtime_api(*state, &reply, 1);
    (void)snprintf(owner, sizeof(owner), "\"%s\"", fixture->alice.text);
    (void)snprintf(id, sizeof(id), "\"%s\"", fixture->sandbox_id);
    {
        ASK(made, ALICE, "POST", SANDBOXES "?sandbox_spec_id=test:1");
        ASK(usual, ALICE, "POST", SANDBOXES);
        ASK(unknown, ALICE, "POST", SANDBOXES "?sandbox_spec_id=other:1");

        assert_int_equal(made.status, 200);
        assert_json_at(made.body.text, "id", id);
        assert_json_at(made.body.text, "status", "\"STARTING\"");
        assert_int_equal(usual.status, 200);
        assert_answer_json(&unknown, 404, "{\"detail\":\"Sandbox Spec not found\"}");
    }
    assert_int_equal(test_server_n_requests(runtime), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_asked(runtime, i, "POST /start HTTP");
        assert_asked_json(runtime, i, "image", "\"test:1\"");
        assert_asked(runtime, i, "\"session_id\":\"s-");
        assert_asked(runtime, i, owner);
    }
    test_stop_runtime_api(*state, runtime);
    {
        ASK(away, ALICE, "POST", SANDBOXES);
        assert_int_equal(away.status, 503);
    }
}

/* --- those of conversations --- */

static struct test_answer call(void **state, enum caller caller, const char *method,
                               struct test_path *path, const char *rest)
{
    return test_dispatch(*state, caller, method, test_under(path, rest), NULL);
}

#define CALL(name, ...) CLEANUP(test_answer_done) struct test_answer name = call(state, __VA_ARGS__)

static void sandbox_of_a_conversation_is_released(void **state)
{
    const struct fixture *fixture = *state;
    char session[80];
    char id[40];
    struct test_path path = test_docker_conversation(*state, session);
    struct test_server *runtime = test_start_runtime_api(*state, done, 1);

    {
        CALL(never, ALICE, "DELETE", &path, "/runtime");
        assert_answer_json(&never, 404, NOT_FOUND);
    }
    add(state, session);
    (void)snprintf(id, sizeof(id), "\"%s\"", fixture->sandbox_id);
    {
        CALL(foreign, BOB, "DELETE", &path, "/runtime");
        CALL(released, ALICE, "DELETE", &path, "/runtime");

        assert_answer_json(&foreign, 404, NOT_FOUND);
        assert_int_equal(released.status, 204);
        assert_int_equal(released.body.len, 0);
    }
    assert_int_equal(test_server_n_requests(runtime), 1);
    assert_asked(runtime, 0, "POST /stop HTTP");
    assert_asked_json(runtime, 0, "runtime_id", id);
    assert_asked_json(runtime, 0, "forget", NULL);
    test_stop_runtime_api(*state, runtime);
    {
        CALL(away, ALICE, "DELETE", &path, "/runtime");

        assert_int_equal(away.status, 502);
        assert_non_null(strstr(away.body.text, "\"502: "));
    }
}

static void shared_sandbox_is_not_released(void **state)
{
    struct test_path path = test_conversation(*state);
    CALL(released, ALICE, "DELETE", &path, "/runtime");

    assert_answer_json(&released, 405, "{\"detail\":\"Method Not Allowed\"}");
    assert_non_null(strstr(released.head.text, "Allow: GET\r\n"));
}

static void refused_connections_are_listed(void **state)
{
    static const struct test_reply replies[] = {
        TEST_SAYS("200 OK", "{\"logged\":true,\"detail\":null,\"refusals\":[{\"host\":\"x\"}]}")};
    const struct fixture *fixture = *state;
    char session[80];
    char line[80];
    struct test_path path = test_docker_conversation(*state, session);
    struct test_server *runtime = test_start_runtime_api(*state, replies, 1);

    {
        CALL(never, ALICE, "GET", &path, "/egress_refusals");
        assert_answer_json(&never, 200,
                           "{\"logged\":false,\"detail\":\"the conversation has no sandbox yet\","
                           "\"refusals\":[]}");
    }
    add(state, session);
    (void)snprintf(line, sizeof(line), "GET /egress_refusals/%s HTTP", fixture->sandbox_id);
    {
        CALL(answer, ALICE, "GET", &path, "/egress_refusals");
        CALL(foreign, BOB, "GET", &path, "/egress_refusals");

        assert_answer_json(&answer, 200,
                           "{\"logged\":true,\"detail\":null,\"refusals\":[{\"host\":\"x\"}]}");
        assert_answer_json(&foreign, 404, NOT_FOUND);
    }
    assert_int_equal(test_server_n_requests(runtime), 1);
    assert_asked(runtime, 0, line);
    test_stop_runtime_api(*state, runtime);
    {
        CALL(away, ALICE, "GET", &path, "/egress_refusals");
        assert_int_equal(away.status, 503);
    }
}

#define STARTED                                                                                    \
    "{\"runtime_id\":\"abcdefghijklmnop\",\"status\":\"running\",\"url\":\"http://127.0.0.1:1\","  \
    "\"session_api_key\":\"owners-key\",\"call_key\":\"fresh-key\"}"

static void sandbox_is_started_again_when_asked(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", STARTED)};
    static const struct test_reply full[] = {
        TEST_SAYS("429 Too Many Requests", "{\"detail\":\"full\"}")};
    char session[80];
    char quoted[90];
    struct test_path path = test_docker_conversation(*state, session);
    struct test_server *runtime = test_start_runtime_api(*state, replies, 1);
    size_t n = 0;

    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", session);
    {
        CALL(answer, ALICE, "POST", &path, "/runtime/reprovision");
        CALL(key, ALICE, "POST", &path, "/runtime/credentials");
        CALL(foreign, BOB, "POST", &path, "/runtime/reprovision");

        assert_answer_json(&answer, 200,
                           "{\"runtime_status\":\"available\",\"can_resume\":true,"
                           "\"runtime_error\":null}");
        assert_answer_json(&key, 200, "{\"session_api_key\":\"owners-key\"}");
        assert_answer_json(&foreign, 404, NOT_FOUND);
    }
    assert_int_equal(test_server_n_requests(runtime), 2);
    assert_asked(runtime, 0, "POST /start HTTP");
    assert_asked_json(runtime, 0, "session_id", quoted);
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", path.id.text);
    assert_asked(runtime, 0, quoted);
    n = test_take_waits(*state);
    {
        CALL(busy, ALICE, "POST", &path, "/runtime/reprovision");
        assert_int_equal(busy.status, 502);
    }
    test_give_waits(*state, n);
    test_stop_runtime_api(*state, runtime);
    runtime = test_start_runtime_api(*state, full, 1);
    {
        CALL(refused, ALICE, "POST", &path, "/runtime/reprovision");
        CALL(key, ALICE, "POST", &path, "/runtime/credentials");

        assert_int_equal(refused.status, 429);
        assert_int_equal(key.status, 429);
    }
    assert_int_equal(test_take_waits(*state), n);
    test_give_waits(*state, n);
    test_stop_runtime_api(*state, runtime);
}

static void states_of_a_sandbox_are_shown_in_words(void **state)
{
    static const struct {
        const char *changes;
        const char *info;
    } rows[] = {
        {"status = 'starting'",
         "{\"runtime_status\":\"starting\",\"can_resume\":true,\"runtime_error\":null}"},
        {"status = 'running'",
         "{\"runtime_status\":\"available\",\"can_resume\":true,\"runtime_error\":null}"},
        {"status = 'running', desired = 'stopped'",
         "{\"runtime_status\":\"missing\",\"can_resume\":true,\"runtime_error\":null}"},
        {"status = 'paused', desired = 'paused'",
         "{\"runtime_status\":\"available\",\"can_resume\":true,\"runtime_error\":null}"},
        {"status = 'stopped'",
         "{\"runtime_status\":\"missing\",\"can_resume\":true,\"runtime_error\":null}"},
        {"status = 'error', status_detail = 'no image'",
         "{\"runtime_status\":\"error\",\"can_resume\":true,\"runtime_error\":"
         "{\"code\":\"start_failed\",\"message\":\"no image\"}}"},
        {"status = 'error', status_detail = NULL",
         "{\"runtime_status\":\"error\",\"can_resume\":true,\"runtime_error\":"
         "{\"code\":\"start_failed\",\"message\":\"the start failed\"}}"},
    };
    const struct fixture *fixture = *state;
    char session[80];
    struct test_path path = test_docker_conversation(*state, session);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char sql[200];

        add(state, session);
        (void)snprintf(sql, sizeof(sql), "UPDATE runtimes SET %s WHERE id = '%s'", rows[i].changes,
                       fixture->sandbox_id);
        test_sql(sql);
        {
            CALL(answer, ALICE, "GET", &path, "/runtime");
            CALL(info, ALICE, "GET", &path, "");

            assert_answer_json(&answer, 200, rows[i].info);
            assert_json_at(info.body.text, "runtime_info", rows[i].info);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_passed_to_the_runtime),
        cmocka_unit_test(query_names_the_sandbox_before_the_path),
        cmocka_unit_test(failures_of_the_runtime_are_told),
        cmocka_unit_test(surplus_sandboxes_are_paused_first),
        cmocka_unit_test(room_is_made_for_what_is_to_run),
        cmocka_unit_test(room_that_cannot_be_made_starts_nothing),
        cmocka_unit_test(sandbox_is_created_of_a_known_image),
        cmocka_unit_test(sandbox_of_a_conversation_is_released),
        cmocka_unit_test(shared_sandbox_is_not_released),
        cmocka_unit_test(refused_connections_are_listed),
        cmocka_unit_test(sandbox_is_started_again_when_asked),
        cmocka_unit_test(states_of_a_sandbox_are_shown_in_words),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

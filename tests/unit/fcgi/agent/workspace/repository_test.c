#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define REPOSITORY "/git/repository"
#define CREDENTIALS "/git/credentials"
#define URL "https://git.example/a/b"

#define UNKNOWN TEST_SAYS("200 OK", "{\"state\":\"unknown\"}")
#define ENDED(members) TEST_SAYS("200 OK", "{\"state\":\"finished\",\"observation\":{" members "}}")
#define TEXT(text) "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]"
#define CLONED(members)                                                                            \
    ENDED("\"path\":\"/workspace/project/b\",\"branch\":\"main\",\"commit\":\"c0ffee\","           \
          "\"was_there\":false,\"is_error\":false," members TEXT("cloned"))
#define HOOKED ENDED("\"is_error\":false," TEXT("no hooks"))
#define CONFLICT TEST_SAYS("409 Conflict", "{\"detail\":\"an old fence\"}")

#define STEP(status, is_error, text)                                                               \
    "{\"status\":\"" status "\",\"is_error\":" is_error ",\"text\":\"" text "\"}"
#define CLONE_STEP STEP("PREPARING_REPOSITORY", "false", "cloned")
#define HOOKS_STEP STEP("SETTING_UP_GIT_HOOKS", "false", "no hooks")
#define RESULT(steps)                                                                              \
    "{\"path\":\"/workspace/project/b\",\"branch\":\"main\",\"commit\":\"c0ffee\","                \
    "\"was_there\":false,\"steps\":[" steps "]}"

/* The request for an action: "<method> /actions/repository:<24 digits>:<step>:<attempt>". */
static void assert_action(struct test_server *server, size_t i, const char *method,
                          const char *step)
{
    char begin[60];
    char end[40];

    (void)snprintf(begin, sizeof(begin), "%s /actions/repository:", method);
    (void)snprintf(end, sizeof(end), ":%s HTTP", step);
    assert_asked(server, i, begin);
    assert_asked(server, i, end);
}

/* Prepares with that body; the requests are the server's to be asked about. */
static void assert_prepared(void **state, struct test_server *server, const char *body,
                            const char *expected, size_t n_requests)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(answer, ALICE, "POST", test_under(&path, REPOSITORY), body);

    assert_answer_json(&answer, 200, expected);
    assert_int_equal(test_server_n_requests(server), n_requests);
}

static void without_a_url_an_empty_repository_is_made(void **state)
{
    static const struct test_reply replies[] = {
        UNKNOWN,
        ENDED("\"path\":\"/workspace/project\",\"branch\":\"main\",\"is_error\":false," TEXT(
            "made"))};
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));

    assert_prepared(
        state, server, "{}",
        "{\"path\":\"/workspace/project\",\"branch\":\"main\",\"commit\":null,"
        "\"was_there\":null,\"steps\":[" STEP("PREPARING_REPOSITORY", "false", "made") "]}",
        2);
    assert_action(server, 0, "GET", "clone:1");
    assert_action(server, 1, "PUT", "clone:1");
    assert_asked(server, 1, "X-Deft-Fence: 0\r\n");
    assert_asked_json(server, 1, "",
                      "{\"tool\":\"repository\",\"args\":{\"step\":\"init\"},"
                      "\"working_dir\":\"/workspace/project\"}");
    test_server_stop(server);
}

static void repository_is_cloned_set_up_and_given_its_hooks(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", "{\"success\":true}"),
                                                UNKNOWN,
                                                CLONED("\"has_setup\":true,"),
                                                TEST_SAYS("200 OK", "{\"state\":\"running\"}"),
                                                ENDED("\"exit_code\":0," TEXT("set up")),
                                                UNKNOWN,
                                                HOOKED};
    struct test_path path = test_conversation(*state);
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));
    char conversation[80];
    DISPATCH(answer, ALICE, "POST", test_under(&path, REPOSITORY),
             "{\"url\":\"" URL "\",\"branch\":\"main\",\"setup_timeout_s\":60,"
             "\"credentials\":{\"token\":\"the-token\"}}");

    assert_answer_json(
        &answer, 200,
        RESULT(CLONE_STEP "," STEP("RUNNING_SETUP_SCRIPT", "false", "set up") "," HOOKS_STEP));
    assert_int_equal(test_server_n_requests(server), 7);
    assert_asked(server, 0, "POST /git/credentials HTTP");
    assert_asked_json(server, 0, "password", "\"the-token\"");
    (void)snprintf(conversation, sizeof(conversation), "X-Deft-Conversation: %s\r\n", path.id.text);
    for (size_t i = 1; i < 7; i++)
        assert_asked(server, i, conversation);
    assert_action(server, 2, "PUT", "clone:1");
    assert_asked_json(server, 2, "args.url", "\"" URL "\"");
    assert_asked_json(server, 2, "args.branch", "\"main\"");
    assert_action(server, 3, "GET", "setup:1");
    assert_action(server, 4, "PUT", "setup:1");
    assert_asked_json(server, 4, "tool", "\"terminal\"");
    assert_asked_json(server, 4, "args.timeout", "60");
    assert_asked(server, 4, "cd '/workspace/project/b' && ");
    assert_action(server, 5, "GET", "hooks:1");
    assert_action(server, 6, "PUT", "hooks:1");
    assert_asked_json(server, 6, "",
                      "{\"tool\":\"repository\",\"args\":{\"step\":\"hooks\"},"
                      "\"working_dir\":\"/workspace/project/b\"}");
    test_server_stop(server);
}

static void results_of_earlier_requests_count(void **state)
{
    static const struct test_reply replies[] = {
        CLONED("\"has_setup\":true,"), ENDED("\"is_error\":true,\"exit_code\":0," TEXT("kept")),
        HOOKED};
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));

    assert_prepared(
        state, server, "{\"url\":\"" URL "\"}",
        RESULT(CLONE_STEP "," STEP("RUNNING_SETUP_SCRIPT", "false", "kept") "," HOOKS_STEP), 3);
    assert_action(server, 0, "GET", "clone:1");
    assert_action(server, 1, "GET", "setup:1");
    assert_action(server, 2, "GET", "hooks:1");
    test_server_stop(server);
}

static void failed_and_interrupted_steps_are_repeated(void **state)
{
    static const struct test_reply replies[] = {ENDED("\"is_error\":true," TEXT("failed")),
                                                TEST_SAYS("200 OK", "{\"state\":\"lost\"}"),
                                                UNKNOWN, CLONED(""), HOOKED};
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));

    assert_prepared(state, server, "{\"url\":\"" URL "\"}", RESULT(CLONE_STEP "," HOOKS_STEP), 5);
    assert_action(server, 1, "GET", "clone:2");
    assert_action(server, 2, "GET", "clone:3");
    assert_action(server, 3, "PUT", "clone:3");
    test_server_stop(server);
}

static void failed_clone_ends_the_preparation(void **state)
{
    static const struct test_reply replies[] = {
        UNKNOWN, ENDED("\"is_error\":true,\"has_setup\":true," TEXT("no such repository"))};
    static const struct test_reply interrupted[] = {
        UNKNOWN, TEST_SAYS("200 OK", "{\"state\":\"lost\",\"reason\":\"it restarted\"}")};
    static const char none[] =
        "{\"path\":null,\"branch\":null,\"commit\":null,\"was_there\":null,\"steps\":[%s]}";
    char expected[300];
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));

    (void)snprintf(expected, sizeof(expected), none,
                   STEP("PREPARING_REPOSITORY", "true", "no such repository"));
    assert_prepared(state, server, "{\"url\":\"" URL "\"}", expected, 2);
    test_server_stop(server);
    server = test_start_sandbox(*state, interrupted, ARRAY_SIZE(interrupted));
    (void)snprintf(expected, sizeof(expected), none,
                   STEP("PREPARING_REPOSITORY", "true", "it restarted"));
    assert_prepared(state, server, "{\"url\":\"" URL "\"}", expected, 2);
    test_server_stop(server);
}

/* A set-up's answer, and what is said of it. */
static void assert_setup(void **state, struct test_reply setup, const char *step)
{
    const struct test_reply replies[] = {CLONED("\"has_setup\":true,"), UNKNOWN, setup, HOOKED};
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));
    struct test_path path = test_conversation(*state);
    DISPATCH(answer, ALICE, "POST", test_under(&path, REPOSITORY), "{\"url\":\"" URL "\"}");

    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, "steps[1]", step);
    assert_json_at(answer.body.text, "steps[2]", HOOKS_STEP);
    test_server_stop(server);
}

#define SETUP_STEP(is_error, text) STEP("RUNNING_SETUP_SCRIPT", is_error, text)

static void setup_says_how_it_ended(void **state)
{
    assert_setup(state, (struct test_reply)ENDED("\"exit_code\":0," TEXT("fine")),
                 SETUP_STEP("false", "fine"));
    assert_setup(state, (struct test_reply)ENDED("\"exit_code\":3," TEXT("bad")),
                 SETUP_STEP("true", "bad\\nThe set-up ended with exit code 3."));
    assert_setup(state, (struct test_reply)ENDED("\"exit_code\":1," TEXT("")),
                 SETUP_STEP("true", "The set-up ended with exit code 1."));
    assert_setup(
        state,
        (struct test_reply)TEST_SAYS("200 OK", "{\"state\":\"lost\",\"reason\":\"restarted.\"}"),
        SETUP_STEP("true", "restarted. The set-up was interrupted. Send the request again "
                           "to run it again."));
}

#define RUNS_ON(text) ENDED("\"exit_code\":-1," TEXT(text))

static void setup_that_takes_too_long_is_stopped(void **state)
{
    static const struct test_reply stopped[] = {
        CLONED("\"has_setup\":true,"), UNKNOWN, RUNS_ON("slow"), UNKNOWN,
        ENDED("\"exit_code\":130"),    HOOKED};
    static const struct test_reply stubborn[] = {CLONED("\"has_setup\":true,"),
                                                 UNKNOWN,
                                                 RUNS_ON(""),
                                                 ENDED("\"is_error\":true,\"exit_code\":-1"),
                                                 UNKNOWN,
                                                 ENDED("\"exit_code\":0"),
                                                 HOOKED};
    struct test_server *server = test_start_sandbox(*state, stopped, ARRAY_SIZE(stopped));

    assert_prepared(
        state, server, "{\"url\":\"" URL "\",\"setup_timeout_s\":9}",
        RESULT(CLONE_STEP "," SETUP_STEP("true", "slow\\nThe set-up took longer than 9 seconds and "
                                                 "was stopped.") "," HOOKS_STEP),
        6);
    assert_action(server, 3, "GET", "stop:1");
    assert_action(server, 4, "PUT", "stop:1");
    assert_asked_json(server, 4, "args.is_input", "true");
    test_server_stop(server);
    server = test_start_sandbox(*state, stubborn, ARRAY_SIZE(stubborn));
    assert_prepared(
        state, server, "{\"url\":\"" URL "\"}",
        RESULT(CLONE_STEP "," SETUP_STEP("true", "The set-up took longer than 600 seconds and was "
                                                 "stopped.") "," HOOKS_STEP),
        7);
    assert_action(server, 3, "GET", "stop:1");
    assert_action(server, 4, "GET", "reset:1");
    assert_action(server, 5, "PUT", "reset:1");
    assert_asked_json(server, 5, "args.reset", "true");
    test_server_stop(server);
}

/* The sandbox knows a newer fence than the one that was read: a worker has claimed since. */
static void a_call_with_an_old_fence_is_sent_again(void **state)
{
    static const struct test_reply replies[] = {CONFLICT, CONFLICT, CONFLICT,   CONFLICT, CONFLICT,
                                                CONFLICT, CONFLICT, CLONED(""), HOOKED};
    static const struct test_reply always[] = {CONFLICT};
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));
    struct test_path path = test_conversation(*state);
    char sql[120];

    assert_prepared(state, server, "{\"url\":\"" URL "\"}", RESULT(CLONE_STEP "," HOOKS_STEP), 9);
    test_server_stop(server);
    server = test_start_sandbox(*state, always, 1);
    (void)snprintf(sql, sizeof(sql), "UPDATE conversations SET lease_fence = 41 WHERE id = '%s'",
                   path.id.text);
    test_sql(sql);
    {
        DISPATCH(answer, ALICE, "POST", test_under(&path, REPOSITORY), "{\"url\":\"" URL "\"}");
        assert_answer_json(&answer, 502,
                           "{\"detail\":\"Internal Server Error\","
                           "\"exception\":\"502: an old fence\"}");
    }
    assert_int_equal(test_server_n_requests(server), 8);
    assert_asked(server, 7, "X-Deft-Fence: 41\r\n");
    test_server_stop(server);
}

static void refused_call_is_not_repeated(void **state)
{
    static const struct test_reply replies[] = {
        TEST_SAYS("400 Bad Request", "{\"detail\":\"no such tool\"}")};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    struct test_path path = test_conversation(*state);
    DISPATCH(answer, ALICE, "POST", test_under(&path, REPOSITORY), "{}");

    assert_answer_json(&answer, 422, "{\"detail\":\"no such tool\"}");
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
}

static void step_is_given_up_after_a_hundred_attempts(void **state)
{
    static const struct test_reply replies[] = {ENDED("\"is_error\":true")};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    struct test_path path = test_conversation(*state);
    DISPATCH(answer, ALICE, "POST", test_under(&path, REPOSITORY), "{}");

    assert_answer_json(&answer, 429, "{\"detail\":\"gave up after 100 attempts\"}");
    assert_int_equal(test_server_n_requests(server), 100);
    assert_action(server, 99, "GET", "clone:100");
    test_server_stop(server);
}

static void credentials_are_renewed(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", "{}")};
    static const struct test_reply refusals[] = {
        TEST_SAYS("400 Bad Request", "{\"detail\":\"wrong url\"}")};
    static const char body[] = "{\"url\":\"https://gitlab.com/a/b\",\"credentials\":{\"token\":"
                               "\"the-token\",\"expires_in_s\":60}}";
    struct test_path path = test_conversation(*state);
    struct test_server *server = test_start_sandbox(*state, replies, 1);

    {
        DISPATCH(answer, ALICE, "POST", test_under(&path, CREDENTIALS), body);
        assert_answer_json(&answer, 200, SUCCESS);
    }
    assert_asked(server, 0, "POST /git/credentials HTTP");
    assert_asked_json(server, 0, "",
                      "{\"url\":\"https://gitlab.com/a/b\",\"username\":\"oauth2\","
                      "\"password\":\"the-token\",\"expires_in_s\":60}");
    test_server_stop(server);
    server = test_start_sandbox(*state, refusals, 1);
    {
        DISPATCH(answer, ALICE, "POST", test_under(&path, CREDENTIALS), body);
        assert_answer_json(&answer, 422, "{\"detail\":\"wrong url\"}");
    }
    test_server_stop(server);
}

static void wrong_bodies_reach_no_sandbox(void **state)
{
    static const struct {
        const char *rest;
        const char *body;
        const char *detail;
        const char *value;
    } rows[] = {
        {REPOSITORY, "[]", "detail[0].type", "\"model_attributes_type\""},
        {REPOSITORY, "", "detail[0].type", "\"missing\""},
        {REPOSITORY, "{\"other\":1}", "detail[0].loc", "[\"body\",\"other\"]"},
        {REPOSITORY, "{\"url\":1}", "detail[0].loc", "[\"body\",\"url\"]"},
        {REPOSITORY, "{\"setup_timeout_s\":601}", "detail",
         "\"setup_timeout_s must be at most 600\""},
        {REPOSITORY, "{\"credentials\":{\"token\":\"t\"}}", "detail", "\"credentials need a url\""},
        {CREDENTIALS, "{\"url\":\"" URL "\"}", "detail[0].loc", "[\"body\",\"credentials\"]"},
        {CREDENTIALS, "{\"credentials\":{\"token\":\"t\"}}", "detail[0].loc", "[\"body\",\"url\"]"},
    };
    struct test_path path = test_conversation(*state);

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, ALICE, "POST", test_under(&path, rows[i].rest), rows[i].body);
        assert_int_equal(answer.status, 422);
        assert_json_at(answer.body.text, rows[i].detail, rows[i].value);
    }
}

static void conversation_of_another_user_is_unknown(void **state)
{
    struct test_path path = test_conversation(*state);
    char expected[120];
    DISPATCH(prepared, BOB, "POST", test_under(&path, REPOSITORY), "{}");
    DISPATCH(renewed, BOB, "POST", test_under(&path, CREDENTIALS),
             "{\"url\":\"" URL "\",\"credentials\":{\"token\":\"t\"}}");

    (void)snprintf(expected, sizeof(expected), "{\"detail\":\"Conversation not found: %s\"}",
                   path.id.text);
    assert_answer_json(&prepared, 404, expected);
    assert_answer_json(&renewed, 404, expected);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_url_an_empty_repository_is_made),
        cmocka_unit_test(repository_is_cloned_set_up_and_given_its_hooks),
        cmocka_unit_test(results_of_earlier_requests_count),
        cmocka_unit_test(failed_and_interrupted_steps_are_repeated),
        cmocka_unit_test(failed_clone_ends_the_preparation),
        cmocka_unit_test(setup_says_how_it_ended),
        cmocka_unit_test(setup_that_takes_too_long_is_stopped),
        cmocka_unit_test(a_call_with_an_old_fence_is_sent_again),
        cmocka_unit_test(refused_call_is_not_repeated),
        cmocka_unit_test(step_is_given_up_after_a_hundred_attempts),
        cmocka_unit_test(credentials_are_renewed),
        cmocka_unit_test(wrong_bodies_reach_no_sandbox),
        cmocka_unit_test(conversation_of_another_user_is_unknown),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

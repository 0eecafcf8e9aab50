/*
 * Calls of a sandbox that fail: which are made again, at the address that the sandbox service then
 * tells, and which are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"

#define ANSWER(status, length, body)                                                               \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\nContent-Length: " length             \
    "\r\n\r\n" body

static const char alive[] = ANSWER("200 OK", "15", "{\"status\":\"ok\"}");
static const char refusal[] = ANSWER("401 Unauthorized", "2", "{}");
static const char failure[] = ANSWER("500 Internal Server Error", "2", "{}");
static const char cut_page[] = ANSWER("200 OK", "200", "{\"items\":");
static const char page[] = ANSWER("200 OK", "12", "{\"items\":[]}");
static const char full[] = ANSWER("429 Too Many Requests", "17", "{\"detail\":\"full\"}");

#define SILENT {.bytes = "", .ending = TEST_CLOSE}
#define SAYS(text) {.bytes = (text), .ending = TEST_CLOSE}

enum { REPLIES_MAX = 3 };

/* A call of the sandbox that the row names, and of the one that the service then starts. */
struct trial {
    const char *method;
    const char *path; /* "+": under a conversation */
    const char *body;
    struct test_reply replies[REPLIES_MAX]; /* of the first sandbox */
    int status;
    size_t n_first;
    size_t n_starts;
    const char *is_doubted;
    size_t n_second;
};

static struct test_answer ask(void **state, const struct trial *trial)
{
    struct test_path path = {.text = ""};

    if (trial->path[0] != '+')
        return test_dispatch(*state, ALICE, trial->method, trial->path, trial->body);
    path = test_conversation(*state);
    return test_dispatch(*state, ALICE, trial->method, test_under(&path, trial->path + 1),
                         trial->body);
}

/* The sandbox service starts the second one; with refuses, it has no room. */
static void run(void **state, const struct trial *trial, const char *refuses)
{
    const struct test_reply pages[] = {SAYS(page)};
    struct test_server *first = test_start_sandbox(*state, trial->replies, REPLIES_MAX);
    struct test_server *second = test_server_start(pages, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf started = STRBUF_INIT;
    struct test_reply start = {.ending = TEST_CLOSE};
    struct test_server *service = NULL;

    strbuf_appendf(&body,
                   "{\"runtime_id\":\"abcdefghijklmnop\",\"status\":\"running\",\"url\":\"%s\","
                   "\"session_api_key\":\"owners-key\",\"call_key\":\"fresh-key\"}",
                   test_server_url(second, ""));
    strbuf_appendf(&started, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", body.len,
                   body.text);
    start.bytes = refuses != NULL ? refuses : started.text;
    service = test_start_runtime_api(*state, &start, 1);
    {
        CLEANUP(test_answer_done) struct test_answer answer = ask(state, trial);

        if (answer.status != trial->status)
            fail_msg("%s %s: %d %s", trial->method, trial->path, answer.status, answer.body.text);
    }
    if (test_server_n_requests(first) != trial->n_first ||
        test_server_n_requests(service) != trial->n_starts ||
        test_server_n_requests(second) != trial->n_second)
        fail_msg("%s %s: %zu, %zu and %zu", trial->method, trial->path,
                 test_server_n_requests(first), test_server_n_requests(service),
                 test_server_n_requests(second));
    if (trial->n_starts > 0) {
        assert_asked(service, 0, "POST /start ");
        assert_asked_json(service, 0, "is_doubted", trial->is_doubted);
        assert_asked_json(service, 0, "wait_ms", "120000");
        assert_asked_json(service, 0, "image", "\"test:1\"");
    }
    if (trial->n_second > 0)
        assert_asked(second, trial->n_second - 1, "fresh-key");
    test_stop_runtime_api(*state, service);
    test_server_stop(second);
    test_server_stop(first);
}

#define READ "GET", "/api/bash/bash_events/search", NULL
#define COMMAND "POST", "/api/bash/start_bash_command", "{\"command\":\"ls\"}"
#define SCOPED "POST", "+/bash/start_bash_command", "{\"command\":\"ls\"}"
#define UPLOAD "POST", "/api/file/upload?path=/w/a", "abc"

static void calls_without_an_effect_are_made_again(void **state)
{
    static const struct trial trials[] = {
        {READ, {SAYS(refusal)}, 200, 1, 1, NULL, 1},
        {READ, {SILENT}, 200, 1, 1, "true", 1},
        {COMMAND, {SAYS(alive), SAYS(refusal)}, 200, 2, 1, NULL, 1},
        {COMMAND, {SILENT}, 200, 1, 1, "true", 1},
        {SCOPED, {SILENT}, 200, 1, 1, "true", 2},
        {SCOPED, {SAYS(alive), SAYS(refusal)}, 200, 2, 1, NULL, 2},
        {UPLOAD, {SILENT}, 200, 1, 1, "true", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
        run(state, &trials[i], NULL);
}

static void other_calls_are_made_once(void **state)
{
    static const struct trial trials[] = {
        {READ, {SAYS(failure)}, 500, 1, 0, NULL, 0},
        {COMMAND, {SAYS(alive), SILENT}, 502, 2, 0, NULL, 0},
        {COMMAND, {SAYS(alive), SAYS(failure)}, 500, 2, 0, NULL, 0},
        {SCOPED, {SAYS(alive), SILENT}, 502, 2, 0, NULL, 0},
        {UPLOAD, {SAYS(alive), SAYS(refusal)}, 502, 2, 0, NULL, 0},
        {READ, {SAYS(cut_page)}, 200, 1, 0, NULL, 0}, /* its head has been sent */
    };

    for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
        run(state, &trials[i], NULL);
}

static void service_without_room_is_no_failure_of_the_sandbox(void **state)
{
    static const struct trial trial = {READ, {SAYS(refusal)}, 429, 1, 1, NULL, 0};

    run(state, &trial, full);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_without_an_effect_are_made_again),
        cmocka_unit_test(other_calls_are_made_once),
        cmocka_unit_test(service_without_room_is_no_failure_of_the_sandbox),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

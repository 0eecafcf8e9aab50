/*
 * Which program has the calls of a conversation's server: how long it lives, and when another one
 * is started.
 */
#include "sandbox/ports/mcp_programs.h"

#include <stdio.h>

#include "base/file.h"
#include "base/uuid.h"
#include "sandbox/ports/mcp_program.h"
#include "unit/sandbox/ports/mcp_calls.h"
#include "unit/sandbox/tools_tests.h"

/* Of the workspace, a key and arguments. */
#define COUNT_BODY                                                                                 \
    "{\"tool\":\"mcp\",\"args\":{\"server\":\"one\",\"method\":\"tools/call\",\"name\":"           \
    "\"count\"},\"program\":{\"command\":\"%s/server\",\"env\":{\"KEY\":\"%s\"}},"                 \
    "\"timeout_ms\":60000,\"arguments\":{\"secret\":\"%s\"}}"
/* Of a number: a server that does not answer. */
#define SLEEP_BODY                                                                                 \
    "{\"tool\":\"mcp\",\"args\":{\"server\":\"s%d\",\"method\":\"tools/call\",\"name\":\"x\"},"    \
    "\"program\":{\"command\":\"sleep\",\"args\":[\"1000\"]},\"timeout_ms\":60000}"

static void one_program_has_all_calls_of_its_conversation(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    long first = 0;
    long other = 0;

    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &first), "1 with ");
    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &other), "2 with ");
    assert_int_equal(first, other);
    assert_call(bench, "where", PART, bench_text(bench, "\"%s\"", bench->workspace));
    /* Another worker goes on with it. */
    assert_string_equal(count(bench, NEWER_HEADERS, "{}", &other), "3 with ");
    assert_int_equal(first, other);
    assert_file(bench, "greetings", "greeted\n");
    assert_string_equal(count(bench, OTHER_HEADERS, "{}", &other), "1 with ");
    assert_int_not_equal(first, other);
    assert_file(bench, "greetings", "greeted\ngreeted\n");
}

static void another_configuration_begins_another_program(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    long first = 0;
    long other = 0;
    int held = 0;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_string_equal(count(bench, CALLS_HEADERS, "{\"KEY\":\"a\"}", &first), "1 with a");
    held = call_of(bench, CALLS_HEADERS, "hold", "{\"KEY\":\"a\"}", "");
    bench_shell(bench, "rm pipe");
    assert_string_equal(count(bench, CALLS_HEADERS, "{\"KEY\":\"b\"}", &other), "1 with b");
    assert_int_not_equal(first, other);
    /* The former one has its call until that is over. */
    reply = bench_receive(bench,
                          bench_send(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt",
                                     CALLS_HEADERS, "{}"));
    bench_reply_done(&reply);
    reply = bench_receive(bench, held);
    assert_reply(reply, 200, "observation.error", "\"The call was interrupted\"");
    await_end(bench, pipe);
    assert_string_equal(count(bench, CALLS_HEADERS, "{\"KEY\":\"b\"}", &first), "2 with b");
    assert_int_equal(first, other);
}

/* The first one still has a call, and would end after it. */
static void former_configuration_begins_another_program(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int held = -1;
    long first = 0;
    long pid = 0;

    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &first), "1 with ");
    held = begin_call(bench, "hold");
    assert_string_equal(count(bench, CALLS_HEADERS, "{\"KEY\":\"b\"}", &pid), "1 with b");
    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &pid), "1 with ");
    assert_int_not_equal(first, pid);
    fd_close(&held);
}

struct told {
    bool is_over;
    char text[100]; /* of the result, or why there is none */
};

static void on_told(void *owner, const struct mcp_outcome *outcome)
{
    struct told *told = owner;
    const char *text =
        outcome->why != NULL
            ? outcome->why
            : json_string_value(json_object_get(
                  json_array_get(json_object_get(outcome->result, "content"), 0), "text"));

    (void)snprintf(told->text, sizeof(told->text), "%s", text);
    told->is_over = true;
}

/* The loop has not noticed the end when the call comes. */
static void program_that_has_died_is_replaced_for_the_call(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    struct uuid conversation = UUID_INIT;
    json_auto_t *program = json_loads(
        bench_text(bench, "{\"command\":\"%s/server\",\"env\":{}}", bench->workspace), 0, NULL);
    const struct mcp_program_order order = {&conversation, "one", program, bench->workspace};
    struct told told = {.is_over = false};
    const struct mcp_call_spec spec = {
        .tool = "where", .timeout_ms = 60000, .told = on_told, .owner = &told};
    struct mcp_call *call = NULL;
    struct error err = ERROR_INIT;
    long pid = 0;

    assert_true(uuid_parse(CALLS_CONVERSATION, &conversation));
    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &pid), "1 with ");
    bench_shell(bench, bench_text(bench,
                                  "kill -9 %ld; until grep -q 'State:.*Z' /proc/%ld/status; do :; "
                                  "done",
                                  pid, pid));
    assert_int_equal(mcp_programs_call(bench->server.mcp_programs, &order, &spec, &call, &err), 0);
    bench_run_until(bench, &told.is_over);
    assert_string_equal(told.text, bench->workspace);
    assert_file(bench, "greetings", "greeted\ngreeted\n");
}

static void program_that_has_ended_is_started_again(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    long pid = 0;

    assert_call(bench, "die later", PART, "\"dying\"");
    await_end(bench, pipe);
    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &pid), "1 with ");
}

static void repeated_action_has_the_result_and_is_not_sent_again(void **state)
{
    static const char line[] = "PUT /actions/same";
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    CLEANUP(bench_reply_done) struct bench_reply first = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply second = {0, STRBUF_INIT, STRBUF_INIT};

    first = bench_ask(bench, line, CALLS_HEADERS,
                      bench_text(bench, COUNT_BODY, bench->workspace, "a", "x"));
    assert_reply(first, 200, "state", "\"finished\"");
    /* Secrets may differ by then. */
    second = bench_ask(bench, line, NEWER_HEADERS,
                       bench_text(bench, COUNT_BODY, bench->workspace, "b", "y"));
    assert_string_equal(first.body.text, second.body.text);
    assert_file(bench, "greetings", "greeted\n");
}

static void programs_end_with_their_conversation(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);

    assert_call(bench, "child", PART, "\"born\"");
    assert_answers(bench, "DELETE /conversations/" CALLS_CONVERSATION, CALLS_HEADERS, "{}", 200,
                   "success", "true");
    /* Its child, too. */
    await_end(bench, pipe);
}

static void programs_end_with_the_server(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    long first = 0;
    long other = 0;

    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &first), "1 with ");
    assert_call(bench, "child", PART, "\"born\"");
    action_bench_restart(bench);
    await_end(bench, pipe);
    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &other), "1 with ");
    assert_int_not_equal(first, other);
}

static void idle_program_is_asked_to_end(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    long pid = 0;

    bench->config.mcp_idle_ms = 100;
    assert_string_equal(count(bench, CALLS_HEADERS, "{\"FAREWELL\":\"1\"}", &pid), "1 with ");
    await_end(bench, pipe);
    /* It has seen the end of its input, and was given the time to act on it. */
    assert_file(bench, "farewell", "bye\n");
    assert_string_equal(count(bench, CALLS_HEADERS, "{\"FAREWELL\":\"1\"}", &pid), "1 with ");
}

static void program_that_does_not_end_is_killed(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);

    assert_call(bench, "stay", PART, "\"staying\"");
    assert_answers(bench, "DELETE /conversations/" CALLS_CONVERSATION, CALLS_HEADERS, "{}", 200,
                   "success", "true");
    await_end(bench, pipe);
}

static void program_that_cannot_start_is_an_error(void **state)
{
    static const struct {
        const char *program;
        const char *error;
    } cases[] = {
        {"{\"command\":\"no-such-program\"}", "\"The sandbox has no program no-such-program\""},
        {"{\"command\":\"/none\"}", "\"/none: No such file or directory\""},
        {"{\"command\":\"sh\",\"args\":[\"-c\",\"echo why >&2\"]}",
         "\"The program ended without a reply: why\""},
        {"{\"command\":\"sh\",\"args\":[\"-c\",\"read a; echo '{\\\"id\\\":1,\\\"error\\\":"
         "{\\\"message\\\":\\\"no\\\"}}'; read b\"]}",
         "\"The server says: no\""},
        {"{\"command\":\"true\",\"cwd\":\"/none\"}",
         "\"The working directory /none cannot be entered: No such file or directory\""},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_answers(bench, bench_text(bench, "PUT /actions/s%zu", i), CALLS_HEADERS,
                       bench_text(bench,
                                  "{\"tool\":\"mcp\",\"args\":{\"server\":\"s%zu\",\"method\":"
                                  "\"tools/call\",\"name\":\"x\"},\"program\":%s,"
                                  "\"timeout_ms\":60000}",
                                  i, cases[i].program),
                       200, "observation.error", cases[i].error);
}

static void number_of_programs_is_bounded(void **state)
{
    struct action_bench *bench = *state;
    int clients[MCP_PROGRAMS_MAX];
    long pid = 0;
    CLEANUP(fd_close) int pipe = begin(bench);

    /* An idle one makes room. */
    assert_string_equal(count(bench, OTHER_HEADERS, "{}", &pid), "1 with ");
    for (int i = 0; i < MCP_PROGRAMS_MAX; i++)
        clients[i] = bench_send(bench, bench_text(bench, "PUT /actions/n%d", i),
                                i % 2 == 0 ? CALLS_HEADERS : OTHER_HEADERS,
                                bench_text(bench, SLEEP_BODY, i));
    await_end(bench, pipe);
    assert_answers(bench, "PUT /actions/many", CALLS_HEADERS,
                   bench_text(bench, SLEEP_BODY, MCP_PROGRAMS_MAX), 200, "observation.error",
                   "\"Too many MCP servers run in this sandbox\"");
    for (int i = 0; i < MCP_PROGRAMS_MAX; i++)
        fd_close(&clients[i]);
}

int mcp_programs_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(one_program_has_all_calls_of_its_conversation),
        BENCH_TEST(another_configuration_begins_another_program),
        BENCH_TEST(former_configuration_begins_another_program),
        BENCH_TEST(program_that_has_died_is_replaced_for_the_call),
        BENCH_TEST(program_that_has_ended_is_started_again),
        BENCH_TEST(repeated_action_has_the_result_and_is_not_sent_again),
        BENCH_TEST(programs_end_with_their_conversation),
        BENCH_TEST(programs_end_with_the_server),
        BENCH_TEST(idle_program_is_asked_to_end),
        BENCH_TEST(program_that_does_not_end_is_killed),
        BENCH_TEST(program_that_cannot_start_is_an_error),
        BENCH_TEST(number_of_programs_is_bounded),
    };

    return cmocka_run_group_tests_name("sandbox/mcp_programs", tests, NULL, NULL);
}

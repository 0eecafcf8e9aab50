/*
 * Calls of a living MCP server, and what a server that misbehaves can do.
 */
#include "sandbox/ports/mcp_program.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "unit/sandbox/ports/mcp_calls.h"
#include "unit/sandbox/tools_tests.h"

enum { LATE_MS = 60000 };

/* Of the workspace and variables. */
#define LIST_BODY                                                                                  \
    "{\"tool\":\"mcp\",\"args\":{\"server\":\"one\",\"method\":\"tools/list\"},\"program\":"       \
    "{\"command\":\"%s/server\",\"env\":{%s}},\"timeout_ms\":60000}"

static void program_that_dies_during_a_call_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int held = begin_call(bench, "hold");
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_call(bench, "die", "observation.error",
                "\"The program ended without a reply: first words\\nlast words\"");
    reply = bench_receive(bench, held);
    assert_reply(reply, 200, "observation",
                 "{\"kind\":\"MCPToolObservation\",\"is_error\":true,\"tool_name\":\"hold\","
                 "\"error\":\"The program ended without a reply: first words\\nlast words\","
                 "\"content\":[{\"type\":\"text\",\"cache_prompt\":false,\"text\":"
                 "\"The program ended without a reply: first words\\nlast words\"}]}");
    assert_call(bench, "count", "observation.is_error", "false");
}

static void calls_at_once_are_told_apart(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int held[] = {begin_call(bench, "hold"), begin_call(bench, "hold")};

    /* The ids that the program sees: 1 is the greeting's. */
    assert_call(bench, "release", PART, "\"free\"");
    for (int i = 1; i >= 0; i--) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, held[i]);

        assert_reply(reply, 200, PART, i == 0 ? "\"held 2\"" : "\"held 3\"");
    }
}

static void interrupt_reaches_the_program_which_lives_on(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    long first = 0;
    long other = 0;
    int held = 0;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &first), "1 with ");
    held = begin_call(bench, "hold");
    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", CALLS_HEADERS,
                   "{}", 200, "success", "true");
    reply = bench_receive(bench, held);
    assert_reply(reply, 200, "observation.error", "\"The call was interrupted\"");
    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &other), "2 with ");
    assert_int_equal(first, other);
    assert_file(bench, "told",
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                "{\"requestId\":3,\"reason\":\"The user stopped the call\"}}\n");
}

static void call_has_its_own_time(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    const char *body = bench_text(bench,
                                  "{\"tool\":\"mcp\",\"args\":{\"server\":\"one\",\"method\":"
                                  "\"tools/call\",\"name\":\"hold\"},\"program\":{\"command\":"
                                  "\"%s/server\",\"env\":{}},\"timeout_ms\":1500}",
                                  bench->workspace);
    long first = 0;

    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &first), "1 with ");
    assert_answers(bench, "PUT /actions/timed", CALLS_HEADERS, body, 200, "observation.error",
                   "\"The program did not reply in time\"");
    assert_string_equal(count(bench, CALLS_HEADERS, "{}", &first), "2 with ");
    assert_true(bench_has(bench, "told"));
}

static void list_is_read_page_by_page(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_answers(bench, "PUT /actions/l1", CALLS_HEADERS,
                   bench_text(bench, LIST_BODY, bench->workspace, ""), 200, "observation",
                   "{\"kind\":\"MCPListObservation\",\"content\":[],\"is_error\":false,"
                   "\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
    reply = bench_ask(bench, "PUT /actions/l2", CALLS_HEADERS,
                      bench_text(bench, LIST_BODY, bench->workspace, "\"PAGES\":\"more\""));
    assert_reply(reply, 200, "observation.tools[19].name", "\"m\"");
    assert_reply(reply, 200, "observation.tools[20]", NULL);
}

static void changed_list_is_told_once(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);

    assert_call(bench, "change", "observation.has_changed_tools", "false");
    assert_call(bench, "count", "observation.has_changed_tools", "true");
    assert_call(bench, "count", "observation.has_changed_tools", "false");
}

static void questions_of_a_program_are_answered(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);

    assert_call(bench, "ask", PART, "\"asked\"");
    assert_file(bench, "told",
                "{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"result\":{}}\n"
                "{\"jsonrpc\":\"2.0\",\"id\":\"q2\",\"error\":{\"code\":-32601,\"message\":"
                "\"The client does not offer this\"}}\n");
}

static void refusal_of_a_call_is_the_programs_word(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);

    assert_call(bench, "refuse", "observation.error", "\"The server says: not now\"");
}

static void line_without_an_end_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);

    assert_call(bench, "long", "observation.error", "\"The program's reply is too large\"");
    await_end(bench, pipe);
    assert_call(bench, "count", "observation.is_error", "false");
}

/* It would take hundreds of times its bytes of memory. */
static void line_of_too_many_values_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);

    assert_call(bench, "many", "observation.error", "\"The program's reply is too large\"");
    await_end(bench, pipe);
    assert_call(bench, "count", "observation.is_error", "false");
}

static void program_that_has_closed_its_input_is_replaced(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int held = begin_call(bench, "hold");
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_call(bench, "close", PART, "\"closed\"");
    assert_call(bench, "count", "observation.is_error", "false");
    assert_file(bench, "greetings", "greeted\ngreeted\n");
    /* The former one has a call whose end it cannot be told. */
    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", CALLS_HEADERS,
                   "{}", 200, "success", "true");
    reply = bench_receive(bench, held);
    assert_reply(reply, 200, "observation.error", "\"The call was interrupted\"");
}

static void program_that_prints_without_end_does_not_block_the_server(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int client = begin_call(bench, "flood");
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    for (int i = 0; i < 10; i++)
        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", CALLS_HEADERS,
                   "{}", 200, "success", "true");
    reply = bench_receive(bench, client);
    assert_reply(reply, 200, "observation.error", "\"The call was interrupted\"");
    assert_answers(bench, "DELETE /conversations/" CALLS_CONVERSATION, CALLS_HEADERS, "{}", 200,
                   "success", "true");
    await_end(bench, pipe);
}

/* Its questions are answered, and it reads none of the answers. */
static void program_that_asks_without_end_is_ended(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);

    assert_call(bench, "questions", "observation.error",
                "\"The program does not read what is sent to it\"");
    await_end(bench, pipe);
}

/* A call of the server in that file with so many bytes of arguments. */
static int send_large_to(struct action_bench *bench, const char *file, const char *id, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body,
                   "{\"tool\":\"mcp\",\"args\":{\"server\":\"one\",\"method\":\"tools/call\","
                   "\"name\":\"count\"},\"program\":{\"command\":\"%s/%s\",\"env\":{}},"
                   "\"timeout_ms\":60000,\"arguments\":{\"x\":\"",
                   bench->workspace, file);
    for (size_t i = 0; i < len; i++)
        strbuf_append_char(&body, 'x');
    strbuf_append(&body, "\"}}");
    return bench_send_bytes(bench, bench_text(bench, "PUT /actions/%s", id), CALLS_HEADERS, &body);
}

static int send_large(struct action_bench *bench, const char *id, size_t len)
{
    return send_large_to(bench, "server", id, len);
}

/* The ends of large bodies arrive in any order. */
static void await_running(struct action_bench *bench, const char *id)
{
    int64_t end_ms = clock_monotonic_ms() + LATE_MS;
    bool is_running = false;

    while (!is_running) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            bench_ask(bench, bench_text(bench, "GET /actions/%s", id), CALLS_HEADERS, NULL);

        assert_true(clock_monotonic_ms() < end_ms);
        is_running = strstr(reply.body.text, "running") != NULL;
    }
}

/* It closes its input in the middle of the call. */
static void call_that_is_not_read_to_its_end_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_write(
        bench, "closer",
        "#!/bin/sh\nread a; echo '{\"id\":1,\"result\":{}}'; read b; exec 0<&-; echo why >&2\n"
        "exec sleep 1000\n");
    bench_shell(bench, "chmod +x closer");
    reply = bench_receive(bench, send_large_to(bench, "closer", "large", 1000000));
    assert_reply(reply, 200, "observation.error",
                 "\"The program does not read its input any more: why\"");
}

static void program_that_reads_nothing_does_not_block_the_server(void **state)
{
    enum { LARGE = 3 * 1024 * 1024 };
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int clients[4] = {-1, -1, -1, -1};
    CLEANUP(bench_reply_done) struct bench_reply refused = {0, STRBUF_INIT, STRBUF_INIT};

    clients[0] = begin_call(bench, "deaf");
    clients[1] = send_large(bench, "large-1", LARGE);
    await_running(bench, "large-1");
    clients[2] = send_large(bench, "large-2", LARGE);
    await_running(bench, "large-2");
    refused = bench_receive(bench, send_large(bench, "large-3", LARGE));
    assert_reply(refused, 200, "observation.error",
                 "\"The program does not read what is sent to it\"");
    assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    assert_answers(bench, "DELETE /conversations/" CALLS_CONVERSATION, CALLS_HEADERS, "{}", 200,
                   "success", "true");
    for (size_t i = 0; i < 3; i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, clients[i]);

        assert_reply(reply, 200, "state", "\"interrupted\"");
    }
    await_end(bench, pipe);
}

static void large_arguments_arrive_whole(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_receive(bench, send_large(bench, "large", 300000));

    assert_reply(reply, 200, "observation.is_error", "false");
}

static void bodies_are_checked(void **state)
{
    static const struct {
        const char *body;
        const char *detail;
    } cases[] = {
        {"\"args\":{}", "\"args.server must be a name of at most 1000 bytes\""},
        {"\"args\":{\"server\":\"s\"}", "\"args.method must be tools/list or tools/call\""},
        {"\"args\":{\"server\":\"s\",\"method\":\"ping\"}",
         "\"args.method must be tools/list or tools/call\""},
        {"\"args\":{\"server\":\"s\",\"method\":\"tools/call\"}",
         "\"args.name must be a name of at most 1000 bytes\""},
        {"\"args\":{\"server\":\"s\",\"method\":\"tools/list\"}",
         "\"program must be an object with a command\""},
        {"\"args\":{\"server\":\"s\",\"method\":\"tools/list\"},\"program\":{\"command\":\"c\"}",
         "\"timeout_ms must be an integer from 1 to 3600000\""},
        {"\"args\":{\"server\":\"s\",\"method\":\"tools/list\"},\"program\":{\"command\":\"c\"},"
         "\"timeout_ms\":3600001",
         "\"timeout_ms must be an integer from 1 to 3600000\""},
        {"\"args\":{\"server\":\"s\",\"method\":\"tools/list\"},\"program\":{\"command\":\"c\"},"
         "\"timeout_ms\":1,\"arguments\":[]",
         "\"arguments must be an object\""},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_answers(bench, "PUT /actions/bad", CALLS_HEADERS,
                       bench_text(bench, "{\"tool\":\"mcp\",%s}", cases[i].body), 400, "detail",
                       cases[i].detail);
}

int mcp_program_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(program_that_dies_during_a_call_is_an_error),
        BENCH_TEST(calls_at_once_are_told_apart),
        BENCH_TEST(interrupt_reaches_the_program_which_lives_on),
        BENCH_TEST(call_has_its_own_time),
        BENCH_TEST(list_is_read_page_by_page),
        BENCH_TEST(changed_list_is_told_once),
        BENCH_TEST(questions_of_a_program_are_answered),
        BENCH_TEST(refusal_of_a_call_is_the_programs_word),
        BENCH_TEST(line_without_an_end_is_an_error),
        BENCH_TEST(line_of_too_many_values_is_an_error),
        BENCH_TEST(program_that_has_closed_its_input_is_replaced),
        BENCH_TEST(program_that_prints_without_end_does_not_block_the_server),
        BENCH_TEST(program_that_asks_without_end_is_ended),
        BENCH_TEST(call_that_is_not_read_to_its_end_is_an_error),
        BENCH_TEST(program_that_reads_nothing_does_not_block_the_server),
        BENCH_TEST(large_arguments_arrive_whole),
        BENCH_TEST(bodies_are_checked),
    };

    return cmocka_run_group_tests_name("sandbox/mcp_program", tests, NULL, NULL);
}

/*
 * Commands of /api/bash: what they print, how they end, and when they are refused.
 */
#include "sandbox/bash/bash_routes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/git/credentials.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/bash/bash_tests.h"

#define EXECUTE "POST /api/bash/execute_bash_command"
#define START "POST /api/bash/start_bash_command"

static struct bench_reply execute(struct action_bench *bench, const char *body)
{
    return bench_ask(bench, EXECUTE, "", body);
}

/* A member of a JSON object as a text that lives for a few more calls. */
static const char *member_of(struct action_bench *bench, const struct bench_reply *reply,
                             const char *name)
{
    json_auto_t *body = json_loads(reply->body.text, 0, NULL);

    return bench_text(bench, "%s", json_text_or(body, name, "(none)"));
}

/* Starts a command and returns its id. */
static const char *start(struct action_bench *bench, const char *body)
{
    CLEANUP(bench_reply_done) struct bench_reply reply = bench_ask(bench, START, "", body);

    assert_int_equal(reply.status, 200);
    return member_of(bench, &reply, "id");
}

static void output_and_exit_code_come_back(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        execute(bench, "{\"command\":\"echo out; echo err >&2; cat; exit 3\"}");

    assert_reply(reply, 200, "stdout", "\"out\\n\"");
    assert_reply(reply, 200, "stderr", "\"err\\n\"");
    assert_reply(reply, 200, "exit_code", "3");
    assert_reply(reply, 200, "order", "0");
    assert_reply(reply, 200, "kind", "\"BashOutput\"");
    assert_int_equal(strlen(member_of(bench, &reply, "id")), 32);
    assert_int_equal(strlen(member_of(bench, &reply, "command_id")), 32);
    assert_string_equal(
        member_of(bench, &reply, "timestamp") + strlen("2026-01-02T03:04:05.123456"), "Z");
}

static void silent_command_has_null_streams(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = execute(bench, "{\"command\":\"true\"}");

    assert_reply(reply, 200, "stdout", "null");
    assert_reply(reply, 200, "stderr", "null");
    assert_reply(reply, 200, "exit_code", "0");
}

static void signal_is_a_negative_exit_code(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        execute(bench, "{\"command\":\"kill -9 $$\"}");

    assert_reply(reply, 200, "exit_code", "-9");
}

static void command_runs_in_its_folder_and_session(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply here =
        execute(bench, "{\"command\":\"pwd; test $(ps -o sid= $$) = $$ && echo own\"}");
    CLEANUP(bench_reply_done) struct bench_reply there = {0, STRBUF_INIT, STRBUF_INIT};

    assert_reply(here, 200, "stdout", bench_text(bench, "\"%s\\nown\\n\"", bench->workspace));
    bench_write(bench, "sub/x", "");
    there = execute(
        bench, bench_text(bench, "{\"command\":\"pwd\",\"cwd\":\"%s/sub\"}", bench->workspace));
    assert_reply(there, 200, "stdout", bench_text(bench, "\"%s/sub\\n\"", bench->workspace));
}

static void folder_that_is_not_there_is_the_commands_error(void **state)
{
    struct action_bench *bench = *state;
    static const char *const names[] = {"none", "file"};

    bench_write(bench, "file", "x");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *cwd = bench_path(bench, names[i]);
        CLEANUP(bench_reply_done) struct bench_reply reply =
            execute(bench, bench_text(bench, "{\"command\":\"true\",\"cwd\":\"%s\"}", cwd));

        assert_reply(reply, 200, "exit_code", "-1");
        assert_reply(reply, 200, "stderr",
                     bench_text(bench, "\"Error executing command: no directory '%s'\"", cwd));
    }
}

static void folder_outside_is_refused(void **state)
{
    struct action_bench *bench = *state;
    const char *inside = bench_text(bench, "X-Deft-Inside: %s\r\n", bench->workspace);

    assert_answers(bench, EXECUTE, inside, "{\"command\":\"pwd\",\"cwd\":\"/tmp\"}", 422, "detail",
                   "\"cwd must be inside the conversation workspace\"");
    assert_answers(bench, START, inside, "{\"command\":\"pwd\",\"cwd\":\"/tmp\"}", 422, "detail",
                   "\"cwd must be inside the conversation workspace\"");
    assert_answers(bench, EXECUTE, inside, "{\"command\":\"true\"}", 200, "exit_code", "0");
    assert_answers(bench, EXECUTE, "X-Deft-Inside: /none\r\n", "{\"command\":\"true\"}", 422,
                   "detail", "\"cwd must be inside the conversation workspace\"");
}

static void body_that_is_no_command_is_refused(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *body;
        const char *type;
        const char *loc;
    } cases[] = {
        {"{", "\"json_invalid\"", "[\"body\"]"},
        {"[]", "\"model_attributes_type\"", "[\"body\"]"},
        {"{}", "\"missing\"", "[\"body\",\"command\"]"},
        {"{\"command\":7}", "\"string_type\"", "[\"body\",\"command\"]"},
        {"{\"command\":null}", "\"string_type\"", "[\"body\",\"command\"]"},
        {"{\"command\":\"x\",\"cwd\":7}", "\"string_type\"", "[\"body\",\"cwd\"]"},
        {"{\"command\":\"x\",\"timeout\":-1}", "\"int_parsing\"", "[\"body\",\"timeout\"]"},
        {"{\"command\":\"x\",\"timeout\":2592001}", "\"int_parsing\"", "[\"body\",\"timeout\"]"},
        {"{\"command\":\"x\",\"timeout\":1.5}", "\"int_parsing\"", "[\"body\",\"timeout\"]"},
        {"{\"command\":\"x\",\"timeout\":null}", "\"int_parsing\"", "[\"body\",\"timeout\"]"},
    };
    static const char *const lines[] = {EXECUTE, START};

    for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            bench_ask(bench, lines[i % 2], "", cases[i / 2].body);

        assert_reply(reply, 422, "detail[0].type", cases[i / 2].type);
        assert_reply(reply, 422, "detail[0].loc", cases[i / 2].loc);
    }
    assert_answers(bench, "GET /api/bash/bash_events/search", "", NULL, 200, "items", "[]");
    assert_answers(bench, EXECUTE, "", "{\"command\":\"true\",\"cwd\":null,\"timeout\":2592000}",
                   200, "exit_code", "0");
}

static void started_command_is_told_at_once(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply plain =
        bench_ask(bench, START, "", "{\"command\":\"true\"}");
    CLEANUP(bench_reply_done) struct bench_reply full = bench_ask(
        bench, START, "",
        bench_text(bench, "{\"command\":\"true\",\"cwd\":\"%s\",\"timeout\":9}", bench->workspace));

    assert_reply(plain, 200, "command", "\"true\"");
    assert_reply(plain, 200, "cwd", "null");
    assert_reply(plain, 200, "timeout", "300");
    assert_reply(plain, 200, "kind", "\"BashCommand\"");
    assert_int_equal(strlen(member_of(bench, &plain, "id")), 32);
    assert_string_equal(
        member_of(bench, &plain, "timestamp") + strlen("2026-01-02T03:04:05.123456"), "Z");
    assert_reply(full, 200, "cwd", bench_text(bench, "\"%s\"", bench->workspace));
    assert_reply(full, 200, "timeout", "9");
}

/* SIGTERM first; one that ignores it, or has left the group, is not waited for. */
static void command_that_takes_too_long_is_ended(void **state)
{
    static const struct {
        const char *body;
        const char *out;
    } cases[] = {
        {"{\"timeout\":2,\"command\":\"trap 'echo term; exit 5' TERM; echo on; sleep 60 & wait\"}",
         "\"on\\nterm\\n\""},
        {"{\"timeout\":2,\"command\":\"trap '' TERM; echo on; sleep 60; sleep 60\"}", "\"on\\n\""},
        {"{\"timeout\":2,\"command\":\"echo on; setsid sleep 60 & exit 0\"}", "\"on\\n\""},
    };
    struct action_bench *bench = *state;
    int clients[ARRAY_SIZE(cases)];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        clients[i] = bench_send(bench, EXECUTE, "", cases[i].body);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, clients[i]);

        assert_reply(reply, 200, "exit_code", "-1");
        assert_reply(reply, 200, "stdout", cases[i].out);
    }
}

static void timeout_of_zero_is_none(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        execute(bench, "{\"timeout\":0,\"command\":\"sleep 0.1; echo over\"}");

    assert_reply(reply, 200, "stdout", "\"over\\n\"");
    assert_reply(reply, 200, "exit_code", "0");
}

static void stopped_command_ends_with_its_signal(void **state)
{
    struct action_bench *bench = *state;
    const char *id = start(bench, "{\"command\":\"sleep 60\"}");
    const char *stop = bench_text(bench, "POST /api/bash/bash_commands/%s/stop", id);
    const char *search =
        bench_text(bench, "GET /api/bash/bash_events/search?kind__eq=BashOutput&wait_ms=60000");

    assert_answers(bench, stop, "", "", 200, "", "{\"success\":true}");
    assert_answers(bench, search, "", NULL, 200, "items[0].exit_code", "-15");
    /* Stopping it again changes nothing. */
    assert_answers(bench, stop, "", "", 200, "", "{\"success\":true}");
    assert_answers(bench, search, "", NULL, 200, "items[1]", NULL);
}

static void command_that_ignores_the_stop_is_killed(void **state)
{
    struct action_bench *bench = *state;
    const char *id =
        start(bench, "{\"command\":\"trap '' TERM; echo > ready; sleep 60; sleep 60\"}");
    const char *stop = bench_text(bench, "POST /api/bash/bash_commands/%s/stop", id);

    bench_shell(bench, "while [ ! -e ready ]; do sleep 0.01; done");
    assert_answers(bench, stop, "", "", 200, "success", "true");
    assert_answers(bench, stop, "", "", 200, "success", "true");
    assert_answers(bench, "GET /api/bash/bash_events/search?kind__eq=BashOutput&wait_ms=60000", "",
                   NULL, 200, "items[0].exit_code", "-9");
}

static void only_a_known_command_is_stopped(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = execute(bench, "{\"command\":\"true\"}");
    const char *command = member_of(bench, &reply, "command_id");
    const char *stop = bench_text(bench, "POST /api/bash/bash_commands/%s/stop", command);

    assert_answers(bench, "POST /api/bash/bash_commands/7/stop", "", "", 422, "detail[0].loc",
                   "[\"path\",\"command_id\"]");
    assert_answers(bench, "POST /api/bash/bash_commands/00000000-0000-4000-8000-000000000000/stop",
                   "", "", 404, "detail", "\"Not Found\"");
    assert_answers(bench, stop, "", "", 200, "success", "true");
    assert_answers(bench, stop, "X-Deft-Scope: other\r\n", "", 404, "detail", "\"Not Found\"");
    /* An output is not a command. */
    {
        CLEANUP(bench_reply_done) struct bench_reply found =
            bench_ask(bench, "GET /api/bash/bash_events/search?kind__eq=BashOutput", "", NULL);
        json_auto_t *body = json_loads(found.body.text, 0, NULL);
        const char *id =
            json_text_or(json_array_get(json_object_get(body, "items"), 0), "id", "(none)");

        assert_answers(bench, bench_text(bench, "POST /api/bash/bash_commands/%s/stop", id), "", "",
                       404, "detail", "\"Not Found\"");
    }
}

static void running_commands_are_bounded(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "mkfifo pipe");
    for (int i = 0; i < MAX_BASH_COMMANDS; i++)
        assert_int_equal(strlen(start(bench, "{\"command\":\"read x < pipe\"}")), 32);
    assert_answers(bench, START, "", "{\"command\":\"true\"}", 429, "detail",
                   "\"too many commands are running\"");
    assert_answers(bench, EXECUTE, "", "{\"command\":\"true\"}", 429, "detail",
                   "\"too many commands are running\"");
}

/* A client that has gone gets no answer, but its command's output is kept. */
static void command_outlives_its_client(void **state)
{
    struct action_bench *bench = *state;
    int client = bench_send(bench, EXECUTE, "",
                            "{\"command\":\"echo > on; while [ -e on ]; do sleep 0.01; done\"}");

    assert_answers(bench, "GET /api/bash/bash_events/search?wait_ms=60000", "", NULL, 200,
                   "items[0].kind", "\"BashCommand\"");
    fd_close(&client);
    assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    bench_shell(bench, "while [ ! -e on ]; do sleep 0.01; done; rm on");
    assert_answers(bench, "GET /api/bash/bash_events/search?kind__eq=BashOutput&wait_ms=60000", "",
                   NULL, 200, "items[0].exit_code", "0");
}

static void long_output_comes_in_several_events(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        execute(bench, "{\"command\":\"head -c 1048577 /dev/zero | tr '\\\\0' x; sleep 0.05;"
                       "head -c 1048577 /dev/zero | tr '\\\\0' y\"}");
    json_auto_t *joined = json_loads(reply.body.text, 0, NULL);
    CLEANUP(bench_reply_done) struct bench_reply first = {0, STRBUF_INIT, STRBUF_INIT};
    json_auto_t *page = NULL;

    assert_int_equal(json_string_length(json_object_get(joined, "stdout")), 2 * 1048577);
    assert_reply(reply, 200, "stderr", "null");
    assert_reply(reply, 200, "exit_code", "0");
    assert_reply(reply, 200, "order", "2");
    first =
        bench_ask(bench, "GET /api/bash/bash_events/search?kind__eq=BashOutput&limit=1", "", NULL);
    page = json_loads(first.body.text, 0, NULL);
    assert_int_equal(json_string_length(json_object_get(
                         json_array_get(json_object_get(page, "items"), 0), "stdout")),
                     BASH_CHUNK_CHARS);
    assert_reply(first, 200, "items[0].exit_code", "null");
    assert_reply(first, 200, "items[0].stderr", "null");
    assert_reply(first, 200, "items[0].order", "0");
    assert_answers(bench, "GET /api/bash/bash_events/search?kind__eq=BashOutput&order__gt=1", "",
                   NULL, 200, "items[0].exit_code", "0");
}

static void errors_come_in_several_events_too(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        execute(bench, "{\"command\":\"head -c 1048577 /dev/zero | tr '\\\\0' x >&2\"}");
    CLEANUP(bench_reply_done) struct bench_reply last = {0, STRBUF_INIT, STRBUF_INIT};
    json_auto_t *joined = json_loads(reply.body.text, 0, NULL);

    assert_int_equal(json_string_length(json_object_get(joined, "stderr")), 1048577);
    assert_reply(reply, 200, "stdout", "null");
    last = bench_ask(bench, "GET /api/bash/bash_events/search?sort_order=TIMESTAMP_DESC&limit=1",
                     "", NULL);
    assert_reply(last, 200, "items[0].stderr", "\"x\"");
    assert_reply(last, 200, "items[0].stdout", "null");
}

static void flood_of_output_is_cut(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        execute(bench, "{\"command\":\"head -c 20000000 /dev/zero | tr '\\\\0' x; echo end\"}");
    json_auto_t *joined = json_loads(reply.body.text, 0, NULL);
    size_t len = json_string_length(json_object_get(joined, "stdout"));

    assert_in_range(len, 16 * 1024 * 1024 - 16 * 1024, 16 * 1024 * 1024);
    assert_reply(reply, 200, "stderr",
                 "\"\\n[deft: further output of this command was dropped]\\n\"");
    assert_reply(reply, 200, "exit_code", "0");
}

/* Also one that crosses the end of a chunk. */
static void passwords_are_masked(void **state)
{
    struct action_bench *bench = *state;
    struct error err = ERROR_INIT;
    CLEANUP(bench_reply_done) struct bench_reply short_one = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply long_one = {0, STRBUF_INIT, STRBUF_INIT};

    assert_int_equal(
        credentials_keep(bench->server.credentials,
                         &(struct credential_order){.origin = "https://example.org",
                                                    .username = "ann",
                                                    .password = "correct-horse-battery",
                                                    .lifetime_ms = 1000},
                         &err),
        0);
    short_one = execute(
        bench, "{\"command\":\"echo a correct-horse-battery; echo correct-horse-battery >&2\"}");
    assert_reply(short_one, 200, "stdout", "\"a <secret-hidden>\\n\"");
    assert_reply(short_one, 200, "stderr", "\"<secret-hidden>\\n\"");
    long_one =
        execute(bench, "{\"command\":\"head -c 1048570 /dev/zero | tr '\\\\0' x;"
                       "echo correct-horse-battery; head -c 10000 /dev/zero | tr '\\\\0' y\"}");
    assert_int_equal(long_one.status, 200);
    assert_non_null(strstr(long_one.body.text, "xxx<secret-hidden>\\nyyy"));
    assert_null(strstr(long_one.body.text, "correct-h"));
    assert_null(strstr(long_one.body.text, "rse-battery"));
}

static void scope_has_a_limit(void **state)
{
    struct action_bench *bench = *state;
    static const char digits[] = "0123456789012345678901234567890123456789012345678901234567890123";
    const char *fits = bench_text(bench, "X-Deft-Scope: %s\r\n", digits);
    const char *too_long = bench_text(bench, "X-Deft-Scope: %s4\r\n", digits);
    static const char *const asked[][2] = {
        {START, "{\"command\":\"true\"}"},
        {EXECUTE, "{\"command\":\"true\"}"},
        {"POST /api/bash/bash_commands/00000000000040008000000000000000/stop", ""},
        {"GET /api/bash/bash_events/search", NULL},
        {"GET /api/bash/bash_events/00000000000040008000000000000000", NULL},
        {"DELETE /api/bash/bash_events", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
        assert_answers(bench, asked[i][0], too_long, asked[i][1], 400, "detail",
                       "\"X-Deft-Scope is too long\"");
    assert_answers(bench, "GET /api/bash/bash_events", too_long, "[]", 422, "detail[0].loc",
                   "[\"body\"]");
    assert_answers(bench, EXECUTE, fits, "{\"command\":\"true\"}", 200, "exit_code", "0");
    assert_answers(bench, "GET /api/bash/bash_events/search", fits, NULL, 200, "items[1].exit_code",
                   "0");
}

/* Programs may hold its pipes: the end of the server must not wait for them. */
static void end_of_the_server_ends_commands(void **state)
{
    struct action_bench *bench = *state;

    assert_int_equal(strlen(start(bench, "{\"command\":\"echo $$ > pid; exec sleep 60\"}")), 32);
    bench_shell(bench, "while [ ! -s pid ]; do sleep 0.01; done");
    action_bench_restart(bench);
    bench_shell(bench, "while kill -0 $(cat pid) 2>/dev/null && "
                       "! grep -q '^State:.Z' /proc/$(cat pid)/status; do sleep 0.01; done");
    assert_answers(bench, "GET /api/bash/bash_events/search", "", NULL, 200, "items", "[]");
}

int bash_commands_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(output_and_exit_code_come_back),
        BENCH_TEST(silent_command_has_null_streams),
        BENCH_TEST(signal_is_a_negative_exit_code),
        BENCH_TEST(command_runs_in_its_folder_and_session),
        BENCH_TEST(folder_that_is_not_there_is_the_commands_error),
        BENCH_TEST(folder_outside_is_refused),
        BENCH_TEST(body_that_is_no_command_is_refused),
        BENCH_TEST(started_command_is_told_at_once),
        BENCH_TEST(command_that_takes_too_long_is_ended),
        BENCH_TEST(timeout_of_zero_is_none),
        BENCH_TEST(stopped_command_ends_with_its_signal),
        BENCH_TEST(command_that_ignores_the_stop_is_killed),
        BENCH_TEST(only_a_known_command_is_stopped),
        BENCH_TEST(running_commands_are_bounded),
        BENCH_TEST(command_outlives_its_client),
        BENCH_TEST(long_output_comes_in_several_events),
        BENCH_TEST(errors_come_in_several_events_too),
        BENCH_TEST(flood_of_output_is_cut),
        BENCH_TEST(passwords_are_masked),
        BENCH_TEST(scope_has_a_limit),
        BENCH_TEST(end_of_the_server_ends_commands),
    };

    return cmocka_run_group_tests_name("sandbox/bash_commands", tests, NULL, NULL);
}

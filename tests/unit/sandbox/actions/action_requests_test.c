/*
 * The routes of actions in a whole server: answers that are kept, waited for, and forgotten.
 */
#include "sandbox/actions/actions.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/actions/journal.h"
#include "sandbox/core/action_limits.h"
#include "unit/sandbox/actions/action_tests.h"
#include "unit/sandbox/terminal/terminal_calls.h"

#define BLOCK                                                                                      \
    "{\"tool\":\"terminal\",\"args\":{\"command\":\"while [ ! -e go ]; do sleep 0.01; done; echo " \
    "went\"}}"

static void answer_is_waited_for_and_kept(void **state)
{
    struct action_bench *bench = *state;
    int put = bench_send(bench, "PUT /actions/a1", CALLS_HEADERS, BLOCK);
    int again = bench_send(bench, "PUT /actions/a1", CALLS_HEADERS, BLOCK);
    int get = bench_send(bench, "GET /actions/a1?wait=1", CALLS_HEADERS, NULL);
    int clients[] = {put, again, get};
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;

    bench->server.last_action_ms = -1;
    assert_answers(bench, "GET /actions/a1", CALLS_HEADERS, NULL, 200, "",
                   "{\"state\":\"running\"}");
    assert_answers(bench, "GET /actions/a1?wait=0", CALLS_HEADERS, NULL, 200, "",
                   "{\"state\":\"running\"}");
    assert_answers(bench, "GET /actions/a2?wait=1", CALLS_HEADERS, NULL, 200, "",
                   "{\"state\":\"unknown\"}");
    assert_answers(bench, "PUT /actions/a1", CALLS_HEADERS,
                   "{\"tool\":\"terminal\",\"args\":{\"command\":\"other\"}}", 409, "detail",
                   "\"another action already has this id\"");
    assert_true(bench->server.last_action_ms > 0);
    bench->server.last_action_ms = -1;
    bench_write(bench, "go", "");
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, clients[i]);

        assert_reply(reply, 200, "observation." TEXT, "\"went\"");
        if (i == 0)
            strbuf_append(&first, reply.body.text);
        assert_string_equal(reply.body.text, first.text);
    }
    assert_true(bench->server.last_action_ms > 0);
    {
        CLEANUP(bench_reply_done) struct bench_reply kept =
            bench_ask(bench, "GET /actions/a1", CALLS_HEADERS, NULL);

        assert_string_equal(kept.body.text, first.text);
        assert_header(&kept, "content-type", "application/json");
    }
    /* Also by the next process. */
    action_bench_restart(bench);
    {
        CLEANUP(bench_reply_done) struct bench_reply kept =
            bench_ask(bench, "GET /actions/a1", CALLS_HEADERS, NULL);

        assert_string_equal(kept.body.text, first.text);
    }
}

static void action_that_a_restart_ended_is_told_as_interrupted(void **state)
{
    struct action_bench *bench = *state;
    int put = bench_send(bench, "PUT /actions/a1", CALLS_HEADERS, BLOCK);
    struct journal *left = NULL;

    assert_answers(bench, "GET /actions/a1", CALLS_HEADERS, NULL, 200, "state", "\"running\"");
    /* A process that is killed finishes nothing: its journal is read as it is. */
    left = bench->server.journal;
    bench->server.journal = journal_open("/none", "{}");
    action_bench_restart(bench);
    journal_close(left);
    fd_close(&put);
    assert_answers(bench, "GET /actions/a1", CALLS_HEADERS, NULL, 200, "",
                   "{\"state\":\"interrupted\",\"reason\":\"The sandbox server was restarted while "
                   "the action ran.\"}");
}

static void waiters_of_an_action_are_bounded(void **state)
{
    struct action_bench *bench = *state;
    int clients[MAX_WAITERS];

    clients[0] = bench_send(bench, "PUT /actions/a1", CALLS_HEADERS, BLOCK);
    for (size_t i = 1; i < MAX_WAITERS; i++)
        clients[i] = bench_send(bench, "GET /actions/a1?wait=1", CALLS_HEADERS, NULL);
    assert_answers(bench, "GET /actions/a1?wait=1", CALLS_HEADERS, NULL, 429, "detail",
                   "\"too many requests are waiting for this\"");
    /* One that has gone leaves its place. */
    fd_close(&clients[1]);
    assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    clients[1] = bench_send(bench, "GET /actions/a1?wait=1", CALLS_HEADERS, NULL);
    assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    bench_write(bench, "go", "");
    for (size_t i = 0; i < MAX_WAITERS; i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, clients[i]);

        assert_reply(reply, 200, "state", "\"finished\"");
    }
}

static void waiting_actions_are_bounded(void **state)
{
    struct action_bench *bench = *state;
    int clients[MAX_QUEUED_ACTIONS];

    for (size_t i = 0; i < MAX_QUEUED_ACTIONS; i++)
        clients[i] =
            bench_send(bench, bench_text(bench, "PUT /actions/a%zu", i), CALLS_HEADERS,
                       i == 0 ? BLOCK : "{\"tool\":\"terminal\",\"args\":{\"command\":\"true\"}}");
    assert_answers(bench, "PUT /actions/more", CALLS_HEADERS, BLOCK, 429, "detail",
                   "\"too many actions of this conversation are waiting\"");
    bench_write(bench, "go", "");
    for (size_t i = 0; i < MAX_QUEUED_ACTIONS; i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, clients[i]);

        assert_reply(reply, 200, "observation.exit_code", "0");
    }
}

/* The editor does not wait for the shell. */
static void edit_runs_beside_a_command(void **state)
{
    struct action_bench *bench = *state;
    int put = bench_send(bench, "PUT /actions/a1", CALLS_HEADERS, BLOCK);

    assert_answers(bench, "PUT /actions/e1", CALLS_HEADERS,
                   bench_text(bench,
                              "{\"tool\":\"file_editor\",\"args\":{\"command\":\"create\",\"path\":"
                              "\"%s/go\",\"file_text\":\"\"}}",
                              bench->workspace),
                   200, "observation.is_error", "false");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, put);

        assert_reply(reply, 200, "observation." TEXT, "\"went\"");
    }
}

static void forgotten_conversation_ends_its_command(void **state)
{
    struct action_bench *bench = *state;
    int put = bench_send(bench, "PUT /actions/a1", CALLS_HEADERS, BLOCK);

    assert_answers(bench, "GET /actions/a1", CALLS_HEADERS, NULL, 200, "state", "\"running\"");
    assert_answers(bench, "DELETE /conversations/" CALLS_CONVERSATION, "", "", 200, "",
                   "{\"success\":true}");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, put);

        assert_reply(reply, 200, "",
                     "{\"state\":\"interrupted\",\"reason\":\"The conversation's sandbox session "
                     "was ended.\"}");
    }
    assert_answers(bench, "GET /actions/a1", CALLS_HEADERS, NULL, 200, "state", "\"unknown\"");
    assert_answers(bench, "DELETE /conversations/x", "", "", 400, "detail",
                   "\"not a conversation id\"");
}

static void results_are_acknowledged(void **state)
{
    struct action_bench *bench = *state;
    static const char *const ids[] = {"a1", "a2", "a3"};
    const struct journal_entry *entry = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        assert_answers(bench, bench_text(bench, "PUT /actions/%s", ids[i]), CALLS_HEADERS,
                       "{\"tool\":\"terminal\",\"args\":{\"command\":\"true\"}}", 200, "state",
                       "\"finished\"");
    assert_answers(bench, "DELETE /actions/a1", "", NULL, 200, "", "{\"success\":true}");
    assert_answers(bench, "POST /actions/acknowledge", "", "{\"ids\":[\"none\",7,\"a2\"]}", 200, "",
                   "{\"success\":true}");
    assert_answers(bench, "POST /actions/acknowledge", "", "{\"ids\":7}", 400, "detail",
                   "\"ids must be a list\"");
    assert_answers(bench, "POST /actions/acknowledge", "", "{", 400, "success", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        entry = journal_find(bench->server.journal, ids[i]);
        assert_non_null(entry);
        assert_int_equal(entry->acknowledged, i < 2);
    }
}

static void repository_is_prepared_by_an_action(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, "PUT /actions/r1", CALLS_HEADERS,
                   bench_text(bench,
                              "{\"tool\":\"repository\",\"working_dir\":\"%s/new\",\"args\":{"
                              "\"step\":\"init\"}}",
                              bench->workspace),
                   200, "observation.branch", "\"main\"");
    assert_true(bench_has(bench, "new/.git/HEAD"));
    /* Only the step makes one. */
    assert_answers(bench, "PUT /actions/h1", CALLS_HEADERS,
                   bench_text(bench,
                              "{\"tool\":\"repository\",\"working_dir\":\"%s/other\",\"args\":{"
                              "\"step\":\"hooks\"}}",
                              bench->workspace),
                   200, "state", "\"finished\"");
    assert_false(bench_has(bench, "other"));
    assert_answers(bench, "PUT /actions/r2", CALLS_HEADERS,
                   "{\"tool\":\"repository\",\"args\":{\"step\":\"x\"}}", 400, "detail",
                   "\"args.step must be clone, init or hooks\"");
    assert_answers(bench, "PUT /actions/r3", CALLS_HEADERS,
                   "{\"tool\":\"terminal\",\"args\":{\"command\":\"true\"},\"env\":{\"a b\":\"\"}}",
                   400, "detail", "\"env must map variable names to strings\"");
}

/* git refuses to work in the files of another user, unless it is told that they are safe. */
static void folder_of_another_user_is_called_safe(void **state)
{
    struct action_bench *bench = *state;

    if (geteuid() != 0)
        skip();
    bench_shell(bench, "mkdir other; chown 12345 other");
    for (int i = 0; i < 2; i++)
        assert_answers(bench, bench_text(bench, "PUT /actions/r%d", i), CALLS_HEADERS,
                       bench_text(bench,
                                  "{\"tool\":\"repository\",\"working_dir\":\"%s/other\",\"args\":{"
                                  "\"step\":\"init\"}}",
                                  bench->workspace),
                       200, "observation.branch", "\"main\"");
    assert_string_equal(bench_shell_line(bench, "git config --global --get-all safe.directory"),
                        bench_path(bench, "other"));
    assert_string_equal(
        bench_shell_line(bench, "git config --global --get-all safe.directory | wc -l"), "1");
}

/* A file tool's result crosses two processes. */
static void large_result_of_a_file_tool_arrives(void **state)
{
    enum { SIZE_BYTES = 1024 * 1024 };

    struct action_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    char *text = mem_alloc(SIZE_BYTES);

    memset(text, 'x', SIZE_BYTES);
    bench_write_bytes(bench, "large", text, SIZE_BYTES);
    strbuf_append_char(&expected, '"');
    strbuf_append_bytes(&expected, text, SIZE_BYTES);
    strbuf_append_char(&expected, '"');
    mem_free(text);
    assert_answers(bench, "PUT /actions/w1", CALLS_HEADERS,
                   "{\"tool\":\"write_file\",\"args\":{\"file_path\":\"large\",\"content\":"
                   "\"y\"}}",
                   200, "observation.old_content", expected.text);
    assert_file(bench, "large", "y");
}

/* A retry would run it again. */
static void action_that_cannot_be_recorded_does_not_run(void **state)
{
    static const char body[] = "{\"tool\":\"terminal\",\"args\":{\"command\":\"echo >> ran\"}}";
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply refused = {0, STRBUF_INIT, STRBUF_INIT};
    struct rlimit limit = {0};
    struct rlimit none = {0};

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none.rlim_max = limit.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    refused = bench_ask(bench, "PUT /actions/a1", CALLS_HEADERS, body);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_reply(refused, 503, "detail", "\"writing the journal: File too large\"");
    assert_false(bench_has(bench, "ran"));
    assert_answers(bench, "GET /actions/a1", CALLS_HEADERS, NULL, 200, "",
                   "{\"state\":\"unknown\"}");
    assert_answers(bench, "PUT /actions/a1", CALLS_HEADERS, body, 200, "state", "\"finished\"");
    assert_file(bench, "ran", "\n");
}

int action_requests_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(answer_is_waited_for_and_kept),
        BENCH_TEST(action_that_a_restart_ended_is_told_as_interrupted),
        BENCH_TEST(action_that_cannot_be_recorded_does_not_run),
        BENCH_TEST(waiters_of_an_action_are_bounded),
        BENCH_TEST(waiting_actions_are_bounded),
        BENCH_TEST(edit_runs_beside_a_command),
        BENCH_TEST(forgotten_conversation_ends_its_command),
        BENCH_TEST(results_are_acknowledged),
        BENCH_TEST(repository_is_prepared_by_an_action),
        BENCH_TEST(folder_of_another_user_is_called_safe),
        BENCH_TEST(large_result_of_a_file_tool_arrives),
    };

    return cmocka_run_group_tests_name("sandbox/action_requests", tests, NULL, NULL);
}

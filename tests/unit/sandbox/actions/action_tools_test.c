/*
 * Which tool an action runs, what it may be given, and who may ask for it.
 */
#include "sandbox/actions/actions.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/actions/journal.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/git/credentials.h"
#include "unit/sandbox/actions/action_tests.h"
#include "unit/sandbox/terminal/terminal_calls.h"

#define OTHER_HEADERS                                                                              \
    "X-Deft-Conversation: 22222222-2222-4333-8444-555555555555\r\nX-Deft-Fence: 1\r\n"

static void each_tool_has_its_observation(void **state)
{
    static const struct {
        const char *tool;
        const char *args;
        const char *kind;
    } cases[] = {
        {"terminal", "{\"command\":\"true\"}", "\"TerminalObservation\""},
        {"file_editor", "{\"command\":\"view\",\"path\":\"/\"}", "\"FileEditorObservation\""},
        {"repository", "{\"step\":\"hooks\"}", "\"RepositoryObservation\""},
        {"browser_list_tabs", "{}", "\"BrowserObservation\""},
        {"glob", "{\"pattern\":\"*\"}", "\"GlobObservation\""},
        {"grep", "{\"pattern\":\"x\"}", "\"GrepObservation\""},
        {"read_file", "{}", "\"ReadFileObservation\""},
        {"write_file", "{}", "\"WriteFileObservation\""},
        {"edit", "{}", "\"EditObservation\""},
        {"list_directory", "{}", "\"ListDirectoryObservation\""},
        {"apply_patch", "{}", "\"ApplyPatchObservation\""},
    };
    struct action_bench *bench = *state;

    mem_free((char *)(uintptr_t)bench->config.browser);
    bench->config.browser = mem_dup_text("/none");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        bench->server.last_action_ms = -1;
        reply = bench_ask(
            bench, bench_text(bench, "PUT /actions/a%zu", i), CALLS_HEADERS,
            bench_text(bench, "{\"tool\":\"%s\",\"args\":%s}", cases[i].tool, cases[i].args));
        assert_reply(reply, 200, "state", "\"finished\"");
        assert_reply(reply, 200, "observation.kind", cases[i].kind);
        assert_true(bench->server.last_action_ms > 0);
    }
    assert_answers(bench, "GET /actions/a3", CALLS_HEADERS, NULL, 200, "observation." TEXT,
                   "\"This sandbox has no browser: no Chromium was found in its image.\"");
}

static void program_of_the_setting_is_the_browser(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "chromium", "#!/bin/sh\nexit 0\n");
    bench_shell(bench, "chmod +x chromium");
    mem_free((char *)(uintptr_t)bench->config.browser);
    bench->config.browser = mem_dup_text(bench_path(bench, "chromium"));
    assert_answers(bench, "PUT /actions/b1", CALLS_HEADERS,
                   "{\"tool\":\"browser_list_tabs\",\"args\":{}}", 200, "observation." TEXT,
                   "\"The browser failed (starting the browser: the browser has ended). The next "
                   "call restarts it; its tabs are lost.\"");
}

static void arguments_have_limits(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    static const struct {
        const char *begin;
        size_t n;
        const char *end;
        int status;
    } cases[] = {
        {"{\"tool\":\"terminal\",\"args\":{\"is_input\":true,\"command\":\"", MAX_COMMAND_BYTES,
         "\"}}", 200},
        {"{\"tool\":\"terminal\",\"args\":{\"is_input\":true,\"command\":\"", MAX_COMMAND_BYTES + 1,
         "\"}}", 400},
        /* {"a":"…"} */
        {"{\"tool\":\"browser_click\",\"args\":{\"a\":\"", MAX_BROWSER_ARGS_BYTES - 8, "\"}}", 200},
        {"{\"tool\":\"browser_click\",\"args\":{\"a\":\"", MAX_BROWSER_ARGS_BYTES - 7, "\"}}", 400},
    };

    mem_free((char *)(uintptr_t)bench->config.browser);
    bench->config.browser = mem_dup_text("/none");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        strbuf_reset(&body);
        strbuf_append(&body, cases[i].begin);
        for (size_t n = 0; n < cases[i].n; n++)
            strbuf_append_char(&body, 'x');
        strbuf_append(&body, cases[i].end);
        reply =
            bench_receive(bench, bench_send_bytes(bench, bench_text(bench, "PUT /actions/l%zu", i),
                                                  CALLS_HEADERS, &body));
        assert_int_equal(reply.status, cases[i].status);
    }
}

static void ids_have_a_limit(void **state)
{
    struct action_bench *bench = *state;
    char id[MAX_ACTION_ID_BYTES + 1];

    for (size_t len = MAX_ACTION_ID_BYTES - 1; len <= MAX_ACTION_ID_BYTES; len++) {
        memset(id, 'x', len);
        memcpy(id, "aZ09-_.:", 8);
        id[len] = '\0';
        assert_answers(bench, bench_text(bench, "PUT /actions/%s", id), CALLS_HEADERS,
                       "{\"tool\":\"terminal\",\"args\":{\"command\":\"true\"}}",
                       len < MAX_ACTION_ID_BYTES ? 200 : 400, "detail",
                       len < MAX_ACTION_ID_BYTES ? NULL : "\"not an action id\"");
    }
}

/* Ids are one conversation's: to others there is no such action. */
static void actions_are_their_conversations_own(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, "PUT /actions/a1", CALLS_HEADERS,
                   "{\"tool\":\"terminal\",\"args\":{\"command\":\"true\"}}", 200, "state",
                   "\"finished\"");
    assert_answers(bench, "GET /actions/a1", OTHER_HEADERS, NULL, 200, "",
                   "{\"state\":\"unknown\"}");
    assert_answers(bench, "PUT /actions/a1", OTHER_HEADERS,
                   "{\"tool\":\"terminal\",\"args\":{\"command\":\"true\"}}", 409, "detail",
                   "\"another conversation has this action id\"");
    assert_answers(bench, "DELETE /conversations/x", "", NULL, 400, "detail",
                   "\"not a conversation id\"");
    assert_answers(bench, "POST /actions/acknowledge", "", "{\"ids\":7}", 400, "detail",
                   "\"ids must be a list\"");
    assert_answers(bench, "POST /actions/acknowledge", "", "{", 400, "success", NULL);
    assert_answers(bench, "DELETE /actions/none", "", NULL, 200, "", "{\"success\":true}");
}

/* The folder of each action is there when it runs, whatever an earlier one has done to it. */
static void folder_of_an_action_is_made_when_it_is_missing(void **state)
{
    static const char *const folders[] = {"new/a", "new/b", "new/b"};
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        if (i > 0)
            bench_shell(bench, i == 1 ? "mkdir new/b" : "rm -rf new");
        assert_answers(bench, bench_text(bench, "PUT /actions/f%zu", i), CALLS_HEADERS,
                       bench_text(bench,
                                  "{\"tool\":\"list_directory\",\"working_dir\":\"%s/%s\","
                                  "\"args\":{\"dir_path\":\".\"}}",
                                  bench->workspace, folders[i]),
                       200, "observation.is_error", "false");
        assert_true(bench_has(bench, bench_text(bench, "%s/.git/HEAD", folders[i])));
    }
}

static void password_in_a_result_is_masked(void **state)
{
    struct action_bench *bench = *state;
    struct error err = ERROR_INIT;

    assert_int_equal(
        credentials_keep(bench->server.credentials,
                         &(struct credential_order){"https://host", "ann", "correct-horse", 60000},
                         &err),
        0);
    bench_write(bench, "file", "a correct-horse b");
    assert_answers(bench, "PUT /actions/r1", CALLS_HEADERS,
                   "{\"tool\":\"read_file\",\"args\":{\"file_path\":\"file\"}}", 200,
                   "observation." TEXT, "\"a <secret-hidden> b\"");
}

/* A clone whose server does not answer. */
static void interrupt_ends_the_preparation_of_a_repository(void **state)
{
    struct action_bench *bench = *state;
    int client = -1;

    bench_write(bench, "ssh",
                bench_text(bench, "#!/bin/sh\necho > %s/on\nexec sleep 60\n", bench->workspace));
    bench_shell(bench, "chmod +x ssh");
    assert_int_equal(setenv("GIT_SSH_COMMAND", bench_path(bench, "ssh"), 1), 0);
    client = bench_send(bench, "PUT /actions/c1", CALLS_HEADERS,
                        "{\"tool\":\"repository\",\"args\":{\"step\":\"clone\",\"url\":"
                        "\"git@host:/app\"}}");
    while (!bench_has(bench, "on"))
        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    (void)unsetenv("GIT_SSH_COMMAND");
    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", "", "", 200,
                   "success", "true");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, client);

        assert_reply(reply, 200, "observation." TEXT, "\"The work was interrupted\"");
        assert_reply(reply, 200, "observation.is_error", "true");
    }
}

/* One that does not answer. */
static void browser_runs_one_call_at_a_time(void **state)
{
    static const char body[] = "{\"tool\":\"browser_list_tabs\",\"args\":{}}";
    struct action_bench *bench = *state;
    int first = -1;
    int second = -1;

    bench_write(bench, "chromium",
                bench_text(bench, "#!/bin/sh\necho >> %s/on\nexec sleep 60\n", bench->workspace));
    bench_shell(bench, "chmod +x chromium");
    mem_free((char *)(uintptr_t)bench->config.browser);
    bench->config.browser = mem_dup_text(bench_path(bench, "chromium"));
    first = bench_send(bench, "PUT /actions/b1", CALLS_HEADERS, body);
    second = bench_send(bench, "PUT /actions/b2", CALLS_HEADERS, body);
    while (!bench_has(bench, "on") || journal_find(bench->server.journal, "b1") == NULL)
        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    assert_answers(bench, "GET /actions/b2", CALLS_HEADERS, NULL, 200, "state", "\"running\"");
    assert_null(journal_find(bench->server.journal, "b2"));
    assert_answers(bench, "POST /conversations/" CALLS_CONVERSATION "/interrupt", "", "", 200,
                   "success", "true");
    {
        CLEANUP(bench_reply_done) struct bench_reply ended = bench_receive(bench, first);
        CLEANUP(bench_reply_done) struct bench_reply waiting = bench_receive(bench, second);

        assert_reply(ended, 200, "observation." TEXT, "\"The call was interrupted.\"");
        assert_reply(waiting, 200, "state", "\"interrupted\"");
    }
}

int action_tools_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(each_tool_has_its_observation),
        BENCH_TEST(program_of_the_setting_is_the_browser),
        BENCH_TEST(arguments_have_limits),
        BENCH_TEST(ids_have_a_limit),
        BENCH_TEST(browser_runs_one_call_at_a_time),
        BENCH_TEST(folder_of_an_action_is_made_when_it_is_missing),
        BENCH_TEST(password_in_a_result_is_masked),
        BENCH_TEST(interrupt_ends_the_preparation_of_a_repository),
        BENCH_TEST(actions_are_their_conversations_own),
    };

    return cmocka_run_group_tests_name("sandbox/action_tools", tests, NULL, NULL);
}

/*
 * POST /execute_action: commands in one shell, one after another, and the small routes beside it.
 */
#include "sandbox/legacy/legacy_actions.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/git/credentials.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/legacy/legacy_tests.h"

#define EXECUTE "POST /execute_action"

static struct bench_reply act(struct action_bench *bench, const char *name, const char *args)
{
    return bench_ask(bench, EXECUTE, "",
                     bench_text(bench, "{\"action\":{\"action\":\"%s\",\"args\":%s}}", name, args));
}

static struct bench_reply run(struct action_bench *bench, const char *command)
{
    return act(bench, "run", bench_text(bench, "{\"command\":\"%s\"}", command));
}

static void command_is_observed(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        act(bench, "run", "{\"command\":\"echo out; (exit 3)\",\"hidden\":true}");

    assert_reply(reply, 200, "observation", "\"run\"");
    assert_reply(reply, 200, "content", "\"out\"");
    assert_reply(reply, 200, "message",
                 "\"Command `echo out; (exit 3)` executed with exit code 3.\"");
    assert_reply(reply, 200, "success", "false");
    assert_reply(reply, 200, "extras.command", "\"echo out; (exit 3)\"");
    assert_reply(reply, 200, "extras.hidden", "true");
    assert_reply(reply, 200, "extras.metadata.exit_code", "3");
    assert_reply(reply, 200, "extras.metadata.pid", "-1");
    assert_reply(reply, 200, "extras.metadata.working_dir",
                 bench_text(bench, "\"%s\"", bench->workspace));
    assert_reply(reply, 200, "extras.metadata.prefix", "\"\"");
    assert_reply(reply, 200, "extras.metadata.suffix",
                 "\"\\n[The command completed with exit code 3.]\"");
    {
        CLEANUP(bench_reply_done) struct bench_reply well = run(bench, "true");

        assert_reply(well, 200, "success", "true");
        assert_reply(well, 200, "extras.hidden", "false");
        assert_reply(well, 200, "content", "\"\"");
    }
}

static void shell_keeps_its_state(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply first = run(bench, "mkdir s; cd s; v=7");
    CLEANUP(bench_reply_done) struct bench_reply second = {0, STRBUF_INIT, STRBUF_INIT};

    assert_reply(first, 200, "success", "true");
    second = run(bench, "echo $v; pwd");
    assert_reply(second, 200, "content", bench_text(bench, "\"7\\n%s/s\"", bench->workspace));
}

/* A static command has a shell of its own, in the folder of the other one or in its own. */
static void static_command_has_its_own_shell(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply made = run(bench, "mkdir s t; cd s; v=7");
    CLEANUP(bench_reply_done) struct bench_reply own = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply there = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply shared = {0, STRBUF_INIT, STRBUF_INIT};

    assert_reply(made, 200, "success", "true");
    own = act(bench, "run", "{\"command\":\"pwd; echo -$v-; v=8\",\"is_static\":true}");
    assert_reply(own, 200, "content", bench_text(bench, "\"%s/s\\n--\"", bench->workspace));
    there = act(bench, "run",
                bench_text(bench, "{\"command\":\"pwd\",\"is_static\":true,\"cwd\":\"%s/t\"}",
                           bench->workspace));
    assert_reply(there, 200, "content", bench_text(bench, "\"%s/t\"", bench->workspace));
    shared = run(bench, "echo $v");
    assert_reply(shared, 200, "content", "\"7\"");
}

/* Only the terminal tool refuses what is more like a list than a command. */
static void literal_is_a_command(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = run(bench, "['a'");

    assert_reply(reply, 200, "extras.metadata.exit_code", "127");
}

static void several_commands_are_an_error(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = run(bench, "true\\nfalse");
    json_auto_t *body = json_loads(reply.body.text, 0, NULL);

    assert_reply(reply, 200, "observation", "\"error\"");
    assert_reply(reply, 200, "extras", "{\"error_id\":\"\"}");
    assert_int_equal(
        strncmp(json_text_or(body, "content", ""), "ERROR: Cannot execute multiple commands", 39),
        0);
    assert_string_equal(json_text_or(body, "message", ""), json_text_or(body, "content", "-"));
}

static void refusal_of_the_shell_is_an_observation(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        act(bench, "run", "{\"command\":\"x\",\"is_input\":true}");
    json_auto_t *body = json_loads(reply.body.text, 0, NULL);

    assert_reply(reply, 200, "observation", "\"run\"");
    assert_reply(reply, 200, "success", "false");
    assert_reply(reply, 200, "message", "\"Command `x` executed with exit code -1.\"");
    assert_int_equal(strncmp(json_text_or(body, "content", ""), "ERROR: ", 7), 0);
    assert_reply(reply, 200, "extras.metadata.exit_code", "-1");
    assert_reply(reply, 200, "extras.metadata.username", "null");
}

static void timeout_ends_the_wait(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_ask(bench, EXECUTE, "",
                  "{\"action\":{\"action\":\"run\",\"timeout\":1,\"args\":"
                  "{\"command\":\"echo a; cat\",\"blocking\":true}}}");
    CLEANUP(bench_reply_done) struct bench_reply typed = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply ended = {0, STRBUF_INIT, STRBUF_INIT};

    assert_reply(reply, 200, "content", "\"a\"");
    assert_reply(reply, 200, "extras.metadata.exit_code", "-1");
    typed = bench_ask(bench, EXECUTE, "",
                      "{\"action\":{\"action\":\"run\",\"timeout\":0.3,\"args\":"
                      "{\"command\":\"typed\",\"is_input\":true,\"blocking\":true}}}");
    assert_reply(typed, 200, "extras.metadata.exit_code", "-1");
    ended = act(bench, "run", "{\"command\":\"C-c\",\"is_input\":true}");
    assert_reply(ended, 200, "extras.metadata.exit_code", "130");
}

static void silence_ends_the_wait(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    mem_free((char *)(uintptr_t)bench->config.run_silence);
    bench->config.run_silence = mem_dup_text("1");
    reply = run(bench, "echo a; sleep 60");
    assert_reply(reply, 200, "content", "\"a\"");
    assert_reply(reply, 200, "extras.metadata.exit_code", "-1");
}

static void request_that_is_no_action_is_refused(void **state)
{
    struct action_bench *bench = *state;
    static const char *const invalid[] = {
        "{}",
        "{\"action\":[]}",
        "{\"action\":\"run\"}",
        "{\"action\":{}}",
        "{\"action\":{\"action\":7}}",
    };
    static const struct {
        const char *action;
        const char *detail;
    } failing[] = {
        {"{\"action\":\"other\"}", "\"Internal server error: unknown action 'other'\""},
        {"{\"action\":\"run\",\"args\":{}}", "\"Internal server error: args.command must be a "
                                             "string of at most 4194304 bytes\""},
        {"{\"action\":\"run\",\"args\":{\"command\":7}}",
         "\"Internal server error: args.command must be a string of at most 4194304 bytes\""},
        {"{\"action\":\"run_ipython\",\"args\":{}}",
         "\"Internal server error: args.code must be a string of at most 4194304 bytes\""},
        {"{\"action\":\"read\",\"args\":{}}", "\"Internal server error: path is missing\""},
        {"{\"action\":\"write\",\"args\":{\"path\":\"\"}}",
         "\"Internal server error: path is missing\""},
        {"{\"action\":\"edit\",\"args\":{\"path\":\"/x\",\"impl_source\":\"default\"}}",
         "\"Internal server error: impl_source must be oh_aci\""},
    };

    assert_answers(bench, EXECUTE, "", "{", 422, "detail", "\"Invalid request parameters\"");
    for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
        assert_answers(bench, EXECUTE, "", invalid[i], 422, "",
                       "{\"detail\":\"Invalid request parameters\",\"errors\":\"action must be an "
                       "object with an action type\"}");
    for (size_t i = 0; i < ARRAY_SIZE(failing); i++)
        assert_answers(bench, EXECUTE, "", bench_text(bench, "{\"action\":%s}", failing[i].action),
                       500, "detail", failing[i].detail);
}

static void browser_is_not_supported(void **state)
{
    struct action_bench *bench = *state;
    static const char *const names[] = {"browse", "browse_interactive"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = act(bench, names[i], "{}");

        assert_reply(
            reply, 200, "",
            "{\"observation\":\"error\",\"content\":\"Browser functionality is not "
            "supported or disabled.\",\"extras\":{\"error_id\":\"\"},\"message\":\"Browser "
            "functionality is not supported or disabled.\"}");
    }
}

static void actions_run_one_after_another(void **state)
{
    struct action_bench *bench = *state;
    int clients[MAX_QUEUED_ACTIONS];

    clients[0] = bench_send(bench, EXECUTE, "",
                            "{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"while [ ! -e "
                            "go ]; do sleep 0.01; done; echo 0\"}}}");
    for (size_t i = 1; i < MAX_QUEUED_ACTIONS; i++)
        clients[i] = bench_send(
            bench, EXECUTE, "",
            bench_text(bench,
                       "{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"echo %zu\"}}}", i));
    assert_answers(bench, EXECUTE, "", "{\"action\":{\"action\":\"browse\"}}", 429, "detail",
                   "\"too many actions are waiting\"");
    /* While an action runs the server is not idle. */
    assert_answers(bench, "GET /server_info", "", NULL, 200, "idle_time", "0.0");
    bench_write(bench, "go", "");
    for (size_t i = 0; i < MAX_QUEUED_ACTIONS; i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, clients[i]);

        assert_reply(reply, 200, "content", bench_text(bench, "\"%zu\"", i));
    }
    assert_false(legacy_actions_are_busy(bench->server.legacy));
}

static void action_outlives_its_client(void **state)
{
    struct action_bench *bench = *state;
    int client =
        bench_send(bench, EXECUTE, "",
                   "{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"sleep 0.2; v=7\"}}}");
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    while (!legacy_actions_are_busy(bench->server.legacy))
        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    fd_close(&client);
    reply = run(bench, "echo $v");
    assert_reply(reply, 200, "content", "\"7\"");
}

static void time_of_the_last_action_is_kept(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench->server.last_action_ms = -1;
    reply = run(bench, "true");
    assert_reply(reply, 200, "success", "true");
    assert_true(bench->server.last_action_ms >= bench->server.started_ms);
}

static void end_of_an_action_counts_as_well(void **state)
{
    struct action_bench *bench = *state;
    int client = bench_send(bench, EXECUTE, "",
                            "{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"echo > on; "
                            "while [ ! -e go ]; do sleep 0.01; done\"}}}");

    while (!bench_has(bench, "on"))
        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    bench->server.last_action_ms = -1;
    bench_write(bench, "go", "");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, client);

        assert_reply(reply, 200, "success", "true");
    }
    assert_true(bench->server.last_action_ms >= bench->server.started_ms);
}

static void passwords_are_masked_in_observations(void **state)
{
    struct action_bench *bench = *state;
    struct error err = ERROR_INIT;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_int_equal(
        credentials_keep(bench->server.credentials,
                         &(struct credential_order){.origin = "https://example.org",
                                                    .username = "ann",
                                                    .password = "correct-horse-battery",
                                                    .lifetime_ms = 1000},
                         &err),
        0);
    reply = run(bench, "echo correct-horse-battery");
    assert_int_equal(reply.status, 200);
    assert_null(strstr(reply.body.text, "correct-horse"));
}

static void waiting_actions_fail_with_the_end_of_the_server(void **state)
{
    struct action_bench *bench = *state;
    int client = bench_send(bench, EXECUTE, "",
                            "{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"cat\"}}}");

    while (!legacy_actions_are_busy(bench->server.legacy))
        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    legacy_actions_free(bench->server.legacy);
    bench->server.legacy = legacy_actions_new(&bench->server);
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, client);

        assert_reply(reply, 500, "detail",
                     "\"Internal server error: the server is shutting down\"");
    }
}

/* --- the small routes --- */

static void files_are_listed_after_folders(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply moved = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "mkdir b A .h; touch c B a .f; ln -s b link; ln -s none dead; touch b/x");
    assert_answers(bench, "POST /list_files", "", "{}", 200, "",
                   "[\".h/\",\"A/\",\"b/\",\"link/\",\".f\",\"a\",\"B\",\"c\",\"dead\"]");
    assert_answers(bench, "POST /list_files", "", "{\"path\":\"b\"}", 200, "", "[\"x\"]");
    assert_answers(bench, "POST /list_files", "",
                   bench_text(bench, "{\"path\":\"%s/b\"}", bench->workspace), 200, "", "[\"x\"]");
    assert_answers(bench, "POST /list_files", "", "{\"path\":\"none\"}", 200, "", "[]");
    assert_answers(bench, "POST /list_files", "", "{", 422, "detail",
                   "\"Invalid request parameters\"");
    /* Relative to the shell's folder. */
    moved = run(bench, "cd b");
    assert_answers(bench, "POST /list_files", "", "{}", 200, "", "[\"x\"]");
    assert_answers(bench, "POST /list_files", "", "{\"path\":\"../A\"}", 200, "", "[]");
}

static void there_is_no_editor_and_no_mcp_server(void **state)
{
    struct action_bench *bench = *state;
    static const char *const wrong[] = {"{", "{}", ""};

    assert_answers(bench, "GET /vscode/connection_token", "", NULL, 200, "", "{\"token\":null}");
    assert_answers(bench, "POST /update_mcp_server", "", "[]", 200, "",
                   "{\"detail\":\"No MCP server was started\",\"router_error_log\":\"\"}");
    assert_answers(bench, "POST /update_mcp_server", "", "[{}]", 200, "router_error_log",
                   "\"This server does not start MCP servers; start them with the conversation.\"");
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_answers(bench, "POST /update_mcp_server", "", wrong[i], 400, "detail",
                       "\"Request must be a list of MCP tools to sync\"");
}

int legacy_actions_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(command_is_observed),
        BENCH_TEST(shell_keeps_its_state),
        BENCH_TEST(static_command_has_its_own_shell),
        BENCH_TEST(literal_is_a_command),
        BENCH_TEST(several_commands_are_an_error),
        BENCH_TEST(refusal_of_the_shell_is_an_observation),
        BENCH_TEST(timeout_ends_the_wait),
        BENCH_TEST(silence_ends_the_wait),
        BENCH_TEST(request_that_is_no_action_is_refused),
        BENCH_TEST(browser_is_not_supported),
        BENCH_TEST(actions_run_one_after_another),
        BENCH_TEST(action_outlives_its_client),
        BENCH_TEST(time_of_the_last_action_is_kept),
        BENCH_TEST(end_of_an_action_counts_as_well),
        BENCH_TEST(passwords_are_masked_in_observations),
        BENCH_TEST(waiting_actions_fail_with_the_end_of_the_server),
        BENCH_TEST(files_are_listed_after_folders),
        BENCH_TEST(there_is_no_editor_and_no_mcp_server),
    };

    return cmocka_run_group_tests_name("sandbox/legacy_actions", tests, NULL, NULL);
}

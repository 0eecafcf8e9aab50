/*
 * Commands in the agent's shell: what is observed of them, and what the shell keeps.
 */
#include "sandbox/terminal/terminal.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/git/credentials.h"
#include "sandbox/terminal/terminal_text.h"
#include "unit/sandbox/terminal/terminal_calls.h"
#include "unit/sandbox/terminal/terminal_tests.h"

#define COMPLETED(code) "\"\\n[The command completed with exit code " code ".]\""

static void command_is_observed(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        call_terminal(bench, "{\"command\":\"  echo out; (exit 3) \"}", "");
    char host[256] = "";

    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    assert_reply(reply, 200, "state", "\"finished\"");
    assert_reply(reply, 200, "observation.content",
                 "[{\"type\":\"text\",\"text\":\"out\",\"cache_prompt\":false}]");
    assert_reply(reply, 200, "observation.is_error", "false");
    assert_reply(reply, 200, "observation.command", "\"  echo out; (exit 3) \"");
    assert_reply(reply, 200, "observation.exit_code", "3");
    assert_reply(reply, 200, "observation.timeout", "false");
    assert_reply(reply, 200, "observation.kind", "\"TerminalObservation\"");
    assert_reply(reply, 200, "observation.full_output_save_dir", NULL);
    assert_reply(reply, 200, "observation.metadata.exit_code", "3");
    assert_reply(reply, 200, "observation.metadata.pid", "-1");
    assert_reply(reply, 200, "observation.metadata.prefix", "\"\"");
    assert_reply(reply, 200, "observation.metadata.suffix", COMPLETED("3"));
    assert_reply(reply, 200, "observation.metadata.working_dir",
                 bench_text(bench, "\"%s\"", bench->workspace));
    assert_reply(reply, 200, "observation.timeout", "false");
    assert_reply(reply, 200, "observation.metadata.hostname", bench_text(bench, "\"%s\"", host));
    assert_reply(reply, 200, "observation.metadata.username",
                 bench_text(bench, "\"%s\"", bench_shell_line(bench, "id -un")));
}

static void interpreter_of_the_shell_is_named(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "mkdir bin none; echo > bin/python3; chmod +x bin/python3");
    assert_terminal(bench, "{\"command\":\"PATH=$PWD/none:/bin; true\"}", "exit_code", "0");
    assert_terminal(bench, "{\"command\":\"PATH=$PWD/none; true\"}", "metadata.py_interpreter_path",
                    "\"\"");
    assert_terminal(bench, "{\"command\":\"PATH=$PWD/bin; true\"}", "metadata.py_interpreter_path",
                    bench_text(bench, "\"%s/bin/python3\"", bench->workspace));
    bench_shell(bench, "cp bin/python3 bin/python");
    assert_terminal(bench, "{\"command\":\"true\"}", "metadata.py_interpreter_path",
                    bench_text(bench, "\"%s/bin/python\"", bench->workspace));
}

static void shell_keeps_its_state(void **state)
{
    struct action_bench *bench = *state;

    assert_terminal(bench, "{\"command\":\"mkdir d; cd d; v=7; f() { echo f$1; }\"}",
                    "metadata.working_dir", bench_text(bench, "\"%s/d\"", bench->workspace));
    assert_terminal(bench, "{\"command\":\"f $v; pwd; (exit 4)\"}", TEXT,
                    bench_text(bench, "\"f7\\n%s/d\"", bench->workspace));
    assert_terminal(bench, "{\"command\":\"echo $?\"}", TEXT, "\"4\"");
}

/* What a command makes of the terminal ends with it, but for the size. */
static void terminal_is_the_same_for_each_command(void **state)
{
    static const char show[] = "stty -a | grep -oE '\\<(intr|quit|erase|kill|eof|susp) = [^;]*'\n"
                               "stty -a | grep -oE -- '-?\\<(speed "
                               "[0-9]+|cs7|cs8|cread|icrnl|ixon|iutf8|opost|isig|icanon|"
                               "iexten|echo|echoctl|echok)\\>' | LC_ALL=C sort\n"
                               "stty size\n";
    static const char change[] =
        "stty intr ^A quit ^B erase ^E kill ^F eof ^G susp ^N 9600 -icrnl -ixon -iutf8 "
        "opost -isig -icanon -iexten echo -echoctl -echok\n";
    struct action_bench *bench = *state;

    bench_write(bench, "show", show);
    bench_write(bench, "change", change);
    for (int i = 0; i < 2; i++) {
        assert_terminal(bench, "{\"command\":\"sh show\"}", TEXT,
                        "\"intr = ^C\\nquit = ^\\\\\\nerase = ^?\\nkill = ^U\\neof = ^D\\n"
                        "susp = ^Z\\n-echo\\n-opost\\ncread\\ncs8\\nechoctl\\nechok\\nicanon\\n"
                        "icrnl\\niexten\\nisig\\niutf8\\nixon\\nspeed 38400\\n200 256\"");
        assert_terminal(bench, "{\"command\":\"sh change\"}", "exit_code", "0");
    }
}

static void shell_starts_in_the_folder_of_its_first_call(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply first =
        call_terminal(bench, "{\"command\":\"pwd\"}",
                      bench_text(bench, ",\"working_dir\":\"%s/new/d\"", bench->workspace));

    assert_reply(first, 200, "observation." TEXT,
                 bench_text(bench, "\"%s/new/d\"", bench->workspace));
    /* Made a repository, as every folder in which a conversation works. */
    assert_true(bench_has(bench, "new/d/.git/HEAD"));
    assert_false(bench_has(bench, ".git"));
    bench_write(bench, "file", "x");
    {
        CLEANUP(bench_reply_done) struct bench_reply reset =
            call_terminal(bench, "{\"command\":\"pwd\",\"reset\":true}",
                          bench_text(bench, ",\"working_dir\":\"%s/file/d\"", bench->workspace));

        assert_reply(reset, 200, "observation.is_error", "true");
    }
}

static void folder_that_cannot_be_made_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_write(bench, "file", "x");
    reply = call_terminal(bench, "{\"command\":\"pwd\"}",
                          bench_text(bench, ",\"working_dir\":\"%s/file/d\"", bench->workspace));
    assert_reply(reply, 200, "observation.is_error", "true");
    assert_reply(reply, 200, "observation.exit_code", NULL);
    assert_reply(reply, 200, "observation.command", "\"pwd\"");
    assert_reply(reply, 200, "observation.metadata.exit_code", "-1");
    assert_reply(reply, 200, "observation." TEXT,
                 bench_text(bench,
                            "\"The working directory cannot be created: %s/file is not a "
                            "directory\"",
                            bench->workspace));
}

static void variables_of_the_call_are_exported(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = call_terminal(
        bench, "{\"command\":\"env | grep ^DEFT_X\"}", ",\"env\":{\"DEFT_X\":\"it's $HOME\"}");

    assert_reply(reply, 200, "observation." TEXT, "\"DEFT_X=it's $HOME\"");
    assert_terminal(bench, "{\"command\":\"echo $DEFT_X\"}", TEXT, "\"it's $HOME\"");
}

static void multiline_input_of_one_command_runs(void **state)
{
    struct action_bench *bench = *state;

    assert_terminal(bench, "{\"command\":\"for i in 1 2; do\\n  echo $i\\ndone\"}", TEXT,
                    "\"1\\n2\"");
    assert_terminal(bench, "{\"command\":\"cat <<E\\na\\n\\nb\\nE\"}", TEXT, "\"a\\n\\nb\"");
    /* A syntax error leaves the shell usable. */
    assert_terminal(bench, "{\"command\":\"echo $(\"}", "is_error", "false");
    assert_terminal(bench, "{\"command\":\"echo on\"}", TEXT, "\"on\"");
}

static void command_that_cannot_run_is_refused(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *args;
        const char *text;
    } cases[] = {
        {"{\"command\":\"\"}", TERMINAL_TEXT_NOTHING_TO_READ},
        {"{\"command\":\" \"}", TERMINAL_TEXT_NOTHING_TO_READ},
        {"{\"command\":\"x\",\"is_input\":true}", TERMINAL_TEXT_NOTHING_TO_TYPE},
        {"{\"command\":\"\",\"is_input\":true}", TERMINAL_TEXT_NOTHING_TO_TYPE},
        {"{\"command\":\"x\",\"is_input\":true,\"reset\":true}", TERMINAL_TEXT_RESET_INPUT},
        {"{\"command\":\"['a']\"}", TERMINAL_TEXT_LITERAL},
        {"{\"command\":\"touch a\\ntouch b\"}",
         "Cannot execute multiple commands at once.\\nSend them one at a time, or join them with "
         "&& "
         "or ; on one line.\\nProvided commands:\\n(1) touch a\\n(2) touch b"},
    };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        /* Also where there is a shell. */
        if (i == ARRAY_SIZE(cases))
            assert_terminal(bench, "{\"command\":\"true\"}", "exit_code", "0");
        reply = call_terminal(bench, cases[i % ARRAY_SIZE(cases)].args, "");
        assert_reply(reply, 200, "observation." TEXT,
                     bench_text(bench, "\"%s\"", cases[i % ARRAY_SIZE(cases)].text));
        assert_reply(reply, 200, "observation.is_error", "true");
        assert_reply(reply, 200, "observation.exit_code", NULL);
        assert_reply(reply, 200, "observation.metadata",
                     "{\"exit_code\":-1,\"pid\":-1,\"prefix\":\"\",\"suffix\":\"\"}");
    }
    assert_false(bench_has(bench, "a"));
}

static void reset_begins_a_new_shell(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply alone = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply with = {0, STRBUF_INIT, STRBUF_INIT};

    assert_terminal(bench, "{\"command\":\"v=7; cd /\"}", "exit_code", "0");
    alone = call_terminal(bench, "{\"command\":\"\",\"reset\":true}", "");
    assert_reply(alone, 200, "observation." TEXT, "\"" TERMINAL_TEXT_RESET "\"");
    assert_reply(alone, 200, "observation.command", "\"[RESET]\"");
    assert_reply(alone, 200, "observation.exit_code", "0");
    assert_reply(alone, 200, "observation." SUFFIX, COMPLETED("0"));
    assert_reply(alone, 200, "observation.metadata.pid", "-1");
    assert_reply(alone, 200, "observation.metadata.working_dir",
                 bench_text(bench, "\"%s\"", bench->workspace));
    assert_terminal(bench, "{\"command\":\"echo -$v-\"}", TEXT, "\"--\"");
    with = call_terminal(bench, "{\"command\":\"v=8; echo new\",\"reset\":true}", "");
    assert_reply(with, 200, "observation." TEXT, "\"" TERMINAL_TEXT_RESET "\\n\\nnew\"");
    assert_reply(with, 200, "observation.command", "\"[RESET] v=8; echo new\"");
    assert_terminal(bench, "{\"command\":\"echo $v\"}", TEXT, "\"8\"");
}

static void shell_that_ends_is_replaced(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        call_terminal(bench, "{\"command\":\"v=7; echo a; exit 3\"}", "");
    CLEANUP(bench_reply_done) struct bench_reply killed = {0, STRBUF_INIT, STRBUF_INIT};

    assert_reply(reply, 200, "observation.exit_code", "3");
    assert_reply(reply, 200, "observation." TEXT, "\"a\\nexit\"");
    assert_reply(
        reply, 200, "observation." SUFFIX,
        "\"\\n[The command completed with exit code 3.]\\n[The shell itself has ended. The "
        "next command runs in a new one; variables, functions and the working directory "
        "are lost.]\"");
    assert_terminal(bench, "{\"command\":\"echo -$v-\"}", TEXT, "\"--\"");
    killed = call_terminal(bench, "{\"command\":\"kill -9 $$\"}", "");
    assert_reply(killed, 200, "observation.exit_code", "137");
    assert_terminal(bench, "{\"command\":\"echo on\"}", TEXT, "\"on\"");
}

/* A start-up file that ends the shell must not make the sandbox useless. */
static void start_up_file_that_ends_the_shell_is_skipped(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "../home/.bashrc", "exit 1\n");
    assert_terminal(bench, "{\"command\":\"echo on\"}", TEXT, "\"on\"");
    bench_write(bench, "../home/.bashrc", "v=rc\n");
    assert_terminal(bench, "{\"command\":\"echo $v\",\"reset\":true}", TEXT,
                    "\"" TERMINAL_TEXT_RESET "\\n\\n\"");
}

static void start_up_file_is_read(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "../home/.bashrc", "v=rc; echo hello\n");
    assert_terminal(bench, "{\"command\":\"echo $v\"}", TEXT, "\"rc\"");
}

static void long_output_is_cut_and_saved(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    json_auto_t *body = NULL;
    const json_t *part = NULL;

    mem_free((char *)(uintptr_t)bench->config.save_dir);
    bench->config.save_dir = mem_dup_text(bench_path(bench, "saved"));
    reply = call_terminal(bench, "{\"command\":\"seq 100000 109999\"}", "");
    body = json_loads(reply.body.text, 0, NULL);
    part = json_array_get(json_object_get(json_object_get(body, "observation"), "content"), 0);
    assert_in_range(json_string_length(json_object_get(part, "text")), 29000, 31000);
    assert_reply(reply, 200, "observation.full_output_save_dir",
                 bench_text(bench, "\"%s/saved\"", bench->workspace));
    assert_string_equal(bench_shell_line(bench, "cat saved/terminal_output_*.txt | wc -l"),
                        "10000");
    assert_string_equal(bench_shell_line(bench, "f=$(ls saved); h=$(sha256sum saved/$f); "
                                                "test $f = terminal_output_$(echo $h | cut -c 1-8)"
                                                ".txt && ls saved | wc -l"),
                        "1");
}

static void passwords_are_masked(void **state)
{
    struct action_bench *bench = *state;
    struct error err = ERROR_INIT;

    assert_int_equal(
        credentials_keep(bench->server.credentials,
                         &(struct credential_order){"https://host", "ann", "correct-horse", 60000},
                         &err),
        0);
    assert_terminal(bench, "{\"command\":\"echo a correct-horse b\"}", TEXT,
                    "\"a <secret-hidden> b\"");
}

int terminal_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(command_is_observed),
        BENCH_TEST(interpreter_of_the_shell_is_named),
        BENCH_TEST(shell_keeps_its_state),
        BENCH_TEST(terminal_is_the_same_for_each_command),
        BENCH_TEST(shell_starts_in_the_folder_of_its_first_call),
        BENCH_TEST(folder_that_cannot_be_made_is_an_error),
        BENCH_TEST(variables_of_the_call_are_exported),
        BENCH_TEST(multiline_input_of_one_command_runs),
        BENCH_TEST(command_that_cannot_run_is_refused),
        BENCH_TEST(reset_begins_a_new_shell),
        BENCH_TEST(shell_that_ends_is_replaced),
        BENCH_TEST(start_up_file_that_ends_the_shell_is_skipped),
        BENCH_TEST(start_up_file_is_read),
        BENCH_TEST(long_output_is_cut_and_saved),
        BENCH_TEST(passwords_are_masked),
    };

    return cmocka_run_group_tests_name("sandbox/terminal", tests, NULL, NULL);
}

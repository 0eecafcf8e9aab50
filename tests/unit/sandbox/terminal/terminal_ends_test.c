/*
 * Shells that end, do not start, or lose the connection over which they report.
 */
#include "sandbox/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "sandbox/terminal/terminal_text.h"
#include "unit/sandbox/terminal/terminal_calls.h"
#include "unit/sandbox/terminal/terminal_tests.h"

#define INTERRUPT "POST /conversations/" CALLS_CONVERSATION "/interrupt"
#define ENDED(code)                                                                                \
    "\"\\n[The command completed with exit code " code ".]\\n[The shell itself has ended. The "    \
    "next command runs in a new one; variables, functions and the working directory are lost.]\""
#define PREVIOUS "\"[Below is the output of the previous command.]\\n\""

/* Answers requests until the file of the workspace is there. */
static void await_file(struct action_bench *bench, const char *name)
{
    while (!bench_has(bench, name))
        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
}

/* Another shell's command, during which the server runs. */
static void run_elsewhere(struct action_bench *bench, const char *command)
{
    assert_answers(bench, "POST /api/bash/execute_bash_command", "",
                   bench_text(bench, "{\"command\":\"%s\"}", command), 200, "exit_code", "0");
}

static void shell_that_ends_between_calls_is_told_later(void **state)
{
    struct action_bench *bench = *state;

    for (int i = 0; i < 2; i++) {
        CLEANUP(bench_reply_done) struct bench_reply rest = {0, STRBUF_INIT, STRBUF_INIT};

        assert_terminal(bench,
                        "{\"command\":\"v=7; echo $$ > pid; while [ ! -e go ]; do sleep 0.01; "
                        "done; echo b; exit 3\",\"timeout\":0}",
                        "exit_code", "-1");
        run_elsewhere(bench, "while [ ! -e pid ]; do sleep 0.01; done; echo > go; "
                             "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done");
        /* A new command runs in a new shell; an empty one reads the end. */
        if (i == 1)
            assert_terminal(bench, "{\"command\":\"echo -$v-\"}", TEXT, "\"--\"");
        rest = call_terminal(bench, "{\"command\":\"\"}", "");
        if (i == 0) {
            assert_reply(rest, 200, "observation." TEXT, "\"b\\nexit\"");
            assert_reply(rest, 200, "observation.exit_code", "3");
            assert_reply(rest, 200, "observation.metadata.prefix", PREVIOUS);
            assert_reply(rest, 200, "observation." SUFFIX, ENDED("3"));
        } else {
            assert_reply(rest, 200, "observation." TEXT, "\"" TERMINAL_TEXT_NOTHING_TO_READ "\"");
        }
        assert_terminal(bench, "{\"command\":\"echo -$v-; rm go pid\"}", TEXT, "\"--\"");
    }
}

static void job_that_prints_does_not_hold_the_end_of_its_shell(void **state)
{
    struct action_bench *bench = *state;

    assert_terminal(bench, "{\"command\":\"yes & sleep 0.1; exit 3\"}", "exit_code", "3");
    assert_terminal(bench, "{\"command\":\"echo on\"}", TEXT, "\"on\"");
}

/* The next one needs its folder, as the first did. */
static void shell_after_an_ended_one_needs_its_folder(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_write(bench, "file", "x");
    assert_terminal(bench,
                    "{\"command\":\"echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; "
                    "exit\",\"timeout\":0}",
                    "exit_code", "-1");
    run_elsewhere(bench, "while [ ! -e pid ]; do sleep 0.01; done; echo > go; "
                         "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done");
    reply = call_terminal(bench, "{\"command\":\"pwd\"}",
                          bench_text(bench, ",\"working_dir\":\"%s/file/d\"", bench->workspace));
    assert_reply(reply, 200, "observation." TEXT,
                 bench_text(bench,
                            "\"The working directory cannot be created: %s/file is not a "
                            "directory\"",
                            bench->workspace));
}

static void shell_that_ends_at_its_prompt_is_replaced(void **state)
{
    struct action_bench *bench = *state;

    assert_terminal(bench, "{\"command\":\"v=7; echo $$ > pid\"}", "exit_code", "0");
    run_elsewhere(bench, "kill -9 $(cat pid); "
                         "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done");
    assert_terminal(bench, "{\"command\":\"\"}", TEXT, "\"" TERMINAL_TEXT_NOTHING_TO_READ "\"");
    assert_terminal(bench, "{\"command\":\"echo -$v-\"}", TEXT, "\"--\"");
}

/* With its start-up files, then without. */
static void shell_that_does_not_start_is_tried_twice(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_write(bench, "bash",
                bench_text(bench, "#!/bin/sh\necho \"$@\" >>%s/args\nexit 7\n", bench->workspace));
    bench_shell(bench, "chmod +x bash");
    assert_int_equal(setenv("SHELL", bench_path(bench, "bash"), 1), 0);
    reply = call_terminal(bench, "{\"command\":\"echo on\"}", "");
    assert_reply(reply, 200, "observation.exit_code", "7");
    assert_reply(reply, 200, "observation." SUFFIX, ENDED("7"));
    assert_file(bench, "args", "--noediting -i -i\n--noediting --norc -i\n");
}

static void interrupt_ends_a_start(void **state)
{
    struct action_bench *bench = *state;
    int waiting = 0;

    bench_write(bench, "../home/.bashrc",
                bench_text(bench, "echo > %s/starts; sleep 60\n", bench->workspace));
    waiting = call_begin(bench, "{\"command\":\"echo > ran\"}", "");
    await_file(bench, "starts");
    assert_answers(bench, INTERRUPT, "", "", 200, "success", "true");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, waiting);

        assert_reply(reply, 200, "observation.exit_code", "130");
        assert_reply(reply, 200, "observation.is_error", "true");
        assert_reply(reply, 200, "observation." TEXT, "\"\"");
        assert_reply(reply, 200, "observation." SUFFIX,
                     "\"\\n[The command completed with exit code 130. CTRL+C was sent.]\"");
    }
    bench_write(bench, "../home/.bashrc", "");
    assert_terminal(bench, "{\"command\":\"echo on\"}", TEXT, "\"on\"");
    assert_false(bench_has(bench, "ran"));
}

/* Descriptor 61 is the pipe of its records: then only the marker tells the end of a command. */
static void shell_that_closes_its_descriptors_goes_on(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_terminal(bench, "{\"command\":\"sleep 60 61>&- >/dev/null 2>&1 &\"}", "exit_code", "0");
    reply = call_terminal(bench, "{\"command\":\"exec 61>&-; echo a\"}", "");
    assert_reply(reply, 200, "observation." TEXT, "\"a\"");
    assert_reply(reply, 200, "observation.metadata.pid", "-1");
    assert_reply(reply, 200, "observation." SUFFIX,
                 "\"\\n[The command completed but the exit code could not be determined.]\"");
    assert_terminal(bench, "{\"command\":\"echo b\"}", TEXT, "\"b\"");
    assert_terminal(bench, "{\"command\":\"echo c\"}", SUFFIX,
                    "\"\\n[The command completed but the exit code could not be determined.]\"");
}

/* Descriptor 62 is the terminal on which the marker is printed: the record alone tells the end. */
static void shell_without_its_terminal_goes_on(void **state)
{
    struct action_bench *bench = *state;

    assert_terminal(bench, "{\"command\":\"exec 62>&-; echo a; (exit 3)\"}", "exit_code", "3");
    assert_terminal(bench, "{\"command\":\"echo b\"}", TEXT, "\"b\"");
}

static void reset_forgets_a_running_command(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reset = {0, STRBUF_INIT, STRBUF_INIT};

    assert_terminal(bench, "{\"command\":\"echo a; sleep 60\",\"timeout\":0.5}", "exit_code", "-1");
    reset = call_terminal(bench, "{\"command\":\"echo b\",\"reset\":true}", "");
    assert_reply(reset, 200, "observation." TEXT, "\"" TERMINAL_TEXT_RESET "\\n\\nb\"");
    assert_reply(reset, 200, "observation.metadata.prefix", "\"\"");
    assert_reply(reset, 200, "observation.exit_code", "0");
}

/* A key that ended a command is not told of the next one. */
static void key_is_told_of_its_command_alone(void **state)
{
    struct action_bench *bench = *state;

    assert_terminal(bench, "{\"command\":\"sleep 60\",\"timeout\":0.3}", "exit_code", "-1");
    assert_terminal(bench, "{\"command\":\"C-c\",\"is_input\":true}", SUFFIX,
                    "\"\\n[The command completed with exit code 130. CTRL+C was sent.]\"");
    assert_terminal(bench, "{\"command\":\"sleep 60\",\"timeout\":0.3}", "exit_code", "-1");
    assert_terminal(bench, "{\"command\":\"C-c\",\"is_input\":true}", "exit_code", "130");
    assert_terminal(bench, "{\"command\":\"\",\"reset\":true}", SUFFIX,
                    "\"\\n[The command completed with exit code 0.]\"");
}

int terminal_ends_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(shell_that_ends_between_calls_is_told_later),
        BENCH_TEST(shell_after_an_ended_one_needs_its_folder),
        BENCH_TEST(job_that_prints_does_not_hold_the_end_of_its_shell),
        BENCH_TEST(shell_that_ends_at_its_prompt_is_replaced),
        BENCH_TEST(shell_that_does_not_start_is_tried_twice),
        BENCH_TEST(interrupt_ends_a_start),
        BENCH_TEST(shell_that_closes_its_descriptors_goes_on),
        BENCH_TEST(shell_without_its_terminal_goes_on),
        BENCH_TEST(reset_forgets_a_running_command),
        BENCH_TEST(key_is_told_of_its_command_alone),
    };

    return cmocka_run_group_tests_name("sandbox/terminal_ends", tests, NULL, NULL);
}

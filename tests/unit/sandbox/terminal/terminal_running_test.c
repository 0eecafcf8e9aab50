/*
 * Commands that outlast their call: waiting, typing, interrupting, background jobs.
 */
#include "sandbox/terminal/terminal.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/terminal/terminal_text.h"
#include "unit/sandbox/terminal/terminal_calls.h"
#include "unit/sandbox/terminal/terminal_tests.h"

enum { LATE_MS = 20000, LONG_JOB_WAIT_MS = 50000 };

#define INTERRUPT "POST /conversations/" CALLS_CONVERSATION "/interrupt"
#define PREVIOUS "\"[Below is the output of the previous command.]\\n\""

static void assert_suffix_begins(const struct bench_reply *reply, const char *begin)
{
    json_auto_t *body = json_loads(reply->body.text, 0, NULL);
    const json_t *metadata = json_object_get(json_object_get(body, "observation"), "metadata");
    const char *suffix = json_text_or(metadata, "suffix", "");

    if (strncmp(suffix, begin, strlen(begin)) != 0)
        fail_msg("%s", suffix);
}

static void command_goes_on_after_its_timeout(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply first = call_terminal(
        bench,
        "{\"command\":\"echo a; while [ ! -e go ]; do sleep 0.01; done; echo b\",\"timeout\":2}",
        "");
    CLEANUP(bench_reply_done) struct bench_reply busy = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply rest = {0, STRBUF_INIT, STRBUF_INIT};

    assert_reply(first, 200, "observation." TEXT, "\"a\"");
    assert_reply(first, 200, "observation.exit_code", "-1");
    assert_reply(first, 200, "observation.is_error", "false");
    assert_reply(first, 200, "observation.metadata.prefix", "\"\"");
    assert_reply(first, 200, "observation.metadata.pid", "-1");
    assert_reply(first, 200, "observation.metadata.username", NULL);
    assert_suffix_begins(&first, "\n[The command timed out after 2.0 seconds. ");
    busy = call_terminal(bench, "{\"command\":\"echo other\"}", "");
    assert_reply(busy, 200, "observation.is_error", "true");
    assert_reply(busy, 200, "observation.exit_code", "-1");
    assert_reply(busy, 200, "observation.command", "\"echo other\"");
    assert_reply(busy, 200, "observation.metadata.prefix", PREVIOUS);
    assert_suffix_begins(&busy, "\n[Your command \"echo other\" is NOT executed. ");
    bench_write(bench, "go", "");
    rest = call_terminal(bench, "{\"command\":\"\"}", "");
    assert_reply(rest, 200, "observation." TEXT, "\"b\"");
    assert_reply(rest, 200, "observation.exit_code", "0");
    assert_reply(rest, 200, "observation.metadata.prefix", PREVIOUS);
    assert_terminal(bench, "{\"command\":\"echo c\"}", "metadata.prefix", "\"\"");
}

static void end_between_calls_is_read_later(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply first =
        call_terminal(bench, "{\"command\":\"sleep 0.2; echo b; (exit 3)\",\"timeout\":0}", "");
    CLEANUP(bench_reply_done) struct bench_reply rest = {0, STRBUF_INIT, STRBUF_INIT};

    assert_suffix_begins(&first, "\n[The command timed out after 0.0 seconds. ");
    /* Long enough for it to have ended, as seen by another conversation's shell. */
    assert_answers(bench, "POST /api/bash/execute_bash_command", "", "{\"command\":\"sleep 0.6\"}",
                   200, "exit_code", "0");
    rest = call_terminal(bench, "{\"command\":\"\"}", "");
    assert_reply(rest, 200, "observation." TEXT, "\"b\"");
    assert_reply(rest, 200, "observation.exit_code", "3");
    assert_terminal(bench, "{\"command\":\"\"}", TEXT, "\"" TERMINAL_TEXT_NOTHING_TO_READ "\"");
}

static void silence_ends_the_wait(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply patient = {0, STRBUF_INIT, STRBUF_INIT};

    bench->config.no_change_ms = 2000;
    reply = call_terminal(
        bench, "{\"command\":\"for i in 1 2 3; do sleep 0.9; echo $i; done; sleep 60\"}", "");
    assert_reply(reply, 200, "observation." TEXT, "\"1\\n2\\n3\"");
    assert_suffix_begins(&reply, "\n[The command has no new output after 2 seconds. ");
    assert_terminal(bench, "{\"command\":\"C-c\",\"is_input\":true}", "exit_code", "130");
    /* A timeout waits in silence. */
    patient = call_terminal(bench, "{\"command\":\"sleep 2.2; echo on\",\"timeout\":60}", "");
    assert_reply(patient, 200, "observation." TEXT, "\"on\"");
}

static void program_is_typed_to(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply asked =
        call_terminal(bench, "{\"command\":\"read x; echo got $x\",\"timeout\":0.3}", "");
    CLEANUP(bench_reply_done) struct bench_reply typed = {0, STRBUF_INIT, STRBUF_INIT};

    assert_reply(asked, 200, "observation.exit_code", "-1");
    typed = call_terminal(bench, "{\"command\":\"some text\",\"is_input\":true}", "");
    assert_reply(typed, 200, "observation." TEXT, "\"got some text\"");
    assert_reply(typed, 200, "observation.command", "\"some text\"");
    /* A program that repeats its input shows it once too often. */
    assert_terminal(bench, "{\"command\":\"read x; echo $x; echo b\",\"timeout\":0.3}", "exit_code",
                    "-1");
    assert_terminal(bench, "{\"command\":\"a\",\"is_input\":true}", TEXT, "\"b\"");
    /* What the next one prints is no repetition. */
    assert_terminal(bench, "{\"command\":\"echo a\"}", TEXT, "\"a\"");
}

/* More than the terminal takes at once. */
static void long_input_is_typed_whole(void **state)
{
    enum { INPUT_BYTES = 20000 };

    struct action_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    const char *sum = NULL;

    for (int i = 0; input.len < INPUT_BYTES; i++)
        strbuf_appendf(&input, "%d,", i);
    strbuf_truncate(&input, INPUT_BYTES);
    bench_write(bench, "input", input.text);
    sum = bench_shell_line(bench, "cksum < input");
    assert_terminal(bench,
                    bench_text(bench,
                               "{\"command\":\"stty -icanon; head -c %d | cksum\",\"timeout\":0.3}",
                               INPUT_BYTES),
                    "exit_code", "-1");
    strbuf_appendf(&body,
                   "{\"tool\":\"terminal\",\"args\":{\"command\":\"%s\",\"is_input\":true,"
                   "\"timeout\":60}}",
                   input.text);
    assert_answers(bench, "PUT /actions/i1", CALLS_HEADERS, body.text, 200, "observation." TEXT,
                   bench_text(bench, "\"%s\"", sum));
}

static void keys_are_typed_without_a_line_end(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *key;
        const char *suffix;
    } cases[] = {
        {"C-c", "\n[The command completed with exit code 130. CTRL+C was sent.]"},
        {"C-d", "\n[The command completed with exit code 0. CTRL+D was sent.]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        assert_terminal(bench, "{\"command\":\"cat\",\"timeout\":0.3}", "exit_code", "-1");
        reply = call_terminal(
            bench, bench_text(bench, "{\"command\":\"%s\",\"is_input\":true}", cases[i].key), "");
        assert_suffix_begins(&reply, cases[i].suffix);
    }
    assert_terminal(bench, "{\"command\":\"echo on\"}", SUFFIX,
                    "\"\\n[The command completed with exit code 0.]\"");
}

static void foreground_timeout_is_capped(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    json_auto_t *body = NULL;
    const json_t *part = NULL;

    mem_free((char *)(uintptr_t)bench->config.idle_timeout);
    bench->config.idle_timeout = mem_dup_text("100");
    assert_terminal(bench, "{\"command\":\"true\",\"timeout\":90}", "exit_code", "0");
    reply = call_terminal(bench, "{\"command\":\"true\",\"timeout\":90.5}", "");
    body = json_loads(reply.body.text, 0, NULL);
    part = json_array_get(json_object_get(json_object_get(body, "observation"), "content"), 0);
    assert_true(text_starts_with(json_text_or(part, "text", ""),
                                 "The command was not executed: its timeout of 90.5 seconds is too "
                                 "long for this sandbox, which is stopped after 100.0 seconds "
                                 "without activity. The longest timeout is 90.0 seconds. "));
    /* Reading and typing have no cap. */
    assert_terminal(bench, "{\"command\":\"\",\"timeout\":91}", TEXT,
                    "\"" TERMINAL_TEXT_NOTHING_TO_READ "\"");
    assert_terminal(bench, "{\"command\":\"x\",\"is_input\":true,\"timeout\":91}", TEXT,
                    "\"" TERMINAL_TEXT_NOTHING_TO_TYPE "\"");
}

static void first_output_of_a_background_job_is_waited_for(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    json_auto_t *body = NULL;
    json_t *metadata = NULL;
    int64_t begun_ms = clock_monotonic_ms();

    bench->config.job_wait_ms = LONG_JOB_WAIT_MS;
    reply = call_terminal(
        bench, "{\"command\":\"set +m; (sleep 1.2; echo pr$((0))nted; sleep 60) &\"}", "");
    assert_true(clock_monotonic_ms() - begun_ms < LONG_JOB_WAIT_MS);
    body = json_loads(reply.body.text, 0, NULL);
    metadata = json_object_get(json_object_get(body, "observation"), "metadata");
    assert_reply(reply, 200, "observation.exit_code", "0");
    assert_non_null(strstr(reply.body.text, "pr0nted"));
    assert_true(json_int_or(metadata, "pid", -1) > 1);
    assert_terminal(bench, "{\"command\":\"kill -0 $!\"}", "exit_code", "0");
}

static void output_of_a_job_may_be_its_complaint(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench->config.job_wait_ms = LONG_JOB_WAIT_MS;
    reply = call_terminal(
        bench, "{\"command\":\"set +m; (sleep 0.2; echo n$((0)) >&2; sleep 60) >/dev/null &\"}",
        "");
    assert_reply(reply, 200, "observation.exit_code", "0");
    assert_non_null(strstr(reply.body.text, "n0"));
}

static void job_that_redirects_its_output_late_is_not_waited_for(void **state)
{
    struct action_bench *bench = *state;
    int64_t begun_ms = clock_monotonic_ms();

    bench->config.job_wait_ms = LONG_JOB_WAIT_MS;
    assert_terminal(bench,
                    "{\"command\":\"set +m; (sleep 0.3; exec >/dev/null 2>&1; exec sleep 60) &\"}",
                    "exit_code", "0");
    assert_true(clock_monotonic_ms() - begun_ms < LONG_JOB_WAIT_MS);
}

/* One that prints again and again is not waited for longer. */
static void job_that_prints_without_end_is_left_alone(void **state)
{
    struct action_bench *bench = *state;

    assert_terminal(bench, "{\"command\":\"(while :; do echo x; sleep 0.01; done) &\"}",
                    "exit_code", "0");
    assert_terminal(bench, "{\"command\":\"kill %1\"}", "exit_code", "0");
}

static void later_output_of_a_job_is_read_by_an_empty_command(void **state)
{
    struct action_bench *bench = *state;

    assert_terminal(bench,
                    "{\"command\":\"(while [ ! -e go ]; do sleep 0.01; done; echo job;"
                    " echo > done; sleep 60) &\"}",
                    "exit_code", "0");
    assert_terminal(bench, "{\"command\":\"\"}", "is_error", "true");
    bench_write(bench, "go", "");
    bench_shell(bench, "while [ ! -e done ]; do sleep 0.01; done");
    assert_terminal(bench, "{\"command\":\"\"}", TEXT, "\"job\"");
}

/* Neither silence nor the call's timeout ends that wait: the command itself has ended. */
static void wait_for_a_job_has_its_own_limit(void **state)
{
    struct action_bench *bench = *state;

    bench->config.no_change_ms = 600;
    assert_terminal(bench, "{\"command\":\"set +m; sleep 60 &\"}", "exit_code", "0");
    assert_terminal(bench, "{\"command\":\"sleep 60 &\",\"timeout\":0.6}", "exit_code", "0");
}

/* --- interrupts --- */

/* Answers requests until the file of the workspace is there. */
static void await_file(struct action_bench *bench, const char *name)
{
    while (!bench_has(bench, name))
        assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
}

static void interrupt_ends_the_command_and_those_that_wait(void **state)
{
    struct action_bench *bench = *state;
    int running = call_begin(bench, "{\"command\":\"echo > on; sleep 60\"}", "");
    int waiting = call_begin(bench, "{\"command\":\"echo > off\"}", "");

    await_file(bench, "on");
    assert_answers(bench, INTERRUPT, "", "", 200, "", "{\"success\":true}");
    {
        CLEANUP(bench_reply_done) struct bench_reply first = bench_receive(bench, running);
        CLEANUP(bench_reply_done) struct bench_reply second = bench_receive(bench, waiting);

        assert_reply(first, 200, "observation.exit_code", "130");
        assert_suffix_begins(&first,
                             "\n[The command completed with exit code 130. CTRL+C was sent.]");
        assert_reply(second, 200, "",
                     "{\"state\":\"interrupted\",\"reason\":\"The action was interrupted before it "
                     "ran.\"}");
    }
    assert_false(bench_has(bench, "off"));
    assert_terminal(bench, "{\"command\":\"echo on\"}", TEXT, "\"on\"");
}

/* Ctrl-C, then SIGTERM, then SIGKILL. */
static void command_that_ignores_interrupts_is_ended(void **state)
{
    static const struct {
        const char *traps;
        const char *code;
    } cases[] = {{"INT", "143"}, {"INT TERM", "137"}};
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int running = call_begin(
            bench,
            bench_text(bench,
                       "{\"command\":\"sh -c \\\"trap '' %s; echo > on; while :; do sleep 0.05; "
                       "done\\\"\"}",
                       cases[i].traps),
            "");

        await_file(bench, "on");
        assert_answers(bench, INTERRUPT, "", "", 200, "success", "true");
        {
            CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, running);

            assert_reply(reply, 200, "observation.exit_code", cases[i].code);
        }
        bench_shell(bench, "rm on");
    }
    assert_terminal(bench, "{\"command\":\"echo on\"}", TEXT, "\"on\"");
}

/* The presses of Ctrl-C that an interrupt began end with its shell, and begin anew in the next. */
static void reset_ends_an_interrupt(void **state)
{
    struct action_bench *bench = *state;
    int running = -1;

    assert_terminal(bench,
                    "{\"command\":\"sh -c \\\"trap '[ -e one ] && echo > two; echo > one' INT; "
                    "echo > on; while :; do sleep 0.05; done\\\"\",\"timeout\":0}",
                    "exit_code", "-1");
    await_file(bench, "on");
    assert_answers(bench, INTERRUPT, "", "", 200, "success", "true");
    await_file(bench, "two");
    assert_terminal(bench, "{\"command\":\"sleep 0.5; echo on\",\"reset\":true}", "exit_code", "0");
    running = call_begin(bench,
                         "{\"command\":\"sh -c \\\"trap '' INT; echo > again; "
                         "while :; do sleep 0.05; done\\\"\"}",
                         "");
    await_file(bench, "again");
    assert_answers(bench, INTERRUPT, "", "", 200, "success", "true");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, running);

        assert_reply(reply, 200, "observation.exit_code", "143");
    }
}

/* It does not end with the time at which the wait would have ended. */
static void command_after_an_interrupted_wait_runs_to_its_end(void **state)
{
    struct action_bench *bench = *state;
    int waiting = call_begin(bench, "{\"command\":\"set +m; echo > on; sleep 60 &\"}", "");

    await_file(bench, "on");
    /* By then the shell has its prompt again. */
    assert_answers(bench, "POST /api/bash/execute_bash_command", "", "{\"command\":\"true\"}", 200,
                   "exit_code", "0");
    assert_answers(bench, INTERRUPT, "", "", 200, "success", "true");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, waiting);

        assert_reply(reply, 200, "state", "\"finished\"");
    }
    assert_terminal(bench, "{\"command\":\"sleep 0.95; echo b\"}", TEXT, "\"b\"");
}

/* A user who asks again and again does not postpone the end. */
static void repeated_interrupts_end_the_command(void **state)
{
    struct action_bench *bench = *state;
    int running =
        bench_send(bench, "PUT /actions/a1", CALLS_HEADERS,
                   "{\"tool\":\"terminal\",\"args\":{\"command\":\"sh -c \\\"trap '' INT; "
                   "echo > on; while :; do sleep 0.05; done\\\"\"}}");
    int64_t end_ms = 0;
    bool is_running = true;

    await_file(bench, "on");
    end_ms = clock_monotonic_ms() + LATE_MS;
    while (is_running) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        assert_true(clock_monotonic_ms() < end_ms);
        assert_answers(bench, INTERRUPT, "", "", 200, "success", "true");
        reply = bench_ask(bench, "GET /actions/a1", CALLS_HEADERS, NULL);
        is_running = strstr(reply.body.text, "running") != NULL;
    }
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, running);

        /* One of them may reach the shell before it has told the command's exit code. */
        assert_reply(reply, 200, "observation.is_error", "false");
    }
}

static void interrupt_while_nothing_runs_does_nothing(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, INTERRUPT, "", "", 200, "success", "true");
    assert_terminal(bench, "{\"command\":\"v=7\"}", "exit_code", "0");
    assert_answers(bench, INTERRUPT, "", "", 200, "success", "true");
    assert_terminal(bench, "{\"command\":\"echo $v\"}", TEXT, "\"7\"");
    assert_answers(bench, "POST /conversations/x/interrupt", "", "", 400, "detail",
                   "\"not a conversation id\"");
}

int terminal_running_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(command_goes_on_after_its_timeout),
        BENCH_TEST(end_between_calls_is_read_later),
        BENCH_TEST(silence_ends_the_wait),
        BENCH_TEST(program_is_typed_to),
        BENCH_TEST(long_input_is_typed_whole),
        BENCH_TEST(keys_are_typed_without_a_line_end),
        BENCH_TEST(foreground_timeout_is_capped),
        BENCH_TEST(first_output_of_a_background_job_is_waited_for),
        BENCH_TEST(job_that_redirects_its_output_late_is_not_waited_for),
        BENCH_TEST(output_of_a_job_may_be_its_complaint),
        BENCH_TEST(job_that_prints_without_end_is_left_alone),
        BENCH_TEST(later_output_of_a_job_is_read_by_an_empty_command),
        BENCH_TEST(wait_for_a_job_has_its_own_limit),
        BENCH_TEST(interrupt_ends_the_command_and_those_that_wait),
        BENCH_TEST(command_that_ignores_interrupts_is_ended),
        BENCH_TEST(reset_ends_an_interrupt),
        BENCH_TEST(command_after_an_interrupted_wait_runs_to_its_end),
        BENCH_TEST(repeated_interrupts_end_the_command),
        BENCH_TEST(interrupt_while_nothing_runs_does_nothing),
    };

    return cmocka_run_group_tests_name("sandbox/terminal_running", tests, NULL, NULL);
}

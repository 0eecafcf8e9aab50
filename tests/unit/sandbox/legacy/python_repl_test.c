/*
 * Cells of Python, run by the real interpreter; without one they are refused.
 */
#include "sandbox/legacy/python_repl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/legacy/legacy_tests.h"

#define PYTHON "/usr/bin/python3"

static int set_up(void **state)
{
    return access(PYTHON, X_OK) == 0 ? action_bench_set_up(state) : 0;
}

static int tear_down(void **state)
{
    return *state != NULL ? action_bench_tear_down(state) : 0;
}

/* Runs a cell; more: further members of the action. */
static struct bench_reply run_cell(struct action_bench *bench, const char *code, const char *more)
{
    return bench_ask(bench, "POST /execute_action", "",
                     bench_text(bench,
                                "{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"%s\","
                                "\"include_extra\":false}%s}}",
                                code, more));
}

#define assert_cell(bench, code, expected)                                                         \
    do {                                                                                           \
        CLEANUP(bench_reply_done) struct bench_reply reply_ = run_cell((bench), (code), "");       \
                                                                                                   \
        assert_reply(reply_, 200, "content", (expected));                                          \
    } while (0)

static void cell_is_observed(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    if (bench == NULL)
        skip();
    reply = run_cell(bench, "print(6 * 7)", "");
    assert_reply(reply, 200, "",
                 "{\"observation\":\"run_ipython\",\"content\":\"42\",\"extras\":{\"code\":"
                 "\"print(6 * 7)\",\"image_urls\":null},\"message\":\"Code executed in IPython "
                 "cell.\"}");
}

static void definitions_stay(void **state)
{
    struct action_bench *bench = *state;

    if (bench == NULL)
        skip();
    assert_cell(bench, "v = 7", "\"[Code executed successfully with no output]\"");
    assert_cell(bench, "v", "\"7\"");
    assert_cell(bench, "v;", "\"[Code executed successfully with no output]\"");
    assert_cell(bench, "!echo shell", "\"shell\"");
    assert_cell(bench, "import sys; print('err', file=sys.stderr)", "\"err\"");
    assert_cell(bench, "%matplotlib inline\\nv + 1", "\"8\"");
}

static void cell_runs_in_the_folder_of_the_shell(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply moved = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply extra = {0, STRBUF_INIT, STRBUF_INIT};

    if (bench == NULL)
        skip();
    assert_cell(bench, "import os; os.getcwd()", bench_text(bench, "\"'%s'\"", bench->workspace));
    moved =
        bench_ask(bench, "POST /execute_action", "",
                  "{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"mkdir s t; cd s\"}}}");
    assert_reply(moved, 200, "success", "true");
    assert_cell(bench, "import os; os.getcwd()", bench_text(bench, "\"'%s/s'\"", bench->workspace));
    /* A cell may go elsewhere: the next one stays there while the shell does not move. */
    assert_cell(bench, "%cd ../t\\nos.getcwd()", bench_text(bench, "\"'%s/t'\"", bench->workspace));
    assert_cell(bench, "os.getcwd()", bench_text(bench, "\"'%s/t'\"", bench->workspace));
    extra = bench_ask(bench, "POST /execute_action", "",
                      "{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"1\"}}}");
    assert_reply(extra, 200, "content",
                 bench_text(bench,
                            "\"1\\n[Jupyter current working directory: %s/s]\\n[Jupyter Python "
                            "interpreter: " PYTHON "]\"",
                            bench->workspace));
}

static void error_of_a_cell_is_its_output(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    json_auto_t *body = NULL;
    const char *content = NULL;

    if (bench == NULL)
        skip();
    reply = run_cell(bench, "print('a')\\n1 / 0", "");
    body = json_loads(reply.body.text, 0, NULL);
    content = json_text_or(body, "content", "");
    assert_int_equal(strncmp(content, "a\nTraceback", 11), 0);
    assert_non_null(strstr(content, "ZeroDivisionError: division by zero"));
    assert_cell(bench, "2", "\"2\"");
}

static void pictures_come_as_data(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    if (bench == NULL)
        skip();
    reply = run_cell(bench,
                     "class P:\\n    def _repr_png_(self):\\n        return b'png'\\n    def "
                     "__repr__(self):\\n        return 'P'\\nP()",
                     "");
    assert_reply(reply, 200, "content", "\"P\"");
    assert_reply(reply, 200, "extras.image_urls", "[\"data:image/png;base64,cG5n\"]");
}

/* Interrupted first, then killed. */
static void cell_that_takes_too_long_is_ended(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply slow = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply stubborn = {0, STRBUF_INIT, STRBUF_INIT};
    json_auto_t *body = NULL;
    const char *content = NULL;

    if (bench == NULL)
        skip();
    assert_cell(bench, "import signal, time; v = 7",
                "\"[Code executed successfully with no output]\"");
    slow = run_cell(bench, "print('on', flush=True); time.sleep(60)", ",\"timeout\":1.5");
    body = json_loads(slow.body.text, 0, NULL);
    content = json_text_or(body, "content", "");
    assert_int_equal(strncmp(content, "on\n", 3), 0);
    assert_non_null(strstr(content, "KeyboardInterrupt"));
    assert_non_null(strstr(content, "\n[Execution timed out (1.5 seconds).]"));
    assert_cell(bench, "v", "\"7\"");
    stubborn = run_cell(bench, "signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)",
                        ",\"timeout\":1.5");
    assert_reply(stubborn, 200, "content",
                 "\"[Execution timed out (1.5 seconds).]\\n[The Python process has ended; its "
                 "definitions are lost.]\"");
    assert_cell(bench, "'v' in globals()", "\"False\"");
}

static void process_that_ends_is_started_again(void **state)
{
    struct action_bench *bench = *state;

    if (bench == NULL)
        skip();
    assert_cell(bench, "v17 = 1; print('a', flush=True); import os; os._exit(0)",
                "\"a\\n[The Python process has ended; its definitions are lost.]\"");
    assert_cell(bench, "v17",
                "\"Traceback (most recent call last):\\n  File \\\"<cell>\\\", line 1, in "
                "<module>\\n    v17\\nNameError: name 'v17' is not defined\"");
}

static void sandbox_without_python_refuses_cells(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_int_equal(setenv("PATH", bench->folder, 1), 0);
    reply = run_cell(bench, "1", "");
    assert_reply(reply, 200, "observation", "\"error\"");
    assert_reply(reply, 200, "content",
                 "\"There is no Python in this sandbox, so cells cannot run. Commands and files "
                 "still work.\"");
    /* The next action runs. */
    assert_answers(bench, "POST /execute_action", "", "{\"action\":{\"action\":\"browse\"}}", 200,
                   "observation", "\"error\"");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int python_repl_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cell_is_observed),
        TEST(definitions_stay),
        TEST(cell_runs_in_the_folder_of_the_shell),
        TEST(error_of_a_cell_is_its_output),
        TEST(pictures_come_as_data),
        TEST(cell_that_takes_too_long_is_ended),
        TEST(process_that_ends_is_started_again),
        BENCH_TEST(sandbox_without_python_refuses_cells),
    };

    return cmocka_run_group_tests_name("sandbox/python_repl", tests, NULL, NULL);
}

#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/settings.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

struct some_settings {
    const char *name;
    const char *log_level;
};

static const struct setting some_settings[] = {
    {"DEFT_TEST_NAME", SETTING_TEXT, "nobody", offsetof(struct some_settings, name), "whose it is"},
    {"LOG_LEVEL", SETTING_TEXT, "error", offsetof(struct some_settings, log_level), "how much"},
};

static const struct process some_process = {
    .name = "deft-test",
    .help = "Usage: deft-test\n",
    .settings = some_settings,
    .n_settings = ARRAY_SIZE(some_settings),
};

/* The output of an option, with a descriptor in place of standard output. */
static void assert_says(const char *option, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    int ends[2] = {-1, -1};
    int status = -1;
    char bytes[512];
    ssize_t n = 0;

    if (kept < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        fail_msg("%m");
        return;
    }
    assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    assert_true(process_answer(&some_process, option, &status));
    assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
    fd_close(&ends[1]);
    n = read(ends[0], bytes, sizeof(bytes));
    fd_close(&ends[0]);
    fd_close(&kept);
    assert_int_equal(status, EXIT_SUCCESS);
    assert_true(n > 0);
    strbuf_append_bytes(&said, bytes, (size_t)n);
    assert_non_null(strstr(said.text, expected));
}

static void every_process_answers_the_same_options(void **state)
{
    int status = 0;

    (void)state;
    assert_says("--help", "Usage: deft-test");
    assert_says("--help-config", "DEFT_TEST_NAME");
    assert_says("--version", "deft-test ");
    assert_false(process_answer(&some_process, "--reap", &status));
    assert_int_equal(process_refuse(&some_process, "--reap"), EX_USAGE);
}

static void mistake_in_the_settings_has_its_own_status(void **state)
{
    struct some_settings settings = {.name = NULL};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(setenv("LOG_LEVEL", "loud", 1), 0);
    assert_int_equal(process_configure(&some_process, &settings, &settings.log_level, &err), -1);
    assert_int_equal(process_complain(&some_process, &err), EX_CONFIG);
    assert_int_equal(unsetenv("LOG_LEVEL"), 0);
    settings_done(some_settings, ARRAY_SIZE(some_settings), &settings);
    error_set(&err, ERROR_UNAVAILABLE, "no socket");
    assert_int_equal(process_complain(&some_process, &err), EXIT_FAILURE);
}

static void request_to_stop_is_read_from_a_descriptor(void **state)
{
    CLEANUP(fd_close) int fd = -1;
    struct error err = ERROR_INIT;
    sigset_t signals;

    (void)state;
    assert_int_equal(process_open_stop(&fd, &err), 0);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000), 1);
    assert_int_equal(sigemptyset(&signals), 0);
    assert_int_equal(sigaddset(&signals, SIGTERM), 0);
    /* Taken, so that it does not end the tests when it is let through again. */
    assert_int_equal(sigtimedwait(&signals, NULL, &(struct timespec){.tv_sec = 1}), SIGTERM);
    assert_int_equal(sigaddset(&signals, SIGINT), 0);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &signals, NULL), 0);
}

/* What is said on standard error, and with which status. */
static void assert_told(int (*tell)(void), int status, const char *expected)
{
    int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    int ends[2] = {-1, -1};
    char bytes[512] = "";
    ssize_t n = 0;

    if (kept < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        fail_msg("%m");
        return;
    }
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(tell(), status);
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    fd_close(&ends[1]);
    n = read(ends[0], bytes, sizeof(bytes) - 1);
    fd_close(&ends[0]);
    fd_close(&kept);
    assert_true(n > 0);
    assert_string_equal(bytes, expected);
}

static int refuse_option(void)
{
    return process_refuse(&some_process, "--reap");
}

static int refuse_level(void)
{
    struct some_settings settings = {.name = NULL};
    struct error err = ERROR_INIT;

    assert_int_equal(setenv("LOG_LEVEL", "loud", 1), 0);
    assert_int_equal(process_configure(&some_process, &settings, &settings.log_level, &err), -1);
    assert_int_equal(unsetenv("LOG_LEVEL"), 0);
    settings_done(some_settings, ARRAY_SIZE(some_settings), &settings);
    return process_complain(&some_process, &err);
}

static void mistakes_are_told_on_standard_error(void **state)
{
    (void)state;
    assert_told(refuse_option, EX_USAGE, "deft-test: unknown option --reap; see --help\n");
    assert_told(refuse_level, EX_CONFIG,
                "deft-test: LOG_LEVEL: 'loud' is not debug, info, warning or error\n");
}

static void signals_that_end_a_process_are_blocked(void **state)
{
    CLEANUP(fd_close) int fd = -1;
    struct sigaction pipe_action = {.sa_handler = SIG_DFL};
    struct error err = ERROR_INIT;
    sigset_t signals;

    (void)state;
    assert_int_equal(process_open_stop(&fd, &err), 0);
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &signals), 0);
    assert_int_equal(sigismember(&signals, SIGTERM), 1);
    assert_int_equal(sigismember(&signals, SIGINT), 1);
    assert_int_equal(sigismember(&signals, SIGHUP), 0);
    assert_int_equal(sigaction(SIGPIPE, NULL, &pipe_action), 0);
    assert_true(pipe_action.sa_handler == SIG_IGN);
    assert_int_equal(raise(SIGINT), 0);
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1000), 1);
    assert_int_equal(sigtimedwait(&signals, NULL, &(struct timespec){.tv_sec = 1}), SIGINT);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &signals, NULL), 0);
}

/* --- a thread's stack --- */

enum { DEEP_BYTES = 200 * 1024, NEAR_BYTES = 8 * 1024 };

static void __attribute__((noinline)) go_deep(void)
{
    volatile char deep[DEEP_BYTES];

    for (size_t i = 0; i < sizeof(deep); i += 512)
        deep[i] = 'x';
}

/* How many of the pages from `lowest` to `end` the process has. */
static size_t count_pages(char *lowest, const char *end, size_t page)
{
    size_t n = 0;

    for (char *at = lowest; at + page <= end; at += page) {
        unsigned char is_there = 0;

        assert_int_equal(mincore(at, page, &is_there), 0);
        n += is_there & 1U;
    }
    return n;
}

/* Counts in *counts the pages of the thread's stack far below it, before and after. */
static void *release_stack(void *counts)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t *n = counts;
    pthread_attr_t attr;
    void *lowest = NULL;
    size_t size = 0;
    char *here = __builtin_frame_address(0);

    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &lowest, &size), 0);
    (void)pthread_attr_destroy(&attr);
    go_deep();
    n[0] = count_pages(lowest, here - NEAR_BYTES, page);
    process_release_stack();
    n[1] = count_pages(lowest, here - NEAR_BYTES, page);
    go_deep();
    return counts;
}

static void stack_of_a_deep_call_is_released(void **state)
{
    size_t n_pages[2] = {0, 0};
    pthread_t thread = 0;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, release_stack, n_pages), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(n_pages[0] >= (DEEP_BYTES - 4 * NEAR_BYTES) / 4096);
    assert_int_equal(n_pages[1], 0);
}

int process_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_process_answers_the_same_options),
        cmocka_unit_test(mistake_in_the_settings_has_its_own_status),
        cmocka_unit_test(request_to_stop_is_read_from_a_descriptor),
        cmocka_unit_test(mistakes_are_told_on_standard_error),
        cmocka_unit_test(signals_that_end_a_process_are_blocked),
        cmocka_unit_test(stack_of_a_deep_call_is_released),
    };

    return cmocka_run_group_tests_name("base/process", tests, NULL, NULL);
}

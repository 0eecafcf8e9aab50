#include "base/crash.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "unit/base/base_test.h"

#define KILLED_STATUS 137

static void crash_points_are_read(void **state)
{
    struct crash_points points;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(crash_points_init(&points, "", &err), 0);
    crash_point(&points, CRASH_LLM_SENT);
    assert_int_equal(crash_points_init(&points, "llm_done:2", &err), 0);
    assert_int_equal(points.armed, CRASH_LLM_DONE);
    crash_point(&points, CRASH_LLM_SENT);
    crash_point(&points, CRASH_LLM_DONE);
    assert_int_equal(crash_points_init(&points, "llm_done", &err), -1);
    assert_int_equal(crash_points_init(&points, "nowhere:1", &err), -1);
    assert_int_equal(crash_points_init(&points, "llm_done:0", &err), -1);
}

/* The exit status of a process that does this with points that are armed so. */
static int status_after(const char *armed, void (*act)(struct crash_points *points))
{
    struct crash_points points;
    struct error err = ERROR_INIT;
    int status = 0;
    pid_t child = 0;

    assert_int_equal(crash_points_init(&points, armed, &err), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        act(&points);
        _exit(EXIT_SUCCESS);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void pass_twice(struct crash_points *points)
{
    crash_point(points, CRASH_LLM_HALF);
    crash_point(points, CRASH_LLM_HALF);
}

static void process_ends_at_the_armed_passage(void **state)
{
    (void)state;
    assert_int_equal(status_after("llm_half:2", pass_twice), KILLED_STATUS);
    assert_int_equal(status_after("llm_half:3", pass_twice), EXIT_SUCCESS);
    assert_int_equal(status_after("llm_done:1", pass_twice), EXIT_SUCCESS);
}

static void send_nothing_expected(struct crash_points *points)
{
    crash_sent(points);
    crash_expect_sent(points, CRASH_LLM_HALF);
    crash_sent(points);
}

static void send_expected(struct crash_points *points)
{
    crash_expect_sent(points, CRASH_OBS_COMMIT_SENT);
    crash_sent(points);
}

static void process_ends_at_the_expected_statement_only(void **state)
{
    (void)state;
    assert_int_equal(status_after("obs_commit_sent:1", send_nothing_expected), EXIT_SUCCESS);
    assert_int_equal(status_after("obs_commit_sent:1", send_expected), KILLED_STATUS);
}

int crash_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crash_points_are_read),
        cmocka_unit_test(process_ends_at_the_armed_passage),
        cmocka_unit_test(process_ends_at_the_expected_statement_only),
    };

    return cmocka_run_group_tests_name("base/crash", tests, NULL, NULL);
}

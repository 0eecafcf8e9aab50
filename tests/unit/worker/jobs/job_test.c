/* What becomes of a job whose attempt failed. */
#include "worker/jobs/job.h"

#include "store/conversation/job_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/jobs/jobs_test.h"
#include "worker/stub_sandbox.h"

#define FAILED "{\"error\": \"The server failed to do this. Its log contains the reason.\"}"
#define SQL_OPEN "SELECT count(*) FROM jobs WHERE done_at IS NULL AND lease_owner IS NULL"

static void run_once(struct job_test *test, struct job *job)
{
    job_run(&test->fixture->context, &test->control, job);
    job_done(job);
}

/* As of a newer worker that put it there. */
static void unknown_kind_fails_at_once(void **state)
{
    struct job_test test;
    struct job job;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    job = job_test_claim(&test, "title", "{}");
    job.kind[0] = 'x';
    run_once(&test, &job);
    job_test_take_result(&test);
    assert_json_at(test.result.text, "", FAILED);
    assert_job_log(&test, FIRST_MESSAGE);
    job_test_end(&test);
}

/* A job that needs a sandbox, on its so-manieth attempt. */
static void run_without_sandbox(struct job_test *test, int64_t n_attempts)
{
    struct job job;

    job_test_change(test, "agent_state = '{\"worktree\": \"pending\"}'");
    job = job_test_claim(test, "worktree", "{}");
    job.n_attempts = n_attempts;
    stub_refuse_start(test->fixture->stub, "no room");
    run_once(test, &job);
    stub_refuse_start(test->fixture->stub, NULL);
}

static void failed_attempt_is_repeated_after_a_while(void **state)
{
    static const char SQL_NOW_US[] =
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    struct job_test test;
    int64_t before_us = test_sql_count(SQL_NOW_US);
    int64_t due_us = 0;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    run_without_sandbox(&test, 4);
    assert_int_equal(test_sql_count(SQL_OPEN), 1);
    due_us = test_sql_count("SELECT (extract(epoch FROM due_at) * 1000000)::bigint FROM jobs"
                            " WHERE done_at IS NULL");
    assert_in_range(due_us, before_us + 2000000, test_sql_count(SQL_NOW_US) + 2000000);
    job_test_end(&test);
}

static void fifth_attempt_is_the_last(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    run_without_sandbox(&test, 5);
    assert_int_equal(test_sql_count(SQL_OPEN), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NOT NULL"), 1);
    job_test_end(&test);
}

/* A stop is no failure, however often the job was begun. */
static void stopped_job_is_due_at_once(void **state)
{
    struct job_test test;
    struct job job;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    run_control_request(&test.control, STOP_INTERRUPT);
    job = job_test_claim(&test, "title", "{}");
    job.n_attempts = 5;
    run_once(&test, &job);
    assert_int_equal(test_sql_count(SQL_OPEN " AND due_at <= now()"), 1);
    job_test_end(&test);
}

static void job_of_another_worker_is_left_to_it(void **state)
{
    struct job_test test;
    struct job job;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    job = job_test_claim(&test, "title", "{}");
    test_sql("UPDATE jobs SET lease_owner = gen_random_uuid()");
    run_once(&test, &job);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NULL"
                                    " AND lease_owner IS NOT NULL"),
                     1);
    assert_int_equal(job_test_row(&test, "(title IS NULL)::int"), 1);
    job_test_end(&test);
}

int job_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_kind_fails_at_once),
        cmocka_unit_test(failed_attempt_is_repeated_after_a_while),
        cmocka_unit_test(fifth_attempt_is_the_last),
        cmocka_unit_test(stopped_job_is_due_at_once),
        cmocka_unit_test(job_of_another_worker_is_left_to_it),
    };

    return cmocka_run_group_tests_name("job", tests, run_fixture_set_up, run_fixture_tear_down);
}

/*
 * Which calls of an answer may run at once.
 */
#include "worker/agent/calls/call_plan.h"

#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "worker/worker_test.h"

static enum call_company company_of(char call)
{
    if (call >= '0' && call <= '9')
        return COMPANY_OF_SUB_AGENTS;
    return call >= 'A' && call <= 'Z' ? COMPANY_OF_NONE : COMPANY_OF_CALLS;
}

/*
 * A plan of calls, each a letter: its resource; '-': none; an upper-case letter runs alone; a digit
 * is for a sub-agent, 0 without a resource.
 */
static void begin(struct call_plan *plan, const char *calls, size_t limit)
{
    call_plan_init(plan, strlen(calls), limit);
    for (size_t i = 0; i < plan->n; i++) {
        plan->calls[i].company = company_of(calls[i]);
        if (calls[i] != '-' && calls[i] != '0')
            resource_keys_add(&plan->calls[i].keys, mem_dup_bytes(&calls[i], 1));
    }
}

/* Starts what may be started; the indexes as digits. */
static void assert_starts(struct call_plan *plan, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf started = STRBUF_INIT;
    size_t next = call_plan_next(plan);

    for (; next < plan->n; next = call_plan_next(plan)) {
        plan->calls[next].progress = CALL_RUNNING;
        strbuf_appendf(&started, "%zu", next);
    }
    assert_string_equal(started.text, expected);
}

static void finish(struct call_plan *plan, size_t index)
{
    plan->calls[index].progress = CALL_OVER;
}

static void one_at_a_time_keeps_the_order(void **state)
{
    CLEANUP(call_plan_done) struct call_plan plan = {.n = 0};

    (void)state;
    begin(&plan, "ab-F", 1);
    assert_starts(&plan, "0");
    finish(&plan, 0);
    assert_starts(&plan, "1");
    finish(&plan, 1);
    assert_starts(&plan, "2");
    finish(&plan, 2);
    assert_starts(&plan, "3");
    finish(&plan, 3);
    assert_starts(&plan, "");
}

static void calls_that_share_a_resource_keep_their_order(void **state)
{
    CLEANUP(call_plan_done) struct call_plan plan = {.n = 0};

    (void)state;
    begin(&plan, "aabab", 8);
    assert_starts(&plan, "02");
    finish(&plan, 2);
    assert_starts(&plan, "4");
    finish(&plan, 0);
    assert_starts(&plan, "1");
    finish(&plan, 1);
    assert_starts(&plan, "3");
}

static void no_more_run_than_the_limit(void **state)
{
    CLEANUP(call_plan_done) struct call_plan plan = {.n = 0};

    (void)state;
    begin(&plan, "----", 2);
    assert_starts(&plan, "01");
    finish(&plan, 1);
    assert_starts(&plan, "2");
    finish(&plan, 0);
    assert_starts(&plan, "3");
}

static void call_that_runs_alone_divides_the_others(void **state)
{
    CLEANUP(call_plan_done) struct call_plan plan = {.n = 0};

    (void)state;
    begin(&plan, "abXcd", 8);
    assert_starts(&plan, "01");
    finish(&plan, 0);
    assert_starts(&plan, "");
    finish(&plan, 1);
    assert_starts(&plan, "2");
    finish(&plan, 2);
    assert_starts(&plan, "34");
}

static void sub_agents_run_at_once_with_each_other_only(void **state)
{
    CLEANUP(call_plan_done) struct call_plan plan = {.n = 0};

    (void)state;
    begin(&plan, "a0101-", 8);
    assert_starts(&plan, "0");
    finish(&plan, 0);
    assert_starts(&plan, "123");
    finish(&plan, 1);
    finish(&plan, 3);
    assert_starts(&plan, "");
    finish(&plan, 2);
    assert_starts(&plan, "4");
    finish(&plan, 4);
    assert_starts(&plan, "5");
}

/* A long answer of calls for one resource, and its end. */
static void thousands_of_calls_are_planned_in_order(void **state)
{
    CLEANUP(call_plan_done) struct call_plan plan = {.n = 0};

    (void)state;
    call_plan_init(&plan, 10000, 4);
    for (size_t i = 0; i < plan.n; i++)
        resource_keys_add(&plan.calls[i].keys, mem_dup_text("one"));
    for (size_t i = 0; i < plan.n; i++) {
        assert_int_equal(call_plan_next(&plan), i);
        finish(&plan, i);
    }
    assert_int_equal(call_plan_next(&plan), plan.n);
}

/* How far behind the first open call others may start. */
static void calls_overtake_within_a_window(void **state)
{
    enum { N_CALLS = 100, WINDOW = 64 };
    CLEANUP(call_plan_done) struct call_plan plan = {.n = 0};
    size_t next = 0;

    (void)state;
    call_plan_init(&plan, N_CALLS, N_CALLS);
    for (next = call_plan_next(&plan); next < plan.n; next = call_plan_next(&plan))
        plan.calls[next].progress = CALL_RUNNING;
    assert_int_equal(plan.calls[WINDOW - 1].progress, CALL_RUNNING);
    assert_int_equal(plan.calls[WINDOW].progress, CALL_WAITING);
    finish(&plan, 1);
    assert_int_equal(call_plan_next(&plan), plan.n);
    finish(&plan, 0);
    assert_int_equal(call_plan_next(&plan), WINDOW);
    plan.calls[WINDOW].progress = CALL_RUNNING;
    assert_int_equal(call_plan_next(&plan), WINDOW + 1);
    plan.calls[WINDOW + 1].progress = CALL_RUNNING;
    assert_int_equal(call_plan_next(&plan), plan.n);
}

int call_plan_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time_keeps_the_order),
        cmocka_unit_test(calls_that_share_a_resource_keep_their_order),
        cmocka_unit_test(no_more_run_than_the_limit),
        cmocka_unit_test(call_that_runs_alone_divides_the_others),
        cmocka_unit_test(sub_agents_run_at_once_with_each_other_only),
        cmocka_unit_test(calls_overtake_within_a_window),
        cmocka_unit_test(thousands_of_calls_are_planned_in_order),
    };

    return cmocka_run_group_tests_name("worker/call_plan", tests, NULL, NULL);
}

#include "worker/worker_test.h"

#include "base/strbuf.h"
#include "store/event_store.h"
#include "worker/agent/stuck.h"
#include "worker/events.h"

static enum stuck_verdict look(const char *events)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf nudge = STRBUF_INIT;

    history_add_text(&history, events);
    return stuck_look(&history, &nudge);
}

#define ROUND(id) ACTION(id, "x") "," RESULT(id, "y")
#define OTHER_ROUND(id) ACTION(id, "a") "," RESULT(id, "b")
#define BAD_ROUND(id) BAD_ACTION(id) "," FAILURE(id)

static void four_equal_rounds_are_stuck(void **state)
{
    (void)state;
    assert_int_equal(look("[" ROUND("1") "," ROUND("2") "," ROUND("3") "]"), STUCK_NO);
    assert_int_equal(look("[" ROUND("1") "," ROUND("2") "," ROUND("3") "," ROUND("4") "]"),
                     STUCK_YES);
    assert_int_equal(
        look("[" ROUND("1") "," ROUND("2") "," USER("go on") "," ROUND("3") "," ROUND("4") "]"),
        STUCK_NO);
}

static void alternating_rounds_are_stuck(void **state)
{
    (void)state;
    assert_int_equal(look("[" ROUND("1") "," OTHER_ROUND("2") "," ROUND("3") "," OTHER_ROUND(
                         "4") "," ROUND("5") "]"),
                     STUCK_NO);
    assert_int_equal(look("[" ROUND("1") "," OTHER_ROUND("2") "," ROUND("3") "," OTHER_ROUND(
                         "4") "," ROUND("5") "," OTHER_ROUND("6") "]"),
                     STUCK_YES);
}

static void failing_calls_get_one_nudge(void **state)
{
    (void)state;
    assert_int_equal(look("[" BAD_ROUND("1") "," BAD_ROUND("2") "]"), STUCK_NO);
    assert_int_equal(look("[" BAD_ROUND("1") "," BAD_ROUND("2") "," BAD_ROUND("3") "]"),
                     STUCK_NUDGE);
    assert_int_equal(look("[" BAD_ROUND("1") "," BAD_ROUND("2") "," BAD_ROUND("3") "," ENVIRONMENT(
                         "try otherwise") "]"),
                     STUCK_NO);
    assert_int_equal(look("[" BAD_ROUND("1") "," BAD_ROUND("2") "," BAD_ROUND("3") "," ENVIRONMENT(
                         "try otherwise") "," BAD_ROUND("4") "]"),
                     STUCK_YES);
}

static void monologues_are_stuck(void **state)
{
    (void)state;
    assert_int_equal(look("[" AGENT("a") "," ENVIRONMENT("use a tool") "," AGENT(
                         "b") "," ENVIRONMENT("use a tool") "]"),
                     STUCK_NO);
    assert_int_equal(look("[" AGENT("a") "," ENVIRONMENT("use a tool") "," AGENT(
                         "b") "," ENVIRONMENT("use a tool") "," AGENT("c") "]"),
                     STUCK_YES);
}

int stuck_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_equal_rounds_are_stuck),
        cmocka_unit_test(alternating_rounds_are_stuck),
        cmocka_unit_test(failing_calls_get_one_nudge),
        cmocka_unit_test(monologues_are_stuck),
    };

    return cmocka_run_group_tests_name("stuck", tests, NULL, NULL);
}

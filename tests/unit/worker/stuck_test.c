#include "worker/worker_test.h"

#include "base/strbuf.h"
#include "store/conversation/event_store.h"
#include "worker/agent/stuck.h"
#include "worker/events.h"

static enum stuck_verdict look_with(const char *thresholds, const char *events)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf nudge = STRBUF_INIT;
    json_auto_t *spec = test_json(thresholds);
    const struct stuck_thresholds given = stuck_thresholds_of(spec);

    history_add_text(&history, events);
    return stuck_look(&history, &given, &nudge);
}

static enum stuck_verdict look(const char *events)
{
    return look_with("{}", events);
}

#define THRESHOLDS(members) "{\"stuck_detection_thresholds\": {" members "}}"

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

static void thresholds_of_the_specification_count(void **state)
{
    static const struct {
        const char *thresholds;
        const char *events;
        enum stuck_verdict verdict;
    } cases[] = {
        {THRESHOLDS("\"action_observation\": 2"), ROUND("1"), STUCK_NO},
        {THRESHOLDS("\"action_observation\": 2"), ROUND("1") "," ROUND("2"), STUCK_YES},
        {THRESHOLDS("\"action_observation\": 5"),
         ROUND("1") "," ROUND("2") "," ROUND("3") "," ROUND("4"), STUCK_NO},
        {THRESHOLDS("\"action_error\": 1"), BAD_ROUND("1"), STUCK_NUDGE},
        {THRESHOLDS("\"action_error\": 1"), BAD_ROUND("1") "," BAD_ROUND("2"), STUCK_YES},
        {THRESHOLDS("\"action_error\": 4"), BAD_ROUND("1") "," BAD_ROUND("2") "," BAD_ROUND("3"),
         STUCK_NO},
        {THRESHOLDS("\"monologue\": 1"), AGENT("a"), STUCK_YES},
        {THRESHOLDS("\"monologue\": 4"), AGENT("a") "," AGENT("b") "," AGENT("c"), STUCK_NO},
        {THRESHOLDS("\"alternating_pattern\": 4"),
         ROUND("1") "," OTHER_ROUND("2") "," ROUND("3") "," OTHER_ROUND("4"), STUCK_YES},
        {THRESHOLDS("\"alternating_pattern\": 7"),
         ROUND("1") "," OTHER_ROUND("2") "," ROUND("3") "," OTHER_ROUND("4") "," ROUND(
             "5") "," OTHER_ROUND("6"),
         STUCK_NO},
        {"{\"stuck_detection_thresholds\": null}",
         ROUND("1") "," ROUND("2") "," ROUND("3") "," ROUND("4"), STUCK_YES},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;

        strbuf_appendf(&events, "[%s]", cases[i].events);
        if (look_with(cases[i].thresholds, events.text) != cases[i].verdict)
            fail_msg("%s over %s", cases[i].thresholds, events.text);
    }
}

/* n equal rounds, under a threshold of so many. */
static enum stuck_verdict look_at_rounds(size_t n, size_t threshold)
{
    CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf thresholds = STRBUF_INIT;

    strbuf_append(&events, "[" ROUND("1"));
    for (size_t i = 1; i < n; i++)
        strbuf_append(&events, "," ROUND("1"));
    strbuf_append(&events, "]");
    strbuf_appendf(&thresholds,
                   THRESHOLDS("\"action_observation\": %zu, \"alternating_pattern\": 1000"),
                   threshold);
    return look_with(thresholds.text, events.text);
}

static void large_thresholds_can_be_reached(void **state)
{
    (void)state;
    assert_int_equal(look_at_rounds(39, 40), STUCK_NO);
    assert_int_equal(look_at_rounds(40, 40), STUCK_YES);
}

int stuck_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_equal_rounds_are_stuck),
        cmocka_unit_test(alternating_rounds_are_stuck),
        cmocka_unit_test(failing_calls_get_one_nudge),
        cmocka_unit_test(monologues_are_stuck),
        cmocka_unit_test(thresholds_of_the_specification_count),
        cmocka_unit_test(large_thresholds_can_be_reached),
    };

    return cmocka_run_group_tests_name("stuck", tests, NULL, NULL);
}

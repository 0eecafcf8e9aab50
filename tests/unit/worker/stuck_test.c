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

/* The text of a nudge about the last of n failing rounds. */
static void nudge_says_what_failed(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf nudge = STRBUF_INIT;
    const struct stuck_thresholds thresholds = stuck_thresholds_of(NULL);

    (void)state;
    history_add_text(&history, "[" BAD_ROUND("1") "," BAD_ROUND("2") "," BAD_ROUND("3") "]");
    assert_int_equal(stuck_look(&history, &thresholds, &nudge), STUCK_NUDGE);
    assert_string_equal(nudge.text,
                        "The same call of the tool 'nosuch' has now failed 3 times in a row. Its "
                        "last error was: no such tool\nDo not repeat it. Read the error, then try "
                        "another way.");
}

#define CALL_OF(members) "{\"kind\": \"ActionEvent\", \"tool_call_id\": \"1\", " members "}"
#define RESULT_OF(kind, members) "{\"kind\": \"" kind "\", \"tool_call_id\": \"1\", " members "}"
#define SAME_CALL CALL_OF("\"tool_name\": \"t\", \"thought\": [], \"action\": {\"a\": 1}")
#define SAME_RESULT                                                                                \
    RESULT_OF("ObservationEvent", "\"tool_name\": \"t\", \"observation\": {\"b\": 1}")

/* A last round that differs in any of what is compared makes no repetition. */
static void rounds_repeat_only_if_all_of_them_is_equal(void **state)
{
    static const struct {
        const char *call;
        const char *result;
        enum stuck_verdict verdict;
    } cases[] = {
        {SAME_CALL, SAME_RESULT, STUCK_YES},
        {CALL_OF("\"id\": \"x\", \"summary\": \"s\", \"tool_name\": \"t\", \"thought\": [],"
                 " \"action\": {\"a\": 1}"),
         SAME_RESULT, STUCK_YES},
        {CALL_OF("\"tool_name\": \"u\", \"thought\": [], \"action\": {\"a\": 1}"), SAME_RESULT,
         STUCK_NO},
        {CALL_OF("\"tool_name\": \"t\", \"thought\": [1], \"action\": {\"a\": 1}"), SAME_RESULT,
         STUCK_NO},
        {CALL_OF("\"tool_name\": \"t\", \"thought\": [], \"action\": {\"a\": 2}"), SAME_RESULT,
         STUCK_NO},
        {CALL_OF("\"tool_name\": \"t\", \"thought\": []"), SAME_RESULT, STUCK_NO},
        {SAME_CALL,
         RESULT_OF("ObservationEvent", "\"tool_name\": \"t\", \"observation\": {\"b\": 2}"),
         STUCK_NO},
        {SAME_CALL,
         RESULT_OF("ObservationEvent", "\"tool_name\": \"u\", \"observation\": {\"b\": 1}"),
         STUCK_NO},
        {SAME_CALL,
         RESULT_OF("AgentErrorEvent", "\"tool_name\": \"t\", \"observation\": {\"b\": 1}"),
         STUCK_NO},
        {SAME_CALL,
         RESULT_OF("ObservationEvent",
                   "\"tool_name\": \"t\", \"observation\": {\"b\": 1}, \"error\": \"e\""),
         STUCK_NO},
        {SAME_CALL,
         RESULT_OF("ObservationEvent", "\"tool_name\": \"t\", \"observation\": {\"b\": 1},"
                                       " \"rejection_reason\": \"e\""),
         STUCK_NO},
    };
    static const char round[] = SAME_CALL "," SAME_RESULT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;

        strbuf_appendf(&events, "[%s,%s,%s,%s,%s]", round, round, round, cases[i].call,
                       cases[i].result);
        if (look(events.text) != cases[i].verdict)
            fail_msg("%s", events.text);
    }
}

static void rejections_and_errors_of_calls_repeat_too(void **state)
{
    static const char round[] =
        SAME_CALL "," RESULT_OF("UserRejectObservation", "\"rejection_reason\": \"no\"");
    CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;

    (void)state;
    strbuf_appendf(&events, "[%s,%s,%s,%s]", round, round, round, round);
    assert_int_equal(look(events.text), STUCK_YES);
}

/* State updates do not count, and other words do. */
static void monologue_is_ended_by_what_is_not_the_agents(void **state)
{
    (void)state;
    assert_int_equal(look("[" AGENT("a") "," RUNNING "," AGENT("b") "," RUNNING "," AGENT("c") "]"),
                     STUCK_YES);
    assert_int_equal(look("[" AGENT("a") "," AGENT("b") "," ROUND("1") "," AGENT("c") "]"),
                     STUCK_NO);
    assert_int_equal(look("[" AGENT("a") "," USER("b") "," AGENT("b") "," AGENT("c") "]"),
                     STUCK_NO);
    assert_int_equal(
        look("[" USER("a") "," ENVIRONMENT("b") "," ENVIRONMENT("c") "," ENVIRONMENT("d") "]"),
        STUCK_NO);
}

static void nothing_is_not_stuck(void **state)
{
    (void)state;
    assert_int_equal(look("[]"), STUCK_NO);
    assert_int_equal(look("[" RUNNING "]"), STUCK_NO);
    assert_int_equal(look_with(THRESHOLDS("\"action_observation\": 0, \"action_error\": 0,"
                                          " \"monologue\": 0, \"alternating_pattern\": 0"),
                               "[" USER("a") "]"),
                     STUCK_NO);
}

static void thresholds_have_bounds_and_defaults(void **state)
{
    json_auto_t *spec =
        test_json(THRESHOLDS("\"action_observation\": 0, \"action_error\": -5,"
                             " \"monologue\": 1000000, \"alternating_pattern\": 1000001"));
    struct stuck_thresholds given = stuck_thresholds_of(spec);
    struct stuck_thresholds defaults = stuck_thresholds_of(NULL);

    (void)state;
    assert_int_equal(given.action_observation, 1);
    assert_int_equal(given.action_error, 1);
    assert_int_equal(given.monologue, 1000000);
    assert_int_equal(given.alternating_pattern, 1000000);
    assert_int_equal(defaults.action_observation, 4);
    assert_int_equal(defaults.action_error, 3);
    assert_int_equal(defaults.monologue, 3);
    assert_int_equal(defaults.alternating_pattern, 6);
}

/* Two events for each round, and one more, but at least twenty. */
static void number_of_events_looked_at_follows_the_thresholds(void **state)
{
    static const struct {
        struct stuck_thresholds thresholds;
        size_t n;
    } cases[] = {
        {{4, 3, 3, 6}, 20}, {{9, 3, 3, 6}, 20}, {{10, 3, 3, 6}, 21}, {{4, 3, 3, 10}, 21},
        {{4, 9, 3, 6}, 21}, {{4, 8, 3, 6}, 20}, {{4, 3, 10, 6}, 21}, {{4, 3, 3, 50}, 101},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(stuck_events_looked_at(&cases[i].thresholds), cases[i].n);
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
        cmocka_unit_test(nudge_says_what_failed),
        cmocka_unit_test(rounds_repeat_only_if_all_of_them_is_equal),
        cmocka_unit_test(rejections_and_errors_of_calls_repeat_too),
        cmocka_unit_test(monologue_is_ended_by_what_is_not_the_agents),
        cmocka_unit_test(nothing_is_not_stuck),
        cmocka_unit_test(thresholds_have_bounds_and_defaults),
        cmocka_unit_test(number_of_events_looked_at_follows_the_thresholds),
    };

    return cmocka_run_group_tests_name("stuck", tests, NULL, NULL);
}

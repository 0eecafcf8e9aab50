#include "model/conversation/goal.h"

#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "unit/model/model_test.h"

/* The goal is stored, and the last event tells it. */
static void assert_goal(const struct conversation *conversation, const struct event_list *events,
                        const char *expected)
{
    const struct event *last = &events->items[events->n - 1];

    assert_json_is(goal_of(conversation), expected);
    assert_string_equal(last->kind, "ConversationStateUpdateEvent");
    assert_string_equal(json_text_or(last->json, "key", ""), "goal");
    assert_json_is(json_object_get(last->json, "value"), expected);
}

static void a_goal_begins_in_its_first_round(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

    (void)state;
    start_default(&conversation);
    assert_null(goal_of(&conversation));
    assert_false(goal_is_active(&conversation));
    assert_false(goal_can_resume(&conversation));
    assert_null(goal_job(&conversation));
    goal_start(&conversation, "all tests pass", 3, &events);
    assert_int_equal(events.n, 1);
    assert_goal(&conversation, &events,
                "{'active': true, 'status': 'running', 'iteration': 1, 'max_iterations': 3,"
                " 'objective': 'all tests pass', 'verdict': null}");
    assert_true(goal_is_active(&conversation));
    assert_false(goal_can_resume(&conversation));
    assert_string_equal(goal_job(&conversation), "goal");
}

static void rounds_end_at_the_limit(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *verdict = json_of("{'met': false}");

    (void)state;
    start_default(&conversation);
    goal_start(&conversation, "x", 2, &events);
    assert_true(goal_next_round(&conversation, verdict, &events));
    assert_goal(&conversation, &events,
                "{'active': true, 'status': 'running', 'iteration': 2, 'max_iterations': 2,"
                " 'objective': 'x', 'verdict': {'met': false}}");
    assert_false(goal_next_round(&conversation, verdict, &events));
    assert_goal(&conversation, &events,
                "{'active': false, 'status': 'capped', 'iteration': 2, 'max_iterations': 2,"
                " 'objective': 'x', 'verdict': {'met': false}}");
    assert_null(goal_job(&conversation));
    assert_false(goal_can_resume(&conversation));
    /* each event keeps the state of its time */
    assert_int_equal(events.n, 3);
    assert_int_equal(json_int_or(json_object_get(events.items[0].json, "value"), "iteration", 0),
                     1);
    assert_true(
        json_is_null(json_object_get(json_object_get(events.items[0].json, "value"), "verdict")));
}

static void a_goal_without_counts_has_the_usual_limit(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *verdict = json_null();

    (void)state;
    start_default(&conversation);
    json_put(conversation.spec, "goal", json_object());
    for (int i = 1; i < GOAL_ITERATIONS_DEFAULT; i++)
        assert_true(goal_next_round(&conversation, verdict, &events));
    assert_int_equal(json_int_or(goal_of(&conversation), "iteration", 0), 10);
    assert_false(goal_next_round(&conversation, verdict, &events));
}

static void a_verdict_ends_a_goal_or_leaves_the_last_one(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *verdict = json_of("{'met': true}");

    (void)state;
    start_default(&conversation);
    goal_start(&conversation, "x", 2, &events);
    goal_set(&conversation, GOAL_COMPLETE, verdict, &events);
    assert_goal(&conversation, &events,
                "{'active': false, 'status': 'complete', 'iteration': 1, 'max_iterations': 2,"
                " 'objective': 'x', 'verdict': {'met': true}}");
    goal_set(&conversation, GOAL_RUNNING, NULL, &events);
    assert_goal(&conversation, &events,
                "{'active': true, 'status': 'running', 'iteration': 1, 'max_iterations': 2,"
                " 'objective': 'x', 'verdict': {'met': true}}");
    assert_int_equal(events.n, 3);
    assert_string_equal(json_text_or(json_object_get(events.items[0].json, "value"), "status", ""),
                        "running");
}

static void only_an_active_goal_gives_way(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

    (void)state;
    start_default(&conversation);
    assert_false(goal_give_way(&conversation, &events));
    assert_int_equal(events.n, 0);
    assert_null(goal_of(&conversation));
    goal_start(&conversation, "x", 2, &events);
    assert_true(goal_give_way(&conversation, &events));
    assert_goal(&conversation, &events,
                "{'active': false, 'status': 'interrupted', 'iteration': 1, 'max_iterations': 2,"
                " 'objective': 'x', 'verdict': null}");
    assert_true(goal_can_resume(&conversation));
    assert_false(goal_give_way(&conversation, &events));
    assert_int_equal(events.n, 2);
}

int goal_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_goal_begins_in_its_first_round),
        cmocka_unit_test(rounds_end_at_the_limit),
        cmocka_unit_test(a_goal_without_counts_has_the_usual_limit),
        cmocka_unit_test(a_verdict_ends_a_goal_or_leaves_the_last_one),
        cmocka_unit_test(only_an_active_goal_gives_way),
    };

    return cmocka_run_group_tests_name("model/goal", tests, NULL, NULL);
}

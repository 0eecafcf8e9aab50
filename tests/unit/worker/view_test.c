#include "worker/worker_test.h"

#include "store/event_store.h"
#include "worker/agent/history.h"
#include "worker/agent/view.h"
#include "worker/events.h"

/* A head of one message, and eight events that may be forgotten, half of them with a result. */
#define TALK                                                                                       \
    "[" USER("1") "," AGENT("2") "," ACTION("3", "x") "," RESULT("3", "y") "," ACTION(             \
        "5", "x") "," RESULT("5",                                                                  \
                             "y") "," USER("7") "," AGENT("8") "," USER("9") "," AGENT("10") "]"

static struct view_range choose(struct history *history, size_t max_events)
{
    const struct view_rule rule = {
        .keep_first = 1, .minimum_progress = 0.1, .max_events = max_events};
    struct view_range range = VIEW_RANGE_INIT;

    history_add_text(history, TALK);
    view_choose_range(history, &rule, &range);
    return range;
}

static void middle_of_the_view_is_forgotten(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(view_range_done) struct view_range range = choose(&history, 100);

    (void)state;
    assert_int_equal(range.offset, 1);
    assert_int_equal(range.events.n, 6);
    assert_int_equal(range.events.items[0], 1);
}

static void one_summary_stands_for_a_bounded_number_of_events(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(view_range_done) struct view_range range = choose(&history, 5);

    (void)state;
    assert_int_equal(range.offset, 1);
    assert_int_equal(range.events.n, 5);
}

static void a_bound_does_not_part_a_call_from_its_result(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(view_range_done) struct view_range range = choose(&history, 4);

    (void)state;
    assert_int_equal(range.events.n, 3);
    assert_int_equal(range.events.items[2], 3);
}

static void nothing_is_forgotten_where_nothing_fits(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(view_range_done) struct view_range range = choose(&history, 0);

    (void)state;
    assert_int_equal(range.events.n, 0);
}

int view_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(middle_of_the_view_is_forgotten),
        cmocka_unit_test(one_summary_stands_for_a_bounded_number_of_events),
        cmocka_unit_test(a_bound_does_not_part_a_call_from_its_result),
        cmocka_unit_test(nothing_is_forgotten_where_nothing_fits),
    };

    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}

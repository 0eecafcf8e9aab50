#include "worker/worker_test.h"

#include "base/uuid.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/model_view.h"
#include "worker/events.h"

/* A head of one message, and eight events that may be forgotten, half of them with a result. */
#define TALK                                                                                       \
    "[" USER("1") "," AGENT("2") "," ACTION("3", "x") "," RESULT("3", "y") "," ACTION(             \
        "5", "x") "," RESULT("5",                                                                  \
                             "y") "," USER("7") "," AGENT("8") "," USER("9") "," AGENT("10") "]"

static struct model_view_range choose(struct history *history, size_t max_events)
{
    const struct model_view_rule rule = {
        .keep_first = 1, .minimum_progress = 0.1, .max_events = max_events};
    struct model_view_range range = MODEL_VIEW_RANGE_INIT;

    history_add_text(history, TALK);
    model_view_choose_range(history, &rule, &range);
    return range;
}

static void middle_of_the_view_is_forgotten(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = choose(&history, 100);

    (void)state;
    assert_int_equal(range.offset, 1);
    assert_int_equal(range.events.n, 6);
    assert_int_equal(range.events.items[0], 1);
}

static void one_summary_stands_for_a_bounded_number_of_events(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = choose(&history, 5);

    (void)state;
    assert_int_equal(range.offset, 1);
    assert_int_equal(range.events.n, 5);
}

static void a_bound_does_not_part_a_call_from_its_result(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = choose(&history, 4);

    (void)state;
    assert_int_equal(range.events.n, 3);
    assert_int_equal(range.events.items[2], 3);
}

static void nothing_is_forgotten_where_nothing_fits(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = choose(&history, 0);

    (void)state;
    assert_int_equal(range.events.n, 0);
}

static size_t count_forgotten(size_t max_size, double minimum_progress)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    const struct model_view_rule rule = {.max_size = max_size,
                                         .keep_first = 1,
                                         .minimum_progress = minimum_progress,
                                         .max_events = 100};

    history_add_text(&history, TALK);
    model_view_choose_range(&history, &rule, &range);
    return range.events.n;
}

static void model_view_that_became_too_long_is_cut_to_half_of_its_size(void **state)
{
    (void)state;
    assert_int_equal(count_forgotten(8, 0.1), 7);
    assert_int_equal(count_forgotten(6, 0.1), 8);
}

static void too_little_is_forgotten_only_when_it_must(void **state)
{
    (void)state;
    assert_int_equal(count_forgotten(20, 0.5), 0);
    assert_int_equal(count_forgotten(0, 0.9), 9);
}

static size_t count_forgotten_for(size_t forget_tokens, size_t max_size)
{
    static const size_t tokens[] = {50, 10, 10, 0, 10, 0, 10, 10, 10, 10};
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    const struct model_view_rule rule = {.max_size = max_size,
                                         .keep_first = 1,
                                         .minimum_progress = 0.1,
                                         .max_events = 100,
                                         .forget_tokens = forget_tokens,
                                         .tokens = tokens};

    history_add_text(&history, TALK);
    model_view_choose_range(&history, &rule, &range);
    return range.events.n;
}

static void as_few_events_are_forgotten_as_the_tokens_allow(void **state)
{
    (void)state;
    assert_int_equal(count_forgotten_for(10, 0), 1);
    assert_int_equal(count_forgotten_for(11, 0), 3);
    assert_int_equal(count_forgotten_for(31, 0), 6);
    assert_int_equal(count_forgotten_for(1000, 0), 9);
    assert_int_equal(count_forgotten_for(10, 8), 7);
    assert_int_equal(count_forgotten_for(70, 8), 9);
}

static void all_but_the_system_prompt_can_be_taken(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;

    (void)state;
    history_add_text(&history, TALK);
    model_view_take_all(&history, 100, &range);
    assert_int_equal(range.events.n, 9);
    assert_int_equal(range.offset, 1);
}

static bool is_fresh(const char *events)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    history_add_text(&history, events);
    return model_view_is_fresh(&history);
}

static void view_is_fresh_until_something_new_is_read(void **state)
{
    (void)state;
    assert_false(is_fresh("[" USER("1") "]"));
    assert_true(is_fresh("[" USER("1") ", {\"kind\": \"Condensation\"}," RUNNING "]"));
    assert_false(is_fresh("[{\"kind\": \"Condensation\"}," USER("1") "]"));
}

static void summaries_count_as_events_of_the_view(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    (void)state;
    history_add_text(&history, TALK);
    assert_int_equal(model_view_length(&history), 10);
    history.items[1].is_forgotten = true;
    history.items[2].is_forgotten = true;
    history.items[3].summary = stored_event_json(&history.items[3]);
    assert_int_equal(model_view_length(&history), 9);
    history.items[3].summary = NULL;
}

#define CONDENSATION_REQUEST "{\"kind\": \"CondensationRequest\"}"

static bool owes(const char *events, bool is_of_run)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    history_add_text(&history, events);
    for (size_t i = 0; i < history.n; i++)
        history.items[i].is_of_run = is_of_run;
    return model_view_owes_condensation(&history);
}

static void condensation_is_owed_to_the_run_that_needed_it(void **state)
{
    (void)state;
    assert_true(owes("[" RUNNING "," USER("1") "," CONDENSATION_REQUEST "," USER("2") "]", true));
    assert_false(owes("[" RUNNING "," USER("1") "," CONDENSATION_REQUEST "]", false));
    assert_false(owes("[" RUNNING "," CONDENSATION_REQUEST "," RUNNING "]", true));
    assert_false(owes("[" CONDENSATION_REQUEST ", {\"kind\": \"Condensation\"}]", true));
    assert_false(owes("[" USER("1") "]", true));
}

#define HOOK(type, context)                                                                        \
    "[{\"kind\": \"HookExecutionEvent\", \"hook_event_type\": \"" type                             \
    "\", \"additional_context\": \"" context "\"}]"

/* What a hook tells the model counts, where it speaks before the model does. */
static void words_of_hooks_are_context(void **state)
{
    static const struct {
        const char *events;
        bool is_context;
    } cases[] = {
        {HOOK("UserPromptSubmit", "words"), true},
        {HOOK("SessionStart", "words"), true},
        {HOOK("SessionStart", " "), false},
        {HOOK("Stop", "words"), false},
        {"[{\"kind\": \"HookExecutionEvent\", \"hook_event_type\": \"SessionStart\"}]", false},
        {"[" USER("words") "]", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;

        history_add_text(&history, cases[i].events);
        assert_int_equal(model_view_is_context(&history.items[0]), cases[i].is_context);
    }
}

#define SUMMARY(text, forgotten)                                                                   \
    "{\"kind\": \"Condensation\", \"summary\": \"" text                                            \
    "\", \"summary_offset\": 9, \"forgotten_event_ids\": [" forgotten "]}"
#define FIRST_ID "11111111-1111-4111-8111-111111111111"
#define SECOND_ID "22222222-2222-4222-8222-222222222222"

static void summary_is_forgotten_by_the_id_of_its_condensation(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    (void)state;
    history_add_text(&history, "[" SUMMARY("first", "") "," SUMMARY("second", "") "," SUMMARY(
                                   "third", "\"" FIRST_ID "-summary\"") "]");
    assert_true(uuid_parse(FIRST_ID, &history.items[0].id));
    assert_true(uuid_parse(SECOND_ID, &history.items[1].id));
    assert_true(model_view_apply(&history, 0));
    assert_null(history.items[0].summary);
    assert_string_equal(json_string_value(history.items[1].summary), "second");
    assert_string_equal(json_string_value(history.items[2].summary), "third");
    assert_false(history.items[0].is_forgotten);
}

int model_view_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(middle_of_the_view_is_forgotten),
        cmocka_unit_test(one_summary_stands_for_a_bounded_number_of_events),
        cmocka_unit_test(a_bound_does_not_part_a_call_from_its_result),
        cmocka_unit_test(nothing_is_forgotten_where_nothing_fits),
        cmocka_unit_test(model_view_that_became_too_long_is_cut_to_half_of_its_size),
        cmocka_unit_test(too_little_is_forgotten_only_when_it_must),
        cmocka_unit_test(as_few_events_are_forgotten_as_the_tokens_allow),
        cmocka_unit_test(all_but_the_system_prompt_can_be_taken),
        cmocka_unit_test(view_is_fresh_until_something_new_is_read),
        cmocka_unit_test(summaries_count_as_events_of_the_view),
        cmocka_unit_test(condensation_is_owed_to_the_run_that_needed_it),
        cmocka_unit_test(words_of_hooks_are_context),
        cmocka_unit_test(summary_is_forgotten_by_the_id_of_its_condensation),
    };

    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}

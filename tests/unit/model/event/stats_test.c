#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/event/stats.h"
#include "unit/model/model_test.h"

static struct llm_usage usage(double cost)
{
    return (struct llm_usage){
        .usage_id = "agent",
        .model = "m",
        .response_id = "r1",
        .prompt_tokens = 100,
        .completion_tokens = 20,
        .cache_read_tokens = 50,
        .context_window = 1000,
        .cost = cost,
        .latency_s = 1.5,
        .at_s = 10,
    };
}

/* The stored form. A new reference. */
static json_t *stored_form(const struct stats *stats)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    stats_append_text(stats, &text);
    assert_int_equal(json_parse(text.text, text.len, &json, &err), 0);
    return json;
}

/* The agent's metrics in a stored form. Borrowed. */
static json_t *metrics_in(const json_t *stored)
{
    return json_object_get(json_object_get(stored, "usage_to_metrics"), "agent");
}

static void calls_add_up(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    struct llm_usage first = usage(0.5);
    struct llm_usage second = usage(0.25);
    json_auto_t *snapshot = NULL;
    json_auto_t *expected =
        json_of("{'usage_to_metrics': {'agent': {'model_name': 'm', 'accumulated_cost': 0.75,"
                " 'max_budget_per_task': null, 'accumulated_token_usage': {'model': 'm',"
                " 'prompt_tokens': 110, 'completion_tokens': 40, 'cache_read_tokens': 100,"
                " 'cache_write_tokens': 0, 'reasoning_tokens': 0, 'context_window': 1000,"
                " 'per_turn_token': 30, 'response_id': ''}}}}");

    (void)state;
    second.prompt_tokens = 10;
    second.context_window = 500;
    stats_add(stats, &first);
    stats_add(stats, &second);
    snapshot = stats_snapshot(stats);
    assert_json_equal(snapshot, expected);
}

static void free_calls_leave_no_cost_entry(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    struct llm_usage call = usage(0);
    json_auto_t *stored = NULL;
    json_t *metrics = NULL;

    (void)state;
    call.latency_s = -1;
    stats_add(stats, &call);
    stored = stored_form(stats);
    metrics = metrics_in(stored);
    assert_int_equal(json_array_size(json_object_get(metrics, "costs")), 0);
    assert_int_equal(json_array_size(json_object_get(metrics, "token_usages")), 1);
    assert_true(json_number_or(json_array_get(json_object_get(metrics, "response_latencies"), 0),
                               "latency", -1) >= 0);
}

static void an_unknown_cost_adds_nothing(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    struct llm_usage known = usage(0.5);
    struct llm_usage unknown = usage(COST_UNKNOWN);
    json_auto_t *stored = NULL;

    (void)state;
    stats_add(stats, &known);
    stats_add(stats, &unknown);
    stored = stored_form(stats);
    assert_float_equal(json_number_or(metrics_in(stored), "accumulated_cost", -1), 0.5F, 1e-6F);
    assert_int_equal(json_array_size(json_object_get(metrics_in(stored), "costs")), 1);
}

static void lists_keep_the_newest(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    json_auto_t *stored = NULL;
    json_t *list = NULL;

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct llm_usage call = usage(1);

        call.prompt_tokens = i;
        stats_add(stats, &call);
    }
    stored = stored_form(stats);
    list = json_object_get(metrics_in(stored), "token_usages");
    assert_int_equal(json_array_size(list), 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(json_int_or(json_array_get(list, i), "prompt_tokens", 0), 290 + i);
}

static void usage_ids_are_counted_apart(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    struct llm_usage agent = usage(1);
    struct llm_usage condenser = usage(1);
    json_auto_t *stored = NULL;

    (void)state;
    condenser.usage_id = "condenser";
    stats_add(stats, &agent);
    stats_add(stats, &condenser);
    stored = stored_form(stats);
    assert_int_equal(json_object_size(json_object_get(stored, "usage_to_metrics")), 2);
}

static void counting_goes_on_from_what_is_stored(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    CLEANUP(stats_freep) struct stats *later = NULL;
    struct llm_usage call = usage(0.5);
    json_auto_t *stored = NULL;
    json_auto_t *again = NULL;

    (void)state;
    stats_add(stats, &call);
    stored = stored_form(stats);
    later = stats_open(stored);
    stats_add(stats, &call);
    stats_add(later, &call);
    json_decref(stored);
    stored = stored_form(stats);
    again = stored_form(later);
    assert_json_equal(again, stored);
    assert_int_equal(json_array_size(json_object_get(metrics_in(again), "costs")), 2);
}

static void the_total_is_of_all_usage_ids(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    const struct llm_usage agents = {
        .usage_id = "agent", .model = "m", .response_id = "1", .cost = 0.25};
    const struct llm_usage condensers = {
        .usage_id = "condenser", .model = "m", .response_id = "2", .cost = 0.5};
    const struct llm_usage unpriced = {
        .usage_id = "agent", .model = "m", .response_id = "3", .cost = COST_UNKNOWN};

    (void)state;
    assert_true(stats_total_cost(stats) == 0);
    stats_add(stats, &agents);
    stats_add(stats, &condensers);
    stats_add(stats, &unpriced);
    assert_true(stats_total_cost(stats) == 0.75);
}

static void no_calls_are_stored_as_such(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    json_auto_t *stored = stored_form(stats);
    json_auto_t *fresh = stats_new();

    (void)state;
    assert_json_equal(stored, fresh);
}

static void a_call_is_stored_with_its_counts(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    struct llm_usage call = usage(0.5);
    json_auto_t *stored = NULL;

    (void)state;
    call.cache_write_tokens = 7;
    call.reasoning_tokens = 3;
    stats_add(stats, &call);
    stored = stored_form(stats);
    assert_json_is(stored,
                   "{'usage_to_metrics': {'agent': {'model_name': 'm', 'accumulated_cost': 0.5,"
                   " 'max_budget_per_task': null, 'accumulated_token_usage': {'model': 'm',"
                   "  'prompt_tokens': 100, 'completion_tokens': 20, 'cache_read_tokens': 50,"
                   "  'cache_write_tokens': 7, 'reasoning_tokens': 3, 'context_window': 1000,"
                   "  'per_turn_token': 120, 'response_id': ''},"
                   " 'costs': [{'model': 'm', 'cost': 0.5, 'timestamp': 10.0}],"
                   " 'response_latencies': [{'model': 'm', 'latency': 1.5, 'response_id': 'r1'}],"
                   " 'token_usages': [{'model': 'm', 'prompt_tokens': 100, 'completion_tokens': 20,"
                   "  'cache_read_tokens': 50, 'cache_write_tokens': 7, 'reasoning_tokens': 3,"
                   "  'context_window': 1000, 'per_turn_token': 120, 'response_id': 'r1'}]}}}");
}

static void negative_counts_are_none(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    struct llm_usage call = usage(0);
    json_auto_t *stored = NULL;

    (void)state;
    stats_add(stats, &call);
    call.cache_read_tokens = -1;
    call.latency_s = -1;
    stats_add(stats, &call);
    stored = stored_form(stats);
    assert_int_equal(json_int_or(json_object_get(metrics_in(stored), "accumulated_token_usage"),
                                 "cache_read_tokens", -1),
                     50);
    assert_int_equal(
        json_int_or(json_array_get(json_object_get(metrics_in(stored), "token_usages"), 1),
                    "cache_read_tokens", -1),
        0);
    assert_json_is(json_array_get(json_object_get(metrics_in(stored), "response_latencies"), 1),
                   "{'model': 'm', 'latency': 0.0, 'response_id': 'r1'}");
}

static void a_registered_usage_has_no_calls(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    json_auto_t *stored = NULL;
    struct llm_usage call = usage(0.5);

    (void)state;
    stats_register(stats, "agent", "m");
    stored = stored_form(stats);
    assert_json_is(stored,
                   "{'usage_to_metrics': {'agent': {'model_name': 'm', 'accumulated_cost': 0.0,"
                   " 'max_budget_per_task': null, 'accumulated_token_usage': {'model': 'm',"
                   "  'prompt_tokens': 0, 'completion_tokens': 0, 'cache_read_tokens': 0,"
                   "  'cache_write_tokens': 0, 'reasoning_tokens': 0, 'context_window': 0,"
                   "  'per_turn_token': 0, 'response_id': ''},"
                   " 'costs': [], 'response_latencies': [], 'token_usages': []}}}");
    stats_add(stats, &call);
    stats_register(stats, "agent", "other");
    json_decref(stored);
    stored = stored_form(stats);
    assert_int_equal(json_object_size(json_object_get(stored, "usage_to_metrics")), 1);
    assert_string_equal(json_text_or(metrics_in(stored), "model_name", ""), "m");
    assert_true(json_number_or(metrics_in(stored), "accumulated_cost", 0) > 0.4);
}

static void a_sum_replaces_what_a_usage_had(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    struct llm_usage call = usage(8);
    json_auto_t *stored = NULL;
    json_auto_t *other = json_of(
        "{'usage_to_metrics': {'agent': {'model_name': 'a', 'accumulated_cost': 0.5,"
        " 'accumulated_token_usage': {'prompt_tokens': 1, 'completion_tokens': 2,"
        "  'cache_read_tokens': 3, 'cache_write_tokens': 4, 'reasoning_tokens': 5,"
        "  'context_window': 60}}, 'condenser': {'model_name': 'c', 'accumulated_cost': 0.25,"
        " 'accumulated_token_usage': {'prompt_tokens': 10, 'completion_tokens': 20,"
        "  'cache_read_tokens': 30, 'cache_write_tokens': 40, 'reasoning_tokens': 50,"
        "  'context_window': 6}}}}");

    (void)state;
    stats_add(stats, &call);
    stats_set_sum(stats, "agent", other);
    stored = stats_snapshot(stats);
    assert_json_is(stored,
                   "{'usage_to_metrics': {'agent': {'model_name': 'a', 'accumulated_cost': 0.75,"
                   " 'max_budget_per_task': null, 'accumulated_token_usage': {'model': 'a',"
                   "  'prompt_tokens': 11, 'completion_tokens': 22, 'cache_read_tokens': 33,"
                   "  'cache_write_tokens': 44, 'reasoning_tokens': 55, 'context_window': 60,"
                   "  'per_turn_token': 0, 'response_id': ''}}}}");
    /* the same again, not twice as much */
    stats_set_sum(stats, "agent", other);
    json_decref(stored);
    stored = stats_snapshot(stats);
    assert_json_is(json_object_get(metrics_in(stored), "accumulated_cost"), "0.75");
    stats_set_sum(stats, "task:1", other);
    json_decref(stored);
    stored = stats_snapshot(stats);
    assert_json_is(
        json_object_get(json_object_get(json_object_get(stored, "usage_to_metrics"), "task:1"),
                        "model_name"),
        "'a'");
}

/* Rows of older programs, and damaged ones. */
static void stored_metrics_need_not_be_whole(void **state)
{
    json_auto_t *old = json_of("{'usage_to_metrics': {'agent': {'model_name': 'm',"
                               " 'accumulated_token_usage': 5, 'own': 1}, 'damaged': []}}");
    CLEANUP(stats_freep) struct stats *stats = stats_open(old);
    struct llm_usage call = usage(0.5);
    json_auto_t *snapshot = NULL;

    (void)state;
    stats_add(stats, &call);
    snapshot = stats_snapshot(stats);
    assert_json_is(snapshot,
                   "{'usage_to_metrics': {'agent': {'model_name': 'm', 'accumulated_cost': 0.5,"
                   " 'max_budget_per_task': null, 'own': 1,"
                   " 'accumulated_token_usage': {'model': 'm', 'prompt_tokens': 100,"
                   "  'completion_tokens': 20, 'cache_read_tokens': 50, 'cache_write_tokens': 0,"
                   "  'reasoning_tokens': 0, 'context_window': 1000, 'per_turn_token': 120,"
                   "  'response_id': ''}}}}");
    stats_free(NULL);
}

int stats_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_add_up),
        cmocka_unit_test(free_calls_leave_no_cost_entry),
        cmocka_unit_test(an_unknown_cost_adds_nothing),
        cmocka_unit_test(lists_keep_the_newest),
        cmocka_unit_test(usage_ids_are_counted_apart),
        cmocka_unit_test(counting_goes_on_from_what_is_stored),
        cmocka_unit_test(the_total_is_of_all_usage_ids),
        cmocka_unit_test(no_calls_are_stored_as_such),
        cmocka_unit_test(a_call_is_stored_with_its_counts),
        cmocka_unit_test(negative_counts_are_none),
        cmocka_unit_test(a_registered_usage_has_no_calls),
        cmocka_unit_test(a_sum_replaces_what_a_usage_had),
        cmocka_unit_test(stored_metrics_need_not_be_whole),
    };

    return cmocka_run_group_tests_name("model/stats", tests, NULL, NULL);
}

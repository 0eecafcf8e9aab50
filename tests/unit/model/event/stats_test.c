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
    assert_int_equal(json_int_or(json_array_get(list, 9), "prompt_tokens", 0), 299);
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

static void no_calls_are_stored_as_such(void **state)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(NULL);
    json_auto_t *stored = stored_form(stats);
    json_auto_t *fresh = stats_new();

    (void)state;
    assert_json_equal(stored, fresh);
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
        cmocka_unit_test(no_calls_are_stored_as_such),
    };

    return cmocka_run_group_tests_name("model/stats", tests, NULL, NULL);
}

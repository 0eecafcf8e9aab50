#include "base/json.h"
#include "model/stats.h"
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

static void calls_add_up(void **state)
{
    json_auto_t *stats = stats_new();
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
    json_auto_t *stats = stats_new();
    struct llm_usage call = usage(0);
    json_t *metrics = NULL;

    (void)state;
    call.latency_s = -1;
    stats_add(stats, &call);
    metrics = json_object_get(json_object_get(stats, "usage_to_metrics"), "agent");
    assert_int_equal(json_array_size(json_object_get(metrics, "costs")), 0);
    assert_int_equal(json_array_size(json_object_get(metrics, "token_usages")), 1);
    assert_true(json_number_or(json_array_get(json_object_get(metrics, "response_latencies"), 0),
                               "latency", -1) >= 0);
}

static void lists_keep_the_newest(void **state)
{
    json_auto_t *stats = stats_new();
    json_t *list = NULL;

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct llm_usage call = usage(1);

        call.prompt_tokens = i;
        stats_add(stats, &call);
    }
    list = json_object_get(json_object_get(json_object_get(stats, "usage_to_metrics"), "agent"),
                           "token_usages");
    assert_int_equal(json_array_size(list), 10);
    assert_int_equal(json_int_or(json_array_get(list, 9), "prompt_tokens", 0), 299);
}

static void usage_ids_are_counted_apart(void **state)
{
    json_auto_t *stats = json_object();
    struct llm_usage agent = usage(1);
    struct llm_usage condenser = usage(1);

    (void)state;
    condenser.usage_id = "condenser";
    stats_add(stats, &agent);
    stats_add(stats, &condenser);
    assert_int_equal(json_object_size(json_object_get(stats, "usage_to_metrics")), 2);
}

int stats_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_add_up),
        cmocka_unit_test(free_calls_leave_no_cost_entry),
        cmocka_unit_test(lists_keep_the_newest),
        cmocka_unit_test(usage_ids_are_counted_apart),
    };

    return cmocka_run_group_tests_name("model/stats", tests, NULL, NULL);
}

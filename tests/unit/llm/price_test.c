#include "llm/price.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "model/event/stats.h"

static const double MICRO = 1e-6;
static const float CLOSE = 1e-4F;

/* The cost of a million cached tokens, half a million others and a million of output. */
static double cost_of(const json_t *spec, const char *model, double reported)
{
    const struct llm_usage usage = {.prompt_tokens = 1500000,
                                    .cache_read_tokens = 1000000,
                                    .completion_tokens = 1000000,
                                    .cost = reported};

    return price_of(spec, model, &usage);
}

static void cached_tokens_are_paid_once_at_their_own_price(void **state)
{
    json_auto_t *none = json_object();

    (void)state;
    /* gpt-4o: 2.50, cached 1.25, output 10.00 dollars per million */
    assert_float_equal(cost_of(none, "gpt-4o", 0), 0.5 * 2.50 + 1.25 + 10.00, CLOSE);
}

static void configured_prices_replace_those_of_the_table(void **state)
{
    json_auto_t *spec = json_object();

    (void)state;
    json_put(spec, "input_cost_per_token", json_real(2 * MICRO));
    assert_float_equal(cost_of(spec, "gpt-4o", 0), 3.0, CLOSE);
    json_put(spec, "output_cost_per_token", json_real(4 * MICRO));
    assert_float_equal(cost_of(spec, "unknown", 0), 7.0, CLOSE);
}

static void reported_cost_comes_first_and_unknown_models_cost_nothing(void **state)
{
    json_auto_t *none = json_object();

    (void)state;
    assert_float_equal(cost_of(none, "gpt-4o", 0.25), 0.25, CLOSE);
    assert_float_equal(cost_of(none, "unknown", 0), 0.0, CLOSE);
}

/* As some servers count: without the tokens that they had cached. */
static void more_cached_tokens_than_there_were_cost_nothing(void **state)
{
    json_auto_t *none = json_object();
    const struct llm_usage usage = {.prompt_tokens = 1000, .cache_read_tokens = 1000000};

    (void)state;
    assert_float_equal(price_of(none, "gpt-4o", &usage), 0.0, CLOSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_tokens_are_paid_once_at_their_own_price),
        cmocka_unit_test(configured_prices_replace_those_of_the_table),
        cmocka_unit_test(reported_cost_comes_first_and_unknown_models_cost_nothing),
        cmocka_unit_test(more_cached_tokens_than_there_were_cost_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

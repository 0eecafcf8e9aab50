#include "llm/price.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"
#include "model/event/stats.h"
#include "support/test_catalogue.h"

static const double MICRO = 1e-6;
static const float CLOSE = 1e-4F;

/* The cost of a million cached tokens, half a million others and a million of output. */
static double cost_of(const json_t *spec, const char *model, double reported)
{
    const struct llm_usage usage = {.prompt_tokens = 1500000,
                                    .cache_read_tokens = 1000000,
                                    .completion_tokens = 1000000,
                                    .cost = reported};

    return price_of(spec, catalogue_find_model(test_catalogue(), model), &usage);
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

static void written_tokens_have_their_own_price(void **state)
{
    json_auto_t *none = json_object();
    const struct llm_usage usage = {.prompt_tokens = 1000000, .cache_write_tokens = 400000};
    const struct model_facts *facts =
        catalogue_find_model(test_catalogue(), "anthropic/claude-sonnet-4-5");

    (void)state;
    assert_float_equal(price_of(none, facts, &usage), 3.3F, CLOSE);
}

static void cached_tokens_without_a_price_have_that_of_the_input(void **state)
{
    const struct model_facts facts = {.input = 2.0,
                                      .output = 8.0,
                                      .cache_read = MODEL_PRICE_UNKNOWN,
                                      .cache_write = MODEL_PRICE_UNKNOWN};
    const struct llm_usage usage = {
        .prompt_tokens = 1000000, .cache_read_tokens = 500000, .cache_write_tokens = 250000};
    json_auto_t *none = json_object();

    (void)state;
    assert_float_equal(price_of(none, &facts, &usage), 2.0, CLOSE);
}

static void free_models_cost_nothing(void **state)
{
    json_auto_t *none = json_object();

    (void)state;
    assert_float_equal(cost_of(none, "ollama/llama3.1", 0), 0.0, CLOSE);
}

static void reported_cost_comes_first_and_that_of_an_unknown_model_is_unknown(void **state)
{
    json_auto_t *none = json_object();

    (void)state;
    assert_float_equal(cost_of(none, "gpt-4o", 0.25), 0.25, CLOSE);
    assert_true(cost_of(none, "unknown", 0) < 0);
}

static void prompt_that_was_cached_as_a_whole_has_a_price(void **state)
{
    const struct model_facts facts = {
        .input = 2.0, .output = 8.0, .cache_read = 0, .cache_write = 0.5};
    const struct llm_usage usage = {.prompt_tokens = 1000000,
                                    .cache_read_tokens = 500000,
                                    .cache_write_tokens = 500000,
                                    .completion_tokens = 1000000};
    json_auto_t *none = json_object();

    (void)state;
    assert_float_equal(price_of(none, &facts, &usage), 8.25, CLOSE);
}

static void configured_price_of_nothing_is_nothing(void **state)
{
    json_auto_t *free_input = json_object();
    json_auto_t *free_output = json_object();

    (void)state;
    json_put(free_input, "input_cost_per_token", json_integer(0));
    assert_float_equal(cost_of(free_input, "gpt-4o", 0), 0.0, CLOSE);
    json_put(free_output, "output_cost_per_token", json_real(2 * MICRO));
    json_put(free_output, "input_cost_per_token", json_integer(-1));
    assert_float_equal(cost_of(free_output, "gpt-4o", 0), 2.0, CLOSE);
}

static void model_without_a_listed_price_has_an_unknown_cost(void **state)
{
    const struct model_facts facts = {.input = MODEL_PRICE_UNKNOWN, .output = 8.0};
    const struct llm_usage usage = {.prompt_tokens = 1};
    json_auto_t *none = json_object();

    (void)state;
    assert_true(price_of(none, &facts, &usage) < 0);
}

/* As some servers count: without the tokens that they had cached. */
static void the_cost_of_more_cached_tokens_than_there_were_is_unknown(void **state)
{
    json_auto_t *none = json_object();
    const struct llm_usage usage = {.prompt_tokens = 1000, .cache_read_tokens = 1000000};

    (void)state;
    assert_true(price_of(none, catalogue_find_model(test_catalogue(), "gpt-4o"), &usage) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_tokens_are_paid_once_at_their_own_price),
        cmocka_unit_test(configured_prices_replace_those_of_the_table),
        cmocka_unit_test(written_tokens_have_their_own_price),
        cmocka_unit_test(cached_tokens_without_a_price_have_that_of_the_input),
        cmocka_unit_test(free_models_cost_nothing),
        cmocka_unit_test(reported_cost_comes_first_and_that_of_an_unknown_model_is_unknown),
        cmocka_unit_test(prompt_that_was_cached_as_a_whole_has_a_price),
        cmocka_unit_test(configured_price_of_nothing_is_nothing),
        cmocka_unit_test(model_without_a_listed_price_has_an_unknown_cost),
        cmocka_unit_test(the_cost_of_more_cached_tokens_than_there_were_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

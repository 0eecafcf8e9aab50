/* Token counts: estimates of prompts, and how a server's reports correct them. */
#include "worker/worker_test.h"

#include "base/json.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/token_count.h"
#include "worker/agent/core/token_gauge.h"
#include "worker/events.h"

/* --- counts --- */

static struct token_count count_of(const char *message)
{
    json_auto_t *json = test_json(message);
    struct token_count count = {0, 0};

    token_count_add(&count, json);
    return count;
}

static void texts_and_calls_are_counted_and_images_apart(void **state)
{
    struct token_count text =
        count_of("{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"12345\"}]}");
    struct token_count image =
        count_of("{\"role\": \"user\", \"content\": [{\"type\": \"image_url\", \"image_url\":"
                 " {\"url\": \"data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}}]}");
    struct token_count call = count_of("{\"role\": \"assistant\", \"tool_calls\": [{\"function\":"
                                       " {\"name\": \"ls\", \"arguments\": \"12345678\"}}]}");

    (void)state;
    assert_int_equal(text.n_tokens, 4 + 2);
    assert_int_equal(image.n_tokens, 4);
    assert_int_equal(image.n_images, 1);
    assert_int_equal(token_count_sum(&image), 1004);
    assert_int_equal(call.n_tokens, 4 + 4 + 1 + 2);
}

static void a_call_weighs_what_its_result_does(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    size_t tokens[4] = {9, 9, 9, 9};

    (void)state;
    history_add_text(&history, "[" USER("1234") "," ACTION("5", "x") "," RESULT(
                                   "5", "12345678") "," RUNNING "]");
    token_count_events(&history, tokens);
    assert_int_equal(tokens[0], 5);
    assert_int_equal(tokens[1], (4 + 4 + 2 + 1) + (4 + 2));
    assert_int_equal(tokens[2], 0);
    assert_int_equal(tokens[3], 0);
}

/* --- reports --- */

static bool note(struct token_gauge *gauge, size_t n_estimated, int64_t n_reported)
{
    const struct token_prompt prompt = {"m", n_estimated, n_estimated, 1};

    return token_gauge_note(gauge, &prompt, n_reported);
}

static void a_report_corrects_later_estimates(void **state)
{
    CLEANUP(token_gauge_done) struct token_gauge gauge = TOKEN_GAUGE_INIT;

    (void)state;
    assert_true(token_gauge_scale(&gauge, "m") == 1.1);
    assert_false(note(&gauge, 1000, 1500));
    assert_true(token_gauge_scale(&gauge, "m") == 1.5);
    assert_true(token_gauge_scale(&gauge, "other") == 1.1);
    assert_false(note(&gauge, 2000, 0));
    assert_false(note(&gauge, 20000, 30));
    assert_false(token_gauge_note(&gauge, &(struct token_prompt){"other", 2000, 2000, 1}, 0));
    assert_true(token_gauge_scale(&gauge, "m") == 1.5);
}

static void a_count_that_does_not_grow_shows_a_cut_prompt(void **state)
{
    CLEANUP(token_gauge_done) struct token_gauge gauge = TOKEN_GAUGE_INIT;

    (void)state;
    assert_false(note(&gauge, 4000, 4096));
    assert_false(note(&gauge, 4400, 4096));
    assert_int_equal(token_gauge_window(&gauge, "m"), 0);
    assert_true(note(&gauge, 5000, 4090));
    assert_int_equal(token_gauge_window(&gauge, "m"), 4096);
    assert_int_equal(token_gauge_window(&gauge, "other"), 0);
    assert_false(note(&gauge, 6000, 4096));
    assert_true(token_gauge_scale(&gauge, "m") < 1.1);
    assert_false(note(&gauge, 7000, 7000));
    assert_int_equal(token_gauge_window(&gauge, "m"), 0);
}

/* A server that reports the uncached part only, a shorter prompt, and one too short to be cut. */
static void other_low_counts_show_nothing(void **state)
{
    static const struct {
        size_t n_estimated;
        int64_t n_reported;
        uint64_t generation;
        int64_t n_first;
    } cases[] = {
        {9000, 900, 1, 4000}, {9000, 3900, 2, 4000}, {4300, 4000, 1, 4000}, {9000, 1000, 1, 1000}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(token_gauge_done) struct token_gauge gauge = TOKEN_GAUGE_INIT;
        const struct token_prompt prompt = {"m", cases[i].n_estimated, cases[i].n_estimated,
                                            cases[i].generation};

        assert_false(note(&gauge, 4000, cases[i].n_first));
        assert_false(token_gauge_note(&gauge, &prompt, cases[i].n_reported));
        assert_int_equal(token_gauge_window(&gauge, "m"), 0);
    }
}

int token_gauge_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_and_calls_are_counted_and_images_apart),
        cmocka_unit_test(a_call_weighs_what_its_result_does),
        cmocka_unit_test(a_report_corrects_later_estimates),
        cmocka_unit_test(a_count_that_does_not_grow_shows_a_cut_prompt),
        cmocka_unit_test(other_low_counts_show_nothing),
    };

    return cmocka_run_group_tests_name("worker/token_gauge", tests, NULL, NULL);
}

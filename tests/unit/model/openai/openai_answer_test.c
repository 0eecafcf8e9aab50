#include "model/openai/openai_answer.h"

#include <string.h>

#include "base/json.h"
#include "unit/model/model_test.h"

static void usage_is_the_sum_of_all_models(void **state)
{
    json_auto_t *stats =
        json_of("{'usage_to_metrics': {'agent': {'accumulated_token_usage': {'prompt_tokens': 1000,"
                " 'cache_read_tokens': 200, 'completion_tokens': 30, 'reasoning_tokens': 4}},"
                " 'condenser': {'accumulated_token_usage': {'prompt_tokens': 5000,"
                " 'cache_read_tokens': 600, 'completion_tokens': 70, 'reasoning_tokens': 8}},"
                " 'none': {}}}");
    const struct openai_usage usage = openai_usage_of(stats);
    const struct openai_usage none = openai_usage_of(NULL);

    (void)state;
    assert_int_equal(usage.input_tokens, 6000);
    assert_int_equal(usage.cached_tokens, 800);
    assert_int_equal(usage.output_tokens, 100);
    assert_int_equal(usage.reasoning_tokens, 12);
    assert_int_equal(none.input_tokens, 0);
    assert_int_equal(none.cached_tokens, 0);
    assert_int_equal(none.output_tokens, 0);
    assert_int_equal(none.reasoning_tokens, 0);
}

static void usage_since_is_the_difference(void **state)
{
    const struct openai_usage now = {6000, 800, 100, 12};
    const struct openai_usage before = {1000, 200, 30, 4};
    const struct openai_usage usage = openai_usage_since(&now, &before);

    (void)state;
    assert_int_equal(usage.input_tokens, 5000);
    assert_int_equal(usage.cached_tokens, 600);
    assert_int_equal(usage.output_tokens, 70);
    assert_int_equal(usage.reasoning_tokens, 8);
}

static void a_model_is_a_profile_with_a_prefix(void **state)
{
    json_auto_t *model = openai_model("mine");

    (void)state;
    assert_json_is(model, "{'id': 'openhands_mine', 'object': 'model', 'created': 0,"
                          " 'owned_by': 'openhands'}");
}

static const struct openai_answer answer = {
    .model = "openhands_mine",
    .text = "Done.",
    .usage = {6000, 800, 100, 12},
    .begun_s = 1000,
    .ended_s = 1060,
};

/* Takes the id, which is random, out of the object. */
static void assert_id(json_t *object, const char *prefix)
{
    const char *id = json_text_or(object, "id", "");

    assert_memory_equal(id, prefix, strlen(prefix));
    assert_int_equal(strspn(id + strlen(prefix), "0123456789abcdef"), 32);
    assert_int_equal(strlen(id), strlen(prefix) + 32);
    (void)json_object_del(object, "id");
}

static void a_completion_has_one_choice(void **state)
{
    json_auto_t *json = openai_chat_completion(&answer);
    json_auto_t *other = openai_chat_completion(&answer);

    (void)state;
    assert_string_not_equal(json_text_or(json, "id", ""), json_text_or(other, "id", ""));
    assert_id(json, "chatcmpl-");
    assert_json_is(json, "{'object': 'chat.completion', 'created': 1000, 'model': 'openhands_mine',"
                         " 'choices': [{'index': 0, 'finish_reason': 'stop', 'message':"
                         "  {'role': 'assistant', 'content': 'Done.'}}],"
                         " 'usage': {'prompt_tokens': 6000, 'completion_tokens': 100,"
                         "  'total_tokens': 6100, 'prompt_tokens_details': {'cached_tokens': 800},"
                         "  'completion_tokens_details': {'reasoning_tokens': 12}}}");
}

static void a_response_has_one_message_and_echoes_what_was_asked(void **state)
{
    static const struct {
        const char *asked;
        const char *echo;
    } cases[] = {
        {"{'instructions': 'Be brief', 'metadata': {'a': 'b'}, 'tools': [1]}",
         "{'instructions': 'Be brief', 'metadata': {'a': 'b'}}"},
        {"{}", "{'instructions': null, 'metadata': null}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *asked = json_of(cases[i].asked);
        json_auto_t *json = openai_response(&answer, asked);
        json_auto_t *expected = json_of(
            "{'object': 'response', 'created_at': 1000, 'completed_at': 1060,"
            " 'model': 'openhands_mine', 'status': 'completed', 'previous_response_id': null,"
            " 'parallel_tool_calls': false, 'tool_choice': 'none', 'tools': [],"
            " 'output': [{'type': 'message', 'role': 'assistant', 'status': 'completed',"
            "  'content': [{'type': 'output_text', 'text': 'Done.', 'annotations': []}]}],"
            " 'usage': {'input_tokens': 6000, 'input_tokens_details': {'cached_tokens': 800},"
            "  'output_tokens': 100, 'output_tokens_details': {'reasoning_tokens': 12},"
            "  'total_tokens': 6100}}");
        json_auto_t *echo = json_of(cases[i].echo);

        assert_id(json, "resp_");
        assert_id(json_array_get(json_object_get(json, "output"), 0), "msg_");
        (void)json_object_update(expected, echo);
        assert_json_equal(json, expected);
    }
}

int openai_answer_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage_is_the_sum_of_all_models),
        cmocka_unit_test(usage_since_is_the_difference),
        cmocka_unit_test(a_model_is_a_profile_with_a_prefix),
        cmocka_unit_test(a_completion_has_one_choice),
        cmocka_unit_test(a_response_has_one_message_and_echoes_what_was_asked),
    };

    return cmocka_run_group_tests_name("model/openai answer", tests, NULL, NULL);
}

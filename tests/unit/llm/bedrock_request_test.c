/* Requests of calls of Bedrock's Converse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm_fixture.h"

#define MODEL "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0"
#define OTHER_MODEL "bedrock/meta.llama3-3-70b-instruct-v1:0"

static const struct test_reply reply[] = {
    {.bytes = TEST_JSON_HEAD "{\"output\":{\"message\":{\"content\":[{\"text\":\"x\"}]}},"
                             "\"stopReason\":\"end_turn\"}",
     .ending = TEST_CLOSE}};

/* The JSON that a request with that history to that model carries. A new reference. */
static json_t *body_for(struct llm *llm, const char *model, const char *spec_more,
                        const char *history, const char *tools)
{
    struct test_server *server = test_server_start(reply, 1, NULL);
    const char *body = NULL;
    struct asked asked;
    json_t *json = NULL;

    asked_init(&asked, llm, model, test_server_url(server, ""), spec_more);
    if (history != NULL) {
        json_decref(asked.messages);
        asked.messages = parsed(history);
    }
    if (tools != NULL)
        asked.tools = parsed(tools);
    if (asked_run(&asked) < 0)
        fail_msg("%s", asked.failure.detail);
    body = strstr(test_server_request(server, 0), "\r\n\r\n");
    json = parsed(body + strlen("\r\n\r\n"));
    asked_done(&asked);
    test_server_stop(server);
    return json;
}

static void assert_member(struct llm *llm, const char *model, const char *spec_more,
                          const char *history, const char *member, const char *expected)
{
    json_auto_t *body = body_for(llm, model, spec_more, history, NULL);

    assert_json(json_object_get(body, member), expected);
}

/* --- messages --- */

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define USER(text) "{\"role\":\"user\",\"content\":[" TEXT(text) "]}"
#define CALL(id, name, arguments)                                                                  \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name                      \
    "\",\"arguments\":\"" arguments "\"}}"
#define TOOL(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":[" text "]}"
#define HISTORY                                                                                    \
    "[{\"role\":\"system\",\"content\":[" TEXT("Static") "," TEXT("Dynamic") "]}," USER(           \
        "Hi") ","                                                                                  \
              "{\"role\":\"assistant\",\"content\":[" TEXT("I look. ") "],\"tool_calls\":[" CALL(  \
                  "toolu_1", "terminal",                                                           \
                  "{\\\"b\\\":1, \\\"a\\\":2.0}") "," CALL("a:b", "no_tool",                       \
                                                           "{") "],\"thinking_blocks\":[{"         \
                                                                "\"type\":\"thinking\","           \
                                                                "\"thinking\":\"hm\","             \
                                                                "\"signature\":\"s\","             \
                                                                "\"model\":\"" MODEL               \
                                                                "\"},{\"type\":\"redacted_"        \
                                                                "thinking\",\"data\":\"ZQ==\","    \
                                                                "\"model\":"                       \
                                                                "\"" MODEL                         \
                                                                "\"},{\"type\":\"thinking\","      \
                                                                "\"thinking\":\"x\","              \
                                                                "\"signature\":\"y\",\"model\":"   \
                                                                "\"other\"}]}," TOOL(              \
                                                                    "toolu_1",                     \
                                                                    TEXT("one") "," TEXT(          \
                                                                        " ")) "," TOOL("a:b",      \
                                                                                       "") "," USER("So?") "]"

static void history_becomes_blocks(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body = body_for(*llm, MODEL, "{}", HISTORY, NULL);

    assert_json(json_object_get(body, "system"),
                "[{\"text\":\"Static\"},{\"cachePoint\":{\"type\":\"default\"}},"
                "{\"text\":\"Dynamic\"}]");
    assert_json(json_object_get(body, "messages"),
                "[{\"role\":\"user\",\"content\":[{\"text\":\"Hi\"}]},"
                "{\"role\":\"assistant\",\"content\":["
                "{\"reasoningContent\":{\"reasoningText\":{\"text\":\"hm\",\"signature\":\"s\"}}},"
                "{\"reasoningContent\":{\"redactedContent\":\"ZQ==\"}},{\"text\":\"I look.\"},"
                "{\"toolUse\":{\"toolUseId\":\"toolu_1\",\"name\":\"terminal\",\"input\":"
                "{\"b\":1,\"a\":2.0}}},"
                "{\"toolUse\":{\"toolUseId\":\"a_3ab\",\"name\":\"no_tool\",\"input\":{}}}]},"
                "{\"role\":\"user\",\"content\":["
                "{\"toolResult\":{\"toolUseId\":\"toolu_1\",\"content\":[{\"text\":\"one\"}]}},"
                "{\"toolResult\":{\"toolUseId\":\"a_3ab\",\"content\":[]}},{\"text\":\"So?\"},"
                "{\"cachePoint\":{\"type\":\"default\"}}]}]");
}

static void arguments_are_sent_byte_for_byte(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    json_decref(asked.messages);
    asked.messages = parsed(HISTORY);
    assert_int_equal(asked_run(&asked), 0);
    assert_non_null(strstr(test_server_request(server, 0), "\"input\":{\"b\":1, \"a\":2.0}}}"));
    asked_done(&asked);
    test_server_stop(server);
}

/* Models of other makers refuse both in one message, and take no cache points. */
static void words_are_kept_apart_from_results_for_other_models(void **state)
{
    struct llm *const *llm = *state;

    assert_member(
        *llm, OTHER_MODEL, "{}",
        "[" USER("Hi") ",{\"role\":\"assistant\",\"content\":[],\"tool_calls\":[" CALL(
            "a", "terminal",
            "{}") "," CALL("b", "terminal",
                           "{}") "]}," TOOL("a",
                                            TEXT(
                                                "one")) "," TOOL("b",
                                                                 TEXT(
                                                                     "two")) "," USER("So?") "," USER("Hm") "]",
        "messages",
        "[{\"role\":\"user\",\"content\":[{\"text\":\"Hi\"}]},"
        "{\"role\":\"assistant\",\"content\":["
        "{\"toolUse\":{\"toolUseId\":\"a\",\"name\":\"terminal\",\"input\":{}}},"
        "{\"toolUse\":{\"toolUseId\":\"b\",\"name\":\"terminal\",\"input\":{}}}]},"
        "{\"role\":\"user\",\"content\":["
        "{\"toolResult\":{\"toolUseId\":\"a\",\"content\":[{\"text\":\"one\"}]}},"
        "{\"toolResult\":{\"toolUseId\":\"b\",\"content\":[{\"text\":\"two\"}]}}]},"
        "{\"role\":\"assistant\",\"content\":[{\"text\":\"I have read the results.\"}]},"
        "{\"role\":\"user\",\"content\":[{\"text\":\"So?\"},{\"text\":\"Hm\"}]}]");
}

#define FAILED(content)                                                                            \
    "[" USER("Hi") ",{\"role\":\"assistant\",\"content\":[],\"tool_calls\":[" CALL(                \
        "a", "terminal", "{}") "]},{\"role\":\"tool\",\"tool_call_id\":\"a\",\"is_error\":true,"   \
                               "\"content\":[" content "]}]"
#define PIXEL "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,aGk=\"}}"
#define SENT_IMAGE "{\"image\":{\"format\":\"png\",\"source\":{\"bytes\":\"aGk=\"}}}"

/* Only models of Anthropic and Amazon take the status of a call and images in its result. */
static void failures_and_images_are_told_where_they_are_taken(void **state)
{
    static const struct {
        const char *model;
        const char *more;
        const char *history;
        const char *result;
    } cases[] = {
        {MODEL, "{}", FAILED(TEXT("no")), "\"content\":[{\"text\":\"no\"}],\"status\":\"error\""},
        {"bedrock/us-east-1/amazon.nova-pro-v1:0", "{}", FAILED(TEXT("no")),
         "\"content\":[{\"text\":\"no\"}],\"status\":\"error\""},
        {"bedrock/us-east-1/eu.amazon.nova-2-lite-v1:0", "{}", FAILED(PIXEL),
         "\"content\":[" SENT_IMAGE "]"},
        {OTHER_MODEL, "{\"capability_overrides\":{\"supports_vision\":true}}",
         FAILED(TEXT("no") "," PIXEL),
         "\"content\":[{\"text\":\"no\"},{\"text\":\"[an image in a form that this model does not"
         " take]\"}]"},
        /* a model that sees nothing is not told of images at all */
        {OTHER_MODEL, "{\"disable_vision\":true}", FAILED(TEXT("no") "," PIXEL),
         "\"content\":[{\"text\":\"no\"}]"},
        /* AWS refuses a failure without a text, and one with an image */
        {MODEL, "{}", FAILED(""), "\"content\":[]"},
        {MODEL, "{}", FAILED(TEXT("no") "," PIXEL),
         "\"content\":[{\"text\":\"no\"}," SENT_IMAGE "]"},
        /* an inference profile is known by the name that it is given */
        {"bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/p",
         "{\"model_canonical_name\":\"bedrock/anthropic.claude-sonnet-4-6\"}", FAILED(PIXEL),
         "\"content\":[" SENT_IMAGE "]"},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
        json_auto_t *body = body_for(*llm, cases[i].model, cases[i].more, cases[i].history, NULL);
        json_t *message = json_array_get(json_object_get(body, "messages"), 2);

        strbuf_appendf(&expected, "{\"toolResult\":{\"toolUseId\":\"a\",%s}}", cases[i].result);
        assert_json(json_array_get(json_object_get(message, "content"), 0), expected.text);
    }
}

static void the_user_has_the_first_and_the_last_word(void **state)
{
    struct llm *const *llm = *state;

    assert_member(*llm, OTHER_MODEL, "{}",
                  "[{\"role\":\"assistant\",\"content\":[" TEXT(
                      "one") "]},"
                             "{\"role\":\"assistant\",\"content\":[" TEXT("two") "]}]",
                  "messages",
                  "[{\"role\":\"user\",\"content\":[{\"text\":\"(The conversation begins with a "
                  "message of the assistant.)\"}]},"
                  "{\"role\":\"assistant\",\"content\":[{\"text\":\"one\"}]},"
                  "{\"role\":\"user\",\"content\":[{\"text\":\"Go on.\"}]},"
                  "{\"role\":\"assistant\",\"content\":[{\"text\":\"two\"}]},"
                  "{\"role\":\"user\",\"content\":[{\"text\":\"Go on.\"}]}]");
    assert_member(*llm, OTHER_MODEL, "{}", "[]", "messages",
                  "[{\"role\":\"user\",\"content\":[{\"text\":\"Go on.\"}]}]");
}

#define IMAGE(url) "{\"type\":\"image_url\",\"image_url\":{\"url\":\"" url "\"}}"

static void images_are_sent_along(void **state)
{
    struct llm *const *llm = *state;

    assert_member(
        *llm, MODEL, "{\"caching_prompt\":false}",
        "[{\"role\":\"user\",\"content\":[" IMAGE("data:image/jpeg;base64,AAAA") "," IMAGE(
            "https://h/a.png") "," IMAGE("data:image/tiff;base64,AAAA") "]}]",
        "messages",
        "[{\"role\":\"user\",\"content\":[{\"image\":{\"format\":\"jpeg\",\"source\":"
        "{\"bytes\":\"AAAA\"}}},"
        "{\"text\":\"[an image in a form that this model does not take]\"},"
        "{\"text\":\"[an image in a form that this model does not take]\"}]}]");
    assert_member(
        *llm, MODEL, "{\"caching_prompt\":false,\"disable_vision\":true}",
        "[{\"role\":\"user\",\"content\":[" IMAGE("data:image/png;base64,AAAA") "," TEXT("x") "]}]",
        "messages", "[{\"role\":\"user\",\"content\":[{\"text\":\"x\"}]}]");
}

#define LONG_ID "call_0123456789012345678901234567890123456789012345678901234567890123456789"

static void long_ids_are_shortened_alike(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body = body_for(
        *llm, MODEL, "{}",
        "[" USER("Hi") ",{\"role\":\"assistant\",\"content\":[],\"tool_calls\":[" CALL(
            LONG_ID "1", LONG_ID,
            "{}") "," CALL(LONG_ID "2", "terminal",
                           "{}") "]}," TOOL(LONG_ID "1", TEXT("one")) "," TOOL(LONG_ID "2",
                                                                               TEXT("two")) "]",
        NULL);
    const json_t *messages = json_object_get(body, "messages");
    const char *ids[2];

    for (size_t i = 0; i < 2; i++) {
        const json_t *use = json_object_get(
            json_array_get(json_object_get(json_array_get(messages, 1), "content"), i), "toolUse");
        const json_t *result = json_object_get(
            json_array_get(json_object_get(json_array_get(messages, 2), "content"), i),
            "toolResult");

        ids[i] = json_text_or(use, "toolUseId", "");
        assert_int_equal(strlen(ids[i]), 64);
        assert_string_equal(json_text_or(result, "toolUseId", ""), ids[i]);
    }
    assert_string_not_equal(ids[0], ids[1]);
}

/* --- tools and parameters --- */

static void tools_have_their_schemas(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body =
        body_for(*llm, MODEL, "{}", NULL,
                 "[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"description\":\"b\","
                 "\"parameters\":{\"type\":\"object\"}}},{\"type\":\"function\",\"function\":"
                 "{\"name\":\"c\",\"description\":\"\",\"parameters\":{\"type\":\"object\"}}}]");
    json_auto_t *without = body_for(*llm, MODEL, "{}", NULL, NULL);

    assert_json(json_object_get(body, "toolConfig"),
                "{\"tools\":[{\"toolSpec\":{\"name\":\"a\",\"description\":\"b\",\"inputSchema\":"
                "{\"json\":{\"type\":\"object\"}}}},{\"toolSpec\":{\"name\":\"c\",\"inputSchema\":"
                "{\"json\":{\"type\":\"object\"}}}}]}");
    assert_null(json_object_get(without, "toolConfig"));
}

/* A history with calls is refused without tools. */
static void calls_without_tools_are_sent_with_a_placeholder(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body = body_for(*llm, MODEL, "{}", HISTORY, NULL);
    const json_t *tools = json_object_get(json_object_get(body, "toolConfig"), "tools");

    assert_int_equal(json_array_size(tools), 1);
    assert_string_equal(
        json_text_or(json_object_get(json_array_get(tools, 0), "toolSpec"), "name", ""), "no_tool");
}

static const struct {
    const char *model;
    const char *spec;
    const char *config; /* inferenceConfig */
    const char *fields; /* additionalModelRequestFields; NULL: none */
} parameters[] = {
    {MODEL, "{}", "{\"maxTokens\":64000}",
     "{\"anthropic_beta\":[\"interleaved-thinking-2025-05-14\"],\"thinking\":{\"type\":\"enabled\","
     "\"budget_tokens\":63999}}"},
    {MODEL, "{\"reasoning_effort\":null,\"temperature\":0.5,\"top_p\":0.9,\"top_k\":5}",
     "{\"maxTokens\":64000,\"temperature\":0.5}",
     "{\"anthropic_beta\":[\"interleaved-thinking-2025-05-14\"],\"top_k\":5}"},
    {MODEL, "{\"reasoning_effort\":\"none\",\"top_p\":0.9,\"max_output_tokens\":100}",
     "{\"maxTokens\":100,\"topP\":0.9}",
     "{\"anthropic_beta\":[\"interleaved-thinking-2025-05-14\"]}"},
    {"bedrock/anthropic.claude-opus-4-6-v1", "{\"temperature\":1,\"reasoning_effort\":\"low\"}",
     "{\"maxTokens\":128000}",
     "{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"}}"},
    {"bedrock/eu-west-1/anthropic.claude-opus-4-6-v1", "{\"reasoning_effort\":\"none\"}",
     "{\"maxTokens\":128000}", NULL},
    {"bedrock/converse/anthropic.claude-opus-4-6-v1",
     "{\"reasoning_effort\":\"none\",\"aws_region_name\":\"us-east-1\"}", "{\"maxTokens\":128000}",
     NULL},
    {"bedrock/global.anthropic.claude-opus-5-5", "{}", "{\"maxTokens\":128000}",
     "{\"anthropic_beta\":[\"thinking-binding-controls-2026-08-01\"],\"thinking\":{\"type\":"
     "\"adaptive\",\"block_binding\":{\"prefix_mismatch_behavior\":\"drop_block\"}},"
     "\"output_config\":{\"effort\":\"high\"}}"},
    {"bedrock/anthropic.claude-3-5-haiku-20241022-v1:0", "{\"temperature\":0}",
     "{\"maxTokens\":8192,\"temperature\":0}", NULL},
    {"bedrock/amazon.nova-pro-v1:0", "{\"top_p\":0.5,\"temperature\":0.1,\"top_k\":9}",
     "{\"maxTokens\":10000,\"topP\":0.5,\"temperature\":0.1}",
     "{\"inferenceConfig\":{\"topK\":9}}"},
    {"bedrock/amazon.nova-2-lite-v1:0", "{\"temperature\":0.1}", NULL,
     "{\"reasoningConfig\":{\"type\":\"enabled\",\"maxReasoningEffort\":\"high\"}}"},
    {"bedrock/amazon.nova-2-lite-v1:0",
     "{\"temperature\":0.1,\"reasoning_effort\":\"minimal\",\"max_output_tokens\":9}",
     "{\"maxTokens\":9,\"temperature\":0.1}",
     "{\"reasoningConfig\":{\"type\":\"enabled\",\"maxReasoningEffort\":\"low\"}}"},
    {"bedrock/amazon.nova-2-lite-v1:0", "{\"reasoning_effort\":\"none\",\"max_output_tokens\":9}",
     "{\"maxTokens\":9}", NULL},
    {"bedrock/openai.gpt-oss-120b-1:0", "{\"reasoning_effort\":\"xhigh\",\"max_output_tokens\":9}",
     "{\"maxTokens\":9}", "{\"reasoning_effort\":\"high\"}"},
    {"bedrock/mistral.mistral-large-2407-v1:0", "{\"top_k\":3,\"max_output_tokens\":9}",
     "{\"maxTokens\":9}", "{\"top_k\":3}"},
    {"bedrock/ours.unknown", "{\"top_k\":3,\"seed\":4}", NULL, NULL},
    {"bedrock/arn:aws:bedrock:eu-west-1:1:application-inference-profile/x",
     "{\"model_canonical_name\":\"bedrock/anthropic.claude-opus-4-6-v1\"}",
     "{\"maxTokens\":128000}",
     "{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"high\"}}"},
    {"bedrock/ours.unknown",
     "{\"litellm_extra_body\":{\"guardrailConfig\":{\"a\":1},\"inferenceConfig\":{\"x\":1},"
     "\"additionalModelRequestFields\":{\"y\":2}},\"temperature\":0.5}",
     "{\"temperature\":0.5,\"x\":1}", "{\"y\":2}"},
};

static void parameters_are_those_of_the_maker(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
        json_auto_t *body = body_for(*llm, parameters[i].model, parameters[i].spec, NULL, NULL);
        json_auto_t *config = json_incref(json_object_get(body, "inferenceConfig"));
        json_auto_t *fields = json_incref(json_object_get(body, "additionalModelRequestFields"));

        if (parameters[i].config != NULL)
            assert_json(config, parameters[i].config);
        else
            assert_null(config);
        if (parameters[i].fields != NULL)
            assert_json(fields, parameters[i].fields);
        else
            assert_null(fields);
    }
}

/*
 * Of 10,000 tokens 40,000 bytes leave no room; the image counts by its tokens, and not at all if
 * it is not sent.
 */
static void an_answer_has_the_room_that_the_prompt_leaves(void **state)
{
    struct llm *const *llm = *state;
    static const struct {
        size_t text_bytes;
        size_t image_bytes;
        const char *image_type;
        int64_t low;
        int64_t high;
    } cases[] = {
        {4000, 0, NULL, 8600, 8744},        {4000, 100000, "png", 7600, 7744},
        {4000, 100000, "tiff", 8600, 8744}, {36000, 0, NULL, 1024, 1024},
        {100000, 0, NULL, 1024, 1024},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf history = STRBUF_INIT;
        json_auto_t *body = NULL;
        json_int_t given = 0;

        strbuf_append(&history, "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"");
        for (size_t n = 0; n < cases[i].text_bytes; n++)
            strbuf_append_char(&history, 'x');
        strbuf_append(&history, "\"}");
        if (cases[i].image_bytes > 0)
            strbuf_appendf(&history,
                           ",{\"type\":\"image_url\",\"image_url\":{\"url\":"
                           "\"data:image/%s;base64,",
                           cases[i].image_type);
        for (size_t n = 0; n < cases[i].image_bytes; n++)
            strbuf_append_char(&history, 'A');
        strbuf_append(&history, cases[i].image_bytes > 0 ? "\"}}]}]" : "]}]");
        body = body_for(*llm, OTHER_MODEL,
                        "{\"max_input_tokens\":10000,\"max_output_tokens\":9999,"
                        "\"capability_overrides\":{\"supports_vision\":true}}",
                        history.text, NULL);
        given = json_int_or(json_object_get(body, "inferenceConfig"), "maxTokens", 0);
        assert_in_range(given, cases[i].low, cases[i].high);
    }
}

static void calls_as_text_have_a_stop_word(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body =
        body_for(*llm, OTHER_MODEL, "{\"native_tool_calling\":false}", NULL,
                 "[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"description\":\"b\","
                 "\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]");

    assert_null(json_object_get(body, "toolConfig"));
    assert_json(json_object_get(json_object_get(body, "inferenceConfig"), "stopSequences"),
                "[\"</function\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_becomes_blocks),
        cmocka_unit_test(arguments_are_sent_byte_for_byte),
        cmocka_unit_test(words_are_kept_apart_from_results_for_other_models),
        cmocka_unit_test(failures_and_images_are_told_where_they_are_taken),
        cmocka_unit_test(the_user_has_the_first_and_the_last_word),
        cmocka_unit_test(images_are_sent_along),
        cmocka_unit_test(long_ids_are_shortened_alike),
        cmocka_unit_test(tools_have_their_schemas),
        cmocka_unit_test(calls_without_tools_are_sent_with_a_placeholder),
        cmocka_unit_test(parameters_are_those_of_the_maker),
        cmocka_unit_test(an_answer_has_the_room_that_the_prompt_leaves),
        cmocka_unit_test(calls_as_text_have_a_stop_word),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}

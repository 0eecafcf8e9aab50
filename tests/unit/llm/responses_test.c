/*
 * The format of OpenAI's Responses: what is sent, and how answers are read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/format.h"
#include "llm/llm.h"
#include "llm/llm_fixture.h"
#include "llm/llm_prompt.h"
#include "support/json_path.h"
#include "support/test_catalogue.h"

#define MODEL "openai/gpt-5.2"
#define EVENT(json) "event: x\ndata: " json "\n\n"
#define SUMMARY(text) "[{\"type\":\"summary_text\",\"text\":\"" text "\"}]"
#define REASONING                                                                                  \
    "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":" SUMMARY(                                \
        "hm") ",\"encrypted_content\":\"enc\",\"status\":\"completed\"}"
#define WORDS                                                                                      \
    "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{\"type\":"        \
    "\"output_text\",\"text\":\"I look.\"}]}"
#define CALL(n, name, arguments)                                                                   \
    "{\"type\":\"function_call\",\"id\":\"fc_" n "\",\"call_id\":\"call_" n "\",\"name\":\"" name  \
    "\",\"arguments\":\"" arguments "\"}"
#define CALLS CALL("1", "terminal", "{\\\"command\\\":\\\"ls\\\"}") "," CALL("2", "think", "")
#define USAGE                                                                                      \
    "\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":60},"             \
    "\"output_tokens\":20,\"output_tokens_details\":{\"reasoning_tokens\":5}}"
#define RESPONSE(status, output)                                                                   \
    "{\"id\":\"resp_7\",\"status\":\"" status "\",\"output\":[" output "]," USAGE "}"
#define STREAM_END(kind, status, output)                                                           \
    EVENT("{\"type\":\"response." kind "\",\"response\":" RESPONSE(status, output) "}")
#define DONE(item) EVENT("{\"type\":\"response.output_item.done\",\"item\":" item "}")
#define PIECE(kind, text) EVENT("{\"type\":\"response." kind ".delta\",\"delta\":\"" text "\"}")
#define CREATED EVENT("{\"type\":\"response.created\",\"response\":{\"id\":\"resp_7\"}}")
#define REPLY(head, body) {.bytes = head body, .ending = TEST_CLOSE}

static const struct test_reply whole_reply[] = {
    REPLY(TEST_JSON_HEAD, RESPONSE("completed", REASONING "," WORDS "," CALLS))};

static struct llm *llm_of(void *const *state)
{
    struct llm *const *llm = *state;

    return *llm;
}

static void begin(struct asked *asked, void *const *state, struct test_server *server,
                  const char *more)
{
    asked_init(asked, llm_of(state), MODEL, test_server_url(server, ""), more);
}

/* --- answers --- */

static void assert_full(const struct llm_reply *reply)
{
    CLEANUP(mem_freep) char *item = json_to_text(reply->reasoning_item);

    assert_string_equal(reply->response_id, "resp_7");
    assert_string_equal(reply->text, "I look.");
    assert_string_equal(reply->reasoning, "hm");
    assert_string_equal(reply->finish_reason, "tool_calls");
    assert_json_at(item, "",
                   "{\"id\":\"rs_1\",\"summary\":[\"hm\"],\"content\":null,"
                   "\"encrypted_content\":\"enc\",\"status\":\"completed\","
                   "\"model\":\"" MODEL "\"}");
    assert_int_equal(reply->n_calls, 2);
    assert_string_equal(reply->calls[0].id, "call_1");
    assert_string_equal(reply->calls[0].item_id, "fc_1");
    assert_string_equal(reply->calls[0].name, "terminal");
    assert_string_equal(reply->calls[0].arguments, "{\"command\":\"ls\"}");
    assert_string_equal(reply->calls[1].id, "call_2");
    assert_string_equal(reply->calls[1].arguments, "{}");
    assert_int_equal(reply->usage.prompt_tokens, 100);
    assert_int_equal(reply->usage.cache_read_tokens, 60);
    assert_int_equal(reply->usage.completion_tokens, 20);
    assert_int_equal(reply->usage.reasoning_tokens, 5);
}

/* Some servers send the items again at the end, some only there, some only before. */
static void answers_of_all_forms_become_the_same_reply(void **state)
{
    static const struct test_reply replies[] = {
        REPLY(TEST_JSON_HEAD, RESPONSE("completed", REASONING "," WORDS "," CALLS)),
        REPLY(TEST_SSE_HEAD,
              CREATED DONE(REASONING) DONE(WORDS)
                  DONE(CALL("1", "terminal", "{\\\"command\\\":\\\"ls\\\"}"))
                      DONE(CALL("2", "think", "")) STREAM_END("completed", "completed", "")),
        REPLY(TEST_SSE_HEAD,
              CREATED STREAM_END("completed", "completed", REASONING "," WORDS "," CALLS)),
        REPLY(TEST_SSE_HEAD,
              CREATED PIECE("reasoning_summary_text", "h") PIECE("reasoning_summary_text", "m")
                  DONE(REASONING) PIECE("output_text", "I lo") PIECE("output_text", "ok.")
                      DONE(WORDS) DONE(CALL("1", "terminal", "{\\\"command\\\":\\\"ls\\\"}"))
                          DONE(CALL("2", "think", ""))
                              STREAM_END("completed", "completed", REASONING "," WORDS "," CALLS)),
    };

    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        struct test_server *server = test_server_start(&replies[i], 1, NULL);
        struct asked asked;

        begin(&asked, state, server, i == 0 ? "{}" : "{\"stream\":true}");
        if (asked_run(&asked) < 0)
            fail_msg("%zu: %s", i, asked.failure.detail);
        assert_full(&asked.reply);
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void parts_of_a_summary_are_set_apart(void **state)
{
    static const struct test_reply replies[] = {
        REPLY(TEST_SSE_HEAD, EVENT("{\"type\":\"response.reasoning_summary_part.added\"}")
                                 PIECE("reasoning_summary_text", "a")
                                     EVENT("{\"type\":\"response.reasoning_summary_part.added\"}")
                                         PIECE("reasoning_summary_text", "b") DONE(WORDS)
                                             STREAM_END("completed", "completed", "")),
        REPLY(TEST_JSON_HEAD,
              RESPONSE("completed", "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{"
                                    "\"text\":\"a\"},{\"text\":\"b\"}]}," WORDS)),
        REPLY(TEST_JSON_HEAD,
              RESPONSE("completed", "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"content\":[{"
                                    "\"text\":\"a\"},{\"text\":\"b\"}]}," WORDS)),
    };

    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        struct test_server *server = test_server_start(&replies[i], 1, NULL);
        struct asked asked;

        begin(&asked, state, server, "{}");
        assert_int_equal(asked_run(&asked), 0);
        assert_string_equal(asked.reply.reasoning, "a\n\nb");
        assert_string_equal(asked.reply.text, "I look.");
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void end_of_an_answer_says_why(void **state)
{
    static const struct {
        const char *body;
        const char *finish_reason;
        const char *text;
    } answers[] = {
        {RESPONSE("completed", WORDS), "stop", "I look."},
        {"{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},"
         "\"output\":[" WORDS "]}",
         "length", "I look."},
        {"{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"},"
         "\"output\":[" WORDS "]}",
         "content_filter", "I look."},
        {"{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":"
         "\"refusal\",\"refusal\":\"No.\"}]}]}",
         "stop", "No."},
        {"{\"status\":\"completed\",\"output\":[]}", "stop", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
        struct test_reply reply = {.ending = TEST_CLOSE};
        struct test_server *server = NULL;
        struct asked asked;

        strbuf_appendf(&bytes, "%s%s", TEST_JSON_HEAD, answers[i].body);
        reply.bytes = bytes.text;
        server = test_server_start(&reply, 1, NULL);
        begin(&asked, state, server, "{}");
        if (asked_run(&asked) < 0)
            fail_msg("%zu: %s", i, asked.failure.detail);
        assert_string_equal(asked.reply.finish_reason, answers[i].finish_reason);
        assert_string_equal(asked.reply.text, answers[i].text);
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void failures_have_their_causes(void **state)
{
    static const struct {
        const char *bytes;
        enum llm_failure_kind kind;
    } answers[] = {
        {TEST_JSON_HEAD "[]", LLM_FAILURE_API},
        {TEST_JSON_HEAD "{\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\","
                        "\"message\":\"Rate limit reached\"}}",
         LLM_FAILURE_RATE_LIMIT},
        {TEST_JSON_HEAD "{\"status\":\"failed\"}", LLM_FAILURE_API},
        {TEST_JSON_HEAD "{\"status\":\"completed\"}", LLM_FAILURE_NO_RESPONSE},
        {TEST_JSON_HEAD "{\"status\":\"completed\",\"output\":[{\"type\":\"web_search_call\"}]}",
         LLM_FAILURE_API},
        {TEST_JSON_HEAD "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":"
                        "\"content_filter\"},\"output\":[]}",
         LLM_FAILURE_CONTENT_POLICY},
        {TEST_SSE_HEAD CREATED EVENT("{\"type\":\"error\",\"code\":\"rate_limit_exceeded\","
                                     "\"message\":\"Rate limit reached\"}"),
         LLM_FAILURE_RATE_LIMIT},
        {TEST_SSE_HEAD CREATED EVENT("{\"type\":\"response.failed\",\"response\":{\"status\":"
                                     "\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\","
                                     "\"message\":\"Rate limit reached\"}}}"),
         LLM_FAILURE_RATE_LIMIT},
        {TEST_SSE_HEAD CREATED PIECE("output_text", "half"), LLM_FAILURE_SERVICE_UNAVAILABLE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct test_reply reply = {.bytes = answers[i].bytes, .ending = TEST_CLOSE};
        struct test_server *server = test_server_start(&reply, 1, NULL);
        struct asked asked;

        begin(&asked, state, server, "{\"num_retries\":1}");
        assert_int_equal(asked_run(&asked), -1);
        if (asked.failure.kind != answers[i].kind)
            fail_msg("%zu: %s: %s", i, llm_failure_code(&asked.failure), asked.failure.detail);
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void cut_off_stream_ends_as_length(void **state)
{
    static const struct test_reply reply =
        REPLY(TEST_SSE_HEAD, CREATED PIECE("output_text", "half")
                                 EVENT("{\"type\":\"response.incomplete\",\"response\":{\"status\":"
                                       "\"incomplete\",\"incomplete_details\":{\"reason\":"
                                       "\"max_output_tokens\"},\"output\":[]}}"));
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct asked asked;

    begin(&asked, state, server, "{}");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.finish_reason, "length");
    assert_string_equal(asked.reply.text, "half");
    asked_done(&asked);
    test_server_stop(server);
}

/* --- requests --- */

/* The body that a model is sent; freed by the caller. */
static char *body_for(void *const *state, const char *model, const char *more, const char *messages)
{
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;
    const char *body = NULL;
    char *text = NULL;

    asked_init(&asked, llm_of(state), model, test_server_url(server, "/v1"), more);
    if (messages != NULL) {
        json_decref(asked.messages);
        asked.messages = json_loads(messages, 0, NULL);
        assert_non_null(asked.messages);
    }
    if (asked_run(&asked) < 0)
        fail_msg("%s", asked.failure.detail);
    body = test_server_request(server, 0);
    assert_memory_equal(body, "POST /v1/responses HTTP/1.1", strlen("POST /v1/responses"));
    assert_non_null(strstr(body, "Authorization: Bearer "));
    text = mem_dup_text(strstr(body, "\r\n\r\n") + strlen("\r\n\r\n"));
    asked_done(&asked);
    test_server_stop(server);
    return text;
}

#define PART(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AA==\"}}"
#define SAYS(role, parts) "{\"role\":\"" role "\",\"content\":[" parts "]}"
#define TOLD(id, more)                                                                             \
    "{\"id\":\"" id "\"," more "\"type\":\"function\",\"function\":{\"name\":\"terminal\","        \
    "\"arguments\":\"{\\\"a\\\": 1}\"}}"
#define RESULT(id, parts)                                                                          \
    "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"name\":\"terminal\",\"content\":[" parts "]" \
    "}"
#define KEPT(model)                                                                                \
    "\"responses_reasoning_item\":{\"id\":\"rs_1\",\"summary\":[\"hm\"],\"content\":null,"         \
    "\"encrypted_content\":\"enc\",\"status\":\"completed\",\"model\":\"" model "\"}"

static void history_becomes_items(void **state)
{
    static const char history[] =
        "[" SAYS("system", PART("S") "," PART(" ") "," PART("D")) "," SAYS("system", PART("T")) "," SAYS(
            "user", PART("hi") "," IMAGE "," PART(
                        " ")) ","
                              "{\"role\":\"assistant\",\"content\":[" PART("I look.") "]," KEPT(MODEL) ",\"tool_calls\":[" TOLD("call_1", "\"item_id\":\"fc_9\",") "," TOLD(
                                  "call_2",
                                  "") "]}," RESULT("call_1",
                                                   PART("one") "," PART(
                                                       "two")) "," RESULT("call_2",
                                                                          PART(
                                                                              "x") "," IMAGE) "," SAYS("user",
                                                                                                       PART(
                                                                                                           "go")) "]";
    CLEANUP(mem_freep) char *body = body_for(state, MODEL, "{}", history);

    assert_json_at(body, "instructions", "\"S\\nD\\n\\n---\\n\\nT\"");
    assert_json_at(body, "input[0]",
                   "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
                   "\"text\":\"hi\"},{\"type\":\"input_image\",\"image_url\":\"data:image/"
                   "png;base64,AA==\",\"detail\":\"auto\"}]}");
    assert_json_at(body, "input[1]",
                   "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":" SUMMARY(
                       "hm") ",\"encrypted_content\":\"enc\",\"status\":\"completed\"}");
    assert_json_at(body, "input[2]",
                   "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
                   "\"output_text\",\"text\":\"I look.\"}]}");
    assert_json_at(body, "input[3]",
                   "{\"type\":\"function_call\",\"id\":\"fc_9\",\"call_id\":\"call_1\",\"name\":"
                   "\"terminal\",\"arguments\":\"{\\\"a\\\": 1}\"}");
    assert_json_at(body, "input[4].id", "\"fc_call_2\"");
    assert_json_at(body, "input[5]",
                   "{\"type\":\"function_call_output\",\"call_id\":\"call_1\",\"output\":"
                   "\"one\\ntwo\"}");
    assert_json_at(body, "input[6].output[0]", "{\"type\":\"input_text\",\"text\":\"x\"}");
    assert_json_at(body, "input[6].output[1].type", "\"input_image\"");
    assert_json_at(body, "input[7].content[0].text", "\"go\"");
    assert_json_at(body, "input[8]", NULL);
}

static void another_models_reasoning_is_left_out(void **state)
{
    CLEANUP(mem_freep) char *other =
        body_for(state, MODEL, "{}",
                 "[" SAYS("user", PART("hi")) ",{\"role\":\"assistant\",\"content\":[" PART(
                     "a") "]," KEPT("openai/gpt-5.1") "}," SAYS("user", PART("b")) "]");
    CLEANUP(mem_freep) char *unkept =
        body_for(state, MODEL, "{}",
                 "[" SAYS("user", PART("hi")) ",{\"role\":\"assistant\",\"content\":[" PART(
                     "a") "],\"responses_reasoning_item\":{\"id\":\"rs_1\","
                          "\"summary\":[]}}," SAYS("user", PART("b")) "]");

    assert_json_at(other, "input[1].role", "\"assistant\"");
    assert_json_at(unkept, "input[1].role", "\"assistant\"");
}

/* The vendor refuses ids of more than 64 characters; a call and its result keep one id. */
static void long_ids_are_shortened_alike(void **state)
{
#define LONG "call_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    CLEANUP(mem_freep) char *body = body_for(
        state, MODEL, "{}",
        "[" SAYS("user", PART("hi")) ",{\"role\":\"assistant\",\"tool_calls\":[" TOLD(
            LONG "1", "") "," TOLD(LONG "2", "") "]}," RESULT(LONG "1",
                                                              PART("a")) "," RESULT(LONG "2",
                                                                                    PART("b")) "]");
    json_auto_t *json = json_loads(body, 0, NULL);
    const json_t *input = json_object_get(json, "input");
    const char *first = json_text_or(json_array_get(input, 1), "call_id", "");
    const char *second = json_text_or(json_array_get(input, 2), "call_id", "");

    assert_int_equal(strlen(first), 64);
    assert_string_not_equal(first, second);
    assert_string_equal(json_text_or(json_array_get(input, 3), "call_id", ""), first);
    assert_string_equal(json_text_or(json_array_get(input, 4), "call_id", ""), second);
    assert_json_at(body, "input[1].id", NULL);
}

static void reasoning_models_get_an_effort_and_others_sampling(void **state)
{
    static const char more[] =
        "{\"temperature\":0.5,\"top_p\":0.9,\"reasoning_summary\":\"auto\",\"reasoning_effort\":"
        "\"low\",\"max_output_tokens\":500,\"prompt_cache_retention\":\"24h\"}";
    CLEANUP(mem_freep) char *thinks = body_for(state, MODEL, more, NULL);
    CLEANUP(mem_freep) char *plain = body_for(state, "openai/gpt-4o",
                                              "{\"api_mode\":\"responses\",\"temperature\":0.5,"
                                              "\"top_p\":0.9}",
                                              NULL);
    CLEANUP(mem_freep) char *open =
        body_for(state, MODEL, "{\"enable_encrypted_reasoning\":false}", NULL);

    assert_json_at(thinks, "reasoning", "{\"effort\":\"low\",\"summary\":\"auto\"}");
    assert_json_at(thinks, "include", "[\"reasoning.encrypted_content\"]");
    assert_json_at(thinks, "temperature", NULL);
    assert_json_at(thinks, "top_p", NULL);
    assert_json_at(thinks, "store", "false");
    assert_json_at(thinks, "model", "\"gpt-5.2\"");
    assert_json_at(thinks, "max_output_tokens", "500");
    assert_json_at(thinks, "prompt_cache_retention", "\"24h\"");
    assert_json_at(thinks, "stream", NULL);
    assert_json_at(plain, "reasoning", NULL);
    assert_json_at(plain, "include", NULL);
    assert_json_at(plain, "temperature", "0.5");
    assert_json_at(plain, "top_p", "0.9");
    assert_json_at(open, "reasoning.effort", "\"high\"");
    assert_json_at(open, "include", NULL);
}

static void tools_are_flat(void **state)
{
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;
    const char *body = NULL;

    begin(&asked, state, server, "{}");
    json_decref(asked.tools);
    asked.tools = json_loads("[{\"type\":\"function\",\"function\":{\"name\":\"think\","
                             "\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}}]",
                             0, NULL);
    assert_int_equal(asked_run(&asked), 0);
    body = strstr(test_server_request(server, 0), "\r\n\r\n") + strlen("\r\n\r\n");
    assert_json_at(body, "tools",
                   "[{\"type\":\"function\",\"name\":\"think\",\"description\":\"d\","
                   "\"parameters\":{\"type\":\"object\"},\"strict\":false}]");
    assert_json_at(body, "tool_choice", "\"auto\"");
    asked_done(&asked);
    test_server_stop(server);
}

/* Another format's members are left out of a chat, whichever of the calls has them. */
static void chats_have_no_item_ids(void **state)
{
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;
    const char *body = NULL;

    begin(&asked, state, server, "{\"api_mode\":\"chat\"}");
    json_decref(asked.messages);
    asked
        .messages = json_loads("[" SAYS("user", PART("hi")) ",{\"role\":\"assistant\"," KEPT(MODEL) ",\"tool_calls\":[" TOLD(
                                   "call_1",
                                   "") "," TOLD("call_2",
                                                "\"item_id\":\"fc_9\",") "]}," RESULT("call_1",
                                                                                      PART(
                                                                                          "a")) "," RESULT("call_2",
                                                                                                           PART(
                                                                                                               "b")) "]",
                               0, NULL);
    assert_non_null(asked.messages);
    (void)asked_run(&asked);
    body = strstr(test_server_request(server, 0), "\r\n\r\n") + strlen("\r\n\r\n");
    assert_json_at(body, "messages[1].tool_calls[0].id", "\"call_1\"");
    assert_json_at(body, "messages[1].tool_calls[1].id", "\"call_2\"");
    assert_json_at(body, "messages[1].tool_calls[1].item_id", NULL);
    assert_json_at(body, "messages[1].responses_reasoning_item", NULL);
    asked_done(&asked);
    test_server_stop(server);
}

/* --- the choice of the format --- */

static void format_follows_mode_override_and_catalogue(void **state)
{
    static const struct {
        const char *spec;
        const char *path;
    } rows[] = {
        {"{\"model\":\"openai/gpt-5.2\"}", "/responses"},
        {"{\"model\":\"gpt-5.2\"}", "/responses"},
        {"{\"model\":\"litellm_proxy/gpt-5.2\",\"base_url\":\"http://x/v1\"}", "/responses"},
        {"{\"model\":\"openai/gpt-5-of-tomorrow\"}", "/responses"},
        {"{\"model\":\"openai/mine\",\"model_canonical_name\":\"openai/gpt-5.2\"}", "/responses"},
        {"{\"model\":\"openai/mine\"}", "/chat/completions"},
        {"{\"model\":\"openai/gpt-5.2\",\"api_mode\":\"chat\"}", "/chat/completions"},
        {"{\"model\":\"openai/mine\",\"api_mode\":\"responses\"}", "/responses"},
        {"{\"model\":\"mistral/mine\",\"api_mode\":\"responses\"}", "/responses"},
        {"{\"model\":\"openai/gpt-5.2\",\"capability_overrides\":{\"supports_responses_api\":"
         "false}}",
         "/chat/completions"},
        {"{\"model\":\"openai/mine\",\"capability_overrides\":{\"supports_responses_api\":true}}",
         "/responses"},
        {"{\"model\":\"openrouter/openai/gpt-5.2\"}", "/chat/completions"},
        {"{\"model\":\"openai/gpt-5.2\",\"base_url\":\"http://x/v1/chat/completions\"}",
         "/chat/completions"},
        {"{\"model\":\"openai/gpt-5.2\",\"base_url\":\"http://x/v1/responses\"}", "/responses"},
        {"{\"model\":\"anthropic/claude-haiku-4-5\",\"api_mode\":\"responses\"}", "/messages"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
        json_auto_t *spec = json_loads(rows[i].spec, 0, NULL);

        llm_prompt_begin(&prompt, test_catalogue(), spec);
        if (strcmp(prompt.format->path, rows[i].path) != 0)
            fail_msg("%s: %s", rows[i].spec, prompt.format->path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_all_forms_become_the_same_reply),
        cmocka_unit_test(parts_of_a_summary_are_set_apart),
        cmocka_unit_test(end_of_an_answer_says_why),
        cmocka_unit_test(failures_have_their_causes),
        cmocka_unit_test(cut_off_stream_ends_as_length),
        cmocka_unit_test(history_becomes_items),
        cmocka_unit_test(another_models_reasoning_is_left_out),
        cmocka_unit_test(long_ids_are_shortened_alike),
        cmocka_unit_test(reasoning_models_get_an_effort_and_others_sampling),
        cmocka_unit_test(tools_are_flat),
        cmocka_unit_test(chats_have_no_item_ids),
        cmocka_unit_test(format_follows_mode_override_and_catalogue),
    };

    return cmocka_run_group_tests_name("responses", tests, llm_fixture_set_up,
                                       llm_fixture_tear_down);
}

/*
 * What a model's server is sent, for each kind of model and specification: body and headers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "llm/format.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/llm_headers.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"
#include "support/json_path.h"
#include "support/test_catalogue.h"

#define HI "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}]"

static json_t *parsed(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return json;
}

/* A request, and what is made of it. */
struct asked {
    const char *model;
    const char *spec;     /* its further members */
    const char *messages; /* NULL: one of the user */
    const char *tools;    /* NULL: none */
    const char *conversation_id;
    const char *api_key; /* NULL: none */
    struct llm_plan plan;
};

static void begin_prompt(struct llm_prompt *prompt, const json_t *spec, const struct asked *asked)
{
    json_auto_t *messages = parsed(asked->messages != NULL ? asked->messages : HI);

    llm_prompt_begin(prompt, test_catalogue(), spec);
    for (size_t i = 0; i < json_array_size(messages); i++)
        llm_prompt_add(prompt, json_array_get(messages, i));
    if (asked->tools != NULL) {
        json_auto_t *tools = parsed(asked->tools);

        llm_prompt_set_tools(prompt, tools);
    }
}

static void append_headers(const struct llm_headers *headers, struct strbuf *out)
{
    for (size_t i = 0; headers->items[i].name != NULL; i++)
        strbuf_appendf(out, "%s: %s\n", headers->items[i].name, headers->items[i].value);
}

/* The body as it is sent; headers_out: its headers, a line each. */
static char *render(const struct asked *asked, struct strbuf *headers_out)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    CLEANUP(llm_headers_done) struct llm_headers headers = LLM_HEADERS_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    const struct llm_format *format = NULL;
    json_auto_t *spec = parsed(asked->spec);
    struct llm_request request = {.spec = spec,
                                  .prompt = &prompt,
                                  .api_key = &key,
                                  .conversation_id = asked->conversation_id};

    json_put_text(spec, "model", asked->model);
    if (asked->api_key != NULL)
        secret_set(&key, asked->api_key);
    if (llm_route_find(asked->model, json_text_or(spec, "base_url", NULL), &route, &llm_error) < 0)
        fail_msg("%s", llm_error.detail);
    json_put_text(spec, "api_mode", "chat");
    begin_prompt(&prompt, spec, asked);
    format = prompt.format;
    format->add_headers(&request, &route, &headers);
    append_headers(&headers, headers_out);
    return format->request_body(test_catalogue(), &request, &route, &asked->plan);
}

static void assert_body(const struct asked *asked, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;
    CLEANUP(mem_freep) char *body = render(asked, &headers);

    assert_json_at(body, "", expected);
}

/* --- Chat Completions --- */

#define CHAT_HI "\"messages\":" HI
#define SAMPLING                                                                                   \
    "{\"temperature\":0.5,\"top_p\":0.9,\"top_k\":5,\"seed\":7,\"reasoning_effort\":\"low\","      \
    "\"max_output_tokens\":9,\"prompt_cache_retention\":\"24h\"}"

static const struct {
    struct asked asked;
    const char *body;
} chats[] = {
    {{.model = "openai/test", .spec = "{}"}, "{\"model\":\"test\"," CHAT_HI "}"},
    {{.model = "openai/test", .spec = SAMPLING},
     "{\"model\":\"test\"," CHAT_HI ",\"max_completion_tokens\":9,\"temperature\":0.5,"
     "\"top_p\":0.9,\"seed\":7,\"reasoning_effort\":\"low\"}"},
    {{.model = "openai/test",
      .spec = "{\"temperature\":null,\"top_p\":null,\"seed\":null,\"reasoning_effort\":null,"
              "\"max_output_tokens\":null}",
      .conversation_id = "c-1"},
     "{\"model\":\"test\"," CHAT_HI ",\"prompt_cache_key\":\"c-1\"}"},
    /* It reasons: it takes an effort, and no sampling. */
    {{.model = "openai/gpt-5", .spec = SAMPLING, .conversation_id = "c-1"},
     "{\"model\":\"gpt-5\"," CHAT_HI ",\"max_completion_tokens\":9,\"seed\":7,"
     "\"reasoning_effort\":\"low\",\"prompt_cache_key\":\"c-1\","
     "\"prompt_cache_retention\":\"24h\"}"},
    {{.model = "openai/gpt-5-mini", .spec = SAMPLING, .conversation_id = "c-1"},
     "{\"model\":\"gpt-5-mini\"," CHAT_HI ",\"max_completion_tokens\":9,\"seed\":7,"
     "\"reasoning_effort\":\"low\",\"prompt_cache_key\":\"c-1\"}"},
    {{.model = "openai/ours",
      .spec =
          "{\"model_canonical_name\":\"gpt-5\",\"temperature\":0.5,\"reasoning_effort\":\"low\","
          "\"prompt_cache_retention\":\"24h\"}",
      .conversation_id = "c-1"},
     "{\"model\":\"ours\"," CHAT_HI ",\"reasoning_effort\":\"low\",\"prompt_cache_key\":\"c-1\","
     "\"prompt_cache_retention\":\"24h\"}"},
    /* It takes both. */
    {{.model = "gemini/gemini-2.5-pro", .spec = SAMPLING, .conversation_id = "c-1"},
     "{\"model\":\"gemini-2.5-pro\"," CHAT_HI ",\"max_tokens\":9,\"temperature\":0.5,"
     "\"top_p\":0.9,\"top_k\":5,\"seed\":7,\"reasoning_effort\":\"low\"}"},
    /* Azure has neither top_k nor, for models that reason, max_tokens. */
    {{.model = "azure/gpt-4o",
      .spec = "{\"base_url\":\"http://r\",\"top_k\":5,\"max_output_tokens\":9}"},
     "{\"model\":\"gpt-4o\"," CHAT_HI ",\"max_tokens\":9}"},
    {{.model = "azure/o4-mini",
      .spec = "{\"base_url\":\"http://r\",\"top_k\":5,\"max_output_tokens\":9}"},
     "{\"model\":\"o4-mini\"," CHAT_HI ",\"max_completion_tokens\":9}"},
    {{.model = "azure/mine", .spec = "{\"base_url\":\"http://r\",\"max_output_tokens\":9}"},
     "{\"model\":\"mine\"," CHAT_HI ",\"max_tokens\":9}"},
    /* It takes no effort, and a server that is not open is not sent one that is not known. */
    {{.model = "openai/gpt-4o", .spec = "{\"reasoning_effort\":\"low\",\"top_k\":5}"},
     "{\"model\":\"gpt-4o\"," CHAT_HI "}"},
    {{.model = "xai/new",
      .spec = "{\"reasoning_effort\":\"low\",\"top_k\":5}",
      .conversation_id = "c-1"},
     "{\"model\":\"new\"," CHAT_HI ",\"top_k\":5}"},
    {{.model = "litellm_proxy/new",
      .spec = "{\"reasoning_effort\":\"low\",\"top_k\":5,\"max_output_tokens\":9,"
              "\"base_url\":\"http://h\"}"},
     "{\"model\":\"new\"," CHAT_HI ",\"max_completion_tokens\":9,\"top_k\":5,"
     "\"reasoning_effort\":\"low\"}"},
    /* Asked again, warmer. */
    {{.model = "openai/test", .spec = "{\"temperature\":0}", .plan = {.is_warm = true}},
     "{\"model\":\"test\"," CHAT_HI ",\"temperature\":1.0}"},
    {{.model = "openai/gpt-5", .spec = "{\"top_p\":0.5}", .plan = {.is_warm = true}},
     "{\"model\":\"gpt-5\"," CHAT_HI ",\"temperature\":1.0}"},
    {{.model = "openai/test", .spec = "{}", .plan = {.is_stream = true}},
     "{\"model\":\"test\"," CHAT_HI ",\"stream\":true,"
     "\"stream_options\":{\"include_usage\":true}}"},
    {{.model = "openai/test",
      .spec = "{}",
      .tools = "[{\"type\":\"function\",\"function\":{\"name\":\"t\"}}]"},
     "{\"model\":\"test\"," CHAT_HI
     ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"t\"}}]}"},
    {{.model = "openai/test", .spec = "{}", .tools = "[]"}, "{\"model\":\"test\"," CHAT_HI "}"},
    /* The specification's own members replace all others. */
    {{.model = "openai/test",
      .spec = "{\"temperature\":0.5,\"litellm_extra_body\":{\"messages\":[],\"tools\":[1],"
              "\"model\":\"m\",\"temperature\":0.7,\"x\":{\"y\":1}}}",
      .tools = "[{\"type\":\"function\",\"function\":{\"name\":\"t\"}}]"},
     "{\"messages\":[],\"tools\":[1],\"model\":\"m\",\"temperature\":0.7,\"x\":{\"y\":1}}"},
};

static void chat_has_what_the_model_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(chats); i++)
        assert_body(&chats[i].asked, chats[i].body);
}

/* --- Anthropic's Messages --- */

#define MARK "\"cache_control\":{\"type\":\"ephemeral\"}"
#define MARKED_HI                                                                                  \
    "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"," MARK "}]}" \
    "]"
#define MAX(model, tokens) "{\"model\":\"" model "\"," MARKED_HI ",\"max_tokens\":" tokens

static const struct {
    struct asked asked;
    const char *body;
} messages[] = {
    /* One of temperature and top_p. */
    {{.model = "anthropic/claude-3-5-haiku",
      .spec = "{\"temperature\":0.5,\"top_p\":0.9,\"top_k\":5,\"max_output_tokens\":9}"},
     MAX("claude-3-5-haiku", "9") ",\"temperature\":0.5,\"top_k\":5}"},
    {{.model = "anthropic/claude-3-5-haiku",
      .spec = "{\"temperature\":null,\"top_p\":0.9,\"max_output_tokens\":9}"},
     MAX("claude-3-5-haiku", "9") ",\"top_p\":0.9}"},
    {{.model = "anthropic/claude-3-5-haiku",
      .spec = "{\"top_p\":0.9,\"max_output_tokens\":9}",
      .plan = {.is_warm = true, .is_stream = true}},
     MAX("claude-3-5-haiku", "9") ",\"temperature\":1.0,\"stream\":true}"},
    /* No sampling while it thinks. */
    {{.model = "anthropic/claude-opus-5",
      .spec =
          "{\"temperature\":0.5,\"top_k\":5,\"max_output_tokens\":9,\"reasoning_effort\":\"low\"}"},
     MAX("claude-opus-5",
         "9") ",\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"}}"},
    {{.model = "anthropic/claude-opus-5",
      .spec = "{\"temperature\":0.5,\"max_output_tokens\":9,\"reasoning_effort\":\"minimal\"}"},
     MAX("claude-opus-5",
         "9") ",\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"}}"},
    {{.model = "anthropic/claude-opus-5",
      .spec = "{\"temperature\":0.5,\"max_output_tokens\":9,\"reasoning_effort\":\"none\"}"},
     MAX("claude-opus-5", "9") "}"},
    {{.model = "anthropic/claude-opus-5-5",
      .spec = "{\"temperature\":0.5,\"max_output_tokens\":9,\"reasoning_effort\":null}"},
     MAX("claude-opus-5-5", "9") ",\"thinking\":{\"type\":\"adaptive\",\"block_binding\":{\"prefix_"
                                 "mismatch_behavior\":"
                                 "\"drop_block\"}},\"output_config\":{\"effort\":\"low\"}}"},
    {{.model = "anthropic/claude-opus-5-5", .spec = "{\"max_output_tokens\":9}"},
     MAX("claude-opus-5-5", "9") ",\"thinking\":{\"type\":\"adaptive\",\"block_binding\":{\"prefix_"
                                 "mismatch_behavior\":"
                                 "\"drop_block\"}},\"output_config\":{\"effort\":\"high\"}}"},
    /* A budget leaves a token for the answer, and has a least size. */
    {{.model = "anthropic/claude-haiku-4-5",
      .spec = "{\"max_output_tokens\":1025,\"extended_thinking_budget\":5000,\"temperature\":0.5}"},
     MAX("claude-haiku-4-5",
         "1025") ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}}"},
    {{.model = "anthropic/claude-haiku-4-5",
      .spec = "{\"max_output_tokens\":1024,\"extended_thinking_budget\":5000,\"temperature\":0.5}"},
     MAX("claude-haiku-4-5", "1024") ",\"temperature\":0.5}"},
    {{.model = "anthropic/claude-haiku-4-5",
      .spec = "{\"max_output_tokens\":9000,\"extended_thinking_budget\":1023}"},
     MAX("claude-haiku-4-5", "9000") "}"},
    {{.model = "anthropic/claude-haiku-4-5", .spec = "{\"max_output_tokens\":300000}"},
     MAX("claude-haiku-4-5",
         "300000") ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":200000}}"},
    /* Without marks, with words of its own. */
    {{.model = "anthropic/claude-3-5-haiku",
      .spec = "{\"caching_prompt\":false,\"max_output_tokens\":9,\"litellm_extra_body\":{"
              "\"system\":\"s\","
              "\"tools\":[1],\"messages\":[2]}}",
      .messages = "[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"S\"}]}]",
      .tools = "[{\"type\":\"function\",\"function\":{\"name\":\"t\"}}]"},
     "{\"model\":\"claude-3-5-haiku\",\"max_tokens\":9,\"system\":\"s\",\"tools\":[1],"
     "\"messages\":[2]}"},
    {{.model = "anthropic/claude-3-5-haiku",
      .spec = "{\"caching_prompt\":false,\"max_output_tokens\":9}",
      .messages = "[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"S\"},"
                  "{\"type\":\"text\",\"text\":\" \"},{\"type\":\"text\",\"text\":\"D\"}]}]",
      .tools = "[{\"type\":\"function\",\"function\":{\"name\":\"t\",\"description\":\"d\","
               "\"parameters\":{\"a\":1}}},{\"type\":\"function\",\"function\":{}}]"},
     "{\"system\":[{\"type\":\"text\",\"text\":\"S\"},{\"type\":\"text\",\"text\":\"D\"}],"
     "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Go on.\"}]}],"
     "\"tools\":[{\"name\":\"t\",\"description\":\"d\",\"input_schema\":{\"a\":1}},"
     "{\"name\":\"\"}],\"model\":\"claude-3-5-haiku\",\"max_tokens\":9}"},
};

static void messages_have_what_the_model_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
        assert_body(&messages[i].asked, messages[i].body);
}

static void effort_is_a_budget_for_models_that_take_none(void **state)
{
    static const struct {
        const char *effort;
        const char *budget; /* NULL: it does not think */
    } efforts[] = {
        {"minimal", "1024"}, {"low", "1024"},  {"medium", "2048"}, {"high", "4096"},
        {"xhigh", "8192"},   {"max", "16384"}, {"none", NULL},     {"other", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(efforts); i++) {
        CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;
        CLEANUP(mem_freep) char *body = NULL;
        struct asked asked = {.model = "anthropic/claude-opus-4-5"};

        strbuf_appendf(&spec, "{\"reasoning_effort\":\"%s\"}", efforts[i].effort);
        asked.spec = spec.text;
        body = render(&asked, &headers);
        assert_json_at(body, "thinking.budget_tokens", efforts[i].budget);
        assert_json_at(body, "output_config", NULL);
    }
}

#define CALL                                                                                       \
    "{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}"
#define AFTER_CALL(blocks)                                                                         \
    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},{\"role\":"             \
    "\"assistant\",\"thinking_blocks\":" blocks ",\"tool_calls\":[" CALL "]},{\"role\":\"tool\","  \
    "\"tool_call_id\":\"1\",\"content\":[]}]"

/* It must have thought before the last calls, too. */
static void model_that_did_not_think_before_its_calls_does_not_now(void **state)
{
    static const struct {
        const char *blocks;
        const char *type;
    } cases[] = {
        {"[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}]", "\"enabled\""},
        {"[{\"type\":\"redacted_thinking\",\"data\":\"d\"}]", "\"enabled\""},
        {"[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\",\"model\":\"other\"}]",
         NULL},
        {"[]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;
        CLEANUP(mem_freep) char *body = NULL;
        struct asked asked = {.model = "anthropic/claude-haiku-4-5", .spec = "{}"};

        strbuf_appendf(&text, AFTER_CALL("%s"), cases[i].blocks);
        asked.messages = text.text;
        body = render(&asked, &headers);
        assert_json_at(body, "thinking.type", cases[i].type);
    }
}

/* --- headers --- */

static const struct {
    struct asked asked;
    const char *headers;
} heads[] = {
    {{.model = "openai/test", .spec = "{}"}, ""},
    {{.model = "openai/test", .spec = "{\"openrouter_site_url\":\"x\"}", .api_key = "sk-1"},
     "Authorization: Bearer sk-1\n"},
    {{.model = "openrouter/a/b", .spec = "{}"}, "HTTP-Referer: \nX-Title: \n"},
    {{.model = "openrouter/a/b",
      .spec = "{\"openrouter_site_url\":\"https://a\",\"openrouter_app_name\":\"A\"}",
      .api_key = "sk-1"},
     "Authorization: Bearer sk-1\nHTTP-Referer: https://a\nX-Title: A\n"},
    {{.model = "anthropic/claude-3-5-haiku", .spec = "{}"}, "anthropic-version: 2023-06-01\n"},
    {{.model = "anthropic/claude-opus-5", .spec = "{}", .api_key = "sk-1"},
     "x-api-key: sk-1\nanthropic-version: 2023-06-01\n"},
    {{.model = "anthropic/claude-opus-4-5", .spec = "{}"}, "anthropic-version: 2023-06-01\n"},
    {{.model = "anthropic/claude-haiku-4-5", .spec = "{}"},
     "anthropic-version: 2023-06-01\nanthropic-beta: interleaved-thinking-2025-05-14\n"},
    {{.model = "anthropic/claude-opus-5-5", .spec = "{}"},
     "anthropic-version: 2023-06-01\nanthropic-beta: thinking-binding-controls-2026-08-01\n"},
    {{.model = "anthropic/ours", .spec = "{\"model_canonical_name\":\"claude-haiku-4-5\"}"},
     "anthropic-version: 2023-06-01\nanthropic-beta: interleaved-thinking-2025-05-14\n"},
};

static void headers_are_those_of_the_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;
        CLEANUP(mem_freep) char *body = render(&heads[i].asked, &headers);

        assert_string_equal(headers.text, heads[i].headers);
    }
}

static void headers_over_the_maximum_are_left_out(void **state)
{
    CLEANUP(llm_headers_done) struct llm_headers headers = LLM_HEADERS_INIT;

    (void)state;
    for (int i = 0; i < LLM_HEADERS_MAX - 2; i++)
        llm_headers_add(&headers, "X-Some", "1");
    llm_headers_add(&headers, "X-Last", "2");
    llm_headers_add(&headers, "X-More", "3");
    assert_int_equal(headers.n, LLM_HEADERS_MAX - 1);
    assert_string_equal(headers.items[LLM_HEADERS_MAX - 2].name, "X-Last");
    assert_null(headers.items[LLM_HEADERS_MAX - 1].name);
    llm_headers_done(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat_has_what_the_model_takes),
        cmocka_unit_test(messages_have_what_the_model_takes),
        cmocka_unit_test(effort_is_a_budget_for_models_that_take_none),
        cmocka_unit_test(model_that_did_not_think_before_its_calls_does_not_now),
        cmocka_unit_test(headers_are_those_of_the_format),
        cmocka_unit_test(headers_over_the_maximum_are_left_out),
    };

    json_setup();
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}

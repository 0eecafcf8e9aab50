/*
 * Answers of models, event by event and whole: the reply that they become, or the cause of the
 * failure.
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
#include "base/strbuf.h"
#include "llm/format.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"
#include "support/json_path.h"

enum { CALLS_MAX = 128, THINKING_MAX = 1024 };

static json_t *parsed(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return json;
}

/* The reply as JSON. Ids that were made for it are "made". */
static json_t *id_of(const char *id, const char *prefix)
{
    bool is_made = strncmp(id, prefix, strlen(prefix)) == 0 && strlen(id) == strlen(prefix) + 24 &&
                   strspn(id + strlen(prefix), "0123456789abcdef") == 24;

    return json_text_of(is_made ? "made" : id);
}

static json_t *calls_of(const struct llm_reply *reply)
{
    json_t *calls = json_array();

    for (size_t i = 0; i < reply->n_calls; i++) {
        json_t *call = json_array();

        json_push(call, id_of(reply->calls[i].id, "call_"));
        json_push(call, json_text_of(reply->calls[i].name));
        json_push(call, json_text_of(reply->calls[i].arguments));
        json_push(calls, call);
    }
    return calls;
}

static json_t *usage_of(const struct llm_usage *usage)
{
    const int64_t counts[] = {usage->prompt_tokens, usage->completion_tokens,
                              usage->cache_read_tokens, usage->cache_write_tokens,
                              usage->reasoning_tokens};
    json_t *json = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        json_push(json, json_integer((json_int_t)counts[i]));
    return json;
}

static char *text_of(const struct llm_reply *reply)
{
    json_auto_t *json = json_object();

    json_put(json, "id", id_of(reply->response_id, "chatcmpl-"));
    json_put_text(json, "text", reply->text);
    json_put_text(json, "reasoning", reply->reasoning);
    json_put_text(json, "finish", reply->finish_reason);
    json_put(json, "thinking", json_incref(reply->thinking));
    json_put(json, "calls", calls_of(reply));
    json_put(json, "usage", usage_of(&reply->usage));
    return json_to_text(json);
}

/* Reads a whole answer (an object) or the events of a stream (an array of objects). */
static int read_all(enum llm_format_kind kind, const json_t *answer,
                    struct response_builder *builder, struct llm_error *llm_error)
{
    const struct llm_format *format = llm_format_of(kind);
    const json_t *event = NULL;
    bool is_last = true;
    size_t i = 0;

    if (!json_is_array(answer))
        return format->read_answer(builder, answer, llm_error);
    json_array_foreach (answer, i, event) {
        if (format->read_event(builder, event, &is_last, llm_error) < 0)
            return -1;
        /* Only Anthropic's format has an event that is the last one. */
        assert_int_equal(is_last, strcmp(json_text_or(event, "type", ""), "message_stop") == 0);
    }
    return 0;
}

/* The reply as text; or the failure's cause and detail. */
static char *read_reply(enum llm_format_kind kind, const char *text)
{
    CLEANUP(response_builder_done) struct response_builder builder = RESPONSE_BUILDER_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    CLEANUP(strbuf_done) struct strbuf failure = STRBUF_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    json_auto_t *answer = parsed(text);

    if (read_all(kind, answer, &builder, &llm_error) == 0 &&
        response_builder_finish(&builder, &reply, &llm_error) == 0)
        return text_of(&reply);
    assert_null(reply.text);
    strbuf_appendf(&failure, "{\"cause\":%d,\"detail\":\"%s\"}", (int)llm_error.cause,
                   llm_error.detail);
    return strbuf_take(&failure);
}

static void assert_reply(enum llm_format_kind kind, const char *text, const char *path,
                         const char *expected)
{
    CLEANUP(mem_freep) char *reply = read_reply(kind, text);

    assert_json_at(reply, path, expected);
}

struct answer_case {
    const char *answer;
    const char *path;
    const char *expected;
};

static void assert_replies(enum llm_format_kind kind, const struct answer_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_reply(kind, cases[i].answer, cases[i].path, cases[i].expected);
}

/* The failure of the answer, with this detail. */
static void assert_fails(enum llm_format_kind kind, const char *answer, enum llm_cause cause,
                         const char *detail)
{
    CLEANUP(mem_freep) char *reply = read_reply(kind, answer);
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    strbuf_appendf(&expected, "{\"cause\":%d,\"detail\":\"%s\"}", (int)cause, detail);
    assert_json_at(reply, "", expected.text);
}

/* --- Chat Completions --- */

#define CHOICE(member) "{\"choices\":[{" member "}]}"
#define MESSAGE(members) CHOICE("\"message\":{" members "}")
#define DELTA(members) CHOICE("\"delta\":{" members "}")
#define CALL(members) DELTA("\"tool_calls\":[{" members "}]")
#define FUNCTION(name, arguments)                                                                  \
    "\"function\":{\"name\":\"" name "\",\"arguments\":\"" arguments "\"}"
#define X "\"content\":\"x\""

static void chat_reply_has_all_that_was_said(void **state)
{
    static const struct answer_case cases[] = {
        {MESSAGE(X), "",
         "{\"id\":\"made\",\"text\":\"x\",\"finish\":\"stop\",\"calls\":[],"
         "\"usage\":[0,0,0,0,0]}"},
        {"{\"id\":\"i\",\"choices\":[{\"finish_reason\":\"length\",\"message\":{" X "}}]}", "",
         "{\"id\":\"i\",\"text\":\"x\",\"finish\":\"length\",\"calls\":[],"
         "\"usage\":[0,0,0,0,0]}"},
        {"[{\"id\":\"i\",\"choices\":[]},{\"id\":\"j\",\"choices\":[{\"delta\":{" X "}}]}]", "id",
         "\"i\""},
        {MESSAGE("\"content\":[{\"text\":\"a\"},{\"x\":1},{\"text\":\"b\"}]"), "text", "\"ab\""},
        {MESSAGE("\"content\":null,\"refusal\":\"no\""), "text", "\"no\""},
        {MESSAGE(X ",\"reasoning_content\":\"a\",\"reasoning\":\"b\""), "reasoning", "\"a\""},
        {MESSAGE(X ",\"reasoning_content\":null,\"reasoning\":\"b\""), "reasoning", "\"b\""},
        {MESSAGE(X ",\"reasoning\":{\"x\":1}"), "reasoning", NULL},
        {"{\"choices\":[{\"index\":1,\"message\":{\"content\":\"b\"}},"
         "{\"index\":0,\"message\":{\"content\":\"a\"}},{\"message\":{\"content\":\"c\"}}]}",
         "text", "\"ac\""},
        {"[" DELTA("\"content\":\"a\"") ",{\"choices\":[{\"finish_reason\":\"length\"}]},"
                                        "{\"choices\":[{\"finish_reason\":\"stop\",\"delta\":{"
                                        "\"content\":\"b\"}}]}]",
         "finish", "\"length\""},
        {MESSAGE("\"content\":\"\""), "text", "\"\""},
        {"{\"error\":null,\"choices\":[{\"message\":{" X "}}]}", "text", "\"x\""},
    };

    (void)state;
    assert_replies(LLM_FORMAT_CHAT, cases, ARRAY_SIZE(cases));
}

static void chat_calls_are_put_together(void **state)
{
    static const struct answer_case cases[] = {
        /* By their index, in whichever order the pieces come. */
        {"[" CALL("\"index\":0,\"id\":\"a\"," FUNCTION("t", "1")) "," CALL(
             "\"index\":1,\"id\":\"b\"," FUNCTION(
                 "u", "2")) "," CALL("\"index\":0,\"function\":{\"arguments\":\"3\"}") "]",
         "calls", "[[\"a\",\"t\",\"13\"],[\"b\",\"u\",\"2\"]]"},
        /* Without an index a piece belongs to the last call, unless it names another one. */
        {"[" CALL("\"id\":\"a\"," FUNCTION("t", "1")) "," CALL(
             "\"function\":{\"arguments\":\"2\"}") "," CALL("\"id\":\"b\"," FUNCTION("u", "3")) "]",
         "calls", "[[\"a\",\"t\",\"12\"],[\"b\",\"u\",\"3\"]]"},
        {"[" CALL("\"index\":0,\"id\":\"a\"," FUNCTION("t", "1")) "," CALL(
             "\"index\":0,\"id\":\"a\"," FUNCTION("t", "2")) "]",
         "calls", "[[\"a\",\"t\",\"12\"]]"},
        {"[" CALL("\"index\":0,\"id\":\"a\"," FUNCTION("t", "1")) "," CALL(
             "\"index\":0,\"id\":\"b\",\"function\":{\"arguments\":\"2\"}") "]",
         "calls", "[[\"a\",\"t\",\"12\"]]"},
        {"[" CALL("\"index\":0," FUNCTION("t", "1")) "," CALL(
             "\"index\":0,\"id\":\"b\"," FUNCTION("u", "2")) "]",
         "calls", "[[\"b\",\"t\",\"12\"]]"},
        {"[" CALL("\"index\":0,\"id\":\"a\"," FUNCTION("t", "1")) "," CALL(
             "\"index\":0," FUNCTION("u", "2")) "]",
         "calls", "[[\"a\",\"t\",\"12\"]]"},
        {"[" CALL("\"index\":5,\"id\":\"a\"," FUNCTION("t", "1")) "," CALL(
             "\"index\":6,\"id\":\"a\"," FUNCTION("u", "2")) "]",
         "calls", "[[\"a\",\"t\",\"1\"],[\"made\",\"u\",\"2\"]]"},
        /* Each call of a whole answer is one of its own. */
        {MESSAGE("\"tool_calls\":[{\"id\":\"a\"," FUNCTION(
             "t", "1") "},{\"index\":0,\"id\":\"b\",\"type\":\"\"," FUNCTION("u", " ") "}]"),
         "calls", "[[\"a\",\"t\",\"1\"],[\"b\",\"u\",\"{}\"]]"},
        {MESSAGE("\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"t\","
                 "\"arguments\":{\"a\":1}}}]"),
         "calls", "[[\"made\",\"t\",\"{\\\"a\\\":1}\"]]"},
        {MESSAGE(X ",\"tool_calls\":[{\"type\":\"custom\",\"id\":\"a\"}]"), "calls", "[]"},
        /* Google's compatible endpoint; and LiteLLM, whose ids may be long for that. */
        {"[" CALL("\"id\":\"a\",\"extra_content\":{\"google\":{\"thought_signature\":\"c2ln\"}}"
                  "," FUNCTION("t", "1")) "]",
         "calls", "[[\"a__thought__c2ln\",\"t\",\"1\"]]"},
        {"[" CALL("\"id\":\"a__thought__c2ln\"," FUNCTION("t", "1")) "]", "calls",
         "[[\"a__thought__c2ln\",\"t\",\"1\"]]"},
        {MESSAGE("\"tool_calls\":[{\"id\":\"a__thought__b\"," FUNCTION(
             "t", "1") "},{\"id\":\"a__thought__c\"," FUNCTION("u", "2") "}]"),
         "calls", "[[\"a__thought__b\",\"t\",\"1\"],[\"made\",\"u\",\"2\"]]"},
    };

    (void)state;
    assert_replies(LLM_FORMAT_CHAT, cases, ARRAY_SIZE(cases));
}

#define USAGE(members) "{\"choices\":[{\"message\":{" X "}}],\"usage\":{" members "}}"

/* Prompt, completion, read from the cache, written to it, reasoning. */
static void chat_tokens_are_counted_by_any_name(void **state)
{
    static const struct answer_case cases[] = {
        {USAGE("\"prompt_tokens\":9,\"completion_tokens\":8,\"prompt_tokens_details\":"
               "{\"cached_tokens\":5},\"cache_creation_input_tokens\":3,"
               "\"completion_tokens_details\":{\"reasoning_tokens\":2}"),
         "usage", "[9,8,5,3,2]"},
        {USAGE("\"input_tokens\":9,\"output_tokens\":8,\"prompt_tokens_details\":"
               "{\"cache_read_tokens\":5},\"cache_write_tokens\":3,"
               "\"completion_tokens_details\":{\"thinking_tokens\":2}"),
         "usage", "[9,8,5,3,2]"},
        {USAGE("\"prompt_tokens\":9,\"cache_read_input_tokens\":5"), "usage", "[9,0,5,0,0]"},
        {USAGE("\"prompt_tokens\":9,\"prompt_cache_hit_tokens\":5"), "usage", "[9,0,5,0,0]"},
        {USAGE("\"prompt_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":5},"
               "\"cache_read_input_tokens\":6"),
         "usage", "[9,0,5,0,0]"},
        {USAGE("\"prompt_tokens\":-1,\"completion_tokens\":1000000000001"), "usage",
         "[0,1000000000000,0,0,0]"},
        {"[" USAGE("\"prompt_tokens\":9") ",{\"usage\":null},{\"usage\":[1]}]", "usage",
         "[9,0,0,0,0]"},
    };

    (void)state;
    assert_replies(LLM_FORMAT_CHAT, cases, ARRAY_SIZE(cases));
}

#define THOUGHTS(list) X ",\"thinking_blocks\":[" list "]"

static void chat_thinking_is_kept_if_it_is_signed(void **state)
{
    static const struct answer_case cases[] = {
        {MESSAGE(THOUGHTS("{\"thinking\":\"a\",\"signature\":\"s\"},"
                          "{\"type\":\"redacted_thinking\",\"data\":\"d\"},"
                          "{\"type\":\"thinking\",\"thinking\":\"b\",\"signature\":\"t\"}")),
         "thinking",
         "[{\"type\":\"thinking\",\"thinking\":\"a\",\"signature\":\"s\"},"
         "{\"type\":\"redacted_thinking\",\"data\":\"d\"},"
         "{\"type\":\"thinking\",\"thinking\":\"b\",\"signature\":\"t\"}]"},
        /* In pieces, until the signature. */
        {"[" DELTA(THOUGHTS("{\"thinking\":\"a\"}")) "," DELTA(THOUGHTS(
             "{\"thinking\":\"b\",\"signature\":\"s\"}")) "," DELTA(THOUGHTS("{\"thinking\":\"c\","
                                                                             "\"signature\":"
                                                                             "\"t\"}")) "]",
         "thinking",
         "[{\"type\":\"thinking\",\"thinking\":\"ab\",\"signature\":\"s\"},"
         "{\"type\":\"thinking\",\"thinking\":\"c\",\"signature\":\"t\"}]"},
        {MESSAGE(THOUGHTS("{\"thinking\":\"a\"},{\"type\":\"redacted_thinking\",\"data\":\"d\"}")),
         "thinking", "[{\"type\":\"redacted_thinking\",\"data\":\"d\"}]"},
        {MESSAGE(THOUGHTS("{\"thinking\":\"a\"}")), "thinking", NULL},
    };

    (void)state;
    assert_replies(LLM_FORMAT_CHAT, cases, ARRAY_SIZE(cases));
}

static void answer_without_an_answer_has_a_cause(void **state)
{
    (void)state;
    assert_fails(LLM_FORMAT_CHAT, "{\"choices\":[]}", LLM_CAUSE_NO_RESPONSE,
                 "The model's answer is empty.");
    assert_fails(LLM_FORMAT_CHAT, "{\"choices\":[{\"finish_reason\":\"content_filter\"}]}",
                 LLM_CAUSE_CONTENT_POLICY, "The provider's content filter blocked the answer.");
    assert_fails(LLM_FORMAT_CHAT, MESSAGE("\"tool_calls\":[{\"type\":\"custom\"}]"), LLM_CAUSE_API,
                 "The model made tool calls that are not function calls.");
    assert_fails(LLM_FORMAT_CHAT, MESSAGE("\"tool_calls\":[{\"id\":\"a\"}]"), LLM_CAUSE_CONNECTION,
                 "The model's answer has a tool call without a name.");
    assert_fails(LLM_FORMAT_CHAT, "7", LLM_CAUSE_API, "The model's answer is not a JSON object.");
    assert_fails(LLM_FORMAT_ANTHROPIC, "7", LLM_CAUSE_API,
                 "The model's answer is not a JSON object.");
    assert_fails(LLM_FORMAT_ANTHROPIC, "{\"id\":\"i\"}", LLM_CAUSE_NO_RESPONSE,
                 "The model's answer is empty.");
    assert_fails(LLM_FORMAT_ANTHROPIC, "{\"content\":[],\"stop_reason\":\"refusal\"}",
                 LLM_CAUSE_CONTENT_POLICY, "The provider's content filter blocked the answer.");
    /* With words or calls there is something to show. */
    assert_reply(LLM_FORMAT_CHAT,
                 "{\"choices\":[{\"finish_reason\":\"content_filter\",\"message\":{" X "}}]}",
                 "finish", "\"content_filter\"");
    assert_reply(LLM_FORMAT_CHAT,
                 "{\"choices\":[{\"finish_reason\":\"tool_calls\",\"message\":{\"tool_calls\":"
                 "[{\"id\":\"a\"}]}}]}",
                 "calls", "[[\"a\",\"\",\"{}\"]]");
}

/* As many calls as one answer may have, or one more. */
static char *read_many_calls(size_t n)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, "{\"choices\":[{\"message\":{\"tool_calls\":[");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&text, "%s{\"id\":\"c%zu\",\"function\":{\"name\":\"t\"}}", i > 0 ? "," : "",
                       i);
    strbuf_append(&text, "]}}]}");
    return read_reply(LLM_FORMAT_CHAT, text.text);
}

static void calls_have_a_largest_number(void **state)
{
    CLEANUP(mem_freep) char *most = read_many_calls(CALLS_MAX);
    CLEANUP(mem_freep) char *more = read_many_calls(CALLS_MAX + 1);

    (void)state;
    assert_json_at(most, "calls[127]", "[\"c127\",\"t\",\"{}\"]");
    assert_json_at(more, "detail", "\"The model asked for more than 128 tool calls at once.\"");
}

static char *read_much_thinking(size_t n)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, "{\"content\":[");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&text, "%s{\"type\":\"redacted_thinking\",\"data\":\"d%zu\"}",
                       i > 0 ? "," : "", i);
    strbuf_append(&text, "]}");
    return read_reply(LLM_FORMAT_ANTHROPIC, text.text);
}

static void thinking_has_a_largest_number_of_blocks(void **state)
{
    CLEANUP(mem_freep) char *most = read_much_thinking(THINKING_MAX);
    CLEANUP(mem_freep) char *more = read_much_thinking(THINKING_MAX + 1);

    (void)state;
    assert_json_at(most, "thinking[1023].data", "\"d1023\"");
    assert_json_at(more, "detail", "\"The model's answer has more than 1024 blocks.\"");
}

static void ids_are_made_where_they_cannot_be_used(void **state)
{
    CLEANUP(strbuf_done) struct strbuf longest = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *reply = NULL;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 256; i++)
        strbuf_append_char(&longest, 'a');
    strbuf_appendf(
        &text,
        MESSAGE("\"tool_calls\":[{\"id\":\"%s\"," FUNCTION("t", "") "},{\"id\":\"%sa\"," FUNCTION(
            "t", "") "},{" FUNCTION("t", "") "}]"),
        longest.text, longest.text);
    reply = read_reply(LLM_FORMAT_CHAT, text.text);
    strbuf_appendf(&expected, "\"%s\"", longest.text);
    assert_json_at(reply, "calls[0][0]", expected.text);
    assert_json_at(reply, "calls[1][0]", "\"made\"");
    assert_json_at(reply, "calls[2][0]", "\"made\"");
}

/* --- Anthropic's Messages --- */

#define WHOLE(blocks) "{\"content\":[" blocks "]}"
#define BEGIN(i, block)                                                                            \
    "{\"type\":\"content_block_start\",\"index\":" i ",\"content_block\":{" block "}}"
#define MORE(i, delta) "{\"type\":\"content_block_delta\",\"index\":" i ",\"delta\":{" delta "}}"
#define START(usage) "{\"type\":\"message_start\",\"message\":{\"id\":\"i\",\"usage\":{" usage "}}}"
#define THINKING(text, proof)                                                                      \
    "{\"type\":\"thinking\",\"thinking\":\"" text "\",\"signature\":\"" proof "\"}"

static void messages_reply_has_all_that_was_said(void **state)
{
    static const struct answer_case cases[] = {
        {WHOLE("{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"server_tool_use\",\"text\":\"no\"},"
               "{\"type\":\"text\",\"text\":\"b\"}"),
         "",
         "{\"id\":\"made\",\"text\":\"ab\",\"finish\":\"stop\",\"calls\":[],"
         "\"usage\":[0,0,0,0,0]}"},
        {WHOLE(THINKING("a", "s") "," THINKING("b", "t")), "reasoning", "\"a\\nb\""},
        {WHOLE(THINKING("a", "s") "," THINKING("b", "")), "thinking",
         "[{\"type\":\"thinking\",\"thinking\":\"a\",\"signature\":\"s\"}]"},
        {WHOLE("{\"type\":\"text\",\"text\":\"\"}," THINKING("b", "t")), "thinking",
         "[{\"type\":\"thinking\",\"thinking\":\"b\",\"signature\":\"t\"}]"},
        {WHOLE("{\"type\":\"text\",\"text\":\"a\"}," THINKING("b", "t")), "thinking", NULL},
        {WHOLE("{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"t\"},{\"type\":"
               "\"redacted_thinking\",\"data\":\"d\"}"),
         "thinking", NULL},
        {WHOLE("{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"t\",\"input\":{\"a\":1}},"
               "{\"type\":\"tool_use\",\"name\":\"u\",\"input\":{}}"),
         "calls", "[[\"1\",\"t\",\"{\\\"a\\\":1}\"],[\"made\",\"u\",\"{}\"]]"},
        {"{\"content\":[],\"stop_reason\":\"pause_turn\"}", "finish", "\"stop\""},
        {"{\"content\":[],\"stop_reason\":\"tool_use\"}", "finish", "\"tool_calls\""},
        {"{\"error\":null,\"content\":[]}", "text", "\"\""},
    };

    (void)state;
    assert_replies(LLM_FORMAT_ANTHROPIC, cases, ARRAY_SIZE(cases));
}

static void messages_events_are_put_together_by_index(void **state)
{
    static const struct answer_case cases[] = {
        {"[" START("") "," BEGIN(
             "0",
             "\"type\":\"tool_use\",\"id\":\"a\",\"name\":"
             "\"t\"") "," BEGIN("1",
                                "\"type\":\"tool_use\","
                                "\"id\":\"b\",\"name\":"
                                "\"u\"") "," MORE("0",
                                                  "\"partial_json\":\"{\"") "," MORE("1",
                                                                                     "\"partia"
                                                                                     "l_"
                                                                                     "json\":"
                                                                                     "\"1\"") "," MORE("0",
                                                                                                       "\"partial_json\":\"}\"") "," MORE("7",
                                                                                                                                          "\"p"
                                                                                                                                          "art"
                                                                                                                                          "ial"
                                                                                                                                          "_js"
                                                                                                                                          "on"
                                                                                                                                          "\":"
                                                                                                                                          "\"n"
                                                                                                                                          "o"
                                                                                                                                          "\"") "]",
         "calls", "[[\"a\",\"t\",\"{}\"],[\"b\",\"u\",\"1\"]]"},
        {"[" START("") "," BEGIN("0", "\"type\":\"thinking\"") "," BEGIN(
             "1",
             "\"type\""
             ":\"think"
             "ing\"") "," MORE("0",
                               "\"thinking\":\"a\"") "," MORE("1",
                                                              "\"thinking\":\"b\"") "," MORE("0",
                                                                                             "\"sig"
                                                                                             "natur"
                                                                                             "e\":"
                                                                                             "\"s"
                                                                                             "\"") "," MORE("1",
                                                                                                            "\"sig"
                                                                                                            "natur"
                                                                                                            "e\":"
                                                                                                            "\"t"
                                                                                                            "\"") "," MORE("2",
                                                                                                                           "\"signature\":\"no\"") "]",
         "thinking",
         "[{\"type\":\"thinking\",\"thinking\":\"a\",\"signature\":\"s\"},"
         "{\"type\":\"thinking\",\"thinking\":\"b\",\"signature\":\"t\"}]"},
        {"[" START("") "," BEGIN("0", "\"type\":\"text\",\"text\":\"a\"") "," MORE(
             "0", "\"text\":\"b\"") ",{\"type\":\"message_stop\"}]",
         "text", "\"ab\""},
        {"[" START("") ",{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_"
                       "tokens\"}},"
                       "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_"
                       "turn\"}}]",
         "finish", "\"length\""},
        {"[" START("") "]", "id", "\"i\""},
    };

    (void)state;
    assert_replies(LLM_FORMAT_ANTHROPIC, cases, ARRAY_SIZE(cases));
}

/* The counts of events are sums so far: the largest counts. */
static void messages_tokens_are_sums_so_far(void **state)
{
    static const struct answer_case cases[] = {
        {"[" START(
             "\"input_tokens\":10,\"cache_read_input_tokens\":5,"
             "\"cache_creation_input_tokens\":3,\"output_tokens\":1") ","
                                                                      "{\"type\":\"message_delta\","
                                                                      "\"usage\":{\"output_"
                                                                      "tokens\":7}}]",
         "usage", "[18,7,5,3,0]"},
        {"[" START(
             "\"input_tokens\":10,\"cache_read_input_tokens\":5") ","
                                                                  "{\"type\":\"message_delta\","
                                                                  "\"usage\":{\"input_tokens\":12,"
                                                                  "\"cache_read_input_tokens\":6,"
                                                                  "\"cache_creation_input_tokens\":"
                                                                  "2}}]",
         "usage", "[20,0,6,2,0]"},
        {"[" START(
             "\"input_tokens\":10,\"output_tokens\":9") ","
                                                        "{\"type\":\"message_delta\",\"usage\":{"
                                                        "\"input_tokens\":1,\"output_tokens\":2}}]",
         "usage", "[10,9,0,0,0]"},
        {"[" START("\"input_tokens\":1000000000000,\"output_tokens\":1000000000001") "]", "usage",
         "[1000000000000,1000000000000,0,0,0]"},
    };

    (void)state;
    assert_replies(LLM_FORMAT_ANTHROPIC, cases, ARRAY_SIZE(cases));
}

static void released_parts_are_empty(void **state)
{
    struct response_builder builder = RESPONSE_BUILDER_INIT;
    struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;

    (void)state;
    builder.has_answer = true;
    assert_int_equal(response_builder_add_call(&builder, "t", "{}", &llm_error), 0);
    assert_int_equal(response_builder_finish(&builder, &reply, &llm_error), 0);
    assert_int_equal(reply.n_calls, 1);
    llm_reply_done(&reply);
    assert_int_equal(reply.n_calls, 0);
    assert_null(reply.calls);
    response_builder_done(&builder);
    assert_int_equal(builder.n_calls, 0);
    assert_false(builder.has_answer);
    llm_reply_done(NULL);
    response_builder_done(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat_reply_has_all_that_was_said),
        cmocka_unit_test(chat_calls_are_put_together),
        cmocka_unit_test(chat_tokens_are_counted_by_any_name),
        cmocka_unit_test(chat_thinking_is_kept_if_it_is_signed),
        cmocka_unit_test(answer_without_an_answer_has_a_cause),
        cmocka_unit_test(calls_have_a_largest_number),
        cmocka_unit_test(thinking_has_a_largest_number_of_blocks),
        cmocka_unit_test(ids_are_made_where_they_cannot_be_used),
        cmocka_unit_test(messages_reply_has_all_that_was_said),
        cmocka_unit_test(messages_events_are_put_together_by_index),
        cmocka_unit_test(messages_tokens_are_sums_so_far),
        cmocka_unit_test(released_parts_are_empty),
    };

    json_setup();
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}

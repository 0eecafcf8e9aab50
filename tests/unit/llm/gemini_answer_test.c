/*
 * Answers of Gemini's native API, whole and streamed: the reply that they become, or the failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/format.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/llm_fixture.h"
#include "llm/response_builder.h"
#include "support/json_path.h"

#define MODEL "gemini/gemini-3-flash-preview"

/* --- replies --- */

static json_t *calls_of(const struct llm_reply *reply)
{
    json_t *calls = json_array();

    for (size_t i = 0; i < reply->n_calls; i++) {
        const char *id = reply->calls[i].id;
        const char *mark = strstr(id, "__thought__");
        json_t *call = json_array();

        /* call_, and 24 digits */
        assert_int_equal(strncmp(id, "call_", 5), 0);
        assert_int_equal(strspn(id + 5, "0123456789abcdef"), 24);
        assert_true(mark == NULL ? id[29] == '\0' : mark == id + 29);
        json_push(call, json_text_of(reply->calls[i].name));
        json_push(call, json_text_of(reply->calls[i].arguments));
        json_push(call, json_text_of(mark != NULL ? mark + strlen("__thought__") : NULL));
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

    json_put_text(json, "id", reply->response_id);
    json_put_text(json, "text", reply->text);
    json_put_text(json, "reasoning", reply->reasoning);
    json_put_text(json, "finish", reply->finish_reason);
    json_put_text(json, "problem", reply->call_problem);
    json_put(json, "thinking", json_incref(reply->thinking));
    json_put(json, "calls", calls_of(reply));
    json_put(json, "usage", usage_of(&reply->usage));
    return json_to_text(json);
}

static int read_all(const json_t *answer, bool is_stream, struct response_builder *builder,
                    struct llm_error *llm_error)
{
    const struct llm_format *format = llm_format_of(LLM_FORMAT_GEMINI);
    const json_t *event = NULL;
    bool is_last = false;
    size_t i = 0;

    if (!is_stream)
        return format->read_answer(builder, answer, llm_error);
    json_array_foreach (answer, i, event) {
        assert_false(is_last);
        if (format->read_event(builder, event, &is_last, llm_error) < 0)
            return -1;
    }
    return 0;
}

/* The reply to a whole answer, or to a list of events of a stream; or the failure. */
static char *read_reply(const char *text, bool is_stream)
{
    CLEANUP(response_builder_done) struct response_builder builder = RESPONSE_BUILDER_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    json_auto_t *failure = json_object();
    struct llm_error llm_error = LLM_ERROR_INIT;
    json_auto_t *answer = parsed_quotes(text);

    if (read_all(answer, is_stream, &builder, &llm_error) == 0 &&
        response_builder_finish(&builder, &reply, &llm_error) == 0)
        return text_of(&reply);
    json_put(failure, "cause", json_integer((json_int_t)llm_error.cause));
    json_put_text(failure, "detail", llm_error.detail);
    return json_to_text(failure);
}

struct answer_case {
    const char *answer;
    const char *path;
    const char *expected;
};

static void assert_replies(const struct answer_case *cases, size_t n, bool is_stream)
{
    for (size_t i = 0; i < n; i++) {
        CLEANUP(mem_freep) char *reply = read_reply(cases[i].answer, is_stream);

        assert_quotes_at(reply, cases[i].path, cases[i].expected);
    }
}

#define PARTS(parts) "{'candidates':[{'content':{'role':'model','parts':[" parts "]}}]}"
#define ENDS(parts, members) "{'candidates':[{'content':{'parts':[" parts "]}," members "}]}"
#define TEXT(text) "{'text':'" text "'}"
#define CALL(name) "{'functionCall':{'id':'x','name':'" name "','args':{'a':1}}}"

static void reply_has_all_that_was_said(void **state)
{
    static const struct answer_case cases[] = {
        {"{'responseId':'r','candidates':[{'index':0,'finishReason':'STOP','content':{'parts':["
         "{'text':'hm','thought':true},{'text':'a'},{'text':'b'}]}}],'usageMetadata':{"
         "'promptTokenCount':100,'cachedContentTokenCount':60,'candidatesTokenCount':20,"
         "'thoughtsTokenCount':7,'toolUsePromptTokenCount':3,'totalTokenCount':130}}",
         "",
         "{'id':'r','text':'ab','reasoning':'hm','finish':'stop','calls':[],"
         "'usage':[103,27,60,0,7]}"},
        {PARTS(CALL("t") "," CALL("t")), "calls",
         "[['t','{\\\"a\\\":1}',null],['t','{\\\"a\\\":1}',null]]"},
        {PARTS("{'functionCall':{'name':'t'}},{'functionCall':{'name':'u','args':null}},"
               "{'functionCall':{'name':'v','args':{}}},{'functionCall':{'name':'w','args':[1]}}"),
         "calls", "[['t','{}',null],['u','{}',null],['v','{}',null],['w','[1]',null]]"},
        {PARTS("{'functionCall':{'name':'_3d'}},{'functionCall':{'name':'__3d'}},"
               "{'functionCall':{'name':'_a'}}"),
         "calls", "[['3d','{}',null],['_3d','{}',null],['_a','{}',null]]"},
        {ENDS("{'functionCall':{}}", "'finishReason':'STOP'"), "calls", "[['','{}',null]]"},
        /* Parts that deft did not ask for, and values of other types. */
        {PARTS("{'executableCode':{'code':'x'}},{'whatIsNew':1},{'text':7},7," TEXT("a")), "text",
         "'a'"},
        {"{'candidates':[{'index':1,'content':{'parts':[" TEXT("b") "]}},7,{'index':0,'content':{"
                                                                    "'parts':[" TEXT("a") "]}}]}",
         "text", "'a'"},
        {"{'candidates':[{'content':{}}]}", "text", "''"},
        {"[" PARTS(TEXT("a")) "," PARTS(TEXT("b")) "]", "text", "'ab'"},
        {"{'usageMetadata':{'promptTokenCount':-1,'candidatesTokenCount':1000000000001},"
         "'candidates':[{}]}",
         "usage", "[0,1000000000000,0,0,0]"},
    };

    (void)state;
    assert_replies(cases, ARRAY_SIZE(cases), false);
}

static void events_are_put_together(void **state)
{
    static const struct answer_case cases[] = {
        {"[{'responseId':'r','usageMetadata':{'promptTokenCount':9},'candidates':[{'content':{"
         "'parts':[{'text':'h','thought':true}]}}]},"
         "{'responseId':'s','candidates':[{'content':{'parts':[{'text':'m','thought':true},"
         "{'text':'I '}]}}]}," PARTS(TEXT("look.")) "," PARTS(CALL(
             "t")) ","
                   "{'candidates':[{'finishReason':'STOP','content':{'parts':[" CALL(
                       "u") "]}}],"
                            "'usageMetadata':{'promptTokenCount':9,'candidatesTokenCount':2}}]",
         "",
         "{'id':'r','text':'I look.','reasoning':'hm','finish':'tool_calls','calls':["
         "['t','{\\\"a\\\":1}',null],['u','{\\\"a\\\":1}',null]],'usage':[9,2,0,0,0]}"},
        /* The first of two reasons counts, and usage may come later. */
        {"[" ENDS(TEXT("a"), "'finishReason':'MAX_TOKENS'") "," ENDS(
             "", "'finishReason':'STOP'") ","
                                          "{'usageMetadata':{'promptTokenCount':9}}]",
         "finish", "'length'"},
        /* So may parts, and counts that replace earlier ones. */
        {"[{'responseId':'r','candidates':[{'finishReason':'STOP','content':{'parts':[{'text':'a'}]"
         "}}],"
         "'usageMetadata':{'promptTokenCount':9,'candidatesTokenCount':1}}," PARTS(
             TEXT("b")) ","
                        "{'usageMetadata':{'promptTokenCount':9,'candidatesTokenCount':2}}]",
         "", "{'id':'r','text':'ab','finish':'stop','calls':[],'usage':[9,2,0,0,0]}"},
    };

    (void)state;
    assert_replies(cases, ARRAY_SIZE(cases), true);
}

static void calls_and_words_keep_their_signature(void **state)
{
    static const struct answer_case whole[] = {
        {PARTS("{'functionCall':{'name':'t'},'thoughtSignature':'c2ln'},"
               "{'functionCall':{'name':'u'}}"),
         "calls", "[['t','{}','c2ln'],['u','{}',null]]"},
        {PARTS("{'text':'hm','thought':true},{'functionCall':{'name':'t'},'thoughtSignature':"
               "'c2ln'}"),
         "thinking", "[{'type':'thinking','thinking':'hm','signature':'c2ln'}]"},
        {PARTS("{'text':'a','thoughtSignature':'eA=='},{'text':'b'}"), "thinking",
         "[{'type':'thinking','thinking':'','signature':'eA=='}]"},
        {PARTS("{'text':'a','thoughtSignature':'eA=='},{'text':'b','thoughtSignature':'eQ=='}"),
         "thinking", "[{'type':'thinking','thinking':'','signature':'eQ=='}]"},
        {PARTS("{'text':'a'},{'functionCall':{'name':'t'}}"), "thinking", NULL},
        /* No signature at all. */
        {PARTS("{'functionCall':{'name':'t'},'thoughtSignature':'a b'}"), "calls",
         "[['t','{}',null]]"},
        {PARTS("{'functionCall':{'name':'t'},'thoughtSignature':'a b'}"), "thinking", NULL},
        {PARTS("{'functionCall':{'name':'t'},'thoughtSignature':7}"), "thinking", NULL},
    };
    static const struct answer_case streamed[] = {
        {"[" PARTS(TEXT("a")) "," PARTS("{'text':'','thoughtSignature':'c2ln'}") "]", "thinking",
         "[{'type':'thinking','thinking':'','signature':'c2ln'}]"},
    };

    (void)state;
    assert_replies(whole, ARRAY_SIZE(whole), false);
    assert_replies(streamed, ARRAY_SIZE(streamed), true);
}

static void long_signature_is_left_out(void **state)
{
    (void)state;
    for (size_t len = 65536; len <= 65537; len++) {
        CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
        CLEANUP(mem_freep) char *reply = NULL;

        strbuf_append(&answer, "{'candidates':[{'content':{'parts':[{'functionCall':{'name':'t'},"
                               "'thoughtSignature':'");
        for (size_t i = 0; i < len; i++)
            strbuf_append_char(&answer, 'A');
        strbuf_append(&answer, "'}]}}]}");
        reply = read_reply(answer.text, false);
        if (len > 65536)
            assert_quotes_at(reply, "calls[0][2]", "null");
        else
            assert_true(strlen(reply) > 2 * len);
    }
}

static const struct {
    const char *theirs;
    const char *ours;
} reasons[] = {
    {"STOP", "'stop'"},
    {"MAX_TOKENS", "'length'"},
    {"CONTINUATION", "'length'"},
    {"SAFETY", "'content_filter'"},
    {"RECITATION", "'content_filter'"},
    {"LANGUAGE", "'content_filter'"},
    {"BLOCKLIST", "'content_filter'"},
    {"PROHIBITED_CONTENT", "'content_filter'"},
    {"SPII", "'content_filter'"},
    {"IMAGE_SAFETY", "'content_filter'"},
    {"OTHER", "'OTHER'"},
    {"NEWLY_MADE", "'NEWLY_MADE'"},
};

static void reasons_to_stop_have_one_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
        CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
        CLEANUP(mem_freep) char *reply = NULL;

        strbuf_appendf(&answer,
                       "{'candidates':[{'content':{'parts':[{'text':'x'}]},'finishReason':'%s'}]}",
                       reasons[i].theirs);
        reply = read_reply(answer.text, false);
        assert_quotes_at(reply, "finish", reasons[i].ours);
        assert_quotes_at(reply, "problem", NULL);
    }
}

static void call_that_was_not_passed_on_is_the_models_to_mend(void **state)
{
    static const struct answer_case cases[] = {
        {ENDS("", "'finishReason':'MALFORMED_FUNCTION_CALL','finishMessage':'print(x'"), "problem",
         "'The function call was not run, because it could not be read (MALFORMED_FUNCTION_CALL: "
         "print(x). Call one of your functions, with valid arguments.'"},
        {ENDS("", "'finishReason':'UNEXPECTED_TOOL_CALL'"), "problem",
         "'The function call was not run, because it could not be read (UNEXPECTED_TOOL_CALL). "
         "Call one of your functions, with valid arguments.'"},
        {ENDS(CALL("t"), "'finishReason':'MALFORMED_FUNCTION_CALL'"), "problem", NULL},
        {ENDS(CALL("t"), "'finishReason':'MALFORMED_FUNCTION_CALL'"), "finish",
         "'MALFORMED_FUNCTION_CALL'"},
    };

    (void)state;
    assert_replies(cases, ARRAY_SIZE(cases), false);
}

static void assert_fails(const char *answer, enum llm_cause cause, const char *detail)
{
    CLEANUP(mem_freep) char *reply = read_reply(answer, false);
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    strbuf_appendf(&expected, "%d", (int)cause);
    assert_quotes_at(reply, "cause", expected.text);
    strbuf_reset(&expected);
    strbuf_appendf(&expected, "\"%s\"", detail);
    assert_json_at(reply, "detail", expected.text);
}

static void answer_without_an_answer_has_a_cause(void **state)
{
    (void)state;
    assert_fails("{}", LLM_CAUSE_NO_RESPONSE, "The model's answer is empty.");
    assert_fails("{'candidates':[]}", LLM_CAUSE_NO_RESPONSE, "The model's answer is empty.");
    assert_fails("[]", LLM_CAUSE_NO_RESPONSE, "The model's answer is empty.");
    assert_fails("'x'", LLM_CAUSE_API, "The model's answer is not a JSON object.");
    assert_fails("{'promptFeedback':{'blockReason':'SAFETY'}}", LLM_CAUSE_CONTENT_POLICY,
                 "The provider's content filter blocked the prompt (SAFETY).");
    assert_fails(ENDS("", "'finishReason':'SAFETY'"), LLM_CAUSE_CONTENT_POLICY,
                 "The provider's content filter blocked the answer.");
    assert_fails("{'error':{'code':503,'message':'busy','status':'UNAVAILABLE'}}",
                 LLM_CAUSE_UNAVAILABLE, "The model's server ended its answer with an error: busy");
    assert_fails("[" PARTS(TEXT("a")) ",{'error':{'code':429,'message':'slow'}}]",
                 LLM_CAUSE_RATE_LIMIT, "The model's server ended its answer with an error: slow");
    assert_fails(PARTS("{'functionCall':{}}"), LLM_CAUSE_CONNECTION,
                 "The model's answer has a tool call without a name.");
}

static void calls_have_a_largest_number(void **state)
{
    (void)state;
    for (int n = 128; n <= 129; n++) {
        CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf cause = STRBUF_INIT;
        CLEANUP(mem_freep) char *reply = NULL;

        strbuf_appendf(&cause, "%d", (int)LLM_CAUSE_API);
        strbuf_append(&answer, "{'candidates':[{'content':{'parts':[");
        for (int i = 0; i < n; i++)
            strbuf_appendf(&answer, "%s{'functionCall':{'name':'t'}}", i > 0 ? "," : "");
        strbuf_append(&answer, "]}}]}");
        reply = read_reply(answer.text, false);
        assert_quotes_at(reply, "calls[127][0]", n == 128 ? "'t'" : NULL);
        assert_quotes_at(reply, "cause", n == 128 ? NULL : cause.text);
    }
}

/* --- refusals --- */

static const struct {
    long status;
    const char *body;
    enum llm_cause cause;
    int64_t retry_after_ms;
} refusals[] = {
    {400, "{'error':{'code':400,'message':'API key not valid. Please pass a valid API key.'}}",
     LLM_CAUSE_AUTHENTICATION, -1},
    {400, "{'error':{'code':400,'message':'API key expired. Please renew the API key.'}}",
     LLM_CAUSE_AUTHENTICATION, -1},
    {400,
     "{'error':{'message':'The input token count (9) exceeds the maximum number of tokens allowed "
     "(8).'}}",
     LLM_CAUSE_CONTEXT_WINDOW, -1},
    {400,
     "{'error':{'message':'Please ensure that function call turn comes immediately after a user "
     "turn or after a function response turn.'}}",
     LLM_CAUSE_MALFORMED_HISTORY, -1},
    {400,
     "{'error':{'message':'Please ensure that function response turn comes immediately after a "
     "function call turn.'}}",
     LLM_CAUSE_MALFORMED_HISTORY, -1},
    {400,
     "{'error':{'message':'Please ensure that the number of function response parts is equal to "
     "the number of function call parts of the function call turn.'}}",
     LLM_CAUSE_MALFORMED_HISTORY, -1},
    {400,
     "{'error':{'message':'Function call is missing a thought_signature in functionCall parts.'}}",
     LLM_CAUSE_MALFORMED_HISTORY, -1},
    {400, "{'error':{'message':'Corrupted thought signature.'}}", LLM_CAUSE_MALFORMED_HISTORY, -1},
    {400, "{'error':{'message':'x','status':'INVALID_ARGUMENT'}}", LLM_CAUSE_BAD_REQUEST, -1},
    {403, "{'error':{'message':'x','status':'PERMISSION_DENIED'}}", LLM_CAUSE_AUTHENTICATION, -1},
    {404, "[{'error':{'message':'models/x is not found'}}]", LLM_CAUSE_NOT_FOUND, -1},
    {429,
     "{'error':{'message':'quota','details':[{'@type':'type.googleapis.com/google.rpc.QuotaFailure'"
     "},{'@type':'type.googleapis.com/google.rpc.RetryInfo','retryDelay':'32.5s'}]}}",
     LLM_CAUSE_RATE_LIMIT, 32500},
    {429, "[{'error':{'message':'quota','details':[{'retryDelay':'1s'}]}}]", LLM_CAUSE_RATE_LIMIT,
     1000},
    {429, "{'error':{'message':'quota','details':[{'retryDelay':'1 hour'}]}}", LLM_CAUSE_RATE_LIMIT,
     -1},
    {429, "{'error':{'message':'quota','details':[{'retryDelay':'-1s'}]}}", LLM_CAUSE_RATE_LIMIT,
     -1},
    {503, "{'error':{'message':'x','status':'UNAVAILABLE'}}", LLM_CAUSE_UNAVAILABLE, -1},
    {502, "<html>", LLM_CAUSE_BAD_GATEWAY, -1},
};

static void refusals_have_a_cause_and_a_delay(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        CLEANUP(mem_freep) char *body = json_of_quotes(refusals[i].body);
        struct llm_error llm_error = LLM_ERROR_INIT;

        assert_int_equal(llm_format_of(LLM_FORMAT_GEMINI)
                             ->read_error(&llm_error, refusals[i].status, body, strlen(body)),
                         -1);
        if (llm_error.cause != refusals[i].cause)
            fail_msg("%s: %d", refusals[i].body, (int)llm_error.cause);
        assert_int_equal(llm_error.retry_after_ms, refusals[i].retry_after_ms);
    }
}

static void refusal_is_shown_in_the_servers_words(void **state)
{
    static const char body[] = "[{\"error\":{\"code\":404,\"message\":\"no such model\"}}]";
    struct llm_error llm_error = LLM_ERROR_INIT;

    (void)state;
    (void)llm_format_of(LLM_FORMAT_GEMINI)->read_error(&llm_error, 404, body, strlen(body));
    assert_string_equal(llm_error.detail,
                        "The model's server refused the call: no such model (error code: 404)");
}

/* --- over HTTP --- */

#define EVENT(json) "data: " json "\r\n\r\n"
#define WORDS(text) EVENT("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"" text "\"}]}}]}")
#define STOP                                                                                       \
    EVENT("{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":" \
          "9}}")

static void pieces_are_passed_on_as_they_come(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_SSE_HEAD EVENT("{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\","
                                      "\"thought\":true}]}}]}") WORDS("I ") WORDS("look.") STOP,
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf pieces = STRBUF_INIT;
    const struct llm_listener listener = {collect_piece, ignore_failure, &pieces};
    const char *sent = NULL;
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{\"stream\":true}");
    asked.listener = &listener;
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(pieces.text, "~hm|I |look.|");
    assert_string_equal(asked.reply.text, "I look.");
    assert_int_equal(asked.reply.usage.prompt_tokens, 9);
    sent = test_server_request(server, 0);
    assert_non_null(strstr(sent, "POST /v1beta/models/gemini-3-flash-preview:streamGenerateContent"
                                 "?alt=sse HTTP/1.1\r\n"));
    assert_non_null(strstr(sent, "x-goog-api-key: sk-unit-test\r\n"));
    assert_non_null(strstr(sent, "x-litellm-session-id: c-1\r\n"));
    assert_null(strstr(sent, "Authorization"));
    asked_done(&asked);
    test_server_stop(server);
}

static void thoughts_belong_to_their_model(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_JSON_HEAD
         "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"t\"},"
         "\"thoughtSignature\":\"c2ln\"}]},\"finishReason\":\"STOP\"}]}",
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    CLEANUP(mem_freep) char *thinking = NULL;
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    assert_int_equal(asked_run(&asked), 0);
    thinking = json_to_text(asked.reply.thinking);
    assert_quotes_at(thinking, "[0].model", "'" MODEL "'");
    assert_string_equal(strstr(asked.reply.calls[0].id, "__thought__"), "__thought__c2ln");
    assert_non_null(strstr(test_server_request(server, 0), "flash-preview:generateContent HTTP"));
    asked_done(&asked);
    test_server_stop(server);
}

static const struct {
    const char *name;
    struct test_reply reply; /* the next one is good */
    const char *text;        /* of the reply; NULL: a failure */
    size_t n_requests;
} faults[] = {
    {"broken off in an event",
     {.bytes = TEST_SSE_HEAD WORDS("half") "data: {\"candi", .ending = TEST_CLOSE},
     "good",
     2},
    {"broken off in a letter",
     {.bytes = TEST_SSE_HEAD "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xc3",
      .ending = TEST_RESET},
     "good",
     2},
    {"no end", {.bytes = TEST_SSE_HEAD WORDS("half"), .ending = TEST_CLOSE}, "good", 2},
    {"an error in the middle",
     {.bytes = TEST_SSE_HEAD WORDS("half") EVENT("{\"error\":{\"code\":503,\"message\":\"x\"}}"),
      .ending = TEST_CLOSE},
     "good",
     2},
    {"a refusal in the middle",
     {.bytes = TEST_SSE_HEAD WORDS("half") EVENT("{\"error\":{\"code\":400,\"message\":\"x\"}}"),
      .ending = TEST_CLOSE},
     NULL,
     1},
    {"a page",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>hello",
      .ending = TEST_CLOSE},
     NULL,
     1},
    {"comments only",
     {.bytes = TEST_SSE_HEAD ": one\n\n: two\n\n", .ending = TEST_CLOSE},
     "good",
     2},
    {"other line ends",
     {.bytes = TEST_SSE_HEAD "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"odd\"}]},"
                             "\"finishReason\":\"STOP\"}]}\n\r",
      .ending = TEST_CLOSE},
     "odd",
     1},
    {"a byte order mark",
     {.bytes = TEST_SSE_HEAD "\xef\xbb\xbf" WORDS("odd") STOP, .ending = TEST_CLOSE},
     "odd",
     1},
    {"an array",
     {.bytes = TEST_JSON_HEAD "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"odd\"}]}}]}]",
      .ending = TEST_CLOSE},
     "odd",
     1},
    {"a lone surrogate",
     {.bytes = TEST_SSE_HEAD WORDS("a\\ud800b") STOP, .ending = TEST_CLOSE},
     "a\xef\xbf\xbd"
     "b",
     1},
    {"no candidates",
     {.bytes = TEST_SSE_HEAD EVENT("{\"usageMetadata\":{\"promptTokenCount\":1}}"),
      .ending = TEST_CLOSE},
     "good",
     2},
    {"no objects",
     {.bytes = TEST_SSE_HEAD EVENT("[1]") EVENT("\"x\"") EVENT("null"), .ending = TEST_CLOSE},
     "good",
     2},
    {"an empty body", {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}, "good", 2},
    {"silence", {.bytes = TEST_SSE_HEAD WORDS("half"), .ending = TEST_HOLD}, "good", 2},
    {"a drip",
     {.bytes = TEST_SSE_HEAD WORDS("slow") STOP, .piece = 1, .ending = TEST_CLOSE},
     "slow",
     1},
    {"a limit",
     {.bytes = "HTTP/1.1 429 Slow\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"x\","
               "\"details\":[{\"retryDelay\":\"0s\"}]}}",
      .ending = TEST_CLOSE},
     "good",
     2},
    {"a limit for an hour",
     {.bytes = "HTTP/1.1 429 Slow\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"x\","
               "\"details\":[{\"retryDelay\":\"3600s\"}]}}",
      .ending = TEST_CLOSE},
     NULL,
     1},
};

static void faults_end_in_a_retry_or_a_clean_error(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        const struct test_reply replies[] = {
            faults[i].reply, {.bytes = TEST_SSE_HEAD WORDS("good") STOP, .ending = TEST_CLOSE}};
        struct test_server *server = test_server_start(replies, 2, NULL);
        bool is_silent = faults[i].reply.ending == TEST_HOLD;
        struct asked asked;
        int rc = 0;

        asked_init(&asked, *llm, MODEL, test_server_url(server, ""),
                   is_silent ? "{\"stream\":true,\"stream_idle_timeout\":0.3}"
                             : "{\"stream\":true}");
        rc = asked_run(&asked);
        if ((rc == 0) != (faults[i].text != NULL) ||
            test_server_n_requests(server) != faults[i].n_requests)
            fail_msg("%s: %d, %zu requests: %s", faults[i].name, rc, test_server_n_requests(server),
                     asked.failure.detail);
        if (rc == 0)
            assert_string_equal(asked.reply.text, faults[i].text);
        else
            assert_true(asked.failure.detail[0] != '\0');
        asked_done(&asked);
        test_server_stop(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply_has_all_that_was_said),
        cmocka_unit_test(events_are_put_together),
        cmocka_unit_test(calls_and_words_keep_their_signature),
        cmocka_unit_test(long_signature_is_left_out),
        cmocka_unit_test(reasons_to_stop_have_one_name),
        cmocka_unit_test(call_that_was_not_passed_on_is_the_models_to_mend),
        cmocka_unit_test(answer_without_an_answer_has_a_cause),
        cmocka_unit_test(calls_have_a_largest_number),
        cmocka_unit_test(refusals_have_a_cause_and_a_delay),
        cmocka_unit_test(refusal_is_shown_in_the_servers_words),
        cmocka_unit_test(pieces_are_passed_on_as_they_come),
        cmocka_unit_test(thoughts_belong_to_their_model),
        cmocka_unit_test(faults_end_in_a_retry_or_a_clean_error),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}

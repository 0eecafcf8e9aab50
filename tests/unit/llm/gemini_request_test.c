/*
 * What Gemini's native API is sent: contents, tools, configuration, headers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "llm/format.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/llm_fixture.h"
#include "llm/llm_headers.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"
#include "support/test_catalogue.h"

#define MODEL "gemini/gemini-3-flash-preview"
#define OLD "gemini/gemini-2.5-flash"

/* A request; further members of its specification, messages and tools in single quotes. */
struct sent {
    const char *model;
    const char *spec;     /* NULL: none */
    const char *messages; /* NULL: none */
    const char *tools;    /* NULL: none */
    bool is_warm;
};

/* The body as it is sent. */
static char *body_of(const struct sent *sent)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    const struct llm_plan plan = {.is_warm = sent->is_warm};
    struct llm_error llm_error = LLM_ERROR_INIT;
    json_auto_t *spec = parsed_quotes(sent->spec != NULL ? sent->spec : "{}");
    json_auto_t *messages = parsed_quotes(sent->messages != NULL ? sent->messages : "[]");
    json_auto_t *tools = parsed_quotes(sent->tools != NULL ? sent->tools : "[]");
    struct llm_request request = {.spec = spec, .prompt = &prompt};

    json_put_text(spec, "model", sent->model);
    if (llm_route_choose(test_catalogue(), spec, &route, &llm_error) < 0)
        fail_msg("%s", llm_error.detail);
    llm_prompt_begin(&prompt, test_catalogue(), spec);
    llm_prompt_set_tools(&prompt, tools);
    for (size_t i = 0; i < json_array_size(messages); i++)
        llm_prompt_add(&prompt, json_array_get(messages, i));
    return llm_format_of(route.format)->request_body(test_catalogue(), &request, &route, &plan);
}

static void assert_body_at(const struct sent *sent, const char *path, const char *expected)
{
    CLEANUP(mem_freep) char *body = body_of(sent);

    assert_quotes_at(body, path, expected);
}

/* --- contents --- */

#define SAID(text) "{'role':'user','content':[{'type':'text','text':'" text "'}]}"
#define ANSWER(text) "{'role':'assistant','content':[{'type':'text','text':'" text "'}]}"
#define CALL(id)                                                                                   \
    "{'id':'" id "','type':'function','function':{'name':'t','arguments':'{\\\"a\\\":1}'}}"
#define RESULT(id)                                                                                 \
    "{'role':'tool','tool_call_id':'" id                                                           \
    "','name':'t','content':[{'type':'text','text':'r'},{'type':'text','text':'s'}]}"
#define USER(parts) "{'role':'user','parts':[" parts "]}"
#define OF_MODEL(parts) "{'role':'model','parts':[" parts "]}"
#define TEXT(text) "{'text':'" text "'}"
#define USE(id) "{'functionCall':{'id':'" id "','name':'t','args':{'a':1}}}"
#define DONE(id) "{'functionResponse':{'id':'" id "','name':'t','response':{'output':'r\\ns'}}}"
#define PNG "data:image/png;base64,AAAA"
#define IMAGE(url) "{'type':'image_url','image_url':{'url':'" url "'}}"

static const struct {
    const char *messages;
    const char *contents;
} histories[] = {
    /* Results are a content of their own; the user's next words are another. */
    {"[" SAID("a") ",{'role':'assistant','content':[{'type':'text','text':'look'}],'tool_calls':"
                   "[" CALL("1") "," CALL("2") "]}," RESULT("1") "," RESULT("2") "," SAID(
                       "b") "," SAID("c") "]",
     "[" USER(TEXT("a")) "," OF_MODEL(TEXT("look") "," USE("1") "," USE("2")) "," USER(
         DONE("1") "," DONE("2")) "," USER(TEXT("b") "," TEXT("c")) "]"},
    {"[" ANSWER("x") "," SAID("a") "]",
     "[" USER(TEXT("(The conversation begins with a message of the assistant.)")) "," OF_MODEL(
         TEXT("x")) "," USER(TEXT("a")) "]"},
    {"[" SAID("a") "," ANSWER("x") "]",
     "[" USER(TEXT("a")) "," OF_MODEL(TEXT("x")) "," USER(TEXT("Go on.")) "]"},
    {"[" SAID("a") "," ANSWER("x") ",{'role':'assistant','tool_calls':[" CALL("1") "]}," RESULT(
         "1") "]",
     "[" USER(TEXT("a")) "," OF_MODEL(TEXT("x")) "," USER(TEXT("Go on.")) "," OF_MODEL(
         USE("1")) "," USER(DONE("1")) "]"},
    {"[" SAID("a") ",{'role':'assistant','content':[]}," SAID(" ") "," SAID("b") "]",
     "[" USER(TEXT("a") "," TEXT("b")) "]"},
    {"[" SAID("a") ",{'role':'assistant','content':[{'type':'text','text':' '},{'type':'text','"
                   "text':'x'}]}," SAID("b") "]",
     "[" USER(TEXT("a")) "," OF_MODEL(TEXT("x")) "," USER(TEXT("b")) "]"},
    {"[]", "[" USER(TEXT("Go on.")) "]"},
    /* A result without words, and arguments that are no object. */
    {"[" SAID("a") ",{'role':'assistant','tool_calls':[{'id':'1','type':'function','function':{"
                   "'name':'t','arguments':'[1'}}]},{'role':'tool','tool_call_id':'1','name':'t','"
                   "content':[]}]",
     "[" USER(TEXT("a")) "," OF_MODEL("{'functionCall':{'id':'1','name':'t','args':{}}}") "," USER(
         "{'functionResponse':{'id':'1','name':'t','response':{'output':''}}}") "]"},
    /* Names must begin with a letter. */
    {"[" SAID(
         "a") ",{'role':'assistant','tool_calls':[{'id':'1','type':'function','function':{"
              "'name':'3d','arguments':'{}'}}]},{'role':'tool','tool_call_id':'1','name':'3d'}]",
     "[" USER(TEXT("a")) "," OF_MODEL(
         "{'functionCall':{'id':'1','name':'_3d','args':{}}}") "," USER("{'functionResponse':{'"
                                                                        "id':'1','name':'_3d','"
                                                                        "response':{'output':''}"
                                                                        "}}") "]"},
    {"[{'role':'user','content':[" IMAGE(PNG) "," IMAGE("https://a/B.JPG?c=.png") "," IMAGE(
         "https://a/b") "," IMAGE("http://a/b.png") "," IMAGE("data:image/gif;base64,AA") "]}]",
     "[" USER(
         "{'inlineData':{'mimeType':'image/png','data':'AAAA'}},"
         "{'fileData':{'mimeType':'image/jpeg','fileUri':'https://a/B.JPG?c=.png'}},"
         "{'fileData':{'fileUri':'https://a/b'}}," TEXT(
             "[an image in a form that this model "
             "does not take]") "," TEXT("[an image in a form that this model does not take]")) "]"},
};

static void contents_have_the_formats_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(histories); i++)
        assert_body_at(&(struct sent){.model = OLD, .messages = histories[i].messages}, "contents",
                       histories[i].contents);
}

#define SEEN                                                                                       \
    "[" SAID("a") ",{'role':'assistant','tool_calls':[" CALL(                                      \
        "1") "]},{'role':'tool',"                                                                  \
             "'tool_call_id':'1','name':'t','content':[{'type':'text','text':'r'}," IMAGE(         \
                 PNG) "]}]"

static void images_of_results_are_for_models_that_take_them(void **state)
{
    (void)state;
    assert_body_at(&(struct sent){.model = MODEL, .messages = SEEN},
                   "contents[2].parts[0].functionResponse",
                   "{'id':'1','name':'t','response':{'output':'r'},'parts':[{'inlineData':{"
                   "'mimeType':'image/png','data':'AAAA'}}]}");
    assert_body_at(&(struct sent){.model = OLD, .messages = SEEN},
                   "contents[2].parts[0].functionResponse",
                   "{'id':'1','name':'t','response':{'output':'r\\n[an image in a form that this "
                   "model does not take]'}}");
    assert_body_at(
        &(struct sent){.model = MODEL, .spec = "{'disable_vision':true}", .messages = SEEN},
        "contents[2].parts[0].functionResponse", "{'id':'1','name':'t','response':{'output':'r'}}");
}

static void arguments_go_back_byte_for_byte(void **state)
{
    CLEANUP(mem_freep) char *body = body_of(&(struct sent){
        .model = OLD,
        .messages = "[" SAID("a") ",{'role':'assistant','tool_calls':[{'id':'1','type':'function',"
                                  "'function':{'name':'t','arguments':'{ \\\"b\\\": 1.50, "
                                  "\\\"a\\\": 1e2}'}}]}," RESULT("1") "]"});

    (void)state;
    assert_non_null(strstr(body, "\"args\":{ \"b\": 1.50, \"a\": 1e2}}"));
}

static void long_result_loses_its_middle(void **state)
{
    CLEANUP(strbuf_done) struct strbuf messages = STRBUF_INIT;
    CLEANUP(mem_freep) char *body = NULL;

    (void)state;
    strbuf_append(&messages, "[" SAID("a") ",{'role':'assistant','tool_calls':[" CALL(
                                 "1") "]},{'role':'tool','tool_call_id':'1','name':'t','content':[{"
                                      "'type':'text','text':'");
    for (int i = 0; i < 60000; i++)
        strbuf_append_char(&messages, 'x');
    strbuf_append(&messages, "'}]}]");
    body = body_of(&(struct sent){.model = OLD, .messages = messages.text});
    assert_true(strlen(body) < 52000);
    assert_non_null(strstr(body, "the middle of this output was left out"));
}

/* --- signatures --- */

#define SIGNED(model, id, other)                                                                   \
    "[" SAID("a") ",{'role':'assistant','thinking_blocks':[{'type':'thinking','thinking':'hm',"    \
                  "'signature':'c2ln','model':'" model "'}],'tool_calls':[" CALL(id) "," CALL(     \
                      other) "]}," RESULT(id) "," RESULT(other) "]"
#define OWN SIGNED(MODEL, "call_1__thought__c2ln", "call_2")
#define OTHERS SIGNED("gemini/gemini-3-pro", "call_1__thought__c2ln", "call_2")

#define OWN_WITH_WORDS                                                                             \
    "[" SAID("a") ",{'role':'assistant','content':[{'type':'text','text':'look'}],"                \
                  "'thinking_blocks':[{'type':'thinking','thinking':'hm','signature':'c2ln','"     \
                  "model':'" MODEL "'}],'tool_calls':[" CALL(                                      \
                      "call_1__thought__c2ln") "]}," RESULT("call_1__thought__c2ln") "]"

static const struct {
    struct sent sent;
    const char *signature; /* of the first call */
} signatures[] = {
    {{.model = MODEL, .messages = OWN}, "'c2ln'"},
    {{.model = MODEL, .messages = OTHERS}, "'skip_thought_signature_validator'"},
    {{.model = OLD, .messages = OWN}, NULL},
    {{.model = "gemini/ours",
      .spec = "{'model_canonical_name':'gemini-3-pro'}",
      .messages = OTHERS},
     "'skip_thought_signature_validator'"},
};

static void calls_are_signed_by_the_model_that_made_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signatures); i++) {
        CLEANUP(mem_freep) char *body = body_of(&signatures[i].sent);

        assert_quotes_at(body, "contents[1].parts[0].thoughtSignature", signatures[i].signature);
        assert_quotes_at(body, "contents[1].parts[0].functionCall.id", "'call_1'");
        assert_quotes_at(body, "contents[1].parts[1].thoughtSignature", NULL);
        assert_quotes_at(body, "contents[2].parts[0].functionResponse.id", "'call_1'");
    }
}

static void words_are_signed_if_no_call_follows(void **state)
{
    const char *words =
        "[" SAID("a") ",{'role':'assistant','content':[{'type':'text','text':'x'},"
                      "{'type':'text','text':'y'}],'thinking_blocks':[{'type':'thinking',"
                      "'thinking':'','signature':'c2ln','model':'" MODEL "'}]}," SAID("b") "]";

    (void)state;
    assert_body_at(&(struct sent){.model = MODEL, .messages = words}, "contents[1].parts",
                   "[{'text':'x'},{'text':'y','thoughtSignature':'c2ln'}]");
    assert_body_at(&(struct sent){.model = MODEL, .messages = OWN_WITH_WORDS},
                   "contents[1].parts[0]", "{'text':'look'}");
    assert_body_at(&(struct sent){.model = OLD, .messages = words}, "contents[1].parts",
                   "[{'text':'x'},{'text':'y'}]");
}

/* Google's compatible endpoints have a place for signatures, a proxy takes the id, others neither.
 */
static const struct {
    const char *model;
    const char *spec;
    const char *id;
    const char *extra;
} others[] = {
    {"openai/gpt-x", "{'api_mode':'chat'}", "'call_1'", NULL},
    {"litellm_proxy/gemini-3-pro", "{'base_url':'http://h'}", "'call_1__thought__c2ln'", NULL},
    {"litellm_proxy/gpt-x", "{'base_url':'http://h'}", "'call_1'", NULL},
    {"vertex_ai/gemini-3-pro", "{'base_url':'http://h'}", "'call_1'",
     "{'google':{'thought_signature':'skip_thought_signature_validator'}}"},
    {MODEL, "{'api_mode':'chat'}", "'call_1'", "{'google':{'thought_signature':'c2ln'}}"},
    {"vertex_ai/gemini-2.5-pro", "{'base_url':'http://h'}", "'call_1'", NULL},
};

static void other_formats_get_signatures_where_they_take_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        CLEANUP(mem_freep) char *body = body_of(
            &(struct sent){.model = others[i].model, .spec = others[i].spec, .messages = OWN});

        assert_quotes_at(body, "messages[1].tool_calls[0].id", others[i].id);
        assert_quotes_at(body, "messages[1].tool_calls[0].extra_content", others[i].extra);
        assert_quotes_at(body, "messages[1].tool_calls[1].extra_content", NULL);
        assert_quotes_at(body, "messages[2].tool_call_id", others[i].id);
    }
}

static void each_signed_call_has_its_signature_beside_it(void **state)
{
    CLEANUP(mem_freep) char *body =
        body_of(&(struct sent){.model = MODEL,
                               .spec = "{'api_mode':'chat'}",
                               .messages = SIGNED(MODEL, "call_1", "call_2__thought__c2ln")});

    (void)state;
    assert_quotes_at(body, "messages[1].tool_calls[1].id", "'call_2'");
    assert_quotes_at(body, "messages[1].tool_calls[1].extra_content",
                     "{'google':{'thought_signature':'c2ln'}}");
}

/* --- configuration --- */

static const struct {
    struct sent sent;
    const char *config;
} configs[] = {
    {{.model = MODEL}, "{'thinkingConfig':{'thinkingLevel':'HIGH','includeThoughts':true}}"},
    {{.model = MODEL, .spec = "{'reasoning_effort':null}"}, NULL},
    {{.model = MODEL,
      .spec = "{'temperature':0.5,'top_p':0.9,'top_k':5,'seed':7,'max_output_tokens':9,"
              "'reasoning_effort':null}"},
     "{'temperature':0.5,'topP':0.9,'topK':5,'seed':7,'maxOutputTokens':9}"},
    {{.model = MODEL, .spec = "{'temperature':0,'reasoning_effort':null}", .is_warm = true},
     "{'temperature':1.0}"},
    {{.model = "gemini/gemini-2.0-flash", .spec = "{'reasoning_effort':'high'}"}, NULL},
    {{.model = "gemini/gemma-3-27b-it"}, NULL},
    {{.model = OLD, .spec = "{'capability_overrides':{'supports_reasoning_effort':false}}"}, NULL},
    {{.model = "gemini/ours",
      .spec = "{'capability_overrides':{'supports_reasoning_effort':true}}"},
     "{'thinkingConfig':{'thinkingLevel':'HIGH','includeThoughts':true}}"},
    {{.model = MODEL,
      .spec = "{'reasoning_effort':null,'litellm_extra_body':{'generationConfig':{'topK':3}}}"},
     "{'topK':3}"},
    {{.model = MODEL,
      .spec = "{'reasoning_effort':'low','litellm_extra_body':{'generationConfig':{"
              "'thinkingConfig':{'includeThoughts':false},'responseMimeType':'text/plain'}}}"},
     "{'thinkingConfig':{'thinkingLevel':'LOW','includeThoughts':false},"
     "'responseMimeType':'text/plain'}"},
};

static void settings_have_the_formats_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(configs); i++)
        assert_body_at(&configs[i].sent, "generationConfig", configs[i].config);
}

static const struct {
    const char *model;
    const char *effort;
    const char *more;
    const char *expected; /* thinkingLevel or thinkingBudget */
} efforts[] = {
    {MODEL, "none", "", "'MINIMAL'"},
    {MODEL, "minimal", "", "'MINIMAL'"},
    {MODEL, "medium", "", "'MEDIUM'"},
    {MODEL, "max", "", "'HIGH'"},
    {"gemini/gemini-4-argon", "none", "", "'LOW'"},
    {"gemini/gemini-4-argon", "medium", "", "'MEDIUM'"},
    {"gemini/gemini-4-argon", "xhigh", "", "'HIGH'"},
    {"gemini/gemini-3-pro-preview", "medium", "", "'HIGH'"},
    /* The vendor's own words. */
    {MODEL, "ULTRA", "", "'ULTRA'"},
    {OLD, "none", "", "0"},
    {OLD, "minimal", "", "1024"},
    {OLD, "low", "", "1024"},
    {OLD, "medium", "", "8192"},
    {OLD, "high", "", "24576"},
    {OLD, "max", "", "24576"},
    {OLD, "high", ",'extended_thinking_budget':2000", "2000"},
    {OLD, "high", ",'extended_thinking_budget':200000", "24576"},
    {OLD, "high", ",'max_output_tokens':4000", "2000"},
    {OLD, "high", ",'max_output_tokens':30000", "15000"},
    {OLD, "high", ",'max_output_tokens':16", "512"},
    {"gemini/gemini-2.5-pro", "none", "", "128"},
    {"gemini/gemini-2.5-pro", "max", "", "32768"},
};

static void models_think_as_they_can(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(efforts); i++) {
        CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
        bool is_level = efforts[i].expected[0] == '\'';

        strbuf_appendf(&spec, "{'reasoning_effort':'%s'%s}", efforts[i].effort, efforts[i].more);
        assert_body_at(&(struct sent){.model = efforts[i].model, .spec = spec.text},
                       is_level ? "generationConfig.thinkingConfig.thinkingLevel"
                                : "generationConfig.thinkingConfig.thinkingBudget",
                       efforts[i].expected);
        assert_body_at(&(struct sent){.model = efforts[i].model, .spec = spec.text},
                       is_level ? "generationConfig.thinkingConfig.thinkingBudget"
                                : "generationConfig.thinkingConfig.thinkingLevel",
                       NULL);
    }
}

/* --- the body --- */

#define TOOL                                                                                       \
    "[{'type':'function','function':{'name':'2t','description':'d','parameters':{'type':'object'," \
    "'properties':{'a':{'type':'string'}},'additionalProperties':false}}},"                        \
    "{'type':'function','function':{'name':'u','description':'e','parameters':{'type':'object',"   \
    "'properties':{}}}}]"

static void whole_body_is_what_the_vendor_documents(void **state)
{
    const char *messages = "[{'role':'system','content':[{'type':'text','text':'S'},{'type':'text',"
                           "'text':' '},{'type':'text','text':'D'}]}," SAID("a") "]";

    (void)state;
    assert_body_at(
        &(struct sent){.model = MODEL,
                       .spec = "{'reasoning_effort':null}",
                       .messages = messages,
                       .tools = TOOL},
        "",
        "{'systemInstruction':{'parts':[{'text':'S'},{'text':'D'}]},"
        "'contents':[" USER(
            TEXT("a")) "],'tools':[{'functionDeclarations':[{'name':"
                       "'_2t','description':'d','parameters':{'type':'OBJECT','properties':{'a':{"
                       "'type':'STRING'}}}},{'name':'u','description':'e'}]}]}");
    assert_body_at(&(struct sent){.model = MODEL, .spec = "{'reasoning_effort':null}"}, "",
                   "{'contents':[" USER(TEXT("Go on.")) "]}");
}

/* A specification may have members of its own, and its own in place of deft's. */
static void specification_has_the_last_word(void **state)
{
    (void)state;
    assert_body_at(&(struct sent){.model = MODEL,
                                  .spec = "{'reasoning_effort':null,'litellm_extra_body':{'tools':"
                                          "[],'contents':[],'systemInstruction':{},"
                                          "'safetySettings':[1]}}",
                                  .messages = "[{'role':'system','content':[{'type':'text','text':"
                                              "'S'}]}," SAID("a") "]",
                                  .tools = TOOL},
                   "", "{'tools':[],'contents':[],'systemInstruction':{},'safetySettings':[1]}");
}

static void calls_as_text_end_at_a_stop_word(void **state)
{
    const struct sent sent = {.model = MODEL,
                              .spec = "{'native_tool_calling':false,'reasoning_effort':null}",
                              .tools = TOOL};

    (void)state;
    assert_body_at(&sent, "generationConfig", "{'stopSequences':['</function']}");
    assert_body_at(&sent, "tools", NULL);
}

static void key_has_a_header_of_its_own(void **state)
{
    CLEANUP(llm_headers_done) struct llm_headers headers = LLM_HEADERS_INIT;
    CLEANUP(llm_headers_done) struct llm_headers none = LLM_HEADERS_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    const struct llm_route route = LLM_ROUTE_INIT;
    struct llm_request request = {.api_key = &key};

    (void)state;
    llm_format_of(LLM_FORMAT_GEMINI)->add_headers(&request, &route, &none);
    assert_int_equal(none.n, 0);
    secret_set(&key, "sk-1");
    llm_format_of(LLM_FORMAT_GEMINI)->add_headers(&request, &route, &headers);
    assert_int_equal(headers.n, 1);
    assert_string_equal(headers.items[0].name, "x-goog-api-key");
    assert_string_equal(headers.items[0].value, "sk-1");
}

/* A prompt for one form is not taken for another. */
static void form_follows_the_model(void **state)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    json_auto_t *spec = parsed_quotes("{'model':'" MODEL "'}");
    json_auto_t *compatible = parsed_quotes("{'model':'" MODEL "','api_mode':'chat'}");
    json_auto_t *known_as = parsed_quotes("{'model':'" MODEL "','model_canonical_name':'gpt-x'}");

    (void)state;
    llm_prompt_begin(&prompt, test_catalogue(), spec);
    assert_true(llm_prompt_fits(&prompt, test_catalogue(), spec));
    assert_false(llm_prompt_fits(&prompt, test_catalogue(), compatible));
    assert_false(llm_prompt_fits(&prompt, test_catalogue(), known_as));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_have_the_formats_form),
        cmocka_unit_test(images_of_results_are_for_models_that_take_them),
        cmocka_unit_test(arguments_go_back_byte_for_byte),
        cmocka_unit_test(long_result_loses_its_middle),
        cmocka_unit_test(calls_are_signed_by_the_model_that_made_them),
        cmocka_unit_test(words_are_signed_if_no_call_follows),
        cmocka_unit_test(other_formats_get_signatures_where_they_take_them),
        cmocka_unit_test(each_signed_call_has_its_signature_beside_it),
        cmocka_unit_test(settings_have_the_formats_names),
        cmocka_unit_test(models_think_as_they_can),
        cmocka_unit_test(whole_body_is_what_the_vendor_documents),
        cmocka_unit_test(specification_has_the_last_word),
        cmocka_unit_test(calls_as_text_end_at_a_stop_word),
        cmocka_unit_test(key_has_a_header_of_its_own),
        cmocka_unit_test(form_follows_the_model),
    };

    json_setup();
    return cmocka_run_group_tests_name("gemini_request", tests, NULL, NULL);
}

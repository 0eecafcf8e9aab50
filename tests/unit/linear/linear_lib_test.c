/*
 * Parsers of the libraries for data of servers, models and clients, beyond those of linear_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/text_folder.h"
#include "base/zip.h"
#include "client/http1.h"
#include "client/oauth.h"
#include "llm/formats/anthropic.h"
#include "llm/formats/chat.h"
#include "llm/formats/responses.h"
#include "llm/json_repair.h"
#include "llm/llm_error.h"
#include "llm/response_builder.h"
#include "llm/text_call.h"
#include "model/catalogue/text_template.h"
#include "model/catalogue/tsv.h"
#include "model/conversation/conversation.h"
#include "model/conversation/preview_answer.h"
#include "model/event/event.h"
#include "model/event/observation_text.h"
#include "model/markdown_line.h"
#include "model/plugins/plugin_source.h"
#include "model/plugins/repository.h"
#include "model/prompt/skills.h"
#include "model/schema/regex.h"
#include "model/security/risk_text.h"
#include "model/security/security_analyzer.h"
#include "model/security/security_call.h"
#include "model/security/shell_command.h"
#include "model/security/shell_reader.h"
#include "model/security/text_patterns.h"
#include "model/tools/sub_agents.h"
#include "model/web_origin.h"
#include "unit/linear/linear.h"
#include "unit/support/test_catalogue.h"

/* --- base --- */

static void run_strbuf(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf buf = STRBUF_INIT;

    strbuf_append_bytes(&buf, text, len);
    for (size_t i = 0; i < len; i++) {
        strbuf_remove_head(&buf, 2);
        strbuf_append_char(&buf, text[i]);
    }
    for (size_t i = 0; i < len; i++)
        strbuf_truncate(&buf, len - i);
}

static int drop(void *state, const char *bytes, size_t len, struct error *err)
{
    (void)state;
    (void)bytes;
    (void)len;
    (void)err;
    return 0;
}

static void run_zip(const char *text, size_t len)
{
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(NULL, drop);
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < len; i += 50)
        assert_int_equal(zip_add(&zip, "a", text + i, 50 < len - i ? 50 : len - i, &err), 0);
    assert_int_equal(zip_add(&zip, text, text, len, &err), 0);
    assert_int_equal(zip_finish(&zip, &err), 0);
}

static void run_encode(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    char *hex = mem_alloc_array(len + 1, 2);
    unsigned char *bytes = mem_alloc_array(len + 1, 1);
    struct error err = ERROR_INIT;

    hex_encode((const unsigned char *)text, len, hex);
    assert_int_equal(hex_decode(hex, bytes, len, &err), 0);
    base64_append(&out, bytes, len);
    base64url_append(&out, bytes, len);
    mem_free(hex);
    mem_free(bytes);
}

static void run_text(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    int64_t value = 0;

    if (text_parse_int(text, 0, 1, &value, &err) < 0)
        assert_true(text_equal_secret(text, text));
    (void)!text_is_blank(text);
    (void)!text_ends_with(text, "a");
    assert_true(utf8_length(text, len) <= len);
}

/* --- client --- */

static void feed_http1(const char *text, size_t len, size_t cut)
{
    CLEANUP(http1_done) struct http1_reader reader = HTTP1_READER_INIT;
    struct error err = ERROR_INIT;

    for (size_t at = 0; at < len; at += cut) {
        struct http1_input input = {text + at, len - at < cut ? len - at : cut};
        struct http1_piece piece = {HTTP1_NONE, NULL, 0};

        do {
            if (http1_next(&reader, &input, &piece, &err) < 0)
                return;
        } while (piece.kind == HTTP1_LINE || piece.kind == HTTP1_BYTES);
        if (piece.kind == HTTP1_END)
            return;
    }
}

static void run_http1(const char *text, size_t len)
{
    feed_http1(text, len, len);
    feed_http1(text, len, 1);
}

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static const char *const answers[] = {OK "|a: b\r\n|\r\n",
                                      OK "a: |b|\r\n\r\n",
                                      OK "a: | |\r\n\r\n",
                                      OK "|Connection: close\r\n|\r\n",
                                      OK "Connection: |clos|\r\n\r\n",
                                      OK "|Content-Length: 1\r\n|\r\na",
                                      OK "\r\n|a|",
                                      "|HTTP/1.1 100 a\r\n\r\n|" OK,
                                      "|HTTP/1.1 100 a\r\na: b\r\n\r\n|" OK,
                                      CHUNKED "|1\r\na\r\n|0\r\n\r\n",
                                      CHUNKED "1;|a|\r\na\r\n",
                                      CHUNKED "0\r\n|a: b\r\n|\r\n",
                                      CHUNKED "|0|1\r\na",
                                      "|\n|",
                                      NULL};

static void run_oauth(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *form = json_object();
    json_auto_t *provider = json_object();
    json_t *methods = json_array();

    json_put(form, "a", json_text(text, len));
    oauth_append_form(&out, form);
    oauth_append_challenge(&out, text);
    for (size_t i = 0; i < len / 10; i++)
        json_push(methods, json_string("a"));
    json_put(provider, "auth_methods", methods);
    assert_non_null(oauth_pick_method(provider, OAUTH_CONFIDENTIAL));
}

static const char *const urls[] = {"https://|a|", "https://a/|a/|", "https://|a@|",
                                   "https://|:|", "https://a?|&|",  NULL};

/* --- llm --- */

static void run_draft(const char *text, size_t len)
{
    CLEANUP(response_builder_done) struct response_builder draft = RESPONSE_BUILDER_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *whole = NULL;

    if (json_parse_lenient(text, len, &whole, &err) == 0 &&
        chat_read_answer(&draft, whole, &llm_error) == 0 &&
        response_builder_finish(&draft, &reply, &llm_error) == 0)
        assert_non_null(reply.text);
}

#define CALL "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"a\",\"arguments\":\"{\"}}"

static const char *const drafts[] = {
    "{\"choices\":[{\"message\":{\"content\":\"|a|\"}}]}",
    "{\"choices\":[{\"message\":{\"content\":[|{\"text\":\"a\"},|1]}}]}",
    "{\"choices\":[|{\"delta\":{\"content\":\"a\"}},|1]}",
    "{\"choices\":[{\"delta\":{\"tool_calls\":[|" CALL ",|1]}}]}",
    "{\"choices\":[{\"message\":{\"tool_calls\":[|" CALL ",|1]}}]}",
    "{\"choices\":[{\"message\":{\"tool_calls\":[|{\"type\":\"b\"},|1]}}]}",
    "{\"error\":\"|a|\"}",
    NULL};

/* A stream that comes in pieces of one character. */
static void run_pieces(const char *text, size_t len)
{
    CLEANUP(response_builder_done) struct response_builder draft = RESPONSE_BUILDER_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    static const char piece[] =
        "{\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":[" CALL "]}}]}";

    for (size_t i = 0; i < len / 20; i++) {
        json_auto_t *json = NULL;

        (void)text;
        assert_int_equal(json_parse_lenient(piece, strlen(piece), &json, &err), 0);
        assert_int_equal(chat_read_answer(&draft, json, &llm_error), 0);
    }
}

/* --- anthropic --- */

static void run_anthropic(const char *text, size_t len)
{
    CLEANUP(response_builder_done) struct response_builder draft = RESPONSE_BUILDER_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *whole = NULL;

    if (json_parse_lenient(text, len, &whole, &err) == 0 &&
        anthropic_read_answer(&draft, whole, &llm_error) == 0 &&
        response_builder_finish(&draft, &reply, &llm_error) == 0)
        assert_non_null(reply.text);
}

#define USE "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"a\",\"input\":{\"a\":1}}"
#define THINKING "{\"type\":\"thinking\",\"thinking\":\"a\",\"signature\":\"b\"}"

static const char *const messages[] = {"{\"content\":[{\"type\":\"text\",\"text\":\"|a|\"}]}",
                                       "{\"content\":[|{\"type\":\"text\",\"text\":\"a\"},|1]}",
                                       "{\"content\":[|" USE ",|1]}",
                                       "{\"content\":[|" THINKING ",|1]}",
                                       "{\"content\":[" THINKING "],\"id\":\"|a|\"}",
                                       "{\"error\":\"|a|\"}",
                                       NULL};

/* Pieces of one call and one block of thinking. */
static void run_events(const char *text, size_t len)
{
    static const char *const begin[] = {
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":" USE "}",
        "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":" THINKING "}",
    };
    static const char *const pieces[] = {
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"a\"}}",
        "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"thinking\":\"a\"}}",
    };
    CLEANUP(response_builder_done) struct response_builder draft = RESPONSE_BUILDER_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    bool is_last = false;

    (void)text;
    for (size_t i = 0; i < len / 20; i++) {
        const char *event = i < 2 ? begin[i] : pieces[i % 2];
        json_auto_t *json = NULL;

        assert_int_equal(json_parse_lenient(event, strlen(event), &json, &err), 0);
        assert_int_equal(anthropic_read_event(&draft, json, &is_last, &llm_error), 0);
    }
}

/* --- responses --- */

static void run_responses(const char *text, size_t len)
{
    CLEANUP(response_builder_done) struct response_builder draft = RESPONSE_BUILDER_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *whole = NULL;

    if (json_parse_lenient(text, len, &whole, &err) == 0)
        error_ignore(responses_read_answer(&draft, whole, &llm_error), "only its time counts");
}

#define FUNCTION_CALL                                                                              \
    "{\"type\":\"function_call\",\"id\":\"fc_a\",\"call_id\":\"a\",\"name\":\"a\","                \
    "\"arguments\":\"{}\"}"

static const char *const responses[] = {
    "{\"output\":[{\"type\":\"message\",\"content\":[{\"text\":\"|a|\"}]}]}",
    "{\"output\":[|{\"type\":\"message\",\"content\":[{\"text\":\"a\"}]},|1]}",
    ("{\"output\":[|" FUNCTION_CALL ",|1]}"),
    "{\"output\":[|{\"type\":\"reasoning\",\"summary\":[{\"text\":\"a\"}]},|1]}",
    "{\"output\":[{\"type\":\"reasoning\",\"summary\":[|{\"text\":\"a\"},|1]}]}",
    "{\"error\":\"|a|\"}",
    NULL};

/* Pieces of text and of reasoning. */
static void run_response_pieces(const char *text, size_t len)
{
    static const char *const pieces[] = {
        "{\"type\":\"response.output_text.delta\",\"delta\":\"a\"}",
        "{\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"a\"}",
    };
    CLEANUP(response_builder_done) struct response_builder draft = RESPONSE_BUILDER_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    bool is_last = false;

    (void)text;
    for (size_t i = 0; i < len / 20; i++) {
        const char *event = pieces[i % 2];
        json_auto_t *json = NULL;

        assert_int_equal(json_parse_lenient(event, strlen(event), &json, &err), 0);
        assert_int_equal(responses_read_event(&draft, json, &is_last, &llm_error), 0);
    }
}
static void run_text_call(const char *text, size_t len)
{
    CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;
    json_auto_t *functions = json_array();

    (void)!text_call_read(functions, text, len, &call);
}

static const char *const text_calls[] = {"|<function=|",
                                         "|a</think>|",
                                         "<function=a><parameter=b>|</parameter>|",
                                         "<function=a><parameter=b>|</parameter> |x",
                                         "<function=a>|<parameter=b>x|",
                                         "<function=a>|<parameter=b></parameter>|",
                                         "<function=a><parameter=b>| |",
                                         NULL};

static void run_trouble(const char *text, size_t len)
{
    struct llm_error llm_error = LLM_ERROR_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    const struct llm_request request = {.api_key = &key};
    json_auto_t *error = json_text(text, len);

    secret_set(&key, "aaaaaa");
    llm_error.request = &request;
    llm_error_from_answer(&llm_error, 400, text, len);
    llm_error_from_error_member(&llm_error, error);
}

static const char *const complaints[] = {"|litellm.|",
                                         "|context_length_exceede|",
                                         "{\"error\":{\"message\":\"|prompt is too |\"}}",
                                         "{\"error\":{\"message\":\"|\xc3\xa9|\"}}",
                                         "|aaab|",
                                         "|insufficient_quot|",
                                         NULL};

/* --- model --- */

static void run_pattern(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    CLEANUP(regex_freep) struct regex *pattern = NULL;

    (void)len;
    if (regex_new(text, &pattern, &err) == 0)
        (void)!regex_matches(pattern, "terminal");
}

static void run_names(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;
    struct web_origin origin;
    struct error err = ERROR_INIT;

    markdown_line_append(&out, text, len);
    if (plugin_source_read(text, NULL, NULL, &source, &err) < 0)
        assert_int_equal(err.code, ERROR_INVALID);
    (void)!web_origin_read(text, &origin);
    (void)!web_origin_of_request("https://a", false, text, &origin);
    assert_true(event_kind_from_filter(text) == NULL || len < 1000);
}

static void run_preview_answer(const char *text, size_t len)
{
    assert_true(preview_answer_read(text, len).n_head_bytes <= len);
}

static const char *const preview_answers[] = {"HTTP/1.1 103 |\n|",     "HTTP/1.1 103 |\r|",
                                              "HTTP/1.1 103 X\n|a\n|", "HTTP/1.1 103 X\r\n|\r|",
                                              "HTTP/1.1 103 |X|\n\n",  NULL};

static const char *const origins[] = {"https://|a|",
                                      "https://[|1:|]",
                                      "https://a:|1|",
                                      "github:a/|b/|",
                                      "https://github.com/a/b/tree/|a/|",
                                      "https://|a@|b/",
                                      "|[a](|",
                                      "|*a|",
                                      "|_a |",
                                      "|`a``|",
                                      NULL};

/* A path within the repository is read whatever the source is. */
static void run_repo_path(const char *text, size_t len)
{
    CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;
    struct error err = ERROR_INIT;

    (void)len;
    if (plugin_source_read("github:a/b", text, text, &source, &err) < 0)
        assert_int_equal(err.code, ERROR_INVALID);
}

static void run_wish(const char *text, size_t len)
{
    CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
    json_auto_t *request = json_object();
    struct error err = ERROR_INIT;

    json_put(request, "url", json_text(text, len));
    json_put(request, "branch", json_text(text, len));
    if (repository_spec_read(request, &spec, &err) < 0)
        assert_int_equal(err.code, ERROR_INVALID);
}

static void run_content(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;
    json_auto_t *content = NULL;
    json_auto_t *event = json_object();

    if (json_parse(text, len, &json, &err) < 0)
        return;
    if (content_read(json, &content, &err) < 0)
        assert_int_equal(err.code, ERROR_INVALID);
    json_put_text(event, "kind", "MessageEvent");
    json_put(event, "llm_message", json_incref(json));
    event_fill_nulls(event);
}

static const char *const contents[] = {"[|{\"type\":\"text\",\"text\":\"a\"},|1]",
                                       "[|{\"type\":\"image\",\"image_urls\":[\"a\"]},|1]",

                                       "\"|a|\"", "[{\"image_urls\":[|\"a\",|\"b\"]}]", NULL};

/* A message in which words of skills are looked for: one of them long, one at the end of each. */
static void run_skills(const char *text, size_t len)
{
    struct conversation conversation = CONVERSATION_INIT;
    struct skill_texts texts = SKILL_TEXTS_INIT;
    struct error err = ERROR_INIT;
    static const char spec[] =
        "{\"agent\":{\"agent_context\":{\"skills\":[{\"name\":\"a\",\"content\":\"\","
        "\"trigger\":{\"keywords\":[]}}]}}}";
    json_auto_t *content = json_array();
    json_t *skills = NULL;

    assert_int_equal(json_parse(spec, strlen(spec), &conversation.spec, &err), 0);
    skills = json_object_get(json_object_get(conversation_agent(&conversation), "agent_context"),
                             "skills");
    json_push(json_object_get(json_object_get(json_array_get(skills, 0), "trigger"), "keywords"),
              json_text(text, len / 2));
    json_push(content, text_content(text));
    skills_for_message(test_catalogue(), &conversation, content, &texts);
    skill_texts_done(&texts);
    conversation_done(&conversation);
}

/* Many skills, all called for. */
static void run_many_skills(const char *text, size_t len)
{
    struct conversation conversation = CONVERSATION_INIT;
    struct skill_texts texts = SKILL_TEXTS_INIT;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *content = json_array();

    (void)text;
    strbuf_append(&spec, "{\"agent\":{\"agent_context\":{\"skills\":[1");
    for (size_t i = 0; i < len / 10; i++)
        strbuf_appendf(&spec, ",{\"name\":\"%zu\",\"trigger\":{\"keywords\":[\"a\"]}}", i);
    strbuf_append(&spec, "]}}}");
    assert_int_equal(json_parse(spec.text, spec.len, &conversation.spec, &err), 0);
    json_push(content, text_content("a"));
    skills_for_message(test_catalogue(), &conversation, content, &texts);
    skill_texts_done(&texts);
    conversation_done(&conversation);
}

/* As many words as the message has, each of which almost is in it, or is, many times over. */
static void run_many_words(const char *text, size_t len)
{
    struct conversation conversation = CONVERSATION_INIT;
    struct skill_texts texts = SKILL_TEXTS_INIT;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *content = json_array();
    json_t *words = json_array();

    strbuf_append(&spec, "{\"agent\":{\"agent_context\":{\"skills\":[{\"name\":\"a\","
                         "\"trigger\":{}}]}}}");
    assert_int_equal(json_parse(spec.text, spec.len, &conversation.spec, &err), 0);
    for (size_t i = 0; i * 100 < len; i++) {
        CLEANUP(strbuf_done) struct strbuf word = STRBUF_INIT;

        strbuf_append_bytes(&word, text, i % 90 + 1 < len ? i % 90 + 1 : len);
        strbuf_appendf(&word, "%zu", i);
        json_push(words, json_text(word.text, word.len));
        json_push(words, json_text(text, i < len ? i % 200 : len));
    }
    json_put(json_object_get(
                 json_array_get(json_object_get(json_object_get(conversation_agent(&conversation),
                                                                "agent_context"),
                                                "skills"),
                                0),
                 "trigger"),
             "keywords", words);
    json_push(content, text_content(text));
    skills_for_message(test_catalogue(), &conversation, content, &texts);
    skill_texts_done(&texts);
    conversation_done(&conversation);
}

static void run_definitions(const char *text, size_t len)
{
    struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)text;
    strbuf_append(&spec, "{\"agent_definitions\":[1");
    for (size_t i = 0; i < len / 10; i++)
        strbuf_appendf(&spec, ",{\"name\":\"%zu\"}", i);
    strbuf_append(&spec, "]}");
    assert_int_equal(json_parse(spec.text, spec.len, &conversation.spec, &err), 0);
    sub_agents_append_list(test_catalogue(), &conversation, &out);
    conversation_done(&conversation);
}

static void run_template(const char *text, size_t len)
{
    const struct text_rules rules = {.parts = "a", .optional = "b", .values = "x"};
    const struct text_value value = {"x", "y"};
    CLEANUP(mem_freep) char *copy = mem_dup_text(text);
    const struct text_file file = {.path = (char[]){"f"}, .text = copy, .len = len};
    CLEANUP(text_template_done) struct text_template template = {NULL, 0};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(tsv_done) struct tsv table = {.row = STRBUF_INIT};
    struct error err = ERROR_INIT;

    if (text_template_read(&file, &rules, &template, &err) == 0)
        text_template_append(&template, "", &value, 1, &out);
    tsv_init(&table, &file);
    while (tsv_next(&table))
        assert_true(table.n > 0);
}

static const char *const templates[] = {"|{{x}}|\n@@ a\nx", "a\n@@ a\n|{{x}}|", "|\n|@@ a\nx",
                                        "|{{x|}}",          "a\t|\t|",          NULL};

/* An agent with many tools, all of which the client brings. */
static void run_start(const char *text, size_t len)
{
    const struct conversation_defaults defaults = {RUNTIME_LOCAL, "scripted/hello", NULL, false};
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(secret_done) struct secret secrets = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf request = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;
    json_auto_t *content = NULL;
    json_auto_t *problems = NULL;
    size_t n = len / 20;

    (void)text;
    strbuf_append(&request,
                  "{\"agent\":{\"llm\":{\"model\":\"a\"},\"tools\":[{\"name\":\"terminal\"}");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&request, ",{\"name\":\"t%zu\"}", i);
    strbuf_append(&request, "]},\"workspace\":{\"working_dir\":\"/workspace\"},\"client_tools\":["
                            "{\"name\":\"a\",\"description\":\"\",\"parameters\":{}}");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&request, ",{\"name\":\"t%zu\",\"description\":\"\",\"parameters\":{}}", i);
    strbuf_append(&request, "]}");
    assert_int_equal(json_parse(request.text, request.len, &json, &err), 0);
    if (conversation_from_request(json, &defaults, &conversation, &secrets, &content, &problems,
                                  &err) < 0)
        assert_true(json_array_size(problems) > 0);
}

static const char *const one_text[] = {"|a|", NULL};

/* --- security --- */

/* The tenfold is below the limit of an analyzed text. */
#define ANALYZED_BYTES 2900

static void run_commands(const char *text, size_t len)
{
    struct shell_findings findings = {.has_unknown = false};

    shell_read(text, len, &findings);
    (void)!text_patterns_of_code(text);
    (void)!text_patterns_of_prose(text);
}

static void run_analyzer(const char *text, size_t len)
{
    json_auto_t *analyzer = json_object();
    json_auto_t *action = json_object();

    json_put_text(analyzer, "kind", "PatternSecurityAnalyzer");
    json_put(action, "command", json_text(text, len));
    (void)!security_analyzer_judge(
        analyzer, &(struct security_call){.tool_name = "a", .action = action, .thought = text});
}

static void run_guard(const char *text, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;

    (void)len;
    risk_text_quote(&quoted, text);
    (void)!risk_text_verdict(text);
}

static const char *const guard_answers[] = {"|```\n|",      "|RISK: LOW\n|", "|*|RISK: LOW",
                                            "| |RISK: LOW", "|\r\n|",        NULL};

static const char *const commands[] = {"|$(|",
                                       "|`|",
                                       "|sh -c \"|",
                                       "|$(a |)",
                                       "|\"$(|",
                                       "|<(|",
                                       "|<<a\n|",
                                       "|<<a |\n",
                                       "|rm -r |",
                                       "|rm -m/|",
                                       "|rm |",
                                       "|sudo |",
                                       "|a=(|",
                                       "|((|",
                                       "|eval |",
                                       "|$'|",
                                       "|sh <<< 'a' |",
                                       "|eval `|",
                                       "rm -rf |/../|",
                                       "rm -rf |/./|",
                                       "|env -S |",
                                       "sh -c '|$(a)|'",
                                       "sh -c \"|$(sh -c |",
                                       "|os.|",
                                       "|eval \n|",
                                       "|ignore prior |",
                                       "|you are now |",
                                       NULL};

/* --- observations --- */

static void run_observation(const char *text, size_t len)
{
    static const char *const kinds[] = {"TerminalObservation", "TaskObservation", "MCPObservation"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        json_auto_t *observation = json_object();
        json_t *part = json_object();
        json_t *content = json_array();

        json_put_text(part, "type", "text");
        json_put(part, "text", json_text(text, len));
        json_push(content, part);
        json_put_text(observation, "kind", kinds[i]);
        json_put(observation, "content", content);
        observation_append_text(observation, &out);
    }
}

static void time_is_linear_in_what_the_libraries_read(void **state)
{
    static const struct linear_function functions[] = {
        {"strbuf_remove_head", run_strbuf, one_text, 0, 0},
        {"observation_append_text", run_observation, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"risk_text_verdict", run_guard, guard_answers, LINEAR_FEW_BYTES, 0},
        {"risk_text_verdict", run_guard, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"zip_add", run_zip, one_text, LINEAR_FEW_BYTES, 0},
        {"hex_encode", run_encode, one_text, LINEAR_FEW_BYTES, 0},
        {"text_parse_int", run_text, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"http1_next", run_http1, answers, LINEAR_FEW_BYTES, 0},
        {"http1_next", run_http1, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"oauth_append_form", run_oauth, urls, LINEAR_FEW_BYTES, 0},
        {"oauth_append_form", run_oauth, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"chat_read_answer", run_draft, drafts, LINEAR_OBJECTS},
        {"chat_read_answer, in pieces", run_pieces, one_text, LINEAR_OBJECTS},
        {"anthropic_read_answer", run_anthropic, messages, LINEAR_OBJECTS},
        {"anthropic_read_event", run_events, one_text, LINEAR_OBJECTS},
        {"responses_read_answer", run_responses, responses, LINEAR_OBJECTS},
        {"responses_read_event", run_response_pieces, one_text, LINEAR_OBJECTS},
        {"text_call_read", run_text_call, text_calls, LINEAR_FEW_BYTES, 0},
        {"text_call_read", run_text_call, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"llm_error_from_answer", run_trouble, complaints, 0, 0},
        {"llm_error_from_answer", run_trouble, linear_any_text, 0, 0},
        {"regex_new", run_pattern, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"preview_answer_read", run_preview_answer, preview_answers, 0, 0},
        {"preview_answer_read", run_preview_answer, linear_any_text, 0, 0},
        {"plugin_source_read", run_names, origins, LINEAR_FEW_BYTES, 0},
        {"plugin_source_read", run_names, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"plugin_source_read, path", run_repo_path, origins, LINEAR_FEW_BYTES, 0},
        {"repository_spec_read", run_wish, origins, LINEAR_FEW_BYTES, 0},
        {"content_read", run_content, contents, LINEAR_OBJECTS},
        {"skills_for_message", run_skills, linear_any_text, LINEAR_OBJECTS},
        {"skills_for_message, many", run_many_skills, one_text, LINEAR_OBJECTS},
        {"skills_for_message, many words", run_many_words, linear_any_text, LINEAR_OBJECTS},
        {"sub_agents_append_list", run_definitions, one_text, LINEAR_OBJECTS},
        {"text_template_read", run_template, templates, LINEAR_FEW_BYTES, 0},
        {"text_template_read", run_template, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"shell_read", run_commands, commands, LINEAR_FEW_BYTES, 0},
        {"shell_read", run_commands, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"security_analyzer_judge", run_analyzer, commands, ANALYZED_BYTES, 0},
        {"security_analyzer_judge", run_analyzer, linear_any_text, ANALYZED_BYTES, 0},
        {"conversation_from_request", run_start, one_text, LINEAR_OBJECTS},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_in_what_the_libraries_read),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear_lib", tests, NULL, NULL);
}

/*
 * Codecs of the libraries: settings, tools, requests to models, events, progress, packages; and
 * names, addresses and tokens, which only honest clients keep short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fernet.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "client/address_filter.h"
#include "client/direct_connections.h"
#include "client/http.h"
#include "client/http_call.h"
#include "client/oauth.h"
#include "llm/format.h"
#include "llm/formats/gemini.h"
#include "llm/formats/gemini_schema.h"
#include "llm/json_repair.h"
#include "llm/llm.h"
#include "llm/llm_error.h"
#include "llm/llm_prompt.h"
#include "llm/response_builder.h"
#include "llm/route.h"
#include "model/agent/agent_settings.h"
#include "model/agent/hook_verdict.h"
#include "model/agent/hooks.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/conversation/preview.h"
#include "model/event/event.h"
#include "model/event/progress.h"
#include "model/masking/event_text.h"
#include "model/openai/openai_request.h"
#include "model/plugins/plugin_folder.h"
#include "model/schema/client_arguments.h"
#include "model/schema/object_schema.h"
#include "model/schema/validation_error.h"
#include "model/start/memory_size.h"
#include "model/tools/mcp.h"
#include "model/tools/tool_call.h"
#include "model/tools/tool_check.h"
#include "model/tools/toolset.h"
#include "unit/linear/linear.h"
#include "unit/support/test_catalogue.h"

static const char *const one_text[] = {"|a|", NULL};

/* --- names, addresses, tokens --- */

static void run_tokens(const char *text, size_t len)
{
    static const unsigned char key[32];
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    struct error err = ERROR_INIT;
    struct uuid id = UUID_INIT;
    int64_t utc_us = 0;

    assert_false(len > 100 && uuid_parse(text, &id));
    if (clock_parse(text, &utc_us, &err) < 0 || fernet_open(key, text, &plain, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
    (void)!fernet_is_token(text);
    (void)!sandbox_nonce_is_valid(text);
    (void)!memory_size_bytes(text);
    (void)!preview_port_of_label(text);
    (void)!plugin_name_is_valid(text);
}

static const char *const tokens[] = {"|1|",  "2026-01-01T00:00:00.|1|", "gAAAAA|a|", "|a-|",
                                     "|0|m", "2026-01-01| |",           "|=|",       NULL};

static void run_addresses(const char *text, size_t len)
{
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    const struct oauth oauth = {.address_of = ADDRESS_OF_USER};
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct sockaddr_in address;
    struct error err = ERROR_INIT;

    (void)len;
    if (text_starts_with(text, "https://") && oauth_check_url(&oauth, text, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
    (void)!address_filter_allows_text(text, false);
    (void)!direct_request_read_address(text, &address);
    (void)!http_text_is_clean(text);
    (void)!http_header_is_clean(text, text);
    if (llm_route_find(text, text, &route, &llm_error) < 0)
        assert_null(route.model);
    (void)!catalogue_ask_feature(test_catalogue(), MODEL_EFFORT, text);
    (void)!catalogue_find_model(test_catalogue(), text);
}

static const char *const addresses[] = {"https://|a.|",
                                        "http://127.0.0.|1|",
                                        "https://|a@|",
                                        "https://a:|1|",
                                        "https://a/|/|",
                                        "openai/|a/|",
                                        "bedrock/|a:|",
                                        "bedrock/us-|1|/a",
                                        "https://[|:|",
                                        "|gpt-|",
                                        "|claude-|",
                                        "https://a?|a=b&|",
                                        NULL};

/* Lines that come byte by byte. */
static void run_lines(const char *text, size_t len)
{
    CLEANUP(lines_done) struct lines lines = LINES_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    for (size_t i = 0; i < len; i++) {
        lines_add(&lines, text + i, 1);
        (void)!lines_next(&lines, &line);
    }
    assert_true(lines_pending(&lines) <= len);
}

/* --- requests to models --- */

static void run_prompt(const char *model, const char *text, size_t len)
{
    const struct llm_plan plan = {.is_stream = true};
    CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    CLEANUP(mem_freep) char *body = NULL;
    struct llm_error llm_error = LLM_ERROR_INIT;
    json_auto_t *spec = json_object();
    struct llm_request request = {.spec = spec, .prompt = &prompt, .usage_id = "agent"};

    assert_int_equal(llm_route_find(model, NULL, &route, &llm_error), 0);
    json_put_text(spec, "model", model);
    llm_prompt_begin(&prompt, test_catalogue(), spec);
    for (size_t at = 0; at < len; at += 100) {
        json_auto_t *message = json_object();
        json_t *content = json_array();

        json_put_text(message, "role", "user");
        json_push(content, text_content(text + (len - at < 100 ? at : len - 100)));
        json_put(message, "content", content);
        llm_prompt_add(&prompt, message);
    }
    body = llm_format_of(route.provider->format)
               ->request_body(test_catalogue(), &request, &route, &plan);
    assert_true(strlen(body) > prompt.messages.len / 2);
}

static void run_chat(const char *text, size_t len)
{
    run_prompt("openai/gpt-x", text, len);
}

static void run_anthropic(const char *text, size_t len)
{
    run_prompt("anthropic/claude-x", text, len);
}

static void run_gemini(const char *text, size_t len)
{
    run_prompt("gemini/gemini-x", text, len);
}

static void run_gemini_answer(const char *text, size_t len)
{
    CLEANUP(response_builder_done) struct response_builder builder = RESPONSE_BUILDER_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *answer = NULL;

    if (json_parse_lenient(text, len, &answer, &err) == 0 &&
        gemini_read_answer(&builder, answer, &llm_error) == 0 &&
        response_builder_finish(&builder, &reply, &llm_error) == 0)
        assert_non_null(reply.text);
    (void)gemini_read_error(&llm_error, 429, text, len);
}

#define GEMINI_PARTS(parts) "{\"candidates\":[{\"content\":{\"parts\":[" parts "]}}]}"
#define GEMINI_CALL                                                                                \
    "{\"functionCall\":{\"name\":\"a\",\"args\":{\"a\":1}},\"thoughtSignature\":\"a\"}"

static const char *const gemini_answers[] = {
    GEMINI_PARTS("{\"text\":\"|a|\"}"),
    GEMINI_PARTS("|{\"text\":\"a\",\"thoughtSignature\":\"a\"},|1"),
    GEMINI_PARTS("|" GEMINI_CALL ",|1"),
    GEMINI_PARTS("{\"functionCall\":{\"name\":\"|_|\"}}"),
    GEMINI_PARTS("{\"functionCall\":{\"name\":\"a\"},\"thoughtSignature\":\"|__thought|\"}"),
    "[|{\"candidates\":[{}]},|1]",
    "{\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"finishMessage\":\"|a|\"}]}",
    "{\"error\":{\"details\":[|{\"retryDelay\":1},|1]}}",
    "{\"error\":{\"message\":\"|thought_signatur|\"}}",
    NULL};

/* Pieces of a stream, each signed. */
static void run_gemini_pieces(const char *text, size_t len)
{
    static const char piece[] = GEMINI_PARTS("{\"text\":\"a\",\"thoughtSignature\":\"a\"}");
    CLEANUP(response_builder_done) struct response_builder builder = RESPONSE_BUILDER_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;
    struct error err = ERROR_INIT;
    bool is_last = false;

    (void)text;
    for (size_t i = 0; i < len / 20; i++) {
        json_auto_t *event = NULL;

        assert_int_equal(json_parse_lenient(piece, strlen(piece), &event, &err), 0);
        assert_int_equal(gemini_read_event(&builder, event, &is_last, &llm_error), 0);
    }
}

/* The schema of a tool of an MCP server. */
static void run_gemini_schema(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    json_auto_t *schema = NULL;
    json_auto_t *form = NULL;

    if (json_parse_lenient(text, len, &schema, &err) == 0)
        form = gemini_schema_new(schema);
    assert_true(form == NULL || json_is_object(form));
}

#define GEMINI_SCHEMA(property, more) "{\"properties\":{\"a\":" property "}" more "}"

static const char *const gemini_schemas[] = {
    GEMINI_SCHEMA("{\"enum\":[|\"a\",|\"b\"]}", ""),
    GEMINI_SCHEMA("{\"enum\":[|1,|2]}", ""),
    GEMINI_SCHEMA("{\"description\":\"|a|\"}", ""),
    GEMINI_SCHEMA("{\"anyOf\":[|{\"type\":\"string\"},|{\"type\":\"null\"}]}", ""),
    GEMINI_SCHEMA("{\"anyOf\":[|{\"type\":\"null\"},|{\"type\":\"string\"}]}", ""),
    GEMINI_SCHEMA("{\"allOf\":[|{\"required\":[\"a\"]},|{\"type\":\"object\"}]}", ""),
    GEMINI_SCHEMA("{\"type\":[|\"string\",|\"null\"]}", ""),
    GEMINI_SCHEMA("{\"$ref\":\"#|/a|\"}", ""),
    GEMINI_SCHEMA("{\"anyOf\":[|{\"$ref\":\"#/d\"},|1]}",
                  ",\"d\":{\"properties\":{\"b\":{},\"c\":{\"$ref\":\"#/d\"}}}"),
    GEMINI_SCHEMA("{}", ",\"required\":[|\"a\",|\"b\"]"),
    NULL};

static void run_bedrock(const char *text, size_t len)
{
    run_prompt("bedrock/us-east-1/anthropic.claude-x", text, len);
}

/* Client's tools, of an agent whose tools go through a pattern. */
static void run_tools(const char *text, size_t len)
{
    struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    struct toolset *tools = NULL;
    json_auto_t *functions = NULL;
    json_auto_t *definitions = NULL;
    struct error err = ERROR_INIT;
    size_t n = len / 50;

    (void)text;
    strbuf_append(&spec, "{\"agent\":{\"filter_tools_regex\":\"^(a|b|[a-z_]+){1,100}$\",\"tools\":["
                         "{\"name\":\"terminal\"}]},\"client_tools\":[");
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&spec, "%s{\"name\":\"t%zu\",\"parameters\":{}}", i > 0 ? "," : "", i);
    strbuf_append(&spec, "]}");
    assert_int_equal(json_parse(spec.text, spec.len, &conversation.spec, &err), 0);
    tools = toolset_new(test_catalogue(), &conversation);
    functions = toolset_functions(tools);
    definitions = toolset_definitions(tools);
    assert_int_equal(json_array_size(functions), n + 1);
    toolset_free(tools);
    conversation_done(&conversation);
}

/* A call with long arguments. */
static void run_call(const char *text, size_t len)
{
    struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};
    struct toolset *tools = NULL;
    struct error err = ERROR_INIT;
    static const char spec[] = "{\"agent\":{\"tools\":[{\"name\":\"terminal\"}]}}";

    (void)len;
    assert_int_equal(json_parse(spec, strlen(spec), &conversation.spec, &err), 0);
    tools = toolset_new(test_catalogue(), &conversation);
    tool_call_check(tools, "terminal", text, &check);
    toolset_free(tools);
    conversation_done(&conversation);
}

static const char *const call_texts[] = {"{\"command\":\"|a|\"}", "{\"command\":\"|\n|\"}",
                                         "{\"a\":[|\"a\",|1]}", "{\"command\":[|\"a\",|\"b\"]}",
                                         NULL};

/* --- objects of clients, servers and programs --- */

static bool see(void *context, json_t *string)
{
    *(size_t *)context += json_string_length(string);
    return false;
}

/* The text in the places of each kind of event. */
static void run_events(const char *text, size_t len)
{
    static const char *const kinds[] = {"MessageEvent",
                                        "ActionEvent",
                                        "ObservationEvent",
                                        "AgentErrorEvent",
                                        "SystemPromptEvent",
                                        "UserRejectObservation",
                                        "Condensation",
                                        "ConversationStateUpdateEvent",
                                        "ConversationErrorEvent",
                                        "ACPToolCallEvent",
                                        "Unheard"};
    size_t n = 0;
    const struct text_visitor visitor = {see, &n};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        json_auto_t *event = json_object();
        json_t *content = json_array();
        json_t *inner = json_object();

        for (size_t at = 0; at < 20; at++)
            json_push(content, text_content(text + at * len / 20));
        json_put_text(event, "kind", kinds[i]);
        json_put_text(inner, "command", text);
        json_put(inner, "content", content);
        json_put_text(event, "error", text);
        json_put(event, "action", json_incref(inner));
        json_put(event, "observation", json_incref(inner));
        json_put(event, "llm_message", inner);
        event_texts_visit(event, &visitor);
        event_fill_nulls(event);
    }
}

static void use_settings(json_t *json)
{
    const struct conversation_defaults defaults = {RUNTIME_LOCAL, "scripted/hello", NULL, false};
    const struct json_path body = {NULL, "body", 0};
    json_auto_t *problems = json_array();
    json_auto_t *agent = agent_settings_read(json, &defaults, &body, problems);
    json_auto_t *conversation = conversation_settings_read(json, &body, problems);
    json_auto_t *server = mcp_server_read(json, &body, problems);
    json_t *problem = NULL;
    size_t i = 0;

    json_array_foreach (problems, i, problem) {
        CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

        validation_error_append_text(problem, &words);
    }
}

static void use_answers(json_t *json)
{
    json_auto_t *names = json_array();
    json_auto_t *outcome = mcp_call_outcome(json);
    json_auto_t *problems = json_array();
    struct openai_request ask = {.system = STRBUF_INIT};
    const json_t *result = NULL;
    struct error err = ERROR_INIT;

    mcp_add_tool_names(json, names);
    if (mcp_result(json, &result, &err) == 0)
        assert_non_null(result);
    openai_request_read_chat(json, OPENAI_ALL_TURNS, &ask, problems);
    openai_request_done(&ask);
    client_arguments_check(json, json, problems);
}

static void run_objects(const char *text, size_t len)
{
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;
    json_auto_t *hooks = NULL;
    json_auto_t *line = NULL;
    CLEANUP(hook_verdict_done) struct hook_verdict verdict = HOOK_VERDICT_INIT;
    struct progress progress;

    hook_verdict_read(&verdict, 0, text, text);
    if (hooks_read(text, &hooks, &err) < 0 || progress_read(text, len, &line, &progress, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
    if (json_parse(text, len, &json, &err) < 0 || !json_is_object(json))
        return;
    use_settings(json);
    use_answers(json);
}

static const char *const objects[] = {
    "{\"mcp_config\":{|\"a\":{},|\"b\":{}}}",
    "{\"agent_context\":{\"skills\":[|{\"name\":\"a\"},|1]}}",
    "{\"agent_context\":{\"secrets\":{\"a\":\"|b|\"}}}",
    "{\"llm\":{\"model\":\"|a|\"}}",
    "{\"tools\":[|{\"name\":\"a\"},|1]}",
    "{\"command\":\"a\",\"args\":[|\"a\",|\"b\"]}",
    "{\"url\":\"https://|a|\"}",
    "{\"content\":[|{\"type\":\"text\",\"text\":\"a\"},|1]}",
    "{\"result\":{\"tools\":[|{\"name\":\"a\"},|1]}}",
    "{\"messages\":[|{\"role\":\"user\",\"content\":\"a\"},|1]}",
    "{\"messages\":[{\"role\":\"user\",\"content\":[|{\"type\":\"text\",\"text\":\"a\"},|1]}]}",
    "{\"properties\":{\"a\":{\"items\":{\"type\":\"string\"}}},\"a\":[|\"b\",|1]}",
    "{\"hooks\":{\"pre_tool_use\":[|{\"matcher\":\"*\",\"hooks\":[]},|1]}}",
    "{\"text\":\"|a|\",\"lengths\":[1]}",
    NULL};

static void time_is_linear_on_the_wires(void **state)
{
    static const struct linear_function functions[] = {
        {"clock_parse, uuid_parse, fernet_open", run_tokens, tokens, LINEAR_FEW_BYTES, 0},
        {"clock_parse, uuid_parse, fernet_open", run_tokens, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"oauth_check_url, llm_route_find", run_addresses, addresses, LINEAR_FEW_BYTES, 0},
        {"oauth_check_url, llm_route_find", run_addresses, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"lines_next, byte by byte", run_lines, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"chat_request_body", run_chat, linear_any_text, LINEAR_OBJECTS},
        {"toolset_functions", run_tools, one_text, LINEAR_OBJECTS},
        {"tool_call_check", run_call, call_texts, LINEAR_OBJECTS},
        {"anthropic_request_body", run_anthropic, linear_any_text, LINEAR_OBJECTS},
        {"gemini_request_body", run_gemini, linear_any_text, LINEAR_OBJECTS},
        {"gemini_read_answer, _error", run_gemini_answer, gemini_answers, LINEAR_OBJECTS},
        {"gemini_read_error", run_gemini_answer, linear_any_text, LINEAR_OBJECTS},
        {"gemini_read_event", run_gemini_pieces, one_text, LINEAR_OBJECTS},
        {"gemini_schema_new", run_gemini_schema, gemini_schemas, LINEAR_OBJECTS},
        {"bedrock_request_body", run_bedrock, linear_any_text, LINEAR_OBJECTS},
        {"event_texts_visit", run_events, linear_any_text, LINEAR_OBJECTS},
        {"agent_settings_read, openai_request_read_chat", run_objects, objects, LINEAR_OBJECTS},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_on_the_wires),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear_wire", tests, NULL, NULL);
}

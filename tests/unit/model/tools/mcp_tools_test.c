/*
 * Tools of MCP servers in an agent's toolset, and the observations of their results.
 */
#include "model/tools/mcp_tools.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/tools/mcp_listing.h"
#include "model/tools/mcp_observation.h"
#include "model/tools/tool_check.h"
#include "unit/model/model_test.h"

/* A conversation with a server "s" that has the tools of that JSON. */
static void start_with(const char *tools_json, struct conversation *conversation_out)
{
    json_auto_t *tools = json_of(tools_json);
    json_t *listing = mcp_listing_new();

    start_default(conversation_out);
    mcp_listing_add(listing, "s", tools, false);
    json_put(conversation_out->spec, "mcp_listing", listing);
}

static json_t *member_names(const json_t *function)
{
    json_t *properties = json_object_get(
        json_object_get(json_object_get(function, "function"), "parameters"), "properties");
    json_t *names = json_array();
    const char *name = NULL;
    json_t *member = NULL;

    json_object_foreach (properties, name, member)
        json_push(names, json_text_of(name));
    return names;
}

static json_t *function_named(json_t *functions, const char *name)
{
    json_t *function = NULL;
    size_t i = 0;

    json_array_foreach (functions, i, function) {
        if (strcmp(json_text_or(json_object_get(function, "function"), "name", ""), name) == 0)
            return function;
    }
    fail_msg("no function %s", name);
    return NULL;
}

static void models_get_the_servers_members_and_those_that_deft_reads(void **state)
{
    static const struct {
        const char *tool;
        const char *members;
    } cases[] = {
        {"{'name': 'x', 'inputSchema': {'properties': {'a': {}}}}",
         "['a', 'security_risk', 'summary']"},
        {"{'name': 'x', 'annotations': {'readOnlyHint': true}}", "['summary']"},
        {"{'name': 'x', 'inputSchema': {'properties': {'summary': {'type': 'number'}}}}",
         "['summary', 'security_risk']"},
        {"{'name': 'x', 'inputSchema': {'properties': {'security_risk': {}, 'kind': {}}}}",
         "['security_risk', 'kind', 'summary']"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(mem_freep) char *tools = NULL;
        json_auto_t *functions = NULL;
        json_auto_t *names = NULL;
        json_auto_t *list = json_of("[]");

        json_push(list, json_of(cases[i].tool));
        tools = json_to_text(list);
        start_with(tools, &conversation);
        functions = functions_of(&conversation);
        names = member_names(function_named(functions, "x"));
        assert_json_is(names, cases[i].members);
    }
}

static void deft_s_own_tools_keep_their_names(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation bare = CONVERSATION_INIT;
    json_auto_t *functions = NULL;
    json_auto_t *without = NULL;

    (void)state;
    start_with("[{'name': 'terminal'}, {'name': 'execute_bash'}, {'name': 'other'}]",
               &conversation);
    start_default(&bare);
    functions = functions_of(&conversation);
    without = functions_of(&bare);
    assert_int_equal(json_array_size(functions), json_array_size(without) + 1);
}

static void definitions_have_the_contracts_form(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *definitions = NULL;
    json_t *last = NULL;

    (void)state;
    start_with("[{'name': 'x', 'description': 'D', 'annotations': {'idempotentHint': true}}]",
               &conversation);
    definitions = definitions_of(&conversation);
    last = json_array_get(definitions, json_array_size(definitions) - 1);
    assert_json_is(
        last,
        "{'description': 'D', 'action_type': 'MCPToolAction',"
        " 'observation_type': 'MCPToolObservation', 'annotations': {'idempotentHint': true},"
        " 'mcp_tool': {'name': 'x', 'description': 'D', 'annotations': {'idempotentHint': true},"
        "  'inputSchema': {'type': 'object', 'properties': {}}},"
        " 'kind': 'MCPToolDefinition', 'title': 'x'}");
}

static void calls_keep_what_is_the_servers(void **state)
{
    static const struct {
        const char *arguments;
        const char *action;
        const char *summary;
        const char *risk;
    } cases[] = {
        {"{\"a\": 1, \"summary\": \"S\", \"security_risk\": \"HIGH\"}",
         "{'kind': 'MCPToolAction', 'data': {'a': 1}}", "S", "HIGH"},
        {"{\"kind\": \"k\", \"gone\": null, \"list\": [null, 2]}",
         "{'kind': 'MCPToolAction', 'data': {'kind': 'k', 'list': [null, 2]}}", NULL, "UNKNOWN"},
        {"{}", "{'kind': 'MCPToolAction', 'data': {}}", "x: {}", "UNKNOWN"},
        {"{\"security_risk\": \"GREAT\"}", NULL, NULL, "UNKNOWN"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

        start_with("[{'name': 'x'}]", &conversation);
        json_put(conversation.spec, "security_analyzer", json_object());
        check_call_of(&conversation, "x", cases[i].arguments, &check);
        assert_string_equal(check.security_risk, cases[i].risk);
        if (cases[i].action == NULL) {
            assert_null(check.action);
            assert_non_null(check.problem);
            assert_null(check.summary);
            continue;
        }
        assert_json_is(check.action, cases[i].action);
        if (cases[i].summary != NULL)
            assert_string_equal(check.summary, cases[i].summary);
    }
}

static void members_that_the_tool_declares_are_its_own(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

    (void)state;
    start_with(
        "[{'name': 'x', 'inputSchema': {'properties': {'summary': {}, 'security_risk': {}}}}]",
        &conversation);
    check_call_of(&conversation, "x", "{\"summary\": \"S\", \"security_risk\": \"any\"}", &check);
    assert_json_is(check.action,
                   "{'kind': 'MCPToolAction', 'data': {'summary': 'S', 'security_risk': 'any'}}");
    assert_string_equal(check.summary, "x");
}

static void hints_default_to_caution(void **state)
{
    json_auto_t *bare = json_of("{'name': 'n', 'server': 's', 'tool': {'name': 't'}}");
    json_auto_t *said = json_of("{'name': 'n', 'server': 's', 'tool': {'name': 't', 'annotations':"
                                " {'readOnlyHint': true, 'destructiveHint': false,"
                                "  'idempotentHint': true, 'openWorldHint': false}}}");
    struct agent_tool cautious = mcp_tool(bare);
    struct agent_tool tame = mcp_tool(said);

    (void)state;
    assert_false(cautious.annotations.is_read_only);
    assert_true(cautious.annotations.is_destructive);
    assert_false(cautious.annotations.is_idempotent);
    assert_true(cautious.annotations.is_open_world);
    assert_true(tame.annotations.is_read_only);
    assert_false(tame.annotations.is_destructive);
    assert_true(tame.annotations.is_idempotent);
    assert_false(tame.annotations.is_open_world);
    assert_string_equal(mcp_tool_server(&tame), "s");
    assert_string_equal(mcp_tool_name(&tame), "t");
    mem_free(cautious.action_kind);
    mem_free(tame.action_kind);
}

/* --- results --- */

#define TEXT(text) "{'cache_prompt': false, 'type': 'text', 'text': '" text "'}"
#define HEAD TEXT("[Tool \\u0027t\\u0027 executed.]")

static json_t *observation_of(json_t *result)
{
    json_auto_t *listed = json_of("{'name': 'n', 'server': 's', 'tool': {'name': 't'}}");
    struct agent_tool tool = mcp_tool(listed);
    json_t *observation = mcp_observation(mcp_tool_name(&tool), result);

    mem_free(tool.action_kind);
    return observation;
}

static void number_of_parts_is_bounded(void **state)
{
    json_auto_t *result = json_object();
    json_t *parts = json_array();
    json_auto_t *observation = NULL;
    const json_t *content = NULL;

    (void)state;
    json_put(result, "content", parts);
    for (int i = 0; i < 1001; i++)
        json_push(parts, json_integer(1));
    observation = observation_of(result);
    content = json_object_get(observation, "content");
    assert_int_equal(json_array_size(content), 1002);
    assert_string_equal(json_text_or(json_array_get(content, 1001), "text", ""),
                        "[More parts than can be shown]");
    (void)json_array_remove(parts, 0);
    json_decref(observation);
    observation = observation_of(result);
    assert_int_equal(json_array_size(json_object_get(observation, "content")), 1001);
}

static void results_become_parts_that_clients_know(void **state)
{
    static const struct {
        const char *result;
        const char *content; /* after the first part */
        bool is_error;
    } cases[] = {
        {"{}", "", false},
        {"{'content': [{'type': 'text', 'text': 'a'}], 'isError': true}", ", " TEXT("a"), true},
        {"{'content': [{'type': 'image', 'mimeType': 'image/gif', 'data': 'QQ=='}]}",
         ", {'cache_prompt': false, 'type': 'image', 'image_urls': ['data:image/gif;base64,QQ==']}",
         false},
        {"{'content': [{'type': 'image', 'mimeType': 'text/html', 'data': 'QQ=='}]}",
         ", " TEXT("[An image that cannot be shown: text/html]"), false},
        {"{'content': [{'type': 'image', 'mimeType': 'image/png;x', 'data': 'QQ=='}]}",
         ", " TEXT("[An image that cannot be shown: image/png;x]"), false},
        {"{'content': [{'type': 'image', 'data': ''}]}",
         ", " TEXT("[An image that cannot be shown: image/png]"), false},
        {"{'content': [{'type': 'image', 'data': 'Q Q'}]}",
         ", " TEXT("[An image that cannot be shown: image/png]"), false},
        {"{'content': [{'type': 'resource', 'resource': {'uri': 'u', 'text': 'r'}}]}",
         ", " TEXT("r"), false},
        {"{'content': [{'type': 'resource', 'resource': {'uri': 'u', 'blob': 'QQ=='}}]}",
         ", " TEXT("[A resource of binary data: u]"), false},
        {"{'content': [{'type': 'resource_link', 'uri': 'u'}]}",
         ", " TEXT("[A link to a resource: u]"), false},
        {"{'content': [{'type': 'audio'}, 5]}",
         ", " TEXT("[Content of a kind that cannot be shown: audio]") ", " TEXT(
             "[Content of a kind that cannot be shown]"),
         false},
        {"{'structuredContent': {'a': 1}}", ", " TEXT("{\\u0022a\\u0022:1}"), false},
        {"{'content': [{'type': 'text', 'text': 'a'}], 'structuredContent': {'a': 1}}",
         ", " TEXT("a"), false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *result = json_of(cases[i].result);
        json_auto_t *observation = observation_of(result);
        char expected[1024];

        (void)snprintf(expected, sizeof(expected),
                       "{'content': [%s%s], 'is_error': %s, 'tool_name': 't',"
                       " 'kind': 'MCPToolObservation'}",
                       HEAD, cases[i].content, cases[i].is_error ? "true" : "false");
        assert_json_is(observation, expected);
    }
}

static json_t *part_of_length(const char *type, const char *member, size_t len)
{
    json_t *result = json_of("{'content': [{}]}");
    json_t *part = json_array_get(json_object_get(result, "content"), 0);
    char *text = test_malloc(len + 1);

    memset(text, 'A', len);
    text[len] = '\0';
    json_put_text(part, "type", type);
    json_put_text(part, member, text);
    test_free(text);
    return result;
}

static void long_texts_are_cut_and_large_images_left_out(void **state)
{
    static const struct {
        const char *type;
        const char *member;
        size_t len;
        size_t len_kept; /* of the text; 0: an image */
    } cases[] = {
        {"text", "text", 100000, 100000},
        {"text", "text", 100001, 100000},
        {"image", "data", 700000, 0},
        {"image", "data", 700001, strlen("[An image that cannot be shown: image/png]")},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *result = part_of_length(cases[i].type, cases[i].member, cases[i].len);
        json_auto_t *observation = observation_of(result);
        const json_t *part = json_array_get(json_object_get(observation, "content"), 1);

        assert_int_equal(strlen(json_text_or(part, "text", "")), cases[i].len_kept);
    }
}

int mcp_tools_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_get_the_servers_members_and_those_that_deft_reads),
        cmocka_unit_test(deft_s_own_tools_keep_their_names),
        cmocka_unit_test(definitions_have_the_contracts_form),
        cmocka_unit_test(calls_keep_what_is_the_servers),
        cmocka_unit_test(members_that_the_tool_declares_are_its_own),
        cmocka_unit_test(hints_default_to_caution),
        cmocka_unit_test(number_of_parts_is_bounded),
        cmocka_unit_test(results_become_parts_that_clients_know),
        cmocka_unit_test(long_texts_are_cut_and_large_images_left_out),
    };

    return cmocka_run_group_tests_name("model/mcp_tools", tests, NULL, NULL);
}

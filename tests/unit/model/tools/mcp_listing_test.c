#include "model/tools/mcp_listing.h"

#include <string.h>

#include "base/json.h"
#include "model/conversation/conversation.h"
#include "unit/model/model_test.h"

#define SCHEMA "'inputSchema': {'type': 'object', 'properties': {}}"

static void tools_are_kept_with_what_models_need(void **state)
{
    json_auto_t *tools = json_of(
        "[{'name': 'a.b', 'title': 'T', 'description': 'D', 'icons': [1], 'outputSchema': {},"
        "  'inputSchema': {'$schema': 'http://x', 'properties': {'x': {}}, 'required': ['x']}, "
        "'annotations': "
        "{'readOnlyHint': true}},"
        " {'name': 'bare', 'inputSchema': 5, 'annotations': 5}]");
    json_auto_t *listing = mcp_listing_new();

    (void)state;
    mcp_listing_add(listing, "s", tools, false);
    assert_json_is(
        listing,
        "{'failed': {}, 'skipped': [], 'tools': ["
        " {'server': 's', 'name': 'a_b', 'tool': {'name': 'a.b', 'title': 'T', 'description': 'D',"
        "  'inputSchema': {'type': 'object', 'properties': {'x': {}}, 'required': ['x']},"
        "  'annotations': {'readOnlyHint': true}}},"
        " {'server': 's', 'name': 'bare', 'tool': {'name': 'bare', 'description': 'bare', " SCHEMA
        "}}]}");
}

static void a_tool_without_a_description_is_called_by_its_name(void **state)
{
    static const struct {
        const char *tool;
        const char *description;
    } cases[] = {
        {"{'name': 'n'}", "n"},
        {"{'name': 'n', 'title': 'T'}", "T"},
        {"{'name': 'n', 'title': ' ', 'description': ' '}", "n"},
        {"{'name': 'n', 'title': 'T', 'description': 'D'}", "D"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *listing = mcp_listing_new();
        json_auto_t *tools = json_array();

        json_push(tools, json_of(cases[i].tool));
        mcp_listing_add(listing, "s", tools, false);
        assert_string_equal(
            json_text_or(
                json_object_get(json_array_get(json_object_get(listing, "tools"), 0), "tool"),
                "description", ""),
            cases[i].description);
    }
}

static json_t *named(const char *name)
{
    json_t *tools = json_array();
    json_t *tool = json_object();

    json_put_text(tool, "name", name);
    json_push(tools, tool);
    return tools;
}

/* The reason why a tool of that name is skipped, after one that is called "first"; "" if it is not.
 */
static void assert_skipped(const char *name, const char *reason)
{
    json_auto_t *listing = mcp_listing_new();
    json_auto_t *first = named("first");
    json_auto_t *tools = named(name);
    const json_t *skipped = json_object_get(listing, "skipped");

    mcp_listing_add(listing, "s", first, false);
    mcp_listing_add(listing, "s", tools, false);
    assert_int_equal(json_array_size(json_object_get(listing, "tools")), reason[0] == '\0' ? 2 : 1);
    assert_int_equal(json_array_size(skipped), reason[0] != '\0');
    assert_string_equal(json_text_or(json_array_get(skipped, 0), "reason", ""), reason);
    if (reason[0] == '\0')
        return;
    assert_string_equal(json_text_or(json_array_get(skipped, 0), "server", ""), "s");
    assert_string_equal(json_text_or(json_array_get(skipped, 0), "tool", ""), name);
}

static void tools_that_models_refuse_are_skipped_with_a_reason(void **state)
{
    char longest[66];

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[65] = '\0';
    assert_skipped(longest, "its name is empty, or longer than models allow");
    longest[64] = '\0';
    assert_skipped(longest, "");
    assert_skipped("", "its name is empty, or longer than models allow");
    assert_skipped("first", "another tool has its name");
    assert_skipped("First", "");
}

static void skipped_tool_is_shown_by_the_beginning_of_its_name(void **state)
{
    json_auto_t *listing = mcp_listing_new();
    json_auto_t *tools = NULL;
    const json_t *skipped = json_object_get(listing, "skipped");
    char name[1000];

    (void)state;
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    tools = named(name);
    mcp_listing_add(listing, "s", tools, false);
    name[200] = '\0';
    assert_string_equal(json_text_or(json_array_get(skipped, 0), "tool", ""), name);
}

static json_t *described(const char *name, size_t schema_bytes)
{
    json_t *tool = json_object();
    json_t *schema = json_object();
    char *text = test_malloc(schema_bytes + 1);

    memset(text, 'x', schema_bytes);
    text[schema_bytes] = '\0';
    json_put_text(tool, "name", name);
    json_put_text(schema, "title", text);
    json_put(tool, "inputSchema", schema);
    test_free(text);
    return tool;
}

static void large_descriptions_are_limited_one_by_one_and_together(void **state)
{
    json_auto_t *listing = mcp_listing_new();
    json_auto_t *tools = json_array();
    const json_t *skipped = json_object_get(listing, "skipped");

    (void)state;
    json_push(tools, described("one", 33 * 1024));
    for (char name[] = "a"; name[0] <= 'j'; name[0]++)
        json_push(tools, described(name, 31 * 1024));
    mcp_listing_add(listing, "s", tools, false);
    assert_string_equal(json_text_or(json_array_get(skipped, 0), "reason", ""),
                        "its description is too large");
    assert_int_equal(json_array_size(json_object_get(listing, "tools")), 8);
    assert_int_equal(json_array_size(skipped), 3);
    assert_string_equal(json_text_or(json_array_get(skipped, 2), "reason", ""),
                        "there are too many tools before it");
}

static void long_descriptions_and_many_tools_are_cut(void **state)
{
    json_auto_t *listing = mcp_listing_new();
    json_auto_t *tools = json_array();
    json_t *first = json_object();
    char text[4002];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[4001] = '\0';
    json_put_text(first, "name", "first");
    json_put_text(first, "description", text);
    json_push(tools, first);
    for (int i = 0; i < 400; i++) {
        json_t *tool = json_object();

        json_put(tool, "name", json_sprintf("t%d", i));
        json_push(tools, tool);
    }
    mcp_listing_add(listing, "s", tools, false);
    assert_int_equal(json_array_size(json_object_get(listing, "tools")), 256);
    assert_int_equal(json_array_size(json_object_get(listing, "skipped")), 50);
    assert_int_equal(
        strlen(json_text_or(
            json_object_get(json_array_get(json_object_get(listing, "tools"), 0), "tool"),
            "description", "")),
        4000);
}

static void several_servers_name_their_tools(void **state)
{
    json_auto_t *tools = named("find");
    json_auto_t *listing = mcp_listing_new();
    json_auto_t *value = NULL;
    json_auto_t *of_b = NULL;
    json_auto_t *of_none = NULL;

    (void)state;
    mcp_listing_add(listing, "my a", tools, true);
    mcp_listing_add(listing, "b", tools, true);
    mcp_listing_fail(listing, "dead", "No answer");
    value = mcp_listing_event_value(listing);
    assert_json_is(value,
                   "{'mcp_servers': {'my a': {'tools': ['my_a_find']}, 'b': {'tools': ['b_find']},"
                   " 'dead': {'error': 'No answer'}}, 'skipped': []}");
    assert_json_is(mcp_listing_failed(listing), "{'dead': 'No answer'}");
    of_b = mcp_listing_tools_of(listing, "b");
    assert_json_is(of_b, "[{'name': 'find', 'description': 'find', " SCHEMA "}]");
    of_none = mcp_listing_tools_of(NULL, "b");
    assert_json_is(of_none, "[]");
}

static void a_conversation_has_the_tools_of_its_listing(void **state)
{
    struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *spec = json_of("{'mcp_listing': {'tools': [{'name': 'x'}]}}");
    json_auto_t *bare = json_of("{}");

    (void)state;
    conversation.spec = spec;
    assert_int_equal(json_array_size(mcp_tools_of(&conversation)), 1);
    conversation.spec = bare;
    assert_null(mcp_tools_of(&conversation));
}

int mcp_listing_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_are_kept_with_what_models_need),
        cmocka_unit_test(a_tool_without_a_description_is_called_by_its_name),
        cmocka_unit_test(tools_that_models_refuse_are_skipped_with_a_reason),
        cmocka_unit_test(skipped_tool_is_shown_by_the_beginning_of_its_name),
        cmocka_unit_test(large_descriptions_are_limited_one_by_one_and_together),
        cmocka_unit_test(long_descriptions_and_many_tools_are_cut),
        cmocka_unit_test(several_servers_name_their_tools),
        cmocka_unit_test(a_conversation_has_the_tools_of_its_listing),
    };

    return cmocka_run_group_tests_name("model/mcp_listing", tests, NULL, NULL);
}

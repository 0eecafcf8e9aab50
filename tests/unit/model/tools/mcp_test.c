#include "model/tools/mcp.h"

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "unit/model/model_test.h"

static void messages_have_the_protocols_form(void **state)
{
    json_auto_t *arguments = json_of("{'a': 1}");
    json_auto_t *initialize = mcp_initialize(1);
    json_auto_t *initialized = mcp_initialized();
    json_auto_t *first = mcp_list_tools(2, NULL);
    json_auto_t *next = mcp_list_tools(3, "c");
    json_auto_t *bare = mcp_call_tool(4, "t", NULL);
    json_auto_t *call = mcp_call_tool(5, "t", arguments);

    (void)state;
    assert_json_is(initialize, "{'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params':"
                               " {'protocolVersion': '2025-06-18', 'capabilities': {},"
                               "  'clientInfo': {'name': 'deft', 'version': '1'}}}");
    assert_json_is(initialized, "{'jsonrpc': '2.0', 'method': 'notifications/initialized'}");
    assert_json_is(first, "{'jsonrpc': '2.0', 'id': 2, 'method': 'tools/list', 'params': {}}");
    assert_json_is(
        next, "{'jsonrpc': '2.0', 'id': 3, 'method': 'tools/list', 'params': {'cursor': 'c'}}");
    assert_json_is(bare, "{'jsonrpc': '2.0', 'id': 4, 'method': 'tools/call',"
                         " 'params': {'name': 't', 'arguments': {}}}");
    assert_json_is(call, "{'jsonrpc': '2.0', 'id': 5, 'method': 'tools/call',"
                         " 'params': {'name': 't', 'arguments': {'a': 1}}}");
}

static void a_reply_has_a_result_or_a_reason(void **state)
{
    static const struct {
        const char *reply;
        const char *message; /* NULL: it has a result */
    } cases[] = {
        {"{'result': {'a': 1}}", NULL},
        {"{'result': {'a': 1}, 'error': null}", NULL},
        {"{'error': {'code': 1, 'message': 'no'}}", "The server says: no"},
        {"{'error': {}, 'result': {}}", "The server says: an error without a message"},
        {"{}", "The server's reply has no result"},
        {"{'result': []}", "The server's reply has no result"},
        {"[]", "The server's reply has no result"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *reply = json_of(cases[i].reply);
        const json_t *result = NULL;
        struct error err = ERROR_INIT;
        int rc = mcp_result(reply, &result, &err);

        if (cases[i].message == NULL) {
            assert_int_equal(rc, 0);
            assert_ptr_equal(result, json_object_get(reply, "result"));
            continue;
        }
        assert_int_equal(rc, -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        assert_null(result);
    }
}

static void names_of_tools_are_added(void **state)
{
    json_auto_t *result = json_of("{'tools': [{'name': 'a'}, {}, {'name': 5}, {'name': 'b'}]}");
    json_auto_t *empty = json_of("{}");
    json_auto_t *names = json_of("['x']");

    (void)state;
    mcp_add_tool_names(result, names);
    mcp_add_tool_names(empty, names);
    assert_json_is(names, "['x', 'a', 'b']");
}

static void outcomes_are_texts(void **state)
{
    static const struct {
        const char *result;
        const char *outcome;
    } cases[] = {
        {"{}", "{'is_error': false, 'text': ''}"},
        {"{'content': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}]}",
         "{'is_error': false, 'text': 'a\\nb'}"},
        {"{'content': [{'type': 'text', 'text': 'a'}], 'isError': true}",
         "{'is_error': true, 'text': 'a'}"},
        {"{'content': [{'type': 'image'}, {'type': 'text', 'text': 'b'}], 'isError': false}",
         "{'is_error': false, 'text': 'b'}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *result = json_of(cases[i].result);
        json_auto_t *outcome = mcp_call_outcome(result);

        assert_json_is(outcome, cases[i].outcome);
    }
}

int mcp_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_have_the_protocols_form),
        cmocka_unit_test(a_reply_has_a_result_or_a_reason),
        cmocka_unit_test(names_of_tools_are_added),
        cmocka_unit_test(outcomes_are_texts),
    };

    return cmocka_run_group_tests_name("model/mcp", tests, NULL, NULL);
}

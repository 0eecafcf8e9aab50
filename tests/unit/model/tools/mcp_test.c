#include "model/tools/mcp.h"

#include <string.h>

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
    assert_json_is(bare,
                   "{'jsonrpc': '2.0', 'id': 4, 'method': 'tools/call',"
                   " 'params': {'name': 't', '_meta': {'progressToken': 4}, 'arguments': {}}}");
    assert_json_is(
        call, "{'jsonrpc': '2.0', 'id': 5, 'method': 'tools/call',"
              " 'params': {'name': 't', '_meta': {'progressToken': 5}, 'arguments': {'a': 1}}}");
}

static void only_requests_are_answered(void **state)
{
#define REFUSED(id)                                                                                \
    "{'jsonrpc': '2.0', 'id': " id                                                                 \
    ", 'error': {'code': -32601, 'message': 'The client does not offer this'}}"
    static const struct {
        const char *message;
        const char *answer; /* NULL: none */
    } cases[] = {
        {"{'id': 1, 'method': 'ping'}", "{'jsonrpc': '2.0', 'id': 1, 'result': {}}"},
        {"{'id': 'a', 'method': 'ping'}", "{'jsonrpc': '2.0', 'id': 'a', 'result': {}}"},
        {"{'id': 2, 'method': 'elicitation/create', 'params': {'message': 'who?'}}", REFUSED("2")},
        {"{'id': 3, 'method': 'sampling/createMessage', 'params': {}}", REFUSED("3")},
        {"{'id': 'b', 'method': 'roots/list'}", REFUSED("'b'")},
        {"{'method': 'notifications/cancelled', 'params': {'requestId': 1}}", NULL},
        {"{'method': 'ping'}", NULL},
        {"{'id': null, 'method': 'ping'}", NULL},
        {"{'id': 1.5, 'method': 'ping'}", NULL},
        {"{'id': ['a'], 'method': 'ping'}", NULL},
        {"{'id': 1, 'method': 7}", NULL},
        {"{'id': 1, 'result': {}}", NULL},
        {"[]", NULL},
    };
#undef REFUSED

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *message = json_of(cases[i].message);
        json_auto_t *answer = mcp_answer(message);

        if (cases[i].answer == NULL)
            assert_null(answer);
        else
            assert_json_is(answer, cases[i].answer);
    }
}

static void longer_text_is_no_id(void **state)
{
    (void)state;
    for (size_t len = 1000; len <= 1001; len++) {
        json_auto_t *message = json_of("{'method': 'ping'}");
        json_auto_t *answer = NULL;
        char id[1002] = "";

        memset(id, 'x', len);
        json_put_text(message, "id", id);
        answer = mcp_answer(message);
        assert_int_equal(answer != NULL, len == 1000);
    }
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

static void tools_with_a_name_are_added(void **state)
{
    json_auto_t *result =
        json_of("{'tools': [{'name': 'a', 'x': 1}, {}, {'name': 5}, 'b', {'name': 'b'}]}");
    json_auto_t *empty = json_of("{}");
    json_auto_t *tools = json_array();
    json_auto_t *names = json_of("['x']");

    (void)state;
    mcp_add_tools(result, tools);
    mcp_add_tools(empty, tools);
    assert_json_is(tools, "[{'name': 'a', 'x': 1}, {'name': 'b'}]");
    mcp_add_tool_names(tools, names);
    assert_json_is(names, "['x', 'a', 'b']");
}

static void a_cancellation_names_the_request(void **state)
{
    json_auto_t *message = mcp_cancelled(7);

    (void)state;
    assert_json_is(message, "{'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params':"
                            " {'requestId': 7, 'reason': 'The user stopped the call'}}");
}

/* The methods of messages, in order. */
static json_t *methods_of(json_t *messages)
{
    json_t *methods = json_array();
    json_t *message = NULL;
    size_t i = 0;

    json_array_foreach (messages, i, message)
        json_push(methods, json_incref(json_object_get(message, "method")));
    json_decref(messages);
    return methods;
}

static void a_program_is_told_what_is_wanted(void **state)
{
    json_auto_t *arguments = json_of("{'a': 1}");
    json_auto_t *list = methods_of(mcp_program_messages(true, NULL, NULL));
    json_auto_t *call = mcp_program_messages(false, "t", arguments);
    json_auto_t *both = methods_of(mcp_program_messages(true, "t", NULL));

    (void)state;
    assert_json_is(list, "['initialize', 'notifications/initialized', 'tools/list']");
    assert_json_is(both, "['initialize', 'notifications/initialized', 'tools/list', 'tools/call']");
    assert_int_equal(json_array_size(call), 3);
    assert_json_is(
        json_array_get(call, 2),
        "{'jsonrpc': '2.0', 'id': 3, 'method': 'tools/call',"
        " 'params': {'name': 't', '_meta': {'progressToken': 3}, 'arguments': {'a': 1}}}");
}

#define GREETING "{'id': 1, 'result': {'protocolVersion': '2025-06-18'}}"

static void replies_of_a_program_are_read(void **state)
{
    json_auto_t *replies = json_of("[" GREETING ", {'id': 2, 'result': {'tools': [{'name': 'a'}]}},"
                                   " {'id': 1000, 'result': {'tools': [{'name': 'b'}]}},"
                                   " {'id': 3, 'result': {'content': []}}]");
    json_auto_t *greeting = json_of("[" GREETING "]");
    json_auto_t *failed = json_of("[" GREETING ", {'id': 3, 'error': {'message': 'no'}}]");
    json_auto_t *tools = json_array();
    json_auto_t *none = json_array();
    json_auto_t *result = NULL;
    json_t *nothing = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(mcp_program_read(replies, tools, &result, &err), 0);
    assert_json_is(tools, "[{'name': 'a'}, {'name': 'b'}]");
    assert_json_is(result, "{'content': []}");
    assert_int_equal(mcp_program_read(greeting, none, &nothing, &err), 0);
    assert_null(nothing);
    assert_int_equal(mcp_program_read(failed, none, &nothing, &err), -1);
    assert_string_equal(err.message, "The server says: no");
    assert_null(nothing);
    assert_int_equal(json_array_size(none), 0);
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
        cmocka_unit_test(only_requests_are_answered),
        cmocka_unit_test(longer_text_is_no_id),
        cmocka_unit_test(a_reply_has_a_result_or_a_reason),
        cmocka_unit_test(tools_with_a_name_are_added),
        cmocka_unit_test(a_cancellation_names_the_request),
        cmocka_unit_test(a_program_is_told_what_is_wanted),
        cmocka_unit_test(replies_of_a_program_are_read),
        cmocka_unit_test(outcomes_are_texts),
    };

    return cmocka_run_group_tests_name("model/mcp", tests, NULL, NULL);
}

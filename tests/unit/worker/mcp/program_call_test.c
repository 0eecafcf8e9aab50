/*
 * Runs whose agent has an MCP server that is a program of the sandbox.
 */
#include "worker/agent/mcp/program_call.h"

#include <string.h>

#include "base/json.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/mcp/mcp_test.h"

#define CALLS                                                                                      \
    "{\"turns\": [{\"steps\": [{\"calls\": [{\"name\": \"do\", \"arguments\": {\"x\":"             \
    " \"$KEY\"}}]}, {\"text\": \"done\"}]}]}"
#define CONFIG                                                                                     \
    "{\"secrets\": {\"KEY\": {\"kind\": \"StaticSecret\", \"value\": \"of-the-key\"}}, \"agent\":" \
    " {\"mcp_config\": {\"here\": {\"command\": \"c\", \"args\": [\"a\"], \"env\": {\"TOKEN\":"    \
    " \"$KEY\"}, \"timeout\": 7}}}}"
#define LISTS(name) "\"tools/list\": {\"tools\": [{\"name\": \"" name "\"}]}"
#define SAYS_DONE "\"content\": [{\"type\": \"text\", \"text\": \"done here\"}]"

static struct uuid run_with(struct run_fixture *fixture, const char *program)
{
    struct uuid id;

    stub_set_program(fixture->stub, program);
    id = run_new_conversation(fixture, CALLS, CONFIG);
    run_to_end(fixture, &id);
    return id;
}

static void assert_last(struct run_fixture *fixture, const struct uuid *id, const char *kind,
                        const char *path, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    run_last_event(fixture, id, kind, &event);
    assert_json_at(event.text, path, expected);
}

static void a_call_is_an_action_of_the_sandbox(void **state)
{
    CLEANUP(strbuf_done) struct strbuf order = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_with(fixture, "{" LISTS("do") ", \"tools/call\": {" SAYS_DONE
                                                       ", \"has_changed_tools\": false}}");

    assert_last(fixture, &id, "ObservationEvent", "observation",
                "{\"kind\": \"MCPToolObservation\", \"tool_name\": \"do\", \"is_error\": false,"
                " \"content\": [{\"type\": \"text\", \"text\": \"done here\", \"cache_prompt\":"
                " false}]}");
    stub_program_order(fixture->stub, &order);
    assert_json_at(order.text, "tool", "\"mcp\"");
    /* No secret is part of the action's identity. */
    assert_json_at(order.text, "args",
                   "{\"server\": \"here\", \"method\": \"tools/call\", \"name\": \"do\"}");
    assert_json_at(order.text, "program",
                   "{\"command\": \"c\", \"args\": [\"a\"], \"env\": {\"TOKEN\": \"of-the-key\"}}");
    assert_json_at(order.text, "arguments", "{\"x\": \"of-the-key\"}");
    assert_json_at(order.text, "timeout_ms", "7000");
    assert_json_at(order.text, "working_dir", "\"/workspace/project\"");
    /* The list and the call. */
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 2);
}

static void a_failed_call_is_the_tools_error(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_with(fixture, "{" LISTS("do") "}");

    assert_last(fixture, &id, "AgentErrorEvent", "error",
                "\"The MCP server 'here' failed: no such program\"");
    assert_row(fixture, &id, "finished/-/-");
}

static size_t n_listings(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM events WHERE conversation_id = '%s'"
                   " AND body LIKE '%%mcp_servers%%'",
                   id->text);
    return (size_t)test_sql_count(sql.text);
}

static void a_changed_list_is_asked_for_again(void **state)
{
    CLEANUP(strbuf_done) struct strbuf order = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct uuid id = run_with(fixture, "{" LISTS("do") ", \"tools/call\": {" SAYS_DONE
                                                       ", \"has_changed_tools\": true}}");

    /* The same list again: nothing new to show. */
    stub_program_order(fixture->stub, &order);
    assert_json_at(order.text, "args.method", "\"tools/list\"");
    assert_int_equal(n_listings(&id), 1);
    assert_last(fixture, &id, "ObservationEvent", "observation.has_changed_tools", NULL);
}

static void a_list_that_fails_is_the_servers_error(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_with(fixture, "{}");

    assert_int_equal(n_listings(&id), 1);
    assert_row(fixture, &id, "finished/-/-");
}

int program_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_an_action_of_the_sandbox),
        cmocka_unit_test(a_failed_call_is_the_tools_error),
        cmocka_unit_test(a_changed_list_is_asked_for_again),
        cmocka_unit_test(a_list_that_fails_is_the_servers_error),
    };

    return cmocka_run_group_tests_name("worker/program_call", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define TEST "/api/mcp/test"
#define RPC(id, result)                                                                            \
    TEST_SAYS("200 OK", "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}")
#define ACCEPTED TEST_SAYS("202 Accepted", "")
#define TOOLS(names) "{\"tools\":[" names "]}"
#define OUTCOME "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"isError\":false}"

/* --- over HTTP --- */

/* A test of the server at that address; members are those of the server besides its URL. */
static void write_body(char out[2000], struct test_server *server, const char *members,
                       const char *more)
{
    (void)snprintf(out, 2000, "{\"server\":{\"type\":\"http\",\"url\":\"%s\"%s}%s}",
                   test_server_url(server, "/mcp"), members, more);
}

static void remote_server_is_asked_for_its_tools(void **state)
{
    static const struct test_reply replies[] = {
        RPC("1", "{}"), ACCEPTED,
        RPC("2", "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"next\"}"),
        RPC("3", "{\"tools\":[{\"name\":\"b\"}]}"), RPC("4", OUTCOME)};
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    char body[2000];

    write_body(body, server, "",
               ",\"tool_call\":{\"name\":\"a\",\"arguments\":{\"x\":1}},\"timeout\":120");
    {
        DISPATCH(answer, ALICE, "POST", TEST, body);

        assert_answer_json(&answer, 200,
                           "{\"ok\":true,\"tools\":[\"a\",\"b\"],\"tool_result\":"
                           "{\"is_error\":false,\"text\":\"done\"}}");
    }
    assert_int_equal(test_server_n_requests(server), 5);
    assert_asked(server, 0, "POST /mcp HTTP");
    assert_asked_json(server, 0, "method", "\"initialize\"");
    assert_asked_json(server, 0, "id", "1");
    assert_asked_json(server, 1, "method", "\"notifications/initialized\"");
    assert_asked_json(server, 2, "method", "\"tools/list\"");
    assert_asked_json(server, 2, "params", "{}");
    assert_asked_json(server, 3, "params", "{\"cursor\":\"next\"}");
    assert_asked_json(server, 4, "method", "\"tools/call\"");
    assert_asked_json(server, 4, "params",
                      "{\"name\":\"a\",\"_meta\":{\"progressToken\":4},\"arguments\":{\"x\":1}}");
    test_server_stop(server);
}

static void no_tool_is_called_unasked(void **state)
{
    static const struct test_reply replies[] = {RPC("1", "{}"), ACCEPTED, RPC("2", TOOLS(""))};
    static const char *const more[] = {"", ",\"tool_call\":null"};

    for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
        struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
        char body[2000];

        write_body(body, server, "", more[i]);
        {
            DISPATCH(answer, ALICE, "POST", TEST, body);
            assert_answer_json(&answer, 200, "{\"ok\":true,\"tools\":[],\"tool_result\":null}");
        }
        assert_int_equal(test_server_n_requests(server), 3);
        test_server_stop(server);
    }
}

static void twenty_pages_of_tools_are_read(void **state)
{
    static const struct test_reply replies[] = {
        RPC("1", "{}"), ACCEPTED,
        RPC("2", "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"again\"}")};
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    char body[2000];

    write_body(body, server, "", "");
    {
        DISPATCH(answer, ALICE, "POST", TEST, body);

        assert_json_at(answer.body.text, "ok", "true");
        assert_json_at(answer.body.text, "tools[19]", "\"a\"");
        assert_json_at(answer.body.text, "tools[20]", NULL);
    }
    assert_int_equal(test_server_n_requests(server), 22);
    assert_asked_json(server, 21, "id", "21");
    test_server_stop(server);
}

static void credentials_are_sent_as_they_are_kept(void **state)
{
    static const struct test_reply replies[] = {RPC("1", "{}"), ACCEPTED, RPC("2", TOOLS(""))};
    static const struct {
        const char *members;
        const char *header;
    } rows[] = {
        {",\"headers\":{\"X-One\":\"1\"}", "X-One: 1\r\n"},
        {",\"auth\":{\"strategy\":\"bearer\",\"value\":\"v\"}", "Authorization: Bearer v\r\n"},
        {",\"auth\":{\"strategy\":\"api_key\",\"value\":\"v\"}", "X-API-Key: v\r\n"},
        {",\"auth\":{\"strategy\":\"api_key\",\"header_name\":\"X-Key\",\"value\":\"v\"}",
         "X-Key: v\r\n"},
        {",\"auth\":{\"strategy\":\"basic\",\"username\":\"u\",\"password\":\"p\"}",
         "Authorization: Basic dTpw\r\n"},
        {",\"auth\":{\"strategy\":\"header\",\"headers\":{\"X-Two\":\"2\",\"X-No\":\"3\"}}",
         "X-Two: 2\r\nX-No: 3\r\n"},
        {",\"auth\":{\"strategy\":\"oauth2\",\"state\":{\"tokens\":{\"access_token\":\"t\"}}}",
         "Authorization: Bearer t\r\n"},
        {",\"auth\":{\"strategy\":\"none\"}", "POST /mcp"},
        {",\"auth\":{}", "POST /mcp"},
        {",\"auth\":null", "POST /mcp"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
        char body[2000];

        write_body(body, server, rows[i].members, "");
        {
            DISPATCH(answer, ALICE, "POST", TEST, body);

            if (answer.status != 200)
                fail_msg("%s: %d %s", rows[i].members, answer.status, answer.body.text);
            assert_json_at(answer.body.text, "ok", "true");
        }
        for (size_t at = 0; at < 3; at++)
            assert_asked(server, at, rows[i].header);
        test_server_stop(server);
    }
}

static void servers_of_each_type_are_asked_alike(void **state)
{
    static const struct test_reply replies[] = {RPC("1", "{}"), ACCEPTED, RPC("2", TOOLS(""))};
    static const char *const types[] = {"http", "shttp", "streamable-http"};

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
        char body[300];

        (void)snprintf(body, sizeof(body), "{\"server\":{\"type\":\"%s\",\"url\":\"%s\"}}",
                       types[i], test_server_url(server, "/mcp"));
        {
            DISPATCH(answer, ALICE, "POST", TEST, body);
            assert_json_at(answer.body.text, "ok", "true");
        }
        assert_asked(server, 0, "POST /mcp HTTP");
        test_server_stop(server);
    }
}

static void server_of_events_is_asked_for_a_stream(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", "{}")};
    struct test_server *server = test_server_start(replies, 1, NULL);
    char body[300];

    (void)snprintf(body, sizeof(body), "{\"server\":{\"type\":\"sse\",\"url\":\"%s\"}}",
                   test_server_url(server, "/sse"));
    {
        DISPATCH(answer, ALICE, "POST", TEST, body);
        assert_answer_json(&answer, 200,
                           "{\"ok\":false,\"error\":\"The server did not reply with an event "
                           "stream\",\"error_kind\":\"unknown\"}");
    }
    assert_asked(server, 0, "GET /sse HTTP");
    test_server_stop(server);
}

#define FAILURE(text, kind) "{\"ok\":false,\"error\":\"" text "\",\"error_kind\":\"" kind "\"}"

static void failures_of_a_server_are_answers(void **state)
{
    static const struct {
        struct test_reply replies[3];
        const char *members;
        const char *answer;
    } rows[] = {
        {{TEST_SAYS("404 Not Found", "{}")},
         "",
         FAILURE("The server refused the request with HTTP status 404", "unknown")},
        {{TEST_SAYS("200 OK", "{\"id\":1,\"error\":{\"message\":\"bad\"}}")},
         "",
         FAILURE("The server says: bad", "unknown")},
        {{RPC("1", "{}"), TEST_SAYS("500 Internal Server Error", "")},
         "",
         FAILURE("The server refused the request with HTTP status 500", "unknown")},
        {{RPC("1", "{}"), ACCEPTED,
          TEST_SAYS("200 OK", "{\"id\":2,\"error\":{\"message\":\"no\"}}")},
         "",
         FAILURE("The server says: no", "unknown")},
        {{ACCEPTED},
         ",\"auth\":{\"strategy\":\"oauth2\"}",
         FAILURE("No user has signed in to this server yet", "unknown")},
        {{ACCEPTED},
         ",\"auth\":{\"strategy\":\"magic\"}",
         FAILURE("Signing in by magic is not supported by this server", "unknown")},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_server_start(rows[i].replies, 3, NULL);
        char body[2000];

        write_body(body, server, rows[i].members, "");
        {
            DISPATCH(answer, ALICE, "POST", TEST, body);
            assert_answer_json(&answer, 200, rows[i].answer);
        }
        test_server_stop(server);
    }
    {
        DISPATCH(nobody, ALICE, "POST", TEST,
                 "{\"server\":{\"type\":\"http\",\"url\":\"http://127.0.0.1:1/\"}}");

        assert_json_at(nobody.body.text, "ok", "false");
        assert_json_at(nobody.body.text, "error_kind", "\"connection\"");
    }
}

static void failed_call_of_a_tool_is_a_failure(void **state)
{
    static const struct test_reply replies[] = {
        RPC("1", "{}"), ACCEPTED, RPC("2", TOOLS("")),
        TEST_SAYS("200 OK", "{\"id\":3,\"error\":{\"message\":\"no such tool\"}}")};
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    char body[2000];

    write_body(body, server, "", ",\"tool_call\":{\"name\":\"x\"}");
    {
        DISPATCH(answer, ALICE, "POST", TEST, body);
        assert_answer_json(&answer, 200, FAILURE("The server says: no such tool", "unknown"));
    }
    assert_asked_json(server, 3, "params",
                      "{\"name\":\"x\",\"_meta\":{\"progressToken\":3},\"arguments\":{}}");
    test_server_stop(server);
}

static void silent_server_times_out(void **state)
{
    static const struct test_reply replies[] = {{.bytes = "", .ending = TEST_HOLD}};
    struct test_server *server = test_server_start(replies, 1, NULL);
    char body[2000];

    write_body(body, server, "", ",\"timeout\":0.05");
    {
        DISPATCH(answer, ALICE, "POST", TEST, body);

        assert_json_at(answer.body.text, "ok", "false");
        assert_json_at(answer.body.text, "error_kind", "\"timeout\"");
    }
    test_server_stop(server);
}

static void a_test_takes_a_slot_and_gives_it_back(void **state)
{
    static const struct test_reply replies[] = {RPC("1", "{}"), ACCEPTED, RPC("2", TOOLS(""))};
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    size_t n = test_take_waits(*state);
    char body[2000];

    write_body(body, server, "", "");
    {
        DISPATCH(full, ALICE, "POST", TEST, body);
        assert_answer_json(&full, 200,
                           FAILURE("too many requests are already waiting", "connection"));
    }
    assert_int_equal(test_server_n_requests(server), 0);
    test_give_waits(*state, n);
    {
        DISPATCH(free, ALICE, "POST", TEST, body);
        assert_json_at(free.body.text, "ok", "true");
    }
    assert_int_equal(test_take_waits(*state), n);
    test_give_waits(*state, n);
    test_server_stop(server);
}

/* --- as a program --- */

static void program_is_talked_to_in_the_sandbox(void **state)
{
    static const struct test_reply replies[] = {
        TEST_SAYS("200 OK", "{\"replies\":[{\"id\":1,\"result\":{\"tools\":[{\"name\":\"no\"}]}},"
                            "{\"id\":2,\"result\":{\"tools\":[{\"name\":\"a\"}]}},"
                            "{\"id\":9,\"result\":{\"tools\":[{\"name\":\"b\"}]}},"
                            "{\"id\":3,\"result\":" OUTCOME "}]}")};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    DISPATCH(answer, ALICE, "POST", TEST,
             "{\"server\":{\"command\":\"run\",\"args\":[\"-x\"],\"env\":{\"A\":\"1\"},"
             "\"cwd\":\"/w\"},\"timeout\":2,\"tool_call\":{\"name\":\"a\",\"arguments\":{\"y\":2}}"
             "}");

    assert_answer_json(&answer, 200,
                       "{\"ok\":true,\"tools\":[\"a\",\"b\"],\"tool_result\":"
                       "{\"is_error\":false,\"text\":\"done\"}}");
    assert_asked(server, 0, "POST /programs/talk HTTP");
    assert_asked_json(server, 0, "command", "\"run\"");
    assert_asked_json(server, 0, "args", "[\"-x\"]");
    assert_asked_json(server, 0, "env", "{\"A\":\"1\"}");
    assert_asked_json(server, 0, "cwd", "\"/w\"");
    assert_asked_json(server, 0, "timeout_ms", "2001");
    assert_asked_json(server, 0, "messages[0].method", "\"initialize\"");
    assert_asked_json(server, 0, "messages[0].id", "1");
    assert_asked_json(server, 0, "messages[1].method", "\"notifications/initialized\"");
    assert_asked_json(server, 0, "messages[2].method", "\"tools/list\"");
    assert_asked_json(server, 0, "messages[2].id", "2");
    assert_asked_json(server, 0, "messages[3].method", "\"tools/call\"");
    assert_asked_json(server, 0, "messages[3].id", "3");
    assert_asked_json(server, 0, "messages[3].params",
                      "{\"name\":\"a\",\"_meta\":{\"progressToken\":3},\"arguments\":{\"y\":2}}");
    test_server_stop(server);
}

static void program_has_defaults_and_may_fail(void **state)
{
    static const struct test_reply replies[] = {
        TEST_SAYS("200 OK", "{\"replies\":[{\"id\":1,\"error\":{\"message\":\"no\"}}]}")};
    static const struct test_reply refusals[] = {
        TEST_SAYS("504 Gateway Timeout", "{\"detail\":\"it is silent\"}")};
    struct test_server *server = test_start_sandbox(*state, replies, 1);

    {
        DISPATCH(answer, ALICE, "POST", TEST,
                 "{\"server\":{\"type\":\"stdio\",\"command\":\"run\"}}");
        assert_answer_json(&answer, 200, FAILURE("The server says: no", "unknown"));
    }
    assert_asked_json(server, 0, "args", "[]");
    assert_asked_json(server, 0, "env", "{}");
    assert_asked_json(server, 0, "timeout_ms", "15001");
    assert_asked_json(server, 0, "messages[3]", NULL);
    test_server_stop(server);
    server = test_start_sandbox(*state, refusals, 1);
    {
        DISPATCH(answer, ALICE, "POST", TEST, "{\"server\":{\"command\":\"run\"}}");
        assert_answer_json(&answer, 200, FAILURE("it is silent", "timeout"));
    }
    test_server_stop(server);
}

/* --- the request --- */

static void wrong_requests_are_named(void **state)
{
    static const struct {
        const char *body;
        const char *where;
    } rows[] = {
        {"{}", "[\"body\",\"server\"]"},
        {"{\"server\":{\"type\":\"x\",\"command\":\"r\"}}", "[\"body\",\"server\",\"type\"]"},
        {"{\"server\":{}}", "[\"body\",\"command\"]"},
        {"{\"server\":{\"command\":\"\"}}", "[\"body\",\"command\"]"},
        {"{\"server\":{\"url\":\"http://x\"}}", "[\"body\",\"command\"]"},
        {"{\"server\":{\"type\":\"http\",\"command\":\"r\"}}", "[\"body\",\"url\"]"},
        {"{\"server\":{\"type\":\"sse\",\"url\":\"\"}}", "[\"body\",\"url\"]"},
        {"{\"server\":{\"command\":1}}", "[\"body\",\"server\",\"command\"]"},
        {"{\"server\":{\"command\":\"r\",\"args\":1}}", "[\"body\",\"server\",\"args\"]"},
        {"{\"server\":{\"command\":\"r\",\"env\":1}}", "[\"body\",\"server\",\"env\"]"},
        {"{\"server\":{\"command\":\"r\",\"cwd\":1}}", "[\"body\",\"server\",\"cwd\"]"},
        {"{\"server\":{\"type\":\"http\",\"url\":1}}", "[\"body\",\"server\",\"url\"]"},
        {"{\"server\":{\"command\":\"r\",\"headers\":1}}", "[\"body\",\"server\",\"headers\"]"},
        {"{\"server\":{\"command\":\"r\",\"auth\":1}}", "[\"body\",\"server\",\"auth\"]"},
        {"{\"server\":{\"command\":\"r\"},\"name\":1}", "[\"body\",\"name\"]"},
        {"{\"server\":{\"command\":\"r\"},\"tool_call\":{}}", "[\"body\",\"tool_call\",\"name\"]"},
        {"{\"server\":{\"command\":\"r\"},\"tool_call\":{\"name\":\"a\",\"arguments\":1}}",
         "[\"body\",\"tool_call\",\"arguments\"]"},
        {"{\"server\":{\"command\":\"r\"},\"timeout\":0}", "[\"body\",\"timeout\"]"},
        {"{\"server\":{\"command\":\"r\"},\"timeout\":-1}", "[\"body\",\"timeout\"]"},
        {"{\"server\":{\"command\":\"r\"},\"timeout\":120.5}", "[\"body\",\"timeout\"]"},
        {"{\"server\":{\"command\":\"r\"},\"timeout\":\"x\"}", "[\"body\",\"timeout\"]"},
    };
    static const char *const paths[] = {TEST, "/api/mcp/oauth/start"};

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        for (size_t at = 0; at < ARRAY_SIZE(paths); at++) {
            DISPATCH(answer, ALICE, "POST", paths[at], rows[i].body);

            if (answer.status != 422)
                fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
            assert_json_at(answer.body.text, "detail[0].loc", rows[i].where);
        }
    }
}

static void wrong_timeouts_and_names_are_told_in_words(void **state)
{
    char body[300];
    DISPATCH(timeout, ALICE, "POST", TEST, "{\"server\":{\"command\":\"r\"},\"timeout\":121}");
    DISPATCH(missing, ALICE, "POST", TEST, "{\"server\":{\"type\":\"http\"}}");

    assert_json_at(timeout.body.text, "detail[0]",
                   "{\"type\":\"less_than_equal\",\"loc\":[\"body\",\"timeout\"],\"msg\":\"Input "
                   "should be greater than 0 and at most 120 seconds\",\"input\":121}");
    assert_json_at(missing.body.text, "detail[0].type", "\"missing\"");
    assert_json_at(missing.body.text, "detail[0].msg", "\"Field required\"");
    for (int len = 128; len <= 129; len++) {
        (void)snprintf(body, sizeof(body), "{\"server\":{\"type\":\"http\"},\"name\":\"%0*d\"}",
                       len, 0);
        {
            DISPATCH(answer, ALICE, "POST", TEST, body);

            assert_json_at(answer.body.text, "detail[0].type",
                           len == 128 ? "\"missing\"" : "\"string_too_long\"");
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remote_server_is_asked_for_its_tools),
        cmocka_unit_test(no_tool_is_called_unasked),
        cmocka_unit_test(twenty_pages_of_tools_are_read),
        cmocka_unit_test(credentials_are_sent_as_they_are_kept),
        cmocka_unit_test(servers_of_each_type_are_asked_alike),
        cmocka_unit_test(server_of_events_is_asked_for_a_stream),
        cmocka_unit_test(failures_of_a_server_are_answers),
        cmocka_unit_test(failed_call_of_a_tool_is_a_failure),
        cmocka_unit_test(silent_server_times_out),
        cmocka_unit_test(a_test_takes_a_slot_and_gives_it_back),
        cmocka_unit_test(program_is_talked_to_in_the_sandbox),
        cmocka_unit_test(program_has_defaults_and_may_fail),
        cmocka_unit_test(wrong_requests_are_named),
        cmocka_unit_test(wrong_timeouts_and_names_are_told_in_words),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

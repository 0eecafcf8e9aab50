/*
 * Model Context Protocol over HTTP+SSE: to which address messages go, and which reply is the one.
 */
#include "client/mcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/test_server.h"

enum { PATIENCE_MS = 60000 };

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define ACCEPTED "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"

static const struct http_header no_headers[] = {{NULL, NULL}};

/* Opens a stream whose first event names that endpoint; "@" is replaced by the server's origin. */
static enum error_code open_named(const char *named)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct test_reply reply = {.ending = TEST_HOLD};
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct mcp_options options = {.headers = no_headers,
                                  .uses_sse = true,
                                  .address_of = ADDRESS_OF_ADMINISTRATOR,
                                  .timeout_ms = PATIENCE_MS};
    struct error err = ERROR_INIT;
    struct http *http = NULL;

    strbuf_append(&bytes, STREAM_HEAD "event: endpoint\ndata: ");
    if (named[0] == '@')
        strbuf_append(&bytes, test_server_url(server, ""));
    strbuf_appendf(&bytes, "%s\n\n", named + (named[0] == '@'));
    reply.bytes = bytes.text;
    assert_int_equal(http_open(&http, &err), 0);
    options.http = http;
    options.url = test_server_url(server, "/sse");
    if (mcp_open(&options, &mcp, &err) < 0)
        assert_null(mcp);
    mcp_freep(&mcp);
    http_free(http);
    test_server_stop(server);
    return err.code;
}

/* Messages carry the user's keys for that server. */
static void endpoint_of_another_origin_is_refused(void **state)
{
    static const char *const wrong[] = {
        "http://127.0.0.1:1/messages",
        "https://bank.example/",
        "//bank.example/messages",
        "@.bank.example/messages",
        "@0/messages",
        "messages",
        "",
    };
    static const char *const right[] = {"/messages?id=1", "@/messages", "@"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        if (open_named(wrong[i]) != ERROR_INVALID)
            fail_msg("%s", wrong[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
        if (open_named(right[i]) != ERROR_NONE)
            fail_msg("%s", right[i]);
    }
}

static json_t *new_request(int id)
{
    json_t *request = json_object();

    json_put_text(request, "jsonrpc", "2.0");
    json_put(request, "id", json_integer(id));
    json_put_text(request, "method", "tools/list");
    return request;
}

/* Between them come other replies, notifications and requests of the server with the same id. */
static void reply_is_the_one_with_the_requests_id(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = STREAM_HEAD "event: endpoint\ndata: /messages\n\n"
                              "data: {\"id\":6,\"result\":\"earlier\"}\n\n"
                              "data: {\"id\":7,\"method\":\"ping\"}\n\n"
                              "event: other\ndata: {\"id\":7,\"result\":\"none\"}\n\n"
                              "data: {\"id\":7,\"result\":\"right\"}\n\n",
         .ending = TEST_HOLD},
        {.bytes = ACCEPTED},
    };
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct mcp_options options = {.headers = no_headers,
                                  .uses_sse = true,
                                  .address_of = ADDRESS_OF_ADMINISTRATOR,
                                  .timeout_ms = PATIENCE_MS};
    json_auto_t *request = new_request(7);
    json_auto_t *reply = NULL;
    struct error err = ERROR_INIT;
    struct http *http = NULL;

    (void)state;
    assert_int_equal(http_open(&http, &err), 0);
    options.http = http;
    options.url = test_server_url(server, "/sse");
    assert_int_equal(mcp_open(&options, &mcp, &err), 0);
    assert_int_equal(mcp_ask(mcp, request, &reply, &err), 0);
    assert_string_equal(json_text_or(reply, "result", ""), "right");
    assert_true(test_server_wait(server, 2));
    assert_int_equal(strncmp(test_server_request(server, 1), "POST /messages ", 15), 0);
    mcp_freep(&mcp);
    http_free(http);
    test_server_stop(server);
}

/* Streamable HTTP: the session that the server named first goes with each later request. */
static void session_is_kept(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: one\r\n"
                  "Content-Length: 23\r\n\r\n{\"id\":1,\"result\":\"yes\"}"},
        {.bytes = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
                  "Content-Length: 0\r\n\r\n"},
    };
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct mcp_options options = {
        .headers = no_headers, .address_of = ADDRESS_OF_ADMINISTRATOR, .timeout_ms = PATIENCE_MS};
    json_auto_t *request = new_request(1);
    json_auto_t *reply = NULL;
    json_auto_t *none = NULL;
    struct error err = ERROR_INIT;
    struct http *http = NULL;

    (void)state;
    assert_int_equal(http_open(&http, &err), 0);
    options.http = http;
    options.url = test_server_url(server, "/mcp");
    assert_int_equal(mcp_open(&options, &mcp, &err), 0);
    assert_int_equal(mcp_ask(mcp, request, &reply, &err), 0);
    assert_string_equal(json_text_or(reply, "result", ""), "yes");
    assert_int_equal(mcp_ask(mcp, request, &none, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_null(strcasestr(test_server_request(server, 0), "\r\nMcp-Session-Id:"));
    assert_non_null(strcasestr(test_server_request(server, 1), "\r\nMcp-Session-Id: one\r\n"));
    mcp_freep(&mcp);
    http_free(http);
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoint_of_another_origin_is_refused),
        cmocka_unit_test(reply_is_the_one_with_the_requests_id),
        cmocka_unit_test(session_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

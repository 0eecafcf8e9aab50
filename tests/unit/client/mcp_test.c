/*
 * Model Context Protocol over both transports: what is sent where, and which reply is the one.
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
#include "support/json_path.h"

enum { PATIENCE_MS = 60000, MAX_REPLY_BYTES = 4 * 1024 * 1024 };

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define ACCEPTED "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"

static const struct http_header no_headers[] = {{NULL, NULL}};

/* A connected client; NULL if that fails. */
static int open_server(const struct mcp_options *options, struct mcp **mcp_out, struct error *err)
{
    *mcp_out = mcp_new(options);
    if (mcp_connect(*mcp_out, err) == 0)
        return 0;
    mcp_freep(mcp_out);
    return -1;
}

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
    if (open_server(&options, &mcp, &err) < 0)
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
        "HTTPS://127.0.0.1/",
        "messages",
        "",
    };
    static const char *const right[] = {"/messages?id=1", "/", "@/messages", "@?id=1", "@"};

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
    assert_int_equal(open_server(&options, &mcp, &err), 0);
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
    assert_int_equal(open_server(&options, &mcp, &err), 0);
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

/* --- one server --- */

struct client {
    struct test_server *server;
    struct http *http;
    struct mcp_options options;
    struct mcp *mcp;
    struct error err;
};

static void connect_with(struct client *client, const struct test_reply *replies, size_t n,
                         const struct mcp_options *options)
{
    *client = (struct client){.options = *options, .err = ERROR_INIT};
    client->server = test_server_start(replies, n, NULL);
    client->options.address_of = ADDRESS_OF_ADMINISTRATOR;
    client->options.url = test_server_url(client->server, "/mcp?a=b");
    if (client->options.headers == NULL)
        client->options.headers = no_headers;
    if (client->options.timeout_ms == 0)
        client->options.timeout_ms = PATIENCE_MS;
    assert_int_equal(http_open(&client->http, &client->err), 0);
    client->options.http = client->http;
}

static void disconnect(struct client *client)
{
    mcp_freep(&client->mcp);
    assert_null(client->mcp);
    mcp_free(NULL);
    http_free(client->http);
    test_server_stop(client->server);
}

#define HEAD(status, type)                                                                         \
    "HTTP/1.1 " status "\r\nContent-Type: " type "\r\nConnection: close\r\n\r\n"
#define CHALLENGE(status, parameters)                                                              \
    "HTTP/1.1 " status "\r\nWWW-Authenticate: Bearer " parameters "\r\nConnection: close\r\n\r\n"
#define JSON "application/json"
#define EVENTS "text/event-stream"
#define RIGHT "{\"id\":7,\"result\":\"right\"}"

/* What a server may answer to a request with id 7. */
static const struct {
    const char *bytes;
    enum error_code code;
    const char *message; /* its beginning */
} answers[] = {
    {HEAD("200 OK", JSON) RIGHT, ERROR_NONE, ""},
    {HEAD("299 Fine", JSON) RIGHT, ERROR_NONE, ""},
    {HEAD("200 OK", EVENTS) "data: " RIGHT "\n\n", ERROR_NONE, ""},
    {HEAD("200 OK", "Text/Event-Stream;charset=utf-8") ": hello\n\ndata: {\"id\":6}\n\n"
                                                       "data: " RIGHT "\n\n",
     ERROR_NONE, ""},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" RIGHT, ERROR_NONE, ""},
    {HEAD("200 OK", JSON) "{\"id\":7", ERROR_INVALID, "The server's reply is not JSON: "},
    {HEAD("202 Accepted", JSON), ERROR_INVALID, "The server's reply is not JSON: "},
    {HEAD("200 OK", EVENTS) "data: {\n\n", ERROR_INVALID, "The server's event is not JSON: "},
    {HEAD("200 OK", EVENTS) "data: {\"id\":6}\n\ndata: " RIGHT "\n", ERROR_UNAVAILABLE,
     "The server ended the stream without a reply"},
    {HEAD("300 Choices", JSON) RIGHT, ERROR_INVALID,
     "The server redirects to another address (HTTP 300)"},
    {HEAD("399 Last", JSON) RIGHT, ERROR_INVALID,
     "The server redirects to another address (HTTP 399)"},
    {HEAD("400 Bad", JSON) RIGHT, ERROR_INVALID,
     "The server refused the request with HTTP status 400"},
    {HEAD("401 No", EVENTS) "data: " RIGHT "\n\n", ERROR_UNAUTHENTICATED,
     "The server refused the request with HTTP status 401"},
    {HEAD("500 Oops", JSON) RIGHT, ERROR_INVALID,
     "The server refused the request with HTTP status 500"},
    {CHALLENGE("403 No", "error=\"insufficient_scope\", scope=\"read write\"") RIGHT, ERROR_INVALID,
     "The server wants more rights: sign in to it again with the scopes \"read write\""},
    {CHALLENGE("403 No", "error=insufficient_scope"), ERROR_INVALID,
     "The server refused the request with HTTP status 403"},
    {CHALLENGE("403 No", "error=invalid_token, scope=a"), ERROR_INVALID,
     "The server refused the request with HTTP status 403"},
    {CHALLENGE("401 No", "error=insufficient_scope, scope=a"), ERROR_UNAUTHENTICATED,
     "The server refused the request with HTTP status 401"},
};

static void answer_is_the_reply_or_says_why_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        const struct test_reply reply = {.bytes = answers[i].bytes, .ending = TEST_CLOSE};
        const struct mcp_options options = {.uses_sse = false};
        json_auto_t *request = new_request(7);
        json_auto_t *answer = NULL;
        struct client client;
        int rc = 0;

        connect_with(&client, &reply, 1, &options);
        assert_int_equal(open_server(&client.options, &client.mcp, &client.err), 0);
        assert_int_equal(test_server_n_connections(client.server), 0);
        rc = mcp_ask(client.mcp, request, &answer, &client.err);
        assert_int_equal(rc, answers[i].code == ERROR_NONE ? 0 : -1);
        if (client.err.code != answers[i].code ||
            strncmp(client.err.message, answers[i].message, strlen(answers[i].message)) != 0)
            fail_msg("%s: %s", answers[i].bytes, client.err.message);
        if (answers[i].code == ERROR_NONE)
            assert_string_equal(json_text_or(answer, "result", ""), "right");
        else
            assert_null(answer);
        disconnect(&client);
    }
}

/* How it ends before the server has named its endpoint. */
static const struct {
    const char *bytes;
    enum error_code code;
    const char *message;
} openings[] = {
    {HEAD("200 OK", JSON) "{}", ERROR_INVALID, "The server did not reply with an event stream"},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nevent: endpoint\ndata: /m\n\n", ERROR_INVALID,
     "The server did not reply with an event stream"},
    {HEAD("404 No", EVENTS) "event: endpoint\ndata: /m\n\n", ERROR_INVALID,
     "The server refused the request with HTTP status 404"},
    {HEAD("200 OK", EVENTS) "data: /m\n\n", ERROR_UNAVAILABLE, "The server ended the stream"},
    {HEAD("200 OK", EVENTS) "event: endpoint\ndata: m\n\n", ERROR_INVALID,
     "The server named an endpoint of another origin"},
};

static void stream_without_an_endpoint_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(openings); i++) {
        const struct test_reply reply = {.bytes = openings[i].bytes, .ending = TEST_CLOSE};
        const struct mcp_options options = {.uses_sse = true};
        struct client client;

        connect_with(&client, &reply, 1, &options);
        assert_int_equal(open_server(&client.options, &client.mcp, &client.err), -1);
        assert_string_equal(client.err.message, openings[i].message);
        assert_int_equal(client.err.code, openings[i].code);
        assert_null(client.mcp);
        disconnect(&client);
    }
}

static bool has_line(const char *request, const char *line)
{
    const char *at = strcasestr(request, line);

    return at != NULL && strncmp(at + strlen(line), "\r\n", 2) == 0;
}

static void messages_carry_the_callers_headers(void **state)
{
    static const struct test_reply reply = {.bytes = HEAD("202 Accepted", JSON) "no JSON",
                                            .ending = TEST_CLOSE};
    struct http_header headers[MCP_MAX_HEADERS + 1] = {{NULL, NULL}};
    const struct mcp_options options = {.headers = headers};
    json_auto_t *message = json_object();
    struct client client;
    const char *sent = NULL;

    (void)state;
    for (size_t i = 0; i + 1 < MCP_MAX_HEADERS; i++)
        headers[i] = (struct http_header){"X-Some", "1"};
    headers[MCP_MAX_HEADERS - 1] = (struct http_header){"X-Last", "2"};
    json_put_text(message, "method", "notifications/initialized");
    connect_with(&client, &reply, 1, &options);
    assert_int_equal(open_server(&client.options, &client.mcp, &client.err), 0);
    assert_int_equal(mcp_tell(client.mcp, message, &client.err), 0);
    sent = test_server_request(client.server, 0);
    assert_int_equal(strncmp(sent, "POST /mcp?a=b HTTP/1.1\r\n", 24), 0);
    assert_true(has_line(sent, "\r\nAccept: application/json, text/event-stream"));
    assert_true(has_line(sent, "\r\nContent-Type: application/json"));
    assert_true(has_line(sent, "\r\nX-Last: 2"));
    assert_json_at(strstr(sent, "\r\n\r\n") + 4, "", "{\"method\":\"notifications/initialized\"}");
    disconnect(&client);
}

/* The first session that a server names stays, next to as many headers as there may be. */
static void session_stays_the_first_one(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 200 OK\r\nMcp-Session-Id: one\r\nContent-Length: 8\r\n\r\n{\"id\":7}"},
        {.bytes = "HTTP/1.1 200 OK\r\nMcp-Session-Id: two\r\nContent-Length: 8\r\n\r\n{\"id\":7}"},
    };
    struct http_header headers[MCP_MAX_HEADERS + 1] = {{NULL, NULL}};
    const struct mcp_options options = {.headers = headers};
    struct client client;

    (void)state;
    for (size_t i = 0; i < MCP_MAX_HEADERS; i++)
        headers[i] = (struct http_header){"X-Some", "1"};
    connect_with(&client, replies, ARRAY_SIZE(replies), &options);
    assert_int_equal(open_server(&client.options, &client.mcp, &client.err), 0);
    for (size_t i = 0; i < 3; i++) {
        json_auto_t *request = new_request(7);
        json_auto_t *answer = NULL;

        assert_int_equal(mcp_ask(client.mcp, request, &answer, &client.err), 0);
        assert_int_equal(has_line(test_server_request(client.server, i), "\r\nMcp-Session-Id: one"),
                         i > 0);
        assert_true(has_line(test_server_request(client.server, i), "\r\nX-Some: 1"));
    }
    disconnect(&client);
}

/* Messages go where the server said; the path of its own address does not matter. */
static void stream_is_asked_for_and_messages_are_posted(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = HEAD("200 OK", EVENTS) "data: {}\n\nevent: endpoint\ndata: /m?id=1\n\n",
         .ending = TEST_HOLD},
        {.bytes = ACCEPTED},
    };
    const struct mcp_options options = {.uses_sse = true};
    json_auto_t *message = new_request(1);
    struct client client;
    const char *asked = NULL;
    const char *told = NULL;

    (void)state;
    connect_with(&client, replies, ARRAY_SIZE(replies), &options);
    assert_int_equal(open_server(&client.options, &client.mcp, &client.err), 0);
    assert_int_equal(mcp_tell(client.mcp, message, &client.err), 0);
    asked = test_server_request(client.server, 0);
    told = test_server_request(client.server, 1);
    assert_int_equal(strncmp(asked, "GET /mcp?a=b HTTP/1.1\r\n", 23), 0);
    assert_true(has_line(asked, "\r\nAccept: text/event-stream"));
    assert_int_equal(strncmp(told, "POST /m?id=1 HTTP/1.1\r\n", 23), 0);
    assert_true(has_line(told, "\r\nAccept: application/json, text/event-stream"));
    disconnect(&client);
}

static void refused_message_is_not_waited_for(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = HEAD("200 OK", EVENTS) "event: endpoint\ndata: /m\n\n", .ending = TEST_HOLD},
        {.bytes = HEAD("403 No", JSON), .ending = TEST_CLOSE},
    };
    const struct mcp_options options = {.uses_sse = true};
    json_auto_t *request = new_request(7);
    json_auto_t *answer = NULL;
    struct client client;

    (void)state;
    connect_with(&client, replies, ARRAY_SIZE(replies), &options);
    assert_int_equal(open_server(&client.options, &client.mcp, &client.err), 0);
    assert_int_equal(mcp_ask(client.mcp, request, &answer, &client.err), -1);
    assert_string_equal(client.err.message, "The server refused the request with HTTP status 403");
    disconnect(&client);
}

/* The time is for all calls together. */
static void silent_server_takes_too_long(void **state)
{
    static const struct test_reply silent = {.bytes = "", .ending = TEST_HOLD};
    const struct mcp_options options = {.timeout_ms = 100};
    struct client client;

    (void)state;
    connect_with(&client, &silent, 1, &options);
    assert_int_equal(open_server(&client.options, &client.mcp, &client.err), 0);
    for (int i = 0; i < 2; i++) {
        json_auto_t *request = new_request(7);
        json_auto_t *answer = NULL;

        assert_int_equal(mcp_ask(client.mcp, request, &answer, &client.err), -1);
        assert_int_equal(client.err.code, ERROR_TIMEOUT);
    }
    assert_string_equal(client.err.message, "The server took too long");
    assert_true(test_server_n_requests(client.server) <= 1);
    disconnect(&client);
}

/* A reply of exactly so many bytes. */
static enum error_code ask_for_long_reply(size_t n_bytes)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct mcp_options options = {.uses_sse = false};
    struct test_reply reply = {.ending = TEST_CLOSE};
    json_auto_t *request = new_request(7);
    json_auto_t *answer = NULL;
    struct client client;
    size_t head = 0;
    int rc = 0;

    strbuf_append(&text, HEAD("200 OK", JSON));
    head = text.len;
    strbuf_append(&text, RIGHT);
    while (text.len < head + n_bytes)
        strbuf_append_char(&text, ' ');
    reply.bytes = text.text;
    connect_with(&client, &reply, 1, &options);
    assert_int_equal(open_server(&client.options, &client.mcp, &client.err), 0);
    rc = mcp_ask(client.mcp, request, &answer, &client.err);
    assert_int_equal(rc, client.err.code == ERROR_NONE ? 0 : -1);
    disconnect(&client);
    return client.err.code;
}

static void longest_reply_has_four_mebibytes(void **state)
{
    (void)state;
    assert_int_equal(ask_for_long_reply(MAX_REPLY_BYTES), ERROR_NONE);
    assert_int_equal(ask_for_long_reply(MAX_REPLY_BYTES + 1), ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoint_of_another_origin_is_refused),
        cmocka_unit_test(reply_is_the_one_with_the_requests_id),
        cmocka_unit_test(session_is_kept),
        cmocka_unit_test(answer_is_the_reply_or_says_why_not),
        cmocka_unit_test(stream_without_an_endpoint_is_refused),
        cmocka_unit_test(messages_carry_the_callers_headers),
        cmocka_unit_test(session_stays_the_first_one),
        cmocka_unit_test(stream_is_asked_for_and_messages_are_posted),
        cmocka_unit_test(refused_message_is_not_waited_for),
        cmocka_unit_test(silent_server_takes_too_long),
        cmocka_unit_test(longest_reply_has_four_mebibytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * deft-gateway as a process: what the head of a request asks for, messages and commands of
 * clients, and the ends of sockets that time brings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/wrong_keys.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "client/test_server.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"
#include "unit/gateway/process/gateway_fixture.h"
#include "unit/gateway/process/websocket.h"

enum { HEAD_MAX_BYTES = 8192, LARGE_BYTES = 1 << 20, N_LARGE = 16 };

#define WRONG_AUTH "{\"type\":\"auth\",\"session_api_key\":\"wrong\"}"

/* Takes frames until one contains that text. */
static void receive_until(struct ws *ws, const char *part, struct strbuf *text)
{
    do {
        if (ws_receive(ws, text) != WS_TEXT)
            fail_msg("no %s, but %s", part, text->len > 2 ? text->text + 2 : "the end");
    } while (strstr(text->text, part) == NULL);
}

/* Closes it, and waits until the gateway has done so, too: the sockets of a conversation count. */
static void leave(struct ws *ws)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    ws_send(ws, WS_CLOSE, "\x03\xe8", 2);
    while (ws_receive(ws, &text) >= 0)
        ;
}

/* Fails unless the gateway answers a ping next. */
static void assert_answers(struct ws *ws)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    ws_send(ws, WS_PING, "", 0);
    assert_int_equal(ws_receive(ws, &text), WS_PONG);
}

/* --- heads --- */

struct query_row {
    bool is_session;
    const char *query;
    const char *first; /* event that is sent; NULL: none before the next one */
};

static void query_says_where_to_begin(void **state)
{
    static const struct query_row rows[] = {
        {false, "", NULL},
        {false, "?resend_all=true", "one"},
        {false, "?resend_all=false", NULL},
        {false, "?resend_mode=all", "one"},
        {false, "?resend_mode=since&after_timestamp=2026-01-01T00:00:02", "two"},
        {false, "?after_timestamp=2026-01-01T00:00:02Z&resend_mode=since", "two"},
        {false, "?after_timestamp=2026-01-01T00:00:02", NULL},
        {true, "?after_seq=-1", "one"},
        {true, "?after_seq=0", "two"},
        {true, "", NULL},
    };
    struct gateway_fixture *fixture = *state;

    add_event(fixture, 1, "one");
    add_event(fixture, 2, "two");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(ws_done) struct ws ws = WS_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        char path[200] = "";
        char next[16] = "";

        (void)snprintf(path, sizeof(path), "%s%s",
                       rows[i].is_session ? fixture->session : fixture->events, rows[i].query);
        (void)snprintf(next, sizeof(next), "next-%zu", i);
        attach(fixture, &ws, path, &text);
        add_event(fixture, (int)i + 3, next);
        receive_until(&ws, "\"text\":\"", &text);
        if (strstr(text.text, rows[i].first != NULL ? rows[i].first : next) == NULL)
            fail_msg("%s: %s", rows[i].query, text.text);
        leave(&ws);
    }
}

static void wrong_queries_are_refused(void **state)
{
    static const char *const queries[] = {"?resend_mode=some", "?after_timestamp=never",
                                          "?after_seq=-2", "?after_seq=x"};
    struct gateway_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        CLEANUP(ws_done) struct ws ws = WS_INIT;
        char path[200] = "";

        (void)snprintf(path, sizeof(path), "%s%s", fixture->session, queries[i]);
        assert_int_equal(ws_open(&ws, fixture->socket, path, fixture->credential), 403);
    }
}

static void length_of_heads_is_limited(void **state)
{
    struct gateway_fixture *fixture = *state;

    for (int i = 0; i < 2; i++) {
        CLEANUP(ws_done) struct ws ws = WS_INIT;
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        int status = 0;

        strbuf_appendf(&path, "%s?pad=", fixture->events);
        while (path.len < (i == 0 ? HEAD_MAX_BYTES - 1024 : HEAD_MAX_BYTES + 1))
            strbuf_append_char(&path, 'x');
        status = ws_open(&ws, fixture->socket, path.text, fixture->credential);
        if (i == 0)
            assert_int_equal(status, 101);
        else
            assert_int_not_equal(status, 101);
    }
}

/* Sends a wrong key from that address; returns the code that closes the socket. */
static int close_code_of_wrong_key(const struct gateway_fixture *fixture, const char *address)
{
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    char line[64] = "";

    (void)snprintf(line, sizeof(line), "X-Real-IP: %s\r\n", address);
    assert_int_equal(ws_open(&ws, fixture->socket, fixture->events, line), 101);
    ws_send_text(&ws, WRONG_AUTH);
    assert_int_equal(ws_receive(&ws, &text), WS_CLOSE);
    return (unsigned char)text.text[0] << 8 | (unsigned char)text.text[1];
}

/* Old ones are forgotten meanwhile, so a slow machine needs some more. */
static void wrong_keys_of_a_client_are_counted(void **state)
{
    struct gateway_fixture *fixture = *state;
    int code = 4001;
    int n = 0;

    for (; code == 4001 && n < 10 * WRONG_KEYS_PER_MINUTE; n++)
        code = close_code_of_wrong_key(fixture, "192.0.2.7");
    assert_int_equal(code, 1013);
    assert_true(n > WRONG_KEYS_PER_MINUTE);
    assert_int_equal(close_code_of_wrong_key(fixture, "192.0.2.8"), 4001);
}

/* --- messages and commands --- */

static void messages_are_stored_and_sent(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &ws, fixture->events, &text);
    ws_send_text(&ws, "{\"role\":\"user\",\"content\":\"Hello\"}");
    receive_until(&ws, "\"MessageEvent\"", &text);
    assert_json_at(text.text, "llm_message.content[0].text", "\"Hello\"");
    ws_send_text(&ws, "{\"role\":\"assistant\",\"content\":\"Hello\"}");
    receive_until(&ws, "\"ServerErrorEvent\"", &text);
    assert_json_at(text.text, "code", "\"ValidationError\"");
}

static void message_may_come_in_fragments(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &ws, fixture->events, &text);
    ws_send_part(&ws, WS_TEXT, "{\"role\":\"user\",");
    ws_send_part(&ws, WS_CONTINUATION, "\"content\":");
    assert_answers(&ws); /* control frames may come in between */
    ws_send(&ws, WS_CONTINUATION, "\"Hello\"}", strlen("\"Hello\"}"));
    do {
        assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
        assert_null(strstr(text.text, "\"ServerErrorEvent\""));
    } while (strstr(text.text, "\"MessageEvent\"") == NULL);
    assert_json_at(text.text, "llm_message.content[0].text", "\"Hello\"");
}

/* The Runtime API, which has no sandbox and starts none. */
static int set_up_with_runtime_api(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"},
        {.bytes = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 23\r\n\r\n"
                  "{\"detail\":\"no room now\"}"},
    };
    struct test_server *server = test_server_start(replies, 2, NULL);
    int rc = 0;

    assert_int_equal(setenv("DEFT_RUNTIME_URL", test_server_url(server, ""), 1), 0);
    assert_int_equal(setenv("DEFT_RUNTIME_API_KEY", "the-key-of-the-api", 1), 0);
    rc = gateway_set_up(state);
    ((struct gateway_fixture *)*state)->runtime_api = server;
    return rc;
}

static int tear_down_with_runtime_api(void **state)
{
    struct test_server *server = ((struct gateway_fixture *)*state)->runtime_api;
    int rc = gateway_tear_down(state);

    test_server_stop(server);
    return rc;
}

static void command_asks_for_a_sandbox(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t i = 1;

    assert_int_equal(ws_open(&ws, fixture->socket, "/sockets/bash-events", fixture->credential),
                     101);
    assert_true(test_server_wait(fixture->runtime_api, 1));
    ws_send_text(&ws, "{\"command\":\"ls\"}");
    assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
    assert_json_at(text.text, "kind", "\"BashError\"");
    assert_json_at(text.text, "code", "\"ServerError\"");
    assert_non_null(strstr(test_server_request(fixture->runtime_api, 0), "GET /sessions/u-"));
    assert_non_null(strstr(test_server_request(fixture->runtime_api, 0), "the-key-of-the-api"));
    while (strncmp(test_server_request(fixture->runtime_api, i), "GET", 3) == 0)
        i++; /* further look-ups, on a slow machine */
    assert_non_null(strstr(test_server_request(fixture->runtime_api, i), "POST /start "));
    assert_non_null(strstr(test_server_request(fixture->runtime_api, i), "deft-sandbox:1"));
}

/* --- ends --- */

/* A socket of a session that is valid for so long; returns the kind of its first frame. */
static int open_session(const struct gateway_fixture *fixture, int valid_s, struct ws *ws)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    char credential[160] = "";

    strbuf_appendf(&sql,
                   "DELETE FROM sessions WHERE token_hash = '%s';"
                   "INSERT INTO sessions (user_id, token_hash, expires_at)"
                   " VALUES ('%s', '%s', now() + interval '%d seconds')",
                   fixture->hash, fixture->user_id.text, fixture->hash, valid_s);
    test_sql(sql.text);
    (void)snprintf(credential, sizeof(credential), "X-Deft-Credential: session %s\r\n",
                   fixture->hash);
    assert_int_equal(ws_open(ws, fixture->socket, fixture->events, credential), 101);
    return ws_receive(ws, &text);
}

/* A slow machine needs one that is valid for longer. */
static void session_that_expires_closes_its_sockets(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(ws_done) struct ws late = WS_INIT;
    int valid_s = 1;

    while (open_session(fixture, valid_s, &ws) != WS_TEXT) {
        ws_done(&ws);
        valid_s *= 3;
        assert_true(valid_s < 60);
    }
    assert_closed(&ws, 4001, "Authentication failed");
    assert_int_equal(open_session(fixture, 0, &late), WS_CLOSE);
}

static int set_up_with_little_time(void **state)
{
    return gateway_set_up_with(state, "500");
}

/* A slow machine needs several attempts to come in time. */
static void client_that_came_in_time_stays(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws known = WS_INIT;
    CLEANUP(ws_done) struct ws silent = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    int opcode = WS_CLOSE;

    for (int i = 0; i < 20 && opcode != WS_TEXT; i++) {
        ws_done(&known);
        assert_int_equal(ws_open(&known, fixture->socket, fixture->events, ""), 101);
        ws_send_text(&known, AUTH_OF_KEY);
        opcode = ws_receive(&known, &text);
    }
    assert_int_equal(opcode, WS_TEXT);
    /* Its own time is over before that of one that came later. */
    assert_int_equal(ws_open(&silent, fixture->socket, fixture->events, ""), 101);
    assert_closed(&silent, 4001, "Authentication failed");
    assert_answers(&known);
}

static void client_may_leave_while_it_is_looked_up(void **state)
{
    struct gateway_fixture *fixture = *state;
    struct test_tx *tx = test_tx_begin();
    CLEANUP(ws_done) struct ws gone = WS_INIT;
    CLEANUP(ws_done) struct ws other = WS_INIT;
    CLEANUP(ws_done) struct ws one = WS_INIT;
    CLEANUP(ws_done) struct ws two = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    test_tx_sql(tx, "LOCK TABLE api_keys");
    assert_int_equal(ws_open(&other, fixture->socket, fixture->events, ""), 101);
    assert_int_equal(ws_open(&gone, fixture->socket, fixture->events, fixture->credential), 101);
    test_wait_blocked();
    ws_done(&gone);
    assert_answers(&other);
    assert_answers(&other); /* the end of a socket was seen before the second ping, at the latest */
    test_tx_commit(tx);
    /* The conversation has room for two: none of them is the one that left. */
    attach(fixture, &one, fixture->events, &text);
    attach(fixture, &two, fixture->events, &text);
}

static int set_up_with_little_patience(void **state)
{
    assert_int_equal(setenv("DEFT_GATEWAY_SLOW_MS", "2000", 1), 0);
    return gateway_set_up(state);
}

/* To another conversation of that user. */
static struct uuid attach_elsewhere(struct gateway_fixture *fixture, struct ws *ws)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct uuid id = uuid_random();
    char path[96] = "";

    strbuf_appendf(&sql,
                   "INSERT INTO conversations (id, user_id, runtime_kind, runtime_session, spec)"
                   " VALUES ('%s', '%s', 'local', 's-2', '{}')",
                   id.text, fixture->user_id.text);
    test_sql(sql.text);
    (void)snprintf(path, sizeof(path), "/sockets/events/%s", id.text);
    attach(fixture, ws, path, &text);
    return id;
}

static void client_that_does_not_read_is_closed(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(ws_done) struct ws idle = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct uuid id = UUID_INIT;
    size_t n_read = 0;

    attach(fixture, &idle, fixture->events, &text);
    id = attach_elsewhere(fixture, &ws);
    strbuf_appendf(&sql,
                   "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
                   " SELECT '%s', n, gen_random_uuid(), 'MessageEvent', 'user',"
                   " '2026-01-01T00:00:00.000000', '{\"text\":\"' || repeat('x', %d) || '\"}'"
                   " FROM generate_series(1, %d) n;"
                   "SELECT pg_notify('deft_events', '%s')",
                   id.text, LARGE_BYTES, N_LARGE, id.text);
    test_sql(sql.text);
    assert_true(program_await(&fixture->program, "socket.slow"));
    while (ws_receive(&ws, &text) == WS_TEXT)
        n_read++;
    assert_true(n_read < N_LARGE);
    assert_int_equal((unsigned char)text.text[0] << 8 | (unsigned char)text.text[1], 1013);
    assert_string_equal(text.text + 2, "slow_consumer");
    add_event(fixture, 1, "one"); /* one that is only idle goes on */
    receive_until(&idle, "\"one\"", &text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, gateway_set_up, gateway_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(query_says_where_to_begin),
        TEST(wrong_queries_are_refused),
        TEST(length_of_heads_is_limited),
        TEST(wrong_keys_of_a_client_are_counted),
        TEST(messages_are_stored_and_sent),
        TEST(message_may_come_in_fragments),
        TEST(session_that_expires_closes_its_sockets),
        cmocka_unit_test_setup_teardown(client_that_came_in_time_stays, set_up_with_little_time,
                                        gateway_tear_down),
        TEST(client_may_leave_while_it_is_looked_up),
        cmocka_unit_test_setup_teardown(command_asks_for_a_sandbox, set_up_with_runtime_api,
                                        tear_down_with_runtime_api),
        cmocka_unit_test_setup_teardown(client_that_does_not_read_is_closed,
                                        set_up_with_little_patience, gateway_tear_down),
    };

    (void)argc;
    test_need_postgres(argv);
    /* A confined gateway cannot be searched for leaks. */
    assert_int_equal(setenv("ASAN_OPTIONS", "detect_leaks=0", 1), 0);
    return cmocka_run_group_tests_name("gateway/sockets", tests, NULL, NULL);
}

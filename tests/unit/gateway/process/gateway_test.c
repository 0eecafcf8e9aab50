/*
 * deft-gateway as a process, with a database: who may attach, what is sent, and how sockets end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"
#include "unit/gateway/process/gateway_fixture.h"
#include "unit/gateway/process/websocket.h"

enum { MESSAGE_MAX_BYTES = 1 << 20, AUTH_FRAME_MAX_BYTES = 8192 };

/* --- upgrades --- */

/* Once another client has had an answer, the end of the refused connection is there. */
static void assert_ended(const struct gateway_fixture *fixture, const struct ws *refused)
{
    CLEANUP(ws_done) struct ws other = WS_INIT;
    char byte = 0;

    assert_int_equal(ws_open(&other, fixture->socket, fixture->events, ""), 101);
    assert_int_equal(recv(refused->fd, &byte, 1, MSG_DONTWAIT), 0);
}

static void requests_that_are_no_sockets_are_refused(void **state)
{
    static const char *const paths[] = {"/", "/sockets/events/none", "/sockets/events/",
                                        "/sockets/bash-events/x", "/other"};
    static const char *const heads[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /sockets/bash-events HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n",
    };
    struct gateway_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        CLEANUP(ws_done) struct ws ws = WS_INIT;

        assert_int_equal(ws_open(&ws, fixture->socket, paths[i], ""), 403);
        assert_ended(fixture, &ws);
    }
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        CLEANUP(ws_done) struct ws ws = WS_INIT;

        assert_int_equal(ws_open_plain(&ws, fixture->socket, heads[i]), 403);
        assert_ended(fixture, &ws);
    }
    {
        CLEANUP(ws_done) struct ws ws = WS_INIT;

        assert_int_equal(
            ws_open(&ws, fixture->socket, fixture->events, "X-Deft-Credential: nonsense\r\n"), 403);
    }
}

/* --- attaching --- */

static void first_frame_is_the_state(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(ws_done) struct ws session = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &ws, fixture->events, &text);
    assert_json_at(text.text, "kind", "\"ConversationStateUpdateEvent\"");
    assert_json_at(text.text, "key", "\"full_state\"");
    attach(fixture, &session, fixture->session, &text);
    assert_json_at(text.text, "type", "\"sync\"");
}

static void key_may_come_in_the_first_frame(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    assert_int_equal(ws_open(&ws, fixture->socket, fixture->events, ""), 101);
    ws_send_text(&ws, AUTH_OF_KEY);
    assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
    assert_json_at(text.text, "key", "\"full_state\"");
    ws_send_text(&ws, AUTH_OF_KEY); /* once more changes nothing */
    ws_send(&ws, WS_PING, "p", 1);
    assert_int_equal(ws_receive(&ws, &text), WS_PONG);
    assert_string_equal(text.text, "p");
}

static void wrong_first_frames_close_the_socket(void **state)
{
    static const char *const frames[] = {
        "{\"type\":\"auth\",\"session_api_key\":\"wrong\"}",  "{\"type\":\"auth\"}",
        "{\"type\":\"auth\",\"session_api_key\":\"\"}",       "no JSON",
        ("{\"type\":\"x\",\"session_api_key\":\"" KEY "\"}"),
    };
    struct gateway_fixture *fixture = *state;
    char large[AUTH_FRAME_MAX_BYTES + 2];

    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        CLEANUP(ws_done) struct ws ws = WS_INIT;

        assert_int_equal(ws_open(&ws, fixture->socket, fixture->events, ""), 101);
        ws_send_text(&ws, frames[i]);
        assert_closed(&ws, 4001, "Authentication failed");
    }
    memset(large, ' ', sizeof(large));
    for (size_t more = 0; more < 2; more++) {
        CLEANUP(ws_done) struct ws ws = WS_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): its length is told */
        memcpy(large + AUTH_FRAME_MAX_BYTES - strlen(AUTH_OF_KEY), AUTH_OF_KEY,
               strlen(AUTH_OF_KEY));
        assert_int_equal(ws_open(&ws, fixture->socket, fixture->events, ""), 101);
        ws_send(&ws, WS_TEXT, large, AUTH_FRAME_MAX_BYTES + more);
        if (more > 0)
            assert_closed(&ws, 4001, "Authentication failed");
        else
            assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
    }
}

static void unknown_credential_closes_the_socket(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;

    fixture->credential[strlen(fixture->credential) - 3] ^= 1;
    if (strchr("0123456789abcdef", fixture->credential[strlen(fixture->credential) - 3]) == NULL)
        fixture->credential[strlen(fixture->credential) - 3] = '0';
    assert_int_equal(ws_open(&ws, fixture->socket, fixture->events, fixture->credential), 101);
    assert_closed(&ws, 4001, "Authentication failed");
}

static void conversation_must_be_the_callers(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct uuid other = test_user(fixture->db);
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(ws_done) struct ws none = WS_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET user_id = '%s' WHERE id = '%s'", other.text,
                   fixture->conversation_id.text);
    test_sql(sql.text);
    assert_int_equal(ws_open(&ws, fixture->socket, fixture->events, fixture->credential), 101);
    assert_closed(&ws, 4004, "Conversation not found");
    assert_int_equal(ws_open(&none, fixture->socket,
                             "/sockets/session/00000000-0000-4000-8000-000000000000",
                             fixture->credential),
                     101);
    assert_closed(&none, 4004, "Conversation not found");
}

static void sockets_of_a_conversation_are_limited(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws one = WS_INIT;
    CLEANUP(ws_done) struct ws two = WS_INIT;
    CLEANUP(ws_done) struct ws three = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &one, fixture->events, &text);
    attach(fixture, &two, fixture->session, &text);
    assert_int_equal(ws_open(&three, fixture->socket, fixture->events, fixture->credential), 101);
    assert_closed(&three, 1013, "Too many connections for this conversation");
}

static int set_up_impatient(void **state)
{
    return gateway_set_up_with(state, "50");
}

static void silent_client_is_closed(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws silent = WS_INIT;
    CLEANUP(ws_done) struct ws known = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &known, fixture->events, &text);
    assert_int_equal(ws_open(&silent, fixture->socket, fixture->events, ""), 101);
    assert_closed(&silent, 4001, "Authentication failed");
    ws_send(&known, WS_PING, "", 0);
    assert_int_equal(ws_receive(&known, &text), WS_PONG);
}

/* --- frames --- */

static void stored_events_are_sent(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(ws_done) struct ws session = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &ws, fixture->events, &text);
    attach(fixture, &session, fixture->session, &text);
    add_event(fixture, 1, "one");
    add_event(fixture, 2, "two");
    assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
    assert_json_at(text.text, "text", "\"one\"");
    assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
    assert_json_at(text.text, "text", "\"two\"");
    do {
        assert_int_equal(ws_receive(&session, &text), WS_TEXT);
    } while (strstr(text.text, "\"one\"") == NULL);
    assert_json_at(text.text, "seq", "0");
    assert_json_at(text.text, "event.text", "\"one\"");
}

static void earlier_events_are_sent_on_request(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    char path[160] = "";

    add_event(fixture, 1, "one");
    add_event(fixture, 2, "two");
    (void)snprintf(path, sizeof(path), "%s?resend_mode=all", fixture->events);
    assert_int_equal(ws_open(&ws, fixture->socket, path, fixture->credential), 101);
    do {
        assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
    } while (strstr(text.text, "\"two\"") == NULL);
}

static void bad_frames_are_answered(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(ws_done) struct ws session = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &ws, fixture->events, &text);
    ws_send_text(&ws, "no JSON");
    assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
    assert_json_at(text.text, "kind", "\"ServerErrorEvent\"");
    assert_json_at(text.text, "code", "\"JSONDecodeError\"");
    assert_json_at(text.text, "source", "\"environment\"");
    attach(fixture, &session, fixture->session, &text);
    ws_send_text(&session, "no JSON");
    do {
        assert_int_equal(ws_receive(&session, &text), WS_TEXT);
    } while (strstr(text.text, "\"error\"") == NULL);
    assert_json_at(text.text, "type", "\"error\"");
    assert_json_at(text.text, "code", "\"JSONDecodeError\"");
}

static void frames_must_be_masked(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &ws, fixture->events, &text);
    ws_send_unmasked(&ws, "{}");
    assert_closed(&ws, 1002, "Client frames must be masked");
}

static void message_must_not_be_too_large(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *large = mem_alloc(MESSAGE_MAX_BYTES + 1);

    memset(large, ' ', MESSAGE_MAX_BYTES + 1);
    attach(fixture, &ws, fixture->events, &text);
    ws_send(&ws, WS_TEXT, large, MESSAGE_MAX_BYTES);
    assert_int_equal(ws_receive(&ws, &text), WS_TEXT);
    assert_json_at(text.text, "code", "\"JSONDecodeError\"");
    ws_send(&ws, WS_TEXT, large, MESSAGE_MAX_BYTES + 1);
    assert_closed(&ws, 1009, "Message too large");
}

/* --- the end --- */

static void revoked_key_closes_its_sockets(void **state)
{
    struct gateway_fixture *fixture = *state;
    CLEANUP(ws_done) struct ws ws = WS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    attach(fixture, &ws, fixture->events, &text);
    test_sql("SELECT pg_notify('deft_callers', id::text) FROM api_keys"); /* it is still valid */
    ws_send(&ws, WS_PING, "", 0);
    assert_int_equal(ws_receive(&ws, &text), WS_PONG);
    test_sql("UPDATE api_keys SET revoked_at = now();"
             "SELECT pg_notify('deft_callers', id::text) FROM api_keys");
    assert_closed(&ws, 4001, "Authentication failed");
}

static void process_says_what_it_is(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    char path[] = DEFT_GATEWAY;
    char help[] = "--help-config";
    char odd[] = "--odd";

    (void)state;
    assert_int_equal(program_run((char *[]){path, help, NULL}, &out, &err), 0);
    assert_non_null(strstr(out.text, "DEFT_GATEWAY_SOCKET"));
    assert_non_null(strstr(out.text, "DEFT_GATEWAY_SLOW_MS"));
    assert_int_not_equal(program_run((char *[]){path, odd, NULL}, &out, &err), 0);
}

/* Runs it with one wrong setting; fails unless it ends and says so. */
static void assert_refuses(const char *name, const char *value, const char *said)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    char path[] = DEFT_GATEWAY;

    assert_int_equal(setenv(name, value, 1), 0);
    assert_int_equal(program_run((char *[]){path, NULL}, &out, &out), EXIT_FAILURE);
    if (strstr(out.text, said) == NULL)
        fail_msg("%s", out.text);
}

static void wrong_settings_are_said(void **state)
{
    (void)state;
    assert_int_equal(setenv("DEFT_DATABASE_URL", test_database_url(), 1), 0);
    assert_int_equal(setenv("DEFT_GATEWAY_SOCKET", "/tmp/deft-gw-test.none", 1), 0);
    assert_int_equal(setenv("DEFT_HASH_KEY", "odd", 1), 0);
    assert_refuses("DEFT_CATALOGUE_DIR", "/nonexistent/catalogue", "/nonexistent/catalogue");
    assert_refuses("DEFT_CATALOGUE_DIR", DEFT_TOP_SRCDIR "/catalogue",
                   "\"error\":\"DEFT_HASH_KEY: ");
    assert_refuses("DEFT_HASH_KEY", "", "neither DEFT_HASH_KEY nor DEFT_SECRET_KEY is valid");
    assert_int_equal(setenv("DEFT_SECRET_KEY", HASH_KEY, 1), 0);
    assert_refuses("DEFT_GATEWAY_SOCKET", "/nonexistent/socket", "/nonexistent");
    assert_int_equal(unsetenv("DEFT_SECRET_KEY"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, gateway_set_up, gateway_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_says_what_it_is),
        cmocka_unit_test(wrong_settings_are_said),
        TEST(requests_that_are_no_sockets_are_refused),
        TEST(first_frame_is_the_state),
        TEST(key_may_come_in_the_first_frame),
        TEST(wrong_first_frames_close_the_socket),
        TEST(unknown_credential_closes_the_socket),
        TEST(conversation_must_be_the_callers),
        TEST(sockets_of_a_conversation_are_limited),
        cmocka_unit_test_setup_teardown(silent_client_is_closed, set_up_impatient,
                                        gateway_tear_down),
        TEST(stored_events_are_sent),
        TEST(earlier_events_are_sent_on_request),
        TEST(bad_frames_are_answered),
        TEST(frames_must_be_masked),
        TEST(message_must_not_be_too_large),
        TEST(revoked_key_closes_its_sockets),
    };

    (void)argc;
    test_need_postgres(argv);
    /* A confined gateway cannot be searched for leaks. */
    assert_int_equal(setenv("ASAN_OPTIONS", "detect_leaks=0", 1), 0);
    return cmocka_run_group_tests_name("gateway/process", tests, NULL, NULL);
}

/*
 * How much of a client's input is kept, and what becomes of its frames. The socket's other parts
 * are played here.
 */
#include "gateway/ws/receive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/bash/bash_reader.h"
#include "gateway/core/error_frame.h"
#include "gateway/ws/attach.h"
#include "gateway/ws/client_messages.h"
#include "gateway/ws/subscriber.h"
#include "gateway/ws/ws_services.h"

enum { CHUNK_BYTES = 4096, AUTH_MAX_BYTES = 8192, MESSAGE_MAX_BYTES = 1 << 20 };

#define AUTH_FRAME "{\"type\":\"auth\",\"session_api_key\":\"sk-deft-1\"}"

/* What the other parts were given. */
struct played {
    size_t n_keys;
    size_t n_made; /* client_messages */
    size_t n_messages;
    size_t n_commands;
    size_t n_errors;
    char code[32];
    json_int_t number; /* of the last message or command */
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
static struct played played;

void attach_key(struct subscriber *subscriber, const char *key)
{
    (void)subscriber;
    assert_string_equal(key, "sk-deft-1");
    played.n_keys++;
}

void connection_close(struct connection *connection, enum connection_end end)
{
    connection->end = end;
}

void error_frame_send(struct connection *connection, const char *code, const char *detail)
{
    assert_non_null(connection);
    assert_true(detail[0] != '\0');
    played.n_errors++;
    (void)snprintf(played.code, sizeof(played.code), "%s", code);
}

struct client_messages *client_messages_new(const struct ws_services *services,
                                            struct connection *connection,
                                            const struct principal *principal,
                                            const struct uuid *conversation_id)
{
    (void)services;
    assert_int_equal(principal->kind, PRINCIPAL_USER_KEY);
    assert_string_equal(conversation_id->text, "c-1");
    played.n_made++;
    return (struct client_messages *)(void *)connection;
}

void client_messages_take(struct client_messages *messages, const json_t *message)
{
    assert_non_null(messages);
    played.n_messages++;
    played.number = json_int_or(message, "number", -1);
}

void bash_reader_take_command(struct bash_reader *reader, const json_t *frame)
{
    assert_non_null(reader);
    played.n_commands++;
    played.number = json_int_or(frame, "number", -1);
}

static struct subscriber subscriber_of(enum principal_kind kind)
{
    static const struct ws_services services = {.feed = NULL};

    played = (struct played){0};
    return (struct subscriber){.services = &services,
                               .principal = {.kind = kind},
                               .request = {.conversation_id = {"c-1"}},
                               .incoming = STRBUF_INIT};
}

static void send_blanks(struct subscriber *subscriber, size_t n_bytes)
{
    char blanks[CHUNK_BYTES];

    memset(blanks, ' ', sizeof(blanks));
    for (size_t n = 0; n < n_bytes; n += sizeof(blanks))
        receive_bytes(subscriber, blanks, sizeof(blanks));
}

static void an_unknown_client_may_send_no_more_than_a_key(void **state)
{
    struct subscriber subscriber = subscriber_of(PRINCIPAL_NOBODY);

    (void)state;
    send_blanks(&subscriber, AUTH_MAX_BYTES);
    assert_int_equal(subscriber.connection.end, CONNECTION_OPEN);
    receive_bytes(&subscriber, AUTH_FRAME, strlen(AUTH_FRAME));
    assert_int_equal(subscriber.connection.end, CONNECTION_UNAUTHENTICATED);
    assert_int_equal(subscriber.incoming.len, 0);
    receive_frame(&subscriber);
    assert_int_equal(played.n_keys, 0);
}

static void a_key_of_usual_length_is_looked_up(void **state)
{
    struct subscriber subscriber = subscriber_of(PRINCIPAL_NOBODY);

    (void)state;
    receive_bytes(&subscriber, AUTH_FRAME, strlen(AUTH_FRAME));
    receive_frame(&subscriber);
    assert_int_equal(played.n_keys, 1);
    assert_int_equal(subscriber.connection.end, CONNECTION_OPEN);
    assert_int_equal(subscriber.incoming.len, 0);
}

static void a_message_may_have_a_mebibyte(void **state)
{
    struct subscriber subscriber = subscriber_of(PRINCIPAL_USER_KEY);

    (void)state;
    send_blanks(&subscriber, MESSAGE_MAX_BYTES);
    assert_int_equal(subscriber.connection.end, CONNECTION_OPEN);
    receive_bytes(&subscriber, " ", 1);
    assert_int_equal(subscriber.connection.end, CONNECTION_TOO_LARGE);
    assert_int_equal(subscriber.incoming.len, 0);
    send_blanks(&subscriber, MESSAGE_MAX_BYTES);
    assert_int_equal(subscriber.incoming.len, 0);
}

/* --- frames --- */

static void receive(struct subscriber *subscriber, const char *text)
{
    receive_bytes(subscriber, text, strlen(text));
    receive_frame(subscriber);
    assert_int_equal(subscriber->incoming.len, 0);
}

static void first_frame_must_bring_a_key(void **state)
{
    static const char *const frames[] = {
        "",
        "{",
        "[]",
        "{\"type\":\"auth\"}",
        "{\"type\":\"auth\",\"session_api_key\":\"\"}",
        "{\"type\":\"auth\",\"session_api_key\":7}",
        "{\"type\":\"message\",\"session_api_key\":\"sk-deft-1\"}",
        "{\"session_api_key\":\"sk-deft-1\"}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        struct subscriber subscriber = subscriber_of(PRINCIPAL_NOBODY);

        receive(&subscriber, frames[i]);
        assert_int_equal(subscriber.connection.end, CONNECTION_UNAUTHENTICATED);
        assert_int_equal(played.n_keys, 0);
        assert_int_equal(played.n_errors, 0);
        assert_int_equal(played.n_messages, 0);
    }
}

static void messages_are_taken_one_after_the_other(void **state)
{
    struct subscriber subscriber = subscriber_of(PRINCIPAL_USER_KEY);

    (void)state;
    subscriber.bash = (struct bash_reader *)(void *)&subscriber;
    receive_bytes(&subscriber, "{\"num", 5);
    assert_int_equal(played.n_messages, 0);
    receive(&subscriber, "ber\":1}");
    assert_int_equal(played.n_messages, 1);
    assert_int_equal(played.number, 1);
    receive(&subscriber, AUTH_FRAME); /* changes nothing */
    assert_int_equal(played.n_messages, 1);
    receive(&subscriber, "{\"number\":2}");
    assert_int_equal(played.n_messages, 2);
    assert_int_equal(played.number, 2);
    assert_int_equal(played.n_made, 1);
    assert_int_equal(played.n_keys, 0);
    assert_int_equal(played.n_commands, 0);
    assert_int_equal(played.n_errors, 0);
    assert_int_equal(subscriber.connection.end, CONNECTION_OPEN);
}

static void frame_that_is_no_json_is_answered(void **state)
{
    struct subscriber subscriber = subscriber_of(PRINCIPAL_USER_KEY);

    (void)state;
    receive(&subscriber, "{\"number\":");
    assert_int_equal(played.n_errors, 1);
    assert_string_equal(played.code, "JSONDecodeError");
    assert_int_equal(played.n_messages, 0);
    receive(&subscriber, "{\"number\":3}");
    assert_int_equal(played.number, 3);
    assert_int_equal(played.n_errors, 1);
}

static void frames_of_a_bash_socket_are_commands(void **state)
{
    struct subscriber subscriber = subscriber_of(PRINCIPAL_USER_KEY);

    (void)state;
    subscriber.request.kind = SOCKET_BASH;
    receive(&subscriber, "{\"number\":1}"); /* it has no reader yet, or no more */
    assert_int_equal(played.n_commands, 0);
    subscriber.bash = (struct bash_reader *)(void *)&subscriber;
    receive(&subscriber, "{\"number\":2}");
    assert_int_equal(played.n_commands, 1);
    assert_int_equal(played.number, 2);
    receive(&subscriber, AUTH_FRAME);
    assert_int_equal(played.n_commands, 1);
    assert_int_equal(played.n_messages, 0);
    assert_int_equal(played.n_errors, 0);
}

static void input_of_a_closing_socket_is_discarded(void **state)
{
    struct subscriber subscriber = subscriber_of(PRINCIPAL_USER_KEY);

    (void)state;
    receive_bytes(&subscriber, "{}", 2);
    subscriber.connection.end = CONNECTION_TOO_NOISY;
    receive_frame(&subscriber);
    receive_bytes(&subscriber, "{}", 2);
    assert_int_equal(subscriber.incoming.len, 2);
    assert_int_equal(played.n_messages, 0);
    strbuf_done(&subscriber.incoming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_client_may_send_no_more_than_a_key),
        cmocka_unit_test(a_key_of_usual_length_is_looked_up),
        cmocka_unit_test(a_message_may_have_a_mebibyte),
        cmocka_unit_test(first_frame_must_bring_a_key),
        cmocka_unit_test(messages_are_taken_one_after_the_other),
        cmocka_unit_test(frame_that_is_no_json_is_answered),
        cmocka_unit_test(frames_of_a_bash_socket_are_commands),
        cmocka_unit_test(input_of_a_closing_socket_is_discarded),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/receive", tests, NULL, NULL);
}

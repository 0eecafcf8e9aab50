/*
 * How much of a client's input is kept. The socket's other parts are played here.
 */
#include "gateway/ws/receive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "gateway/bash/bash_reader.h"
#include "gateway/core/error_frame.h"
#include "gateway/ws/attach.h"
#include "gateway/ws/client_messages.h"
#include "gateway/ws/subscriber.h"

enum { CHUNK_BYTES = 4096, AUTH_MAX_BYTES = 8192, MESSAGE_MAX_BYTES = 1 << 20 };

#define AUTH_FRAME "{\"type\":\"auth\",\"session_api_key\":\"sk-deft-1\"}"

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the stub has no owner */
static size_t n_keys;

void attach_key(struct subscriber *subscriber, const char *key)
{
    (void)subscriber;
    assert_string_equal(key, "sk-deft-1");
    n_keys++;
}

void connection_close(struct connection *connection, enum connection_end end)
{
    connection->end = end;
}

void error_frame_send(struct connection *connection, const char *code, const char *detail)
{
    (void)connection;
    (void)code;
    (void)detail;
}

struct client_messages *client_messages_new(const struct ws_services *services,
                                            struct connection *connection,
                                            const struct principal *principal,
                                            const struct uuid *conversation_id)
{
    (void)services;
    (void)connection;
    (void)principal;
    (void)conversation_id;
    return NULL;
}

void client_messages_take(struct client_messages *messages, const json_t *message)
{
    (void)messages;
    (void)message;
}

void bash_reader_take_command(struct bash_reader *reader, const json_t *frame)
{
    (void)reader;
    (void)frame;
}

static struct subscriber subscriber_of(enum principal_kind kind)
{
    n_keys = 0;
    return (struct subscriber){.principal = {.kind = kind}, .incoming = STRBUF_INIT};
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
    assert_int_equal(n_keys, 0);
}

static void a_key_of_usual_length_is_looked_up(void **state)
{
    struct subscriber subscriber = subscriber_of(PRINCIPAL_NOBODY);

    (void)state;
    receive_bytes(&subscriber, AUTH_FRAME, strlen(AUTH_FRAME));
    receive_frame(&subscriber);
    assert_int_equal(n_keys, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_client_may_send_no_more_than_a_key),
        cmocka_unit_test(a_key_of_usual_length_is_looked_up),
        cmocka_unit_test(a_message_may_have_a_mebibyte),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/receive", tests, NULL, NULL);
}

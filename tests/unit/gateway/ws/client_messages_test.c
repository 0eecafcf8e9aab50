/*
 * What becomes of the messages of a socket. Its connection and the store are played here.
 */
#include "gateway/ws/client_messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/principal.h"
#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "gateway/core/connection.h"
#include "gateway/core/error_frame.h"
#include "gateway/ws/ws_services.h"
#include "store/conversation/async_post.h"

enum { WAITING_MAX = 32 };

struct seen {
    struct async_post *posting;
    size_t n_posted;
    size_t n_freed;
    size_t n_errors;
    char code[32]; /* of the last error frame */
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
static struct seen seen;

struct async_post *async_post_new(struct db_async *async, const struct conversation_scope *scope,
                                  const struct uuid *id, json_t *message,
                                  const struct run_limits *limits)
{
    struct async_post *post = NEW(struct async_post);

    (void)async;
    (void)scope;
    (void)id;
    (void)limits;
    post->message = json_incref(message);
    return post;
}

void async_post_start(struct async_post *post)
{
    assert_null(seen.posting);
    seen.posting = post;
    seen.n_posted++;
}

void async_post_free(struct async_post *post)
{
    json_decref(post->message);
    mem_free(post);
    seen.n_freed++;
}

void connection_close(struct connection *connection, enum connection_end end)
{
    connection->end = end;
}

void error_frame_send(struct connection *connection, const char *code, const char *detail)
{
    (void)connection;
    (void)detail;
    seen.n_errors++;
    (void)snprintf(seen.code, sizeof(seen.code), "%s", code);
}

static struct client_messages *start_as(struct connection *connection,
                                        const struct principal *principal)
{
    static const struct ws_services services = {.back = (struct db_async *)&seen};
    const struct uuid id = uuid_random();

    seen = (struct seen){.n_posted = 0};
    *connection = (struct connection){.end = CONNECTION_OPEN};
    return client_messages_new(&services, connection, principal, &id);
}

static struct client_messages *start(struct connection *connection, enum principal_kind kind)
{
    return start_as(connection, &(struct principal){.kind = kind});
}

static void take(struct client_messages *messages, const char *text)
{
    json_auto_t *message = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(json_parse(text, strlen(text), &message, &err), 0);
    client_messages_take(messages, message);
}

/* The store has the message that is under way, or refuses it with that error. */
static void end_post(enum error_code code)
{
    struct async_post *post = TAKE_PTR(seen.posting);
    struct error err = ERROR_INIT;

    assert_non_null(post);
    if (code != ERROR_NONE)
        error_set(&err, code, "refused");
    post->done(post, code != ERROR_NONE ? &err : NULL);
}

static const char *text_under_way(void)
{
    const json_t *content = json_object_get(seen.posting->message, "content");

    return json_text_or(json_array_get(content, 0), "text", "");
}

static void messages_are_stored_one_at_a_time_in_their_order(void **state)
{
    struct connection connection;
    struct client_messages *messages = start(&connection, PRINCIPAL_USER_KEY);

    (void)state;
    take(messages, "{\"role\":\"user\",\"content\":\"first\"}");
    take(messages, "{\"content\":\"second\",\"sender\":\"me\",\"action_ids\":[\"a\"]}");
    assert_int_equal(seen.n_posted, 1);
    assert_string_equal(text_under_way(), "first");
    assert_true(json_is_null(json_object_get(seen.posting->message, "sender")));
    assert_null(json_object_get(seen.posting->message, "action_ids"));
    end_post(ERROR_NONE);
    assert_int_equal(seen.n_posted, 2);
    assert_string_equal(text_under_way(), "second");
    assert_string_equal(json_text_or(seen.posting->message, "sender", ""), "me");
    assert_int_equal(json_array_size(json_object_get(seen.posting->message, "action_ids")), 1);
    end_post(ERROR_NONE);
    assert_int_equal(seen.n_freed, 2);
    assert_int_equal(seen.n_errors, 0);
    client_messages_leave(messages);
}

/* What was taken was sent: the client may close its socket at once. */
static void messages_are_stored_though_the_client_has_gone(void **state)
{
    struct connection connection;
    struct client_messages *messages = start(&connection, PRINCIPAL_SESSION);

    (void)state;
    take(messages, "{\"content\":\"first\"}");
    take(messages, "{\"content\":\"second\"}");
    client_messages_leave(messages);
    end_post(ERROR_NOT_FOUND);
    assert_string_equal(text_under_way(), "second");
    end_post(ERROR_NONE);
    assert_int_equal(seen.n_freed, 2);
    assert_int_equal(seen.n_errors, 0);
}

/* That of a conversation's own sandbox reads it, and no more. */
static void key_of_a_sandbox_sends_if_it_drives_conversations(void **state)
{
    static const bool sends[SANDBOX_N_KINDS] = {
        [SANDBOX_KIND_TENANT] = true, [SANDBOX_KIND_REQUESTED] = true};

    (void)state;
    for (int kind = 0; kind < SANDBOX_N_KINDS; kind++) {
        const struct principal principal = {.kind = PRINCIPAL_SANDBOX_KEY,
                                            .sandbox_kind = (enum sandbox_kind)kind};
        struct connection connection;
        struct client_messages *messages = start_as(&connection, &principal);

        take(messages, "{\"content\":\"first\"}");
        assert_int_equal(seen.n_posted, sends[kind]);
        assert_string_equal(seen.code, sends[kind] ? "" : "Forbidden");
        if (sends[kind])
            end_post(ERROR_NONE);
        client_messages_leave(messages);
    }
}

static void bad_message_is_answered_and_the_next_one_is_stored(void **state)
{
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"role\":\"user\"}",
        "{\"role\":\"assistant\",\"content\":\"x\"}",
        "{\"content\":7}",
        "{\"content\":\"x\",\"sender\":7}",
        "{\"content\":\"x\",\"action_ids\":\"a\"}",
        "{\"content\":\"x\",\"action_ids\":[7]}",
    };
    struct connection connection;
    struct client_messages *messages = start(&connection, PRINCIPAL_USER_KEY);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        take(messages, texts[i]);
        if (seen.n_errors != i + 1)
            fail_msg("%s is taken", texts[i]);
        assert_string_equal(seen.code, "ValidationError");
    }
    assert_int_equal(seen.n_posted, 0);
    take(messages, "{\"content\":\"x\"}");
    assert_int_equal(seen.n_posted, 1);
    end_post(ERROR_NONE);
    client_messages_leave(messages);
}

static void failure_of_the_store_is_told_by_its_class(void **state)
{
    static const struct {
        enum error_code code;
        const char *told;
    } cases[] = {
        {ERROR_INVALID, "ValidationError"},    {ERROR_CONFLICT, "ConflictError"},
        {ERROR_RATE_LIMITED, "RunLimitError"}, {ERROR_UNAVAILABLE, "ServerError"},
        {ERROR_TOO_LARGE, "ServerError"},
    };
    struct connection connection;
    struct client_messages *messages = start(&connection, PRINCIPAL_USER_KEY);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        take(messages, "{\"content\":\"x\"}");
        end_post(cases[i].code);
        assert_int_equal(seen.n_errors, i + 1);
        assert_string_equal(seen.code, cases[i].told);
    }
    client_messages_leave(messages);
}

static void client_with_too_many_messages_is_disconnected(void **state)
{
    struct connection connection;
    struct client_messages *messages = start(&connection, PRINCIPAL_USER_KEY);

    (void)state;
    /* One is under way besides those that wait. */
    for (int i = 0; i < WAITING_MAX + 1; i++)
        take(messages, "{\"content\":\"x\"}");
    assert_int_equal(connection.end, CONNECTION_OPEN);
    take(messages, "{\"content\":\"one more\"}");
    assert_int_equal(connection.end, CONNECTION_TOO_NOISY);
    client_messages_leave(messages);
    while (seen.posting != NULL) {
        assert_string_equal(text_under_way(), "x");
        end_post(ERROR_NONE);
    }
    assert_int_equal(seen.n_posted, WAITING_MAX + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_stored_one_at_a_time_in_their_order),
        cmocka_unit_test(messages_are_stored_though_the_client_has_gone),
        cmocka_unit_test(key_of_a_sandbox_sends_if_it_drives_conversations),
        cmocka_unit_test(bad_message_is_answered_and_the_next_one_is_stored),
        cmocka_unit_test(failure_of_the_store_is_told_by_its_class),
        cmocka_unit_test(client_with_too_many_messages_is_disconnected),
    };

    json_setup();
    return cmocka_run_group_tests_name("client_messages", tests, NULL, NULL);
}

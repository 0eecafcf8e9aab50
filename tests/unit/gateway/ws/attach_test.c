/*
 * How a socket gets its caller and its place, and what it is sent next. The database, the readers
 * and libwebsockets are played here; queries stay open until the test answers them.
 */
#include "gateway/ws/attach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <libwebsockets.h>

#include "auth/wrong_keys.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "gateway/bash/bash_reader.h"
#include "gateway/core/frame.h"
#include "gateway/feed/event_reader.h"
#include "gateway/ws/client_messages.h"
#include "gateway/ws/subscriber.h"
#include "gateway/ws/ws_services.h"
#include "store/conversation/async_store.h"
#include "store/db/db_async.h"

#define HASH_KEY "00112233445566778899001122334455667788990011223344556677889900ff"
#define USER_KEY "sk-deft-of-a-user"
#define ADDRESS "192.0.2.7"
#define SINCE "2026-01-01T00:00:00.000000"

enum { VALID_MS = 3000, KEY_TOO_LONG_BYTES = 4096, N_HINTS = 5 };

/* What the other parts were told. */
struct played {
    struct caller_query *caller; /* the queries under way */
    struct position_query *place;
    size_t n_callers;
    size_t n_places;
    size_t n_cancelled;
    int flow;         /* of the socket's input; -1: never set */
    int64_t timer_us; /* -1: none */
    char watched[UUID_TEXT_BYTES];
    int64_t watched_n_hints;
    struct event_reader *joined;
    enum resend joined_resend;
    int64_t joined_seq;
    struct uuid joined_user_id;
    struct bash_reader *bash; /* the reader that bash_reader_join() returns */
    char bash_session[80];
    enum socket_kind bash_kind;
    size_t n_left; /* parts that were left */
    const char *next;
    bool has_begun;
    bool has_more;
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
static struct played played;

/* --- the stubs --- */

/* POSIX.1-2017, clock_gettime(): wrong keys are not forgotten meanwhile. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    *now = (struct timespec){.tv_sec = 1000};
    return 0;
}

void async_store_find_caller(struct db_async *async, struct caller_query *query)
{
    query->pending = (struct async_query *)async;
    played.caller = query;
    played.n_callers++;
}

void async_store_find_position(struct db_async *async, struct position_query *query)
{
    query->pending = (struct async_query *)async;
    played.place = query;
    played.n_places++;
}

void async_query_cancel(struct async_query **query)
{
    played.n_cancelled += *query != NULL;
    *query = NULL;
}

int lws_rx_flow_control(struct lws *wsi, int enable)
{
    (void)wsi;
    played.flow = enable;
    return 0;
}

void lws_set_timer_usecs(struct lws *wsi, lws_usec_t us)
{
    (void)wsi;
    played.timer_us = us;
}

void revocation_join(struct revocation *revocation, struct revocable *socket, int64_t n_hints)
{
    (void)revocation;
    assert_non_null(socket->connection);
    (void)snprintf(played.watched, sizeof(played.watched), "%s", socket->credential_id);
    played.watched_n_hints = n_hints;
}

void revocation_leave(struct revocable *socket)
{
    (void)socket;
    played.n_left++;
}

void event_reader_join(struct event_reader *reader, struct feed *feed,
                       struct connection *connection, const struct event_reader_start *start)
{
    (void)feed;
    assert_non_null(connection);
    played.joined = reader;
    played.joined_resend = start->request->resend;
    played.joined_seq = start->place->last_seq;
    played.joined_user_id = *start->user_id;
}

void event_reader_leave(struct event_reader *reader)
{
    (void)reader;
    played.n_left++;
}

static struct frame *next_frame(void)
{
    return played.next != NULL ? frame_new(played.next, strlen(played.next)) : NULL;
}

struct frame *event_reader_next_frame(struct event_reader *reader)
{
    (void)reader;
    return next_frame();
}

bool event_reader_has_begun(const struct event_reader *reader)
{
    (void)reader;
    return played.has_begun;
}

bool event_reader_has_more(const struct event_reader *reader)
{
    (void)reader;
    return played.has_more;
}

struct bash_reader *bash_reader_join(struct bash_feeds *feeds, struct connection *connection,
                                     const struct bash_reader_start *start)
{
    (void)feeds;
    assert_non_null(connection);
    (void)snprintf(played.bash_session, sizeof(played.bash_session), "%s",
                   start->principal->runtime_session);
    played.bash_kind = start->request->kind;
    return played.bash;
}

void bash_reader_leave(struct bash_reader *reader)
{
    played.n_left += reader != NULL;
}

struct frame *bash_reader_next_frame(struct bash_reader *reader)
{
    assert_ptr_equal(reader, played.bash);
    return frame_new("bash", 4);
}

bool bash_reader_has_more(const struct bash_reader *reader)
{
    assert_ptr_equal(reader, played.bash);
    return !played.has_more;
}

void client_messages_leave(struct client_messages *messages)
{
    played.n_left += messages != NULL;
}

int lws_callback_on_writable(struct lws *wsi)
{
    (void)wsi;
    return 1;
}

/* --- a socket --- */

struct socket_fixture {
    struct keyring keyring;
    struct revocation revocation;
    struct ws_services services;
    struct connection_queue queue;
    struct subscriber subscriber;
    struct uuid user_id;
    struct uuid key_id;
};

static int set_up(void **state)
{
    struct socket_fixture *fixture = NEW(struct socket_fixture);
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct error err = ERROR_INIT;

    played = (struct played){.flow = -1, .timer_us = -1};
    secret_set(&key, HASH_KEY);
    assert_int_equal(keyring_init_hash(&fixture->keyring, &key, &err), 0);
    fixture->revocation.n_hints = N_HINTS;
    fixture->services = (struct ws_services){.live = (struct db_async *)(void *)fixture,
                                             .back = (struct db_async *)(void *)fixture,
                                             .feed = (struct feed *)(void *)fixture,
                                             .bash_feeds = (struct bash_feeds *)(void *)fixture,
                                             .keyring = &fixture->keyring,
                                             .wrong_keys = wrong_keys_new(),
                                             .revocation = &fixture->revocation};
    TAILQ_INIT(&fixture->queue);
    fixture->subscriber =
        (struct subscriber){.connection = {.queue = &fixture->queue},
                            .services = &fixture->services,
                            .incoming = STRBUF_INIT,
                            .request = {.conversation_id = uuid_random(), .address = ADDRESS}};
    fixture->user_id = uuid_random();
    fixture->key_id = uuid_random();
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct socket_fixture *fixture = *state;

    attach_free(TAKE_PTR(fixture->subscriber.attach));
    subscriber_done(&fixture->subscriber);
    assert_true(TAILQ_EMPTY(&fixture->queue));
    wrong_keys_free(fixture->services.wrong_keys);
    mem_free(fixture);
    return 0;
}

static struct caller_query *take_caller(void)
{
    struct caller_query *query = TAKE_PTR(played.caller);

    assert_non_null(query);
    query->pending = NULL;
    return query;
}

/* The credential is that user's. */
static void answer_caller(struct socket_fixture *fixture)
{
    struct caller_query *query = take_caller();

    query->user_id = fixture->user_id;
    query->key_id = fixture->key_id;
    query->valid_ms = VALID_MS;
    (void)snprintf(query->runtime_id, sizeof(query->runtime_id), "r-1");
    (void)snprintf(query->runtime_session, sizeof(query->runtime_session), "s-1");
    query->done(query, NULL);
}

static void fail_caller(enum error_code code)
{
    struct caller_query *query = take_caller();
    struct error err = ERROR_INIT;

    error_ignore(error_set(&err, code, "played"), "it is the answer");
    query->done(query, &err);
}

static void fail_place(enum error_code code)
{
    struct position_query *query = TAKE_PTR(played.place);
    struct error err = ERROR_INIT;

    assert_non_null(query);
    error_ignore(error_set(&err, code, "played"), "it is the answer");
    query->pending = NULL;
    query->done(query, &err);
}

static void come_with(struct socket_fixture *fixture, enum caller_kind kind)
{
    const struct caller_query credential = {.kind = kind, .hash = "a hash"};

    attach_credential(&fixture->subscriber, &credential);
    assert_string_equal(played.caller->hash, "a hash");
    assert_int_equal(played.caller->kind, kind);
}

/* --- callers --- */

struct caller_row {
    enum caller_kind kind;
    enum principal_kind principal;
    int64_t timer_us;
    bool is_sandbox; /* its id is watched, and its session's conversations are visible */
};

static void credential_of_each_kind_attaches(void **state)
{
    static const struct caller_row rows[] = {
        {CALLER_USER_KEY, PRINCIPAL_USER_KEY, -1, false},
        {CALLER_SESSION, PRINCIPAL_SESSION, VALID_MS * 1000, false},
        {CALLER_SANDBOX_KEY, PRINCIPAL_SANDBOX_KEY, -1, true},
    };
    struct socket_fixture *fixture = *state;
    struct subscriber *subscriber = &fixture->subscriber;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        played.timer_us = -1;
        come_with(fixture, rows[i].kind);
        assert_int_equal(played.flow, 0);
        assert_int_equal(subscriber->n_hints, N_HINTS);
        fixture->revocation.n_hints++; /* a hint that comes during the look-up counts */
        answer_caller(fixture);
        fixture->revocation.n_hints = N_HINTS;
        assert_int_equal(subscriber->principal.kind, rows[i].principal);
        assert_int_equal(played.timer_us, rows[i].timer_us);
        assert_string_equal(played.watched, rows[i].is_sandbox ? "r-1" : fixture->key_id.text);
        assert_int_equal(played.watched_n_hints, N_HINTS);
        assert_string_equal(played.place->conversation_id.text,
                            subscriber->request.conversation_id.text);
        assert_string_equal(played.place->user_id.text, fixture->user_id.text);
        assert_int_equal(played.place->runtime_session != NULL, rows[i].is_sandbox);
        assert_int_equal(played.flow, 0);
        attach_free(TAKE_PTR(subscriber->attach));
        assert_int_equal(played.n_cancelled, i + 1);
    }
    assert_int_equal(subscriber->connection.end, CONNECTION_OPEN);
}

static void credential_that_ended_closes_the_socket(void **state)
{
    static const struct {
        enum error_code code;
        enum connection_end end;
    } rows[] = {
        {ERROR_UNAUTHENTICATED, CONNECTION_UNAUTHENTICATED},
        {ERROR_UNAVAILABLE, CONNECTION_UNAVAILABLE},
        {ERROR_INTERNAL, CONNECTION_UNAUTHENTICATED},
    };
    struct socket_fixture *fixture = *state;
    struct subscriber *subscriber = &fixture->subscriber;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        subscriber->connection.end = CONNECTION_OPEN;
        come_with(fixture, CALLER_SESSION);
        fail_caller(rows[i].code);
        assert_int_equal(subscriber->connection.end, rows[i].end);
        assert_int_equal(subscriber->principal.kind, PRINCIPAL_NOBODY);
        assert_null(subscriber->attach);
        assert_int_equal(played.flow, 1);
    }
    assert_int_equal(played.n_places, 0);
    assert_string_equal(played.watched, "");
}

static void sandbox_without_an_owner_is_nobody(void **state)
{
    struct socket_fixture *fixture = *state;
    struct caller_query *query = NULL;

    come_with(fixture, CALLER_SANDBOX_KEY);
    query = take_caller();
    query->done(query, NULL);
    assert_int_equal(fixture->subscriber.connection.end, CONNECTION_UNAUTHENTICATED);
    assert_int_equal(played.n_places, 0);
}

/* --- keys --- */

static void key_is_looked_up_by_its_hash(void **state)
{
    struct socket_fixture *fixture = *state;
    char hash[CRYPTO_HASH_HEX_BYTES] = "";

    keyring_hash_token(&fixture->keyring, USER_KEY, hash);
    attach_key(&fixture->subscriber, USER_KEY);
    assert_string_equal(played.caller->hash, hash);
    assert_int_equal(played.caller->kind, CALLER_USER_KEY);
    answer_caller(fixture);
    assert_int_equal(fixture->subscriber.principal.kind, PRINCIPAL_USER_KEY);
    assert_int_equal(played.n_places, 1);
}

static void wrong_keys_of_an_address_are_counted(void **state)
{
    struct socket_fixture *fixture = *state;
    struct subscriber *subscriber = &fixture->subscriber;
    CLEANUP(mem_freep) char *no_key = mem_alloc(KEY_TOO_LONG_BYTES + 1);

    memset(no_key, 'x', KEY_TOO_LONG_BYTES);
    no_key[KEY_TOO_LONG_BYTES] = '\0';
    for (size_t i = 0; i <= WRONG_KEYS_PER_MINUTE; i++) {
        subscriber->connection.end = CONNECTION_OPEN;
        if (i % 2 == 0) {
            attach_key(subscriber, no_key);
        } else {
            attach_key(subscriber, USER_KEY);
            fail_caller(ERROR_UNAUTHENTICATED);
        }
        if (i < WRONG_KEYS_PER_MINUTE)
            assert_int_equal(subscriber->connection.end, CONNECTION_UNAUTHENTICATED);
        else
            assert_int_equal(subscriber->connection.end, CONNECTION_TOO_MANY_KEYS);
    }
    assert_int_equal(played.n_callers, WRONG_KEYS_PER_MINUTE / 2);
    /* A credential that nginx had checked is not counted, nor another address, nor a failure. */
    subscriber->connection.end = CONNECTION_OPEN;
    attach_free(TAKE_PTR(subscriber->attach));
    come_with(fixture, CALLER_USER_KEY);
    fail_caller(ERROR_UNAUTHENTICATED);
    assert_int_equal(subscriber->connection.end, CONNECTION_UNAUTHENTICATED);
    subscriber->connection.end = CONNECTION_OPEN;
    attach_key(subscriber, USER_KEY);
    fail_caller(ERROR_UNAVAILABLE);
    assert_int_equal(subscriber->connection.end, CONNECTION_UNAVAILABLE);
    subscriber->connection.end = CONNECTION_OPEN;
    (void)snprintf(subscriber->request.address, sizeof(subscriber->request.address), "192.0.2.8");
    attach_key(subscriber, no_key);
    assert_int_equal(subscriber->connection.end, CONNECTION_UNAUTHENTICATED);
}

/* --- places --- */

static void socket_reads_from_its_place(void **state)
{
    static const struct {
        enum resend resend;
        const char *since;
        bool is_asked;
    } rows[] = {
        {RESEND_SINCE, SINCE, true},
        {RESEND_SINCE, "", false},
        {RESEND_ALL, SINCE, false},
        {RESEND_NONE, SINCE, false},
    };
    struct socket_fixture *fixture = *state;
    struct subscriber *subscriber = &fixture->subscriber;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct position_query *query = NULL;

        subscriber->request.resend = rows[i].resend;
        (void)snprintf(subscriber->request.since, sizeof(subscriber->request.since), "%s",
                       rows[i].since);
        come_with(fixture, CALLER_USER_KEY);
        answer_caller(fixture);
        query = TAKE_PTR(played.place);
        assert_string_equal(query->since != NULL ? query->since : "",
                            rows[i].is_asked ? SINCE : "");
        assert_null(played.joined);
        query->pending = NULL;
        query->last_seq = 7;
        query->done(query, NULL);
        assert_int_equal(played.flow, 1);
        assert_ptr_equal(played.joined, &subscriber->events);
        played.joined = NULL;
        assert_int_equal(played.joined_resend, rows[i].resend);
        assert_int_equal(played.joined_seq, 7);
        assert_string_equal(played.joined_user_id.text, fixture->user_id.text);
        assert_null(subscriber->attach);
    }
    assert_int_equal(subscriber->connection.end, CONNECTION_OPEN);
}

static void socket_without_a_place_is_closed(void **state)
{
    static const struct {
        enum error_code code;
        enum connection_end end;
    } rows[] = {
        {ERROR_NOT_FOUND, CONNECTION_NOT_FOUND},
        {ERROR_UNAVAILABLE, CONNECTION_UNAVAILABLE},
    };
    struct socket_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        fixture->subscriber.connection.end = CONNECTION_OPEN;
        come_with(fixture, CALLER_USER_KEY);
        answer_caller(fixture);
        fail_place(rows[i].code);
        assert_int_equal(fixture->subscriber.connection.end, rows[i].end);
        assert_null(played.joined);
        assert_null(fixture->subscriber.attach);
        assert_int_equal(played.flow, 1);
    }
}

static void bash_socket_needs_no_place(void **state)
{
    struct socket_fixture *fixture = *state;

    fixture->subscriber.request.kind = SOCKET_BASH;
    played.bash = (struct bash_reader *)(void *)fixture;
    come_with(fixture, CALLER_SANDBOX_KEY);
    answer_caller(fixture);
    assert_int_equal(played.n_places, 0);
    assert_string_equal(played.bash_session, "s-1");
    assert_int_equal(played.bash_kind, SOCKET_BASH);
    assert_ptr_equal(fixture->subscriber.bash, played.bash);
    assert_int_equal(played.flow, 1);
    assert_null(fixture->subscriber.attach);
}

/* --- frames --- */

static void expect_frame(struct subscriber *subscriber, const char *text)
{
    struct frame *frame = subscriber_next_frame(subscriber);

    if (text == NULL) {
        assert_null(frame);
        return;
    }
    assert_non_null(frame);
    assert_string_equal((const char *)frame_text(frame), text);
    frame_release(frame);
}

static void replies_wait_for_the_first_snapshot(void **state)
{
    struct socket_fixture *fixture = *state;
    struct subscriber *subscriber = &fixture->subscriber;

    connection_reply(&subscriber->connection, frame_new("reply", 5));
    played.next = "event";
    expect_frame(subscriber, "event");
    assert_false(subscriber_has_more(subscriber));
    played.has_begun = true;
    assert_true(subscriber_has_more(subscriber));
    expect_frame(subscriber, "reply");
    expect_frame(subscriber, "event");
    assert_false(subscriber_has_more(subscriber));
    played.has_more = true;
    assert_true(subscriber_has_more(subscriber));
    played.has_more = false;
    subscriber->connection.end = CONNECTION_NOT_FOUND;
    assert_true(subscriber_has_more(subscriber)); /* the close frame */
    played.next = NULL;
    expect_frame(subscriber, NULL);
}

/* It has no snapshot. */
static void replies_on_a_bash_socket_do_not_wait(void **state)
{
    struct socket_fixture *fixture = *state;
    struct subscriber *subscriber = &fixture->subscriber;

    played.bash = (struct bash_reader *)(void *)fixture;
    subscriber->bash = played.bash;
    played.has_more = true;
    assert_false(subscriber_has_more(subscriber));
    connection_reply(&subscriber->connection, frame_new("reply", 5));
    assert_true(subscriber_has_more(subscriber));
    expect_frame(subscriber, "reply");
    expect_frame(subscriber, "bash");
    played.has_more = false;
    assert_true(subscriber_has_more(subscriber));
}

static void slow_sockets_are_closed(void **state)
{
    struct socket_fixture *fixture = *state;
    struct subscriber *subscriber = &fixture->subscriber;
    struct subscriber closing = {.connection = {.queue = &fixture->queue},
                                 .services = &fixture->services,
                                 .incoming = STRBUF_INIT};
    int64_t begun_ms = 0;

    played.bash = (struct bash_reader *)(void *)fixture;
    subscriber->bash = played.bash;
    connection_wake(&subscriber->connection);
    connection_close(&closing.connection, CONNECTION_NOT_FOUND);
    begun_ms = closing.connection.waiting_since_ms;
    subscribers_close_slow(&fixture->queue, subscriber->connection.waiting_since_ms + 99, 100);
    assert_int_equal(subscriber->connection.end, CONNECTION_OPEN);
    assert_int_equal(played.n_left, 0);
    subscribers_close_slow(&fixture->queue, begun_ms + 100, 100);
    assert_int_equal(subscriber->connection.end, CONNECTION_TOO_SLOW);
    assert_int_equal(closing.connection.end, CONNECTION_NOT_FOUND);
    assert_null(subscriber->bash);
    assert_int_equal(played.n_left, 3); /* the events of both, and the commands of one */
    assert_true(TAILQ_EMPTY(&fixture->queue));
    subscriber_done(&closing);
}

static void socket_leaves_all_its_parts(void **state)
{
    struct socket_fixture *fixture = *state;
    struct subscriber *subscriber = &fixture->subscriber;

    subscriber->bash = (struct bash_reader *)(void *)fixture;
    subscriber->messages = (struct client_messages *)(void *)fixture;
    strbuf_append(&subscriber->incoming, "half a frame");
    connection_reply(&subscriber->connection, frame_new("reply", 5));
    subscriber_done(subscriber);
    assert_int_equal(played.n_left, 4);
    assert_int_equal(subscriber->incoming.len, 0);
    assert_int_equal(subscriber->connection.n_replies, 0);
    assert_null(subscriber->bash);
    assert_null(subscriber->messages);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(credential_of_each_kind_attaches),
        TEST(credential_that_ended_closes_the_socket),
        TEST(sandbox_without_an_owner_is_nobody),
        TEST(key_is_looked_up_by_its_hash),
        TEST(wrong_keys_of_an_address_are_counted),
        TEST(socket_reads_from_its_place),
        TEST(socket_without_a_place_is_closed),
        TEST(bash_socket_needs_no_place),
        TEST(replies_wait_for_the_first_snapshot),
        TEST(replies_on_a_bash_socket_do_not_wait),
        TEST(slow_sockets_are_closed),
        TEST(socket_leaves_all_its_parts),
    };

    return cmocka_run_group_tests_name("gateway/attach", tests, NULL, NULL);
}

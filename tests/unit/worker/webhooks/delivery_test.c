/*
 * Deliveries to a receiver: what is sent in which call, and what counts as taken.
 */
#include "worker/webhooks/delivery.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/test_server.h"
#include "model/conversation/conversation.h"
#include "model/conversation/webhook.h"
#include "store/conversation/conversation_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/run_fixture.h"

enum { DEADLINE_MS = 30000, LOOK_MS = 100, N_MESSAGES = 6 };

#define UNUSED_SCRIPT "{\"turns\": [{\"steps\": [{\"text\": \"unused\"}]}]}"

static void check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s", err->message);
}

/* A receiver, its server, and a conversation whose events it has not seen. */
struct receiver {
    struct run_fixture *fixture;
    struct test_server *server;
    char id[8];
    char url[64];
    struct webhook webhook;
    struct uuid conversation_id;
    struct secret no_key;
    struct delivery_means means;
};

static void begin(struct receiver *receiver, struct run_fixture *fixture,
                  const struct test_reply *replies, size_t n)
{
    struct error err = ERROR_INIT;

    *receiver = (struct receiver){.fixture = fixture, .id = "t", .no_key = SECRET_INIT};
    receiver->server = test_server_start(replies, n, NULL);
    (void)snprintf(receiver->url, sizeof(receiver->url), "%s",
                   test_server_url(receiver->server, ""));
    receiver->webhook = (struct webhook){.id = receiver->id,
                                         .base_url = receiver->url,
                                         .n_buffered = 1,
                                         .retry_ms = 3600000,
                                         .n_retries = 3,
                                         .max_events = 1000,
                                         .max_queue_bytes = 1 << 20,
                                         .max_batch_bytes = 1 << 20};
    receiver->means = (struct delivery_means){.db = fixture->context.db,
                                              .http = fixture->context.http,
                                              .session_key = &receiver->no_key,
                                              .address_of = ADDRESS_OF_ADMINISTRATOR,
                                              .timeout_ms = DEADLINE_MS,
                                              .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    test_sql("DELETE FROM webhooks");
    check(webhook_store_ensure(fixture->context.db, &receiver->webhook, &err), &err);
    receiver->conversation_id = run_new_conversation(fixture, UNUSED_SCRIPT, "{}");
    for (int i = 0; i < N_MESSAGES; i++)
        run_say(fixture, &receiver->conversation_id, "and this");
}

static void end(struct receiver *receiver)
{
    struct conversation_scope scope = {.user_id = receiver->fixture->user_id};
    struct error err = ERROR_INIT;

    test_server_stop(receiver->server);
    fd_close(&receiver->means.done_fd);
    check(conversation_store_delete(receiver->fixture->context.db, &scope,
                                    &receiver->conversation_id, &err),
          &err);
    test_sql("DELETE FROM webhooks");
}

/* Delivers what is due, to the end. */
static enum delivery_end deliver(struct receiver *receiver)
{
    CLEANUP(webhook_claim_done) struct webhook_claim claim = {.webhook = NULL};
    struct db *db = receiver->fixture->context.db;
    const struct uuid owner = uuid_random();
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    struct delivery delivery = {.call = NULL};
    enum delivery_end how = DELIVERY_GOES_ON;
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    test_sql("UPDATE webhooks SET scanned_to = now() - interval '1 second'");
    check(webhook_store_look(db, &receiver->webhook, &err), &err);
    check(webhook_store_claim(db, &receiver->webhook, &owner, &is_claimed, &claim, &err), &err);
    assert_true(is_claimed);
    how = delivery_begin(&delivery, &receiver->means, &claim);
    while (how == DELIVERY_GOES_ON && clock_monotonic_ms() < deadline_ms) {
        struct pollfd wait = {.fd = receiver->means.done_fd, .events = POLLIN};

        (void)poll(&wait, 1, LOOK_MS);
        how = delivery_go_on(&delivery);
    }
    delivery_done(&delivery);
    return how;
}

/* The body of that request to the server. */
static const char *body_of(struct receiver *receiver, size_t i)
{
    const char *body = strstr(test_server_request(receiver->server, i), "\r\n\r\n");

    assert_non_null(body);
    return body + 4;
}

static int64_t taken_to(void)
{
    return test_sql_count("SELECT seq FROM webhook_cursors");
}

/* Adds the number of events that request i brought, which are as large together as may be. */
static size_t count_events(struct receiver *receiver, size_t i)
{
    const char *body = body_of(receiver, i);
    json_auto_t *events = NULL;
    struct error err = ERROR_INIT;

    check(json_parse(body, strlen(body), &events, &err), &err);
    assert_true(json_array_size(events) == 1 ||
                strlen(body) <= (size_t)receiver->webhook.max_batch_bytes);
    return json_array_size(events);
}

static void all_events_come_in_bodies_of_limited_size(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    struct receiver receiver;
    int64_t n_stored = 0;
    size_t n_events = 0;

    begin(&receiver, *state, replies, 1);
    n_stored = test_sql_count("SELECT count(*) FROM events");
    /* As stored they would all fit; with the members that are null in a reply they do not. */
    receiver.webhook.max_batch_bytes = test_sql_count("SELECT sum(octet_length(body)) FROM events");
    assert_int_equal(deliver(&receiver), DELIVERY_DONE);
    assert_int_equal(taken_to(), n_stored);
    for (size_t i = 1; i < test_server_n_requests(receiver.server); i++)
        n_events += count_events(&receiver, i);
    assert_true(test_server_n_requests(receiver.server) > 2);
    assert_int_equal(n_events, n_stored);
    end(&receiver);
}

#define REPLY(status) "HTTP/1.1 " status " x\r\nContent-Length: 0\r\n\r\n"

static void only_success_counts_as_taken(void **state)
{
    static const char *const refusals[] = {REPLY("302"), REPLY("304"), REPLY("404"), REPLY("500")};

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        /* The conversation's state is taken, its events are not. */
        const struct test_reply replies[] = {{.bytes = REPLY("201")}, {.bytes = refusals[i]}};
        struct receiver receiver;

        begin(&receiver, *state, replies, 2);
        assert_int_equal(deliver(&receiver), DELIVERY_FAILED);
        assert_int_equal(taken_to(), 0);
        assert_int_equal(test_sql_count("SELECT attempts FROM webhook_cursors"), 1);
        end(&receiver);
    }
}

static void receiver_may_have_no_place_for_a_conversations_state(void **state)
{
    static const struct test_reply replies[] = {{.bytes = REPLY("404")}, {.bytes = REPLY("204")}};
    struct receiver receiver;

    begin(&receiver, *state, replies, 2);
    assert_int_equal(deliver(&receiver), DELIVERY_DONE);
    assert_int_equal(taken_to(), test_sql_count("SELECT count(*) FROM events"));
    end(&receiver);
}

static void own_header_of_a_receiver_replaces_the_session_key(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    struct webhook_header own = {.name = (char[]){"x-session-api-key"}, .value = SECRET_INIT};
    CLEANUP(secret_done) struct secret key = SECRET_INIT;

    secret_set(&key, "key-of-all");
    secret_set(&own.value, "key-of-one");
    for (size_t n_headers = 0; n_headers < 2; n_headers++) {
        struct receiver receiver;
        const char *request = NULL;

        begin(&receiver, *state, replies, 1);
        receiver.means.session_key = &key;
        receiver.webhook.headers = &own;
        receiver.webhook.n_headers = n_headers;
        assert_int_equal(deliver(&receiver), DELIVERY_DONE);
        request = test_server_request(receiver.server, 0);
        assert_int_equal(strstr(request, "key-of-all") != NULL, n_headers == 0);
        assert_int_equal(strstr(request, "key-of-one") != NULL, n_headers == 1);
        end(&receiver);
    }
    secret_done(&own.value);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_events_come_in_bodies_of_limited_size),
        cmocka_unit_test(only_success_counts_as_taken),
        cmocka_unit_test(receiver_may_have_no_place_for_a_conversations_state),
        cmocka_unit_test(own_header_of_a_receiver_replaces_the_session_key),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}

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
#include "store/db/db.h"
#include "support/json_path.h"
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

static void look_for_due(struct receiver *receiver)
{
    struct error err = ERROR_INIT;

    test_sql("UPDATE webhooks SET scanned_to = now() - interval '1 second'");
    check(webhook_store_look(receiver->fixture->context.db, &receiver->webhook, &err), &err);
}

static void claim_due(struct receiver *receiver, struct webhook_claim *claim_out)
{
    const struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    check(webhook_store_claim(receiver->fixture->context.db, &receiver->webhook, &owner,
                              &is_claimed, claim_out, &err),
          &err);
    assert_true(is_claimed);
}

/* Delivers what was claimed, to the end. */
static enum delivery_end deliver_claim(struct receiver *receiver, struct webhook_claim *claim)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    struct delivery delivery = {.call = NULL};
    enum delivery_end how = delivery_begin(&delivery, &receiver->means, claim);

    while (how == DELIVERY_GOES_ON && clock_monotonic_ms() < deadline_ms) {
        struct pollfd wait = {.fd = receiver->means.done_fd, .events = POLLIN};

        (void)poll(&wait, 1, LOOK_MS);
        how = delivery_go_on(&delivery);
    }
    delivery_done(&delivery);
    return how;
}

/* Delivers what is due, to the end. */
static enum delivery_end deliver(struct receiver *receiver)
{
    CLEANUP(webhook_claim_done) struct webhook_claim claim = {.webhook = NULL};

    look_for_due(receiver);
    claim_due(receiver, &claim);
    return deliver_claim(receiver, &claim);
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

/* A conversation's state: taken, or not wanted; its events then follow. */
static void receiver_may_have_no_place_for_a_conversations_state(void **state)
{
    static const char *const passed[] = {REPLY("200"), REPLY("299"), REPLY("404"),
                                         REPLY("405"), REPLY("410"), REPLY("501")};
    static const char *const refused[] = {REPLY("300"), REPLY("400"), REPLY("403"), REPLY("500")};

    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        const struct test_reply replies[] = {{.bytes = passed[i]}, {.bytes = REPLY("204")}};
        struct receiver receiver;

        begin(&receiver, *state, replies, 2);
        assert_int_equal(deliver(&receiver), DELIVERY_DONE);
        assert_int_equal(taken_to(), test_sql_count("SELECT count(*) FROM events"));
        assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE told = state"
                                        " AND lease_owner IS NULL"),
                         1);
        end(&receiver);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const struct test_reply replies[] = {{.bytes = refused[i]}, {.bytes = REPLY("204")}};
        struct receiver receiver;

        begin(&receiver, *state, replies, 2);
        assert_int_equal(deliver(&receiver), DELIVERY_FAILED);
        assert_int_equal(test_server_n_requests(receiver.server), 1);
        assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE told IS NULL"
                                        " AND attempts = 1 AND lease_owner IS NULL"),
                         1);
        end(&receiver);
    }
}

static void each_call_goes_to_its_place(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    struct receiver receiver;
    const char *request = NULL;

    begin(&receiver, *state, replies, 1);
    assert_int_equal(deliver(&receiver), DELIVERY_DONE);
    assert_int_equal(test_server_n_requests(receiver.server), 2);
    request = test_server_request(receiver.server, 0);
    assert_non_null(strstr(request, "POST /conversations HTTP/1.1\r\n"));
    assert_json_at(body_of(&receiver, 0), "execution_status", "\"running\"");
    assert_non_null(strstr(body_of(&receiver, 0), receiver.conversation_id.text));
    request = test_server_request(receiver.server, 1);
    assert_non_null(strstr(request, "POST /events/"));
    assert_json_at(body_of(&receiver, 1), "[0].kind", "\"SystemPromptEvent\"");
    assert_json_at(body_of(&receiver, 1), "[1].kind", "\"MessageEvent\"");
    assert_json_at(body_of(&receiver, 1), "[1].sender", "null");
    end(&receiver);
}

/* --- the conversation's end --- */

static void delete_conversation(struct receiver *receiver)
{
    struct conversation_scope scope = {.user_id = receiver->fixture->user_id};
    struct error err = ERROR_INIT;

    check(conversation_store_delete(receiver->fixture->context.db, &scope,
                                    &receiver->conversation_id, &err),
          &err);
}

static void end_deleted(struct receiver *receiver)
{
    test_server_stop(receiver->server);
    fd_close(&receiver->means.done_fd);
    test_sql("DELETE FROM webhooks");
}

/* What was not delivered by then, and the last state at the end; no cursor is left. */
static void deletion_is_told_last(void **state)
{
    static const char *const last[] = {REPLY("200"), REPLY("404")};

    for (size_t i = 0; i < 2; i++) {
        CLEANUP(webhook_claim_done) struct webhook_claim claim = {.webhook = NULL};
        const struct test_reply replies[] = {{.bytes = REPLY("200")}, {.bytes = last[i]}};
        struct receiver receiver;

        begin(&receiver, *state, replies, 2);
        look_for_due(&receiver);
        delete_conversation(&receiver);
        claim_due(&receiver, &claim);
        assert_non_null(claim.farewell);
        assert_int_equal(deliver_claim(&receiver, &claim), DELIVERY_DONE);
        assert_int_equal(test_server_n_requests(receiver.server), 2);
        assert_json_at(body_of(&receiver, 0), "[0].kind", "\"SystemPromptEvent\"");
        assert_non_null(
            strstr(test_server_request(receiver.server, 1), "POST /conversations HTTP/1.1\r\n"));
        assert_non_null(strstr(body_of(&receiver, 1), receiver.conversation_id.text));
        assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors"), 0);
        end_deleted(&receiver);
    }
}

static void refused_farewell_is_due_again(void **state)
{
    static const struct test_reply replies[] = {{.bytes = REPLY("200")}, {.bytes = REPLY("500")}};
    CLEANUP(webhook_claim_done) struct webhook_claim claim = {.webhook = NULL};
    struct receiver receiver;

    begin(&receiver, *state, replies, 2);
    look_for_due(&receiver);
    delete_conversation(&receiver);
    claim_due(&receiver, &claim);
    assert_int_equal(deliver_claim(&receiver, &claim), DELIVERY_FAILED);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE attempts = 1"
                                    " AND farewell IS NOT NULL"),
                     1);
    end_deleted(&receiver);
}

/* It was deleted behind the store's back: there is no last state to tell. */
static void conversation_without_a_farewell_is_forgotten(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    CLEANUP(webhook_claim_done) struct webhook_claim claim = {.webhook = NULL};
    struct receiver receiver;

    begin(&receiver, *state, replies, 1);
    look_for_due(&receiver);
    claim_due(&receiver, &claim);
    test_sql("DELETE FROM conversations");
    assert_int_equal(deliver_claim(&receiver, &claim), DELIVERY_DONE);
    assert_int_equal(test_server_n_requests(receiver.server), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors"), 0);
    end_deleted(&receiver);
}

/* --- failures of our own --- */

/* Such an event is never sent: it must not be due again at once. */
static void unreadable_event_counts_as_refused(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    struct receiver receiver;

    begin(&receiver, *state, replies, 1);
    test_sql("UPDATE events SET body = '{' WHERE seq = 1");
    assert_int_equal(deliver(&receiver), DELIVERY_FAILED);
    assert_int_equal(test_server_n_requests(receiver.server), 1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE attempts = 1"
                                    " AND due_at > now()"),
                     1);
    end(&receiver);
}

/* The lease stays, and expires: another worker goes on. */
static void database_out_of_reach_leaves_the_delivery(void **state)
{
    const struct db_options options = {
        .url = "host=/nonexistent", .application = "deft-test", .n_connections = 1};
    static const struct test_reply replies[] = {{.bytes = NULL}};
    CLEANUP(webhook_claim_done) struct webhook_claim claim = {.webhook = NULL};
    CLEANUP(db_freep) struct db *dead = NULL;
    struct receiver receiver;
    struct error err = ERROR_INIT;

    begin(&receiver, *state, replies, 1);
    look_for_due(&receiver);
    claim_due(&receiver, &claim);
    check(db_open(&options, &dead, &err), &err);
    receiver.means.db = dead;
    assert_int_equal(deliver_claim(&receiver, &claim), DELIVERY_LEFT);
    assert_int_equal(test_server_n_requests(receiver.server), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE attempts = 0"
                                    " AND lease_owner IS NOT NULL"),
                     1);
    end(&receiver);
}

/* Another worker has the cursor by the time the receiver answers. */
static void lost_lease_leaves_the_delivery(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    CLEANUP(webhook_claim_done) struct webhook_claim claim = {.webhook = NULL};
    struct receiver receiver;

    begin(&receiver, *state, replies, 1);
    look_for_due(&receiver);
    claim_due(&receiver, &claim);
    test_sql("UPDATE webhook_cursors SET lease_owner = gen_random_uuid()");
    assert_int_equal(deliver_claim(&receiver, &claim), DELIVERY_LEFT);
    assert_int_equal(test_server_n_requests(receiver.server), 1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE told IS NULL"), 1);
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
        cmocka_unit_test(each_call_goes_to_its_place),
        cmocka_unit_test(deletion_is_told_last),
        cmocka_unit_test(refused_farewell_is_due_again),
        cmocka_unit_test(conversation_without_a_farewell_is_forgotten),
        cmocka_unit_test(unreadable_event_counts_as_refused),
        cmocka_unit_test(database_out_of_reach_leaves_the_delivery),
        cmocka_unit_test(lost_lease_leaves_the_delivery),
        cmocka_unit_test(own_header_of_a_receiver_replaces_the_session_key),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}

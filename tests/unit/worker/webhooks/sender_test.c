/*
 * The thread that delivers webhooks: which receivers it serves, when, and how many calls at once.
 */
#include "worker/webhooks/sender.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/test_server.h"
#include "store/conversation/conversation_store.h"
#include "store/user/init_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/run_fixture.h"
#include "worker/webhooks/receivers.h"

enum { DEADLINE_MS = 30000, CONVERSATIONS_MAX = 12, REST_MS = 1000 };

#define UNUSED_SCRIPT "{\"turns\": [{\"steps\": [{\"text\": \"unused\"}]}]}"
#define REPLY(status) "HTTP/1.1 " status " x\r\nContent-Length: 0\r\n\r\n"

static void check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s: %s", err->where, err->message);
}

/* A receiver, its server, and conversations that it has not seen. */
struct bench {
    struct run_fixture *fixture;
    struct worker_context *context;
    struct http *http; /* the fixture's */
    struct test_server *server;
    struct sender *sender;
    struct uuid ids[CONVERSATIONS_MAX];
    size_t n;
};

static void begin(struct bench *bench, struct run_fixture *fixture,
                  const struct test_reply *replies, size_t n_replies)
{
    struct worker_context *context = &fixture->context;
    struct error err = ERROR_INIT;

    *bench = (struct bench){.fixture = fixture, .context = context, .http = context->http};
    check(http_open(&context->http, &err), &err);
    bench->server = test_server_start(replies, n_replies, NULL);
    context->settings.webhooks_allow_private = 1;
    context->settings.webhooks_timeout_ms = DEADLINE_MS;
    context->settings.deferred_init = 0;
    secret_set(&context->settings.database_url, test_database_url());
    secret_set(&context->settings.session_key, "");
    test_sql("DELETE FROM webhooks");
    test_sql("DELETE FROM server_init");
}

/* The worker's settings name a receiver. */
static void add_receiver(struct bench *bench)
{
    struct receiver_settings settings[RECEIVERS_MAX];
    char url[64] = "";
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < RECEIVERS_MAX; i++)
        settings[i] =
            (struct receiver_settings){"", SECRET_INIT, "1", "0.001", "9", "0", "", "", ""};
    (void)snprintf(url, sizeof(url), "%s", test_server_url(bench->server, "/hook"));
    settings[2].base_url = url;
    check(receivers_read(settings, &bench->context->receivers, &err), &err);
    assert_int_equal(bench->context->receivers.n, 1);
}

/* Conversations that are older than the receiver are not sent: it is known before. */
static void add_conversations(struct bench *bench, size_t n)
{
    test_sql("INSERT INTO webhooks (id, since, scanned_to) VALUES"
             " ('2', now() - interval '1 minute', now() - interval '1 minute'),"
             " ('init-0', now() - interval '1 minute', now() - interval '1 minute')");
    for (; bench->n < n; bench->n++) {
        bench->ids[bench->n] = run_new_conversation(bench->fixture, UNUSED_SCRIPT, "{}");
        test_sql("UPDATE conversations SET wanted_at = NULL");
    }
}

static void start(struct bench *bench)
{
    struct error err = ERROR_INIT;

    check(sender_start(bench->context, &bench->sender, &err), &err);
}

/* Its calls end first: one that is dropped may still signal the sender. */
static void stop(struct bench *bench)
{
    sender_stop(bench->sender);
    http_free(TAKE_PTR(bench->context->http));
    sender_free(TAKE_PTR(bench->sender));
}

static void end(struct bench *bench)
{
    const struct conversation_scope scope = {.user_id = bench->fixture->user_id};
    struct error err = ERROR_INIT;

    stop(bench);
    test_server_stop(bench->server);
    bench->context->http = bench->http;
    receivers_done(&bench->context->receivers);
    secret_done(&bench->context->settings.database_url);
    secret_done(&bench->context->settings.session_key);
    for (size_t i = 0; i < bench->n; i++)
        check(conversation_store_delete(bench->context->db, &scope, &bench->ids[i], &err), &err);
    test_sql("DELETE FROM webhooks");
    test_sql("DELETE FROM server_init");
}

/* Requests come within seconds of the next scan. */
static void wait_for_requests(struct bench *bench, size_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    while (!test_server_wait(bench->server, n) && clock_monotonic_ms() < deadline_ms)
        ;
    assert_true(test_server_n_requests(bench->server) >= n);
}

static bool is_asked(struct bench *bench, size_t i, const char *words)
{
    return strstr(test_server_request(bench->server, i), words) != NULL;
}

static void without_receivers_there_is_no_sender(void **state)
{
    struct bench bench;

    begin(&bench, *state, &(struct test_reply){.bytes = NULL}, 1);
    test_sql("INSERT INTO webhooks (id, since, scanned_to) VALUES"
             " ('old', now(), now() - interval '8 days'),"
             " ('new', now(), now() - interval '6 days')");
    start(&bench);
    assert_null(bench.sender);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhooks WHERE id = 'new'"), 1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhooks"), 1);
    end(&bench);
}

static void conversations_state_and_events_are_delivered(void **state)
{
    struct bench bench;

    begin(&bench, *state, &(struct test_reply){.bytes = NULL}, 1);
    secret_set(&bench.context->settings.session_key, "key-of-all");
    add_receiver(&bench);
    add_conversations(&bench, 1);
    start(&bench);
    assert_non_null(bench.sender);
    wait_for_requests(&bench, 2);
    assert_true(is_asked(&bench, 0, "POST /hook/conversations HTTP"));
    assert_true(is_asked(&bench, 1, "POST /hook/events/"));
    for (size_t i = 0; i < 2; i++)
        assert_true(is_asked(&bench, i, "key-of-all"));
    stop(&bench);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE seq = 4"
                                    " AND lease_owner IS NULL AND told = state"),
                     1);
    end(&bench);
}

/* The receiver is registered, and what follows is delivered. */
static void new_receiver_gets_what_comes_after_it(void **state)
{
    static const char SQL_KNOWN[] = "SELECT count(*) FROM webhooks WHERE id = '2'";
    struct bench bench;
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    begin(&bench, *state, &(struct test_reply){.bytes = NULL}, 1);
    add_receiver(&bench);
    start(&bench);
    while (test_sql_count(SQL_KNOWN) == 0 && clock_monotonic_ms() < deadline_ms)
        ;
    assert_int_equal(test_sql_count(SQL_KNOWN), 1);
    bench.ids[bench.n++] = run_new_conversation(bench.fixture, UNUSED_SCRIPT, "{}");
    test_sql("UPDATE conversations SET wanted_at = NULL");
    wait_for_requests(&bench, 2);
    assert_true(is_asked(&bench, 1, "POST /hook/events/"));
    end(&bench);
}

/* A receiver that fails is left alone for a second, even if the cursor is due at once. */
static void failing_receiver_is_called_again_after_a_rest(void **state)
{
    static const struct test_reply replies[] = {{.bytes = REPLY("500")}, {.bytes = REPLY("200")}};
    struct bench bench;
    int64_t failed_ms = 0;

    begin(&bench, *state, replies, 2);
    add_receiver(&bench);
    add_conversations(&bench, 1);
    failed_ms = clock_monotonic_ms();
    start(&bench);
    wait_for_requests(&bench, 3);
    assert_true(clock_monotonic_ms() - failed_ms >= REST_MS);
    assert_true(is_asked(&bench, 0, "POST /hook/conversations HTTP"));
    assert_true(is_asked(&bench, 1, "POST /hook/conversations HTTP"));
    assert_true(is_asked(&bench, 2, "POST /hook/events/"));
    end(&bench);
}

/* The receiver answers nothing: four calls are all that it gets. */
static void one_receiver_gets_a_few_calls_at_once(void **state)
{
    struct bench bench;

    begin(&bench, *state, &(struct test_reply){.bytes = "HTTP", .ending = TEST_HOLD}, 1);
    add_receiver(&bench);
    add_conversations(&bench, 7);
    start(&bench);
    wait_for_requests(&bench, 4);
    stop(&bench);
    assert_int_equal(test_server_n_requests(bench.server), 4);
    /* What was under way is due to another worker at once. */
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE lease_owner IS NULL"
                                    " AND due_at <= now()"),
                     7);
    end(&bench);
}

/* After a failure it gets one call at a time, until one succeeds. */
static void failing_receiver_gets_one_call_at_a_time(void **state)
{
    static const struct test_reply replies[] = {{.bytes = REPLY("500")},
                                                {.bytes = REPLY("500")},
                                                {.bytes = REPLY("500")},
                                                {.bytes = REPLY("500")},
                                                {.bytes = "HTTP", .ending = TEST_HOLD}};
    struct bench bench;

    begin(&bench, *state, replies, 5);
    add_receiver(&bench);
    add_conversations(&bench, 7);
    start(&bench);
    wait_for_requests(&bench, 5);
    stop(&bench);
    assert_int_equal(test_server_n_requests(bench.server), 5);
    end(&bench);
}

static void private_receiver_is_called_only_where_it_is_allowed(void **state)
{
    struct bench bench;
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    begin(&bench, *state, &(struct test_reply){.bytes = NULL}, 1);
    bench.context->settings.webhooks_allow_private = 0;
    add_receiver(&bench);
    add_conversations(&bench, 1);
    start(&bench);
    while (test_sql_count("SELECT count(*) FROM webhook_cursors WHERE attempts > 0") == 0 &&
           clock_monotonic_ms() < deadline_ms)
        ;
    stop(&bench);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE attempts > 0"), 1);
    assert_int_equal(test_server_n_requests(bench.server), 0);
    end(&bench);
}

/* --- a deferred start --- */

/* Completes the deferred start: the receiver, and a key for its calls. */
static void complete_start(struct bench *bench)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    struct init_plan plan = {.user_id = &bench->fixture->user_id};
    struct error err = ERROR_INIT;

    strbuf_appendf(&content,
                   "{\"session_key\": \"key-of-start\", \"webhooks\": [{\"base_url\": \"%s\","
                   " \"event_buffer_size\": 1}]}",
                   test_server_url(bench->server, "/brought"));
    secret_set(&plain, content.text);
    keyring_seal(&bench->context->keyring, INIT_SEAL_CONTEXT, &plain, &sealed);
    plan.settings = sealed.text;
    check(init_store_begin(bench->context->db, &plan, &err), &err);
}

static void deferred_start_brings_a_receiver(void **state)
{
    static const char *const own_keys[] = {"", "key-of-all"};

    for (size_t i = 0; i < 2; i++) {
        struct bench bench;

        begin(&bench, *state, &(struct test_reply){.bytes = NULL}, 1);
        secret_done(&bench.context->settings.session_key);
        if (own_keys[i][0] != '\0')
            secret_set(&bench.context->settings.session_key, own_keys[i]);
        bench.context->settings.deferred_init = 1;
        add_conversations(&bench, 1);
        start(&bench);
        assert_non_null(bench.sender);
        complete_start(&bench);
        wait_for_requests(&bench, 2);
        assert_true(is_asked(&bench, 0, "POST /brought/conversations HTTP"));
        assert_int_equal(is_asked(&bench, 0, "key-of-start"), i == 0);
        assert_int_equal(is_asked(&bench, 0, "key-of-all"), i == 1);
        end(&bench);
    }
}

/* Without OH_DEFERRED_INIT, what an earlier deferred start brought is not used. */
static void earlier_deferred_start_brings_nothing(void **state)
{
    struct bench bench;

    begin(&bench, *state, &(struct test_reply){.bytes = NULL}, 1);
    complete_start(&bench);
    add_receiver(&bench);
    add_conversations(&bench, 1);
    start(&bench);
    wait_for_requests(&bench, 2);
    stop(&bench);
    for (size_t i = 0; i < test_server_n_requests(bench.server); i++)
        assert_true(is_asked(&bench, i, "POST /hook/"));
    end(&bench);
}

/* Its content was sealed by another server: the worker's own receivers are served all the same. */
static void unreadable_deferred_start_is_left_out(void **state)
{
    const struct uuid *user_id = &((struct run_fixture *)*state)->user_id;
    struct init_plan plan = {.user_id = user_id, .settings = "nonsense"};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, *state, &(struct test_reply){.bytes = NULL}, 1);
    bench.context->settings.deferred_init = 1;
    check(init_store_begin(bench.context->db, &plan, &err), &err);
    add_receiver(&bench);
    add_conversations(&bench, 1);
    start(&bench);
    wait_for_requests(&bench, 2);
    assert_true(is_asked(&bench, 0, "POST /hook/conversations HTTP"));
    end(&bench);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_receivers_there_is_no_sender),
        cmocka_unit_test(conversations_state_and_events_are_delivered),
        cmocka_unit_test(new_receiver_gets_what_comes_after_it),
        cmocka_unit_test(failing_receiver_is_called_again_after_a_rest),
        cmocka_unit_test(one_receiver_gets_a_few_calls_at_once),
        cmocka_unit_test(failing_receiver_gets_one_call_at_a_time),
        cmocka_unit_test(private_receiver_is_called_only_where_it_is_allowed),
        cmocka_unit_test(deferred_start_brings_a_receiver),
        cmocka_unit_test(earlier_deferred_start_brings_nothing),
        cmocka_unit_test(unreadable_deferred_start_is_left_out),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}

/*
 * What the store promises of webhooks: every event in order, once for each yes, whoever dies.
 */
#include "store/webhook_store.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation.h"
#include "model/event.h"
#include "model/webhook.h"
#include "store/db.h"
#include "store/event_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

#define RECEIVER                                                                                   \
    {                                                                                              \
        .id = (char[]){"t"},                                                                       \
        .n_buffered = 3,                                                                           \
        .flush_ms = 3600000,                                                                       \
        .n_retries = 0,                                                                            \
        .retry_ms = 3600000,                                                                       \
        .max_events = 2,                                                                           \
        .max_queue_bytes = 1 << 20,                                                                \
        .max_batch_bytes = 1 << 20,                                                                \
    }

static const struct webhook receiver = RECEIVER;

/* Each test has the receivers' tables for itself. */
static int begin(void **state)
{
    struct store_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    test_sql("DELETE FROM webhooks; DELETE FROM conversations; DELETE FROM events");
    assert_done(webhook_store_ensure(fixture->db, &receiver, &err), &err);
    return 0;
}

static void add_events(const struct store_fixture *fixture, struct conversation *conversation,
                       int n)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    for (int i = 0; i < n; i++)
        event_add_pause(&events);
    assert_done(conversation_store_write(fixture->db, conversation, &events, &write, &err), &err);
}

/* As if a second had passed since the last look. */
static void look(const struct store_fixture *fixture)
{
    struct error err = ERROR_INIT;

    test_sql("UPDATE webhooks SET scanned_to = now() - interval '1 second'");
    assert_done(webhook_store_look(fixture->db, &receiver, &err), &err);
}

static bool claim(const struct store_fixture *fixture, struct webhook_claim *claim_out)
{
    struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    assert_done(webhook_store_claim(fixture->db, &receiver, &owner, &is_claimed, claim_out, &err),
                &err);
    return is_claimed;
}

/* Reads the next batch, which has the numbers from..to. */
static void assert_batch(const struct store_fixture *fixture, const struct webhook_claim *claimed,
                         int64_t from, int64_t to)
{
    CLEANUP(event_batch_done) struct event_batch batch = {.n = 0};
    struct error err = ERROR_INIT;

    assert_done(webhook_store_read(fixture->db, claimed, &batch, &err), &err);
    assert_int_equal(batch.n, to - from + 1);
    for (size_t i = 0; i < batch.n; i++)
        assert_int_equal(batch.seqs[i], from + (int64_t)i);
}

static void tell_and_take(const struct store_fixture *fixture, struct webhook_claim *claimed,
                          int64_t seq)
{
    struct error err = ERROR_INIT;

    assert_done(webhook_store_set_told(fixture->db, claimed, &err), &err);
    assert_done(webhook_store_set_taken(fixture->db, claimed, seq, &err), &err);
    assert_done(webhook_store_release(fixture->db, claimed, &err), &err);
}

static void news_is_due_once(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim first = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim second = {.webhook = NULL};

    add_events(fixture, &conversation, 2);
    look(fixture);
    assert_true(claim(fixture, &first));
    assert_string_equal(first.conversation_id.text, conversation.id.text);
    assert_true(first.has_news);
    assert_false(claim(fixture, &second));
    assert_batch(fixture, &first, 1, 2);
    tell_and_take(fixture, &first, 2);
    look(fixture);
    assert_false(claim(fixture, &second));
}

static void few_events_wait_and_a_full_buffer_does_not(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim first = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim second = {.webhook = NULL};

    look(fixture);
    assert_true(claim(fixture, &first));
    tell_and_take(fixture, &first, 0);
    add_events(fixture, &conversation, 2);
    look(fixture);
    assert_false(claim(fixture, &second));
    add_events(fixture, &conversation, 1);
    look(fixture);
    assert_true(claim(fixture, &second));
    assert_false(second.has_news);
    assert_batch(fixture, &second, 1, 3);
}

static void what_comes_during_a_delivery_is_due_after_it(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim first = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim second = {.webhook = NULL};

    add_events(fixture, &conversation, 1);
    look(fixture);
    assert_true(claim(fixture, &first));
    add_events(fixture, &conversation, 3);
    tell_and_take(fixture, &first, 1);
    assert_true(claim(fixture, &second));
    assert_batch(fixture, &second, 2, 4);
}

static void older_events_were_never_promised(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim claimed = {.webhook = NULL};

    add_events(fixture, &conversation, 2);
    test_sql("UPDATE webhooks SET since = now()");
    add_events(fixture, &conversation, 1);
    look(fixture);
    assert_true(claim(fixture, &claimed));
    assert_batch(fixture, &claimed, 3, 3);
}

static void lost_lease_changes_nothing(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim stale = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim other = {.webhook = NULL};
    struct error err = ERROR_INIT;
    int64_t n_dropped = 0;

    add_events(fixture, &conversation, 3);
    look(fixture);
    assert_true(claim(fixture, &stale));
    test_sql("UPDATE webhook_cursors SET lease_expires_at = now()");
    assert_true(claim(fixture, &other));
    assert_int_equal(webhook_store_set_told(fixture->db, &stale, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(webhook_store_set_taken(fixture->db, &stale, 3, &err), -1);
    assert_int_equal(webhook_store_fail(fixture->db, &stale, &n_dropped, &err), -1);
    assert_int_equal(webhook_store_end(fixture->db, &stale, &err), -1);
    assert_int_equal(webhook_store_release(fixture->db, &stale, &err), -1);
    assert_batch(fixture, &other, 1, 3);
}

static void failing_queue_keeps_its_newest(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim first = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim second = {.webhook = NULL};
    struct error err = ERROR_INIT;
    int64_t n_dropped = 0;

    add_events(fixture, &conversation, 5);
    look(fixture);
    assert_true(claim(fixture, &first));
    assert_done(webhook_store_fail(fixture->db, &first, &n_dropped, &err), &err);
    assert_int_equal(n_dropped, 3);
    look(fixture);
    assert_false(claim(fixture, &second));
    test_sql("UPDATE webhook_cursors SET due_at = now()");
    assert_true(claim(fixture, &second));
    assert_int_equal(second.n_failures, 1);
    assert_batch(fixture, &second, 4, 5);
}

static void deleted_conversation_leaves_its_events_and_a_farewell(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim early = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim late = {.webhook = NULL};
    struct error err = ERROR_INIT;

    add_events(fixture, &conversation, 3);
    look(fixture);
    assert_true(claim(fixture, &early));
    assert_done(webhook_store_set_taken(fixture->db, &early, 1, &err), &err);
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &conversation.id, &err),
                &err);
    /* Who holds it does not know yet: it must not forget what is left. */
    assert_int_equal(webhook_store_end(fixture->db, &early, &err), -1);
    assert_done(webhook_store_release(fixture->db, &early, &err), &err);
    assert_true(claim(fixture, &late));
    assert_batch(fixture, &late, 2, 3);
    assert_non_null(strstr(late.farewell, "\"execution_status\":\"deleting\""));
    assert_non_null(strstr(late.farewell, conversation.id.text));
    assert_done(webhook_store_end(fixture->db, &late, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_leftovers"), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors"), 0);
}

static void deleting_is_free_of_receivers_that_nobody_serves(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    struct error err = ERROR_INIT;

    test_sql("UPDATE webhooks SET scanned_to = now() - interval '8 days'");
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &conversation.id, &err),
                &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors"), 0);
    assert_done(webhook_store_forget(fixture->db, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhooks"), 0);
    assert_done(webhook_store_ensure(fixture->db, &receiver, &err), &err);
    assert_int_equal(
        test_sql_count("SELECT count(*) FROM webhooks WHERE since > now() - interval '1 hour'"), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(news_is_due_once, begin),
        cmocka_unit_test_setup(few_events_wait_and_a_full_buffer_does_not, begin),
        cmocka_unit_test_setup(what_comes_during_a_delivery_is_due_after_it, begin),
        cmocka_unit_test_setup(older_events_were_never_promised, begin),
        cmocka_unit_test_setup(lost_lease_changes_nothing, begin),
        cmocka_unit_test_setup(failing_queue_keeps_its_newest, begin),
        cmocka_unit_test_setup(deleted_conversation_leaves_its_events_and_a_farewell, begin),
        cmocka_unit_test_setup(deleting_is_free_of_receivers_that_nobody_serves, begin),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

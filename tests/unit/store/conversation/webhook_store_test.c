/*
 * The store's guarantees for webhooks: every event in order, once for each yes, even after crashes.
 */
#include "store/conversation/webhook_store.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/conversation/webhook.h"
#include "model/event/event.h"
#include "store/conversation/event_store.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/store_fixture.h"
#include "support/json_path.h"
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

/* A worker's appends do not touch the conversation's row. */
static void events_of_a_run_are_due_when_they_fill_a_buffer(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim run = store_claim(fixture, &conversation);
    CLEANUP(webhook_claim_done) struct webhook_claim first = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim second = {.webhook = NULL};

    look(fixture);
    assert_true(claim(fixture, &first));
    tell_and_take(fixture, &first, 0);
    for (int i = 0; i < 3; i++) {
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        struct error err = ERROR_INIT;

        look(fixture);
        assert_false(claim(fixture, &second));
        event_add_pause(&events);
        assert_done(
            conversation_store_append(fixture->db, &run.lease, &run.conversation, &events, &err),
            &err);
    }
    look(fixture);
    assert_true(claim(fixture, &second));
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

/* Workers that claim or look at once do not wait for each other. */
static void cursor_that_another_has_locked_is_passed_over(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation one = store_create(fixture);
    CLEANUP(conversation_done) struct conversation other = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim first = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim second = {.webhook = NULL};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_tx *tx = NULL;
    struct error err = ERROR_INIT;

    look(fixture);
    strbuf_appendf(&sql,
                   "UPDATE webhook_cursors SET due_at = now() - interval '1 hour'"
                   " WHERE conversation_id = '%s'; UPDATE webhooks SET scanned_to = now() -"
                   " interval '1 second'",
                   one.id.text);
    test_sql(sql.text);
    tx = test_tx_begin();
    test_tx_sql(tx, "SELECT 1 FROM webhooks FOR UPDATE");
    strbuf_reset(&sql);
    strbuf_appendf(&sql, "SELECT 1 FROM webhook_cursors WHERE conversation_id = '%s' FOR UPDATE",
                   one.id.text);
    test_tx_sql(tx, sql.text);
    assert_done(webhook_store_look(fixture->db, &receiver, &err), &err);
    assert_true(claim(fixture, &first));
    assert_string_equal(first.conversation_id.text, other.id.text);
    assert_false(claim(fixture, &second));
    test_tx_commit(tx);
    assert_true(claim(fixture, &second));
    assert_string_equal(second.conversation_id.text, one.id.text);
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
    /* The holder does not know of the delete yet: it must not end the delivery. */
    assert_int_equal(webhook_store_end(fixture->db, &early, &err), -1);
    assert_done(webhook_store_release(fixture->db, &early, &err), &err);
    assert_true(claim(fixture, &late));
    assert_batch(fixture, &late, 2, 3);
    assert_json_at(late.farewell, "execution_status", "\"deleting\"");
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

/* --- the order in which cursors are taken --- */

#define LOW_ID "00000000-0000-4000-8000-000000000000"
#define HIGH_ID "ffffffff-ffff-4fff-bfff-ffffffffffff"
#define OWNER_ID "11111111-1111-4111-8111-111111111111"

/* Something that takes two cursors. */
struct taker {
    const struct store_fixture *fixture;
    int (*take)(struct taker *taker, struct error *err);
    struct uuid id; /* of a conversation that is deleted */
};

static struct uuid uuid_of(const char *text)
{
    struct uuid id = UUID_INIT;

    assert_true(uuid_parse(text, &id));
    return id;
}

static int renew_both(struct taker *taker, struct error *err)
{
    const struct uuid owner = uuid_of(OWNER_ID);
    const struct uuid ids[] = {uuid_of(HIGH_ID), uuid_of(LOW_ID)};

    return webhook_store_renew(taker->fixture->db, &owner, ids, 2, err);
}

static int let_both_go(struct taker *taker, struct error *err)
{
    const struct uuid owner = uuid_of(OWNER_ID);

    return webhook_store_let_go(taker->fixture->db, &owner, err);
}

static int delete_told_to_two(struct taker *taker, struct error *err)
{
    return conversation_store_delete(taker->fixture->db, &taker->fixture->scope, &taker->id, err);
}

static void *take(void *argument)
{
    struct taker *taker = argument;
    struct error err = ERROR_INIT;

    assert_done(taker->take(taker, &err), &err);
    return NULL;
}

static int64_t count_waiting(void)
{
    return test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                          " AND datname = current_database()");
}

static void lock_one(struct db_tx *tx, const char *webhook_id, const char *conversation_id)
{
    static const char SQL_LOCK_ONE[] = "SELECT 1 FROM webhook_cursors WHERE webhook_id = $1"
                                       " AND conversation_id = $2::uuid FOR UPDATE NOWAIT";
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    assert_done(db_tx_query(tx, SQL_LOCK_ONE, DB_PARAMS(webhook_id, conversation_id), &rows, &err),
                &err);
}

/* A transaction that waits for the first cursor has not locked the second. */
static void assert_taken_in_order(struct taker *taker, const char *const first[2],
                                  const char *const second[2])
{
    struct db_tx held = DB_TX_INIT;
    struct error err = ERROR_INIT;
    pthread_t thread = 0;

    assert_done(db_tx_begin(taker->fixture->db, &held, &err), &err);
    lock_one(&held, first[0], first[1]);
    assert_int_equal(pthread_create(&thread, NULL, take, taker), 0);
    while (count_waiting() < 1)
        sched_yield();
    lock_one(&held, second[0], second[1]);
    db_tx_end(&held);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void cursors_are_taken_in_one_order(void **state)
{
    static const char *const low[2] = {"t", LOW_ID};
    static const char *const high[2] = {"t", HIGH_ID};
    struct taker taker = {.fixture = *state, .take = renew_both};

    test_sql("INSERT INTO webhook_cursors (webhook_id, conversation_id, seq, lease_owner,"
             " lease_expires_at) VALUES ('t', '" HIGH_ID "', 0, '" OWNER_ID "', 'infinity'),"
             " ('t', '" LOW_ID "', 0, '" OWNER_ID "', 'infinity')");
    assert_taken_in_order(&taker, low, high);
    taker.take = let_both_go;
    assert_taken_in_order(&taker, low, high);
}

static void delete_takes_cursors_in_that_order(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = store_create(*state);
    struct taker taker = {.fixture = *state, .take = delete_told_to_two, .id = conversation.id};
    const char *const first[2] = {"a", conversation.id.text};
    const char *const second[2] = {"t", conversation.id.text};

    test_sql("INSERT INTO webhooks (id) VALUES ('a')");
    test_sql("INSERT INTO webhook_cursors (webhook_id, conversation_id, seq)"
             " SELECT w.id, c.id, 0 FROM webhooks w, conversations c");
    assert_taken_in_order(&taker, first, second);
}

static void delivery_is_renewed_for_the_worker_that_has_it_alone(void **state)
{
    static const char SQL_LATE[] =
        "SELECT count(*) FROM webhook_cursors WHERE lease_expires_at"
        " NOT BETWEEN now() - interval '1 hour' AND now() + interval '10 seconds'";
    const struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim claimed = {.webhook = NULL};
    const struct uuid other = uuid_random();
    struct error err = ERROR_INIT;

    add_events(fixture, &conversation, 1);
    look(fixture);
    assert_true(claim(fixture, &claimed));
    test_sql("UPDATE webhook_cursors SET lease_expires_at = now() - interval '2 hours'");
    assert_done(webhook_store_renew(fixture->db, &other, &conversation.id, 1, &err), &err);
    assert_int_equal(test_sql_count(SQL_LATE), 1);
    assert_done(webhook_store_renew(fixture->db, &claimed.owner, &conversation.id, 1, &err), &err);
    assert_int_equal(test_sql_count(SQL_LATE), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(news_is_due_once, begin),
        cmocka_unit_test_setup(few_events_wait_and_a_full_buffer_does_not, begin),
        cmocka_unit_test_setup(events_of_a_run_are_due_when_they_fill_a_buffer, begin),
        cmocka_unit_test_setup(what_comes_during_a_delivery_is_due_after_it, begin),
        cmocka_unit_test_setup(cursor_that_another_has_locked_is_passed_over, begin),
        cmocka_unit_test_setup(older_events_were_never_promised, begin),
        cmocka_unit_test_setup(lost_lease_changes_nothing, begin),
        cmocka_unit_test_setup(delivery_is_renewed_for_the_worker_that_has_it_alone, begin),
        cmocka_unit_test_setup(failing_queue_keeps_its_newest, begin),
        cmocka_unit_test_setup(deleted_conversation_leaves_its_events_and_a_farewell, begin),
        cmocka_unit_test_setup(cursors_are_taken_in_one_order, begin),
        cmocka_unit_test_setup(delete_takes_cursors_in_that_order, begin),
        cmocka_unit_test_setup(deleting_is_free_of_receivers_that_nobody_serves, begin),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

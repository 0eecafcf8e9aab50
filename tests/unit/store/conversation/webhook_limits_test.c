/*
 * Deliveries at their limits: when one is due, how much a batch and a failing queue hold, and what
 * each receiver gets of conversations that are deleted.
 */
#include <string.h>

#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/conversation/webhook.h"
#include "model/event/event.h"
#include "store/conversation/event_store.h"
#include "store/conversation/webhook_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { HOUR_MS = 3600000 };

static struct webhook new_receiver(const char *id)
{
    return (struct webhook){.id = (char *)(uintptr_t)id,
                            .n_buffered = 3,
                            .flush_ms = HOUR_MS,
                            .n_retries = 1,
                            .retry_ms = HOUR_MS,
                            .max_events = 10,
                            .max_queue_bytes = 1 << 20,
                            .max_batch_bytes = 1 << 20};
}

static int begin(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct webhook receiver = new_receiver("t");
    struct error err = ERROR_INIT;

    test_sql("DELETE FROM webhooks; DELETE FROM conversations; DELETE FROM events");
    test_sql("DELETE FROM webhook_cursors; DELETE FROM webhook_leftovers");
    assert_done(webhook_store_ensure(fixture->db, &receiver, &err), &err);
    return 0;
}

static void add_events(const struct store_fixture *fixture, struct conversation *conversation,
                       int n)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    for (int i = 0; i < n; i++)
        event_add_pause(&events);
    assert_done(conversation_store_write(fixture->db, conversation, &events, &write, &err), &err);
}

/* As if a second had passed since the last look. */
static void look(const struct store_fixture *fixture, const struct webhook *receiver)
{
    struct error err = ERROR_INIT;

    test_sql("UPDATE webhooks SET scanned_to = now() - interval '1 second'");
    assert_done(webhook_store_look(fixture->db, receiver, &err), &err);
}

static bool claim(const struct store_fixture *fixture, const struct webhook *receiver,
                  struct webhook_claim *claim_out)
{
    const struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    assert_done(webhook_store_claim(fixture->db, receiver, &owner, &is_claimed, claim_out, &err),
                &err);
    return is_claimed;
}

/* The state is told, the events up to there are taken. */
static void deliver(const struct store_fixture *fixture, struct webhook_claim *claimed, int64_t seq)
{
    struct error err = ERROR_INIT;

    assert_done(webhook_store_set_told(fixture->db, claimed, &err), &err);
    assert_false(claimed->has_news);
    assert_done(webhook_store_set_taken(fixture->db, claimed, seq, &err), &err);
    assert_int_equal(claimed->seq, seq);
    assert_int_equal(claimed->n_failures, 0);
}

/* A conversation whose state was told and whose first event was taken. */
static struct conversation new_told(const struct store_fixture *fixture,
                                    const struct webhook *receiver)
{
    CLEANUP(webhook_claim_done) struct webhook_claim claimed = {.webhook = NULL};
    struct conversation conversation = store_create(fixture);
    struct error err = ERROR_INIT;

    add_events(fixture, &conversation, 1);
    look(fixture, receiver);
    assert_true(claim(fixture, receiver, &claimed));
    deliver(fixture, &claimed, 1);
    assert_done(webhook_store_release(fixture->db, &claimed, &err), &err);
    return conversation;
}

/* The numbers of the next batch, each with a comma. */
static void assert_batch(const struct store_fixture *fixture, const struct webhook_claim *claimed,
                         const char *expected)
{
    CLEANUP(event_batch_done) struct event_batch batch = {.n = 0};
    CLEANUP(strbuf_done) struct strbuf seqs = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_done(webhook_store_read(fixture->db, claimed, &batch, &err), &err);
    strbuf_append(&seqs, "");
    for (size_t i = 0; i < batch.n; i++)
        strbuf_appendf(&seqs, "%lld,", (long long)batch.seqs[i]);
    assert_string_equal(seqs.text, expected);
}

static int64_t body_bytes(void)
{
    return test_sql_count("SELECT max(octet_length(body)) FROM events");
}

/* --- when events are due --- */

#define DUE_NOW "due_at <= now()"
#define DUE_LATER "due_at BETWEEN now() + interval '50 minutes' AND now() + interval '60 minutes'"

static void events_are_due_when_they_fill_a_buffer_or_a_batch_or_have_waited(void **state)
{
    static const struct {
        int n_events;
        int64_t n_buffered;
        int64_t flush_ms;
        int64_t n_bodies; /* that a batch holds */
        const char *due;
    } cases[] = {
        {0, 3, HOUR_MS, 9, "due_at IS NULL"}, {2, 3, HOUR_MS, 9, DUE_LATER},
        {3, 3, HOUR_MS, 9, DUE_NOW},          {2, 3, HOUR_MS, 2, DUE_NOW},
        {2, 3, HOUR_MS, 3, DUE_LATER},        {1, 3, 0, 9, DUE_NOW},
        {0, 3, 0, 9, "due_at IS NULL"},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct webhook receiver = new_receiver("t");
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

        (void)begin(state);
        conversation = new_told(fixture, &receiver);
        add_events(fixture, &conversation, cases[i].n_events);
        receiver.n_buffered = cases[i].n_buffered;
        receiver.flush_ms = cases[i].flush_ms;
        receiver.max_batch_bytes = cases[i].n_bodies * body_bytes();
        look(fixture, &receiver);
        strbuf_appendf(&sql, "SELECT count(*) FROM webhook_cursors WHERE %s", cases[i].due);
        assert_int_equal(test_sql_count(sql.text), 1);
    }
}

/* A release computes the same as a look. */
static void released_delivery_is_due_for_what_is_left(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct webhook receiver = new_receiver("t");
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim claimed = {.webhook = NULL};
    struct error err = ERROR_INIT;

    add_events(fixture, &conversation, 2);
    look(fixture, &receiver);
    assert_true(claim(fixture, &receiver, &claimed));
    assert_done(webhook_store_set_taken(fixture->db, &claimed, 1, &err), &err);
    assert_done(webhook_store_release(fixture->db, &claimed, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE " DUE_NOW
                                    " AND lease_owner IS NULL AND lease_expires_at IS NULL"),
                     1);
    webhook_claim_done(&claimed);
    assert_true(claim(fixture, &receiver, &claimed));
    deliver(fixture, &claimed, 1);
    assert_done(webhook_store_release(fixture->db, &claimed, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE " DUE_LATER), 1);
}

static void look_waits_for_the_last_one_to_be_old_enough(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct webhook receiver = new_receiver("t");
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    struct error err = ERROR_INIT;

    test_sql("UPDATE webhooks SET scanned_to = now() + interval '1 minute'");
    assert_done(webhook_store_look(fixture->db, &receiver, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors"), 0);
    look(fixture, &receiver);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors"), 1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhooks WHERE id = 't'"
                                    " AND scanned_to <= now()"),
                     1);
}

/* Title, status, specification and the version of the snapshot are the state; times are not. */
static void each_part_of_the_state_is_news(void **state)
{
    static const struct {
        const char *change;
        bool is_news;
    } cases[] = {
        {"title = 'new', updated_at = now()", true},
        {"execution_status = 'paused', updated_at = now()", true},
        {"snapshot_version = 9, updated_at = now()", true},
        {"spec = '{\"new\": 1}', updated_at = now()", true},
        {"updated_at = now()", false},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct webhook receiver = new_receiver("t");
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(webhook_claim_done) struct webhook_claim claimed = {.webhook = NULL};
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

        (void)begin(state);
        conversation = new_told(fixture, &receiver);
        strbuf_appendf(&sql, "UPDATE conversations SET %s", cases[i].change);
        test_sql(sql.text);
        look(fixture, &receiver);
        assert_int_equal(claim(fixture, &receiver, &claimed), cases[i].is_news);
        assert_int_equal(claimed.has_news, cases[i].is_news);
    }
}

/* --- what a batch and a queue hold --- */

static void batch_holds_what_fits_and_at_least_one(void **state)
{
    static const struct {
        int64_t n_bodies;
        int64_t n_bytes_more;
        const char *seqs;
    } cases[] = {
        {0, 1, "1,"}, {1, 0, "1,"}, {2, -1, "1,"}, {2, 0, "1,2,"}, {9, 0, "1,2,3,4,"},
    };
    const struct store_fixture *fixture = *state;
    struct webhook receiver = new_receiver("t");
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim live = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim left = {.webhook = NULL};
    struct error err = ERROR_INIT;
    int64_t n_bytes = 0;

    add_events(fixture, &conversation, 4);
    n_bytes = body_bytes();
    look(fixture, &receiver);
    assert_true(claim(fixture, &receiver, &live));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        receiver.max_batch_bytes = cases[i].n_bodies * n_bytes + cases[i].n_bytes_more;
        assert_batch(fixture, &live, cases[i].seqs);
    }
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &conversation.id, &err),
                &err);
    test_sql("UPDATE webhook_cursors SET lease_expires_at = now()");
    assert_true(claim(fixture, &receiver, &left));
    assert_non_null(left.farewell);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        receiver.max_batch_bytes = cases[i].n_bodies * n_bytes + cases[i].n_bytes_more;
        assert_batch(fixture, &left, cases[i].seqs);
    }
}

static void batch_holds_a_hundred_events(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct webhook receiver = new_receiver("t");
    CLEANUP(conversation_done) struct conversation conversation = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim claimed = {.webhook = NULL};
    CLEANUP(event_batch_done) struct event_batch batch = {.n = 0};
    struct error err = ERROR_INIT;

    add_events(fixture, &conversation, 103);
    look(fixture, &receiver);
    assert_true(claim(fixture, &receiver, &claimed));
    assert_done(webhook_store_read(fixture->db, &claimed, &batch, &err), &err);
    assert_int_equal(batch.n, 100);
    assert_int_equal(batch.seqs[0], 1);
    assert_int_equal(batch.seqs[99], 100);
}

static void queue_drops_its_oldest_after_the_last_retry(void **state)
{
    static const struct {
        int64_t n_failures; /* before */
        int64_t max_events;
        int64_t n_bodies;
        int64_t n_dropped;
    } cases[] = {
        {0, 2, 9, 0}, /* one retry is left */
        {1, 2, 9, 3}, {1, 5, 9, 0}, {1, 9, 9, 0}, {1, 9, 2, 3}, {1, 9, 0, 4},
    };
    const struct store_fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct webhook receiver = new_receiver("t");
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(webhook_claim_done) struct webhook_claim claimed = {.webhook = NULL};
        CLEANUP(webhook_claim_done) struct webhook_claim again = {.webhook = NULL};
        struct error err = ERROR_INIT;
        int64_t n_dropped = -1;

        (void)begin(state);
        conversation = store_create(fixture);
        add_events(fixture, &conversation, 5);
        look(fixture, &receiver);
        assert_true(claim(fixture, &receiver, &claimed));
        claimed.n_failures = cases[i].n_failures;
        receiver.max_events = cases[i].max_events;
        receiver.max_queue_bytes = cases[i].n_bodies * body_bytes();
        assert_done(webhook_store_fail(fixture->db, &claimed, &n_dropped, &err), &err);
        assert_int_equal(n_dropped, cases[i].n_dropped);
        assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE attempts = 1"
                                        " AND due_at > now() + interval '1 minute'"
                                        " AND lease_owner IS NULL"),
                         1);
        test_sql("UPDATE webhook_cursors SET due_at = now()");
        assert_true(claim(fixture, &receiver, &again));
        assert_int_equal(again.seq, cases[i].n_dropped);
        assert_int_equal(again.n_failures, 1);
    }
}

/* --- leases --- */

static void worker_lets_go_of_all_that_it_has_and_of_nothing_else(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct webhook receiver = new_receiver("t");
    CLEANUP(conversation_done) struct conversation one = store_create(fixture);
    CLEANUP(conversation_done) struct conversation two = store_create(fixture);
    CLEANUP(webhook_claim_done) struct webhook_claim first = {.webhook = NULL};
    CLEANUP(webhook_claim_done) struct webhook_claim second = {.webhook = NULL};
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    look(fixture, &receiver);
    assert_true(claim(fixture, &receiver, &first));
    assert_true(claim(fixture, &receiver, &second));
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE lease_expires_at"
                                    " BETWEEN now() + interval '1 second'"
                                    " AND now() + interval '10 seconds'"),
                     2);
    assert_done(webhook_store_let_go(fixture->db, &first.owner, &err), &err);
    strbuf_appendf(&sql,
                   "SELECT count(*) FROM webhook_cursors WHERE (conversation_id = '%s') ="
                   " (lease_owner IS NULL AND lease_expires_at IS NULL)",
                   first.conversation_id.text);
    assert_int_equal(test_sql_count(sql.text), 2);
}

/* --- what deleted conversations leave --- */

static void assert_leftovers(const struct store_fixture *fixture, const struct webhook *receiver,
                             const struct conversation *of, const char *seqs)
{
    for (int i = 0; i < 2; i++) {
        CLEANUP(webhook_claim_done) struct webhook_claim claimed = {.webhook = NULL};

        assert_true(claim(fixture, receiver, &claimed));
        assert_non_null(claimed.farewell);
        if (strcmp(claimed.conversation_id.text, of->id.text) == 0)
            assert_batch(fixture, &claimed, seqs);
    }
    test_sql("UPDATE webhook_cursors SET lease_owner = NULL, lease_expires_at = NULL");
}

static void each_receiver_gets_the_rest_of_each_conversation(void **state)
{
    const struct store_fixture *fixture = *state;
    const struct webhook first = new_receiver("t");
    const struct webhook second = new_receiver("u");
    CLEANUP(conversation_done) struct conversation one = new_told(fixture, &first);
    CLEANUP(conversation_done) struct conversation two = new_told(fixture, &first);
    struct error err = ERROR_INIT;

    assert_done(webhook_store_ensure(fixture->db, &second, &err), &err);
    test_sql("UPDATE webhooks SET since = '2020-01-01T00:00:00Z'");
    add_events(fixture, &one, 1);
    add_events(fixture, &two, 3);
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &one.id, &err), &err);
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &two.id, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM webhook_cursors WHERE " DUE_NOW
                                    " AND due_at > now() - interval '10 minutes'"),
                     4);
    assert_leftovers(fixture, &first, &one, "2,");
    assert_leftovers(fixture, &first, &two, "2,3,4,");
    assert_leftovers(fixture, &second, &one, "1,2,");
    assert_leftovers(fixture, &second, &two, "1,2,3,4,");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(events_are_due_when_they_fill_a_buffer_or_a_batch_or_have_waited,
                               begin),
        cmocka_unit_test_setup(released_delivery_is_due_for_what_is_left, begin),
        cmocka_unit_test_setup(look_waits_for_the_last_one_to_be_old_enough, begin),
        cmocka_unit_test_setup(each_part_of_the_state_is_news, begin),
        cmocka_unit_test_setup(batch_holds_what_fits_and_at_least_one, begin),
        cmocka_unit_test_setup(batch_holds_a_hundred_events, begin),
        cmocka_unit_test_setup(queue_drops_its_oldest_after_the_last_retry, begin),
        cmocka_unit_test_setup(worker_lets_go_of_all_that_it_has_and_of_nothing_else, begin),
        cmocka_unit_test_setup(each_receiver_gets_the_rest_of_each_conversation, begin),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

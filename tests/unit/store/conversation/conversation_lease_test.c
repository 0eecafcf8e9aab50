/*
 * Guarantees of a lease: gapless order with any number of writers, no writes by a stale writer, no
 * claim by two workers.
 */
#include <pthread.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "store/db/db.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum {
    RACE_EVENTS = 5000,
    TAKE_OVER_ROUNDS = 200,
    CLAIM_ROUNDS = 20,
    CLAIMANTS = 6,
    RACE_SLOTS = 3
};

/* One writer of the race: appends until its events are in, reading anew after each conflict. */
struct racer {
    const struct store_fixture *fixture;
    struct conversation conversation;
    const struct lease *lease; /* NULL: a client */
    int n_conflicts;
    bool failed;
};

static int race_once(struct racer *racer, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};

    event_add_pause(&events);
    if (racer->lease != NULL)
        return conversation_store_append(racer->fixture->db, racer->lease, &racer->conversation,
                                         &events, err);
    return conversation_store_write(racer->fixture->db, &racer->conversation, &events, &write, err);
}

static void *race(void *context)
{
    struct racer *racer = context;
    struct error err = ERROR_INIT;

    for (int i = 0; i < RACE_EVENTS; i++) {
        while (race_once(racer, &err) < 0) {
            CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;

            racer->n_conflicts++;
            if (err.code != ERROR_CONFLICT ||
                conversation_store_load(racer->fixture->db, &racer->fixture->scope,
                                        &racer->conversation.id, &now, &err) < 0) {
                racer->failed = true;
                return NULL;
            }
            racer->conversation.last_seq = now.last_seq;
            racer->conversation.last_timestamp_us = now.last_timestamp_us;
        }
    }
    return NULL;
}

/* Renews the lease while the race runs: it may take longer than a lease. */
struct heart {
    const struct store_fixture *fixture;
    const struct lease *lease;
    struct lock lock; /* guards is_over */
    struct condition changed;
    bool is_over;
};

static bool is_over_by(struct heart *heart, int64_t deadline_ms)
{
    bool in_time = true;
    bool is_over = false;

    lock_take(&heart->lock);
    while (!heart->is_over && in_time)
        in_time = condition_wait_until(&heart->changed, &heart->lock, deadline_ms);
    is_over = heart->is_over;
    lock_release(&heart->lock);
    return is_over;
}

static void *beat(void *context)
{
    struct heart *heart = context;
    struct error err = ERROR_INIT;

    do {
        struct held_lease held = {.conversation_id = heart->lease->conversation_id,
                                  .fence = heart->lease->fence};

        assert_int_equal(
            conversation_store_renew(heart->fixture->db, &heart->lease->owner, &held, 1, &err), 0);
    } while (!is_over_by(heart, clock_monotonic_ms() + HEARTBEAT_MS));
    return NULL;
}

static void end_heart(struct heart *heart)
{
    lock_take(&heart->lock);
    heart->is_over = true;
    condition_wake_all(&heart->changed);
    lock_release(&heart->lock);
}

static void client_and_worker_race_without_gap_or_loss(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    struct racer worker = {
        .fixture = fixture, .conversation = claim.conversation, .lease = &claim.lease};
    struct racer client = {.fixture = fixture, .conversation = made};
    struct heart heart = {.fixture = fixture, .lease = &claim.lease};
    pthread_t threads[3];

    lock_init(&heart.lock);
    condition_init(&heart.changed);
    pthread_create(&threads[0], NULL, beat, &heart);
    pthread_create(&threads[1], NULL, race, &worker);
    pthread_create(&threads[2], NULL, race, &client);
    pthread_join(threads[1], NULL);
    pthread_join(threads[2], NULL);
    end_heart(&heart);
    pthread_join(threads[0], NULL);
    condition_done(&heart.changed);
    lock_done(&heart.lock);
    assert_false(worker.failed);
    assert_false(client.failed);
    assert_true(worker.n_conflicts + client.n_conflicts > 0);
    store_assert_gapless(fixture, &made.id, 2L * RACE_EVENTS);
}

static void stale_worker_writes_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim first = store_claim(fixture, &made);
    CLEANUP(claim_done) struct claim second = {.conversation = CONVERSATION_INIT};
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &first.lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;

    store_expire_lease(&made.id);
    second = store_claim(fixture, &made);
    assert_int_equal(second.lease.fence, first.lease.fence + 1);
    event_add_pause(&events);
    assert_int_equal(
        conversation_store_append(fixture->db, &first.lease, &first.conversation, &events, &err),
        -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(
        conversation_store_write(fixture->db, &first.conversation, &events, &end, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    store_assert_gapless(fixture, &made.id, 0);
}

/* One of several that claim at the same moment, until nothing is left for them. */
struct claimant {
    const struct store_fixture *fixture;
    const struct uuid *user_id;
    pthread_barrier_t *start;
    int n_claimed; /* of that user's */
    int n_failed;
};

static void *claim_all(void *context)
{
    struct claimant *claimant = context;
    const struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;
    bool claimed = true;

    pthread_barrier_wait(claimant->start);
    while (claimed && claimant->n_failed == 0) {
        CLEANUP(claim_done) struct claim claim = {.conversation = CONVERSATION_INIT};

        if (conversation_store_claim(claimant->fixture->db, &owner, RACE_SLOTS, &claimed, &claim,
                                     &err) < 0)
            claimant->n_failed++;
        else if (claimed && text_equal(claim.conversation.user_id.text, claimant->user_id->text))
            claimant->n_claimed++;
    }
    return NULL;
}

static int claim_together(const struct store_fixture *fixture, const struct uuid *user_id)
{
    struct claimant claimants[CLAIMANTS];
    pthread_t threads[CLAIMANTS];
    pthread_barrier_t start;
    int n_claimed = 0;

    pthread_barrier_init(&start, NULL, CLAIMANTS);
    for (size_t i = 0; i < CLAIMANTS; i++) {
        claimants[i] = (struct claimant){.fixture = fixture, .user_id = user_id, .start = &start};
        pthread_create(&threads[i], NULL, claim_all, &claimants[i]);
    }
    for (size_t i = 0; i < CLAIMANTS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(claimants[i].n_failed, 0);
        n_claimed += claimants[i].n_claimed;
    }
    pthread_barrier_destroy(&start);
    return n_claimed;
}

static void claims_at_the_same_moment_fill_the_slots_and_no_more(void **state)
{
    const struct store_fixture *fixture = *state;

    for (int round = 0; round < CLAIM_ROUNDS; round++) {
        struct store_fixture other = {.db = fixture->db, .user_id = test_user(fixture->db)};

        for (int i = 0; i < RACE_SLOTS + CLAIMANTS; i++) {
            CLEANUP(conversation_done) struct conversation made = store_create_wanted(&other);
        }
        assert_int_equal(claim_together(fixture, &other.user_id), RACE_SLOTS);
    }
    test_sql("UPDATE conversations SET wanted_at = NULL"); /* nothing is left for other tests */
}

/*
 * Takes the lease over while the old owner is inside its append: at most one event of the old one
 * may land, and then the new one must meet it before it can write.
 */
static void take_over_in_the_middle_of_an_append_leaves_no_gap(void **state)
{
    struct store_fixture *fixture = *state;
    int64_t n_written = 0;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);

    for (int round = 0; round < TAKE_OVER_ROUNDS; round++) {
        CLEANUP(claim_done) struct claim old = store_claim(fixture, &made);
        CLEANUP(claim_done) struct claim new = {.conversation = CONVERSATION_INIT};
        struct racer worker = {
            .fixture = fixture, .conversation = old.conversation, .lease = &old.lease};
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        struct error err = ERROR_INIT;
        pthread_t thread = 0;

        pthread_create(&thread, NULL, race, &worker);
        store_expire_lease(&made.id);
        new = store_claim(fixture, &made);
        event_add_pause(&events);
        /* The new holder either writes at once, or is told that the old one's event came first. */
        while (conversation_store_append(fixture->db, &new.lease, &new.conversation, &events,
                                         &err) < 0) {
            CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;

            assert_int_equal(err.code, ERROR_CONFLICT);
            assert_int_equal(
                conversation_store_load(fixture->db, &fixture->scope, &made.id, &now, &err), 0);
            new.conversation.last_seq = now.last_seq;
            new.conversation.last_timestamp_us = now.last_timestamp_us;
        }
        pthread_join(thread, NULL);
        assert_true(worker.failed); /* it ended because it was stale */
        n_written = new.conversation.last_seq;
        store_expire_lease(&made.id);
    }
    store_assert_gapless(fixture, &made.id, n_written);
    assert_int_equal(test_sql_count("SELECT count(*) FROM (SELECT fence < lag(fence) OVER"
                                    " (PARTITION BY conversation_id ORDER BY seq) AS falls"
                                    " FROM events WHERE fence IS NOT NULL) f WHERE falls"),
                     0);
}

static void second_result_of_an_action_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = store_claim(fixture, &made);
    CLEANUP(event_list_done) struct event_list first = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list second = EVENT_LIST_INIT;
    struct call_ref call = {
        .action_id = uuid_random(), .tool_name = "terminal", .tool_call_id = "call_1"};
    struct error err = ERROR_INIT;

    event_add_agent_error(&first, &call, "first");
    event_add_agent_error(&second, &call, "second");
    assert_int_equal(
        conversation_store_append(fixture->db, &claim.lease, &claim.conversation, &first, &err), 0);
    assert_int_equal(
        conversation_store_append(fixture->db, &claim.lease, &claim.conversation, &second, &err),
        -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    store_assert_gapless(fixture, &made.id, 1);
}

static void two_workers_never_claim_the_same(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim mine = store_claim(fixture, &made);
    struct held_lease held = {.conversation_id = made.id, .fence = mine.lease.fence};
    struct held_lease wrong = {.conversation_id = made.id, .fence = mine.lease.fence - 1};
    struct uuid other = uuid_random();
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_renew(fixture->db, &mine.lease.owner, &held, 1, &err), 0);
    assert_true(held.is_held);
    assert_int_equal(conversation_store_renew(fixture->db, &mine.lease.owner, &wrong, 1, &err), 0);
    assert_false(wrong.is_held);
    assert_int_equal(conversation_store_renew(fixture->db, &other, &held, 1, &err), 0);
    assert_false(held.is_held);
}

/* Its lease runs out, as when its worker is frozen, and another worker takes it. */
static struct job take_job_over(const struct store_fixture *fixture, const struct uuid *key)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct uuid other = uuid_random();
    struct job job = {.id = 0};
    struct error err = ERROR_INIT;
    bool claimed = false;

    strbuf_appendf(&sql,
                   "UPDATE jobs SET lease_expires_at = now() - interval '1 second'"
                   " WHERE key = '%s'",
                   key->text);
    test_sql(sql.text);
    assert_done(job_store_claim(fixture->db, &other, &claimed, &job, &err), &err);
    assert_true(claimed);
    return job;
}

static void a_job_that_another_worker_has_writes_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(job_done) struct job job = {.id = 0};
    CLEANUP(job_done) struct job other = {.id = 0};
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct job_request request = {.kind = "condense", .key = uuid_random()};
    struct conversation_write write = {.guard = GUARD_JOB, .hold = {.owner = uuid_random()}};
    struct error err = ERROR_INIT;
    bool claimed = false;

    assert_done(job_store_add(fixture->db, &made.id, &request, &err), &err);
    assert_done(job_store_claim(fixture->db, &write.hold.owner, &claimed, &job, &err), &err);
    assert_true(claimed);
    write.hold.id = job.id;
    event_add_pause(&events);
    assert_done(conversation_store_write(fixture->db, &made, &events, &write, &err), &err);
    other = take_job_over(fixture, &request.key);
    assert_int_equal(other.id, job.id);
    assert_int_equal(conversation_store_write(fixture->db, &made, &events, &write, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(job_store_check(fixture->db, &write.hold, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    store_assert_gapless(fixture, &made.id, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(client_and_worker_race_without_gap_or_loss),
        cmocka_unit_test(stale_worker_writes_nothing),
        cmocka_unit_test(claims_at_the_same_moment_fill_the_slots_and_no_more),
        cmocka_unit_test(take_over_in_the_middle_of_an_append_leaves_no_gap),
        cmocka_unit_test(second_result_of_an_action_is_refused),
        cmocka_unit_test(two_workers_never_claim_the_same),
        cmocka_unit_test(a_job_that_another_worker_has_writes_nothing),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

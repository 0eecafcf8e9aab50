/*
 * What the store promises of conversations: gapless order whoever writes, nothing by a stale
 * writer, claims that two workers never share.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation.h"
#include "model/event.h"
#include "model/limits.h"
#include "store/conversation_post.h"
#include "store/conversation_store.h"
#include "store/db.h"
#include "store/db_query.h"
#include "store/event_store.h"
#include "store/job_store.h"
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

/* Claims until it gets that conversation: other tests' are handed back. */
static struct claim claim_it(const struct store_fixture *fixture, const struct conversation *wanted)
{
    struct error err = ERROR_INIT;

    for (int i = 0; i < 100; i++) {
        struct claim claim = {.conversation = CONVERSATION_INIT};
        struct uuid owner = uuid_random();
        bool claimed = false;

        if (conversation_store_claim(fixture->db, &owner, 1000, &claimed, &claim, &err) < 0)
            fail_msg("%s", err.message);
        assert_true(claimed);
        if (text_equal(claim.lease.conversation_id.text, wanted->id.text))
            return claim;
        claim_done(&claim);
    }
    fail_msg("never claimed");
    return (struct claim){.conversation = CONVERSATION_INIT};
}

static void assert_gapless(const struct store_fixture *fixture, const struct uuid *id,
                           int64_t n_expected)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;
    const char *last = "";

    if (event_store_load_after(fixture->db, id, &history, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(history.n, n_expected);
    for (size_t i = 0; i < history.n; i++) {
        const char *stamp = json_text_or(history.items[i].json, "timestamp", "");

        assert_int_equal(history.items[i].seq, i + 1);
        assert_true(strcmp(last, stamp) <= 0);
        last = stamp;
    }
}

static void created_conversation_is_found_by_its_owner_alone(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation found = CONVERSATION_INIT;
    struct conversation_scope stranger = {.user_id = test_user(fixture->db)};
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load(fixture->db, &fixture->scope, &made.id, &found, &err),
                     0);
    assert_string_equal(found.id.text, made.id.text);
    assert_int_equal(conversation_store_load(fixture->db, &stranger, &made.id, &found, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void second_create_of_an_id_writes_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    CLEANUP(conversation_done) struct conversation again = store_new_conversation(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.want_run = true, .status = "running"};
    struct error err = ERROR_INIT;
    bool was_there = false;

    again.id = made.id;
    event_add_pause(&events);
    assert_int_equal(
        conversation_store_create(fixture->db, &again, &events, &write, &was_there, &err), 0);
    assert_true(was_there);
    assert_gapless(fixture, &made.id, 0);
    again.user_id = test_user(fixture->db);
    assert_int_equal(
        conversation_store_create(fixture->db, &again, &events, &write, &was_there, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

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
    CLEANUP(claim_done) struct claim claim = claim_it(fixture, &made);
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
    assert_gapless(fixture, &made.id, 2L * RACE_EVENTS);
}

static void expire_lease(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_expires_at = now() - interval '1 s'"
                   " WHERE id = '%s'",
                   id->text);
    test_sql(sql.text);
}

static void stale_worker_writes_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim first = claim_it(fixture, &made);
    CLEANUP(claim_done) struct claim second = {.conversation = CONVERSATION_INIT};
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &first.lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;

    expire_lease(&made.id);
    second = claim_it(fixture, &made);
    assert_int_equal(second.lease.fence, first.lease.fence + 1);
    event_add_pause(&events);
    assert_int_equal(
        conversation_store_append(fixture->db, &first.lease, &first.conversation, &events, &err),
        -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(
        conversation_store_write(fixture->db, &first.conversation, &events, &end, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_gapless(fixture, &made.id, 0);
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
        CLEANUP(claim_done) struct claim old = claim_it(fixture, &made);
        CLEANUP(claim_done) struct claim new = {.conversation = CONVERSATION_INIT};
        struct racer worker = {
            .fixture = fixture, .conversation = old.conversation, .lease = &old.lease};
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        struct error err = ERROR_INIT;
        pthread_t thread = 0;

        pthread_create(&thread, NULL, race, &worker);
        expire_lease(&made.id);
        new = claim_it(fixture, &made);
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
        expire_lease(&made.id);
    }
    assert_gapless(fixture, &made.id, n_written);
    assert_int_equal(test_sql_count("SELECT count(*) FROM (SELECT fence < lag(fence) OVER"
                                    " (PARTITION BY conversation_id ORDER BY seq) AS falls"
                                    " FROM events WHERE fence IS NOT NULL) f WHERE falls"),
                     0);
}

static void second_result_of_an_action_is_refused(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_it(fixture, &made);
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
    assert_gapless(fixture, &made.id, 1);
}

static void end_of_run_is_one_step(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_it(fixture, &made);
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write end = {.guard = GUARD_LEASE,
                                     .lease = &claim.lease,
                                     .status = "finished",
                                     .end_run = true,
                                     .bump_snapshot = true};
    struct error err = ERROR_INIT;

    event_add_status(&events, STATUS_FINISHED);
    assert_int_equal(
        conversation_store_write(fixture->db, &claim.conversation, &events, &end, &err), 0);
    assert_int_equal(conversation_store_load(fixture->db, &fixture->scope, &made.id, &after, &err),
                     0);
    assert_int_equal(after.status, STATUS_FINISHED);
    assert_false(after.is_wanted);
    assert_false(after.is_leased);
    assert_int_equal(after.snapshot_version, 1);
    assert_int_equal(after.last_seq, 1);
}

static void first_title_leaves_a_given_one_alone(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    struct event_list none = EVENT_LIST_INIT;
    struct conversation_write name = {.guard = GUARD_NONE, .title = "Named"};
    struct conversation_write guess = {.guard = GUARD_NONE, .first_title = "Guessed"};
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_write(fixture->db, &made, &none, &guess, &err), 0);
    assert_int_equal(conversation_store_write(fixture->db, &made, &none, &name, &err), 0);
    assert_int_equal(conversation_store_write(fixture->db, &made, &none, &guess, &err), 0);
    assert_int_equal(conversation_store_load(fixture->db, &fixture->scope, &made.id, &after, &err),
                     0);
    assert_string_equal(after.title, "Named");
}

static void message_before_the_end_makes_the_end_wait(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_it(fixture, &made);
    CLEANUP(event_list_done) struct event_list message = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list ending = EVENT_LIST_INIT;
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    struct conversation_write say = {.guard = GUARD_NONE, .want_run = true};
    struct conversation_write end = {
        .guard = GUARD_LEASE, .lease = &claim.lease, .status = "finished", .end_run = true};
    struct error err = ERROR_INIT;

    event_add_environment_message(&message, "wait");
    assert_int_equal(conversation_store_write(fixture->db, &made, &message, &say, &err), 0);
    event_add_status(&ending, STATUS_FINISHED);
    assert_int_equal(
        conversation_store_write(fixture->db, &claim.conversation, &ending, &end, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(conversation_store_load(fixture->db, &fixture->scope, &made.id, &after, &err),
                     0);
    assert_true(after.is_wanted);
    assert_true(after.is_leased);
}

static void pause_without_a_worker_is_refused_while_one_has_it(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write pause = {
        .guard = GUARD_NO_LEASE, .status = "paused", .end_run = true};
    struct error err = ERROR_INIT;
    struct stop_line line = {.n = 0};
    CLEANUP(claim_done) struct claim claim = claim_it(fixture, &made);

    assert_string_equal(claim.lease.conversation_id.text, made.id.text);
    event_add_pause(&events);
    assert_int_equal(conversation_store_write(fixture->db, &made, &events, &pause, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(
        conversation_store_request_stop(fixture->db, &made.id, "interrupt", &line, &err), 0);
    assert_int_equal(line.n, 1);
    assert_int_equal(conversation_store_request_stop(fixture->db, &made.id, "pause", &line, &err),
                     0);
    assert_int_equal(line.n, 1);
    expire_lease(&made.id);
    assert_int_equal(conversation_store_request_stop(fixture->db, &made.id, "pause", &line, &err),
                     0);
    assert_int_equal(line.n, 0);
    assert_int_equal(conversation_store_write(fixture->db, &made, &events, &pause, &err), 0);
}

static void two_workers_never_claim_the_same(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim mine = claim_it(fixture, &made);
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

static void deleted_conversation_leaves_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    CLEANUP(conversation_done) struct conversation made = store_create_wanted(fixture);
    CLEANUP(claim_done) struct claim claim = claim_it(fixture, &made);
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;

    event_add_pause(&events);
    assert_int_equal(
        conversation_store_append(fixture->db, &claim.lease, &claim.conversation, &events, &err),
        0);
    assert_int_equal(conversation_store_delete(fixture->db, &fixture->scope, &made.id, &err), 0);
    assert_gapless(fixture, &made.id, 0);
    assert_int_equal(
        conversation_store_append(fixture->db, &claim.lease, &claim.conversation, &events, &err),
        -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(conversation_store_delete(fixture->db, &fixture->scope, &made.id, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* A stored conversation that works in the sandbox of that session. */
static struct conversation create_in(const struct store_fixture *fixture, enum runtime_kind kind,
                                     const char *session)
{
    struct conversation conversation = store_new_conversation(fixture);
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct event_list none = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;
    bool was_there = false;

    conversation.runtime_kind = kind;
    mem_free(conversation.runtime_session);
    conversation.runtime_session = mem_dup_text(session);
    assert_done(
        conversation_store_create(fixture->db, &conversation, &none, &write, &was_there, &err),
        &err);
    return conversation;
}

static int64_t count_deleted_sandboxes(const char *session)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM runtimes WHERE session_id = '%s' AND desired = 'deleted'",
                   session);
    return test_sql_count(sql.text);
}

static void sandbox_goes_with_the_last_that_works_in_it(void **state)
{
    struct store_fixture *fixture = *state;
    struct uuid id = uuid_random();
    CLEANUP(mem_freep) char *session = conversation_own_session(&fixture->user_id, &id);
    CLEANUP(conversation_done) struct conversation parent =
        create_in(fixture, RUNTIME_DOCKER, session);
    CLEANUP(conversation_done) struct conversation child =
        create_in(fixture, RUNTIME_LOCAL, session);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&sql,
                   "INSERT INTO runtimes (id, session_id, image, spec, session_key,"
                   " session_key_hash) VALUES ('%.16s', '%s', 'i', '{}', '', '%s')",
                   id.text, session, id.text);
    test_sql(sql.text);
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &parent.id, &err), &err);
    assert_int_equal(count_deleted_sandboxes(session), 0);
    assert_done(conversation_store_delete(fixture->db, &fixture->scope, &child.id, &err), &err);
    assert_int_equal(count_deleted_sandboxes(session), 1);
}

/* Two that act on one conversation at the same time. */
struct pair {
    struct store_fixture *fixture;
    struct uuid id;
    _Atomic(bool) is_posted;
};

static void *delete_it(void *argument)
{
    struct pair *pair = argument;
    struct error err = ERROR_INIT;

    assert_done(
        conversation_store_delete(pair->fixture->db, &pair->fixture->scope, &pair->id, &err), &err);
    return NULL;
}

/* It may come too late: then the conversation is gone. */
static void *post_to_it(void *argument)
{
    struct pair *pair = argument;
    struct error err = ERROR_INIT;
    json_auto_t *content = json_array();

    json_push(content, text_content("hello"));
    if (conversation_post_message(pair->fixture->db, &pair->fixture->scope, &pair->id, content,
                                  false, &err) < 0)
        assert_int_equal(err.code, ERROR_NOT_FOUND);
    atomic_store(&pair->is_posted, true);
    return NULL;
}

static int64_t count_waiting(void)
{
    return test_sql_count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                          " AND datname = current_database()");
}

/* Deletes stop before their first row for as long as the transaction holds the lock. */
static void hold_deletes(struct db *db, struct db_tx *tx)
{
    static const char SQL_HOLD[] = "SELECT pg_advisory_xact_lock(1)";
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;

    test_sql("CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS"
             " 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END'");
    test_sql("CREATE TRIGGER wait_for_test BEFORE DELETE ON conversations"
             " EXECUTE FUNCTION wait_for_test()");
    assert_done(db_tx_begin(db, tx, &err), &err);
    assert_done(db_tx_query(tx, SQL_HOLD, DB_NO_PARAMS, &rows, &err), &err);
}

static void message_that_meets_the_delete_leaves_nothing(void **state)
{
    CLEANUP(conversation_done) struct conversation made = store_create(*state);
    struct pair pair = {.fixture = *state, .id = made.id};
    struct db_tx held = DB_TX_INIT;
    pthread_t deleter = 0;
    pthread_t poster = 0;

    hold_deletes(pair.fixture->db, &held);
    pthread_create(&deleter, NULL, delete_it, &pair);
    while (count_waiting() < 1)
        sched_yield();
    pthread_create(&poster, NULL, post_to_it, &pair);
    while (!atomic_load(&pair.is_posted) && count_waiting() < 2)
        sched_yield();
    db_tx_end(&held);
    pthread_join(deleter, NULL);
    pthread_join(poster, NULL);
    test_sql("DROP FUNCTION wait_for_test() CASCADE");
    assert_gapless(pair.fixture, &made.id, 0);
}

static void pages_walk_all_conversations_once(void **state)
{
    struct store_fixture *fixture = *state;
    struct conversation_filter filter = {.scope = fixture->scope, .limit = 3};
    struct store_fixture own = *fixture;
    struct error err = ERROR_INIT;
    int n_seen = 0;

    own.user_id = test_user(fixture->db);
    filter.scope.user_id = own.user_id;
    for (int i = 0; i < 8; i++) {
        struct conversation made = store_create(&own);

        conversation_done(&made);
    }
    for (int page_no = 0; page_no < 3; page_no++) {
        CLEANUP(conversation_page_done) struct conversation_page page = {0};

        assert_int_equal(conversation_store_search(own.db, &filter, &page, &err), 0);
        n_seen += (int)page.n;
        filter.from_id = page.next_id;
        assert_int_equal(uuid_is_set(&page.next_id), page_no < 2);
    }
    assert_int_equal(n_seen, 8);
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
    const struct job_wish wish = {.kind = "condense", .key = uuid_random()};
    struct conversation_write write = {.guard = GUARD_JOB, .hold = {.owner = uuid_random()}};
    struct error err = ERROR_INIT;
    bool claimed = false;

    assert_done(job_store_add(fixture->db, &made.id, &wish, &err), &err);
    assert_done(job_store_claim(fixture->db, &write.hold.owner, &claimed, &job, &err), &err);
    assert_true(claimed);
    write.hold.id = job.id;
    event_add_pause(&events);
    assert_done(conversation_store_write(fixture->db, &made, &events, &write, &err), &err);
    other = take_job_over(fixture, &wish.key);
    assert_int_equal(other.id, job.id);
    assert_int_equal(conversation_store_write(fixture->db, &made, &events, &write, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(job_store_check(fixture->db, &write.hold, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_gapless(fixture, &made.id, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(created_conversation_is_found_by_its_owner_alone),
        cmocka_unit_test(second_create_of_an_id_writes_nothing),
        cmocka_unit_test(client_and_worker_race_without_gap_or_loss),
        cmocka_unit_test(stale_worker_writes_nothing),
        cmocka_unit_test(claims_at_the_same_moment_fill_the_slots_and_no_more),
        cmocka_unit_test(take_over_in_the_middle_of_an_append_leaves_no_gap),
        cmocka_unit_test(second_result_of_an_action_is_refused),
        cmocka_unit_test(end_of_run_is_one_step),
        cmocka_unit_test(first_title_leaves_a_given_one_alone),
        cmocka_unit_test(message_before_the_end_makes_the_end_wait),
        cmocka_unit_test(pause_without_a_worker_is_refused_while_one_has_it),
        cmocka_unit_test(two_workers_never_claim_the_same),
        cmocka_unit_test(deleted_conversation_leaves_nothing),
        cmocka_unit_test(sandbox_goes_with_the_last_that_works_in_it),
        cmocka_unit_test(message_that_meets_the_delete_leaves_nothing),
        cmocka_unit_test(pages_walk_all_conversations_once),
        cmocka_unit_test(a_job_that_another_worker_has_writes_nothing),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

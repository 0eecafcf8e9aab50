/*
 * Threads that run conversations and jobs: what a heartbeat tells them.
 */
#include "worker/pool.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "store/db/db.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/run_fixture.h"

enum { DEADLINE_MS = 30000, LOOK_MS = 100, SLOTS = 2, STACK_BYTES = 1 << 20 };

#define HELLO "{\"turns\": [{\"steps\": [{\"text\": \"hello\"}]}]}"
/* The model does not answer while a test runs. */
#define SLOW "{\"turns\": [{\"steps\": [{\"text\": \"late\", \"delay_ms\": 60000}]}]}"

static void check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s", err->message);
}

static struct pool *open_pool(struct run_fixture *fixture)
{
    struct worker_context *context = &fixture->context;
    struct pool *pool = NULL;
    struct error err = ERROR_INIT;

    context->settings.n_conversations = SLOTS;
    context->settings.stack_bytes = STACK_BYTES;
    context->lease_db = context->db;
    check(pool_new(context, &pool, &err), &err);
    return pool;
}

/* What a main thread does until its next heartbeat. */
static void serve_once(struct pool *pool)
{
    struct pollfd wait = {.fd = pool_fd(pool), .events = POLLIN};

    (void)poll(&wait, 1, LOOK_MS);
    pool_join_ended(pool);
}

static void wait_until_held(struct pool *pool, const struct uuid *id)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    while (!pool_holds(pool, id->text) && clock_monotonic_ms() < deadline_ms)
        serve_once(pool);
    assert_true(pool_holds(pool, id->text));
}

static void wait_until_empty(struct pool *pool)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    while (!pool_is_empty(pool) && clock_monotonic_ms() < deadline_ms)
        serve_once(pool);
    assert_true(pool_is_empty(pool));
}

/* Each write of a run extends its lease; once this event is stored, it waits for the model. */
static void wait_until_begun(struct run_fixture *fixture, struct pool *pool, const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    while (event.len == 0 && clock_monotonic_ms() < deadline_ms) {
        serve_once(pool);
        run_last_event(fixture, id, "ConversationStateUpdateEvent", &event);
    }
    assert_int_not_equal(event.len, 0);
}

static void change_row(const struct uuid *id, const char *columns)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", columns, id->text);
    test_sql(sql.text);
}

static void run_whose_lease_is_lost_ends_and_leaves_the_row_alone(void **state)
{
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");

    pool_claim_work(pool);
    wait_until_held(pool, &id);
    pool_renew_leases(pool);
    assert_true(pool_holds(pool, id.text));
    change_row(&id, "lease_owner = gen_random_uuid(), lease_fence = lease_fence + 1,"
                    " lease_expires_at = now() + interval '1 hour'");
    pool_renew_leases(pool);
    wait_until_empty(pool);
    assert_row(fixture, &id, "running/wanted/leased");
    change_row(&id, "wanted_at = NULL, lease_owner = NULL, lease_expires_at = NULL");
    pool_free(pool);
}

static int64_t fence_of(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT lease_fence FROM conversations WHERE id = '%s'", id->text);
    return test_sql_count(sql.text);
}

/* As after a stall: no heartbeat comes for the time of a lease. The oldest run is claimed first. */
static void run_of_the_worker_itself_is_not_claimed_again(void **state)
{
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");
    struct uuid next = {""};
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    pool_claim_work(pool);
    wait_until_held(pool, &id);
    wait_until_begun(fixture, pool, &id);
    while (test_sql_count("SELECT count(*) FROM conversations WHERE lease_expires_at > now()") >
               0 &&
           clock_monotonic_ms() < deadline_ms)
        (void)poll(NULL, 0, LOOK_MS);
    next = run_new_conversation(fixture, SLOW, "{}");
    pool_claim_work(pool);
    wait_until_held(pool, &next);
    assert_true(pool_holds(pool, id.text));
    assert_row(fixture, &id, "running/wanted/leased");
    assert_int_equal(fence_of(&id), 1);
    pool_drain(pool);
    change_row(&id, "lease_fence = 9");
    change_row(&next, "lease_fence = 9");
    pool_renew_leases(pool);
    wait_until_empty(pool);
    change_row(&id, "wanted_at = NULL, lease_owner = NULL, lease_expires_at = NULL");
    change_row(&next, "wanted_at = NULL, lease_owner = NULL, lease_expires_at = NULL");
    pool_free(pool);
}

static void request_to_stop_reaches_the_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    pool_claim_work(pool);
    wait_until_held(pool, &id);
    check(conversation_store_request_stop(fixture->context.db, &id, "interrupt", &n_asked, &err),
          &err);
    pool_renew_leases(pool);
    wait_until_empty(pool);
    assert_row(fixture, &id, "paused/-/-");
    pool_free(pool);
}

static void lease_of_a_run_is_extended(void **state)
{
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    pool_claim_work(pool);
    wait_until_held(pool, &id);
    wait_until_begun(fixture, pool, &id);
    run_expire_lease(&id);
    assert_row(fixture, &id, "running/wanted/-");
    pool_renew_leases(pool);
    assert_row(fixture, &id, "running/wanted/leased");
    check(conversation_store_request_stop(fixture->context.db, &id, "interrupt", &n_asked, &err),
          &err);
    pool_renew_leases(pool);
    wait_until_empty(pool);
    pool_free(pool);
}

static void draining_pool_claims_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");

    pool_drain(pool);
    pool_claim_work(pool);
    assert_true(pool_is_empty(pool));
    assert_row(fixture, &id, "running/wanted/-");
    change_row(&id, "wanted_at = NULL");
    pool_free(pool);
}

/* Asks a question beside the conversation, which has no run. */
static void ask_beside(struct run_fixture *fixture)
{
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");
    json_auto_t *payload = json_object();
    const struct job_request request = {.kind = "ask", .payload = payload, .key = uuid_random()};
    struct error err = ERROR_INIT;

    json_put_text(payload, "question", "why?");
    change_row(&id, "wanted_at = NULL");
    check(job_store_add(fixture->context.db, &id, &request, &err), &err);
}

static void wait_for_jobs(struct pool *pool, const char *sql, int64_t n)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    while (test_sql_count(sql) != n && clock_monotonic_ms() < deadline_ms)
        serve_once(pool);
    assert_int_equal(test_sql_count(sql), n);
}

static void lease_of_a_job_is_extended(struct pool *pool)
{
    static const char SQL_LATE[] = "SELECT count(*) FROM jobs WHERE lease_expires_at <= now()";

    /* Its own threads look for work, too, and may have claimed it again by the next statement. */
    test_sql("UPDATE jobs SET lease_expires_at = now() - interval '1 second'");
    pool_renew_leases(pool);
    assert_int_equal(test_sql_count(SQL_LATE), 0);
}

/* Both wait for a model that is silent, and their heartbeat's database does not answer. */
static void draining_pool_hands_over_its_run_and_its_job(void **state)
{
    static const char SQL_HELD[] = "SELECT count(*) FROM jobs WHERE lease_owner IS NOT NULL";
    const struct db_options dead = {
        .url = "host=/nonexistent", .application = "deft-test", .n_connections = 1};
    CLEANUP(db_freep) struct db *dead_db = NULL;
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    struct uuid id;
    struct error err = ERROR_INIT;

    ask_beside(fixture);
    pool_claim_work(pool);
    wait_for_jobs(pool, SQL_HELD, 1);
    lease_of_a_job_is_extended(pool);
    id = run_new_conversation(fixture, SLOW, "{}");
    pool_claim_work(pool);
    wait_until_held(pool, &id);
    check(db_open(&dead, &dead_db, &err), &err);
    fixture->context.lease_db = dead_db;
    pool_drain(pool);
    while (!pool_is_empty(pool) && clock_monotonic_ms() < deadline_ms) {
        pool_renew_leases(pool);
        serve_once(pool);
    }
    assert_true(pool_is_empty(pool));
    assert_row(fixture, &id, "running/wanted/-");
    assert_int_equal(test_sql_count(SQL_HELD), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NULL"), 1);
    pool_free(pool);
}

static void interrupt(struct run_fixture *fixture, const struct uuid *id)
{
    size_t n_asked = 0;
    struct error err = ERROR_INIT;

    check(conversation_store_request_stop(fixture->context.db, id, "interrupt", &n_asked, &err),
          &err);
}

/* More wait than there are slots, of the pool and of their user; no heartbeat comes. */
static void waiting_runs_follow_one_another(void **state)
{
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    const int64_t n_slots = fixture->context.settings.run_limits.n_slots;
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    struct uuid ids[SLOTS + 2];

    fixture->context.settings.run_limits.n_slots = 1;
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        ids[i] = run_new_conversation(fixture, HELLO, "{}");
    pool_claim_work(pool);
    while (test_sql_count("SELECT count(*) FROM conversations WHERE wanted_at IS NOT NULL") > 0 &&
           clock_monotonic_ms() < deadline_ms)
        serve_once(pool);
    wait_until_empty(pool);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        assert_row(fixture, &ids[i], "finished/-/-");
    fixture->context.settings.run_limits.n_slots = n_slots;
    pool_free(pool);
}

/* Both are the first run of their conversation. */
static void lost_lease_ends_no_other_run(void **state)
{
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    struct uuid lost = run_new_conversation(fixture, SLOW, "{}");
    struct uuid kept = run_new_conversation(fixture, SLOW, "{}");
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    pool_claim_work(pool);
    wait_until_held(pool, &lost);
    wait_until_held(pool, &kept);
    wait_until_begun(fixture, pool, &kept);
    change_row(&lost, "lease_owner = gen_random_uuid(), lease_fence = lease_fence + 1,"
                      " lease_expires_at = now() + interval '1 hour'");
    pool_renew_leases(pool);
    while (pool_holds(pool, lost.text) && clock_monotonic_ms() < deadline_ms)
        serve_once(pool);
    assert_false(pool_holds(pool, lost.text));
    assert_true(pool_holds(pool, kept.text));
    assert_true(pool_holds(pool, ""));
    interrupt(fixture, &kept);
    pool_renew_leases(pool);
    wait_until_empty(pool);
    assert_false(pool_holds(pool, ""));
    assert_row(fixture, &kept, "paused/-/-");
    assert_row(fixture, &lost, "running/wanted/leased");
    change_row(&lost, "wanted_at = NULL, lease_owner = NULL, lease_expires_at = NULL");
    pool_free(pool);
}

static void silent_database_ends_no_run(void **state)
{
    const struct db_options dead = {
        .url = "host=/nonexistent", .application = "deft-test", .n_connections = 1};
    CLEANUP(db_freep) struct db *dead_db = NULL;
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    struct uuid id = run_new_conversation(fixture, SLOW, "{}");
    struct error err = ERROR_INIT;

    check(db_open(&dead, &dead_db, &err), &err);
    pool_claim_work(pool);
    wait_until_held(pool, &id);
    wait_until_begun(fixture, pool, &id);
    fixture->context.lease_db = dead_db;
    pool_renew_leases(pool);
    fixture->context.lease_db = fixture->context.db;
    interrupt(fixture, &id);
    pool_renew_leases(pool);
    wait_until_empty(pool);
    assert_row(fixture, &id, "paused/-/-");
    pool_free(pool);
}

static void work_is_looked_for_again_after_a_thread_did_not_start(void **state)
{
    struct run_fixture *fixture = *state;
    struct pool *pool = open_pool(fixture);
    struct uuid id = run_new_conversation(fixture, HELLO, "{}");

    fixture->context.settings.stack_bytes = 1;
    for (int i = 0; i <= SLOTS; i++)
        pool_claim_work(pool);
    assert_true(pool_is_empty(pool));
    assert_row(fixture, &id, "running/wanted/-");
    fixture->context.settings.stack_bytes = STACK_BYTES;
    pool_claim_work(pool);
    wait_until_empty(pool);
    assert_row(fixture, &id, "finished/-/-");
    pool_free(pool);
}

static void failed_look_frees_its_slot(void **state)
{
    const struct db_options dead = {
        .url = "host=/nonexistent", .application = "deft-test", .n_connections = 1};
    CLEANUP(db_freep) struct db *dead_db = NULL;
    struct run_fixture *fixture = *state;
    struct db *db = fixture->context.db;
    struct pool *pool = open_pool(fixture);
    struct uuid id = run_new_conversation(fixture, HELLO, "{}");
    struct error err = ERROR_INIT;

    check(db_open(&dead, &dead_db, &err), &err);
    fixture->context.db = dead_db;
    for (int i = 0; i <= SLOTS; i++) {
        pool_claim_work(pool);
        wait_until_empty(pool);
    }
    fixture->context.db = db;
    assert_row(fixture, &id, "running/wanted/-");
    pool_claim_work(pool);
    wait_until_empty(pool);
    assert_row(fixture, &id, "finished/-/-");
    pool_free(pool);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_whose_lease_is_lost_ends_and_leaves_the_row_alone),
        cmocka_unit_test(run_of_the_worker_itself_is_not_claimed_again),
        cmocka_unit_test(request_to_stop_reaches_the_run),
        cmocka_unit_test(lease_of_a_run_is_extended),
        cmocka_unit_test(draining_pool_claims_nothing),
        cmocka_unit_test(waiting_runs_follow_one_another),
        cmocka_unit_test(lost_lease_ends_no_other_run),
        cmocka_unit_test(silent_database_ends_no_run),
        cmocka_unit_test(work_is_looked_for_again_after_a_thread_did_not_start),
        cmocka_unit_test(failed_look_frees_its_slot),
        cmocka_unit_test(draining_pool_hands_over_its_run_and_its_job),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}

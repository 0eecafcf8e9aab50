/*
 * Jobs: which is claimed, under which lease, and how a result reaches the client that waits for it.
 */
#include "store/conversation/job_store.h"

#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/store_fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

static int remove_all(void **state)
{
    (void)state;
    test_sql("DELETE FROM jobs");
    return 0;
}

/* Jobs with a lease that has begun lately, and is not longer than a lease is. */
static int64_t count_leased(void)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM jobs WHERE lease_expires_at BETWEEN"
                   " now() - interval '1 hour' AND now() + interval '%d milliseconds'",
                   (int)LEASE_MS);
    return test_sql_count(sql.text);
}

/* A job for a conversation of its own; its key. */
static struct uuid add(const struct store_fixture *fixture, const char *kind, json_t *payload)
{
    CLEANUP(conversation_done) struct conversation made = store_create(fixture);
    const struct job_request request = {.kind = kind, .payload = payload, .key = uuid_random()};
    struct error err = ERROR_INIT;

    assert_done(job_store_add(fixture->db, &made.id, &request, &err), &err);
    return request.key;
}

/* False if there is none. */
static bool claim(const struct store_fixture *fixture, const struct uuid *owner,
                  struct job *job_out)
{
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    assert_done(job_store_claim(fixture->db, owner, &is_claimed, job_out, &err), &err);
    return is_claimed;
}

static void job_is_claimed_once_and_whole(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(job_done) struct job job = {.kind = NULL};
    CLEANUP(mem_freep) char *payload = NULL;
    struct job none = {.kind = NULL};
    struct uuid owner = uuid_random();
    struct uuid other = uuid_random();

    (void)add(fixture, "ask", NULL);
    test_sql("UPDATE jobs SET payload = '{\"a\": [1]}'");
    assert_true(claim(fixture, &owner, &job));
    assert_string_equal(job.kind, "ask");
    assert_true(uuid_is_set(&job.conversation_id));
    assert_int_equal(job.n_attempts, 1);
    assert_int_equal(job.id, test_sql_count("SELECT id FROM jobs"));
    payload = json_dumps(job.payload, 0);
    assert_json_at(payload, "", "{\"a\": [1]}");
    assert_false(claim(fixture, &other, &none));
    assert_null(none.kind);
    assert_int_equal(count_leased(), 1);
}

static void job_that_is_due_longest_comes_first(void **state)
{
    static const char *const order[] = {"goal", "ask", "title"};
    const struct store_fixture *fixture = *state;
    struct uuid owner = uuid_random();
    struct job none = {.kind = NULL};

    (void)add(fixture, "title", NULL);
    (void)add(fixture, "goal", NULL);
    (void)add(fixture, "ask", NULL);
    (void)add(fixture, "condense", NULL);
    test_sql("UPDATE jobs SET due_at = now() - CASE kind WHEN 'goal' THEN interval '3 s'"
             " WHEN 'ask' THEN interval '2 s' WHEN 'title' THEN interval '1 s'"
             " ELSE interval '-1 hour' END");
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        CLEANUP(job_done) struct job job = {.kind = NULL};

        assert_true(claim(fixture, &owner, &job));
        assert_string_equal(job.kind, order[i]);
    }
    assert_false(claim(fixture, &owner, &none));
}

static void abandoned_job_is_claimed_by_another(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(job_done) struct job first = {.kind = NULL};
    CLEANUP(job_done) struct job second = {.kind = NULL};
    struct uuid owner = uuid_random();
    struct uuid other = uuid_random();
    struct job_hold hold = {.owner = owner};
    struct error err = ERROR_INIT;

    (void)add(fixture, "title", NULL);
    assert_true(claim(fixture, &owner, &first));
    hold.id = first.id;
    assert_done(job_store_check(fixture->db, &hold, &err), &err);
    test_sql("UPDATE jobs SET lease_expires_at = now()");
    assert_true(claim(fixture, &other, &second));
    assert_int_equal(second.id, first.id);
    assert_int_equal(second.n_attempts, 2);
    assert_int_equal(job_store_check(fixture->db, &hold, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_done(job_store_finish(fixture->db, &owner, &first, NULL, &err), &err);
    assert_done(job_store_put_back(fixture->db, &owner, &first, 0, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE lease_owner IS NOT NULL"), 1);
}

/* Workers that claim at once do not wait for each other. */
static void job_that_another_is_claiming_is_passed_over(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(job_done) struct job job = {.kind = NULL};
    struct uuid owner = uuid_random();
    struct test_tx *tx = NULL;

    (void)add(fixture, "title", NULL);
    (void)add(fixture, "goal", NULL);
    test_sql("UPDATE jobs SET due_at = now() - interval '1 hour' WHERE kind = 'title'");
    tx = test_tx_begin();
    test_tx_sql(tx, "SELECT 1 FROM jobs WHERE kind = 'title' FOR UPDATE");
    assert_true(claim(fixture, &owner, &job));
    test_tx_commit(tx);
    assert_string_equal(job.kind, "goal");
}

static void own_leases_are_renewed(void **state)
{
    static const char SQL_LATE[] =
        "SELECT count(*) FROM jobs WHERE lease_expires_at < now() - interval '1 hour'";
    const struct store_fixture *fixture = *state;
    CLEANUP(job_done) struct job mine = {.kind = NULL};
    CLEANUP(job_done) struct job theirs = {.kind = NULL};
    struct uuid owner = uuid_random();
    struct uuid other = uuid_random();
    struct error err = ERROR_INIT;

    (void)add(fixture, "title", NULL);
    (void)add(fixture, "title", NULL);
    assert_true(claim(fixture, &owner, &mine));
    assert_true(claim(fixture, &other, &theirs));
    test_sql("UPDATE jobs SET lease_expires_at = now() - interval '2 hours'");
    assert_done(job_store_renew(fixture->db, &owner, &err), &err);
    assert_int_equal(test_sql_count(SQL_LATE), 1);
    assert_int_equal(count_leased(), 1);
    assert_done(job_store_renew(fixture->db, &other, &err), &err);
    assert_int_equal(test_sql_count(SQL_LATE), 0);
}

static void job_put_back_is_due_after_its_delay(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(job_done) struct job job = {.kind = NULL};
    CLEANUP(job_done) struct job again = {.kind = NULL};
    struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;

    (void)add(fixture, "title", NULL);
    assert_true(claim(fixture, &owner, &job));
    assert_done(job_store_put_back(fixture->db, &owner, &job, 3600000, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE lease_owner IS NULL"
                                    " AND lease_expires_at IS NULL AND due_at BETWEEN now() +"
                                    " interval '59 minutes' AND now() + interval '1 hour'"),
                     1);
    assert_false(claim(fixture, &owner, &again));
    test_sql("UPDATE jobs SET due_at = now()");
    assert_true(claim(fixture, &owner, &again));
}

static void job_without_a_result_is_removed(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(job_done) struct job job = {.kind = NULL};
    struct uuid owner = uuid_random();
    struct error err = ERROR_INIT;

    (void)add(fixture, "title", NULL);
    (void)add(fixture, "title", NULL);
    assert_true(claim(fixture, &owner, &job));
    assert_done(job_store_finish(fixture->db, &owner, &job, NULL, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs"), 1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE lease_owner IS NULL"), 1);
}

static int wait_for(const struct store_fixture *fixture, const struct uuid *key, int64_t wait_ms,
                    json_t **result_out, struct error *err)
{
    return job_store_wait(fixture->db, key, clock_monotonic_ms() + wait_ms, result_out, err);
}

static void result_is_taken_once(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(job_done) struct job job = {.kind = NULL};
    CLEANUP(job_done) struct job none = {.kind = NULL};
    CLEANUP(mem_freep) char *text = NULL;
    struct uuid owner = uuid_random();
    struct uuid key = add(fixture, "ask", NULL);
    json_auto_t *result = json_object();
    json_auto_t *taken = NULL;
    struct error err = ERROR_INIT;

    json_put_text(result, "response", "yes");
    assert_true(claim(fixture, &owner, &job));
    assert_done(job_store_finish(fixture->db, &owner, &job, result, &err), &err);
    assert_false(claim(fixture, &owner, &none));
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NOT NULL"
                                    " AND lease_owner IS NULL AND lease_expires_at IS NULL"),
                     1);
    assert_done(wait_for(fixture, &key, 10000, &taken, &err), &err);
    text = json_dumps(taken, 0);
    assert_json_at(text, "", "{\"response\": \"yes\"}");
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs"), 0);
    assert_int_equal(wait_for(fixture, &key, 10000, &taken, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void wait_without_a_result_ends_at_its_deadline(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid key = add(fixture, "ask", NULL);
    json_t *taken = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(wait_for(fixture, &key, 50, &taken, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_null(taken);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs"), 1);
}

/* Results that no client took within ten minutes go with the next one that is taken. */
static void forgotten_results_are_removed(void **state)
{
    const struct store_fixture *fixture = *state;
    struct uuid key = add(fixture, "ask", NULL);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    json_auto_t *taken = NULL;
    struct error err = ERROR_INIT;

    (void)add(fixture, "title", NULL);
    (void)add(fixture, "goal", NULL);
    test_sql("UPDATE jobs SET done_at = now() - interval '11 minutes', result = '{}'"
             " WHERE kind = 'title'");
    test_sql("UPDATE jobs SET done_at = now() - interval '9 minutes', result = '{}'"
             " WHERE kind = 'goal'");
    strbuf_appendf(&sql, "UPDATE jobs SET done_at = now(), result = '{}' WHERE key = '%s'",
                   key.text);
    test_sql(sql.text);
    assert_done(wait_for(fixture, &key, 10000, &taken, &err), &err);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs"), 1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE kind = 'goal'"), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(job_is_claimed_once_and_whole, remove_all),
        cmocka_unit_test_setup(job_that_is_due_longest_comes_first, remove_all),
        cmocka_unit_test_setup(abandoned_job_is_claimed_by_another, remove_all),
        cmocka_unit_test_setup(job_that_another_is_claiming_is_passed_over, remove_all),
        cmocka_unit_test_setup(own_leases_are_renewed, remove_all),
        cmocka_unit_test_setup(job_put_back_is_due_after_its_delay, remove_all),
        cmocka_unit_test_setup(job_without_a_result_is_removed, remove_all),
        cmocka_unit_test_setup(result_is_taken_once, remove_all),
        cmocka_unit_test_setup(wait_without_a_result_ends_at_its_deadline, remove_all),
        cmocka_unit_test_setup(forgotten_results_are_removed, remove_all),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

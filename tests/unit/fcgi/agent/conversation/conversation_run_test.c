/*
 * A stop that meets a worker's claim: between the request for a stop and the write of it, a worker
 * takes the conversation.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "fixture.h"
#include "support/pg.h"
#include "support/sql.h"

struct stopper {
    void *state;
    const char *path;
    struct test_answer answer;
};

static void *stop(void *argument)
{
    struct stopper *stopper = argument;

    stopper->answer = test_dispatch(stopper->state, ALICE, "POST", stopper->path, NULL);
    return NULL;
}

/* The row is locked while the stop is planned, and claimed once its write waits for that lock. */
static void stop_and_claim(struct stopper *stopper, const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_tx *worker = test_tx_begin();
    pthread_t thread = 0;

    strbuf_appendf(&sql, "SELECT 1 FROM conversations WHERE id = '%s' FOR UPDATE", id->text);
    test_tx_sql(worker, sql.text);
    assert_int_equal(pthread_create(&thread, NULL, stop, stopper), 0);
    test_wait_blocked();
    strbuf_reset(&sql);
    strbuf_appendf(
        &sql,
        "UPDATE conversations SET lease_owner = gen_random_uuid(), lease_fence = lease_fence + 1,"
        " lease_expires_at = now() + interval '1 hour' WHERE id = '%s'",
        id->text);
    test_tx_sql(worker, sql.text);
    test_tx_commit(worker);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void assert_worker_is_asked(const struct uuid *id, const char *kind)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND stop_requested = '%s'"
                   " AND wanted_at IS NOT NULL AND lease_owner IS NOT NULL"
                   " AND lease_expires_at > now() AND execution_status = 'running'",
                   id->text, kind);
    assert_int_equal(test_sql_count(sql.text), 1);
}

/* rest: "/pause" or "/interrupt". */
static void check(void **state, const char *rest)
{
    struct test_path path = test_conversation(*state);
    struct stopper stopper = {.state = *state};
    /* No answer waits for the worker, who never stops. */
    size_t n_waits = test_take_waits(*state);

    {
        CLEANUP(test_answer_done) struct test_answer run =
            test_dispatch(*state, ALICE, "POST", test_under(&path, "/events"),
                          "{\"content\":[{\"type\":\"text\",\"text\":\"go\"}],\"run\":true}");

        assert_answer(&run, 200, "true");
    }
    stopper.path = test_under(&path, rest);
    stop_and_claim(&stopper, &path.id);
    assert_answer(&stopper.answer, 200, "true");
    test_answer_done(&stopper.answer);
    assert_worker_is_asked(&path.id, rest + 1);
    test_give_waits(*state, n_waits);
}

static void pause_is_left_to_the_worker_that_claims_meanwhile(void **state)
{
    check(state, "/pause");
}

static void interrupt_is_left_to_the_worker_that_claims_meanwhile(void **state)
{
    check(state, "/interrupt");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pause_is_left_to_the_worker_that_claims_meanwhile),
        cmocka_unit_test(interrupt_is_left_to_the_worker_that_claims_meanwhile),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

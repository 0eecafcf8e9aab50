/*
 * Requests for sandboxes whose rows change, or cannot be written, while they are made: what is
 * given back, what is tried again, and how often. Triggers of the tables play the other side.
 */
#include <string.h>

#include "base/sandbox_key.h"
#include "base/secret.h"
#include "client/test_server.h"
#include "runtime/core/runtime_record.h"
#include "runtime/lifecycle/lifecycle.h"
#include "support/sql.h"
#include "unit/runtime/lifecycle/service_fixture.h"

enum { TRIES = 3 };

#define ONE "aaaaaaaaaaaaaaaa"
#define SESSION "s-" ONE
#define DISK_FULL "RAISE ''as the test wants it'' USING ERRCODE = ''53100''; "
#define TAKEN "RAISE ''as the test wants it'' USING ERRCODE = ''23505''; "

static int create(struct service_fixture *fixture, struct error *err)
{
    return service_create(fixture, SESSION, TEST_IMAGE, err);
}

static void add_one(struct service_fixture *fixture, const char *status, const char *desired)
{
    service_add_runtime(fixture,
                        &(struct test_runtime){.id = ONE, .status = status, .desired = desired});
}

static bool row_is(const char *condition)
{
    return service_row_is("runtimes", ONE, condition);
}

/* On each such change of `runtimes` the statements run; `n` is its number. */
static void play(const char *change, const char *statements)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "CREATE SEQUENCE test_changes;"
                   "CREATE FUNCTION test_change() RETURNS trigger LANGUAGE plpgsql AS"
                   " 'DECLARE n bigint := nextval(''test_changes''); BEGIN %s RETURN NEW; END';"
                   "CREATE TRIGGER test_change BEFORE %s EXECUTE FUNCTION test_change()",
                   statements, change);
    test_sql(sql.text);
}

#define ON_INSERT "INSERT ON runtimes FOR EACH ROW"
#define ON_UPDATE "UPDATE ON runtimes FOR EACH ROW"

static int64_t count_changes(void)
{
    return test_sql_count(
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM test_changes");
}

static int tear_down(void **state)
{
    test_sql("DROP TRIGGER IF EXISTS test_change ON runtimes;"
             "DROP FUNCTION IF EXISTS test_change; DROP SEQUENCE IF EXISTS test_changes");
    return service_tear_down(state);
}

/* --- new rows --- */

static void home_is_given_back_if_the_row_cannot_be_added(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    fixture->backend.ready_home = "h-ready";
    play(ON_INSERT, DISK_FULL);
    assert_int_equal(create(fixture, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_told(fixture, "give h-ready;");
    assert_int_equal(count_changes(), 1);
    assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes"), 0);
}

/* The home of the first try may be another's by then. */
static void session_that_another_request_adds_is_looked_for_again(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    fixture->backend.ready_home = "h-ready";
    play(ON_INSERT, "IF n = 1 THEN " TAKEN "END IF;");
    assert_int_equal(create(fixture, &err), 0);
    assert_told(fixture, "give h-ready;");
    assert_int_equal(count_changes(), 2);
    assert_int_equal(test_sql_count("SELECT count(*) FROM runtimes WHERE session_id = '" SESSION
                                    "' AND spec->>'home' = ''"),
                     1);
}

static void conflict_that_stays_is_an_error(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    play(ON_INSERT, TAKEN);
    assert_int_equal(create(fixture, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(count_changes(), TRIES);
}

/* --- rows that are there --- */

/* As if they were deleted each time between being read and being written. */
static void rows_that_vanish_are_an_error_in_the_end(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add_one(fixture, "stopped", "stopped");
    play(ON_UPDATE, "RETURN NULL;");
    assert_int_equal(create(fixture, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(count_changes(), TRIES);
}

static void row_that_vanishes_once_is_looked_for_again(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add_one(fixture, "stopped", "stopped");
    play(ON_UPDATE, "IF n = 1 THEN RETURN NULL; END IF;");
    assert_int_equal(create(fixture, &err), 0);
    assert_int_equal(count_changes(), 2);
    assert_true(row_is("desired = 'running'"));
}

static void other_errors_are_not_tried_again(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add_one(fixture, "stopped", "stopped");
    play(ON_UPDATE, DISK_FULL);
    assert_int_equal(create(fixture, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(count_changes(), 1);
}

/* --- starts --- */

static void home_is_given_back_if_the_row_cannot_name_it(void **state)
{
    struct service_fixture *fixture = *state;
    struct error err = ERROR_INIT;

    add_one(fixture, "starting", "running");
    test_sql("UPDATE runtimes SET container_id = NULL, url = NULL, spec = '{}'");
    play("UPDATE ON runtimes FOR EACH ROW WHEN (NEW.spec->>'home' = 'h-new')", DISK_FULL);
    assert_int_equal(lifecycle_start(&fixture->service, ONE, &err), 0);
    assert_told(fixture, "give h-new;");
    assert_true(row_is("status = 'error' AND spec->>'home' IS NULL"));
}

/* The row still wants a start, which makes another sandbox. */
static void sandbox_that_the_row_cannot_name_is_removed(void **state)
{
    static const struct test_reply taken = {
        .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", .ending = TEST_CLOSE};
    struct service_fixture *fixture = *state;
    struct test_server *server = test_server_start(&taken, 1, NULL);
    CLEANUP(secret_done) struct secret proof = SECRET_INIT;
    struct error err = ERROR_INIT;

    sandbox_key_derive("key", SANDBOX_KEY_PROOF, &proof);
    test_server_prove(server, secret_reveal(&proof), NULL);
    fixture->backend.sandbox_url = test_server_url(server, "");
    add_one(fixture, "starting", "running");
    service_seal_key(fixture, ONE, "session-key");
    test_sql("UPDATE runtimes SET container_id = NULL, url = NULL, network = NULL");
    play("UPDATE ON runtimes FOR EACH ROW WHEN (NEW.status = 'running')", DISK_FULL);
    assert_int_equal(lifecycle_start(&fixture->service, ONE, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_told(fixture, "start " TEST_IMAGE ";remove " ONE ";");
    assert_true(row_is("status = 'starting' AND container_id IS NULL"));
    test_server_stop(server);
}

int create_race_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(home_is_given_back_if_the_row_cannot_be_added,
                                        service_set_up, tear_down),
        cmocka_unit_test_setup_teardown(session_that_another_request_adds_is_looked_for_again,
                                        service_set_up, tear_down),
        cmocka_unit_test_setup_teardown(conflict_that_stays_is_an_error, service_set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_vanish_are_an_error_in_the_end, service_set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(row_that_vanishes_once_is_looked_for_again, service_set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(other_errors_are_not_tried_again, service_set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(home_is_given_back_if_the_row_cannot_name_it,
                                        service_set_up, tear_down),
        cmocka_unit_test_setup_teardown(sandbox_that_the_row_cannot_name_is_removed, service_set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("runtime/create_race", tests, NULL, NULL);
}

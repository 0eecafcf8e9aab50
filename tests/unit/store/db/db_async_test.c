/*
 * Statements of a process that never blocks: answers in their order, errors of single ones, and
 * what becomes of them when the connection breaks or PostgreSQL is out of reach.
 */
#include "store/db/db_async.h"

#include <poll.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/db/async_listen.h"
#include "store/db/async_statement.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { DEADLINE_MS = 60000, LOOK_MS = 100, ASKED_MAX = 8 };

/* Cells and error codes of the answers, each with a comma, as they come. */
struct answers {
    struct strbuf text;
    size_t n;
    struct error err; /* of the newest */
    struct async_query *pending[ASKED_MAX];
    size_t n_asked;
};

static void answers_done(struct answers *answers)
{
    strbuf_done(&answers->text);
}

static void on_answer(void *owner, const PGresult *rows, const struct error *err)
{
    struct answers *answers = owner;

    answers->n++;
    if (err != NULL) {
        assert_null(rows);
        answers->err = *err;
        strbuf_appendf(&answers->text, "error %d,", (int)err->code);
        return;
    }
    for (int i = 0; i < PQnfields(rows) && PQntuples(rows) > 0; i++)
        strbuf_appendf(&answers->text, "%s,",
                       PQgetisnull(rows, 0, i) ? "NULL" : db_text(rows, 0, i));
}

static struct db_async *open_at(const char *url, const char *application)
{
    const struct db_options options = {
        .url = url, .application = application, .statement_timeout_ms = 30000};
    struct db_async *async = NULL;
    struct error err = ERROR_INIT;

    assert_done(db_async_open(&options, &async, &err), &err);
    return async;
}

static void ask_as(struct db_async *async, struct answers *answers, const char *sql,
                   struct db_params params, enum async_effect effect)
{
    const struct async_statement statement = {.sql = sql,
                                              .params = params,
                                              .effect = effect,
                                              .done = on_answer,
                                              .owner = answers,
                                              .pending = &answers->pending[answers->n_asked]};
    size_t n_before = answers->n;

    db_async_send(async, &statement);
    assert_int_equal(answers->n, n_before);
    assert_non_null(answers->pending[answers->n_asked]);
    answers->n_asked++;
}

static void ask(struct db_async *async, struct answers *answers, const char *sql,
                struct db_params params)
{
    ask_as(async, answers, sql, params, ASYNC_READS);
}

/* An event loop pumps only when the descriptor is readable. */
static bool turn(struct db_async *async, int timeout_ms)
{
    struct pollfd wait = {.fd = db_async_fd(async), .events = POLLIN};
    bool is_readable = poll(&wait, 1, timeout_ms) > 0;

    if (is_readable)
        db_async_pump(async);
    return is_readable;
}

static void wait_for(struct db_async *async, const struct answers *answers, size_t n)
{
    while (answers->n < n) {
        if (!turn(async, DEADLINE_MS))
            fail_msg("no answer; so far: %s", answers->text.text);
    }
}

static const char SQL_TWO[] = "SELECT $1::text, $2::text";
static const char SQL_FAIL[] = "SELECT 1 / $1::int";
static const char SQL_BAD[] = "SELECT no_such_column";
static const char SQL_SLEEP[] = "SELECT 'slept' FROM pg_sleep($1::float)";

static void answers_come_in_the_order_of_their_statements(void **state)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    struct db_async *async = open_at(test_database_url(), "deft-test");
    char first[8] = "first";

    (void)state;
    ask(async, &answers, SQL_TWO, DB_PARAMS(first, ""));
    memset(first, 'x', sizeof(first) - 1); /* parameters are copied */
    ask(async, &answers, SQL_TWO, DB_PARAMS(NULL, "second"));
    ask(async, &answers, SQL_SLEEP, DB_PARAMS("0.01"));
    wait_for(async, &answers, 3);
    ask(async, &answers, SQL_TWO, DB_PARAMS("third", "again"));
    wait_for(async, &answers, 4);
    assert_string_equal(answers.text.text, "first,,NULL,second,slept,third,again,");
    for (size_t i = 0; i < answers.n_asked; i++)
        assert_null(answers.pending[i]);
    db_async_free(async);
}

/* Each statement is a transaction of its own. */
static void statement_that_fails_fails_alone(void **state)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct db_async *async = open_at(test_database_url(), "deft-test");

    (void)state;
    ask(async, &answers, SQL_FAIL, DB_PARAMS("1"));
    ask(async, &answers, SQL_FAIL, DB_PARAMS("0"));
    ask(async, &answers, SQL_FAIL, DB_PARAMS("1"));
    wait_for(async, &answers, 3);
    strbuf_appendf(&expected, "1,error %d,1,", ERROR_STALE);
    assert_string_equal(answers.text.text, expected.text);
    assert_string_equal(answers.err.message, "PostgreSQL 22012: division by zero");
    db_async_free(async);
}

static void statement_that_cannot_be_prepared_fails_alone(void **state)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    struct db_async *async = open_at(test_database_url(), "deft-test");

    (void)state;
    for (int i = 0; i < 2; i++) {
        ask(async, &answers, SQL_BAD, DB_NO_PARAMS);
        ask(async, &answers, SQL_TWO, DB_PARAMS("a", "b"));
        wait_for(async, &answers, answers.n_asked);
        strbuf_appendf(&expected, "error %d,a,b,", ERROR_INTERNAL);
        assert_string_equal(answers.text.text, expected.text);
    }
    db_async_free(async);
}

/* More than the socket takes at once, from a connection that is up and idle. */
static void large_statement_is_sent_whole(void **state)
{
    enum { LARGE_BYTES = 16 << 20 };
    static const char SQL_LENGTH[] = "SELECT length($1), right($1, 3)";
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf large = STRBUF_INIT;
    struct db_async *async = open_at(test_database_url(), "deft-test");

    (void)state;
    while (large.len < LARGE_BYTES - 3)
        strbuf_append_char(&large, 'x');
    strbuf_append(&large, "end");
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "b"));
    wait_for(async, &answers, 1);
    ask(async, &answers, SQL_LENGTH, DB_PARAMS(large.text));
    wait_for(async, &answers, 2);
    assert_string_equal(answers.text.text, "a,b,16777216,end,");
    db_async_free(async);
}

static void cancelled_query_is_not_answered(void **state)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    struct db_async *async = open_at(test_database_url(), "deft-test");
    struct async_query *none = NULL;

    (void)state;
    ask(async, &answers, SQL_TWO, DB_PARAMS("cancelled", ""));
    ask(async, &answers, SQL_TWO, DB_PARAMS("kept", ""));
    async_query_cancel(&answers.pending[0]);
    assert_null(answers.pending[0]);
    async_query_cancel(&none);
    wait_for(async, &answers, 1);
    assert_string_equal(answers.text.text, "kept,,");
    db_async_free(async);
}

static void queries_of_a_connection_that_is_freed_are_dropped(void **state)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    struct db_async *async = open_at(test_database_url(), "deft-test");

    (void)state;
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "b"));
    ask(async, &answers, SQL_TWO, DB_PARAMS("c", "d"));
    db_async_free(async);
    assert_int_equal(answers.n, 0);
    assert_null(answers.pending[0]);
    assert_null(answers.pending[1]);
    db_async_free(NULL);
}

/* --- a connection that breaks --- */

static const char *const no_listens[] = {NULL};

/* Ends the connections of that name in the middle of their statement. */
static void break_connections(const struct uuid *application, struct db_async *async)
{
    CLEANUP(strbuf_done) struct strbuf sleeping = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf end = STRBUF_INIT;
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;

    strbuf_appendf(&sleeping,
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'"
                   " AND wait_event = 'PgSleep'",
                   application->text);
    while (test_sql_count(sleeping.text) == 0) {
        assert_true(clock_monotonic_ms() < deadline_ms);
        (void)turn(async, LOOK_MS);
    }
    strbuf_appendf(&end,
                   "SELECT count(pg_terminate_backend(pid, %d)) FROM pg_stat_activity"
                   " WHERE application_name = '%s'",
                   DEADLINE_MS, application->text);
    assert_int_equal(test_sql_count(end.text), 1);
}

/* A write may have happened: only its caller can know whether it may be repeated. */
static void reads_are_sent_again_and_writes_are_not(void **state)
{
    static const char SQL_SLEEP_ONCE[] =
        "SELECT CASE WHEN nextval('async_tries') = 1 THEN (SELECT 'a' FROM pg_sleep(3600))"
        " ELSE 'again' END";
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    const struct uuid application = uuid_random();
    struct db_async *async = open_at(test_database_url(), application.text);

    (void)state;
    test_sql("CREATE SEQUENCE async_tries");
    ask(async, &answers, SQL_SLEEP_ONCE, DB_NO_PARAMS);
    ask_as(async, &answers, SQL_TWO, DB_PARAMS("a", "write"), ASYNC_WRITES);
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "read"));
    ask_as(async, &answers, SQL_TWO, DB_PARAMS("a", "last write"), ASYNC_WRITES);
    break_connections(&application, async);
    wait_for(async, &answers, 4);
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "later"));
    wait_for(async, &answers, 5);
    strbuf_appendf(&expected, "error %d,error %d,again,a,read,a,later,", ERROR_UNAVAILABLE,
                   ERROR_UNAVAILABLE);
    assert_string_equal(answers.text.text, expected.text);
    test_sql("DROP SEQUENCE async_tries");
    db_async_free(async);
}

static void read_is_sent_again_once(void **state)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    const struct uuid application = uuid_random();
    struct db_async *async = open_at(test_database_url(), application.text);

    (void)state;
    ask(async, &answers, SQL_SLEEP, DB_PARAMS("3600"));
    break_connections(&application, async);
    assert_int_equal(answers.n, 0);
    break_connections(&application, async);
    wait_for(async, &answers, 1);
    assert_int_equal(answers.err.code, ERROR_UNAVAILABLE);
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "b"));
    wait_for(async, &answers, 2);
    db_async_free(async);
}

static void unreachable_server_fails_what_waits_for_it(void **state)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    struct db_async *async = open_at("host=/nonexistent", "deft-test");

    (void)state;
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "read"));
    ask_as(async, &answers, SQL_TWO, DB_PARAMS("a", "write"), ASYNC_WRITES);
    wait_for(async, &answers, 2);
    assert_int_equal(answers.err.code, ERROR_UNAVAILABLE);
    assert_non_null(strstr(answers.err.message, "/nonexistent"));
    /* It is tried again after a pause, also for a statement that comes within it. */
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "later"));
    wait_for(async, &answers, 3);
    assert_int_equal(answers.err.code, ERROR_UNAVAILABLE);
    db_async_free(async);
}

static void connection_has_its_name_and_its_time_limit(void **state)
{
    static const char SQL_SETTINGS[] = "SELECT current_setting('application_name'),"
                                       " current_setting('statement_timeout'),"
                                       " current_setting('TimeZone')";
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    struct db_async *async = open_at(test_database_url(), "deft-async-name");

    (void)state;
    ask(async, &answers, SQL_SETTINGS, DB_NO_PARAMS);
    wait_for(async, &answers, 1);
    assert_string_equal(answers.text.text, "deft-async-name,30s,UTC,");
    db_async_free(async);
}

/* --- listening --- */

/* What a listener heard, each with a comma. */
static void on_changed(void *owner, const char *id)
{
    strbuf_appendf(owner, "changed %s,", id);
}

static void on_ended(void *owner, const char *id)
{
    strbuf_appendf(owner, "ended %s,", id);
}

static void on_progress(void *owner, const char *lines)
{
    strbuf_appendf(owner, "progress %s,", lines);
}

static void on_reset(void *owner)
{
    strbuf_append(owner, "reset,");
}

static void wait_for_text(struct db_async *async, const struct strbuf *heard, const char *expected)
{
    while (heard->text == NULL || strstr(heard->text, expected) == NULL) {
        if (!turn(async, DEADLINE_MS))
            fail_msg("not heard: %s", expected);
    }
}

static void listener_hears_each_kind_of_hint(void **state)
{
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    const struct async_listener listener = {.changed = on_changed,
                                            .ended = on_ended,
                                            .progressed = on_progress,
                                            .reset = on_reset,
                                            .owner = &heard};
    struct db_async *async = open_at(test_database_url(), "deft-test");

    (void)state;
    async_listen(async, &listener);
    db_async_pump(async); /* without a statement, too */
    wait_for_text(async, &heard, "reset,");
    test_sql("SELECT pg_notify('deft_events', 'a,bc,' || repeat('x', 63) || ',' ||"
             " repeat('y', 64) || ',d')");
    test_sql("SELECT pg_notify('deft_callers', 'key')");
    test_sql("SELECT pg_notify('deft_work', 'unheard')");
    test_sql("SELECT pg_notify('deft_progress', 'lines, whole')");
    wait_for_text(async, &heard, "whole,");
    assert_string_equal(heard.text,
                        "reset,changed a,changed bc,"
                        "changed xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,"
                        "changed d,ended key,progress lines, whole,");
    db_async_free(async);
}

static void listener_is_told_of_each_new_connection_before_any_answer(void **state)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    const struct async_listener listener = {.changed = on_changed,
                                            .ended = on_ended,
                                            .progressed = on_progress,
                                            .reset = on_reset,
                                            .owner = &answers.text};
    const struct uuid application = uuid_random();
    struct db_async *async = open_at(test_database_url(), application.text);

    (void)state;
    async_listen(async, &listener);
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "b"));
    wait_for(async, &answers, 1);
    assert_string_equal(answers.text.text, "reset,a,b,");
    ask_as(async, &answers, SQL_SLEEP, DB_PARAMS("3600"), ASYNC_WRITES);
    break_connections(&application, async);
    wait_for(async, &answers, 2);
    strbuf_reset(&answers.text);
    wait_for_text(async, &answers.text, "reset,");
    test_sql("SELECT pg_notify('deft_events', 'after')");
    wait_for_text(async, &answers.text, "changed after,");
    db_async_free(async);
}

static void connection_without_a_listener_ignores_notifications(void **state)
{
    static const char SQL_LISTEN[] = "LISTEN deft_events";
    static const char SQL_NOTIFY[] = "NOTIFY deft_events, 'x'";
    const struct db_async_listener none = {.listens = no_listens};
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    struct db_async *async = open_at(test_database_url(), "deft-test");

    (void)state;
    db_async_listen(async, &none);
    ask(async, &answers, SQL_LISTEN, DB_NO_PARAMS);
    ask(async, &answers, SQL_NOTIFY, DB_NO_PARAMS);
    ask(async, &answers, SQL_TWO, DB_PARAMS("a", "b"));
    wait_for(async, &answers, 3);
    assert_string_equal(answers.text.text, "a,b,");
    db_async_free(async);
}

static void hints_go_by_another_connection_or_not_at_all(void **state)
{
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    const struct async_listener listener = {.changed = on_changed,
                                            .ended = on_ended,
                                            .progressed = on_progress,
                                            .reset = on_reset,
                                            .owner = &heard};
    struct db_async *hears = open_at(test_database_url(), "deft-test");
    struct db_async *sends = open_at(test_database_url(), "deft-test");
    struct db_async *writes = open_at(test_database_url(), "deft-test");
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};

    (void)state;
    async_listen(hears, &listener);
    db_async_pump(hears);
    wait_for_text(hears, &heard, "reset,");
    async_hint(writes, 1U << HINT_EVENTS, "unsent");
    db_async_set_hints(writes, sends);
    async_hint(writes, 1U << HINT_WORK, "unheard");
    async_hint(writes, 1U << HINT_EVENTS | 1U << HINT_CALLERS, "id");
    ask(sends, &answers, SQL_TWO, DB_PARAMS("a", "b"));
    wait_for(sends, &answers, 1);
    wait_for_text(hears, &heard, "ended id,");
    assert_string_equal(heard.text, "reset,changed id,ended id,");
    db_async_free(writes);
    db_async_free(sends);
    db_async_free(hears);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_in_the_order_of_their_statements),
        cmocka_unit_test(statement_that_fails_fails_alone),
        cmocka_unit_test(statement_that_cannot_be_prepared_fails_alone),
        cmocka_unit_test(large_statement_is_sent_whole),
        cmocka_unit_test(cancelled_query_is_not_answered),
        cmocka_unit_test(queries_of_a_connection_that_is_freed_are_dropped),
        cmocka_unit_test(reads_are_sent_again_and_writes_are_not),
        cmocka_unit_test(read_is_sent_again_once),
        cmocka_unit_test(unreachable_server_fails_what_waits_for_it),
        cmocka_unit_test(connection_has_its_name_and_its_time_limit),
        cmocka_unit_test(listener_hears_each_kind_of_hint),
        cmocka_unit_test(listener_is_told_of_each_new_connection_before_any_answer),
        cmocka_unit_test(connection_without_a_listener_ignores_notifications),
        cmocka_unit_test(hints_go_by_another_connection_or_not_at_all),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

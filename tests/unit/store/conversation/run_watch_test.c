/*
 * A run followed by another process: its events, the lines of its model, and its end.
 */
#include "store/conversation/run_watch.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "store/conversation/log_fixture.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

enum { PATIENCE_MS = 60000 };

struct followed {
    struct test_log log;
    struct run_watch *watch;
    struct run_update update;
    int closed_fd;
};

/* clang-format off */
#define FOLLOWED_INIT {.update = RUN_UPDATE_INIT}
/* clang-format on */

static void set_wanted(const struct followed *followed, const char *wanted_at)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET wanted_at = %s WHERE id = '%s'", wanted_at,
                   followed->log.conversation.id.text);
    test_sql(sql.text);
}

static void follow(struct followed *followed, const struct store_fixture *fixture,
                   const char *letters, int64_t after_seq)
{
    struct error err = ERROR_INIT;

    *followed = (struct followed){.log = test_log_new(fixture), .update = RUN_UPDATE_INIT};
    test_log_add(&followed->log, letters);
    set_wanted(followed, "now()");
    assert_done(run_watch_new(fixture->db, &followed->log.conversation.id, after_seq,
                              &followed->watch, &err),
                &err);
}

static void followed_done(struct followed *followed)
{
    run_watch_free(followed->watch);
    run_update_done(&followed->update);
    test_log_done(&followed->log);
}

static int next(struct followed *followed, int64_t wait_ms, struct error *err)
{
    const struct run_watch_limits limits = {clock_monotonic_ms() + wait_ms, followed->closed_fd};

    return run_watch_next(followed->watch, &limits, &followed->update, err);
}

static void assert_next(struct followed *followed, size_t n_events, bool is_over)
{
    struct error err = ERROR_INIT;

    assert_done(next(followed, PATIENCE_MS, &err), &err);
    assert_int_equal(followed->update.events.n, n_events);
    assert_int_equal(followed->update.is_over, is_over);
}

static void events_come_once_and_in_order(void **state)
{
    CLEANUP(followed_done) struct followed followed = FOLLOWED_INIT;

    follow(&followed, *state, "bua", 1);
    assert_next(&followed, 2, false);
    assert_int_equal(followed.update.events.seqs[0], 2);
    test_log_add(&followed.log, "aaaaaaaaaa");
    assert_next(&followed, 8, false);
    assert_next(&followed, 2, false);
    assert_int_equal(followed.update.events.seqs[1], 13);
    test_log_add(&followed.log, "a");
    set_wanted(&followed, "NULL");
    assert_next(&followed, 1, true);
}

static void run_without_more_events_is_over(void **state)
{
    CLEANUP(followed_done) struct followed followed = FOLLOWED_INIT;

    follow(&followed, *state, "bu", 2);
    set_wanted(&followed, "NULL");
    assert_next(&followed, 0, true);
}

static void notify(const struct followed *followed, const char *line)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT pg_notify('deft_progress', '%s {}' || chr(10) || '%s %s')",
                   "11111111-1111-4111-8111-111111111111", followed->log.conversation.id.text,
                   line);
    test_sql(sql.text);
}

static void only_the_runs_own_lines_are_given(void **state)
{
    CLEANUP(followed_done) struct followed followed = FOLLOWED_INIT;

    follow(&followed, *state, "bu", 1);
    assert_next(&followed, 1, false);
    notify(&followed, "{\"a\": 1}");
    assert_next(&followed, 0, false);
    assert_string_equal(followed.update.lines.text, "{\"a\": 1}\n");
    test_sql("SELECT pg_notify('deft_progress',"
             " '11111111-1111-4111-8111-111111111111 {}')");
    set_wanted(&followed, "NULL");
    assert_next(&followed, 0, true);
    assert_int_equal(followed.update.lines.len, 0);
}

static void wait_ends_at_its_deadline(void **state)
{
    CLEANUP(followed_done) struct followed followed = FOLLOWED_INIT;
    struct error err = ERROR_INIT;

    follow(&followed, *state, "bu", 2);
    assert_int_equal(next(&followed, 0, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_int_equal(next(&followed, 20, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
}

static void wait_ends_when_the_client_leaves(void **state)
{
    CLEANUP(followed_done) struct followed followed = FOLLOWED_INIT;
    struct error err = ERROR_INIT;
    int pair[2] = {-1, -1};

    follow(&followed, *state, "bu", 2);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    followed.closed_fd = pair[0];
    assert_int_equal(next(&followed, 20, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_int_equal(close(pair[1]), 0);
    assert_int_equal(next(&followed, PATIENCE_MS, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(close(pair[0]), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_once_and_in_order),
        cmocka_unit_test(run_without_more_events_is_over),
        cmocka_unit_test(only_the_runs_own_lines_are_given),
        cmocka_unit_test(wait_ends_at_its_deadline),
        cmocka_unit_test(wait_ends_when_the_client_leaves),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

/*
 * Guarantees of hints: they reach the listeners of their kind, are merged when there are many, and
 * are sent again after the connection broke.
 */
#include "store/db/hints.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

#define ALL_KINDS ((1U << HINT_N_KINDS) - 1)

enum { DEADLINE_MS = 60000, MANY = 300, UUIDS_A_PAYLOAD_AT_LEAST = 200 };

/* Two processes in one: what the first sends, the second hears. */
struct pair {
    struct hints *sender;
    struct hints *listener;
    struct uuid application; /* of the listener's connections */
};

static struct pair open_pair(unsigned kinds)
{
    struct pair pair = {.application = uuid_random()};
    struct error err = ERROR_INIT;

    assert_done(hints_open(test_database_url(), "hints-sender", 0, &pair.sender, &err), &err);
    assert_done(hints_open(test_database_url(), pair.application.text, kinds, &pair.listener, &err),
                &err);
    hints_pump(pair.sender);
    hints_pump(pair.listener);
    return pair;
}

static void pair_done(struct pair *pair)
{
    hints_free(pair->sender);
    hints_free(pair->listener);
}

static void wait_for_any(const struct pair *pair)
{
    int fds[4];
    struct pollfd waits[4];

    hints_fds(pair->sender, fds);
    hints_fds(pair->listener, fds + 2);
    for (size_t i = 0; i < 4; i++)
        waits[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    (void)poll(waits, 4, 1000); /* as main threads do: they look each second anyway */
}

/* The next hint that is heard, whatever it is. */
static enum hint_kind hear(const struct pair *pair, char id_out[64])
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    enum hint_kind kind = HINT_N_KINDS;

    while (!hints_next(pair->listener, &kind, id_out)) {
        if (clock_monotonic_ms() > deadline_ms)
            fail_msg("no hint came");
        wait_for_any(pair);
        hints_pump(pair->sender);
        hints_pump(pair->listener);
    }
    return kind;
}

static void expect(const struct pair *pair, enum hint_kind kind, const char *id)
{
    char heard[64] = "";

    assert_int_equal(hear(pair, heard), kind);
    assert_string_equal(heard, id);
}

static void new_listener_looks_at_everything_first(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_WORK | 1U << HINT_RUNTIME);

    (void)state;
    expect(&pair, HINT_WORK, "");
    expect(&pair, HINT_RUNTIME, "");
}

static void hint_reaches_who_listens_to_its_kind(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_EVENTS);

    (void)state;
    expect(&pair, HINT_EVENTS, "");
    hints_send(pair.sender, HINT_CONTROL, "not-for-us");
    hints_send(pair.sender, HINT_EVENTS, "first");
    expect(&pair, HINT_EVENTS, "first");
    hints_send(pair.sender, HINT_EVENTS, "second");
    expect(&pair, HINT_EVENTS, "second");
}

static void every_kind_has_its_channel(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(ALL_KINDS);

    (void)state;
    for (unsigned kind = 0; kind < HINT_N_KINDS; kind++)
        expect(&pair, (enum hint_kind)kind, "");
    for (unsigned kind = 0; kind < HINT_N_KINDS; kind++) {
        hints_send(pair.sender, (enum hint_kind)kind, "id");
        expect(&pair, (enum hint_kind)kind, "id");
    }
}

static void same_id_twice_goes_once(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_EVENTS);

    (void)state;
    expect(&pair, HINT_EVENTS, "");
    hints_send(pair.sender, HINT_EVENTS, "abc");
    hints_send(pair.sender, HINT_EVENTS, "ab"); /* a part of one is another one */
    hints_send(pair.sender, HINT_EVENTS, "abc");
    hints_send(pair.sender, HINT_EVENTS, "ab");
    hints_send(pair.sender, HINT_EVENTS, "end");
    expect(&pair, HINT_EVENTS, "abc");
    expect(&pair, HINT_EVENTS, "ab");
    expect(&pair, HINT_EVENTS, "end");
}

/* PostgreSQL carries less than 8000 bytes: what fits goes, the rest is found by the slow look. */
static void flood_is_cut_and_does_no_harm(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_EVENTS);
    char heard[64] = "";
    int n_heard = 0;

    (void)state;
    expect(&pair, HINT_EVENTS, "");
    for (int i = 0; i < MANY; i++) {
        struct uuid id = uuid_random();

        hints_send(pair.sender, HINT_EVENTS, id.text);
    }
    assert_int_equal(hear(&pair, heard), HINT_EVENTS);
    hints_send(pair.sender, HINT_EVENTS, "end");
    for (n_heard = 1; !text_equal(heard, "end"); n_heard++)
        assert_int_equal(hear(&pair, heard), HINT_EVENTS);
    assert_in_range(n_heard, UUIDS_A_PAYLOAD_AT_LEAST, MANY + 1);
}

static PGconn *listen_to(const char *sql)
{
    PGconn *conn = PQconnectdb(test_database_url());
    PGresult *rows = PQexec(conn, sql);

    assert_int_equal(PQresultStatus(rows), PGRES_COMMAND_OK);
    PQclear(rows);
    return conn;
}

static void what_waits_goes_in_one_message(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_EVENTS);
    PGconn *conn = listen_to("LISTEN deft_events");
    PGnotify *first = NULL;
    PGnotify *second = NULL;

    (void)state;
    expect(&pair, HINT_EVENTS, "");
    hints_send(pair.sender, HINT_EVENTS, "a");
    hints_send(pair.sender, HINT_EVENTS, "b");
    hints_send(pair.sender, HINT_EVENTS, "c");
    expect(&pair, HINT_EVENTS, "a");
    PQclear(PQexec(conn, "SELECT 1")); /* brings what was sent before */
    first = PQnotifies(conn);
    second = PQnotifies(conn);
    assert_non_null(first);
    assert_string_equal(first->extra, "a,b,c");
    assert_null(second);
    PQfreemem(first);
    PQfinish(conn);
}

static void terminate(const struct uuid *application)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(pg_terminate_backend(pid, %d)) FROM pg_stat_activity"
                   " WHERE application_name = '%s'",
                   DEADLINE_MS, application->text);
    assert_true(test_sql_count(sql.text) > 0);
}

static void broken_listener_connects_again_and_looks_at_everything(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_EVENTS);

    (void)state;
    expect(&pair, HINT_EVENTS, "");
    hints_send(pair.sender, HINT_EVENTS, "before");
    expect(&pair, HINT_EVENTS, "before");
    terminate(&pair.application);
    expect(&pair, HINT_EVENTS, "");
    hints_send(pair.sender, HINT_EVENTS, "after");
    expect(&pair, HINT_EVENTS, "after");
}

/* What was to go with the broken connection is lost; what comes later is not. */
static void broken_sender_connects_again(void **state)
{
    const struct uuid application = uuid_random();
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_EVENTS);
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    enum hint_kind kind = HINT_N_KINDS;
    char heard[64] = "";
    struct error err = ERROR_INIT;

    (void)state;
    expect(&pair, HINT_EVENTS, "");
    hints_free(pair.sender);
    assert_done(hints_open(test_database_url(), application.text, 0, &pair.sender, &err), &err);
    hints_pump(pair.sender);
    terminate(&application);
    while (!hints_next(pair.listener, &kind, heard)) {
        assert_true(clock_monotonic_ms() < deadline_ms);
        hints_send(pair.sender, HINT_EVENTS, "after");
        wait_for_any(&pair);
        hints_pump(pair.sender);
        hints_pump(pair.listener);
    }
    assert_string_equal(heard, "after");
}

/* Those that wait for the end of the pause, too: a process that ends has just handed over its work.
 */
static void end_sends_what_is_queued(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_WORK);

    (void)state;
    expect(&pair, HINT_WORK, "");
    hints_send(pair.sender, HINT_WORK, "first");
    hints_pump(pair.sender);
    hints_send(pair.sender, HINT_WORK, "second");
    hints_pump(pair.sender);
    hints_free(pair.sender);
    assert_int_equal(hints_open(test_database_url(), "hints-sender", 0, &pair.sender,
                                &(struct error){.code = ERROR_NONE}),
                     0);
    expect(&pair, HINT_WORK, "first");
    expect(&pair, HINT_WORK, "second");
}

static void run_ends_when_it_is_asked_to(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(0);
    CLEANUP(fd_close) int stop_fd = eventfd(1, EFD_CLOEXEC);
    struct error err = ERROR_INIT;

    (void)state;
    assert_done(hints_run(pair.listener, stop_fd, &err), &err);
}

/* Anyone who may connect may notify: an id of any length must do no harm. */
static void id_that_is_too_long_is_dropped(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_WORK);

    (void)state;
    expect(&pair, HINT_WORK, "");
    test_sql(
        "SELECT pg_notify('deft_work', repeat('x', 64) || ',' || repeat('y', 7000) || ',last')");
    expect(&pair, HINT_WORK, "last");
}

/* The next notification, as "channel: text"; waits for it. */
static void assert_notified(PGconn *conn, const struct pair *pair, const char *channel,
                            const char *text)
{
    int64_t deadline_ms = clock_monotonic_ms() + DEADLINE_MS;
    PGnotify *notify = PQnotifies(conn);

    while (notify == NULL && clock_monotonic_ms() < deadline_ms) {
        hints_pump(pair->sender);
        PQclear(PQexec(conn, "SELECT 1")); /* brings what was sent before */
        notify = PQnotifies(conn);
    }
    assert_non_null(notify);
    assert_string_equal(notify->relname, channel);
    assert_string_equal(notify->extra, text);
    PQfreemem(notify);
}

static void append_line(struct strbuf *line, char letter, size_t n_bytes)
{
    strbuf_reset(line);
    for (size_t i = 0; i < n_bytes; i++)
        strbuf_append_char(line, letter);
}

/* A reader that an event's hint wakes has the pieces of its text by then. */
static void lines_of_progress_go_first_and_together(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(0);
    PGconn *conn = listen_to("LISTEN deft_progress; LISTEN deft_events");

    (void)state;
    hints_send(pair.sender, HINT_EVENTS, "id");
    hints_send_line(pair.sender, "one, and");
    hints_send_line(pair.sender, "two");
    assert_notified(conn, &pair, "deft_progress", "one, and\ntwo\n");
    assert_notified(conn, &pair, "deft_events", "id");
    PQfinish(conn);
}

static void long_progress_is_cut_between_lines(void **state)
{
    CLEANUP(pair_done) struct pair pair = open_pair(0);
    CLEANUP(strbuf_done) struct strbuf a = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf both = STRBUF_INIT;
    PGconn *conn = listen_to("LISTEN deft_progress");

    (void)state;
    /* Two lines and what separates them fill a message to its last byte. */
    append_line(&a, 'a', HINT_LINE_MAX_BYTES / 2);
    append_line(&b, 'b', HINT_LINE_MAX_BYTES - a.len - 1);
    strbuf_appendf(&both, "%s\n%s", a.text, b.text);
    hints_send_line(pair.sender, a.text);
    hints_send_line(pair.sender, b.text);
    hints_send_line(pair.sender, "end");
    assert_notified(conn, &pair, "deft_progress", both.text);
    assert_notified(conn, &pair, "deft_progress", "end\n");
    /* One byte more does not fit. */
    strbuf_append_char(&b, 'b');
    hints_send_line(pair.sender, a.text);
    hints_send_line(pair.sender, b.text);
    strbuf_append_char(&b, '\n');
    assert_notified(conn, &pair, "deft_progress", a.text);
    assert_notified(conn, &pair, "deft_progress", b.text);
    PQfinish(conn);
}

/* 256 KiB of lines wait at most; later ones are lost, and the next after them are not. */
static void progress_that_nobody_sends_is_bounded(void **state)
{
    enum { LINE_BYTES = 4095, KEPT = 64 };
    CLEANUP(pair_done) struct pair pair = open_pair(0);
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    PGconn *conn = listen_to("LISTEN deft_progress");

    (void)state;
    for (int i = 0; i < KEPT + 3; i++) {
        append_line(&line, (char)('0' + i), LINE_BYTES);
        hints_send_line(pair.sender, line.text);
    }
    for (int i = 0; i < KEPT; i++) {
        append_line(&line, (char)('0' + i), LINE_BYTES);
        if (i == KEPT - 1)
            strbuf_append_char(&line, '\n');
        assert_notified(conn, &pair, "deft_progress", line.text);
    }
    hints_send_line(pair.sender, "next");
    assert_notified(conn, &pair, "deft_progress", "next\n");
    PQfinish(conn);
}

/* 64 KiB of ids wait at most. */
static void ids_that_nobody_sends_are_bounded(void **state)
{
    enum { UUID_AND_COMMA = 37, QUEUED_MAX_BYTES = 65536, SENT = 3000 };
    CLEANUP(pair_done) struct pair pair = open_pair(1U << HINT_WORK);
    char heard[64] = "";
    int n_heard = 0;

    (void)state;
    expect(&pair, HINT_WORK, "");
    for (int i = 0; i < SENT; i++) {
        struct uuid id = uuid_random();

        hints_send(pair.sender, HINT_WORK, id.text);
    }
    assert_int_equal(hear(&pair, heard), HINT_WORK);
    hints_send(pair.sender, HINT_WORK, "end");
    for (n_heard = 0; !text_equal(heard, "end"); n_heard++)
        assert_int_equal(hear(&pair, heard), HINT_WORK);
    assert_int_equal(n_heard, QUEUED_MAX_BYTES / UUID_AND_COMMA);
}

static bool is_woken(struct hints *hints)
{
    struct pollfd ready = {.events = POLLIN};
    int fds[2];

    hints_fds(hints, fds);
    ready.fd = fds[0];
    return poll(&ready, 1, 0) > 0;
}

/* The thread that sends waits for it. */
static void what_is_queued_wakes_its_sender(void **state)
{
    (void)state;
    for (int is_line = 0; is_line < 2; is_line++) {
        struct hints *hints = NULL;
        struct error err = ERROR_INIT;

        assert_done(hints_open(test_database_url(), "deft-test", 0, &hints, &err), &err);
        assert_false(is_woken(hints));
        if (is_line)
            hints_send_line(hints, "line");
        else
            hints_send(hints, HINT_EVENTS, "id");
        assert_true(is_woken(hints));
        hints_free(hints);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_listener_looks_at_everything_first),
        cmocka_unit_test(hint_reaches_who_listens_to_its_kind),
        cmocka_unit_test(every_kind_has_its_channel),
        cmocka_unit_test(same_id_twice_goes_once),
        cmocka_unit_test(flood_is_cut_and_does_no_harm),
        cmocka_unit_test(what_waits_goes_in_one_message),
        cmocka_unit_test(broken_listener_connects_again_and_looks_at_everything),
        cmocka_unit_test(broken_sender_connects_again),
        cmocka_unit_test(end_sends_what_is_queued),
        cmocka_unit_test(run_ends_when_it_is_asked_to),
        cmocka_unit_test(id_that_is_too_long_is_dropped),
        cmocka_unit_test(lines_of_progress_go_first_and_together),
        cmocka_unit_test(long_progress_is_cut_between_lines),
        cmocka_unit_test(progress_that_nobody_sends_is_bounded),
        cmocka_unit_test(ids_that_nobody_sends_are_bounded),
        cmocka_unit_test(what_is_queued_wakes_its_sender),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * When the service thread ticks; and the socket that it listens on.
 */
#include "gateway/core/ticker.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "gateway/core/listener.h"

enum { TICK_MS = 1000, MS_PER_S = 1000, NS_PER_MS = 1000000, US_PER_MS = 1000, BEGIN_MS = 5000 };

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
static int64_t now_ms;
static int64_t scheduled_us; /* -1: not since the last look */
static sul_cb_t on_timer;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* POSIX.1-2017, clock_gettime(): both clocks stand still. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    *now = (struct timespec){.tv_sec = now_ms / MS_PER_S, .tv_nsec = now_ms % MS_PER_S * NS_PER_MS};
    return 0;
}

void lws_sul_schedule(struct lws_context *ctx, int tsi, lws_sorted_usec_list_t *sul, sul_cb_t cb,
                      lws_usec_t us)
{
    assert_null(ctx);
    assert_int_equal(tsi, 0);
    assert_non_null(sul);
    scheduled_us = us;
    on_timer = cb;
}

/* Ticks until now, and what the next one answers. */
struct ticks {
    size_t n;
    int64_t at_ms;
    int64_t due_ms;
    int64_t advance_ms; /* what it asks for meanwhile; 0: nothing */
    struct ticker *ticker;
};

static int64_t tick(void *owner, int64_t at_ms)
{
    struct ticks *ticks = owner;

    ticks->n++;
    ticks->at_ms = at_ms;
    if (ticks->advance_ms > 0)
        ticker_advance(ticks->ticker, ticks->advance_ms);
    return ticks->due_ms;
}

static void expect_scheduled_ms(int64_t ms)
{
    assert_int_equal(scheduled_us, ms < 0 ? -1 : ms * US_PER_MS);
    scheduled_us = -1;
}

static void start(struct ticker *ticker, struct ticks *ticks)
{
    *ticks = (struct ticks){.due_ms = -1, .ticker = ticker};
    *ticker = (struct ticker){.tick = tick, .owner = ticks};
    now_ms = BEGIN_MS;
    scheduled_us = -1;
    ticker_advance(ticker, 1);
    expect_scheduled_ms(-1);
    ticker_start(ticker);
    expect_scheduled_ms(TICK_MS);
    assert_int_equal(ticks->n, 0);
}

/* The timer goes off after that time. */
static void go_off(struct ticker *ticker, int64_t after_ms)
{
    now_ms += after_ms;
    on_timer(&ticker->timer);
}

static void ticks_once_a_second(void **state)
{
    struct ticker ticker;
    struct ticks ticks;

    (void)state;
    start(&ticker, &ticks);
    for (size_t i = 1; i <= 3; i++) {
        go_off(&ticker, TICK_MS);
        assert_int_equal(ticks.n, i);
        assert_int_equal(ticks.at_ms, now_ms);
        expect_scheduled_ms(TICK_MS);
    }
}

static void ticks_earlier_when_something_is_due(void **state)
{
    static const int64_t rows[][2] = {
        {0, 0}, {1, 1}, {TICK_MS - 1, TICK_MS - 1}, {TICK_MS + 1, TICK_MS}, {-1, TICK_MS}};
    struct ticker ticker;
    struct ticks ticks;

    (void)state;
    start(&ticker, &ticks);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ticks.due_ms = rows[i][0];
        go_off(&ticker, TICK_MS);
        expect_scheduled_ms(rows[i][1]);
    }
}

static void only_an_earlier_time_counts(void **state)
{
    struct ticker ticker;
    struct ticks ticks;

    (void)state;
    start(&ticker, &ticks);
    ticker_advance(&ticker, 300);
    expect_scheduled_ms(300);
    ticker_advance(&ticker, 300);
    expect_scheduled_ms(-1);
    ticker_advance(&ticker, 5 * TICK_MS);
    expect_scheduled_ms(-1);
    now_ms += 100;
    ticker_advance(&ticker, 199);
    expect_scheduled_ms(199);
    ticks.advance_ms = 40;
    go_off(&ticker, 199);
    expect_scheduled_ms(40); /* not the second of the tick's answer */
    ticks.advance_ms = 0;
    go_off(&ticker, 40);
    expect_scheduled_ms(TICK_MS);
}

/* --- the listener --- */

static void listener_replaces_an_old_file(void **state)
{
    CLEANUP(fd_close) int fd = -1;
    CLEANUP(fd_close) int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat found = {0};
    struct error err = ERROR_INIT;

    (void)state;
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/deft-listener.%d",
                   (int)getpid());
    for (int i = 0; i < 2; i++) {
        fd_close(&fd);
        assert_int_equal(listener_open(address.sun_path, &fd, &err), 0);
    }
    assert_int_equal(stat(address.sun_path, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0660);
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(unlink(address.sun_path), 0);
}

static void listener_needs_a_path_that_fits(void **state)
{
    struct sockaddr_un address;
    char path[sizeof(address.sun_path) + 1];
    struct error err = ERROR_INIT;
    int fd = -1;

    (void)state;
    memset(path, 'x', sizeof(path));
    path[sizeof(address.sun_path)] = '\0';
    assert_int_equal(listener_open(path, &fd, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_non_null(strstr(err.message, "too long for a socket"));
    memcpy(path, "/nonexistent/", strlen("/nonexistent/"));
    path[sizeof(address.sun_path) - 1] = '\0';
    assert_int_equal(listener_open(path, &fd, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.message, "listening on /nonexistent/"));
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_once_a_second),
        cmocka_unit_test(ticks_earlier_when_something_is_due),
        cmocka_unit_test(only_an_earlier_time_counts),
        cmocka_unit_test(listener_replaces_an_old_file),
        cmocka_unit_test(listener_needs_a_path_that_fits),
    };

    return cmocka_run_group_tests_name("gateway/ticker", tests, NULL, NULL);
}

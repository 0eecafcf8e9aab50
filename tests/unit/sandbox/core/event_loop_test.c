/*
 * The loop: the order of timers, children that end, descriptors that are removed, and signals; and
 * work in a process of its own, whose result comes through it.
 */
#include "sandbox/core/event_loop.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/fork_task.h"
#include "unit/sandbox/core/core_tests.h"

enum { WITHIN_MS = 20000, N_TIMERS = 5 };

struct bench {
    struct event_loop *loop;
    struct event_loop_timer watchdog;
    struct strbuf said; /* what happened, in order */
};

static void on_late(void *owner)
{
    (void)owner;
    fail_msg("nothing happened");
}

static int set_up(void **state)
{
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;

    assert_int_equal(event_loop_new(&bench->loop, &err), 0);
    bench->said = (struct strbuf)STRBUF_INIT;
    bench->watchdog = (struct event_loop_timer){.expired = on_late};
    event_loop_timer_set(bench->loop, &bench->watchdog, WITHIN_MS);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    event_loop_timer_clear(bench->loop, &bench->watchdog);
    event_loop_free(bench->loop);
    event_loop_free(NULL);
    strbuf_done(&bench->said);
    mem_free(bench);
    return 0;
}

static void run_until(struct bench *bench, const char *said)
{
    while (bench->said.len < strlen(said))
        event_loop_dispatch(bench->loop);
    assert_string_equal(bench->said.text, said);
}

/* --- timers --- */

struct named_timer {
    struct event_loop_timer timer;
    struct bench *bench;
    char name;
};

static void on_expired(void *owner)
{
    struct named_timer *named = owner;

    assert_int_equal(named->timer.due_ms, 0);
    strbuf_append_char(&named->bench->said, named->name);
}

static void make_timers(struct bench *bench, struct named_timer timers[N_TIMERS])
{
    for (int i = 0; i < N_TIMERS; i++)
        timers[i] = (struct named_timer){
            {.expired = on_expired, .owner = &timers[i]}, bench, (char)('a' + i)};
}

static void timers_expire_in_order(void **state)
{
    struct bench *bench = *state;
    struct named_timer timers[N_TIMERS];

    make_timers(bench, timers);
    event_loop_timer_set(bench->loop, &timers[2].timer, 60);
    event_loop_timer_set(bench->loop, &timers[0].timer, 0);
    event_loop_timer_set(bench->loop, &timers[1].timer, 30);
    event_loop_timer_set(bench->loop, &timers[3].timer, 5000);
    event_loop_timer_set(bench->loop, &timers[4].timer, 90);
    /* One is set again, to an earlier time; one is cleared, twice. */
    event_loop_timer_set(bench->loop, &timers[3].timer, 45);
    event_loop_timer_clear(bench->loop, &timers[1].timer);
    assert_int_equal(timers[1].timer.due_ms, 0);
    event_loop_timer_clear(bench->loop, &timers[1].timer);
    run_until(bench, "adce");
    /* And again. */
    event_loop_timer_set(bench->loop, &timers[0].timer, 1);
    run_until(bench, "adcea");
}

static void on_again(void *owner)
{
    struct named_timer *named = owner;

    on_expired(owner);
    if (named->bench->said.len < 3)
        event_loop_timer_set(named->bench->loop, &named->timer, 1);
}

static void timers_of_one_time_expire_as_they_were_set(void **state)
{
    struct bench *bench = *state;
    struct named_timer timers[N_TIMERS];

    make_timers(bench, timers);
    for (int i = 0; i < N_TIMERS; i++)
        event_loop_timer_set(bench->loop, &timers[i].timer, 20);
    run_until(bench, "abcde");
}

static void timer_may_set_itself(void **state)
{
    struct bench *bench = *state;
    struct named_timer timers[N_TIMERS];

    make_timers(bench, timers);
    timers[0].timer.expired = on_again;
    event_loop_timer_set(bench->loop, &timers[0].timer, 1);
    run_until(bench, "aaa");
}

/* --- children --- */

struct named_child {
    struct event_loop_child child;
    struct bench *bench;
    char name;
};

static void on_exited(void *owner, int status)
{
    struct named_child *named = owner;

    assert_true(WIFEXITED(status));
    strbuf_appendf(&named->bench->said, "%c%d", named->name, WEXITSTATUS(status));
}

/* A child that ends when the write end of the pipe is closed. */
static pid_t start_child(struct bench *bench, struct named_child *named, char name,
                         const int end[2])
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(WITHIN_MS / 1000);
        (void)close(end[1]);
        (void)!read(end[0], (char[1]){0}, 1);
        _exit(name - 'a');
    }
    *named = (struct named_child){{.pid = pid, .exited = on_exited, .owner = named}, bench, name};
    event_loop_child_watch(bench->loop, &named->child);
    return pid;
}

static void each_child_is_told_of_once(void **state)
{
    struct bench *bench = *state;
    struct named_child children[3];
    pid_t pids[3] = {0};

    for (int i = 0; i < 3; i++) {
        int end[2] = {-1, -1};

        assert_int_equal(pipe2(end, O_CLOEXEC), 0);
        pids[i] = start_child(bench, &children[i], (char)('b' + i), end);
        /* The second is not wanted any more; it is reaped. */
        if (i == 1)
            event_loop_child_forget(bench->loop, &children[i].child);
        fd_close(&end[1]);
        fd_close(&end[0]);
        if (i == 1)
            while (kill(pids[i], 0) == 0)
                event_loop_dispatch(bench->loop);
        else
            run_until(bench, i == 0 ? "b1" : "b1d3");
    }
    event_loop_child_forget(bench->loop, &children[0].child);
    assert_false(event_loop_stop_requested(bench->loop));
}

static void child_of_a_list_is_found(void **state)
{
    struct bench *bench = *state;
    struct named_child children[3];
    int ends[3][2];

    for (int i = 0; i < 3; i++) {
        assert_int_equal(pipe2(ends[i], O_CLOEXEC), 0);
        (void)start_child(bench, &children[i], (char)('b' + i), ends[i]);
        fd_close(&ends[i][0]);
    }
    /* They hold the write ends of those before them, so they end from the last on. */
    for (int i = 2; i >= 0; i--) {
        fd_close(&ends[i][1]);
        run_until(bench, i == 2 ? "d3" : i == 1 ? "d3c2" : "d3c2b1");
    }
}

/* --- descriptors --- */

struct named_source {
    struct event_loop_source source;
    struct bench *bench;
    struct named_source *other;
};

static void on_ready(void *owner, uint32_t events)
{
    struct named_source *named = owner;

    assert_int_equal(events & EPOLLIN, EPOLLIN);
    strbuf_append_char(&named->bench->said, 'r');
    event_loop_remove(named->bench->loop, &named->source);
    event_loop_remove(named->bench->loop, &named->other->source);
}

/* Both are ready in one turn of the loop: the one that comes first removes the other. */
static void removed_source_is_not_called(void **state)
{
    struct bench *bench = *state;
    struct named_source sources[2];
    struct named_timer timers[N_TIMERS];
    struct error err = ERROR_INIT;
    int ends[2][2];

    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe2(ends[i], O_CLOEXEC), 0);
        sources[i] =
            (struct named_source){{ends[i][0], on_ready, &sources[i]}, bench, &sources[1 - i]};
        assert_int_equal(event_loop_add(bench->loop, &sources[i].source, EPOLLIN, &err), 0);
        assert_int_equal(write(ends[i][1], "x", 1), 1);
    }
    run_until(bench, "r");
    /* Nothing comes after it, though both are readable. */
    make_timers(bench, timers);
    event_loop_timer_set(bench->loop, &timers[0].timer, 1);
    run_until(bench, "ra");
    for (int i = 0; i < 2; i++) {
        fd_close(&ends[i][0]);
        fd_close(&ends[i][1]);
    }
    sources[0].source.fd = -1;
    event_loop_remove(bench->loop, &sources[0].source);
    assert_int_equal(event_loop_add(bench->loop, &sources[0].source, EPOLLIN, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

static void changed_source_is_called_for_its_events(void **state)
{
    struct bench *bench = *state;
    struct named_source source;
    struct named_source other = {.source = {.fd = -1}};
    struct named_timer timers[N_TIMERS];
    struct error err = ERROR_INIT;
    int ends[2] = {-1, -1};

    make_timers(bench, timers);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    source = (struct named_source){{ends[0], on_ready, &source}, bench, &other};
    assert_int_equal(event_loop_add(bench->loop, &source.source, 0, &err), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    event_loop_timer_set(bench->loop, &timers[0].timer, 1);
    run_until(bench, "a");
    event_loop_change(bench->loop, &source.source, EPOLLIN);
    run_until(bench, "ar");
    fd_close(&ends[0]);
    fd_close(&ends[1]);
}

/* --- signals --- */

/* The number that the next descriptor would have. */
static int next_descriptor(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

    (void)close(fd);
    return fd;
}

static void signals_ask_for_the_end(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT};
    struct error err = ERROR_INIT;
    int n_before = next_descriptor();

    (void)state;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct event_loop *loop = NULL;

        assert_int_equal(event_loop_new(&loop, &err), 0);
        assert_false(event_loop_stop_requested(loop));
        assert_int_equal(kill(getpid(), signals[i]), 0);
        event_loop_dispatch(loop);
        /* As PID 1, one of its own namespace may not end it. */
        assert_int_equal(event_loop_stop_requested(loop), getpid() != 1);
        event_loop_free(loop);
        assert_int_equal(next_descriptor(), n_before);
    }
}

/* --- work in a process of its own --- */

static void on_told(void *owner, json_t *found, const struct error *why)
{
    struct bench *bench = owner;

    if (found != NULL) {
        json_append_text(&bench->said, found);
        assert_int_equal(why->code, ERROR_NONE);
    } else {
        strbuf_append(&bench->said, why->message);
    }
    json_decref(found);
}

static json_t *add_one(const void *what)
{
    const int *number = what;
    json_t *found = json_object();

    json_put(found, "sum", json_integer(*number + 1));
    return found;
}

static json_t *sleep_long(const void *what)
{
    (void)what;
    for (;;)
        (void)pause();
    return NULL;
}

static json_t *end_early(const void *what)
{
    _exit(*(const int *)what);
}

static void work_is_told_or_its_failure(void **state)
{
    static const struct {
        json_t *(*work)(const void *what);
        int number;
        int64_t deadline_ms;
        bool is_interrupted;
        const char *told;
    } cases[] = {
        {add_one, 41, WITHIN_MS, false, "{\"sum\":42}"},
        {sleep_long, 0, 2, false, "The work took longer than 0 seconds"},
        {sleep_long, 0, 1200, false, "The work took longer than 1 seconds"},
        {sleep_long, 0, WITHIN_MS, true, "The work was interrupted"},
        {end_early, 0, WITHIN_MS, false, "The process ended without a result"},
        {end_early, 3, WITHIN_MS, false, "The process ended without a result"},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct fork_task_spec spec = {.work = cases[i].work,
                                            .what = &cases[i].number,
                                            .deadline_ms = cases[i].deadline_ms,
                                            .told = on_told,
                                            .owner = bench};
        struct fork_task *task = NULL;
        struct error err = ERROR_INIT;

        strbuf_reset(&bench->said);
        assert_int_equal(fork_task_start(bench->loop, &spec, &task, &err), 0);
        if (cases[i].is_interrupted)
            fork_task_interrupt(task);
        run_until(bench, cases[i].told);
    }
}

static void freed_work_is_not_told(void **state)
{
    struct bench *bench = *state;
    const struct fork_task_spec spec = {
        .work = sleep_long, .deadline_ms = 1, .told = on_told, .owner = bench, .what = ""};
    struct named_timer timers[N_TIMERS];
    struct fork_task *task = NULL;
    struct error err = ERROR_INIT;

    make_timers(bench, timers);
    assert_int_equal(fork_task_start(bench->loop, &spec, &task, &err), 0);
    fork_task_free(task);
    fork_task_free(NULL);
    /* The process is reaped. */
    while (waitpid(-1, NULL, WNOHANG) == 0)
        event_loop_dispatch(bench->loop);
    event_loop_timer_set(bench->loop, &timers[0].timer, 20);
    run_until(bench, "a");
}

int event_loop_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(timers_expire_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(timers_of_one_time_expire_as_they_were_set, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(timer_may_set_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_child_is_told_of_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(child_of_a_list_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(removed_source_is_not_called, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changed_source_is_called_for_its_events, set_up, tear_down),
        cmocka_unit_test(signals_ask_for_the_end),
        cmocka_unit_test_setup_teardown(work_is_told_or_its_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(freed_work_is_not_told, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("sandbox/event_loop", tests, NULL, NULL);
}

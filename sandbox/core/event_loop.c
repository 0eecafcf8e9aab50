#include "sandbox/core/event_loop.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

enum { BATCH = 64, MS_PER_S = 1000, NS_PER_MS = 1000000 };

struct event_loop {
    int epoll_fd;
    struct event_loop_source timer_source;
    struct event_loop_source signal_source;
    struct event_loop_timer *timers; /* soonest first */
    struct event_loop_child *children;
    bool stop;
    int n_batch;
    struct epoll_event batch[BATCH];
};

static void arm(struct event_loop *loop)
{
    struct itimerspec when = {0};
    int64_t delay_ms = 0;

    if (loop->timers != NULL) {
        delay_ms = loop->timers->due_ms - clock_monotonic_ms();
        if (delay_ms < 1)
            delay_ms = 1;
        when.it_value.tv_sec = delay_ms / MS_PER_S;
        when.it_value.tv_nsec = (delay_ms % MS_PER_S) * NS_PER_MS;
    }
    (void)timerfd_settime(loop->timer_source.fd, 0, &when, NULL);
}

static void on_timer(void *owner, uint32_t events)
{
    struct event_loop *loop = owner;
    uint64_t n_expired = 0;
    int64_t now_ms = clock_monotonic_ms();

    (void)events;
    (void)!read(loop->timer_source.fd, &n_expired, sizeof(n_expired));
    while (loop->timers != NULL && loop->timers->due_ms <= now_ms) {
        struct event_loop_timer *timer = loop->timers;

        loop->timers = timer->next;
        timer->due_ms = 0;
        timer->expired(timer->owner);
    }
    arm(loop);
}

static void reap_one(struct event_loop *loop, pid_t pid, int status)
{
    struct event_loop_child **link = &loop->children;

    while (*link != NULL && (*link)->pid != pid)
        link = &(*link)->next;
    if (*link != NULL) {
        struct event_loop_child *child = *link;

        *link = child->next;
        child->exited(child->owner, status);
    }
}

/*
 * Where both have one user, commands may signal PID 1, but must not end it: a request to end comes
 * from outside the PID namespace, from a sender that has no number here (pid 0). A command can
 * forge that number with sigqueue(), but not together with SI_USER.
 */
static bool asks_for_end(const struct signalfd_siginfo *info)
{
    if (info->ssi_signo == SIGCHLD)
        return false;
    return getpid() != 1 || (info->ssi_code == SI_USER && info->ssi_pid == 0);
}

static void on_signal(void *owner, uint32_t events)
{
    struct event_loop *loop = owner;
    struct signalfd_siginfo info;
    int status = 0;
    pid_t pid = 0;

    (void)events;
    while (read(loop->signal_source.fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (asks_for_end(&info))
            loop->stop = true;
    }
    pid = waitpid(-1, &status, WNOHANG);
    while (pid > 0) {
        reap_one(loop, pid, status);
        pid = waitpid(-1, &status, WNOHANG);
    }
}

static int open_sources(struct event_loop *loop, struct error *err)
{
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_source.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    loop->signal_source.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->timer_source.fd < 0 || loop->signal_source.fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "event loop: %m");
    if (event_loop_add(loop, &loop->timer_source, EPOLLIN, err) < 0)
        return -1;
    return event_loop_add(loop, &loop->signal_source, EPOLLIN, err);
}

int event_loop_new(struct event_loop **event_loop_out, struct error *err)
{
    struct event_loop *loop = NEW(struct event_loop);

    loop->epoll_fd = -1;
    loop->timer_source = (struct event_loop_source){-1, on_timer, loop};
    loop->signal_source = (struct event_loop_source){-1, on_signal, loop};
    if (open_sources(loop, err) < 0) {
        event_loop_free(loop);
        return -1;
    }
    *event_loop_out = loop;
    return 0;
}

void event_loop_free(struct event_loop *loop)
{
    if (loop == NULL)
        return;
    fd_close(&loop->timer_source.fd);
    fd_close(&loop->signal_source.fd);
    fd_close(&loop->epoll_fd);
    mem_free(loop);
}

bool event_loop_stop_requested(const struct event_loop *loop)
{
    return loop->stop;
}

void event_loop_dispatch(struct event_loop *loop)
{
    loop->n_batch = epoll_wait(loop->epoll_fd, loop->batch, BATCH, -1);
    for (int i = 0; i < loop->n_batch; i++) {
        struct event_loop_source *source = loop->batch[i].data.ptr;

        if (source != NULL)
            source->ready(source->owner, loop->batch[i].events);
    }
    loop->n_batch = 0;
}

int event_loop_add(struct event_loop *loop, struct event_loop_source *source, uint32_t events,
                   struct error *err)
{
    struct epoll_event event = {.events = events, .data.ptr = source};

    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "watching a descriptor: %m");
    return 0;
}

void event_loop_change(struct event_loop *loop, struct event_loop_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};

    /* A source whose peer is gone may have been removed already. */
    (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
}

void event_loop_remove(struct event_loop *loop, struct event_loop_source *source)
{
    if (source->fd >= 0)
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
    for (int i = 0; i < loop->n_batch; i++) {
        if (loop->batch[i].data.ptr == source)
            loop->batch[i].data.ptr = NULL;
    }
}

static void unlink_timer(struct event_loop *loop, struct event_loop_timer *timer)
{
    struct event_loop_timer **link = &loop->timers;

    while (*link != NULL && *link != timer)
        link = &(*link)->next;
    if (*link != NULL)
        *link = timer->next;
    timer->due_ms = 0;
}

void event_loop_timer_set(struct event_loop *loop, struct event_loop_timer *timer, int64_t delay_ms)
{
    struct event_loop_timer **link = &loop->timers;
    struct event_loop_timer *first = loop->timers;

    if (timer->due_ms != 0)
        unlink_timer(loop, timer);
    timer->due_ms = clock_monotonic_ms() + delay_ms;
    while (*link != NULL && (*link)->due_ms <= timer->due_ms)
        link = &(*link)->next;
    timer->next = *link;
    *link = timer;
    if (loop->timers != first || loop->timers == timer)
        arm(loop);
}

void event_loop_timer_clear(struct event_loop *loop, struct event_loop_timer *timer)
{
    /* The timer descriptor may fire spuriously; on_timer() handles that. */
    if (timer->due_ms != 0)
        unlink_timer(loop, timer);
}

void event_loop_child_watch(struct event_loop *loop, struct event_loop_child *child)
{
    child->next = loop->children;
    loop->children = child;
}

void event_loop_child_forget(struct event_loop *loop, struct event_loop_child *child)
{
    struct event_loop_child **link = &loop->children;

    while (*link != NULL && *link != child)
        link = &(*link)->next;
    if (*link != NULL)
        *link = child->next;
}

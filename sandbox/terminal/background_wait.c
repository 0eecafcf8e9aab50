#include "sandbox/terminal/background_wait.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

enum {
    LOOK_MS = 50,   /* by then the job has usually redirected its output if the command does so */
    SETTLE_MS = 50, /* between a job's first output and the rest of it */
    FD_PATH_BYTES = 48,
    FD_NAME_BYTES = 64,
};

/* The output file of another user's process cannot be determined: it may be the terminal. */
static bool prints_there(pid_t pid, int fd)
{
    char path[FD_PATH_BYTES];
    char name[FD_NAME_BYTES];
    ssize_t len = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    len = readlink(path, name, sizeof(name) - 1);
    if (len < 0)
        return errno == EACCES || errno == EPERM;
    name[len] = '\0';
    return text_starts_with(name, "/dev/pts/");
}

static bool is_worth_waiting(pid_t pid)
{
    if (kill(pid, 0) < 0 && errno == ESRCH)
        return false;
    return prints_there(pid, STDOUT_FILENO) || prints_there(pid, STDERR_FILENO);
}

static void end_wait(struct background_wait *wait)
{
    background_wait_clear(wait);
    wait->over(wait->owner);
}

/* On a busy machine a job redirects its output late, so each look is followed by a later one. */
static void on_timer(void *owner)
{
    struct background_wait *wait = owner;
    int64_t now_ms = clock_monotonic_ms();
    int64_t left_ms = wait->until_ms - now_ms;
    int64_t passed_ms = now_ms - wait->begun_ms;

    if (wait->has_heard || left_ms <= 0 || !is_worth_waiting(wait->pid))
        end_wait(wait);
    else
        event_loop_timer_set(wait->loop, &wait->timer, passed_ms < left_ms ? passed_ms : left_ms);
}

/* Its last output may still be in the terminal. */
static void on_job_end(void *owner, uint32_t events)
{
    struct background_wait *wait = owner;

    (void)events;
    event_loop_remove(wait->loop, &wait->end);
    wait->has_heard = true;
    event_loop_timer_set(wait->loop, &wait->timer, SETTLE_MS);
}

void background_wait_init(struct background_wait *wait, struct event_loop *loop,
                          void (*over)(void *owner), void *owner)
{
    *wait = (struct background_wait){
        .loop = loop,
        .timer = {.expired = on_timer, .owner = wait},
        .end = {-1, on_job_end, wait},
        .over = over,
        .owner = owner,
    };
}

/* Without pidfds in the kernel, waits the full time even if the job ends. */
static void watch_end(struct background_wait *wait)
{
    struct error err = ERROR_INIT;

    wait->end.fd = (int)syscall(SYS_pidfd_open, wait->pid, 0);
    if (wait->end.fd >= 0 && event_loop_add(wait->loop, &wait->end, EPOLLIN, &err) < 0)
        fd_close(&wait->end.fd);
}

bool background_wait_begin(struct background_wait *wait, pid_t pid, int64_t wait_ms)
{
    if (pid <= 0 || !is_worth_waiting(pid))
        return false;
    wait->pid = pid;
    wait->is_on = true;
    wait->has_heard = false;
    wait->begun_ms = clock_monotonic_ms();
    wait->until_ms = wait->begun_ms + wait_ms;
    watch_end(wait);
    event_loop_timer_set(wait->loop, &wait->timer, LOOK_MS);
    return true;
}

void background_wait_hear(struct background_wait *wait)
{
    if (!wait->is_on || wait->has_heard)
        return;
    wait->has_heard = true;
    event_loop_timer_set(wait->loop, &wait->timer, SETTLE_MS);
}

void background_wait_clear(struct background_wait *wait)
{
    if (!wait->is_on)
        return;
    wait->is_on = false;
    event_loop_timer_clear(wait->loop, &wait->timer);
    event_loop_remove(wait->loop, &wait->end);
    fd_close(&wait->end.fd);
}

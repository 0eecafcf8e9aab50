#include "runtime/bwrap/process_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#define FIRST_SAFE_FD 64
#define EXIT_NOT_STARTED 127
#define PLAIN_UMASK 022

/*
 * The functions below run between fork() and exec in a multithreaded process: only
 * async-signal-safe calls (signal-safety(7)), and direct system calls where libc would involve
 * other threads.
 */

static void give_up(const char *what)
{
    const char *why = strerrordesc_np(errno);

    (void)!write(STDERR_FILENO, what, strlen(what));
    if (why != NULL) {
        (void)!write(STDERR_FILENO, ": ", 2);
        (void)!write(STDERR_FILENO, why, strlen(why));
    }
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(EXIT_NOT_STARTED);
}

/* Moves them to high numbers first, so that no target number is in use. */
static void place_fds(const struct spawn_options *plan)
{
    int moved[SPAWN_FDS_MAX] = {0};
    int start_pipe =
        plan->waits_for_start ? fcntl(plan->start_fd, F_DUPFD_CLOEXEC, FIRST_SAFE_FD) : -1;

    for (size_t i = 0; i < plan->n_fds; i++)
        moved[i] = plan->fds[i] < 0 ? -1 : fcntl(plan->fds[i], F_DUPFD_CLOEXEC, FIRST_SAFE_FD);
    for (size_t i = 0; i < plan->n_fds; i++) {
        /* NOLINTNEXTLINE(android-cloexec-dup): these are the ones that it is to have */
        if (moved[i] < 0 || dup2(moved[i], (int)i) < 0)
            (void)close((int)i);
    }
    if (start_pipe >= 0)
        (void)dup3(start_pipe, (int)plan->n_fds, O_CLOEXEC);
    (void)syscall(SYS_close_range, (unsigned)plan->n_fds + (start_pipe >= 0 ? 1U : 0U), ~0U, 0U);
}

/* EOF: the parent died before it recorded our pid. */
static void wait_at_gate(const struct spawn_options *plan)
{
    char go = 0;

    if (plan->waits_for_start && read((int)plan->n_fds, &go, 1) != 1)
        _exit(EXIT_NOT_STARTED);
}

static void enter_groups(const struct spawn_options *plan)
{
    for (size_t i = 0; i < plan->n_group_fds; i++) {
        if (plan->cgroup_fds[i] >= 0)
            (void)!write(plan->cgroup_fds[i], "0", 1);
    }
}

static void raise_oom_score(int64_t score)
{
    char text[8] = "";
    size_t at = sizeof(text) - 1;
    int fd = -1;

    for (; score > 0 && at > 0; score /= 10)
        text[--at] = (char)('0' + score % 10);
    fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        (void)!write(fd, text + at, sizeof(text) - 1 - at);
    if (fd >= 0)
        (void)close(fd);
}

static void become(uid_t uid)
{
    if (uid == geteuid())
        return;
    if (syscall(SYS_setgroups, 0, NULL) < 0 || syscall(SYS_setresgid, uid, uid, uid) < 0 ||
        syscall(SYS_setresuid, uid, uid, uid) < 0)
        give_up("changing the user");
}

static void run_child(const struct spawn_options *plan)
{
    sigset_t none;

    (void)setsid();
    (void)umask(PLAIN_UMASK);
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    enter_groups(plan);
    if (plan->oom_score_adj > 0)
        raise_oom_score(plan->oom_score_adj);
    place_fds(plan);
    wait_at_gate(plan);
    for (size_t i = 0; i < plan->n_limits; i++) {
        if (setrlimit((__rlimit_resource_t)plan->limits[i].what, &plan->limits[i].limit) < 0)
            give_up("setting a limit");
    }
    become(plan->uid);
    /* exec does not modify its arguments; its prototype predates const. */
    (void)execvpe(plan->argv[0], (char *const *)(uintptr_t)plan->argv,
                  (char *const *)(uintptr_t)plan->environment);
    give_up(plan->argv[0]);
}

int spawn_start(const struct spawn_options *plan, pid_t *pid_out, struct error *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return error_set(err, ERROR_UNAVAILABLE, "fork: %m");
    if (pid == 0)
        run_child(plan);
    *pid_out = pid;
    return 0;
}

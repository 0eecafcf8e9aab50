/*
 * Starts a program that outlives this service: as another user, with limits, in control groups.
 */
#ifndef DEFT_RUNTIME_BWRAP_PROCESS_SPAWN_H
#define DEFT_RUNTIME_BWRAP_PROCESS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

#define SPAWN_FDS_MAX 8
#define SPAWN_LIMITS_MAX 4

struct spawn_limit {
    int what; /* RLIMIT_… */
    struct rlimit limit;
};

struct spawn_options {
    const char *const *argv; /* searched in PATH; ends with NULL */
    const char *const *environment;
    uid_t uid; /* and the gid of that number; our own uid: unchanged */
    int64_t oom_score_adj;
    struct spawn_limit limits[SPAWN_LIMITS_MAX];
    size_t n_limits;
    const int *cgroup_fds; /* "0" is written to each that is not -1 */
    size_t n_group_fds;
    int fds[SPAWN_FDS_MAX]; /* become 0, 1, 2, …; -1: closed */
    size_t n_fds;
    bool waits_for_start; /* starts the program only after reading a byte from start_fd */
    int start_fd;
};

/* ERROR_UNAVAILABLE. Errors in the new process go to its standard error, and it exits with 127. */
int spawn_start(const struct spawn_options *plan, pid_t *pid_out,
                struct error *err) NONNULL MUST_CHECK;

#endif

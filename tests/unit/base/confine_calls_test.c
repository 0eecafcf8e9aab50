/*
 * Each system call that is refused, and to which processes.
 *
 * The calls are not made: a filter of the test's own ends each of them with ENOSYS, over which the
 * refusal by the filter under test has precedence (seccomp(2)).
 */
#include "base/confine.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include "base/error.h"
#include "unit/base/base_test.h"

enum { CALLS_MAX = 120, CODE_MAX = 2 * CALLS_MAX + 2 };

/* Up to which kind of process they are refused; some exist on other architectures only. */
static const struct {
    const char *name;
    enum confine_kind up_to;
} calls[] = {
    {"acct", CONFINE_HOST},
    {"add_key", CONFINE_HOST},
    {"adjtimex", CONFINE_HOST},
    {"bpf", CONFINE_HOST},
    {"clock_adjtime", CONFINE_HOST},
    {"clock_settime", CONFINE_HOST},
    {"create_module", CONFINE_HOST},
    {"delete_module", CONFINE_HOST},
    {"fanotify_init", CONFINE_HOST},
    {"get_mempolicy", CONFINE_HOST},
    {"io_uring_enter", CONFINE_HOST},
    {"io_uring_register", CONFINE_HOST},
    {"io_uring_setup", CONFINE_HOST},
    {"ioperm", CONFINE_HOST},
    {"iopl", CONFINE_HOST},
    {"kcmp", CONFINE_HOST},
    {"kexec_file_load", CONFINE_HOST},
    {"kexec_load", CONFINE_HOST},
    {"keyctl", CONFINE_HOST},
    {"lookup_dcookie", CONFINE_HOST},
    {"mbind", CONFINE_HOST},
    {"migrate_pages", CONFINE_HOST},
    {"move_pages", CONFINE_HOST},
    {"nfsservctl", CONFINE_HOST},
    {"perf_event_open", CONFINE_HOST},
    {"quotactl", CONFINE_HOST},
    {"quotactl_fd", CONFINE_HOST},
    {"reboot", CONFINE_HOST},
    {"request_key", CONFINE_HOST},
    {"set_mempolicy", CONFINE_HOST},
    {"settimeofday", CONFINE_HOST},
    {"stime", CONFINE_HOST},
    {"swapoff", CONFINE_HOST},
    {"swapon", CONFINE_HOST},
    {"syslog", CONFINE_HOST},
    {"uselib", CONFINE_HOST},
    {"userfaultfd", CONFINE_HOST},
    {"ustat", CONFINE_HOST},
    {"vhangup", CONFINE_HOST},
    {"vm86", CONFINE_HOST},
    {"vm86old", CONFINE_HOST},
    {"chroot", CONFINE_RUNTIME},
    {"fsconfig", CONFINE_RUNTIME},
    {"fsmount", CONFINE_RUNTIME},
    {"fsopen", CONFINE_RUNTIME},
    {"fspick", CONFINE_RUNTIME},
    {"modify_ldt", CONFINE_RUNTIME},
    {"mount", CONFINE_RUNTIME},
    {"mount_setattr", CONFINE_RUNTIME},
    {"move_mount", CONFINE_RUNTIME},
    {"open_by_handle_at", CONFINE_RUNTIME},
    {"open_tree", CONFINE_RUNTIME},
    {"pidfd_getfd", CONFINE_RUNTIME},
    {"pivot_root", CONFINE_RUNTIME},
    {"process_madvise", CONFINE_RUNTIME},
    {"process_vm_readv", CONFINE_RUNTIME},
    {"process_vm_writev", CONFINE_RUNTIME},
    {"ptrace", CONFINE_RUNTIME},
    {"setdomainname", CONFINE_RUNTIME},
    {"sethostname", CONFINE_RUNTIME},
    {"setns", CONFINE_RUNTIME},
    {"umount", CONFINE_RUNTIME},
    {"umount2", CONFINE_RUNTIME},
    {"unshare", CONFINE_RUNTIME},
    {"finit_module", CONFINE_PROGRAM},
    {"init_module", CONFINE_PROGRAM},
    {"mknod", CONFINE_PROGRAM},
    {"mknodat", CONFINE_PROGRAM},
    {"personality", CONFINE_PROGRAM},
    {"setfsgid", CONFINE_PROGRAM},
    {"setfsuid", CONFINE_PROGRAM},
    {"capset", CONFINE_DAEMON},
    {"chown", CONFINE_DAEMON},
    {"execve", CONFINE_DAEMON},
    {"execveat", CONFINE_DAEMON},
    {"fchown", CONFINE_DAEMON},
    {"fchownat", CONFINE_DAEMON},
    {"fork", CONFINE_DAEMON},
    {"fsetxattr", CONFINE_DAEMON},
    {"lchown", CONFINE_DAEMON},
    {"link", CONFINE_DAEMON},
    {"linkat", CONFINE_DAEMON},
    {"lsetxattr", CONFINE_DAEMON},
    {"mkdir", CONFINE_DAEMON},
    {"mkdirat", CONFINE_DAEMON},
    {"rename", CONFINE_DAEMON},
    {"renameat", CONFINE_DAEMON},
    {"renameat2", CONFINE_DAEMON},
    {"setgid", CONFINE_DAEMON},
    {"setgroups", CONFINE_DAEMON},
    {"setregid", CONFINE_DAEMON},
    {"setresgid", CONFINE_DAEMON},
    {"setresuid", CONFINE_DAEMON},
    {"setreuid", CONFINE_DAEMON},
    {"setuid", CONFINE_DAEMON},
    {"setxattr", CONFINE_DAEMON},
    {"symlink", CONFINE_DAEMON},
    {"symlinkat", CONFINE_DAEMON},
    {"vfork", CONFINE_DAEMON},
};

/* One call with its first argument, and its error in the confined process. */
struct attempt {
    int number;
    long first;
    int error;
};

/* From now on these calls end with ENOSYS: there is no tracer whom to ask. */
static int end_calls(const struct attempt *attempts, size_t n)
{
    struct sock_filter code[CODE_MAX] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog program = {.filter = code};
    unsigned short len = 1;

    for (size_t i = 0; i < n; i++) {
        code[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                   (unsigned)attempts[i].number, 0, 1);
        code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = len;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int confine_as(enum confine_kind kind)
{
    const char *const nothing[] = {NULL};
    struct error err = ERROR_INIT;

    return kind == CONFINE_PROGRAM ? confine_program("/bin/true", nothing, &err)
                                   : confine(kind, nothing, &err);
}

/* Makes the calls in a process of that kind, and notes their errors. */
static void attempt_all(enum confine_kind kind, const struct attempt *attempts, size_t n,
                        int *errors_out)
{
    size_t size = n * sizeof(int);
    int *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = 0;
    int status = 0;

    assert_true(shared != MAP_FAILED);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (confine_as(kind) < 0 || end_calls(attempts, n) < 0)
            _exit(1);
        for (size_t i = 0; i < n; i++) {
            errno = 0;
            shared[i] =
                syscall(attempts[i].number, attempts[i].first, 0, 0, 0, 0, 0) < 0 ? errno : 0;
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    memcpy(errors_out, shared, size);
    assert_int_equal(munmap(shared, size), 0);
}

/* The number of a call; -1 if this architecture does not have it. */
static int number_of(const char *name)
{
    int number = seccomp_syscall_resolve_name(name);

    return number >= 0 ? number : -1;
}

static void each_call_is_refused_up_to_its_kind(void **state)
{
    struct attempt attempts[CALLS_MAX] = {{0}};
    size_t rows[CALLS_MAX] = {0};
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        attempts[n].number = number_of(calls[i].name);
        rows[n] = i;
        n += attempts[n].number >= 0;
    }
    assert_true(n > 0);
    for (int kind = CONFINE_DAEMON; kind <= CONFINE_HOST; kind++) {
        int errors[CALLS_MAX] = {0};

        attempt_all((enum confine_kind)kind, attempts, n, errors);
        for (size_t i = 0; i < n; i++) {
            bool is_refused = (unsigned)kind <= calls[rows[i]].up_to;

            if (errors[i] != (is_refused ? EPERM : ENOSYS))
                fail_msg("%s, kind %d: error %d", calls[rows[i]].name, kind, errors[i]);
        }
    }
}

/* A process that makes sandboxes needs namespaces; no other one does. */
static void each_namespace_is_refused_but_to_the_host(void **state)
{
    static const long flags[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,    CLONE_NEWUSER,
                                 CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP, SIGCHLD};
    struct attempt attempts[ARRAY_SIZE(flags)] = {{0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        attempts[i] = (struct attempt){.number = SYS_clone, .first = flags[i]};
    for (int kind = CONFINE_DAEMON; kind <= CONFINE_HOST; kind++) {
        int errors[ARRAY_SIZE(flags)] = {0};

        attempt_all((enum confine_kind)kind, attempts, ARRAY_SIZE(flags), errors);
        for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
            bool is_refused = kind < CONFINE_HOST && flags[i] != SIGCHLD;

            if (errors[i] != (is_refused ? EPERM : ENOSYS))
                fail_msg("%lx, kind %d: error %d", (unsigned long)flags[i], kind, errors[i]);
        }
    }
}

static void few_families_of_sockets_are_open_to_programs(void **state)
{
    enum { N_FAMILIES = 48 };
    static const int open[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    struct attempt attempts[N_FAMILIES] = {{0}};

    (void)state;
    for (int i = 0; i < N_FAMILIES; i++)
        attempts[i] = (struct attempt){.number = SYS_socket, .first = i};
    for (int kind = CONFINE_DAEMON; kind <= CONFINE_HOST; kind++) {
        int errors[N_FAMILIES] = {0};

        attempt_all((enum confine_kind)kind, attempts, N_FAMILIES, errors);
        for (int family = 0; family < N_FAMILIES; family++) {
            bool is_open = kind > CONFINE_PROGRAM;

            for (size_t k = 0; k < ARRAY_SIZE(open); k++)
                is_open = is_open || family == open[k];
            if (errors[family] != (is_open ? ENOSYS : EAFNOSUPPORT))
                fail_msg("family %d, kind %d: error %d", family, kind, errors[family]);
        }
    }
}

/* Its flags are in memory: libc makes do with clone(). Without the filter it would be EINVAL. */
static void clone3_does_not_exist_but_for_the_host(void **state)
{
    (void)state;
    for (int kind = CONFINE_DAEMON; kind <= CONFINE_HOST; kind++) {
        pid_t child = fork();
        int status = 0;

        assert_true(child >= 0);
        if (child == 0) {
            if (confine_as((enum confine_kind)kind) < 0)
                _exit(1);
            _exit(syscall(SYS_clone3, NULL, 0) < 0 ? errno : 0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), kind < CONFINE_HOST ? ENOSYS : EINVAL);
    }
}

int confine_calls_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_refused_up_to_its_kind),
        cmocka_unit_test(each_namespace_is_refused_but_to_the_host),
        cmocka_unit_test(few_families_of_sockets_are_open_to_programs),
        cmocka_unit_test(clone3_does_not_exist_but_for_the_host),
    };

    return cmocka_run_group_tests_name("base/confine calls", tests, NULL, NULL);
}

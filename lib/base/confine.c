#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <seccomp.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

/* From later kernels than these headers may know. */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)
#define ACCESS_IOCTL_DEVICE (UINT64_C(1) << 15)
#define SCOPE_ABSTRACT_SOCKET (UINT64_C(1) << 0)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

/*
 * The struct of the newest ABI; an older kernel accepts it if the fields it does not know are zero.
 */
struct ruleset {
    uint64_t files;
    uint64_t network;
    uint64_t scopes;
};

/* --- seccomp --- */

/* Refused to all: the kernel itself, its modules, its clock, inspection of other processes. */
static const char *const calls_of_none[] = {
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "clock_adjtime",
    "clock_settime",
    "create_module",
    "delete_module",
    "fanotify_init",
    "get_mempolicy",
    "io_uring_enter",
    "io_uring_register",
    "ioperm",
    "iopl",
    "io_uring_setup",
    "kcmp",
    "kexec_load",
    "kexec_file_load",
    "keyctl",
    "lookup_dcookie",
    "mbind",
    "migrate_pages",
    "move_pages",
    "nfsservctl",
    "perf_event_open",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "set_mempolicy",
    "settimeofday",
    "stime",
    "swapoff",
    "swapon",
    "syslog",
    "uselib",
    "userfaultfd",
    "ustat",
    "vhangup",
    "vm86",
    "vm86old",
};

/* Calls for creating sandboxes, or that programs in a sandbox may make. */
static const char *const calls_of_host[] = {
    "chroot",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "modify_ldt",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_by_handle_at",
    "open_tree",
    "pidfd_getfd",
    "pivot_root",
    "process_madvise",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "setdomainname",
    "sethostname",
    "setns",
    "umount",
    "umount2",
    "unshare",
};

/* Calls that programs of the host, such as those that deft-runtime starts, may make. */
static const char *const calls_of_tools[] = {
    "finit_module", "init_module", "mknod", "mknodat", "personality", "setfsgid", "setfsuid",
};

/* Calls of a process that starts others, keeps files, or is root. */
static const char *const calls_of_root[] = {
    "capset",    "execve",    "execveat", "fork",      "setgid",   "setgroups", "setregid",
    "setresgid", "setresuid", "setreuid", "setuid",    "vfork",    "fchown",    "fchownat",
    "chown",     "lchown",    "mkdir",    "mkdirat",   "link",     "linkat",    "symlink",
    "symlinkat", "rename",    "renameat", "renameat2", "setxattr", "fsetxattr", "lsetxattr",
};

static const struct {
    const char *const *names;
    size_t n;
    enum confine_kind up_to; /* the last kind to which they are refused */
} call_lists[] = {
    {calls_of_none, ARRAY_SIZE(calls_of_none), CONFINE_HOST},
    {calls_of_host, ARRAY_SIZE(calls_of_host), CONFINE_RUNTIME},
    {calls_of_tools, ARRAY_SIZE(calls_of_tools), CONFINE_PROGRAM},
    {calls_of_root, ARRAY_SIZE(calls_of_root), CONFINE_DAEMON},
};

static const unsigned namespaces[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
                                      CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};

/* The only families allowed up to AF_NETLINK; all above it are refused, too. */
static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

static int refuse(scmp_filter_ctx filter, const char *name, int error)
{
    int number = seccomp_syscall_resolve_name(name);
    int rc = 0;

    if (number == __NR_SCMP_ERROR)
        return 0; /* unknown to libseccomp */
    rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)error), number, 0);
    /* The call does not exist on this architecture. */
    return rc == -EDOM || rc == -EACCES ? 0 : rc;
}

static int refuse_lists(scmp_filter_ctx filter, enum confine_kind kind)
{
    int rc = 0;

    for (size_t i = 0; i < ARRAY_SIZE(call_lists); i++) {
        for (size_t j = 0; kind <= call_lists[i].up_to && rc == 0 && j < call_lists[i].n; j++)
            rc = refuse(filter, call_lists[i].names[j], EPERM);
    }
    return rc;
}

/* clone3() has its flags in memory, where a filter cannot look: with ENOSYS libc uses clone(). */
static int refuse_namespaces(scmp_filter_ctx filter)
{
    int rc = refuse(filter, "clone3", ENOSYS);

    for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(namespaces); i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
    return rc;
}

static bool has_family(int family)
{
    bool has = false;

    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        has = has || families[i] == family;
    return has;
}

static int refuse_families(scmp_filter_ctx filter)
{
    int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_GT, AF_NETLINK));

    for (int family = 0; rc == 0 && family < AF_NETLINK; family++) {
        if (!has_family(family))
            rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family));
    }
    return rc;
}

static int fill_filter(scmp_filter_ctx filter, enum confine_kind kind)
{
    int rc = refuse_lists(filter, kind);

    if (rc == 0 && kind < CONFINE_HOST)
        rc = refuse_namespaces(filter);
    if (rc == 0 && kind <= CONFINE_PROGRAM)
        rc = refuse_families(filter);
    return rc;
}

/* *missing_out: the message when the kernel has no filters, or NULL. */
static int filter_calls(enum confine_kind kind, const char **missing_out, struct error *err)
{
    scmp_filter_ctx filter = NULL;
    int rc = 0;

    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) {
        *missing_out = "the kernel cannot filter system calls (CONFIG_SECCOMP_FILTER)";
        return 0;
    }
    filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "seccomp_init failed");
    rc = fill_filter(filter, kind);
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    errno = -rc;
    return rc < 0 ? error_set(err, ERROR_UNAVAILABLE, "installing the system call filter: %m") : 0;
}

/* --- Landlock --- */

static int landlock_abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

/* All rights to write, and to execute a file. */
static struct ruleset ruleset_of(int abi)
{
    struct ruleset rules = {
        .files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                 LANDLOCK_ACCESS_FS_MAKE_SYM,
    };

    rules.files |= abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
    rules.files |= abi >= 3 ? ACCESS_TRUNCATE : 0;
    rules.files |= abi >= 5 ? ACCESS_IOCTL_DEVICE : 0;
    rules.scopes = abi >= 6 ? SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL : 0;
    return rules;
}

static int allow_below(int rules_fd, const char *path, uint64_t files, struct error *err)
{
    CLEANUP(fd_close) int fd = open(path, O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr rule = {.allowed_access = files, .parent_fd = fd};

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "open %s: %m", path);
    if (syscall(SYS_landlock_add_rule, rules_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "landlock_add_rule %s: %m", path);
    return 0;
}

static int allow_socket(int rules_fd, const char *socket_path, struct error *err)
{
    const char *end = strrchr(socket_path, '/');
    CLEANUP(mem_freep) char *folder = NULL;

    if (end == NULL)
        return 0;
    folder = mem_dup_bytes(socket_path, (size_t)(end - socket_path));
    return allow_below(rules_fd, folder,
                       LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE, err);
}

static int allow_sockets(int rules_fd, const char *const *sockets, struct error *err)
{
    int rc = 0;

    for (; rc == 0 && *sockets != NULL; sockets++)
        rc = allow_socket(rules_fd, *sockets, err);
    return rc;
}

/*
 * A rule set that refuses all handled rights; allowed ones are added to it. -1 in *fd_out: the
 * kernel has no Landlock.
 */
static int open_rules(const struct ruleset *rules, int *fd_out, const char **missing_out,
                      struct error *err)
{
    if (landlock_abi() < 1) {
        *missing_out = "the kernel cannot restrict which files a process writes "
                       "(CONFIG_SECURITY_LANDLOCK, lsm=landlock)";
        return 0;
    }
    *fd_out = (int)syscall(SYS_landlock_create_ruleset, rules, sizeof(*rules), 0);
    if (*fd_out < 0)
        return error_set(err, ERROR_UNAVAILABLE, "landlock_create_ruleset: %m");
    return allow_below(*fd_out, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE, err);
}

static int close_rules(int rules_fd, struct error *err)
{
    if (syscall(SYS_landlock_restrict_self, rules_fd, 0) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "landlock_restrict_self: %m");
    return 0;
}

static int bound_files(const char *const *sockets, const char **missing_out, struct error *err)
{
    struct ruleset rules = ruleset_of(landlock_abi());
    CLEANUP(fd_close) int fd = -1;

    if (open_rules(&rules, &fd, missing_out, err) < 0)
        return -1;
    if (fd < 0)
        return 0;
    return allow_sockets(fd, sockets, err) < 0 ? -1 : close_rules(fd, err);
}

/* The dynamic loader that the kernel starts for programs of this C library, as for this process. */
static const char *loader_path(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t n = getauxval(AT_PHNUM);
    const char *base = NULL;

    for (size_t i = 0; i < n; i++) {
        if (headers[i].p_type == PT_PHDR)
            base = (const char *)headers - headers[i].p_vaddr;
        if (headers[i].p_type == PT_INTERP && base != NULL)
            return base + headers[i].p_vaddr;
    }
    return NULL;
}

/* Allows writing below the folders, without device nodes and without executing what is written. */
static int allow_folders(int rules_fd, const struct ruleset *rules, const char *const *folders,
                         struct error *err)
{
    const uint64_t never = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                           LANDLOCK_ACCESS_FS_MAKE_BLOCK | ACCESS_IOCTL_DEVICE;
    int rc = 0;

    for (; rc == 0 && *folders != NULL; folders++)
        rc = allow_below(rules_fd, *folders, rules->files & ~never, err);
    return rc;
}

static int bound_program(const char *program, const char *const *folders, const char **missing_out,
                         struct error *err)
{
    struct ruleset rules = ruleset_of(landlock_abi());
    const char *loader = loader_path();
    CLEANUP(fd_close) int fd = -1;

    if (open_rules(&rules, &fd, missing_out, err) < 0)
        return -1;
    if (fd < 0)
        return 0;
    if (allow_below(fd, program, LANDLOCK_ACCESS_FS_EXECUTE, err) < 0 ||
        (loader != NULL && allow_below(fd, loader, LANDLOCK_ACCESS_FS_EXECUTE, err) < 0) ||
        allow_folders(fd, &rules, folders, err) < 0)
        return -1;
    return close_rules(fd, err);
}

/* --- all of it --- */

static int give_up_privileges(struct error *err)
{
    const struct rlimit none = {0, 0};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "PR_SET_NO_NEW_PRIVS: %m");
    /* Keys are in memory: no core dumps, and no access by other processes of the same user. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "PR_SET_DUMPABLE, RLIMIT_CORE: %m");
    return 0;
}

static void tell_missing(const char *missing)
{
    if (missing != NULL)
        log_warning("confinement.unsupported", LOG_STR("meaning", missing));
}

int confine(enum confine_kind kind, const char *const *sockets, struct error *err)
{
    const char *no_landlock = NULL;
    const char *no_seccomp = NULL;

    if (give_up_privileges(err) < 0)
        return -1;
    if (kind == CONFINE_DAEMON && bound_files(sockets, &no_landlock, err) < 0)
        return -1;
    if (filter_calls(kind, &no_seccomp, err) < 0)
        return -1;
    tell_missing(no_landlock);
    tell_missing(no_seccomp);
    return 0;
}

int confine_program(const char *program, const char *const *folders, struct error *err)
{
    const char *no_landlock = NULL;
    const char *no_seccomp = NULL;

    if (give_up_privileges(err) < 0 || bound_program(program, folders, &no_landlock, err) < 0 ||
        filter_calls(CONFINE_PROGRAM, &no_seccomp, err) < 0)
        return -1;
    tell_missing(no_landlock);
    tell_missing(no_seccomp);
    return 0;
}

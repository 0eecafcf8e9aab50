/*
 * Attempts what a program in a sandbox must not be able to do. Prints a line for each attempt: its
 * name, and "done" or the name of the error. Static, so that it runs in any image.
 *
 *   prober server PID       all that is quick; PID: of deft-action
 *   prober processes        how many children there may be
 *   prober memory MEGABYTES how a child ends that takes so much
 *   prober impostor PORT    holds PID 1, signals every deft-action, and answers in its place
 *   prober watches          takes all inotify instances of its user, and keeps them for its life
 *   prober watch            whether one more can be had
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Newer than the headers of some distributions. */
enum {
    CALL_MOUNT_SETATTR = 442,
    CALL_PIDFD_OPEN = 434,
    CALL_PIDFD_GETFD = 438,
    END_MS = 20000,
    MANY = 4096,
    READ_BYTES = 64
};

struct error_name {
    int number;
    const char *name;
};

static const struct error_name error_names[] = {
    {EPERM, "EPERM"},
    {ENOSYS, "ENOSYS"},
    {ENOENT, "ENOENT"},
    {EACCES, "EACCES"},
    {EROFS, "EROFS"},
    {EINVAL, "EINVAL"},
    {EFAULT, "EFAULT"},
    {EBADF, "EBADF"},
    {EAGAIN, "EAGAIN"},
    {EADDRINUSE, "EADDRINUSE"},
    {EMFILE, "EMFILE"},
    {ENOMEM, "ENOMEM"},
    {ESRCH, "ESRCH"},
    {ENOTDIR, "ENOTDIR"},
    {EIO, "EIO"},
    {ENXIO, "ENXIO"},
    {EAFNOSUPPORT, "EAFNOSUPPORT"},
    {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
};

static const char *error_name(int number)
{
    for (size_t i = 0; i < sizeof(error_names) / sizeof(error_names[0]); i++) {
        if (error_names[i].number == number)
            return error_names[i].name;
    }
    return "another";
}

static void tell(const char *name, long result)
{
    printf("%s %s\n", name, result >= 0 ? "done" : error_name(errno));
}

#define TRY(name, ...) tell(name, syscall(__VA_ARGS__))

/* --- system calls --- */

/* A child that a call made by mistake must not go on as one of us. */
static void try_clone(const char *name, unsigned long flags)
{
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    tell(name, pid);
}

static void try_namespaces(void)
{
    int own = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

    TRY("unshare-user", SYS_unshare, CLONE_NEWUSER);
    TRY("unshare-mount", SYS_unshare, CLONE_NEWNS);
    TRY("unshare-net", SYS_unshare, CLONE_NEWNET);
    try_clone("clone-user", CLONE_NEWUSER);
    try_clone("clone-pid", CLONE_NEWPID);
    TRY("clone3", SYS_clone3, NULL, 0);
    TRY("setns", SYS_setns, own, 0);
    TRY("chroot", SYS_chroot, "/");
    TRY("mount", SYS_mount, "none", "/tmp", "tmpfs", 0, NULL);
    TRY("bind-mount", SYS_mount, "/", "/tmp", NULL, 4096, NULL);
    TRY("umount", SYS_umount2, "/tmp", 0);
    TRY("pivot_root", SYS_pivot_root, "/", "/");
    TRY("fsopen", SYS_fsopen, "tmpfs", 0);
    TRY("fsmount", SYS_fsmount, -1, 0, 0);
    TRY("open_tree", SYS_open_tree, -100, "/", 0);
    TRY("move_mount", SYS_move_mount, -1, "", -1, "", 0);
    TRY("mount_setattr", CALL_MOUNT_SETATTR, -1, "", 0, NULL, 0);
}

static void try_kernel(void)
{
    struct perf_event_attr counter = {.size = sizeof(counter)};
    struct timespec epoch = {0, 0};
    struct timeval early = {0, 0};
    struct timex clock = {.modes = ADJ_OFFSET};
    char log[READ_BYTES];

    TRY("bpf", SYS_bpf, 0, NULL, 0);
    TRY("perf_event_open", SYS_perf_event_open, &counter, 0, -1, -1, 0);
    TRY("userfaultfd", SYS_userfaultfd, 0);
    TRY("io_uring_setup", SYS_io_uring_setup, 1, NULL);
    TRY("io_uring_enter", SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0);
    TRY("keyctl", SYS_keyctl, 0, -3, 0, 0, 0);
    TRY("add_key", SYS_add_key, "user", "probe", "x", 1, -3);
    TRY("request_key", SYS_request_key, "user", "probe", NULL, 0);
    TRY("kexec_load", SYS_kexec_load, 0, 0, NULL, 0);
    TRY("init_module", SYS_init_module, NULL, 0, "");
    TRY("finit_module", SYS_finit_module, -1, "", 0);
    TRY("delete_module", SYS_delete_module, "probe", 0);
    TRY("swapon", SYS_swapon, "/none", 0);
    TRY("swapoff", SYS_swapoff, "/none");
    TRY("reboot", SYS_reboot, 0, 0, 0, NULL);
    TRY("clock_settime", SYS_clock_settime, CLOCK_REALTIME, &epoch);
    TRY("settimeofday", SYS_settimeofday, &early, NULL);
    TRY("adjtimex", SYS_adjtimex, &clock);
    TRY("acct", SYS_acct, NULL);
    TRY("quotactl", SYS_quotactl, 0, NULL, 0, NULL);
    TRY("syslog", SYS_syslog, 3, log, sizeof(log));
    TRY("sethostname", SYS_sethostname, "x", 1);
    TRY("setdomainname", SYS_setdomainname, "x", 1);
    TRY("vhangup", SYS_vhangup);
#ifdef SYS_iopl
    TRY("iopl", SYS_iopl, 3);
    TRY("ioperm", SYS_ioperm, 0x70, 1, 1);
#endif
}

static void try_processes(long server)
{
    char byte = 0;
    struct iovec here = {&byte, 1};
    long handle[32] = {0};

    TRY("process_vm_readv", SYS_process_vm_readv, server, &here, 1, &here, 1, 0);
    TRY("process_vm_writev", SYS_process_vm_writev, server, &here, 1, &here, 1, 0);
    TRY("pidfd_getfd", CALL_PIDFD_GETFD, -1, 0, 0);
    TRY("kcmp", SYS_kcmp, getpid(), server, 0, 0, 0);
    TRY("ptrace-server", SYS_ptrace, 16, server, 0, 0);
    TRY("name_to_handle_at", SYS_name_to_handle_at, -100, "/", handle, NULL, 0);
    TRY("open_by_handle_at", SYS_open_by_handle_at, -100, handle, 0);
}

static void try_rights(void)
{
    gid_t root = 0;

    TRY("setuid", SYS_setuid, 0);
    TRY("setgid", SYS_setgid, 0);
    TRY("setgroups", SYS_setgroups, 1, &root);
    TRY("mknod-block", SYS_mknodat, -100, "/tmp/probe-block", S_IFBLK | 0600, makedev(8, 0));
    TRY("mknod-char", SYS_mknodat, -100, "/tmp/probe-char", S_IFCHR | 0600, makedev(1, 1));
    TRY("chown", SYS_fchownat, -100, "/tmp", 0, 0, 0);
}

static void try_sockets(void)
{
    TRY("socket-packet", SYS_socket, AF_PACKET, SOCK_RAW, 0);
    TRY("socket-raw", SYS_socket, AF_INET, SOCK_RAW, 1);
    TRY("socket-raw6", SYS_socket, AF_INET6, SOCK_RAW, 58);
    TRY("socket-vsock", SYS_socket, 40, SOCK_STREAM, 0);
    TRY("socket-alg", SYS_socket, 38, SOCK_SEQPACKET, 0);
    TRY("socket-key", SYS_socket, 15, SOCK_RAW, 2);
    TRY("socket-netfilter", SYS_socket, AF_NETLINK, SOCK_RAW, 12);
    TRY("socket-audit", SYS_socket, AF_NETLINK, SOCK_RAW, 9);
}

/* --- files --- */

static void try_write(const char *path)
{
    char name[READ_BYTES + READ_BYTES];
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    (void)snprintf(name, sizeof(name), "write:%s", path);
    tell(name, fd);
    if (fd >= 0)
        (void)close(fd);
}

/* Reads the server's memory, which may contain its key. */
static void try_server(long server)
{
    static const char *const files[] = {"environ", "mem", "maps", "auxv", "fd", "cwd/x", "root/x"};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[READ_BYTES];
        int fd = -1;

        (void)snprintf(path, sizeof(path), "/proc/%ld/%s", server, files[i]);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        printf("server:%s %s\n", files[i], fd >= 0 ? "done" : error_name(errno));
        if (fd >= 0)
            (void)close(fd);
    }
}

/* A path masked by an empty file can be opened: the result is "empty". */
static void try_read(const char *path)
{
    char bytes[READ_BYTES];
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : -1;

    printf("read:%s %s\n", path, n > 0 ? "done" : n == 0 ? "empty" : error_name(errno));
    if (fd >= 0)
        (void)close(fd);
}

static void try_connect(const char *path)
{
    printf("socket:%s %s\n", path, access(path, F_OK) == 0 ? "done" : error_name(errno));
}

static void try_files(void)
{
    static const char *const written[] = {
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/panic_on_oom",
        "/proc/sys/fs/binfmt_misc/register",
        "/sys/kernel/uevent_helper",
        "/sys/fs/cgroup/release_agent",
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/pids.max",
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/pids/pids.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/.deft/deft-action",
        "/etc/passwd",
    };
    static const char *const read_[] = {
        "/proc/kcore",
        "/proc/keys",
        "/proc/timer_list",
        "/proc/kmsg",
        "/proc/latency_stats",
        "/proc/sched_debug",
        "/dev/mem",
        "/dev/kmem",
        "/dev/port",
        "/dev/kmsg",
        "/dev/sda",
        "/dev/fuse",
        "/dev/kvm",
        "/dev/net/tun",
        "/etc/shadow",
    };
    static const char *const sockets[] = {
        "/var/run/docker.sock",    "/run/docker.sock",    "/run/containerd/containerd.sock",
        "/run/podman/podman.sock", "/run/crio/crio.sock", "/run/dbus/system_bus_socket",
        "/run/systemd/private",    "/sys/firmware/efi",   "/sys/firmware/acpi",
        "/sys/firmware/dmi",
    };

    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
        try_write(written[i]);
    for (size_t i = 0; i < sizeof(read_) / sizeof(read_[0]); i++)
        try_read(read_[i]);
    for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++)
        try_connect(sockets[i]);
}

/* --- what it is --- */

static void tell_limits(void)
{
    struct rlimit files = {0};
    struct rlimit core = {0};
    struct statvfs tmp = {0};

    (void)getrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_CORE, &core);
    (void)statvfs("/tmp", &tmp);
    printf("limit:files %ld:%ld\n", (long)files.rlim_cur, (long)files.rlim_max);
    printf("limit:core %ld:%ld\n", (long)core.rlim_cur, (long)core.rlim_max);
    printf("limit:tmp %lld\n", (long long)tmp.f_frsize * (long long)tmp.f_blocks);
    printf("limit:tmp-flags %s%s\n", (tmp.f_flag & ST_NOSUID) != 0 ? "nosuid" : "",
           (tmp.f_flag & 4) != 0 ? ",nodev" : "");
}

static void tell_descriptors(void)
{
    printf("descriptors ");
    for (int fd = 3; fd < MANY; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d,", fd);
    }
    printf("\n");
}

/* --- how much --- */

static int take_processes(void)
{
    pid_t *children = calloc(MANY, sizeof(*children));
    int n = 0;
    int why = 0;

    while (children != NULL && n < MANY) {
        pid_t pid = fork();

        if (pid < 0) {
            why = errno;
            break;
        }
        if (pid == 0) {
            (void)pause();
            _exit(0);
        }
        children[n++] = pid;
    }
    for (int i = 0; i < n; i++) {
        (void)kill(children[i], SIGKILL);
        (void)waitpid(children[i], NULL, 0);
    }
    free(children);
    printf("processes %d %s\n", n, why != 0 ? error_name(why) : "done");
    return 0;
}

static int take_memory(size_t megabytes)
{
    size_t len = megabytes << 20U;
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        char *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        for (size_t i = 0; bytes != MAP_FAILED && i < len; i += 4096)
            bytes[i] = 1;
        _exit(0);
    }
    (void)waitpid(pid, &status, 0);
    printf("memory %s\n", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "done");
    return 0;
}

/* --- in the server's place --- */

/* Sends a signal, telling how that ended. */
static long try_kill(long pid, int number)
{
    char name[READ_BYTES];
    long result = kill((pid_t)pid, number);

    (void)snprintf(name, sizeof(name), "kill:%ld:%d", pid, number);
    tell(name, result);
    return result;
}

/* PID 1 takes no such signal, and so does not end. */
static void try_end(long pid)
{
    struct pollfd end = {.fd = (int)syscall(CALL_PIDFD_OPEN, pid, 0), .events = POLLIN};

    if (try_kill(pid, SIGKILL) == 0 && pid != 1 && end.fd >= 0)
        (void)poll(&end, 1, END_MS);
}

/* A signal that says to come from outside, which only the kernel may say. */
static void try_forged(int number)
{
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};

    TRY("forged-queue", SYS_rt_sigqueueinfo, 1, number, &info);
    info.si_code = SI_USER;
    TRY("forged-user", SYS_rt_sigqueueinfo, 1, number, &info);
}

static int is_server(const char *pid)
{
    char path[READ_BYTES * 5];
    char name[READ_BYTES] = "";
    FILE *file = NULL;

    (void)snprintf(path, sizeof(path), "/proc/%s/comm", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    (void)!fgets(name, sizeof(name), file);
    (void)fclose(file);
    return strcmp(name, "deft-action\n") == 0;
}

static void try_hold(void)
{
    long held = ptrace(PTRACE_SEIZE, 1, NULL, NULL);
    struct rlimit none = {0, 0};

    tell("seize", held);
    if (held >= 0)
        tell("interrupt", ptrace(PTRACE_INTERRUPT, 1, NULL, NULL));
    TRY("prlimit", SYS_prlimit64, 1, RLIMIT_NOFILE, &none, NULL);
    tell("mem", open("/proc/1/mem", O_RDWR | O_CLOEXEC));
    tell("replace", open("/.deft/deft-action", O_WRONLY | O_TRUNC | O_CLOEXEC));
    tell("remove", unlink("/.deft/deft-action"));
    tell("journal", open("/.deft-j/journal", O_RDWR | O_CLOEXEC));
}

static void try_signals(void)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry = NULL;

    for (entry = readdir(all); entry != NULL; entry = readdir(all)) {
        if (strtol(entry->d_name, NULL, 10) > 0 && is_server(entry->d_name))
            try_end(strtol(entry->d_name, NULL, 10));
    }
    (void)closedir(all);
    for (int number = 1; number <= SIGRTMAX; number++)
        (void)try_kill(1, number);
    try_forged(SIGTERM);
    try_forged(SIGINT);
}

static void answer(int door)
{
    static const char words[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                "Content-Length: 22\r\n\r\n{\"status\": \"impostor\"}";
    char request[MANY];

    for (;;) {
        int visitor = accept(door, NULL, NULL);

        if (visitor < 0)
            continue;
        (void)!read(visitor, request, sizeof(request));
        (void)!write(visitor, words, sizeof(words) - 1);
        (void)close(visitor);
    }
}

static int take_place(long port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    int bound = 0;

    (void)setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    (void)setsockopt(door, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    try_hold();
    try_signals();
    bound = bind(door, (const struct sockaddr *)&address, sizeof(address));
    tell("bind", bound);
    printf("over done\n");
    (void)fflush(stdout);
    if (bound == 0 && listen(door, MANY) == 0)
        answer(door);
    return 0;
}

/* --- what the kernel counts by user --- */

static int take_watches(void)
{
    int n = 0;

    while (n < MANY && inotify_init1(IN_CLOEXEC) >= 0)
        n++;
    printf("watches %d %s\n", n, n < MANY ? error_name(errno) : "done");
    (void)fflush(stdout);
    (void)pause();
    return 0;
}

int main(int argc, char **argv)
{
    long server = 0;

    if (argc > 2 && strcmp(argv[1], "impostor") == 0)
        return take_place(strtol(argv[2], NULL, 10));
    if (argc > 1 && strcmp(argv[1], "watches") == 0)
        return take_watches();
    if (argc > 1 && strcmp(argv[1], "watch") == 0) {
        tell("watch", inotify_init1(IN_CLOEXEC));
        return 0;
    }

    if (argc > 1 && strcmp(argv[1], "processes") == 0)
        return take_processes();
    if (argc > 2 && strcmp(argv[1], "memory") == 0)
        return take_memory((size_t)strtoul(argv[2], NULL, 10));
    if (argc != 3 || strcmp(argv[1], "server") != 0)
        return EXIT_FAILURE;
    tell_descriptors();
    server = strtol(argv[2], NULL, 10);
    try_namespaces();
    try_kernel();
    try_processes(server);
    try_rights();
    try_sockets();
    try_files();
    try_server(server);
    tell_limits();
    return 0;
}

#include "unit/base/base_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/mem.h"

/* The result of an attempt in a confined process: 0 or the error. */
typedef int deed(const char *folder);

static int result(long rc)
{
    return rc < 0 ? errno : 0;
}

static int trace(const char *folder)
{
    (void)folder;
    return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int read_memory(const char *folder)
{
    char there = 'a';
    char here = 'b';
    struct iovec from = {&there, 1};
    struct iovec to = {&here, 1};

    (void)folder;
    return result(process_vm_readv(getpid(), &to, 1, &from, 1, 0));
}

static int make_namespace(const char *folder)
{
    (void)folder;
    return result(unshare(CLONE_NEWUSER));
}

static int clone_namespace(const char *folder)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0UL);

    (void)folder;
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        (void)waitpid((pid_t)pid, NULL, 0);
    return result(pid);
}

static int mount_it(const char *folder)
{
    return result(mount("none", folder, "tmpfs", 0, NULL));
}

static int make_uring(const char *folder)
{
    (void)folder;
    return result(syscall(SYS_io_uring_setup, 1, NULL));
}

static int watch_events(const char *folder)
{
    (void)folder;
    return result(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int run_program(const char *folder)
{
    (void)folder;
    (void)execl("/bin/true", "true", NULL);
    return errno;
}

static int spawn_program(const char *folder)
{
    char name[] = "true";
    char *const argv[] = {name, NULL};
    pid_t pid = 0;
    int rc = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL);

    (void)folder;
    if (rc == 0)
        (void)waitpid(pid, NULL, 0);
    return rc;
}

static int open_packets(const char *folder)
{
    (void)folder;
    return result(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int open_bluetooth(const char *folder)
{
    (void)folder;
    return result(socket(AF_APPLETALK, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int open_internet(const char *folder)
{
    (void)folder;
    return result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int write_file(const char *folder)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/file", folder);
    return result(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int write_old_file(const char *folder)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/old", folder);
    return result(open(path, O_WRONLY | O_CLOEXEC));
}

static int read_old_file(const char *folder)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/old", folder);
    return result(open(path, O_RDONLY | O_CLOEXEC));
}

static int write_nothing(const char *folder)
{
    (void)folder;
    return result(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

static int serve_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(path, 0660) < 0)
        return errno;
    return result(unlink(path));
}

static int serve_in_folder(const char *folder)
{
    char path[100];

    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    return serve_at(path);
}

static int serve_elsewhere(const char *folder)
{
    (void)folder;
    return serve_at("/tmp/deft-confine-test-socket");
}

static void *return_it(void *context)
{
    return context;
}

static int start_thread(const char *folder)
{
    pthread_t thread = 0;
    int rc = pthread_create(&thread, NULL, return_it, NULL);

    (void)folder;
    return rc != 0 ? rc : pthread_join(thread, NULL);
}

static int look_at_itself(const char *folder)
{
    struct rlimit core = {1, 1};

    (void)folder;
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return ERANGE;
    return getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max != 0 ? ERANGE : 0;
}

/* The answer of a new process that confined itself so. */
static int answer_of(enum confine_kind kind, deed *act, const char *folder)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        struct error err = ERROR_INIT;
        char path[128];
        const char *const sockets[] = {"", path, NULL};

        (void)snprintf(path, sizeof(path), "%s/socket", folder);
        if (confine(kind, sockets, &err) < 0)
            _exit(255);
        _exit(act(folder));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int run_itself(const char *folder)
{
    (void)folder;
    (void)execl("/bin/true", "true", NULL);
    return errno;
}

static int run_another(const char *folder)
{
    (void)folder;
    (void)execl("/bin/sh", "sh", "-c", "exit 0", NULL);
    return errno;
}

static int run_what_it_wrote(const char *folder)
{
    char path[128];
    int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/file", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    if (fd < 0 || write(fd, "#!/bin/true\n", 12) != 12 || close(fd) < 0)
        return ERANGE;
    (void)execl(path, path, NULL);
    return errno;
}

static int make_device(const char *folder)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/file", folder);
    return result(mknod(path, S_IFIFO | 0600, 0));
}

static int rename_it(const char *folder)
{
    char path[128];
    char other[128];

    (void)snprintf(path, sizeof(path), "%s/old", folder);
    (void)snprintf(other, sizeof(other), "%s/file", folder);
    return result(rename(path, other) < 0 ? -1 : rename(other, path));
}

static int become_another_user(const char *folder)
{
    (void)folder;
    return result(setresgid((gid_t)-1, getegid(), (gid_t)-1));
}

/* The answer of a new process that was confined for /bin/true, and writes below the folder. */
static int answer_of_program(deed *act, const char *folder)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        struct error err = ERROR_INIT;
        const char *const folders[] = {folder, NULL};

        if (confine_program("/bin/true", folders, &err) < 0)
            _exit(255);
        _exit(act(folder));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool has_landlock(void)
{
    return syscall(444 /* landlock_create_ruleset */, NULL, 0, 1) >= 1;
}

static const struct {
    deed *act;
    int of_daemon;
    int of_runtime;
    bool by_landlock;
} deeds[] = {
    {trace, EPERM, EPERM, false},
    {read_memory, EPERM, EPERM, false},
    {make_namespace, EPERM, EPERM, false},
    {clone_namespace, EPERM, EPERM, false},
    {mount_it, EPERM, EPERM, false},
    {make_uring, EPERM, EPERM, false},
    {watch_events, EPERM, EPERM, false},
    {run_program, EPERM, 0, false},
    {spawn_program, EPERM, 0, false},
    {open_packets, EAFNOSUPPORT, -1, false},
    {open_bluetooth, EAFNOSUPPORT, -1, false},
    {open_internet, 0, 0, false},
    {write_file, EACCES, 0, true},
    {write_old_file, EACCES, 0, true},
    {read_old_file, 0, 0, false},
    {write_nothing, 0, 0, false},
    {serve_in_folder, 0, 0, false},
    {serve_elsewhere, EACCES, 0, true},
    {start_thread, 0, 0, false},
    {look_at_itself, 0, 0, false},
};

/* System calls that nginx and PostgreSQL make, and ones that they never make. */
static const struct {
    deed *act;
    int answer;
    bool by_landlock;
} deeds_of_programs[] = {
    {trace, EPERM, false},
    {read_memory, EPERM, false},
    {make_namespace, EPERM, false},
    {clone_namespace, EPERM, false},
    {mount_it, EPERM, false},
    {make_uring, EPERM, false},
    {watch_events, EPERM, false},
    {make_device, EPERM, false},
    {open_packets, EAFNOSUPPORT, false},
    {run_itself, 0, false},
    {run_another, EACCES, true},
    {run_what_it_wrote, EACCES, true},
    {write_file, 0, false},
    {rename_it, 0, false},
    {serve_in_folder, 0, false},
    {serve_elsewhere, EACCES, true},
    {become_another_user, 0, false},
    {open_internet, 0, false},
    {start_thread, 0, false},
    {look_at_itself, 0, false},
};

static void remove_in(const char *folder, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    (void)unlink(path);
}

static int make_folder(void **state)
{
    static const char form[] = "/tmp/deft-confine.XXXXXX";
    char path[128];
    int fd = -1;

    *state = mem_dup_text(form);
    if (mkdtemp(*state) == NULL)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/old", (const char *)*state);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? -1 : close(fd);
}

static int remove_folder(void **state)
{
    remove_in(*state, "old");
    remove_in(*state, "file");
    (void)rmdir(*state);
    mem_free(*state);
    return 0;
}

static void daemon_does_what_it_needs_and_no_more(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(deeds); i++) {
        if (deeds[i].by_landlock && !has_landlock())
            continue;
        assert_int_equal(answer_of(CONFINE_DAEMON, deeds[i].act, *state), deeds[i].of_daemon);
    }
}

static void runtime_starts_programs_and_writes(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(deeds); i++) {
        if (deeds[i].of_runtime >= 0)
            assert_int_equal(answer_of(CONFINE_RUNTIME, deeds[i].act, *state), deeds[i].of_runtime);
        remove_in(*state, "file");
    }
}

/* Sandboxes that are processes may contain debuggers, which trace other processes. */
static void host_of_sandboxes_keeps_what_they_need(void **state)
{
    assert_int_equal(answer_of(CONFINE_HOST, trace, *state), 0);
    assert_int_equal(answer_of(CONFINE_HOST, read_memory, *state), 0);
    assert_int_equal(answer_of(CONFINE_HOST, spawn_program, *state), 0);
    assert_int_equal(answer_of(CONFINE_HOST, watch_events, *state), EPERM);
    assert_int_equal(answer_of(CONFINE_HOST, look_at_itself, *state), 0);
}

static void program_starts_nothing_but_itself(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(deeds_of_programs); i++) {
        if (deeds_of_programs[i].by_landlock && !has_landlock())
            continue;
        if (answer_of_program(deeds_of_programs[i].act, *state) != deeds_of_programs[i].answer)
            fail_msg("deed %zu is not answered with %d", i, deeds_of_programs[i].answer);
        remove_in(*state, "file");
    }
}

static void socket_folder_that_is_missing_is_named(void **state)
{
    pid_t child = fork();
    int status = 0;

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct error err = ERROR_INIT;
        const char *const sockets[] = {"/nonexistent/socket", NULL};
        int rc = confine(CONFINE_DAEMON, sockets, &err);

        _exit(rc < 0 && strstr(err.message, "/nonexistent") != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(!has_landlock() || status == 0);
}

int confine_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(daemon_does_what_it_needs_and_no_more, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(runtime_starts_programs_and_writes, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(host_of_sandboxes_keeps_what_they_need, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(program_starts_nothing_but_itself, make_folder,
                                        remove_folder),
        cmocka_unit_test(socket_folder_that_is_missing_is_named),
    };

    return cmocka_run_group_tests_name("base/confine", tests, NULL, NULL);
}

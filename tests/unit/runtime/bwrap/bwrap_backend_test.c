#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/seccomp_filter.h"
#include "runtime/bwrap/bwrap_arguments.h"
#include "runtime/bwrap/process_tree.h"
#include "unit/runtime/runtime_test.h"

#define PROFILE_MAX_BYTES (1024UL * 1024)

/* --- the command --- */

static size_t find(const struct arguments *arguments, const char *text)
{
    size_t i = 0;

    while (i < arguments->n && !text_equal(arguments->items[i], text))
        i++;
    return i;
}

static struct bwrap_paths places_of(const char *root)
{
    return (struct bwrap_paths){.root = root,
                                .agent_build = "/f",
                                .workspace = "/w",
                                .journal = "/j",
                                .user = "/u",
                                .tmp_bytes = 5,
                                .shm_bytes = 6,
                                .has_seccomp = true};
}

static void sandbox_has_namespaces_of_its_own(void **state)
{
    static const char *const wanted[] = {"--unshare-user", "--unshare-pid", "--unshare-ipc",
                                         "--unshare-uts",  "--unshare-net", "--seccomp",
                                         "--new-session",  "--as-pid-1"};
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("");
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    assert_string_equal(arguments.items[0], "bwrap");
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        assert_true(find(&arguments, wanted[i]) < arguments.n);
    assert_null(arguments.items[arguments.n]);
    /* The root is closed when all is in its place. */
    assert_in_range(find(&arguments, "--remount-ro"), find(&arguments, "/workspace") + 1,
                    arguments.n - 1);
}

static void host_network_is_kept_only_when_asked_for(void **state)
{
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("");
    struct error err = ERROR_INIT;

    (void)state;
    places.has_host_network = true;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    assert_int_equal(find(&arguments, "--unshare-net"), arguments.n);
}

static void host_shows_its_programs_and_not_its_users(void **state)
{
    static const char *const hidden[] = {"/etc", "/home", "/root", "/var", "/etc/shadow"};
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("");
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    assert_true(find(&arguments, "/usr") < arguments.n);
    assert_true(find(&arguments, "/f/passwd") < arguments.n);
    for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
        assert_int_equal(find(&arguments, hidden[i]), arguments.n);
}

/* Of an image's root: what the sandbox has of its own is not taken, nor is what is hidden. */
static void tree_shows_its_programs_and_nothing_of_its_own(void **state)
{
    static const char *const kept[] = {"usr", "etc"};
    static const char *const left[] = {"home", "tmp", "proc", ".dockerenv", "workspace"};
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    char root[] = "/tmp/deft-tree-XXXXXX";
    struct bwrap_paths places = places_of(root);
    struct error err = ERROR_INIT;
    char path[64] = "";
    size_t link = 0;

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    assert_int_equal(symlink("usr/bin", "bin"), 0);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        assert_int_equal(mkdir(kept[i], 0700), 0);
    for (size_t i = 0; i < ARRAY_SIZE(left); i++)
        assert_int_equal(mkdir(left[i], 0700), 0);
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, kept[i]);
        assert_true(find(&arguments, path) < arguments.n);
        assert_int_equal(rmdir(kept[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, left[i]);
        assert_int_equal(find(&arguments, path), arguments.n);
        assert_int_equal(rmdir(left[i]), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/..", root);
    assert_int_equal(find(&arguments, path), arguments.n);
    link = find(&arguments, "--symlink");
    assert_string_equal(arguments.items[link + 1], "usr/bin");
    assert_string_equal(arguments.items[link + 2], "/bin");
    assert_int_equal(unlink("bin"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(root), 0);
}

static void missing_tree_is_an_error(void **state)
{
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    struct bwrap_paths places = places_of("/nowhere");
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bwrap_arguments_append(&arguments, &places, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

/* --- the filter --- */

static void read_filter(const char *profile, struct strbuf *program)
{
    CLEANUP(fd_close) int fd = memfd_create("filter", MFD_CLOEXEC);
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(seccomp_filter_write(profile, fd, &err), 0);
    strbuf_appendf(&path, "/proc/self/fd/%d", fd);
    assert_int_equal(file_read(path.text, PROFILE_MAX_BYTES, program, &err), 0);
}

/* The error of a system call under the filter. */
static int errno_under(const struct strbuf *program, long number)
{
    const struct sock_fprog filter = {
        .len = (unsigned short)(program->len / sizeof(struct sock_filter)),
        .filter = (struct sock_filter *)(void *)program->text};
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
            _exit(255);
        _exit(syscall(number, 0, 0, 0, 0, 0, 0) < 0 ? errno : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void own_profile_forbids_what_it_says(void **state)
{
    CLEANUP(strbuf_done) struct strbuf profile = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf program = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(
        file_read(DEFT_TOP_SRCDIR "/runtime/seccomp.json", PROFILE_MAX_BYTES, &profile, &err), 0);
    read_filter(profile.text, &program);
    assert_int_equal(errno_under(&program, SYS_getpid), 0);
    assert_int_equal(errno_under(&program, SYS_io_uring_setup), EPERM);
    assert_int_equal(errno_under(&program, SYS_clone3), ENOSYS);
    assert_int_equal(errno_under(&program, SYS_mount), EPERM);
}

static void what_is_not_understood_is_refused(void **state)
{
    static const char *const profiles[] = {
        "{",
        "{\"defaultAction\": \"SCMP_ACT_TRACE\"}",
        "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{\"action\": \"SCMP_ACT_ALLOW\","
        " \"names\": [\"read\"], \"includes\": {\"caps\": [\"CAP_SYS_ADMIN\"]}}]}",
        "{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"syscalls\": [{\"action\": \"SCMP_ACT_ALLOW\","
        " \"names\": [\"read\"], \"args\": [{\"index\": 9, \"op\": \"SCMP_CMP_EQ\"}]}]}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
        struct error err = ERROR_INIT;

        assert_int_equal(seccomp_filter_write(profiles[i], -1, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

/* --- the tree --- */

/* A child with a child of its own, both of which wait; its number. */
static pid_t start_family(void)
{
    int ready[2] = {-1, -1};
    char byte = 0;
    pid_t pid = -1;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)!write(ready[1], "x", 1);
        }
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void whole_tree_is_held_goes_on_and_ends(void **state)
{
    CLEANUP(process_tree_done) struct process_tree tree = {.items = NULL};
    struct error err = ERROR_INIT;
    pid_t pid = start_family();
    int status = 0;

    (void)state;
    assert_int_equal(process_tree_read(pid, &tree, &err), 0);
    assert_int_equal(tree.n, 2);
    assert_int_equal(tree.items[0].pid, pid);
    assert_int_equal(tree.items[1].parent, pid);
    assert_int_equal(process_tree_stop(pid, &err), 0);
    assert_true(process_tree_is_stopped(pid));
    assert_true(process_tree_is_stopped(tree.items[1].pid));
    assert_int_equal(process_tree_continue(pid, &err), 0);
    assert_false(process_tree_is_stopped(pid));
    assert_int_equal(process_tree_end(pid, &err), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    process_tree_done(&tree);
    assert_int_equal(process_tree_read(pid, &tree, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

int test_bwrap_backend(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sandbox_has_namespaces_of_its_own),
        cmocka_unit_test(host_network_is_kept_only_when_asked_for),
        cmocka_unit_test(host_shows_its_programs_and_not_its_users),
        cmocka_unit_test(tree_shows_its_programs_and_nothing_of_its_own),
        cmocka_unit_test(missing_tree_is_an_error),
        cmocka_unit_test(own_profile_forbids_what_it_says),
        cmocka_unit_test(what_is_not_understood_is_refused),
        cmocka_unit_test(whole_tree_is_held_goes_on_and_ends),
    };

    return cmocka_run_group_tests_name("runtime/bwrap_backend", tests, NULL, NULL);
}

/*
 * The processes of a sandbox: which one is the server, whether others run, and how they are held
 * and ended while one of them starts a program.
 */
#include "runtime/bwrap/process_tree.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

#define FILE_MAX_BYTES 65536

/* Waits: its input never ends. */
static pid_t start_program(const char *path, const char *const *arguments)
{
    CLEANUP(fd_close) int begun = -1;
    int ends[2] = {-1, -1};
    char byte = 0;
    pid_t pid = -1;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    begun = ends[0];
    pid = fork();
    if (pid == 0) {
        int input[2] = {-1, -1};

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* NOLINTNEXTLINE(android-cloexec-pipe2): the program keeps both ends of its input */
        if (pipe2(input, 0) < 0 || dup2(input[0], STDIN_FILENO) < 0)
            _exit(127);
        /* exec does not modify its arguments; its prototype predates const. */
        (void)execv(path, (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    (void)close(ends[1]);
    assert_int_equal(read(begun, &byte, 1), 0);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static pid_t start_server(void)
{
    const char *const arguments[] = {"/.deft/deft-action", "600", NULL};

    return start_program("/bin/sleep", arguments);
}

static pid_t start_shell(void)
{
    const char *const arguments[] = {"/bin/sh", "-c", "read line", "-i", NULL};

    return start_program("/bin/sh", arguments);
}

static struct process_tree tree_of(struct process_entry *items, size_t n)
{
    return (struct process_tree){.items = items, .n = n};
}

static void server_is_the_first_or_the_first_ones_child(void **state)
{
    pid_t server = start_server();
    pid_t other = start_shell();
    struct process_entry items[] = {{.pid = server, .state = 'S'}, {.pid = other, .state = 'S'}};
    struct process_entry older[] = {{.pid = other, .state = 'S'}, {.pid = server, .state = 'S'}};
    struct process_tree tree = tree_of(items, 2);

    (void)state;
    assert_int_equal(process_tree_server(&tree), server);
    tree = tree_of(older, 2);
    assert_int_equal(process_tree_server(&tree), server);
    tree = tree_of(older, 1);
    assert_int_equal(process_tree_server(&tree), 0);
    tree = tree_of(items, 0);
    assert_int_equal(process_tree_server(&tree), 0);
    assert_false(process_tree_is_at_rest(&tree));
    end(server);
    end(other);
}

static void only_waiting_shells_are_at_rest(void **state)
{
    pid_t server = start_server();
    pid_t shell = start_shell();
    pid_t program = start_server();
    struct process_entry items[] = {{.pid = server, .parent = 1, .state = 'S'},
                                    {.pid = shell, .parent = server, .state = 'S'},
                                    {.pid = program, .parent = shell, .state = 'Z'}};
    struct process_tree tree = tree_of(items, 1);

    (void)state;
    assert_true(process_tree_is_at_rest(&tree));
    tree = tree_of(items, 2);
    assert_true(process_tree_is_at_rest(&tree));
    tree = tree_of(items, 3);
    assert_true(process_tree_is_at_rest(&tree));
    items[2].state = 'S';
    assert_false(process_tree_is_at_rest(&tree));
    /* A program, and a shell without one. */
    items[2].parent = server;
    assert_false(process_tree_is_at_rest(&tree));
    items[2].state = 'Z';
    assert_true(process_tree_is_at_rest(&tree));
    /* As long as a command runs, its shell does not wait; even if the command is a shell. */
    items[2] = (struct process_entry){.pid = shell, .parent = shell, .state = 'S'};
    assert_false(process_tree_is_at_rest(&tree));
    end(server);
    end(shell);
    end(program);
}

static void process_is_read_as_the_kernel_shows_it(void **state)
{
    struct process_entry entry = {.pid = 0};
    struct process_entry again = {.pid = 0};
    pid_t pid = start_server();

    (void)state;
    assert_int_equal(prctl(PR_SET_NAME, "a) S 1 (b"), 0);
    assert_true(process_entry_read(getpid(), &entry));
    assert_int_equal(entry.pid, getpid());
    assert_int_equal(entry.parent, getppid());
    assert_int_equal(entry.state, 'R');
    assert_int_equal(prctl(PR_SET_NAME, "runtime_test"), 0);
    assert_true(process_entry_read(getpid(), &again));
    assert_true(entry.started > 0);
    assert_int_equal(again.started, entry.started);
    assert_true(process_entry_read(pid, &again));
    assert_int_equal(again.parent, getpid());
    assert_true(again.started >= entry.started);
    end(pid);
    assert_false(process_entry_read(pid, &again));
    assert_false(process_tree_is_stopped(pid));
}

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

/* As vfork(2), but with memory of its own: the parent waits until the child calls exec. */
static pid_t fork_and_wait(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
}

static bool is_asked_to_stop(pid_t pid)
{
    static const char word[] = "ShdPnd:\t";
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const char *pending = NULL;
    char path[32] = "";

    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    if (file_read(path, FILE_MAX_BYTES, &text, &err) < 0)
        _exit(127);
    pending = strstr(text.text, word);
    return pending != NULL &&
           (strtoull(pending + strlen(word), NULL, 16) >> (SIGSTOP - 1) & 1) != 0;
}

enum starter { STARTS_WHEN_STOPPING, STARTS_NOTHING };

/* Its child starts a program once it is asked to stop, or never. */
static pid_t start_starter(enum starter kind)
{
    CLEANUP(fd_close) int begun = -1;
    int ends[2] = {-1, -1};
    char byte = 0;
    pid_t pid = -1;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    begun = ends[0];
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fork_and_wait() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)!write(ends[1], "x", 1);
            /* NOLINTNEXTLINE(bugprone-infinite-loop): until it is killed */
            while (kind == STARTS_NOTHING)
                (void)pause();
            while (!is_asked_to_stop(getppid()))
                (void)sched_yield();
            (void)execl("/bin/sleep", "sleep", "600", (char *)NULL);
            _exit(127);
        }
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(begun, &byte, 1), 1);
    (void)close(ends[1]);
    return pid;
}

static void parent_that_waits_for_a_start_is_stopped_after_it(void **state)
{
    CLEANUP(process_tree_done) struct process_tree tree = {.items = NULL};
    struct error err = ERROR_INIT;
    pid_t pid = start_starter(STARTS_WHEN_STOPPING);

    (void)state;
    assert_int_equal(process_tree_stop(pid, &err), 0);
    assert_int_equal(process_tree_read(pid, &tree, &err), 0);
    assert_int_equal(tree.n, 2);
    for (size_t i = 0; i < tree.n; i++)
        assert_int_equal(tree.items[i].state, 'T');
    assert_int_equal(process_tree_end(pid, &err), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void tree_that_cannot_be_stopped_is_ended(void **state)
{
    struct error err = ERROR_INIT;
    pid_t pid = start_starter(STARTS_NOTHING);
    int status = 0;

    (void)state;
    assert_int_equal(process_tree_end(pid, &err), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(process_tree_end(pid, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(process_tree_stop(pid, &err), -1);
    assert_int_equal(process_tree_continue(pid, &err), -1);
}

int test_process_tree(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_is_the_first_or_the_first_ones_child),
        cmocka_unit_test(only_waiting_shells_are_at_rest),
        cmocka_unit_test(process_is_read_as_the_kernel_shows_it),
        cmocka_unit_test(whole_tree_is_held_goes_on_and_ends),
        cmocka_unit_test(parent_that_waits_for_a_start_is_stopped_after_it),
        cmocka_unit_test(tree_that_cannot_be_stopped_is_ended),
    };

    return cmocka_run_group_tests_name("runtime/process_tree", tests, NULL, NULL);
}

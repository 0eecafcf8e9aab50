/*
 * The kernel's counts of programs that it ended for want of memory, in a mount namespace of a
 * child.
 */
#include "sandbox/core/memory_kills.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/sandbox/core/core_tests.h"

enum { SKIPPED = 99, MOST_BYTES = 4096 };

#define EVENTS "/sys/fs/cgroup/memory.events"
#define CONTROL "/sys/fs/cgroup/memory/memory.oom_control"

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        _exit(EXIT_FAILURE);
}

/* Exits with the number of the first wrong count. */
static void count(void)
{
    char large[MOST_BYTES + 2] = "";

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "/sys/fs/cgroup", "tmpfs", 0, "size=64k") < 0)
        _exit(SKIPPED);
    if (memory_kills() != 0)
        _exit(1);
    if (mkdir("/sys/fs/cgroup/memory", S_IRWXU) < 0)
        _exit(2);
    write_text(CONTROL, "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    if (memory_kills() != 4)
        _exit(3);
    write_text(EVENTS, "low 0\noom 3\noom_kill 7\noom_group_kill 2\n");
    if (memory_kills() != 7)
        _exit(4);
    write_text(EVENTS, "low 0\n");
    if (memory_kills() != 4)
        _exit(5);
    memset(large, '\n', sizeof(large) - 1);
    memcpy(large, "oom_kill 9", 10);
    write_text(EVENTS, large); /* a file of that size is not the kernel's */
    if (memory_kills() != 4)
        _exit(6);
    large[MOST_BYTES] = '\0';
    write_text(EVENTS, large);
    _exit(memory_kills() == 9 ? 0 : 7);
}

static void kills_are_read_of_either_version(void **state)
{
    int status = -1;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        count();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int memory_kills_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_are_read_of_either_version),
    };

    return cmocka_run_group_tests_name("sandbox/memory_kills", tests, NULL, NULL);
}

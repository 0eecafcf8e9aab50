#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/bwrap/cgroup.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

#define BOX "box"
#define FILE_MAX_BYTES 4096

/* The host's own, of any version, and version 2 alone where it is mounted next to version 1. */
static const char *const tops[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

static const struct cgroup_limits limits = {
    .memory_bytes = 64 << 20, .n_pids = 7, .nano_cpus = 1500000000};

static void find(struct cgroups *cgroups, const char *top)
{
    char name[32] = "";

    (void)snprintf(name, sizeof(name), "unit-%d", getpid());
    cgroups_find(cgroups, top, name);
}

/* Echoes bytes, in the group that it is told. */
static pid_t start_echo(const struct cgroups *cgroups, int in[2], int out[2])
{
    int fds[CGROUP_N_KINDS] = {-1};
    char byte = 0;
    pid_t pid = -1;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    cgroup_open(cgroups, BOX, fds);
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (size_t i = 0; i < CGROUP_N_KINDS; i++)
            (void)!write(fds[i], "0", 1);
        while (read(in[0], &byte, 1) == 1)
            (void)!write(out[1], &byte, 1);
        _exit(0);
    }
    for (size_t i = 0; i < CGROUP_N_KINDS; i++)
        fd_close(&fds[i]);
    return pid;
}

static void ask(int in[2], int out[2])
{
    char byte = 'x';

    assert_int_equal(write(in[1], "y", 1), 1);
    assert_int_equal(read(out[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
}

static void hold_and_end(const struct cgroups *cgroups)
{
    struct error err = ERROR_INIT;
    int status = 0;
    int out[2] = {-1, -1};
    int in[2] = {-1, -1};
    pid_t pid = -1;

    cgroup_make(cgroups, BOX, &limits);
    pid = start_echo(cgroups, in, out);
    ask(in, out);
    assert_int_equal(cgroup_remove(cgroups, BOX, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_false(cgroup_is_frozen(cgroups, BOX));
    assert_int_equal(cgroup_freeze(cgroups, BOX, &err), 0);
    assert_true(cgroup_is_frozen(cgroups, BOX));
    assert_int_equal(cgroup_freeze(cgroups, BOX, &err), 0);
    assert_int_equal(cgroup_thaw(cgroups, BOX, &err), 0);
    assert_false(cgroup_is_frozen(cgroups, BOX));
    ask(in, out);
    assert_int_equal(cgroup_freeze(cgroups, BOX, &err), 0);
    /* Also what is held. */
    assert_int_equal(cgroup_end(cgroups, BOX, &err), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(cgroup_remove(cgroups, BOX, &err), 0);
    assert_false(cgroup_has_freezer(cgroups, BOX));
    for (size_t i = 0; i < 2; i++) {
        (void)close(in[i]);
        (void)close(out[i]);
    }
}

static void group_is_held_goes_on_and_ends(void **state)
{
    size_t n_tried = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
        struct cgroups cgroups = {.is_unified = {false}};

        find(&cgroups, tops[i]);
        if (cgroups.roots[CGROUP_FREEZER][0] != '\0') {
            n_tried++;
            hold_and_end(&cgroups);
        }
        cgroups_remove(&cgroups);
    }
    /* A host that shows its groups read-only, as a container does. */
    if (n_tried == 0)
        skip();
}

static void assert_says(const struct cgroups *cgroups, enum cgroup_kind kind, const char *file,
                        const char *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/" BOX "/%s", cgroups->roots[kind], file);
    assert_int_equal(file_read(path.text, FILE_MAX_BYTES, &said, &err), 0);
    assert_string_equal(said.text, text);
}

static void assert_bounded(const struct cgroups *cgroups)
{
    static const char *const files[CGROUP_N_KINDS][2] = {
        [CGROUP_MEMORY] = {"memory.limit_in_bytes", "memory.max"},
        [CGROUP_PIDS] = {"pids.max", "pids.max"},
        [CGROUP_CPU] = {"cpu.cfs_quota_us", "cpu.max"}};
    static const char *const texts[CGROUP_N_KINDS][2] = {
        [CGROUP_MEMORY] = {"67108864\n", "67108864\n"},
        [CGROUP_PIDS] = {"7\n", "7\n"},
        [CGROUP_CPU] = {"150000\n", "150000 100000\n"}};

    for (size_t kind = 0; kind < CGROUP_FREEZER; kind++) {
        if (cgroups->roots[kind][0] != '\0')
            assert_says(cgroups, (enum cgroup_kind)kind, files[kind][cgroups->is_unified[kind]],
                        texts[kind][cgroups->is_unified[kind]]);
    }
}

static void what_can_be_bounded_is(void **state)
{
    static const char *const words[CGROUP_N_KINDS] = {"memory", "processes", "processors",
                                                      "freezing"};
    struct cgroups cgroups = {.is_unified = {false}};
    struct error err = ERROR_INIT;
    char said[64] = "";

    (void)state;
    find(&cgroups, tops[0]);
    cgroups_describe(&cgroups, said);
    for (size_t i = 0; i < CGROUP_N_KINDS; i++)
        assert_int_equal(strstr(said, words[i]) != NULL, cgroups.roots[i][0] != '\0');
    cgroup_make(&cgroups, BOX, &limits);
    assert_bounded(&cgroups);
    assert_int_equal(cgroup_remove(&cgroups, BOX, &err), 0);
    cgroups_remove(&cgroups);
}

/* Any folder will do: "/usr/bin" is used as a group, in both versions. */
static void bounds_are_shown_where_programs_look(void **state)
{
    struct cgroups cgroups = {.roots = {[CGROUP_PIDS] = "/usr", [CGROUP_CPU] = "/usr"},
                              .is_unified = {[CGROUP_PIDS] = true, [CGROUP_CPU] = true}};
    CLEANUP(strbuf_done) struct strbuf from = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf to = STRBUF_INIT;

    (void)state;
    assert_false(cgroup_append_mount(&cgroups, CGROUP_MEMORY, "bin", &from, &to));
    assert_true(cgroup_append_mount(&cgroups, CGROUP_PIDS, "bin", &from, &to));
    assert_string_equal(from.text, "/usr/bin");
    assert_string_equal(to.text, "/sys/fs/cgroup");
    assert_false(cgroup_append_mount(&cgroups, CGROUP_CPU, "bin", &from, &to));
    strbuf_reset(&from);
    strbuf_reset(&to);
    cgroups.is_unified[CGROUP_CPU] = false;
    assert_false(cgroup_append_mount(&cgroups, CGROUP_PIDS, "bin", &from, &to));
    assert_true(cgroup_append_mount(&cgroups, CGROUP_CPU, "bin", &from, &to));
    assert_string_equal(to.text, "/sys/fs/cgroup/cpu");
}

static void without_groups_nothing_is_held(void **state)
{
    struct cgroups cgroups = {.is_unified = {false}};
    int fds[CGROUP_N_KINDS] = {0};
    struct error err = ERROR_INIT;
    char said[64] = "";

    (void)state;
    find(&cgroups, "/nowhere");
    cgroups_describe(&cgroups, said);
    assert_string_equal(said, "nothing");
    cgroup_make(&cgroups, BOX, &limits);
    cgroup_open(&cgroups, BOX, fds);
    for (size_t i = 0; i < CGROUP_N_KINDS; i++)
        assert_int_equal(fds[i], -1);
    assert_false(cgroup_has_freezer(&cgroups, BOX));
    assert_int_equal(cgroup_freeze(&cgroups, BOX, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(cgroup_end(&cgroups, BOX, &err), 0);
    assert_int_equal(cgroup_remove(&cgroups, BOX, &err), 0);
}

int test_cgroup(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_is_held_goes_on_and_ends),
        cmocka_unit_test(what_can_be_bounded_is),
        cmocka_unit_test(bounds_are_shown_where_programs_look),
        cmocka_unit_test(without_groups_nothing_is_held),
    };

    return cmocka_run_group_tests_name("runtime/cgroup", tests, NULL, NULL);
}

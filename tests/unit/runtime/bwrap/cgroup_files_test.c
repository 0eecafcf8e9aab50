/*
 * Which files of control groups are written, in plain folders that have the same names: the kernel
 * of a host has only one version of them.
 */
#include "runtime/bwrap/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "runtime/bwrap/box.h"
#include "runtime/bwrap/box_end.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

#define FILE_MAX_BYTES 4096
#define BOX "box"

static const struct cgroup_limits limits = {
    .memory_bytes = 64 << 20, .n_pids = 7, .nano_cpus = 1500000000};

struct fixture {
    char top[32];
    struct cgroups cgroups;
};

static int set_up(void **state)
{
    struct fixture *fixture = NEW(struct fixture);

    (void)snprintf(fixture->top, sizeof(fixture->top), "/tmp/deft-cgroups-XXXXXX");
    assert_non_null(mkdtemp(fixture->top));
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;

    assert_int_equal(bwrap_folder_remove(fixture->top, &err), 0);
    mem_free(fixture);
    return 0;
}

static void put(const struct fixture *fixture, const char *name, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    FILE *file = NULL;

    strbuf_appendf(&path, "%s/%s", fixture->top, name);
    for (char *slash = strchr(path.text + strlen(fixture->top) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path.text, 0755);
        *slash = '/';
    }
    file = fopen(path.text, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_text(const struct fixture *fixture, const char *name, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/%s", fixture->top, name);
    assert_int_equal(file_read(path.text, FILE_MAX_BYTES, &text, &err), 0);
    assert_string_equal(text.text, expected);
}

static bool exists(const struct fixture *fixture, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/%s", fixture->top, name);
    return access(path.text, F_OK) == 0;
}

static void find(struct fixture *fixture, const char *expected)
{
    char text[64] = "";

    cgroups_find(&fixture->cgroups, fixture->top, "inst");
    cgroups_describe(&fixture->cgroups, text);
    assert_string_equal(text, expected);
}

/* Version 2, with all controllers and a sandbox's group. */
static void make_unified(const struct fixture *fixture)
{
    static const char *const files[] = {
        "cgroup.controllers",         "cgroup.subtree_control",     "deft-inst/memory.max",
        "deft-inst/pids.max",         "deft-inst/cpu.max",          "deft-inst/cgroup.kill",
        "deft-inst/box/memory.max",   "deft-inst/box/pids.max",     "deft-inst/box/memory.swap.max",
        "deft-inst/box/cpu.max",      "deft-inst/box/cgroup.procs", "deft-inst/box/cgroup.kill",
        "deft-inst/box/cgroup.freeze"};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        put(fixture, files[i], "");
    put(fixture, "deft-inst/cgroup.subtree_control", "");
    put(fixture, "deft-inst/box/cgroup.events", "populated 1\nfrozen 0\n");
}

static void make_separate(const struct fixture *fixture)
{
    static const char *const files[] = {"memory/deft-inst/box/memory.limit_in_bytes",
                                        "memory/deft-inst/box/memory.memsw.limit_in_bytes",
                                        "memory/deft-inst/box/cgroup.procs",
                                        "pids/deft-inst/box/pids.max",
                                        "pids/deft-inst/box/cgroup.procs",
                                        "cpu/deft-inst/box/cpu.cfs_period_us",
                                        "cpu/deft-inst/box/cpu.cfs_quota_us",
                                        "cpu/deft-inst/box/cgroup.procs"};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        put(fixture, files[i], "");
}

static void version_2_is_used_where_it_is_whole(void **state)
{
    struct fixture *fixture = *state;

    make_unified(fixture);
    make_separate(fixture);
    find(fixture, "memory, processes, processors, freezing");
    for (size_t i = 0; i < CGROUP_N_KINDS; i++)
        assert_true(fixture->cgroups.is_unified[i]);
    /* Controllers are enabled one by one; here, each write covers the earlier one. */
    assert_text(fixture, "cgroup.subtree_control", "+cpusry");
    assert_text(fixture, "deft-inst/cgroup.subtree_control", "+cpusry");
    cgroup_make(&fixture->cgroups, BOX, &limits);
    assert_text(fixture, "deft-inst/box/memory.max", "67108864");
    assert_text(fixture, "deft-inst/box/memory.swap.max", "0");
    assert_text(fixture, "deft-inst/box/pids.max", "7");
    assert_text(fixture, "deft-inst/box/cpu.max", "150000 100000");
    assert_text(fixture, "memory/deft-inst/box/memory.limit_in_bytes", "");
}

static void version_1_is_used_without_it(void **state)
{
    struct fixture *fixture = *state;

    make_separate(fixture);
    find(fixture, "memory, processes, processors");
    cgroup_make(&fixture->cgroups, BOX, &limits);
    assert_text(fixture, "memory/deft-inst/box/memory.limit_in_bytes", "67108864");
    assert_text(fixture, "memory/deft-inst/box/memory.memsw.limit_in_bytes", "67108864");
    assert_text(fixture, "pids/deft-inst/box/pids.max", "7");
    assert_text(fixture, "cpu/deft-inst/box/cpu.cfs_period_us", "100000");
    assert_text(fixture, "cpu/deft-inst/box/cpu.cfs_quota_us", "150000");
    assert_false(cgroup_has_freezer(&fixture->cgroups, BOX));
}

static void both_are_used_next_to_each_other(void **state)
{
    struct fixture *fixture = *state;

    make_separate(fixture);
    put(fixture, "unified/cgroup.controllers", "");
    put(fixture, "unified/deft-inst/cgroup.kill", "");
    /* No controllers: version 1 has them. */
    put(fixture, "unified/deft-inst/memory.max", "");
    find(fixture, "memory, processes, processors, freezing");
    assert_true(fixture->cgroups.is_unified[CGROUP_FREEZER]);
    for (size_t i = 0; i < CGROUP_FREEZER; i++)
        assert_false(fixture->cgroups.is_unified[i]);
}

static void unlimited_processors_are_not_written(void **state)
{
    const struct cgroup_limits few = {.memory_bytes = 5, .n_pids = 6};
    struct fixture *fixture = *state;

    make_unified(fixture);
    find(fixture, "memory, processes, processors, freezing");
    cgroup_make(&fixture->cgroups, BOX, &few);
    assert_text(fixture, "deft-inst/box/memory.max", "5");
    assert_text(fixture, "deft-inst/box/cpu.max", "");
}

static void folders_are_made_for_all_to_read_and_removed_when_empty(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct fixture *fixture = *state;
    struct stat facts = {.st_mode = 0};
    struct error err = ERROR_INIT;
    mode_t mask = umask(077);

    put(fixture, "pids/x", "");
    find(fixture, "processes");
    cgroup_make(&fixture->cgroups, BOX, &limits);
    (void)umask(mask);
    assert_true(exists(fixture, "pids/deft-inst/box"));
    strbuf_appendf(&path, "%s/pids/deft-inst/box", fixture->top);
    assert_int_equal(stat(path.text, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0755);
    cgroups_remove(&fixture->cgroups);
    assert_true(exists(fixture, "pids/deft-inst/box"));
    put(fixture, "pids/deft-inst/box/x", "");
    assert_int_equal(cgroup_remove(&fixture->cgroups, BOX, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    strbuf_append(&path, "/x");
    assert_int_equal(unlink(path.text), 0);
    assert_int_equal(cgroup_remove(&fixture->cgroups, BOX, &err), 0);
    assert_int_equal(cgroup_remove(&fixture->cgroups, BOX, &err), 0);
    assert_false(exists(fixture, "pids/deft-inst/box"));
    cgroups_remove(&fixture->cgroups);
    assert_false(exists(fixture, "pids/deft-inst"));
    /* Made again with the next sandbox. */
    cgroup_make(&fixture->cgroups, BOX, &limits);
    assert_true(exists(fixture, "pids/deft-inst/box"));
}

static void processes_enter_the_groups_that_there_are(void **state)
{
    struct fixture *fixture = *state;
    int fds[CGROUP_N_KINDS] = {5, 5, 5, 5};

    make_separate(fixture);
    find(fixture, "memory, processes, processors");
    cgroup_open(&fixture->cgroups, BOX, fds);
    for (size_t i = 0; i < CGROUP_FREEZER; i++) {
        assert_true(fds[i] >= 0);
        fd_close(&fds[i]);
    }
    assert_int_equal(fds[CGROUP_FREEZER], -1);
    cgroup_open(&fixture->cgroups, "other", fds);
    for (size_t i = 0; i < CGROUP_N_KINDS; i++)
        assert_int_equal(fds[i], -1);
}

static void freezing_is_told_by_events(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;

    make_unified(fixture);
    find(fixture, "memory, processes, processors, freezing");
    assert_true(cgroup_has_freezer(&fixture->cgroups, BOX));
    assert_false(cgroup_has_freezer(&fixture->cgroups, "other"));
    assert_false(cgroup_is_frozen(&fixture->cgroups, BOX));
    assert_int_equal(cgroup_thaw(&fixture->cgroups, BOX, &err), 0);
    assert_text(fixture, "deft-inst/box/cgroup.freeze", "0");
    put(fixture, "deft-inst/box/cgroup.events", "populated 1\nfrozen 1\n");
    assert_true(cgroup_is_frozen(&fixture->cgroups, BOX));
    assert_int_equal(cgroup_freeze(&fixture->cgroups, BOX, &err), 0);
    assert_text(fixture, "deft-inst/box/cgroup.freeze", "1");
    put(fixture, "deft-inst/box/cgroup.events", "populated 0\nfrozen 1\n");
    assert_int_equal(cgroup_end(&fixture->cgroups, BOX, &err), 0);
    assert_text(fixture, "deft-inst/box/cgroup.kill", "1");
    assert_int_equal(cgroup_freeze(&fixture->cgroups, "other", &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(cgroup_end(&fixture->cgroups, "other", &err), 0);
}

static void lack_of_memory_is_told_by_both_versions(void **state)
{
    static const struct {
        bool is_unified;
        const char *text;
        bool is_out;
    } cases[] = {{true, "oom 0\noom_kill 0\n", false},
                 {true, "oom 1\noom_kill 12\n", true},
                 {true, "oom 1\n", false},
                 {false, "under_oom 0\noom_kill 0\n", false},
                 {false, "under_oom 0\noom_kill 1\n", true}};
    struct fixture *fixture = *state;

    make_separate(fixture);
    find(fixture, "memory, processes, processors");
    assert_false(cgroup_ran_out_of_memory(&fixture->cgroups, BOX));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        fixture->cgroups.is_unified[CGROUP_MEMORY] = cases[i].is_unified;
        put(fixture,
            cases[i].is_unified ? "memory/deft-inst/box/memory.events"
                                : "memory/deft-inst/box/memory.oom_control",
            cases[i].text);
        assert_int_equal(cgroup_ran_out_of_memory(&fixture->cgroups, BOX), cases[i].is_out);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int test_cgroup_files(void)
{
    const struct CMUnitTest tests[] = {
        TEST(version_2_is_used_where_it_is_whole),
        TEST(version_1_is_used_without_it),
        TEST(both_are_used_next_to_each_other),
        TEST(unlimited_processors_are_not_written),
        TEST(folders_are_made_for_all_to_read_and_removed_when_empty),
        TEST(processes_enter_the_groups_that_there_are),
        TEST(freezing_is_told_by_events),
        TEST(lack_of_memory_is_told_by_both_versions),
    };

    return cmocka_run_group_tests_name("runtime/cgroup_files", tests, NULL, NULL);
}

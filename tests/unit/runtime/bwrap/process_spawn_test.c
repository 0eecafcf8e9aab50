/*
 * What a spawned program has of its own: descriptors, limits, environment, session and signals.
 */
#include "runtime/bwrap/process_spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

#define SAID_MAX_BYTES 4096

/* Runs a shell's commands, whose output and errors are `said`; its exit code. */
static int run(struct spawn_options *plan, const char *commands, struct strbuf *said)
{
    CLEANUP(fd_close) int fd = memfd_create("said", MFD_CLOEXEC);
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    static const char *const environment[] = {"PATH=/usr/bin:/bin", "NAME=value", NULL};
    const char *const argv[] = {"sh", "-c", commands, NULL};
    struct error err = ERROR_INIT;
    pid_t pid = -1;
    int status = 0;

    if (plan->argv == NULL)
        plan->argv = argv;
    plan->environment = environment;
    plan->fds[0] = -1;
    plan->fds[1] = fd;
    plan->fds[2] = fd;
    if (plan->n_fds == 0)
        plan->n_fds = 3;
    assert_int_equal(spawn_start(plan, &pid, &err), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    strbuf_reset(said);
    strbuf_appendf(&path, "/proc/self/fd/%d", fd);
    assert_int_equal(file_read(path.text, SAID_MAX_BYTES, said, &err), 0);
    plan->argv = NULL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static struct spawn_options plan_of_ours(void)
{
    return (struct spawn_options){.uid = geteuid(), .n_fds = 0};
}

static void it_has_only_the_environment_that_it_is_given(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct spawn_options plan = plan_of_ours();

    (void)state;
    assert_int_equal(run(&plan, "exec env", &said), 0);
    assert_non_null(strstr(said.text, "NAME=value\n"));
    assert_null(strstr(said.text, "HOME="));
    assert_int_equal(run(&plan, "exit 9", &said), 9);
}

static void it_has_only_the_descriptors_that_it_is_given(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    CLEANUP(fd_close) int three = memfd_create("three", MFD_CLOEXEC);
    CLEANUP(fd_close) int five = memfd_create("five", MFD_CLOEXEC);
    /* Not close-on-exec: still closed. */
    /* NOLINTNEXTLINE(android-cloexec-memfd-create): what the child must not get */
    CLEANUP(fd_close) int other = memfd_create("other", 0);
    struct spawn_options plan = plan_of_ours();

    (void)state;
    plan.n_fds = 6;
    plan.fds[3] = three;
    plan.fds[4] = -1;
    plan.fds[5] = five;
    assert_int_equal(run(&plan, "for i in 0 3 4 5; do readlink /proc/$$/fd/$i; done", &said), 0);
    assert_string_equal(said.text, "/memfd:three (deleted)\n/memfd:five (deleted)\n");
    assert_int_equal(run(&plan, "readlink /proc/$$/fd/*; true", &said), 0);
    assert_null(strstr(said.text, "other"));
    assert_non_null(strstr(said.text, "three"));
}

/* A number that is given is also one that another is to become. */
static void descriptors_may_change_places(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    CLEANUP(fd_close) int one = memfd_create("one", MFD_CLOEXEC);
    CLEANUP(fd_close) int two = memfd_create("two", MFD_CLOEXEC);
    struct spawn_options plan = plan_of_ours();
    int low[2] = {-1, -1};

    (void)state;
    low[0] = fcntl(one, F_DUPFD_CLOEXEC, 3);
    low[1] = fcntl(two, F_DUPFD_CLOEXEC, 3);
    plan.n_fds = 8;
    for (size_t i = 3; i < 8; i++)
        plan.fds[i] = i % 2 == 0 ? low[0] : low[1];
    assert_int_equal(run(&plan, "for i in 3 4 5 6 7; do readlink /proc/$$/fd/$i; done", &said), 0);
    assert_string_equal(said.text, "/memfd:two (deleted)\n/memfd:one (deleted)\n"
                                   "/memfd:two (deleted)\n/memfd:one (deleted)\n"
                                   "/memfd:two (deleted)\n");
    fd_close(&low[0]);
    fd_close(&low[1]);
}

static void limits_are_set(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct spawn_options plan = plan_of_ours();

    (void)state;
    plan.limits[0] = (struct spawn_limit){RLIMIT_CORE, {0, 0}};
    plan.limits[1] = (struct spawn_limit){RLIMIT_NOFILE, {20, 20}};
    plan.n_limits = 2;
    assert_int_equal(run(&plan, "ulimit -c; ulimit -n; ulimit -Hn", &said), 0);
    assert_string_equal(said.text, "0\n20\n20\n");
    plan.limits[1] = (struct spawn_limit){RLIMIT_NOFILE, {21, 20}};
    assert_int_equal(run(&plan, "echo started", &said), 127);
    assert_string_equal(said.text, "setting a limit: Invalid argument\n");
}

static void missing_program_says_so(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    const char *const argv[] = {"no-such-program", NULL};
    struct spawn_options plan = plan_of_ours();

    (void)state;
    plan.argv = argv;
    assert_int_equal(run(&plan, "", &said), 127);
    assert_string_equal(said.text, "no-such-program: No such file or directory\n");
}

/* Its own session, and nothing of the service's signals and umask. */
static void it_inherits_no_process_state(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct spawn_options plan = plan_of_ours();
    mode_t mask = umask(077);
    sigset_t blocked;
    sigset_t before;
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);

    (void)state;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
    /* 0x1000: SIGPIPE. What whoever started this program ignores stays so. */
    assert_int_equal(run(&plan,
                         "umask; grep ^SigBlk /proc/self/status; "
                         "echo $((0x$(sed -n 's/^SigIgn:.//p' /proc/self/status) & 0x1000))",
                         &said),
                     0);
    assert_string_equal(said.text, "0022\nSigBlk:\t0000000000000000\n0\n");
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    (void)signal(SIGPIPE, handler);
    (void)umask(mask);
    /* In /proc/PID/stat: pid, name, state, parent, group, session. */
    assert_int_equal(run(&plan, "echo $$; cut -d' ' -f6 /proc/$$/stat", &said), 0);
    strbuf_append_bytes(&line, said.text, strcspn(said.text, "\n") + 1);
    assert_string_equal(said.text + line.len, line.text);
}

static void groups_are_entered(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(fd_close) int group = memfd_create("group", MFD_CLOEXEC);
    int groups[3] = {-1, group, group};
    struct spawn_options plan = plan_of_ours();
    struct error err = ERROR_INIT;

    (void)state;
    plan.cgroup_fds = groups;
    plan.n_group_fds = 3;
    assert_int_equal(run(&plan, "exit 0", &said), 0);
    strbuf_appendf(&path, "/proc/self/fd/%d", group);
    assert_int_equal(file_read(path.text, SAID_MAX_BYTES, &text, &err), 0);
    assert_string_equal(text.text, "00");
}

static void score_for_lack_of_memory_is_raised(void **state)
{
    static const struct {
        int64_t score;
        const char *said;
    } scores[] = {{1000, "1000\n"}, {7, "7\n"}, {340, "340\n"}};
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct spawn_options plan = plan_of_ours();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
        plan.oom_score_adj = scores[i].score;
        assert_int_equal(run(&plan, "cat /proc/self/oom_score_adj", &said), 0);
        assert_string_equal(said.text, scores[i].said);
    }
}

static void it_runs_as_the_user_without_groups(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct spawn_options plan = plan_of_ours();

    (void)state;
    plan.uid = 1900000005;
    if (geteuid() != 0) {
        assert_int_equal(run(&plan, "id -u", &said), 127);
        assert_string_equal(said.text, "changing the user: Operation not permitted\n");
        return;
    }
    assert_int_equal(run(&plan, "grep -E '^(Uid|Gid|Groups)' /proc/self/status", &said), 0);
    assert_string_equal(said.text, "Uid:\t1900000005\t1900000005\t1900000005\t1900000005\n"
                                   "Gid:\t1900000005\t1900000005\t1900000005\t1900000005\n"
                                   "Groups:\t \n");
}

/* Without the byte, the service has died before it recorded the process. */
static void it_starts_after_its_signal_only(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct spawn_options plan = plan_of_ours();
    int ends[2] = {-1, -1};

    (void)state;
    plan.waits_for_start = true;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    plan.start_fd = ends[0];
    assert_int_equal(write(ends[1], "g", 1), 1);
    assert_int_equal(run(&plan, "echo started; readlink /proc/$$/fd/3", &said), 1);
    assert_string_equal(said.text, "started\n");
    fd_close(&ends[1]);
    assert_int_equal(run(&plan, "echo started", &said), 127);
    assert_string_equal(said.text, "");
    fd_close(&ends[0]);
}

int test_process_spawn(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_only_the_environment_that_it_is_given),
        cmocka_unit_test(it_has_only_the_descriptors_that_it_is_given),
        cmocka_unit_test(descriptors_may_change_places),
        cmocka_unit_test(limits_are_set),
        cmocka_unit_test(missing_program_says_so),
        cmocka_unit_test(it_inherits_no_process_state),
        cmocka_unit_test(groups_are_entered),
        cmocka_unit_test(score_for_lack_of_memory_is_raised),
        cmocka_unit_test(it_runs_as_the_user_without_groups),
        cmocka_unit_test(it_starts_after_its_signal_only),
    };

    return cmocka_run_group_tests_name("runtime/process_spawn", tests, NULL, NULL);
}

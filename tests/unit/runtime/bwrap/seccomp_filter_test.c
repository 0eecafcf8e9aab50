/*
 * The program that a seccomp profile is compiled to, as the kernel applies it.
 */
#include "runtime/backend/seccomp_filter.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/file.h"
#include "unit/runtime/bwrap/bwrap_fixture.h"

#define PROFILE_MAX_BYTES (1024UL * 1024)

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

/* The error of a call with that first argument. */
static int errno_with(const struct strbuf *program, long argument)
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
        _exit(syscall(SYS_umask, argument) < 0 ? errno : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void arguments_are_compared(void **state)
{
    static const struct {
        const char *op;
        bool is_refused[3]; /* for 4, 5 and 6 */
    } cases[] = {
        {"\"SCMP_CMP_NE\"", {true, false, true}},
        {"\"SCMP_CMP_LT\"", {true, false, false}},
        {"\"SCMP_CMP_LE\"", {true, true, false}},
        {"\"SCMP_CMP_EQ\"", {false, true, false}},
        {"\"SCMP_CMP_GE\"", {false, true, true}},
        {"\"SCMP_CMP_GT\"", {false, false, true}},
        /* A mask of 5, under which 6 is 4. */
        {"\"SCMP_CMP_MASKED_EQ\", \"valueTwo\": 4", {true, false, true}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf profile = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf program = STRBUF_INIT;

        strbuf_appendf(&profile,
                       "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": ["
                       "\"umask\", \"no_such_call\"], \"action\": \"SCMP_ACT_ERRNO\","
                       " \"errnoRet\": 42, \"comment\": \"x\","
                       " \"args\": [{\"index\": 0, \"value\": 5, \"op\": %s}]}]}",
                       cases[i].op);
        read_filter(profile.text, &program);
        for (int k = 0; k < 3; k++)
            assert_int_equal(errno_with(&program, 4 + k), cases[i].is_refused[k] ? 42 : 0);
    }
}

static void refusals_say_why(void **state)
{
#define RULE(members)                                                                              \
    "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"action\": \"SCMP_ACT_ERRNO\", "     \
    "\"names\": [\"umask\"], " members "}]}"
#define ARGUMENT "{\"index\": 0, \"op\": \"SCMP_CMP_EQ\"}, "
    static const struct {
        const char *profile;
        const char *message;
    } cases[] = {
        {"{}", "seccomp profile: '' is not a supported action"},
        {"{\"defaultAction\": \"SCMP_ACT_KILL\"}",
         "seccomp profile: 'SCMP_ACT_KILL' is not a supported action"},
        {RULE("\"includes\": {}"), "seccomp profile: a rule has unsupported members"},
        {RULE("\"args\": [{\"index\": 6}]"), "seccomp profile: there is no argument 6"},
        {RULE("\"args\": [{\"index\": -1}]"), "seccomp profile: there is no argument -1"},
        {RULE("\"args\": [{\"index\": 5, \"op\": \"SCMP_CMP_IN\"}]"),
         "seccomp profile: 'SCMP_CMP_IN' is not a comparison"},
        {RULE("\"args\": [" ARGUMENT ARGUMENT ARGUMENT ARGUMENT ARGUMENT ARGUMENT
              "{\"index\": 0}]"),
         "seccomp profile: a rule has too many arguments"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;

        assert_int_equal(seccomp_filter_write(cases[i].profile, -1, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, cases[i].message);
    }
    {
        struct error err = ERROR_INIT;

        assert_int_equal(seccomp_filter_write("{\"defaultAction\": \"SCMP_ACT_ALLOW\"}", -1, &err),
                         -1);
        assert_int_equal(err.code, ERROR_UNAVAILABLE);
        assert_string_equal(err.message, "the seccomp filter cannot be written");
    }
}

int test_seccomp_filter(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_profile_forbids_what_it_says),
        cmocka_unit_test(arguments_are_compared),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(what_is_not_understood_is_refused),
    };

    return cmocka_run_group_tests_name("runtime/seccomp_filter", tests, NULL, NULL);
}

/*
 * What children are given: variables, descriptors and signals; and why they do not start.
 */
#include "sandbox/core/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/folder.h"
#include "unit/sandbox/core/core_tests.h"

enum { ALARM_S = 60 };

/* --- variables --- */

/* Runs a check in a process of its own, whose variables it may change. */
static void in_a_fork(void (*check)(void))
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(ALARM_S);
        check();
        _exit(EXIT_SUCCESS);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* In a fork a failed assertion must end the process. */
static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    (void)fprintf(stderr, "%s\n", what);
    _exit(EXIT_FAILURE);
}

static const char *value_of(char *const *list, const char *name)
{
    size_t len = strlen(name);
    const char *found = NULL;

    for (; *list != NULL; list++) {
        if (strncmp(*list, name, len) != 0 || (*list)[len] != '=')
            continue;
        must(found == NULL, "a variable is there twice");
        found = *list + len + 1;
    }
    return found;
}

static void set(const char *name, const char *value)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    must(setenv(name, value, 1) == 0, name);
}

static bool has(enum child_process_kind kind, const char *name, const char *value)
{
    char **list = child_process_environment_new(kind, "/work");
    const char *found = value_of(list, name);
    bool is = value == NULL ? found == NULL : found != NULL && text_equal(found, value);

    child_process_environment_free(list);
    return is;
}

static void check_keys(void)
{
    set("SESSION_API_KEY", "k");
    set("SESSION_API_KEYS", "other");
    set("DEFT_ACTION_PORT", "1");
    set("DEFT_ACTIO", "other");
    set("OH_SESSION_API_KEYS_0", "k");
    for (int i = 0; i < 2; i++) {
        enum child_process_kind kind = i == 0 ? CHILD_PROCESS_TERMINAL : CHILD_PROCESS_COMMAND;

        must(has(kind, "SESSION_API_KEY", NULL), "SESSION_API_KEY");
        must(has(kind, "SESSION_API_KEYS", "other"), "SESSION_API_KEYS");
        must(has(kind, "DEFT_ACTION_PORT", NULL), "DEFT_ACTION_PORT");
        must(has(kind, "DEFT_ACTIO", "other"), "DEFT_ACTIO");
    }
    must(has(CHILD_PROCESS_TERMINAL, "OH_SESSION_API_KEYS_0", NULL), "a key in a terminal");
    must(has(CHILD_PROCESS_COMMAND, "OH_SESSION_API_KEYS_0", "k"), "no key of a command");
    child_process_environment_free(NULL);
}

static void check_defaults(void)
{
    static const char *const defaults[][2] = {
        {"TERM", "xterm-256color"},
        {"PAGER", "cat"},
        {"GIT_PAGER", "cat"},
        {"AI_AGENT", "openhands"},
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
        (void)unsetenv(defaults[i][0]);
        must(has(CHILD_PROCESS_TERMINAL, defaults[i][0], defaults[i][1]), defaults[i][0]);
        set(defaults[i][0], "own");
        must(has(CHILD_PROCESS_TERMINAL, defaults[i][0], "own"), defaults[i][0]);
    }
}

/* A home that cannot be written to is replaced by that of the account. */
static void check_home(void)
{
    CLEANUP(mem_freep) char *user = child_process_user_name();

    set("HOME", "/tmp");
    must(has(CHILD_PROCESS_TERMINAL, "HOME", "/tmp"), "HOME");
    set("HOME", "/proc/none");
    must(!has(CHILD_PROCESS_TERMINAL, "HOME", "/proc/none"), "HOME of none");
    must(!has(CHILD_PROCESS_TERMINAL, "HOME", NULL), "no HOME");
    set("USER", "given");
    must(has(CHILD_PROCESS_TERMINAL, "USER", "given"), "USER");
    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    (void)unsetenv("USER");
    (void)unsetenv("LOGNAME");
    (void)unsetenv("HOME");
    /* NOLINTEND(concurrency-mt-unsafe) */
    must(has(CHILD_PROCESS_TERMINAL, "USER", user), "USER of the account");
    must(has(CHILD_PROCESS_TERMINAL, "LOGNAME", user), "LOGNAME of the account");
    must(!has(CHILD_PROCESS_TERMINAL, "HOME", NULL), "no HOME of the account");
    if (geteuid() == 0) {
        /* An account without an entry has the workspace. */
        must(setuid(54321) == 0, "setuid");
        must(has(CHILD_PROCESS_TERMINAL, "HOME", "/work"), "HOME without an account");
        must(has(CHILD_PROCESS_TERMINAL, "USER", "54321"), "USER without an account");
    }
}

static void check_shell(void)
{
    char folder[] = "/tmp/deft-shell-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf zsh = STRBUF_INIT;
    CLEANUP(mem_freep) char *usual = NULL;
    CLEANUP(mem_freep) char *wanted = NULL;
    CLEANUP(mem_freep) char *other = NULL;
    CLEANUP(mem_freep) char *missing = NULL;
    CLEANUP(mem_freep) char *elsewhere = NULL;

    must(mkdtemp(folder) != NULL, folder);
    strbuf_appendf(&path, "%s/bash", folder);
    strbuf_appendf(&zsh, "%s/zsh", folder);
    (void)close(open(path.text, O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
    (void)close(open(zsh.text, O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)unsetenv("SHELL");
    usual = child_process_find_shell();
    must(usual != NULL, "no shell");
    set("SHELL", path.text);
    wanted = child_process_find_shell();
    set("SHELL", zsh.text);
    other = child_process_find_shell();
    set("SHELL", "/none/bash");
    missing = child_process_find_shell();
    set("PATH", "");
    elsewhere = child_process_find_shell();
    must(text_equal(elsewhere, access("/bin/bash", X_OK) == 0 ? "/bin/bash" : elsewhere),
         "a shell that is not in PATH");
    must(text_equal(wanted, path.text), "not the wanted shell");
    must(text_equal(other, usual) && text_equal(missing, usual), "not the usual shell");
    folder_remove(folder);
}

static void variables_are_those_of_the_image_less_keys(void **state)
{
    static void (*const checks[])(void) = {check_keys, check_defaults, check_home, check_shell};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
        in_a_fork(checks[i]);
}

static void programs_are_found_in_folders(void **state)
{
    char folder[] = "/tmp/deft-path-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf one = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf two = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    (void)state;
    assert_non_null(mkdtemp(folder));
    strbuf_appendf(&one, "%s/x", folder);
    strbuf_appendf(&two, "%s/y", folder);
    assert_int_equal(mkdir(two.text, 0700), 0);
    for (int i = 0; i < 3; i++) {
        CLEANUP(mem_freep) char *x = NULL;
        CLEANUP(mem_freep) char *y = NULL;

        strbuf_reset(&line);
        strbuf_appendf(&line, "/none::%s", folder);
        x = child_process_find_program("x", line.text);
        y = child_process_find_program("y", line.text);
        /* Missing, then without permission, then executable; a folder is no program. */
        assert_null(y);
        assert_int_equal(x != NULL, i == 2);
        if (i == 2)
            assert_string_equal(x, one.text);
        if (i == 0)
            (void)close(open(one.text, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        else
            assert_int_equal(chmod(one.text, 0700), 0);
    }
    assert_null(child_process_find_program("sh", ""));
    folder_remove(folder);
    assert_true(child_process_shell_is_bash("/bin/bash"));
    assert_false(child_process_shell_is_bash("/bin/sh"));
    assert_false(child_process_shell_is_bash("bash"));
    assert_string_equal(child_process_variable("DEFT_NO_SUCH_VARIABLE"), "");
}

/* --- starting --- */

/* Runs a line of sh with its output to the memory file; the status as of waitpid(). */
static int run(const char *line, const struct child_process_spec *more, struct strbuf *out)
{
    char *const argv[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", (char *)(uintptr_t)line,
                          NULL};
    char *const envp[] = {(char *)(uintptr_t)"PATH=/usr/bin:/bin", NULL};
    struct child_process_spec spec = *more;
    struct error err = ERROR_INIT;
    pid_t pid = 0;
    int ends[2] = {-1, -1};
    struct child_process_fd fds[4];
    int status = -1;
    char bytes[512];
    ssize_t n = 0;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fds[0] = (struct child_process_fd){ends[1], STDOUT_FILENO};
    for (size_t i = 0; i < more->n_fds; i++)
        fds[i + 1] = more->fds[i];
    spec.path = "/bin/sh";
    spec.argv = argv;
    spec.envp = envp;
    spec.fds = fds;
    spec.n_fds = more->n_fds + 1;
    assert_int_equal(child_process_start(&spec, &pid, &err), 0);
    fd_close(&ends[1]);
    for (n = read(ends[0], bytes, sizeof(bytes)); n > 0; n = read(ends[0], bytes, sizeof(bytes)))
        strbuf_append_bytes(out, bytes, (size_t)n);
    fd_close(&ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (spec.session != NULL)
        assert_int_equal(*spec.session, pid);
    return status;
}

static void child_has_its_folder_session_and_signals(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    pid_t *session =
        mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    /* No program can change the two signals above the standard ones, which are the C library's. */
    status = run("pwd; set -- $(cat /proc/$$/stat); [ $5 = $$ ] && [ $6 = $$ ] && echo leads; "
                 "grep SigBlk /proc/$$/status | tr -d '\\t'; "
                 "echo $((0x$(sed -n 's/^SigIgn:.//p' /proc/$$/status) & 0x7fffffff)); exit 3",
                 &(struct child_process_spec){.working_dir = "/", .session = session}, &out);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)munmap(session, sizeof(*session));
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_string_equal(out.text, "/\nleads\nSigBlk:0000000000000000\n0\n");
}

/* Numbers that are in use by others are exchanged; all others are withheld. */
static void child_has_the_listed_descriptors_alone(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    /* NOLINTBEGIN(android-cloexec-open): the others are withheld all the same */
    int one = open("/dev/null", O_RDONLY);
    int two = open("/dev/zero", O_RDONLY);
    int three = open("/dev/full", O_RDONLY);
    /* NOLINTEND(android-cloexec-open) */
    const struct child_process_fd fds[] = {{one, two}, {two, one}};

    (void)state;
    (void)run("for f in /proc/$$/fd/*; do n=${f##*/}; [ $n -gt 2 ] && readlink $f; done",
              &(struct child_process_spec){.fds = fds, .n_fds = ARRAY_SIZE(fds)}, &out);
    if (one < two)
        assert_string_equal(out.text, "/dev/zero\n/dev/null\n");
    else
        assert_string_equal(out.text, "/dev/null\n/dev/zero\n");
    fd_close(&one);
    fd_close(&two);
    fd_close(&three);
}

/* The read end is at its end when nothing has the write end any more. */
static void child_may_end_with_its_server(void **state)
{
    CLEANUP(fd_close) int read_end = -1;
    CLEANUP(fd_close) int write_end = -1;
    int ends[2] = {-1, -1};
    pid_t server = 0;
    char byte = 0;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    read_end = ends[0];
    write_end = ends[1];
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        char program[] = "sleep";
        char time[] = "1000";
        char *argv[] = {program, time, NULL};
        char **environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, "/");
        struct error err = ERROR_INIT;
        pid_t pid = 0;

        must(child_process_start(
                 &(struct child_process_spec){.path = "/bin/sleep",
                                              .argv = argv,
                                              .envp = environment,
                                              .fds =
                                                  (const struct child_process_fd[]){{write_end, 1}},
                                              .n_fds = 1,
                                              .ends_with_server = true},
                 &pid, &err) == 0,
             err.message);
        (void)kill(getpid(), SIGKILL);
    }
    fd_close(&write_end);
    assert_int_equal(waitpid(server, NULL, 0), server);
    (void)alarm(ALARM_S);
    assert_int_equal(read(read_end, &byte, 1), 0);
    (void)alarm(0);
}

static void child_that_does_not_start_says_why(void **state)
{
    char *const argv[] = {(char *)(uintptr_t)"x", NULL};
    char *const envp[] = {NULL};
    const struct child_process_fd closed[] = {{12345, 5}};
    struct child_process_fd many[9];
    const struct {
        struct child_process_spec spec;
        enum error_code code;
        const char *message;
    } cases[] = {
        {{.path = "/none/x"}, ERROR_UNAVAILABLE, "/none/x: No such file or directory"},
        {{.path = "/etc/passwd"}, ERROR_UNAVAILABLE, "/etc/passwd: Permission denied"},
        {{.path = "/bin/true", .working_dir = "/none"},
         ERROR_INVALID,
         "The working directory /none cannot be entered: No such file or directory"},
        {{.path = "/bin/true", .fds = closed, .n_fds = 1},
         ERROR_UNAVAILABLE,
         "passing descriptors to /bin/true: Bad file descriptor"},
        {{.path = "/bin/true", .fds = many, .n_fds = 9}, ERROR_UNAVAILABLE, NULL},
        {{.path = "/bin/true", .fds = many, .n_fds = 8}, ERROR_NONE, NULL},
    };

    (void)state;
    for (int i = 0; i < 9; i++)
        many[i] = (struct child_process_fd){STDERR_FILENO, 10 + i};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct child_process_spec spec = cases[i].spec;
        struct error err = ERROR_INIT;
        pid_t pid = -7;

        spec.argv = argv;
        spec.envp = envp;
        assert_int_equal(child_process_start(&spec, &pid, &err),
                         cases[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(err.code, cases[i].code);
        if (cases[i].message != NULL)
            assert_string_equal(err.message, cases[i].message);
        if (cases[i].code != ERROR_NONE)
            assert_int_equal(pid, -7);
        while (waitpid(-1, NULL, 0) > 0)
            continue;
    }
}

int child_process_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_those_of_the_image_less_keys),
        cmocka_unit_test(programs_are_found_in_folders),
        cmocka_unit_test(child_has_its_folder_session_and_signals),
        cmocka_unit_test(child_has_the_listed_descriptors_alone),
        cmocka_unit_test(child_may_end_with_its_server),
        cmocka_unit_test(child_that_does_not_start_says_why),
    };

    return cmocka_run_group_tests_name("sandbox/child_process", tests, NULL, NULL);
}

#include "sandbox/core/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/account.h"
#include "sandbox/core/identity.h"

enum { PARKED_FD = 512, EXEC_FAILED = 127 };

/* Steps of a child before it executes the program. */
enum child_step { STEP_DESCRIPTORS, STEP_USER, STEP_WORKING_DIR, STEP_PROGRAM };

/* Sent to the parent by a child that failed to execute the program. */
struct child_report {
    enum child_step failed;
    int why; /* errno */
};

struct name_value {
    const char *name;
    const char *value;
};

/* Set for children unless the image sets its own. */
static const struct name_value defaults[] = {
    {"TERM", "xterm-256color"},
    {"PAGER", "cat"},
    {"GIT_PAGER", "cat"},
    {"AI_AGENT", "openhands"},
    {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
             "/sbin:/bin"},
};

static const char *const bundle_names[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
                                           "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"};

static const char *const system_bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};

static const char own_bundle[] = "/.deft/ca.pem";

static const char *const shells[] = {"/bin/bash", "/usr/bin/bash", NULL, "/bin/sh", "/usr/bin/sh"};

static bool names_variable(const char *entry, const char *name)
{
    size_t len = strlen(name);

    return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static bool is_withheld(const char *entry, enum child_process_kind kind)
{
    if (names_variable(entry, "SESSION_API_KEY") || text_starts_with(entry, "DEFT_ACTION_"))
        return true;
    return kind == CHILD_PROCESS_TERMINAL && text_starts_with(entry, "OH_SESSION_API_KEYS_");
}

static bool has_variable(char *const *list, const char *name)
{
    for (; *list != NULL; list++) {
        if (names_variable(*list, name))
            return true;
    }
    return false;
}

static void add_variable(char **list, const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf entry = STRBUF_INIT;
    char **end = list;

    if (has_variable(list, name))
        return;
    while (*end != NULL)
        end++;
    strbuf_appendf(&entry, "%s=%s", name, value);
    end[0] = strbuf_take(&entry);
    end[1] = NULL;
}

static bool is_writable_dir(const char *path)
{
    return identity_has_access(path, W_OK | X_OK);
}

static void remove_variable(char **list, const char *name)
{
    char **kept = list;

    for (; *list != NULL; list++) {
        if (names_variable(*list, name))
            mem_free(*list);
        else
            *kept++ = *list;
    }
    *kept = NULL;
}

/*
 * The engine sets HOME for the user that starts the server, or to / where the image lacks that
 * user: nothing can be stored there.
 */
static void add_home(char **list, const char *workspace)
{
    CLEANUP(account_done) struct account account = ACCOUNT_INIT;
    char **entry = list;

    account_read(geteuid(), &account);
    while (*entry != NULL && !names_variable(*entry, "HOME"))
        entry++;
    if (*entry != NULL && !is_writable_dir(*entry + strlen("HOME=")))
        remove_variable(list, "HOME");
    if (account.home.len > 0 && is_writable_dir(account.home.text))
        add_variable(list, "HOME", account.home.text);
    add_variable(list, "HOME", workspace);
    add_variable(list, "USER", account.name.text);
    add_variable(list, "LOGNAME", account.name.text);
}

static void add_bundle(char **list)
{
    for (size_t i = 0; i < ARRAY_SIZE(system_bundles); i++) {
        if (identity_has_access(system_bundles[i], R_OK))
            return;
    }
    if (!identity_has_access(own_bundle, R_OK))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(bundle_names); i++)
        add_variable(list, bundle_names[i], own_bundle);
}

char **child_process_environment_new(enum child_process_kind kind, const char *workspace)
{
    char **list = NULL;
    size_t n = 0;
    size_t kept = 0;

    while (environ[n] != NULL)
        n++;
    list = mem_alloc_array(n + ARRAY_SIZE(defaults) + ARRAY_SIZE(bundle_names) + 8, sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        if (!is_withheld(environ[i], kind))
            list[kept++] = mem_dup_text(environ[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
        add_variable(list, defaults[i].name, defaults[i].value);
    add_home(list, workspace);
    add_bundle(list);
    return list;
}

char **child_process_environment_put(char **environment, const char *name, const char *value)
{
    size_t n = 0;

    remove_variable(environment, name);
    while (environment[n] != NULL)
        n++;
    environment = mem_resize(environment, (n + 2) * sizeof(*environment));
    add_variable(environment, name, value);
    return environment;
}

void child_process_environment_free(char **environment)
{
    if (environment == NULL)
        return;
    for (char **entry = environment; *entry != NULL; entry++)
        mem_free(*entry);
    mem_free(environment);
}

void child_process_kill_group(pid_t pid)
{
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    (void)kill(-pid, SIGKILL);
}

void child_process_default_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* Two steps, since a descriptor's target number may be in use by another one. */
static int place_descriptors(const struct child_process_spec *spec, int *report_fd)
{
    int parked[8];

    if (spec->n_fds > ARRAY_SIZE(parked))
        return -1;
    for (size_t i = 0; i < spec->n_fds; i++) {
        parked[i] = fcntl(spec->fds[i].ours, F_DUPFD_CLOEXEC, PARKED_FD);
        if (parked[i] < 0)
            return -1;
    }
    *report_fd = fcntl(*report_fd, F_DUPFD_CLOEXEC, PARKED_FD);
    for (size_t i = 0; i < spec->n_fds; i++) {
        if (dup2(parked[i], spec->fds[i].theirs) < 0)
            return -1;
    }
    return 0;
}

/*
 * The program gets only the listed descriptors: a library may open one without close-on-exec.
 * Linux before 5.11 cannot do this for a range.
 */
static void withhold_descriptors(void)
{
    const int first = STDERR_FILENO + 1;
    long end = sysconf(_SC_OPEN_MAX);

    if (close_range(first, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    for (int fd = first; fd < end; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Returns only on failure, with the step that failed. */
static enum child_step become(const struct child_process_spec *spec, int *report_fd)
{
    withhold_descriptors();
    if (place_descriptors(spec, report_fd) < 0)
        return STEP_DESCRIPTORS;
    if (spec->has_terminal)
        (void)ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    if (identity_become_commands() < 0)
        return STEP_USER;
    /* A change of the user would clear it. */
    if (spec->ends_with_server)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (spec->working_dir != NULL && chdir(spec->working_dir) < 0)
        return STEP_WORKING_DIR;
    (void)execve(spec->path, spec->argv, spec->envp);
    return STEP_PROGRAM;
}

/* Only async-signal-safe calls: the parent has one thread, but libraries may hold locks. */
NORETURN static void run_child(const struct child_process_spec *spec, int report_fd)
{
    struct child_report report = {STEP_DESCRIPTORS, 0};

    child_process_default_signals();
    if (spec->session != NULL)
        *spec->session = getpid();
    (void)setsid();
    report.failed = become(spec, &report_fd);
    report.why = errno;
    (void)!write(report_fd, &report, sizeof(report));
    _exit(EXEC_FAILED);
}

static int fail_start(const struct child_process_spec *spec, const struct child_report *report,
                      struct error *err)
{
    errno = report->why;
    switch (report->failed) {
    case STEP_DESCRIPTORS:
        return error_set(err, ERROR_UNAVAILABLE, "passing descriptors to %s: %m", spec->path);
    case STEP_USER:
        return error_set(err, ERROR_UNAVAILABLE, "switching to the user of %s: %m", spec->path);
    case STEP_WORKING_DIR:
        return error_set(err, ERROR_INVALID, "The working directory %s cannot be entered: %m",
                         spec->working_dir);
    case STEP_PROGRAM:
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", spec->path);
    }
    return error_set(err, ERROR_INTERNAL, "%s did not start", spec->path);
}

int child_process_start(const struct child_process_spec *spec, pid_t *pid_out, struct error *err)
{
    CLEANUP(fd_close) int report_read = -1;
    CLEANUP(fd_close) int report_write = -1;
    int report[2] = {-1, -1};
    struct child_report failure = {STEP_DESCRIPTORS, 0};
    pid_t pid = 0;

    if (pipe2(report, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    report_read = report[0];
    report_write = report[1];
    pid = fork();
    if (pid < 0)
        return error_set(err, ERROR_UNAVAILABLE, "fork: %m");
    if (pid == 0)
        run_child(spec, report_write);
    fd_close(&report_write);
    if (read(report_read, &failure, sizeof(failure)) == (ssize_t)sizeof(failure))
        return fail_start(spec, &failure, err);
    *pid_out = pid;
    return 0;
}

char *child_process_user_name(void)
{
    CLEANUP(account_done) struct account account = ACCOUNT_INIT;

    account_read(geteuid(), &account);
    return strbuf_take(&account.name);
}

static bool is_program(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && identity_has_access(path, X_OK);
}

char *child_process_find_program(const char *name, const char *path)
{
    CLEANUP(strbuf_done) struct strbuf full = STRBUF_INIT;

    while (*path != '\0') {
        size_t len = strcspn(path, ":");

        strbuf_reset(&full);
        strbuf_append_bytes(&full, path, len);
        strbuf_append_char(&full, '/');
        strbuf_append(&full, name);
        if (len > 0 && is_program(full.text))
            return strbuf_take(&full);
        path += len;
        path += *path == ':';
    }
    return NULL;
}

bool child_process_shell_is_bash(const char *path)
{
    return text_ends_with(path, "/bash");
}

const char *child_process_variable(const char *name)
{
    for (char *const *entry = environ; *entry != NULL; entry++) {
        if (names_variable(*entry, name))
            return *entry + strlen(name) + 1;
    }
    return "";
}

char *child_process_find_shell(void)
{
    const char *wanted = child_process_variable("SHELL");

    if (child_process_shell_is_bash(wanted) && is_program(wanted))
        return mem_dup_text(wanted);
    for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
        char *found = shells[i] == NULL
                          ? child_process_find_program("bash", child_process_variable("PATH"))
                          : NULL;

        if (found != NULL)
            return found;
        if (shells[i] != NULL && is_program(shells[i]))
            return mem_dup_text(shells[i]);
    }
    return NULL;
}

#include "sandbox/actions/hook_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/core/child_process.h"
#include "sandbox/git/credentials.h"
#include "sandbox/terminal/env_script.h"

enum {
    MAX_INPUT_BYTES = 16 * 1024 * 1024,
    MAX_TIMEOUT_S = 3600,
    MAX_SHOWN_CHARS = 50000, /* per stream */
    MAX_CHAR_BYTES = 4,
    START_AND_END_MS = 30000, /* the fork's time in addition to the command's */
    READ_BYTES = 64 * 1024,
    READS_AFTER_END = 16, /* a pipe holds at most 1 MiB */
    MS_PER_S = 1000,
    NO_EXIT_CODE = -1,
    BY_SIGNAL = 128,
    OUT = 0,
    ERR = 1,
};

struct hook_stream {
    int fd;             /* -1: at its end */
    struct strbuf kept; /* its first bytes */
    size_t max_bytes;
};

struct hook_run {
    const struct hook_call *call;
    pid_t pid;
    int exits; /* signalfd */
    int64_t deadline_ms;
    struct hook_stream streams[2];
};

/* --- arguments --- */

static bool is_absent(const json_t *value)
{
    return value == NULL || json_is_null(value);
}

static bool is_text(const json_t *value, size_t min_bytes, size_t max_bytes)
{
    return json_is_string(value) && json_string_length(value) >= min_bytes &&
           json_string_length(value) <= max_bytes;
}

static int check_members(const json_t *args, struct error *err)
{
    static const char *const members[] = {"command", "input", "env", "timeout", "async"};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        n += json_object_get(args, members[i]) != NULL;
    if (json_object_size(args) != n)
        return error_set(err, ERROR_INVALID,
                         "args may only have command, input, env, timeout and async");
    return 0;
}

int hook_tool_check(const json_t *args, struct error *err)
{
    const json_t *timeout = json_object_get(args, "timeout");
    const json_t *async = json_object_get(args, "async");
    json_int_t timeout_s = json_integer_value(timeout);

    if (!is_text(json_object_get(args, "command"), 1, MAX_COMMAND_BYTES))
        return error_set(err, ERROR_INVALID, "args.command must be a string of 1 to %d bytes",
                         MAX_COMMAND_BYTES);
    if (!is_text(json_object_get(args, "input"), 0, MAX_INPUT_BYTES))
        return error_set(err, ERROR_INVALID, "args.input must be a string of at most %d bytes",
                         MAX_INPUT_BYTES);
    if (!json_is_integer(timeout) || timeout_s < 1 || timeout_s > MAX_TIMEOUT_S)
        return error_set(err, ERROR_INVALID, "args.timeout must be an integer from 1 to %d",
                         MAX_TIMEOUT_S);
    if (!is_absent(async) && !json_is_boolean(async))
        return error_set(err, ERROR_INVALID, "args.async must be a boolean");
    if (env_script_check(json_object_get(args, "env"), err) < 0)
        return error_wrap(err, "args");
    return check_members(args, err);
}

static int64_t timeout_s_of(const json_t *args)
{
    return json_int_or(args, "timeout", MAX_TIMEOUT_S);
}

int64_t hook_tool_deadline_ms(const json_t *args)
{
    return timeout_s_of(args) * MS_PER_S + START_AND_END_MS;
}

/* --- starting --- */

/* The sandbox's variables, and those of the call instead of them. */
static char **make_environment(const struct hook_call *call)
{
    char **environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, call->workspace);
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (json_object_get(call->args, "env"), name, value)
        environment = child_process_environment_put(environment, name, json_string_value(value));
    return environment;
}

/* A file: a command that does not read its input cannot block, as with a full pipe. */
static int open_input(const json_t *args, int *fd_out, struct error *err)
{
    const json_t *input = json_object_get(args, "input");
    CLEANUP(fd_close) int fd = memfd_create("input", MFD_CLOEXEC);

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "the hook's input: %m");
    if (fd_write_all(fd, json_string_value(input), json_string_length(input), err) < 0)
        return error_wrap(err, "the hook's input");
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "the hook's input: %m");
    *fd_out = fd_take(&fd);
    return 0;
}

/* session: as of struct child_process_spec. */
static int start_shell(const struct hook_call *call, const int outputs[2], pid_t *session,
                       pid_t *pid_out, struct error *err)
{
    CLEANUP(mem_freep) char *shell = child_process_find_shell();
    CLEANUP(mem_freep) char *command = mem_dup_text(json_text_or(call->args, "command", ""));
    CLEANUP(fd_close) int input = -1;
    char option[] = "-c";
    char *argv[] = {shell, option, command, NULL};
    char **environment = NULL;
    int rc = 0;

    if (shell == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "The sandbox has no shell");
    if (open_input(call->args, &input, err) < 0)
        return -1;
    environment = make_environment(call);
    rc = child_process_start(
        &(struct child_process_spec){
            .path = shell,
            .argv = argv,
            .envp = environment,
            .working_dir = call->working_dir,
            .fds = (const struct child_process_fd[]){{input, STDIN_FILENO},
                                                     {outputs[OUT], STDOUT_FILENO},
                                                     {outputs[ERR], STDERR_FILENO}},
            .n_fds = 3,
            .session = session},
        pid_out, err);
    if (rc < 0 && session != NULL)
        *session = 0;
    child_process_environment_free(environment);
    return rc;
}

/* Nothing waits for it, and no interrupt ends it. */
static int start_detached(const struct hook_call *call, struct error *err)
{
    CLEANUP(fd_close) int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid = 0;

    return start_shell(call, (const int[2]){nothing, nothing}, NULL, &pid, err);
}

/* --- running --- */

static void hook_run_done(struct hook_run *run)
{
    fd_close(&run->exits);
    for (size_t i = 0; i < ARRAY_SIZE(run->streams); i++) {
        fd_close(&run->streams[i].fd);
        strbuf_done(&run->streams[i].kept);
    }
}

/* Beyond the characters that are shown, as much as a password needs that begins in them. */
static struct hook_run hook_run_of(const struct hook_call *call)
{
    const struct hook_stream stream = {.fd = -1,
                                       .kept = STRBUF_INIT,
                                       .max_bytes = MAX_SHOWN_CHARS * MAX_CHAR_BYTES +
                                                    credentials_longest(call->credentials)};

    return (struct hook_run){.call = call,
                             .exits = -1,
                             .deadline_ms =
                                 clock_monotonic_ms() + timeout_s_of(call->args) * MS_PER_S,
                             .streams = {stream, stream}};
}

static int open_pipe(struct hook_stream *stream, int *write_end, struct error *err)
{
    int ends[2] = {-1, -1};

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    stream->fd = ends[0];
    *write_end = ends[1];
    if (fcntl(stream->fd, F_SETFL, O_NONBLOCK) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    return 0;
}

/* Before the command starts, so that its end is not missed. */
static int watch_exits(struct hook_run *run, struct error *err)
{
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    run->exits = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->exits < 0)
        return error_set(err, ERROR_UNAVAILABLE, "signalfd: %m");
    return 0;
}

static int start(struct hook_run *run, struct error *err)
{
    CLEANUP(fd_close) int out = -1;
    CLEANUP(fd_close) int error_output = -1;

    if (watch_exits(run, err) < 0 || open_pipe(&run->streams[OUT], &out, err) < 0 ||
        open_pipe(&run->streams[ERR], &error_output, err) < 0)
        return -1;
    return start_shell(run->call, (const int[2]){out, error_output}, run->call->session, &run->pid,
                       err);
}

/* Reads once, keeps what has room, and drops the rest; false if there was nothing to read. */
static bool read_stream(struct hook_stream *stream)
{
    char bytes[READ_BYTES];
    ssize_t n = read(stream->fd, bytes, sizeof(bytes));
    size_t room = stream->max_bytes - stream->kept.len;

    if (n == 0)
        fd_close(&stream->fd);
    if (n <= 0)
        return false;
    strbuf_append_bytes(&stream->kept, bytes, (size_t)n < room ? (size_t)n : room);
    return true;
}

/* What the command had printed when it ended; its background programs may go on printing. */
static void read_rest(struct hook_stream *stream)
{
    for (int i = 0; i < READS_AFTER_END; i++) {
        if (!read_stream(stream))
            return;
    }
}

/* Leaves it to be reaped. SIGCHLD also reports a command that was stopped. */
static bool has_exited(const struct hook_run *run)
{
    struct signalfd_siginfo signal;
    siginfo_t info = {.si_pid = 0};

    (void)!read(run->exits, &signal, sizeof(signal));
    return waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == run->pid;
}

static int await_exit(struct hook_run *run, struct error *err)
{
    bool exited = false;

    while (!exited) {
        struct pollfd watched[] = {{.fd = run->streams[OUT].fd, .events = POLLIN},
                                   {.fd = run->streams[ERR].fd, .events = POLLIN},
                                   {.fd = run->exits, .events = POLLIN}};
        int64_t left_ms = run->deadline_ms - clock_monotonic_ms();

        if (left_ms <= 0)
            return error_set(err, ERROR_TIMEOUT,
                             "The hook took longer than %lld seconds and was ended.",
                             (long long)timeout_s_of(run->call->args));
        if (poll(watched, ARRAY_SIZE(watched), (int)left_ms) < 0 && errno != EINTR)
            return error_set(err, ERROR_UNAVAILABLE, "poll: %m");
        for (size_t i = 0; i < ARRAY_SIZE(run->streams); i++) {
            if (watched[i].revents != 0)
                (void)read_stream(&run->streams[i]);
        }
        exited = watched[2].revents != 0 && has_exited(run);
    }
    return 0;
}

/* Clears the session first: once the command is reaped, its pid may be another process's. */
static int reap(const struct hook_run *run)
{
    int status = 0;

    *run->call->session = 0;
    while (waitpid(run->pid, &status, 0) < 0) {
        if (errno != EINTR)
            return NO_EXIT_CODE;
    }
    return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_to_end(struct hook_run *run, int *exit_code_out, struct error *err)
{
    int rc = 0;
    int exit_code = 0;

    if (start(run, err) < 0)
        return -1;
    rc = await_exit(run, err);
    if (rc < 0)
        child_process_kill_group(run->pid);
    exit_code = reap(run);
    for (size_t i = 0; i < ARRAY_SIZE(run->streams); i++)
        read_rest(&run->streams[i]);
    if (rc == 0)
        *exit_code_out = exit_code;
    return rc;
}

/* --- the observation --- */

/* Masks before it cuts: a partial password would not be recognized. */
static json_t *shown(const struct hook_run *run, const struct hook_stream *stream)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    utf8_append_repaired(&text, stream->kept.text, stream->kept.len);
    credentials_mask_append(run->call->credentials, text.text, text.len, &masked);
    return json_text(masked.text, utf8_offset(masked.text, masked.len, MAX_SHOWN_CHARS));
}

/* why: NULL: it ran to its end. */
static json_t *make_observation(int exit_code, json_t *out, json_t *error_output, const char *why)
{
    json_t *observation = json_object();
    const char *words = why != NULL ? why : "";

    json_put_text(observation, "kind", "HookObservation");
    json_put(observation, "exit_code", json_integer(exit_code));
    json_put(observation, "stdout", out);
    json_put(observation, "stderr", error_output);
    json_put(observation, "error", json_text_of(why));
    json_put(observation, "is_error", json_false());
    json_put(observation, "content", action_observation_content(words, strlen(words)));
    return observation;
}

json_t *hook_tool_failure(const char *why)
{
    return make_observation(NO_EXIT_CODE, json_text_of(""), json_text_of(""), why);
}

json_t *hook_tool_run(const void *what)
{
    const struct hook_call *call = what;
    CLEANUP(hook_run_done) struct hook_run run = hook_run_of(call);
    struct error err = ERROR_INIT;
    int exit_code = NO_EXIT_CODE;
    int rc = 0;

    if (json_bool_or(call->args, "async", 0) != 0) {
        rc = start_detached(call, &err);
        exit_code = rc < 0 ? NO_EXIT_CODE : 0;
    } else {
        rc = run_to_end(&run, &exit_code, &err);
    }
    return make_observation(exit_code, shown(&run, &run.streams[OUT]),
                            shown(&run, &run.streams[ERR]), rc < 0 ? err.message : NULL);
}

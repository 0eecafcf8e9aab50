#include "sandbox/ports/mcp_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/ports/mcp_command.h"

enum {
    READ_BYTES = 16 * 1024,
    READS_AT_ONCE = 16,
    ERROR_OUTPUT_MAX_BYTES = 8 * 1024, /* kept of the end of its standard error */
    SHOWN_MAX_BYTES = 1000,            /* shown of that */
    STEP_MS = 1000, /* between closing its input, SIGTERM and SIGKILL; and until a closed input
                       is an error */
};

/* How far the end of a process is. */
enum mcp_ending { ENDING_NOT, ENDING_INPUT_CLOSED, ENDING_TERM, ENDING_KILL };

struct mcp_process {
    struct mcp_processes *processes;
    struct mcp_process_listener listener;
    pid_t pid;
    struct event_loop_child child;
    struct event_loop_source input; /* watched while something is unsent */
    bool is_input_watched;
    struct event_loop_source output;
    struct event_loop_source errors;
    struct event_loop_timer step;
    struct strbuf unsent;
    struct lines lines;
    struct strbuf error_output;
    enum mcp_ending ending;
    bool has_exited;
    bool has_failed; /* the listener knows it */
    bool is_busy;    /* a callback of the loop uses it */
    LIST_ENTRY(mcp_process) entry;
};

LIST_HEAD(mcp_process_list, mcp_process);

struct mcp_processes {
    struct event_loop *loop;
    struct mcp_process_list list;
};

struct mcp_processes *mcp_processes_new(struct event_loop *loop)
{
    struct mcp_processes *processes = NEW(struct mcp_processes);

    processes->loop = loop;
    LIST_INIT(&processes->list);
    return processes;
}

static void close_source(struct mcp_process *process, struct event_loop_source *source)
{
    event_loop_remove(process->processes->loop, source);
    fd_close(&source->fd);
}

static void mcp_process_free(struct mcp_process *process)
{
    struct event_loop *loop = process->processes->loop;

    LIST_REMOVE(process, entry);
    event_loop_child_forget(loop, &process->child);
    event_loop_timer_clear(loop, &process->step);
    close_source(process, &process->input);
    close_source(process, &process->output);
    close_source(process, &process->errors);
    strbuf_done(&process->unsent);
    lines_done(&process->lines);
    strbuf_done(&process->error_output);
    mem_free(process);
}

void mcp_processes_free(struct mcp_processes *processes)
{
    if (processes == NULL)
        return;
    while (!LIST_EMPTY(&processes->list)) {
        struct mcp_process *process = LIST_FIRST(&processes->list);

        if (!process->has_exited)
            child_process_kill_group(process->pid);
        mcp_process_free(process);
    }
    mem_free(processes);
}

/* --- what it says --- */

/* Keeps the end of what it prints on its standard error. */
static void keep_error_output(struct mcp_process *process, const char *bytes, size_t len)
{
    struct strbuf *kept = &process->error_output;

    strbuf_append_bytes(kept, bytes, len);
    if (kept->len > ERROR_OUTPUT_MAX_BYTES)
        strbuf_remove_head(kept, kept->len - ERROR_OUTPUT_MAX_BYTES);
}

/* Reads what is there, a bounded amount; closes the source at its end. */
static void read_source(struct mcp_process *process, struct event_loop_source *source,
                        void (*take)(struct mcp_process *process, const char *bytes, size_t len))
{
    char bytes[READ_BYTES];
    ssize_t n = 1;

    for (int i = 0; i < READS_AT_ONCE && n > 0 && source->fd >= 0; i++) {
        n = read(source->fd, bytes, sizeof(bytes));
        if (n > 0)
            take(process, bytes, (size_t)n);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_source(process, source);
}

/* Appends the last lines of its standard error, if there are any. */
static void append_error_output(struct mcp_process *process, struct strbuf *out)
{
    const char *text = NULL;
    size_t len = 0;

    read_source(process, &process->errors, keep_error_output);
    text = process->error_output.text;
    len = process->error_output.len;
    while (len > 0 && strchr(" \r\n\t", text[len - 1]) != NULL)
        len--;
    if (len > SHOWN_MAX_BYTES) {
        const char *line = memchr(text + len - SHOWN_MAX_BYTES, '\n', SHOWN_MAX_BYTES);
        size_t at = line != NULL ? (size_t)(line + 1 - text) : len - SHOWN_MAX_BYTES;

        text += at;
        len -= at;
    }
    if (len == 0)
        return;
    strbuf_append(out, ": ");
    strbuf_append_bytes(out, text, len);
}

static void fail(struct mcp_process *process, const char *what)
{
    CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;

    if (process->has_failed || process->ending != ENDING_NOT)
        return;
    process->has_failed = true;
    strbuf_append(&why, what);
    append_error_output(process, &why);
    process->listener.failed(process->listener.owner, why.text);
}

static void take_output(struct mcp_process *process, const char *bytes, size_t len)
{
    /* The pipe is emptied, so that the program can end. */
    if (process->ending == ENDING_NOT && !process->has_failed)
        lines_add(&process->lines, bytes, len);
}

static void deliver_lines(struct mcp_process *process)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    while (process->ending == ENDING_NOT && lines_next(&process->lines, &line))
        process->listener.line(process->listener.owner, &line);
    if (process->ending == ENDING_NOT && lines_pending(&process->lines) > MCP_LINE_MAX_BYTES)
        fail(process, "The program's reply is too large");
}

/* --- callbacks of the loop --- */

static void begin_callback(struct mcp_process *process)
{
    process->is_busy = true;
}

static void end_callback(struct mcp_process *process)
{
    process->is_busy = false;
    if (process->has_exited && process->ending != ENDING_NOT)
        mcp_process_free(process);
}

static void read_output(struct mcp_process *process)
{
    read_source(process, &process->output, take_output);
    deliver_lines(process);
    if (process->output.fd < 0)
        fail(process, "The program ended without a reply");
}

static void on_output(void *owner, uint32_t events)
{
    struct mcp_process *process = owner;

    (void)events;
    begin_callback(process);
    read_output(process);
    end_callback(process);
}

static void on_errors(void *owner, uint32_t events)
{
    struct mcp_process *process = owner;

    (void)events;
    read_source(process, &process->errors, keep_error_output);
}

static void on_exit_of(void *owner, int status)
{
    struct mcp_process *process = owner;

    (void)status;
    begin_callback(process);
    process->has_exited = true;
    /* What it has started does not outlive it. */
    (void)kill(-process->pid, SIGKILL);
    /* Its last reply may still be in the pipe. */
    if (process->output.fd >= 0)
        read_output(process);
    fail(process, "The program ended without a reply");
    end_callback(process);
}

static void unwatch_input(struct mcp_process *process)
{
    event_loop_remove(process->processes->loop, &process->input);
    process->is_input_watched = false;
}

/* Writes what the pipe takes; false if nothing reads it any more. */
static bool write_unsent(struct mcp_process *process)
{
    while (process->unsent.len > 0) {
        ssize_t n = write(process->input.fd, process->unsent.text, process->unsent.len);

        if (n < 0 && errno != EINTR)
            return errno == EAGAIN;
        strbuf_remove_head(&process->unsent, n > 0 ? (size_t)n : 0);
    }
    return true;
}

static void on_input(void *owner, uint32_t events)
{
    struct mcp_process *process = owner;
    bool is_read = write_unsent(process);

    (void)events;
    if (is_read && process->unsent.len > 0)
        return;
    unwatch_input(process);
    /* If it has ended, the loop is about to notice, and knows why. */
    if (!is_read)
        event_loop_timer_set(process->processes->loop, &process->step, STEP_MS);
}

static void on_step(void *owner)
{
    struct mcp_process *process = owner;
    bool was_asked = process->ending == ENDING_TERM;

    if (process->ending == ENDING_NOT) {
        begin_callback(process);
        fail(process, "The program does not read its input any more");
        end_callback(process);
        return;
    }
    (void)kill(-process->pid, was_asked ? SIGKILL : SIGTERM);
    process->ending = was_asked ? ENDING_KILL : ENDING_TERM;
    if (!was_asked)
        event_loop_timer_set(process->processes->loop, &process->step, STEP_MS);
}

/* --- starting --- */

static struct mcp_process *mcp_process_new(struct mcp_processes *processes,
                                           const struct mcp_process_listener *listener)
{
    struct mcp_process *process = NEW(struct mcp_process);

    *process = (struct mcp_process){.processes = processes,
                                    .listener = *listener,
                                    .child = {.exited = on_exit_of, .owner = process},
                                    .input = {-1, on_input, process},
                                    .output = {-1, on_output, process},
                                    .errors = {-1, on_errors, process},
                                    .step = {.expired = on_step, .owner = process},
                                    .unsent = STRBUF_INIT,
                                    .lines = LINES_INIT,
                                    .error_output = STRBUF_INIT,
                                    .has_exited = true};
    LIST_INSERT_HEAD(&processes->list, process, entry);
    return process;
}

/* ours: 0 or 1, the end of the pipe that the server keeps. */
static int open_pipe(struct event_loop_source *source, int ours, int *theirs_out, struct error *err)
{
    int ends[2] = {-1, -1};

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    source->fd = ends[ours];
    *theirs_out = ends[1 - ours];
    if (fcntl(source->fd, F_SETFL, O_NONBLOCK) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    return 0;
}

static int start(struct mcp_process *process, const struct mcp_command *command, struct error *err)
{
    struct event_loop *loop = process->processes->loop;
    CLEANUP(fd_close) int in = -1;
    CLEANUP(fd_close) int out = -1;
    CLEANUP(fd_close) int errors = -1;

    if (open_pipe(&process->input, 1, &in, err) < 0 ||
        open_pipe(&process->output, 0, &out, err) < 0 ||
        open_pipe(&process->errors, 0, &errors, err) < 0 ||
        event_loop_add(loop, &process->output, EPOLLIN, err) < 0 ||
        event_loop_add(loop, &process->errors, EPOLLIN, err) < 0 ||
        mcp_command_start(command, (const int[3]){in, out, errors}, &process->pid, err) < 0)
        return -1;
    process->has_exited = false;
    process->child.pid = process->pid;
    event_loop_child_watch(loop, &process->child);
    return 0;
}

int mcp_process_start(struct mcp_processes *processes, const struct mcp_command *command,
                      const struct mcp_process_listener *listener, struct mcp_process **process_out,
                      struct error *err)
{
    struct mcp_process *process = mcp_process_new(processes, listener);

    if (start(process, command, err) < 0) {
        mcp_process_free(process);
        return -1;
    }
    *process_out = process;
    return 0;
}

/* --- use --- */

int mcp_process_send(struct mcp_process *process, const char *text, size_t len, struct error *err)
{
    if (process->unsent.len + len >= MCP_INPUT_MAX_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "The program does not read what is sent to it");
    strbuf_append_bytes(&process->unsent, text, len);
    strbuf_append_char(&process->unsent, '\n');
    if (process->is_input_watched || (write_unsent(process) && process->unsent.len == 0))
        return 0;
    /* Also after a failed write, which on_input() then reports. */
    if (event_loop_add(process->processes->loop, &process->input, EPOLLOUT, err) < 0)
        return -1;
    process->is_input_watched = true;
    return 0;
}

bool mcp_process_is_dead(const struct mcp_process *process)
{
    struct pollfd watched = {.fd = process->input.fd, .events = 0};
    siginfo_t info = {.si_pid = 0};

    if (process->has_exited || process->has_failed ||
        (poll(&watched, 1, 0) > 0 && (watched.revents & (POLLERR | POLLNVAL)) != 0))
        return true;
    return waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid == process->pid;
}

void mcp_process_end(struct mcp_process *process)
{
    if (process->ending != ENDING_NOT)
        return;
    process->ending = ENDING_INPUT_CLOSED;
    close_source(process, &process->input);
    process->is_input_watched = false;
    if (process->has_exited && !process->is_busy) {
        mcp_process_free(process);
        return;
    }
    if (!process->has_exited)
        event_loop_timer_set(process->processes->loop, &process->step, STEP_MS);
}

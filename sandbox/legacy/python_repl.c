#include "sandbox/legacy/python_repl.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/legacy/python_driver.h"
#include "sandbox/terminal/terminal_filter.h"

enum {
    READ_BYTES = 64 * 1024,
    MAX_RECORD_BYTES = 12 * 1024 * 1024,
    READS_AT_ONCE = 64,
    GRACE_MS = 2000, /* between the interrupt and the kill */
    N_PIPES = 3,
};

enum { PIPE_OUTPUT, PIPE_RECORD, PIPE_BEGIN };

struct python_repl {
    struct event_loop *loop;
    char *workspace;
    char *python;
    char *working_dir; /* the last one sent */
    pid_t pid;         /* 0: none */
    int code_fd;       /* memory file */
    int begin_fd;
    struct event_loop_source output;
    struct event_loop_source records;
    struct event_loop_child child;
    struct event_loop_timer timer;
    struct terminal_filter filter;
    struct strbuf record;
    bool in_call;
    bool timed_out;
    double timeout_s;
    struct python_answer answer;
};

static void drop_process(struct python_repl *repl)
{
    event_loop_remove(repl->loop, &repl->output);
    event_loop_remove(repl->loop, &repl->records);
    event_loop_child_forget(repl->loop, &repl->child);
    event_loop_timer_clear(repl->loop, &repl->timer);
    if (repl->pid > 0)
        (void)kill(-repl->pid, SIGKILL);
    repl->pid = 0;
    fd_close(&repl->output.fd);
    fd_close(&repl->records.fd);
    fd_close(&repl->begin_fd);
    fd_close(&repl->code_fd);
    mem_freep(&repl->working_dir);
}

/* --- the end of a cell --- */

static void append_words(struct strbuf *content, const struct python_repl *repl, const char *words)
{
    if (repl->timed_out)
        strbuf_appendf(content, "%s[Execution timed out (%.15g seconds).]",
                       content->len > 0 ? "\n" : "", repl->timeout_s);
    if (words[0] != '\0')
        strbuf_appendf(content, "%s%s", content->len > 0 ? "\n" : "", words);
    if (content->len == 0)
        strbuf_append(content, "[Code executed successfully with no output]");
}

static void answer_cell(struct python_repl *repl, json_t *images, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    struct python_result result = {.python = repl->python, .images = images};

    event_loop_timer_clear(repl->loop, &repl->timer);
    terminal_filter_take(&repl->filter, &content);
    append_words(&content, repl, words);
    result.content = content.text;
    repl->in_call = false;
    repl->answer.done(repl->answer.owner, &result);
}

/* False at the end of the data available. */
static bool read_some(int fd, struct strbuf *bytes)
{
    ssize_t n = 0;

    strbuf_reserve(bytes, READ_BYTES);
    n = read(fd, bytes->text + bytes->len, READ_BYTES);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    bytes->len += (size_t)n;
    bytes->text[bytes->len] = '\0';
    return true;
}

static void read_output(struct python_repl *repl)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    bool has_marker = false;

    for (int i = 0; i < READS_AT_ONCE && read_some(repl->output.fd, &bytes); i++) {
        (void)!terminal_filter_feed(&repl->filter, bytes.text, bytes.len, &has_marker);
        strbuf_reset(&bytes);
    }
}

static void on_output(void *owner, uint32_t events)
{
    struct python_repl *repl = owner;

    read_output(repl);
    if ((events & (EPOLLHUP | EPOLLERR)) != 0)
        event_loop_remove(repl->loop, &repl->output);
}

/* Output printed before the record is already in the pipe. */
static void on_record(void *owner, uint32_t events)
{
    struct python_repl *repl = owner;
    json_auto_t *record = NULL;
    struct error ignored = ERROR_INIT;

    while (repl->record.len < MAX_RECORD_BYTES && read_some(repl->records.fd, &repl->record))
        continue;
    if (repl->record.len >= MAX_RECORD_BYTES || (events & (EPOLLHUP | EPOLLERR)) != 0)
        event_loop_remove(repl->loop, &repl->records);
    if (!text_ends_with(repl->record.text, "\n") || !repl->in_call)
        return;
    error_ignore(json_parse(repl->record.text, repl->record.len, &record, &ignored),
                 "another program may have written here: there are then no images");
    strbuf_reset(&repl->record);
    read_output(repl);
    answer_cell(repl, json_object_get(record, "images"), "");
}

static void on_ended(void *owner, int status)
{
    struct python_repl *repl = owner;

    (void)status;
    read_output(repl);
    repl->pid = 0;
    drop_process(repl);
    if (repl->in_call)
        answer_cell(repl, NULL, "[The Python process has ended; its definitions are lost.]");
}

/* Interrupts the cell first, then kills the process. */
static void on_timeout(void *owner)
{
    struct python_repl *repl = owner;

    if (repl->pid <= 0)
        return;
    (void)kill(-repl->pid, repl->timed_out ? SIGKILL : SIGINT);
    repl->timed_out = true;
    event_loop_timer_set(repl->loop, &repl->timer, GRACE_MS);
}

/* --- the process --- */

struct python_repl *python_repl_new(struct event_loop *loop, const char *workspace)
{
    struct python_repl *repl = NEW(struct python_repl);

    repl->loop = loop;
    repl->workspace = mem_dup_text(workspace);
    repl->code_fd = -1;
    repl->begin_fd = -1;
    repl->output = (struct event_loop_source){-1, on_output, repl};
    repl->records = (struct event_loop_source){-1, on_record, repl};
    repl->child = (struct event_loop_child){.exited = on_ended, .owner = repl};
    repl->timer = (struct event_loop_timer){.expired = on_timeout, .owner = repl};
    repl->record = (struct strbuf)STRBUF_INIT;
    terminal_filter_init(&repl->filter);
    repl->filter.is_plain = true;
    return repl;
}

void python_repl_free(struct python_repl *repl)
{
    if (repl == NULL)
        return;
    drop_process(repl);
    terminal_filter_done(&repl->filter);
    strbuf_done(&repl->record);
    mem_free(repl->workspace);
    mem_free(repl->python);
    mem_free(repl);
}

static const char *search_path(char *const *environment)
{
    for (; *environment != NULL; environment++) {
        if (text_starts_with(*environment, "PATH="))
            return *environment + strlen("PATH=");
    }
    return "";
}

struct repl_pipes {
    int ends[N_PIPES][2];
};

static void pipes_done(struct repl_pipes *pipes)
{
    for (size_t i = 0; i < N_PIPES; i++) {
        fd_close(&pipes->ends[i][0]);
        fd_close(&pipes->ends[i][1]);
    }
}

static int open_pipes(struct python_repl *repl, struct repl_pipes *pipes, struct error *err)
{
    repl->code_fd = memfd_create("cell", MFD_CLOEXEC);
    if (repl->code_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "memory file: %m");
    for (size_t i = 0; i < N_PIPES; i++) {
        if (pipe2(pipes->ends[i], O_CLOEXEC) < 0)
            return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    }
    if (fcntl(pipes->ends[PIPE_OUTPUT][0], F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(pipes->ends[PIPE_RECORD][0], F_SETFL, O_NONBLOCK) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    return 0;
}

static int start_process(struct python_repl *repl, char **environment, struct repl_pipes *pipes,
                         struct error *err)
{
    CLEANUP(fd_close) int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const char *const argv[] = {repl->python, "-u", "-c", PYTHON_DRIVER, NULL};
    const struct child_process_spec process = {
        .path = repl->python,
        .argv = (char *const *)(uintptr_t)argv, /* not modified */
        .envp = environment,
        .working_dir = repl->workspace,
        .fds =
            (const struct child_process_fd[]){
                {nothing, STDIN_FILENO},
                {pipes->ends[PIPE_OUTPUT][1], STDOUT_FILENO},
                {pipes->ends[PIPE_OUTPUT][1], STDERR_FILENO},
                {repl->code_fd, CELL_FD},
                {pipes->ends[PIPE_RECORD][1], CELL_RECORD_FD},
                {pipes->ends[PIPE_BEGIN][0], CELL_BEGIN_FD},
            },
        .n_fds = 6,
    };

    if (child_process_start(&process, &repl->pid, err) < 0)
        return -1;
    repl->child.pid = repl->pid;
    event_loop_child_watch(repl->loop, &repl->child);
    repl->output.fd = fd_take(&pipes->ends[PIPE_OUTPUT][0]);
    repl->records.fd = fd_take(&pipes->ends[PIPE_RECORD][0]);
    repl->begin_fd = fd_take(&pipes->ends[PIPE_BEGIN][1]);
    if (event_loop_add(repl->loop, &repl->output, EPOLLIN, err) < 0 ||
        event_loop_add(repl->loop, &repl->records, EPOLLIN, err) < 0)
        return -1;
    return 0;
}

static int start_python(struct python_repl *repl, struct error *err)
{
    CLEANUP(pipes_done) struct repl_pipes pipes = {{{-1, -1}, {-1, -1}, {-1, -1}}};
    char **environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, repl->workspace);
    int rc = -1;

    mem_freep(&repl->python);
    repl->python = child_process_find_program("python3", search_path(environment));
    if (repl->python == NULL)
        repl->python = child_process_find_program("python", search_path(environment));
    if (repl->python == NULL)
        rc = error_set(err, ERROR_NOT_FOUND, "there is no Python in this sandbox");
    else if (open_pipes(repl, &pipes, err) == 0)
        rc = start_process(repl, environment, &pipes, err);
    child_process_environment_free(environment);
    if (rc < 0)
        drop_process(repl);
    return rc;
}

static int submit(struct python_repl *repl, const struct python_cell *call, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *order = json_object();
    bool is_there = repl->working_dir != NULL && text_equal(repl->working_dir, call->working_dir);

    json_put_text(order, "code", call->code);
    json_put(order, "cwd", is_there ? json_null() : json_text_of(call->working_dir));
    json_append_text(&text, order);
    if (ftruncate(repl->code_fd, 0) < 0 || lseek(repl->code_fd, 0, SEEK_SET) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "memory file: %m");
    if (fd_write_all(repl->code_fd, text.text, text.len, err) < 0 ||
        fd_write_all(repl->begin_fd, "x", 1, err) < 0)
        return -1;
    mem_freep(&repl->working_dir);
    repl->working_dir = mem_dup_text(call->working_dir);
    return 0;
}

int python_repl_run(struct python_repl *repl, const struct python_cell *call,
                    const struct python_answer *answer, struct error *err)
{
    assert(!repl->in_call);
    if (repl->pid <= 0 && start_python(repl, err) < 0)
        return -1;
    strbuf_reset(&repl->record);
    if (submit(repl, call, err) < 0) {
        drop_process(repl);
        return -1;
    }
    repl->in_call = true;
    repl->timed_out = false;
    repl->timeout_s = call->timeout_s;
    repl->answer = *answer;
    event_loop_timer_set(repl->loop, &repl->timer, 1 + (int64_t)(call->timeout_s * 1000));
    return 0;
}

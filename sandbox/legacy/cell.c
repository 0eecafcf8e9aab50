#include "sandbox/legacy/cell.h"

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
#include "sandbox/core/loop.h"
#include "sandbox/core/process.h"
#include "sandbox/legacy/cell_driver.h"
#include "sandbox/terminal/capture.h"

enum {
    READ_BYTES = 64 * 1024,
    MAX_RECORD_BYTES = 12 * 1024 * 1024,
    READS_AT_ONCE = 64,
    GRACE_MS = 2000, /* between the interrupt and the kill */
    N_PIPES = 3,
};

enum { PIPE_OUTPUT, PIPE_RECORD, PIPE_BEGIN };

struct cells {
    struct loop *loop;
    char *workspace;
    char *python;
    char *working_dir; /* the last one sent */
    pid_t pid;         /* 0: none */
    int code_fd;       /* memory file */
    int begin_fd;
    struct loop_source output;
    struct loop_source records;
    struct loop_child child;
    struct loop_timer timer;
    struct capture capture;
    struct strbuf record;
    bool in_call;
    bool timed_out;
    double timeout_s;
    struct cell_answer answer;
};

static void drop_process(struct cells *cells)
{
    loop_remove(cells->loop, &cells->output);
    loop_remove(cells->loop, &cells->records);
    loop_child_forget(cells->loop, &cells->child);
    loop_timer_clear(cells->loop, &cells->timer);
    if (cells->pid > 0)
        (void)kill(-cells->pid, SIGKILL);
    cells->pid = 0;
    fd_close(&cells->output.fd);
    fd_close(&cells->records.fd);
    fd_close(&cells->begin_fd);
    fd_close(&cells->code_fd);
    mem_freep(&cells->working_dir);
    strbuf_reset(&cells->record);
}

/* --- the end of a cell --- */

static void append_words(struct strbuf *content, const struct cells *cells, const char *words)
{
    if (cells->timed_out)
        strbuf_appendf(content, "%s[Execution timed out (%.15g seconds).]",
                       content->len > 0 ? "\n" : "", cells->timeout_s);
    if (words[0] != '\0')
        strbuf_appendf(content, "%s%s", content->len > 0 ? "\n" : "", words);
    if (content->len == 0)
        strbuf_append(content, "[Code executed successfully with no output]");
}

static void answer(struct cells *cells, json_t *images, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    struct cell_result result = {.python = cells->python, .images = images};

    loop_timer_clear(cells->loop, &cells->timer);
    capture_take(&cells->capture, &content);
    append_words(&content, cells, words);
    result.content = content.text;
    cells->in_call = false;
    cells->answer.done(cells->answer.owner, &result);
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

static void read_output(struct cells *cells)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    bool has_marker = false;

    for (int i = 0; i < READS_AT_ONCE && read_some(cells->output.fd, &bytes); i++) {
        (void)!capture_feed(&cells->capture, bytes.text, bytes.len, &has_marker);
        strbuf_reset(&bytes);
    }
}

static void on_output(void *owner, uint32_t events)
{
    struct cells *cells = owner;

    read_output(cells);
    if ((events & (EPOLLHUP | EPOLLERR)) != 0)
        loop_remove(cells->loop, &cells->output);
}

/* Output printed before the record is already in the pipe. */
static void on_record(void *owner, uint32_t events)
{
    struct cells *cells = owner;
    json_auto_t *record = NULL;
    struct error ignored = ERROR_INIT;

    while (cells->record.len < MAX_RECORD_BYTES && read_some(cells->records.fd, &cells->record))
        continue;
    if (cells->record.len >= MAX_RECORD_BYTES || (events & (EPOLLHUP | EPOLLERR)) != 0)
        loop_remove(cells->loop, &cells->records);
    if (!text_ends_with(cells->record.text, "\n") || !cells->in_call)
        return;
    error_ignore(json_parse(cells->record.text, cells->record.len, &record, &ignored),
                 "a program may write here, too: then there are no images");
    strbuf_reset(&cells->record);
    read_output(cells);
    answer(cells, json_object_get(record, "images"), "");
}

static void on_ended(void *owner, int status)
{
    struct cells *cells = owner;

    (void)status;
    read_output(cells);
    cells->pid = 0;
    drop_process(cells);
    if (cells->in_call)
        answer(cells, NULL, "[The Python process has ended; what it had defined is gone.]");
}

/* Interrupts the cell first, then kills the process. */
static void on_timeout(void *owner)
{
    struct cells *cells = owner;

    if (cells->pid <= 0)
        return;
    (void)kill(-cells->pid, cells->timed_out ? SIGKILL : SIGINT);
    cells->timed_out = true;
    loop_timer_set(cells->loop, &cells->timer, GRACE_MS);
}

/* --- the process --- */

struct cells *cells_new(struct loop *loop, const char *workspace)
{
    struct cells *cells = NEW(struct cells);

    cells->loop = loop;
    cells->workspace = mem_dup_text(workspace);
    cells->code_fd = -1;
    cells->begin_fd = -1;
    cells->output = (struct loop_source){-1, on_output, cells};
    cells->records = (struct loop_source){-1, on_record, cells};
    cells->child = (struct loop_child){.exited = on_ended, .owner = cells};
    cells->timer = (struct loop_timer){.expired = on_timeout, .owner = cells};
    cells->record = (struct strbuf)STRBUF_INIT;
    capture_init(&cells->capture);
    cells->capture.is_plain = true;
    return cells;
}

void cells_free(struct cells *cells)
{
    if (cells == NULL)
        return;
    drop_process(cells);
    capture_done(&cells->capture);
    strbuf_done(&cells->record);
    mem_free(cells->workspace);
    mem_free(cells->python);
    mem_free(cells);
}

static const char *search_path(char *const *environment)
{
    for (; *environment != NULL; environment++) {
        if (text_starts_with(*environment, "PATH="))
            return *environment + strlen("PATH=");
    }
    return "";
}

struct pipes {
    int ends[N_PIPES][2];
};

static void pipes_done(struct pipes *pipes)
{
    for (size_t i = 0; i < N_PIPES; i++) {
        fd_close(&pipes->ends[i][0]);
        fd_close(&pipes->ends[i][1]);
    }
}

static int open_pipes(struct cells *cells, struct pipes *pipes, struct error *err)
{
    cells->code_fd = memfd_create("cell", MFD_CLOEXEC);
    if (cells->code_fd < 0)
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

static int start_process(struct cells *cells, char **environment, struct pipes *pipes,
                         struct error *err)
{
    CLEANUP(fd_close) int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const char *const argv[] = {cells->python, "-u", "-c", CELL_DRIVER, NULL};
    const struct process_spec process = {
        .path = cells->python,
        .argv = (char *const *)(uintptr_t)argv, /* not modified */
        .envp = environment,
        .working_dir = cells->workspace,
        .fds =
            (const struct process_fd[]){
                {nothing, STDIN_FILENO},
                {pipes->ends[PIPE_OUTPUT][1], STDOUT_FILENO},
                {pipes->ends[PIPE_OUTPUT][1], STDERR_FILENO},
                {cells->code_fd, CELL_FD},
                {pipes->ends[PIPE_RECORD][1], CELL_RECORD_FD},
                {pipes->ends[PIPE_BEGIN][0], CELL_BEGIN_FD},
            },
        .n_fds = 6,
    };

    if (process_start(&process, &cells->pid, err) < 0)
        return -1;
    cells->child.pid = cells->pid;
    loop_child_watch(cells->loop, &cells->child);
    cells->output.fd = fd_take(&pipes->ends[PIPE_OUTPUT][0]);
    cells->records.fd = fd_take(&pipes->ends[PIPE_RECORD][0]);
    cells->begin_fd = fd_take(&pipes->ends[PIPE_BEGIN][1]);
    if (loop_add(cells->loop, &cells->output, EPOLLIN, err) < 0 ||
        loop_add(cells->loop, &cells->records, EPOLLIN, err) < 0)
        return -1;
    return 0;
}

static int start(struct cells *cells, struct error *err)
{
    CLEANUP(pipes_done) struct pipes pipes = {{{-1, -1}, {-1, -1}, {-1, -1}}};
    char **environment = process_environment_new(PROCESS_TERMINAL, cells->workspace);
    int rc = -1;

    mem_freep(&cells->python);
    cells->python = process_find_program("python3", search_path(environment));
    if (cells->python == NULL)
        cells->python = process_find_program("python", search_path(environment));
    if (cells->python == NULL)
        rc = error_set(err, ERROR_NOT_FOUND, "there is no Python in this sandbox");
    else if (open_pipes(cells, &pipes, err) == 0)
        rc = start_process(cells, environment, &pipes, err);
    process_environment_free(environment);
    if (rc < 0)
        drop_process(cells);
    return rc;
}

static int submit(struct cells *cells, const struct cell_call *call, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *order = json_object();
    bool is_there = cells->working_dir != NULL && text_equal(cells->working_dir, call->working_dir);

    json_put_text(order, "code", call->code);
    json_put(order, "cwd", is_there ? json_null() : json_text_of(call->working_dir));
    json_append_text(&text, order);
    if (ftruncate(cells->code_fd, 0) < 0 || lseek(cells->code_fd, 0, SEEK_SET) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "memory file: %m");
    if (fd_write_all(cells->code_fd, text.text, text.len, err) < 0 ||
        fd_write_all(cells->begin_fd, "x", 1, err) < 0)
        return -1;
    mem_freep(&cells->working_dir);
    cells->working_dir = mem_dup_text(call->working_dir);
    return 0;
}

int cells_run(struct cells *cells, const struct cell_call *call, const struct cell_answer *answer,
              struct error *err)
{
    assert(!cells->in_call);
    if (cells->pid <= 0 && start(cells, err) < 0)
        return -1;
    strbuf_reset(&cells->record);
    if (submit(cells, call, err) < 0) {
        drop_process(cells);
        return -1;
    }
    cells->in_call = true;
    cells->timed_out = false;
    cells->timeout_s = call->timeout_s;
    cells->answer = *answer;
    loop_timer_set(cells->loop, &cells->timer, 1 + (int64_t)(call->timeout_s * 1000));
    return 0;
}

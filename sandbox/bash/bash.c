#include "sandbox/bash/bash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/bash/bash_events.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/git/credentials.h"

enum {
    KILL_AFTER_MS = 1000,
    /* A process that left the group may hold the pipes open indefinitely. */
    ABANDON_AFTER_MS = 1000,
    MS_PER_S = 1000,
    READ_BYTES = 16 * 1024,
    READS_AT_ONCE = 16,
    MAX_OUTPUT_BYTES = 16 * 1024 * 1024, /* per command, both streams */
    OUT = 0,
    ERR = 1,
};

/* Progress of ending a command. */
enum bash_ending { ENDING_NOT, ENDING_TERM, ENDING_KILL };

struct bash_stream {
    struct bash_run *run;
    struct event_loop_source source;
    struct strbuf text; /* valid UTF-8, except for an incomplete last character */
};

struct bash_run {
    struct bash *bash;
    char scope[BASH_SCOPE_BYTES];
    char id[UUID_HEX_BYTES];
    pid_t pid;
    struct event_loop_child child;
    struct bash_stream streams[2];
    struct event_loop_timer timer;
    enum bash_ending ending;
    bool timed_out;
    bool exited;
    int exit_code;
    int64_t order;
    size_t bytes;
    bool was_cut;
    struct bash_answer answer;
    struct bash_run *next;
};

struct bash {
    struct event_loop *loop;
    const char *workspace;
    const struct credentials *credentials;
    struct bash_events *events;
    struct bash_run *runs;
    size_t n_runs;
};

static const char cut_notice[] = "\n[deft: further output of this command was dropped]\n";

struct bash *bash_new(const struct action_server *server)
{
    struct bash *bash = NEW(struct bash);

    bash->loop = server->loop;
    bash->workspace = server->config->workspace;
    bash->credentials = server->credentials;
    bash->events = bash_events_new();
    return bash;
}

struct bash_events *bash_events_of(struct bash *bash)
{
    return bash->events;
}

static void close_stream(struct bash_stream *stream)
{
    event_loop_remove(stream->run->bash->loop, &stream->source);
    fd_close(&stream->source.fd);
}

static void run_free(struct bash_run *run)
{
    struct bash_run **link = &run->bash->runs;

    while (*link != NULL && *link != run)
        link = &(*link)->next;
    if (*link != NULL) {
        *link = run->next;
        run->bash->n_runs--;
    }
    event_loop_timer_clear(run->bash->loop, &run->timer);
    event_loop_child_forget(run->bash->loop, &run->child);
    for (size_t i = 0; i < ARRAY_SIZE(run->streams); i++) {
        close_stream(&run->streams[i]);
        strbuf_done(&run->streams[i].text);
    }
    mem_free(run);
}

void bash_free(struct bash *bash)
{
    if (bash == NULL)
        return;
    while (bash->runs != NULL) {
        if (!bash->runs->exited)
            (void)kill(-bash->runs->pid, SIGKILL);
        run_free(bash->runs);
    }
    bash_events_free(bash->events);
    mem_free(bash);
}

static void hide_passwords(struct bash_stream *stream)
{
    CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
    const struct credentials *credentials = stream->run->bash->credentials;

    if (credentials_longest(credentials) == 0)
        return;
    credentials_mask_append(credentials, stream->text.text, stream->text.len, &shown);
    strbuf_reset(&stream->text);
    strbuf_append_bytes(&stream->text, shown.text, shown.len);
}

/* Stores the first len bytes of a stream as an event. */
static void emit_chunk(struct bash_stream *stream, size_t len)
{
    struct bash_run *run = stream->run;
    struct bash_output output = {.scope = run->scope, .command_id = run->id, .order = run->order++};
    json_t *event = NULL;

    if (stream == &run->streams[OUT]) {
        output.out = stream->text.text;
        output.out_len = len;
    } else {
        output.err = stream->text.text;
        output.err_len = len;
    }
    event = bash_events_add_output(run->bash->events, &output);
    json_decref(event);
    strbuf_remove_head(&stream->text, len);
}

static void report_end(struct bash_run *run)
{
    struct bash *bash = run->bash;
    struct bash_answer answer = run->answer;
    const struct bash_stream *out = &run->streams[OUT];
    const struct bash_stream *err = &run->streams[ERR];
    const struct bash_output output = {
        .scope = run->scope,
        .command_id = run->id,
        .order = run->order,
        .has_exit_code = true,
        .exit_code = run->timed_out ? -1 : run->exit_code,
        .out = out->text.text,
        .out_len = out->text.len,
        .err = err->text.text,
        .err_len = err->text.len,
    };
    json_auto_t *event = bash_events_add_output(bash->events, &output);
    json_t *joined = NULL;

    if (answer.done != NULL)
        joined = bash_events_join(bash->events, run->scope, run->id, event);
    run_free(run);
    if (answer.done != NULL)
        answer.done(answer.owner, joined);
}

static void finish_run(struct bash_run *run)
{
    hide_passwords(&run->streams[OUT]);
    hide_passwords(&run->streams[ERR]);
    report_end(run);
}

static bool is_over(const struct bash_run *run)
{
    return run->exited && run->streams[OUT].source.fd < 0 && run->streams[ERR].source.fd < 0;
}

static void keep_output(struct bash_stream *stream, const char *bytes, size_t len)
{
    struct bash_run *run = stream->run;
    size_t chunk = 0;

    if (run->was_cut)
        return;
    if (run->bytes + len > MAX_OUTPUT_BYTES) {
        run->was_cut = true;
        strbuf_append(&run->streams[ERR].text, cut_notice);
        return;
    }
    run->bytes += len;
    strbuf_append_bytes(&stream->text, bytes, len);
    /* Read ahead, so that a password that crosses the chunk's end is masked as a whole. */
    if (stream->text.len <= BASH_CHUNK_CHARS + credentials_longest(run->bash->credentials))
        return;
    hide_passwords(stream);
    chunk = utf8_offset(stream->text.text, stream->text.len, BASH_CHUNK_CHARS);
    if (chunk < stream->text.len)
        emit_chunk(stream, chunk);
}

static void on_readable(void *owner, uint32_t events)
{
    struct bash_stream *stream = owner;
    struct bash_run *run = stream->run;
    char bytes[READ_BYTES];
    ssize_t n = 0;

    (void)events;
    for (int i = 0; i < READS_AT_ONCE; i++) {
        n = read(stream->source.fd, bytes, sizeof(bytes));
        if (n <= 0)
            break;
        keep_output(stream, bytes, (size_t)n);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_stream(stream);
    if (is_over(run))
        finish_run(run);
}

static void on_child_exit(void *owner, int status)
{
    struct bash_run *run = owner;

    run->exited = true;
    run->exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    if (is_over(run))
        finish_run(run);
}

/* Ends a command in steps: SIGTERM, SIGKILL, then gives up waiting for its pipes. */
static void on_time(void *owner)
{
    struct bash_run *run = owner;

    switch (run->ending) {
    case ENDING_NOT:
        run->timed_out = true;
        run->ending = ENDING_TERM;
        (void)kill(-run->pid, SIGTERM);
        event_loop_timer_set(run->bash->loop, &run->timer, KILL_AFTER_MS);
        return;
    case ENDING_TERM:
        run->ending = ENDING_KILL;
        (void)kill(-run->pid, SIGKILL);
        event_loop_timer_set(run->bash->loop, &run->timer, ABANDON_AFTER_MS);
        return;
    case ENDING_KILL:
        close_stream(&run->streams[OUT]);
        close_stream(&run->streams[ERR]);
        if (is_over(run))
            finish_run(run);
        return;
    }
}

static int open_pipe(struct bash_stream *stream, int *write_out, struct error *err)
{
    int fds[2] = {-1, -1};

    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    stream->source.fd = fds[0];
    *write_out = fds[1];
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    return event_loop_add(stream->run->bash->loop, &stream->source, EPOLLIN, err);
}

static int start_shell(struct bash_run *run, const struct bash_spec *spec, const int fds[3],
                       struct error *err)
{
    CLEANUP(mem_freep) char *command = mem_dup_text(spec->command);
    char sh[] = "sh";
    char option[] = "-c";
    char *argv[] = {sh, option, command, NULL};
    char **environment = child_process_environment_new(CHILD_PROCESS_COMMAND, run->bash->workspace);
    const struct child_process_spec process = {
        .path = "/bin/sh",
        .argv = argv,
        .envp = environment,
        .working_dir = spec->cwd[0] != '\0' ? spec->cwd : run->bash->workspace,
        .fds = (const struct child_process_fd[]){{fds[0], STDIN_FILENO},
                                                 {fds[1], STDOUT_FILENO},
                                                 {fds[2], STDERR_FILENO}},
        .n_fds = 3,
    };
    int rc = child_process_start(&process, &run->pid, err);

    child_process_environment_free(environment);
    return rc;
}

static int start_run(struct bash_run *run, const struct bash_spec *spec, struct error *err)
{
    CLEANUP(fd_close) int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CLEANUP(fd_close) int out = -1;
    CLEANUP(fd_close) int err_fd = -1;
    struct stat info;

    if (spec->cwd[0] != '\0' && (stat(spec->cwd, &info) < 0 || !S_ISDIR(info.st_mode)))
        return error_set(err, ERROR_NOT_FOUND, "no directory '%s'", spec->cwd);
    if (open_pipe(&run->streams[OUT], &out, err) < 0 ||
        open_pipe(&run->streams[ERR], &err_fd, err) < 0)
        return -1;
    if (start_shell(run, spec, (const int[3]){in >= 0 ? in : out, out, err_fd}, err) < 0)
        return -1;
    run->child.pid = run->pid;
    event_loop_child_watch(run->bash->loop, &run->child);
    if (spec->timeout_s > 0)
        event_loop_timer_set(run->bash->loop, &run->timer, spec->timeout_s * MS_PER_S);
    return 0;
}

static struct bash_run *run_new(struct bash *bash, const char *scope)
{
    struct bash_run *run = NEW(struct bash_run);

    run->bash = bash;
    memcpy(run->scope, scope, strnlen(scope, BASH_SCOPE_BYTES - 1));
    run->child = (struct event_loop_child){.exited = on_child_exit, .owner = run};
    run->timer = (struct event_loop_timer){.expired = on_time, .owner = run};
    for (size_t i = 0; i < ARRAY_SIZE(run->streams); i++) {
        struct bash_stream *stream = &run->streams[i];

        stream->run = run;
        stream->source = (struct event_loop_source){-1, on_readable, stream};
        stream->text = (struct strbuf)STRBUF_INIT;
    }
    run->next = bash->runs;
    bash->runs = run;
    bash->n_runs++;
    return run;
}

static void fail_start(struct bash_run *run, const struct error *err)
{
    run->exited = true;
    run->exit_code = -1;
    strbuf_appendf(&run->streams[ERR].text, "Error executing command: %s", err->message);
    finish_run(run);
}

int bash_start(struct bash *bash, const struct bash_spec *spec, json_t **command_out,
               struct error *err)
{
    struct bash_run *run = NULL;
    struct error why = ERROR_INIT;

    if (bash->n_runs >= MAX_BASH_COMMANDS)
        return error_set(err, ERROR_RATE_LIMITED, "too many commands are running");
    run = run_new(bash, spec->scope);
    bash_events_add_command(bash->events, spec, run->id, command_out);
    if (start_run(run, spec, &why) < 0)
        fail_start(run, &why);
    return 0;
}

static struct bash_run *find_run(const struct bash *bash, const char *scope, const char *id)
{
    struct bash_run *run = bash->runs;

    while (run != NULL && !(text_equal(run->id, id) && text_equal(run->scope, scope)))
        run = run->next;
    return run;
}

static int check_known(const struct bash *bash, const char *scope, const char *id,
                       struct error *err)
{
    json_auto_t *event = bash_events_get(bash->events, scope, id);

    if (event == NULL || !text_equal(json_text_or(event, "kind", ""), "BashCommand"))
        return error_set(err, ERROR_NOT_FOUND, "Not Found");
    return 0;
}

/* The last output of a finished command. */
static json_t *last_output(const struct bash *bash, const char *scope, const char *id)
{
    struct bash_query query = {
        .scope = scope,
        .kind = BASH_OUTPUT,
        .before_us = INT64_MAX,
        .order_above = -1,
        .newest_first = true,
        .page = -1,
        .limit = 1,
    };
    json_auto_t *page = NULL;

    memcpy(query.command_id, id, UUID_HEX_BYTES);
    page = bash_events_search(bash->events, &query);
    return json_incref(json_array_get(json_object_get(page, "items"), 0));
}

int bash_wait(struct bash *bash, const char *scope, const char *command_id,
              const struct bash_answer *answer, struct error *err)
{
    struct bash_run *run = find_run(bash, scope, command_id);
    json_auto_t *last = NULL;

    if (run != NULL) {
        run->answer = *answer;
        return 0;
    }
    if (check_known(bash, scope, command_id, err) < 0)
        return -1;
    last = last_output(bash, scope, command_id);
    if (last == NULL)
        return error_set(err, ERROR_NOT_FOUND, "Not Found");
    answer->done(answer->owner, bash_events_join(bash->events, scope, command_id, last));
    return 0;
}

void bash_forget_answer(struct bash *bash, const void *owner)
{
    for (struct bash_run *run = bash->runs; run != NULL; run = run->next) {
        if (run->answer.owner == owner)
            run->answer = (struct bash_answer){NULL, NULL};
    }
}

int bash_stop(struct bash *bash, const char *scope, const char *command_id, struct error *err)
{
    struct bash_run *run = find_run(bash, scope, command_id);

    if (run == NULL)
        return check_known(bash, scope, command_id, err);
    if (run->ending == ENDING_NOT) {
        run->ending = ENDING_TERM;
        (void)kill(-run->pid, SIGTERM);
        event_loop_timer_set(bash->loop, &run->timer, KILL_AFTER_MS);
    }
    return 0;
}

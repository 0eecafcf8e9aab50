#include "unit/sandbox/action_bench.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/child_process.h"
#include "sandbox/core/folder.h"
#include "sandbox/core/textfile.h"
#include "sandbox/http/http_server.h"
#include "sandbox/server_lifecycle.h"
#include "support/descriptors.h"

enum { WAIT_MAX_MS = 60000, READ_BYTES = 65536, FILE_MAX_BYTES = 64 * 1024 * 1024 };

/* --- the server --- */

static void on_overdue(void *owner)
{
    (void)owner;
    fail_msg("nothing happened for %d seconds", WAIT_MAX_MS / 1000);
}

/* What the test's programs see: nothing of the user's own. */
static void set_environment(const struct action_bench *bench)
{
    const char *const variables[][2] = {
        {"HOME", bench->home},
        {"PATH", "/usr/local/bin:/usr/bin:/bin"},
        {"GIT_CONFIG_NOSYSTEM", "1"},
        {"GIT_AUTHOR_NAME", "Ann"},
        {"GIT_AUTHOR_EMAIL", "ann@example.org"},
        {"GIT_COMMITTER_NAME", "Ann"},
        {"GIT_COMMITTER_EMAIL", "ann@example.org"},
        {"GIT_AUTHOR_DATE", "2020-01-02T03:04:05+00:00"},
        {"GIT_COMMITTER_DATE", "2020-01-02T03:04:05+00:00"},
        {"LC_ALL", "C.UTF-8"},
        {"SHELL", "/bin/bash"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
    (void)unsetenv("PROMPT_COMMAND");
}

static void open_parts(struct action_bench *bench)
{
    struct error err = ERROR_INIT;

    bench->server =
        (struct action_server){.config = &bench->config, .started_ms = clock_monotonic_ms()};
    bench->server.last_action_ms = bench->server.started_ms;
    if (server_lifecycle_begin(&bench->server, &bench->http, &err) < 0)
        fail_msg("%s", err.message);
}

int action_bench_set_up(void **state)
{
    struct action_bench *bench = NEW(struct action_bench);
    CLEANUP(strbuf_done) struct strbuf journal = STRBUF_INIT;

    /* As main() does. */
    (void)signal(SIGPIPE, SIG_IGN);
    bench->n_descriptors = descriptors_count();
    memcpy(bench->folder, "/tmp/deft-bench-XXXXXX", sizeof("/tmp/deft-bench-XXXXXX"));
    assert_non_null(mkdtemp(bench->folder));
    (void)snprintf(bench->workspace, sizeof(bench->workspace), "%s/work", bench->folder);
    (void)snprintf(bench->home, sizeof(bench->home), "%s/home", bench->folder);
    assert_int_equal(mkdir(bench->workspace, 0755), 0);
    assert_int_equal(mkdir(bench->home, 0755), 0);
    strbuf_appendf(&journal, "%s/journal", bench->folder);
    assert_int_equal(mkdir(journal.text, 0755), 0);
    set_environment(bench);
    bench->watchdog = (struct event_loop_timer){.expired = on_overdue};
    bench->config = (struct action_config){.open = 1,
                                           .bind = mem_dup_text("127.0.0.1"),
                                           .workspace = mem_dup_text(bench->workspace),
                                           .journal_dir = strbuf_take(&journal),
                                           .save_dir = mem_dup_text(""),
                                           .log_level = mem_dup_text("warning"),
                                           .idle_timeout = mem_dup_text(""),
                                           .run_silence = mem_dup_text(""),
                                           .no_change_ms = 30000,
                                           .job_wait_ms = 900,
                                           .browser = mem_dup_text(""),
                                           .browser_wait_ms = 30000,
                                           .browser_timeout_ms = 60000,
                                           .mcp_idle_ms = 600000};
    open_parts(bench);
    *state = bench;
    return 0;
}

int action_bench_tear_down(void **state)
{
    struct action_bench *bench = *state;
    int n_before = bench->n_descriptors;

    server_lifecycle_end(&bench->server, bench->http);
    action_config_done(&bench->config);
    folder_remove(bench->folder);
    mem_free(bench);
    assert_int_equal(descriptors_count(), n_before);
    return 0;
}

void action_bench_restart(struct action_bench *bench)
{
    server_lifecycle_end(&bench->server, bench->http);
    open_parts(bench);
}

static void dispatch(struct action_bench *bench)
{
    event_loop_timer_set(bench->server.loop, &bench->watchdog, WAIT_MAX_MS);
    event_loop_dispatch(bench->server.loop);
    event_loop_timer_clear(bench->server.loop, &bench->watchdog);
}

void bench_run_until(struct action_bench *bench, const bool *done)
{
    while (!*done)
        dispatch(bench);
}

/* --- requests --- */

static int connect_client(const struct action_bench *bench)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_server_port(bench->http)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* The server may refuse a body before it has arrived. */
static void send_all(struct action_bench *bench, int client, const struct strbuf *text)
{
    size_t sent = 0;

    while (sent < text->len) {
        ssize_t n = send(client, text->text + sent, text->len - sent, MSG_NOSIGNAL);

        if (n > 0)
            sent += (size_t)n;
        else if (errno == EAGAIN)
            dispatch(bench);
        else
            return;
    }
}

static int send_request(struct action_bench *bench, const char *line, const char *headers,
                        const struct strbuf *body)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    int client = connect_client(bench);

    strbuf_appendf(&text, "%s HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n%s", line, headers);
    if (body != NULL)
        strbuf_appendf(&text, "Content-Length: %zu\r\n", body->len);
    strbuf_append(&text, "\r\n");
    if (body != NULL)
        strbuf_append_bytes(&text, body->text, body->len);
    send_all(bench, client, &text);
    return client;
}

int bench_send_bytes(struct action_bench *bench, const char *line, const char *headers,
                     const struct strbuf *body)
{
    return send_request(bench, line, headers, body);
}

int bench_send(struct action_bench *bench, const char *line, const char *headers, const char *body)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, body != NULL ? body : "");
    return send_request(bench, line, headers, body != NULL ? &text : NULL);
}

struct bench_reply bench_receive(struct action_bench *bench, int client)
{
    struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    const char *end = NULL;
    char *bytes = mem_alloc(READ_BYTES);
    ssize_t n = 1;

    while (n != 0) {
        n = recv(client, bytes, READ_BYTES, MSG_DONTWAIT);
        if (n > 0)
            strbuf_append_bytes(&reply.head, bytes, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            dispatch(bench);
        else
            n = 0;
    }
    mem_free(bytes);
    fd_close(&client);
    end = strstr(reply.head.text, "\r\n\r\n");
    if (end == NULL || strncmp(reply.head.text, "HTTP/1.1 ", 9) != 0)
        fail_msg("no reply: %s", reply.head.text);
    reply.status = (int)strtol(reply.head.text + 9, NULL, 10);
    strbuf_append_bytes(&reply.body, end + 4, reply.head.len - (size_t)(end + 4 - reply.head.text));
    strbuf_truncate(&reply.head, (size_t)(end + 2 - reply.head.text));
    return reply;
}

struct bench_reply bench_ask(struct action_bench *bench, const char *line, const char *headers,
                             const char *body)
{
    return bench_receive(bench, bench_send(bench, line, headers, body));
}

void bench_reply_done(struct bench_reply *reply)
{
    strbuf_done(&reply->head);
    strbuf_done(&reply->body);
}

void assert_header(const struct bench_reply *reply, const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
    size_t len = strlen(name);
    bool is_there = false;

    for (const char *line = reply->head.text; *line != '\0'; line = strstr(line, "\r\n") + 2) {
        if (strncasecmp(line, name, len) != 0 || strncmp(line + len, ": ", 2) != 0)
            continue;
        is_there = true;
        strbuf_append_bytes(&found, line + len + 2, strcspn(line + len + 2, "\r"));
    }
    if (is_there != (value != NULL) || (value != NULL && !text_equal(found.text, value)))
        fail_msg("%s: %s", name, is_there ? found.text : "(none)");
}

/* --- files --- */

const char *bench_text(struct action_bench *bench, const char *format, ...)
{
    char *text = bench->texts[bench->n_texts++ % BENCH_TEXTS];
    va_list args;
    int n = 0;

    va_start(args, format);
    n = vsnprintf(text, BENCH_TEXT_BYTES, format, args);
    va_end(args);
    assert_in_range(n, 0, BENCH_TEXT_BYTES - 1);
    return text;
}

const char *bench_path(struct action_bench *bench, const char *name)
{
    return bench_text(bench, "%s/%s", bench->workspace, name);
}

void bench_write(struct action_bench *bench, const char *name, const char *text)
{
    bench_write_bytes(bench, name, text, strlen(text));
}

void bench_write_bytes(struct action_bench *bench, const char *name, const char *bytes, size_t len)
{
    const char *path = bench_path(bench, name);
    CLEANUP(fd_close) int fd = -1;
    struct error err = ERROR_INIT;

    if (textfile_make_parents(path, &err) < 0)
        fail_msg("%s", err.message);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    if (fd_write_all(fd, bytes, len, &err) < 0)
        fail_msg("%s", err.message);
}

void assert_file(struct action_bench *bench, const char *name, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
    struct error err = ERROR_INIT;

    if (file_read(bench_path(bench, name), FILE_MAX_BYTES, &found, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(found.text, text);
}

bool bench_has(struct action_bench *bench, const char *name)
{
    struct stat info;

    return lstat(bench_path(bench, name), &info) == 0;
}

const char *bench_shell_line(struct action_bench *bench, const char *line)
{
    CLEANUP(strbuf_done) struct strbuf printed = STRBUF_INIT;
    char bytes[BENCH_TEXT_BYTES];
    int ends[2] = {-1, -1};
    int status = 0;
    ssize_t n = 1;
    pid_t pid = 0;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        child_process_default_signals();
        (void)alarm(WAIT_MAX_MS / 1000);
        if (dup2(ends[1], STDOUT_FILENO) < 0 || chdir(bench->workspace) < 0)
            _exit(EXIT_FAILURE);
        (void)execl("/bin/sh", "sh", "-ec", line, NULL);
        _exit(EXIT_FAILURE);
    }
    fd_close(&ends[1]);
    while (n > 0) {
        n = read(ends[0], bytes, sizeof(bytes));
        if (n > 0)
            strbuf_append_bytes(&printed, bytes, (size_t)n);
    }
    fd_close(&ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        fail_msg("%s: status %d", line, status);
    return bench_text(bench, "%.*s", (int)strcspn(printed.text, "\n"), printed.text);
}

void bench_shell(struct action_bench *bench, const char *line)
{
    const char *printed = bench_shell_line(bench, line);

    (void)printed;
}

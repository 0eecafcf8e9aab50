#include "worker/stub_sandbox.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "worker/stub_state.h"

#define REQUEST_MAX_BYTES 8000000
#define HELD_MOST_MS 60000

struct connection {
    struct stub *stub;
    int fd;
};

struct http {
    char method[8];
    char path[200];
    const char *body;
};

static json_t *text_reply(const char *kind, const char *command, const char *text, int exit_code)
{
    return stub_json(
        "{s:s, s:{s:[{s:s, s:s, s:b}], s:b, s:s, s:i, s:b, s:{s:i, s:s, s:s, s:s}, s:s,"
        " s:s}}",
        "state", "finished", "observation", "content", "type", "text", "text", text, "cache_prompt",
        0, "is_error", 0, "command", command, "exit_code", exit_code, "timeout", 0, "metadata",
        "exit_code", exit_code, "working_dir", "/workspace/project", "prefix", "", "suffix", "",
        "evil_member", "dropped", "kind", kind);
}

/* "print:N" prints N times the letter x. */
static json_t *print_reply(const char *kind, const char *command)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    long n = strtol(command + strlen("print:"), NULL, 10);

    for (long i = 0; i < n; i++)
        strbuf_append_char(&text, 'x');
    return text_reply(kind, command, text.text, 0);
}

/* "echo $NAME" with {"NAME": value} is the value. */
static const char *expand(const json_t *env, const char *command)
{
    const char *dollar = strchr(command, '$');

    return dollar == NULL ? command : json_text_or(env, dollar + 1, "(unset)");
}

struct stub_action *stub_find_locked(struct stub *stub, const char *id)
{
    for (size_t i = 0; i < stub->n_actions; i++) {
        if (text_equal(stub->actions[i].id, id))
            return &stub->actions[i];
    }
    return NULL;
}

static bool is_hook(const json_t *request)
{
    return text_equal(json_text_or(request, "tool", ""), "hook");
}

static void note_hook_locked(struct stub *stub, const char *id, const json_t *request)
    REQUIRES(stub -> lock)
{
    json_t *order = stub_json("{s:s}", "id", id);

    if (stub->hook_orders == NULL)
        stub->hook_orders = json_array();
    json_put(order, "order", json_deep_copy(request));
    json_push(stub->hook_orders, order);
    condition_wake_all(&stub->changed);
}

/* Members of the observation, or a whole reply if it has a state. */
static json_t *hook_reply_locked(struct stub *stub, const char *command) REQUIRES(stub -> lock)
{
    json_t *answer = json_object_get(stub->hook_answers, command);
    json_t *reply = NULL;

    if (json_object_get(answer, "state") != NULL)
        return json_deep_copy(answer);
    reply = stub_json("{s:s, s:{s:s, s:i, s:s, s:s, s:b, s:[]}}", "state", "finished",
                      "observation", "kind", "HookObservation", "exit_code", 0, "stdout", "",
                      "stderr", "", "is_error", 0, "content");
    if (answer != NULL)
        (void)json_object_update(json_object_get(reply, "observation"), answer);
    return reply;
}

/* A call of an MCP server that is a program. */
static json_t *mcp_reply_locked(struct stub *stub, const json_t *request) REQUIRES(stub -> lock)
{
    const json_t *args = json_object_get(request, "args");
    const char *method = json_text_or(args, "method", "");
    json_t *reply = NULL;
    json_t *members = json_object_get(stub->program, method);

    json_decref(stub->program_order);
    stub->program_order = json_deep_copy(request);
    reply = stub_json(
        "{s:s, s:{s:s, s:[], s:b, s:s?}}", "state", "finished", "observation", "kind",
        text_equal(method, "tools/list") ? "MCPListObservation" : "MCPToolObservation", "content",
        "is_error", members == NULL, "tool_name", json_text_or(args, "name", NULL));
    if (members == NULL)
        members = stub_json("{s:s}", "error", "no such program");
    else
        json_incref(members);
    (void)json_object_update(json_object_get(reply, "observation"), members);
    json_decref(members);
    return reply;
}

static void note_checkpoint_locked(struct stub *stub, const char *what, const json_t *request)
    REQUIRES(stub -> lock)
{
    strbuf_appendf(&stub->checkpoints, "%s ", what);
    json_append_text(&stub->checkpoints, request);
    strbuf_append_char(&stub->checkpoints, '\n');
}

static json_t *restore_reply_locked(struct stub *stub, const json_t *request) REQUIRES(stub -> lock)
{
    json_t *reply = NULL;

    note_checkpoint_locked(stub, "restore", json_object_get(request, "args"));
    if (json_object_get(stub->restore, "state") != NULL)
        return json_deep_copy(stub->restore);
    reply = stub_json("{s:s, s:{s:s, s:b, s:[]}}", "state", "finished", "observation", "kind",
                      "CheckpointObservation", "is_error", 0, "content");
    if (stub->restore != NULL)
        (void)json_object_update(json_object_get(reply, "observation"), stub->restore);
    return reply;
}

static json_t *checkpoint_reply_locked(struct stub *stub, const char *what, const json_t *request)
    REQUIRES(stub -> lock)
{
    json_t *reply = json_object();

    note_checkpoint_locked(stub, what, request);
    if (text_equal(what, "take") && stub->checkpoint != NULL)
        (void)json_object_update(reply, stub->checkpoint);
    if (text_equal(what, "missing"))
        json_put(reply, "ids", stub->missing != NULL ? TAKE_PTR(stub->missing) : json_array());
    if (text_equal(what, "read"))
        json_put(reply, "objects", stub_json("[{s:s, s:s}]", "id", "an object", "data", ""));
    return reply;
}

/* Runs a command; the lock is given up while it sleeps. */
static json_t *run_locked(struct stub *stub, const json_t *request) REQUIRES(stub -> lock)
{
    const json_t *args = json_object_get(request, "args");
    bool is_editor = text_equal(json_text_or(request, "tool", ""), "file_editor");
    bool is_grep = text_equal(json_text_or(request, "tool", ""), "grep");
    const char *kind = is_grep     ? "GrepObservation"
                       : is_editor ? "FileEditorObservation"
                                   : "TerminalObservation";
    const char *command = json_text_or(args, is_editor ? "path" : "command", "");
    size_t n_before = stub->n_interrupts;
    size_t n_releases = stub->n_releases;
    int64_t until_ms = clock_monotonic_ms();

    if (text_equal(json_text_or(request, "tool", ""), "mcp"))
        return mcp_reply_locked(stub, request);
    if (text_starts_with(command, "sleep:"))
        until_ms += strtol(command + 6, NULL, 10);
    if (text_equal(command, "hold") || (is_editor && text_ends_with(command, "/hold")) ||
        (is_hook(request) && text_starts_with(command, "hold-")))
        until_ms += HELD_MOST_MS;
    while (clock_monotonic_ms() < until_ms && stub->n_interrupts == n_before &&
           stub->n_releases == n_releases && !stub->is_stopping)
        (void)condition_wait_until(&stub->changed, &stub->lock, until_ms);
    if (text_equal(json_text_or(request, "tool", ""), "checkpoint"))
        return restore_reply_locked(stub, request);
    if (is_hook(request) ||
        json_object_get(json_object_get(stub->hook_answers, command), "state") != NULL)
        return hook_reply_locked(stub, command);
    if (stub->n_interrupts > n_before)
        return text_reply(kind, command, "^C", 130);
    if (text_starts_with(command, "print:"))
        return print_reply(kind, command);
    return text_reply(kind, command, expand(json_object_get(request, "env"), command), 0);
}

/* A copy: the answering thread lets go of its reply without the lock. NULL when it is stopping. */
static json_t *kept_reply(const struct stub_action *action)
{
    return json_deep_copy(action->reply);
}

static json_t *put_action_locked(struct stub *stub, const char *id, const json_t *request)
    REQUIRES(stub -> lock)
{
    struct stub_action *action = stub_find_locked(stub, id);
    json_t *reply = NULL;
    size_t index = 0;

    if (is_hook(request))
        note_hook_locked(stub, id, request);
    while (action != NULL && action->reply == NULL && !stub->is_stopping) {
        condition_wait(&stub->changed, &stub->lock);
        action = stub_find_locked(stub, id);
    }
    if (action != NULL)
        return kept_reply(action);
    index = stub->n_actions++;
    memcpy(stub->actions[index].id, id, strnlen(id, sizeof(stub->actions[index].id) - 1));
    stub->n_runs++;
    stub->n_running++;
    condition_wake_all(&stub->changed);
    reply = run_locked(stub, request);
    stub->n_running--;
    action = stub_find_locked(stub, id);
    if (action != NULL && action->reply == NULL)
        action->reply = json_deep_copy(reply);
    condition_wake_all(&stub->changed);
    return reply;
}

static json_t *get_action_locked(struct stub *stub, const char *id) REQUIRES(stub -> lock)
{
    struct stub_action *action = stub_find_locked(stub, id);

    if (action == NULL)
        return stub_json("{s:s}", "state", "unknown");
    return action->reply == NULL ? stub_json("{s:s}", "state", "running") : kept_reply(action);
}

/* The sandbox of the session "other" is another one. */
static json_t *show_other_locked(const struct stub *stub) REQUIRES(stub -> lock)
{
    return stub_json("{s:s, s:s, s:s, s:s, s:s}", "status", "running", "url", stub->url,
                     "session_api_key", "owners-key", "call_key", "stub-key", "runtime_id",
                     STUB_OTHER_RUNTIME);
}

static json_t *show_locked(const struct stub *stub) REQUIRES(stub -> lock)
{
    char id[17] = "aaaaaaaaaaaaaaaa";

    if (stub->refusal != NULL)
        return stub_json("{s:s, s:s}", "status", "error", "status_detail", stub->refusal);
    id[15] = (char)('a' + stub->generation);
    return stub_json("{s:s, s:s, s:s, s:s, s:s}", "status", "running", "url", stub->url,
                     "session_api_key", "owners-key", "call_key", "stub-key", "runtime_id", id);
}

/* A hung sandbox is started anew: what it was at is found begun, and never ends. */
static void restart_locked(struct stub *stub) REQUIRES(stub -> lock)
{
    for (size_t i = 0; i < stub->n_actions; i++) {
        if (stub->actions[i].reply == NULL)
            stub->actions[i].reply =
                stub_json("{s:s, s:s}", "state", "interrupted", "reason", STUB_RESTARTED_TEXT);
    }
    stub->is_hung = false;
    condition_wake_all(&stub->changed);
}

static json_t *start_locked(struct stub *stub, const json_t *request) REQUIRES(stub -> lock)
{
    stub->n_starts++;
    condition_wake_all(&stub->changed);
    if (json_is_true(json_object_get(request, "is_doubted"))) {
        stub->n_doubts++;
        if (stub->is_hung)
            restart_locked(stub);
    }
    return show_locked(stub);
}

void stub_forget_locked(struct stub *stub)
{
    for (size_t i = 0; i < stub->n_actions; i++) {
        json_decref(stub->actions[i].reply);
        stub->actions[i] = (struct stub_action){.reply = NULL};
    }
    stub->n_actions = 0;
}

static json_t *run_command_locked(struct stub *stub) REQUIRES(stub -> lock)
{
    const char *text = stub->command_text != NULL ? stub->command_text : "";

    stub->n_commands++;
    return stub_json("{s:i, s:s, s:s}", "exit_code", stub->command_exit_code, "stdout",
                     stub->command_exit_code == 0 ? text : "", "stderr",
                     stub->command_exit_code == 0 ? "" : text);
}

static json_t *read_files_locked(struct stub *stub) REQUIRES(stub -> lock)
{
    stub->n_readings++;
    return stub->files != NULL ? json_incref(stub->files) : json_object();
}

static json_t *progress_reply_locked(struct stub *stub, const char *path) REQUIRES(stub -> lock)
{
    const char *query = strchr(path, '?');

    strbuf_reset(&stub->progress_query);
    strbuf_append(&stub->progress_query, query != NULL ? query + 1 : "");
    return stub->progress != NULL ? json_incref(stub->progress) : json_object();
}

static json_t *answer_locked(struct stub *stub, const struct http *http, const json_t *request)
    REQUIRES(stub -> lock)
{
    if (text_equal(http->path, "/start"))
        return start_locked(stub, request);
    if (text_starts_with(http->path, "/sessions/" STUB_OTHER_SESSION))
        return show_other_locked(stub);
    if (text_starts_with(http->path, "/sessions/") || text_equal(http->path, "/resume"))
        return show_locked(stub);
    if (text_equal(http->path, "/actions/acknowledge")) {
        stub->n_acknowledged += json_array_size(json_object_get(request, "ids"));
        return json_object();
    }
    if (text_starts_with(http->path, "/actions/"))
        return text_equal(http->method, "PUT")
                   ? put_action_locked(stub, http->path + strlen("/actions/"), request)
                   : get_action_locked(stub, http->path + strlen("/actions/"));
    if (text_equal(http->path, "/api/bash/execute_bash_command"))
        return run_command_locked(stub);
    if (text_starts_with(http->path, "/api/file/create_directory")) {
        stub->n_directories++;
        memcpy(stub->directory, http->path, sizeof(stub->directory));
        return json_object();
    }
    if (text_equal(http->path, "/files/collect"))
        return read_files_locked(stub);
    if (text_starts_with(http->path, "/checkpoints/"))
        return checkpoint_reply_locked(stub, http->path + strlen("/checkpoints/"), request);
    if (strstr(http->path, "/progress") != NULL)
        return progress_reply_locked(stub, http->path);
    if (text_ends_with(http->path, "/interrupt")) {
        stub->n_interrupts++;
        condition_wake_all(&stub->changed);
    } else if (text_equal(http->method, "DELETE")) {
        stub->n_forgotten++;
    }
    return json_object();
}

static bool is_of_sandbox(const struct http *http)
{
    return !text_equal(http->path, "/start") && !text_equal(http->path, "/resume") &&
           !text_starts_with(http->path, "/sessions/");
}

static void wait_while_hung_locked(struct stub *stub) REQUIRES(stub -> lock)
{
    while (stub->is_hung && !stub->is_stopping)
        condition_wait(&stub->changed, &stub->lock);
}

static void respond(int fd, const json_t *reply)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    json_append_text(&body, reply);
    strbuf_appendf(&out,
                   "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   (int)json_int_or(reply, "http_status", 200), body.len, body.text);
    (void)!send(fd, out.text, out.len, MSG_NOSIGNAL);
}

/* Reads until the body is whole; false when the client went away. */
static bool read_request(int fd, struct strbuf *in, struct http *http)
{
    char bytes[4096];

    for (;;) {
        const char *end = strstr(in->text, "\r\n\r\n");
        const char *length = strcasestr(in->text, "content-length:");
        size_t body_len = length == NULL ? 0 : strtoul(length + 15, NULL, 10);
        ssize_t n = 0;

        if (end != NULL && in->len >= (size_t)(end + 4 - in->text) + body_len) {
            http->body = end + 4;
            return sscanf(in->text, "%7s %199s", http->method, http->path) == 2;
        }
        n = recv(fd, bytes, sizeof(bytes), 0);
        if (n <= 0 || in->len > REQUEST_MAX_BYTES)
            return false;
        strbuf_append_bytes(in, bytes, (size_t)n);
    }
}

static void *serve_connection(void *argument)
{
    struct connection *connection = argument;
    struct stub *stub = connection->stub;
    CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT;
    struct http http = {.body = ""};
    struct error err = ERROR_INIT;

    if (read_request(connection->fd, &in, &http)) {
        json_auto_t *request = NULL;
        json_auto_t *reply = NULL;

        if (json_parse(http.body, strlen(http.body), &request, &err) < 0)
            request = json_object();
        lock_take(&stub->lock);
        if (is_of_sandbox(&http))
            wait_while_hung_locked(stub);
        reply = answer_locked(stub, &http, request);
        if (is_of_sandbox(&http))
            wait_while_hung_locked(stub);
        lock_release(&stub->lock);
        respond(connection->fd, reply);
    }
    close(connection->fd);
    mem_free(connection);
    lock_take(&stub->lock);
    stub->n_threads--;
    condition_wake_all(&stub->changed);
    lock_release(&stub->lock);
    return NULL;
}

static void *serve(void *argument)
{
    struct stub *stub = argument;

    for (;;) {
        pthread_t thread = 0;
        struct connection *connection = NULL;
        int fd = accept(stub->listen_fd, NULL, NULL);

        if (fd < 0)
            return NULL;
        connection = NEW(struct connection);
        connection->stub = stub;
        connection->fd = fd;
        lock_take(&stub->lock);
        stub->n_threads++;
        lock_release(&stub->lock);
        if (pthread_create(&thread, NULL, serve_connection, connection) != 0)
            abort();
        (void)pthread_detach(thread);
    }
}

struct stub *stub_start(void)
{
    struct stub *stub = NEW(struct stub);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);

    lock_init(&stub->lock);
    condition_init(&stub->changed);
    stub->checkpoints = (struct strbuf)STRBUF_INIT;
    stub->progress_query = (struct strbuf)STRBUF_INIT;
    stub->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (stub->listen_fd < 0 || bind(stub->listen_fd, (struct sockaddr *)&address, len) < 0 ||
        listen(stub->listen_fd, 64) < 0 ||
        getsockname(stub->listen_fd, (struct sockaddr *)&address, &len) < 0)
        abort();
    (void)snprintf(stub->url, sizeof(stub->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
    if (pthread_create(&stub->thread, NULL, serve, stub) != 0)
        abort();
    return stub;
}

void stub_stop(struct stub *stub)
{
    if (stub == NULL)
        return;
    (void)shutdown(stub->listen_fd, SHUT_RDWR);
    (void)pthread_join(stub->thread, NULL);
    lock_take(&stub->lock);
    stub->is_stopping = true;
    condition_wake_all(&stub->changed);
    while (stub->n_threads > 0)
        condition_wait(&stub->changed, &stub->lock);
    stub_forget_locked(stub);
    lock_release(&stub->lock);
    close(stub->listen_fd);
    condition_done(&stub->changed);
    lock_done(&stub->lock);
    mem_free(stub->refusal);
    mem_free(stub->command_text);
    json_decref(stub->files);
    json_decref(stub->program);
    json_decref(stub->program_order);
    json_decref(stub->progress);
    strbuf_done(&stub->progress_query);
    json_decref(stub->hook_answers);
    json_decref(stub->hook_orders);
    json_decref(stub->checkpoint);
    json_decref(stub->restore);
    json_decref(stub->missing);
    strbuf_done(&stub->checkpoints);
    mem_free(stub);
}

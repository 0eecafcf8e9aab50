#include "sandbox/ports/vscode.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/preview.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/child_process.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"
#include "sandbox/ports/ports.h"

enum { START_MS = 60000, LOOK_MS = 20, SAID_MAX_BYTES = 65536 };

#define PORT_TEXT_BYTES 8

/*
 * An editor without a token is reachable only through the preview's origin, by the owner's cookie.
 */
struct web_editor {
    const char *name;
    bool has_token;
};

static const struct web_editor editors[] = {{"openvscode-server", true}, {"code-server", false}};

struct found_editor {
    const struct web_editor *editor; /* NULL: the image has none */
    char *path;
};

static const char *variable(char *const *environment, const char *name)
{
    size_t len = strlen(name);

    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    }
    return "";
}

/* Searches where the image's variable says, then PATH. */
static void find_editor(char *const *environment, struct found_editor *found)
{
    CLEANUP(strbuf_done) struct strbuf places = STRBUF_INIT;
    const char *root = variable(environment, "OPENVSCODE_SERVER_ROOT");

    if (root[0] != '\0')
        strbuf_appendf(&places, "%s/bin:", root);
    strbuf_append(&places, variable(environment, "PATH"));
    for (size_t i = 0; found->path == NULL && i < ARRAY_SIZE(editors); i++) {
        found->editor = &editors[i];
        found->path = child_process_find_program(editors[i].name, places.text);
    }
    if (found->path == NULL)
        found->editor = NULL;
}

/* Returns the last line of output of an editor that ended at once. */
static int say_why(int said_fd, struct error *err)
{
    char text[SAID_MAX_BYTES];
    ssize_t n = pread(said_fd, text, sizeof(text) - 1, 0);
    char *line = text;

    text[n > 0 ? n : 0] = '\0';
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    if (strrchr(text, '\n') != NULL)
        line = strrchr(text, '\n') + 1;
    return error_set(err, ERROR_UNAVAILABLE, "the editor ended: %.200s", line);
}

/* There is no event for another process starting to listen, so this polls the kernel's table. */
static int wait_listening(pid_t pid, int said_fd, struct error *err)
{
    int64_t end_ms = clock_monotonic_ms() + START_MS;

    while (!ports_has_listener(PREVIEW_EDITOR_PORT)) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return say_why(said_fd, err);
        if (clock_monotonic_ms() > end_ms)
            return error_set(err, ERROR_UNAVAILABLE, "the editor is not listening");
        (void)usleep(LOOK_MS * 1000);
    }
    return 0;
}

/* Of the editor's output, without a name: nobody else reads it. Returns -1 with err. */
static int open_log(struct error *err)
{
    char path[] = "/tmp/.deft-editor-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);

    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path);
    (void)unlink(path);
    return fd;
}

static int start_editor(const struct action_config *config, const struct found_editor *found,
                        char *const *environment, struct error *err)
{
    CLEANUP(fd_close) int said_fd = open_log(err);
    CLEANUP(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    char token[PREVIEW_EDITOR_TOKEN_BYTES] = "";
    char port[PORT_TEXT_BYTES] = "";
    const char *const with_token[] = {found->path,          "--host", "0.0.0.0", "--port", port,
                                      "--connection-token", token,    NULL};
    char place[PORT_TEXT_BYTES + 8] = "";
    const char *const without[] = {found->path, "--bind-addr",         place, "--auth",
                                   "none",      "--disable-telemetry", NULL};
    const struct child_process_fd fds[] = {{null_fd, 0}, {said_fd, 1}, {said_fd, 2}};
    struct child_process_spec spec = {.path = found->path,
                                      .envp = environment,
                                      .working_dir = config->workspace,
                                      .fds = fds,
                                      .n_fds = ARRAY_SIZE(fds)};
    pid_t pid = -1;

    if (said_fd < 0)
        return -1;
    if (null_fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "/dev/null: %m");
    preview_editor_token(secret_reveal(&config->api_key), token);
    (void)snprintf(port, sizeof(port), "%d", PREVIEW_EDITOR_PORT);
    (void)snprintf(place, sizeof(place), "0.0.0.0:%d", PREVIEW_EDITOR_PORT);
    /* exec does not modify them. */
    spec.argv = (char *const *)(uintptr_t)(found->editor->has_token ? with_token : without);
    if (child_process_start(&spec, &pid, err) < 0)
        return -1;
    return wait_listening(pid, said_fd, err);
}

static json_t *describe(const struct found_editor *found)
{
    json_t *body = json_object();

    json_put_text(body, "program", found->editor != NULL ? found->editor->name : NULL);
    return body;
}

static void work_start(const struct server_request *request, struct fork_reply *answer)
{
    const struct action_config *config = request->server->config;
    char **environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, config->workspace);
    struct found_editor found = {.path = NULL};
    struct error err = ERROR_INIT;
    char token[PREVIEW_EDITOR_TOKEN_BYTES] = "";

    find_editor(environment, &found);
    if (found.editor != NULL && !ports_has_listener(PREVIEW_EDITOR_PORT) &&
        start_editor(config, &found, environment, &err) < 0) {
        fork_reply_error(answer, &err);
    } else {
        answer->body = describe(&found);
        preview_editor_token(secret_reveal(&config->api_key), token);
        json_put_text(answer->body, "token",
                      found.editor != NULL && found.editor->has_token ? token : NULL);
    }
    mem_free(found.path);
    child_process_environment_free(environment);
}

void vscode_handle_start(struct server_request *request)
{
    fork_request_start(request, &(struct fork_request_spec){.work = work_start, .result = -1});
}

void vscode_handle_status(struct server_request *request)
{
    char **environment =
        child_process_environment_new(CHILD_PROCESS_TERMINAL, request->server->config->workspace);
    struct found_editor found = {.path = NULL};
    json_auto_t *body = NULL;

    find_editor(environment, &found);
    body = describe(&found);
    json_put(body, "running",
             json_boolean(found.editor != NULL && ports_has_listener(PREVIEW_EDITOR_PORT)));
    server_request_answer_json(request, 200, body);
    mem_free(found.path);
    child_process_environment_free(environment);
}

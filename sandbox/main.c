/*
 * deft-action: the server inside a sandbox. One thread, one process; shells and commands are its
 * children.
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/identity.h"
#include "sandbox/core/textfile.h"
#include "sandbox/git/credential_helper.h"
#include "sandbox/http/http_server.h"
#include "sandbox/server_lifecycle.h"

enum { SPARE_OOM_SCORE = 500 };

static const char help[] =
    "Usage: deft-action [--help | --help-config | --version]\n"
    "       deft-action git-credential get   (git's credential helper)\n"
    "Runs shell commands and edits files for the conversations of one sandbox, over HTTP. It is\n"
    "configured by environment variables: see --help-config. Set SESSION_API_KEY, or\n"
    "DEFT_ACTION_INIT_KEY: POST /api/init then supplies the key. Once it listens it prints one\n"
    "line of JSON, {\"event\":\"ready\",...}.\n";

static void print(const struct strbuf *text)
{
    struct error ignored = ERROR_INIT;

    error_ignore(fd_write_all(STDOUT_FILENO, text->text, text->len, &ignored),
                 "standard output may be closed");
}

static void say_ready(const struct http_server *http, int64_t started_us)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    json_auto_t *ready = json_object();

    json_put_text(ready, "event", "ready");
    json_put(ready, "port", json_integer(http_server_port(http)));
    json_put(ready, "pid", json_integer(getpid()));
    json_put(ready, "start_us", json_integer(clock_monotonic_us() - started_us));
    json_put_text(ready, "version", PACKAGE_VERSION);
    json_append_text(&line, ready);
    strbuf_append_char(&line, '\n');
    print(&line);
}

static void hide_variable(const char *name)
{
    size_t len = strlen(name);

    for (char **entry = environ; *entry != NULL; entry++) {
        if (text_starts_with(*entry, name) && (*entry)[len] == '=')
            explicit_bzero(*entry + len + 1, strlen(*entry + len + 1));
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)unsetenv(name);
}

/*
 * Programs in the sandbox, which may have our uid, must not get the keys from /proc/PID/environ, by
 * ptrace or by inheritance.
 */
static void hide_keys(const struct action_config *config)
{
    hide_variable("SESSION_API_KEY");
    hide_variable("DEFT_ACTION_INIT_KEY");
    hide_variable("DEFT_ACTION_SOCKET");
    hide_variable("DEFT_ACTION_PREVIEW_SOCKET");
    /* Scripts expect a key; the terminal does not get it. */
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    (void)setenv("OH_SESSION_API_KEYS_0", config->command_key, 0);
    (void)prctl(PR_SET_DUMPABLE, 0);
}

/* Memory-hungry programs are killed first; without privilege the score can only be raised. */
static void keep_from_oom(void)
{
    CLEANUP(strbuf_done) struct strbuf score = STRBUF_INIT;
    CLEANUP(fd_close) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    strbuf_appendf(&score, "-%d", SPARE_OOM_SCORE);
    if (fd >= 0)
        (void)!write(fd, score.text, score.len);
}

static void make_workspace(const char *path)
{
    struct error err = ERROR_INIT;
    CLEANUP(strbuf_done) struct strbuf inside = STRBUF_INIT;

    strbuf_appendf(&inside, "%s/", path);
    if (textfile_make_parents(inside.text, &err) < 0)
        log_warning("workspace.create_failed", LOG_ERROR(&err));
}

static int serve_until_stopped(struct action_server *server, int64_t started_us, struct error *err)
{
    struct http_server *http = NULL;

    if (server_lifecycle_begin(server, &http, err) < 0)
        return -1;
    say_ready(http, started_us);
    http_server_run(http);
    server_lifecycle_end(server, http);
    return 0;
}

static int run_server(const struct process *process, struct error *err)
{
    CLEANUP(action_config_done) struct action_config config = {0};
    struct action_server server = {.config = &config, .started_ms = clock_monotonic_ms()};
    int64_t started_us = clock_monotonic_us();

    server.last_action_ms = server.started_ms;
    if (process_configure(process, &config, &config.log_level, err) < 0 ||
        action_config_check(&config, err) < 0 || identity_take(&config, err) < 0)
        return -1;
    hide_keys(&config);
    keep_from_oom();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)signal(SIGPIPE, SIG_IGN);
    /* Exceeding the sandbox's file size limit must be an error, not a fatal signal. */
    (void)signal(SIGXFSZ, SIG_IGN);
    make_workspace(config.workspace);
    return serve_until_stopped(&server, started_us, err);
}

int main(int argc, char **argv)
{
    const struct process process = {.name = "deft-action",
                                    .help = help,
                                    .settings = action_settings,
                                    .n_settings = action_settings_n};
    struct error err = ERROR_INIT;
    int status = EXIT_SUCCESS;

    if (argc == 3 && text_equal(argv[1], CREDENTIAL_HELPER_WORD))
        return credential_helper_run(argv[2]);
    if (argc > 1)
        return process_answer(&process, argv[1], &status) ? status
                                                          : process_refuse(&process, argv[1]);
    json_setup();
    if (run_server(&process, &err) < 0)
        return process_complain(&process, &err);
    return EXIT_SUCCESS;
}

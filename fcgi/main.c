/*
 * deft-fcgi: the REST API of deft, behind nginx. The main thread sends hints and waits for
 * shutdown; accept threads serve the requests.
 */
#include "base/text_folder.h"
#include "config.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/wrong_keys.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/crash.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/text.h"
#include "client/http.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/router.h"
#include "fcgi/key_command.h"
#include "fcgi/listeners.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "store/db/db.h"
#include "store/db/hints.h"

/* A page of conversations needs less than LARGE_ALLOCATION_BYTES. */
enum { SHUTDOWN_MS = 8000, THREADS_MAX = 512, LARGE_ALLOCATION_BYTES = 512 * 1024 };

#define FIELD(member) offsetof(struct fcgi_settings, member)

/* clang-format off */
static const struct setting settings_table[] = {
    {"DEFT_FCGI_SOCKET", SETTING_TEXT, NULL, FIELD(socket_path),
     "path of the FastCGI socket that nginx connects to"},
    {"DEFT_FCGI_THREADS", SETTING_COUNT, "32", FIELD(n_threads),
     "concurrent requests; at most half of them wait for sandboxes, models and workers"},
    {"DEFT_FCGI_SANDBOX_SOCKET", SETTING_TEXT, "", FIELD(sandbox_socket_path),
     "path of the FastCGI socket for calls that are proxied to a sandbox; empty: none"},
    {"DEFT_FCGI_SANDBOX_THREADS", SETTING_COUNT, "64", FIELD(n_sandbox_threads),
     "concurrent proxied calls; one user gets at most three quarters of them"},
    {"DEFT_FCGI_STREAM_SOCKET", SETTING_TEXT, "", FIELD(stream_socket_path),
     "path of the FastCGI socket for file uploads and downloads; empty: none"},
    {"DEFT_FCGI_STREAM_THREADS", SETTING_COUNT, "64", FIELD(n_stream_threads),
     "concurrent file transfers; one user gets at most three quarters of them"},
    {"DEFT_FCGI_PROBE_SOCKET", SETTING_TEXT, "", FIELD(probe_socket_path),
     "path of the FastCGI socket for health checks; empty: none"},
    {"DEFT_DATABASE_URL", SETTING_SECRET, NULL, FIELD(database_url),
     "libpq connection string or URI of PostgreSQL"},
    {"DEFT_SECRET_KEY", SETTING_SECRET, NULL, FIELD(secret_key),
     "root key for sealed values and key hashes, 64 hex digits"},
    {"DEFT_RUNTIME_URL", SETTING_TEXT, "http://localhost", FIELD(runtime_url),
     "the Runtime API"},
    {"DEFT_RUNTIME_SOCKET", SETTING_TEXT, "", FIELD(runtime_socket),
     "Unix socket of the Runtime API; empty: over TCP"},
    {"DEFT_RUNTIME_API_KEY", SETTING_SECRET, "", FIELD(runtime_key),
     "key of the Runtime API"},
    {"DEFT_SANDBOX_IMAGE", SETTING_TEXT, "deft-sandbox:1", FIELD(sandbox_image),
     "image of new sandboxes"},
    {"DEFT_SANDBOX_BROWSER", SETTING_BOOL, "0", FIELD(sandbox_browser),
     "1: that image has Chromium; agents get the browser tools"},
    {"DEFT_SANDBOX_MAX_MEMORY_BYTES", SETTING_BYTES, "68719476736", FIELD(sandbox_max_memory_bytes),
     "maximum memory that a conversation may request"},
    {"DEFT_SANDBOX_MAX_NANO_CPUS", SETTING_COUNT, "64000000000", FIELD(sandbox_max_nano_cpus),
     "maximum processors that a conversation may request, in billionths"},
    {"OH_SANDBOX_MAX_NUM_SANDBOXES", SETTING_COUNT, "5", FIELD(sandbox_most),
     "running sandboxes of one user from /api/v1/sandboxes; above that the oldest is paused"},
    {"OH_SANDBOX_STARTUP_GRACE_SECONDS", SETTING_COUNT, "15", FIELD(sandbox_grace_s),
     "time after which a running sandbox that does not respond is reported as failed, no longer "
     "as starting"},
    {"DEFT_CONVERSATION_RUNTIME", SETTING_TEXT, "local", FIELD(default_runtime),
     "default runtime of conversations: local or docker"},
    {"DEFT_RUN_SLOTS", SETTING_COUNT, "10", FIELD(run_limits.n_slots),
     "concurrent runs of one user; further runs are queued"},
    {"DEFT_RUN_QUEUE", SETTING_COUNT, "100", FIELD(run_limits.n_queued),
     "queued runs of one user; further requests are refused with 429"},
    {"DEFT_BUDGET_PER_USER_CENTS", SETTING_COUNT, "0", FIELD(budget_per_user_cents),
     "what all model calls of a user may cost, in US cents; 0: no limit"},
    {"DEFT_BUDGET_PER_DAY_CENTS", SETTING_COUNT, "0", FIELD(budget_per_day_cents),
     "what a user's model calls of one day (UTC) may cost, in US cents; 0: no limit"},
    {"DEFT_ANSWER_WAIT_MS", SETTING_MS, "1800000", FIELD(answer_wait_ms),
     "time a call of /v1 waits for its conversation's answer"},
    {"LLM_MODEL", SETTING_TEXT, "", FIELD(model),
     "default model of conversations; empty: a scripted one"},
    {"LLM_BASE_URL", SETTING_TEXT, "", FIELD(model_base_url),
     "base URL of the default model; empty: its provider's"},
    {"LLM_API_KEY", SETTING_SECRET, "", FIELD(model_key),
     "API key of the default model"},
    {"DEFT_SCRIPTED_DIR", SETTING_TEXT, "", FIELD(scripted_dir),
     "directory of scripted models"},
    {"DEFT_CATALOGUE_DIR", SETTING_TEXT, DEFT_DATA_DIR "/catalogue", FIELD(catalogue_dir),
     "folder of prompts, descriptions of tools and models"},
    {"DEFT_CATALOGUE_OVERRIDES", SETTING_TEXT, "", FIELD(catalogue_overrides),
     "folder whose files replace those of the same name there; empty: none"},
    {"DEFT_MODELS_FILE", SETTING_TEXT, DEFT_DATA_DIR "/models.json", FIELD(models_file),
     "file with the model names that the page offers"},
    {"DEFT_CA_FILE", SETTING_TEXT, "", FIELD(ca_file),
     "PEM file of the certificate authorities for model calls; empty: the system's"},
    {"DEFT_MODE", SETTING_TEXT, "", FIELD(mode),
     "local: only the host's administrator can reach this instance, so user-supplied addresses "
     "may be private"},
    {"DEFT_LLM_ALLOW_PRIVATE", SETTING_BOOL, "0", FIELD(llm_allow_private),
     "1: user-supplied model addresses may be loopback or private"},
    {"DEFT_APP_URL", SETTING_TEXT, "http://localhost:3000", FIELD(app_url),
     "URL of the web page, for sign-in links"},
    {"DEFT_AGENT_URL", SETTING_TEXT, "http://localhost:8000", FIELD(agent_url),
     "URL of the agent API, for the addresses of a sandbox's ports"},
    {"DEFT_SESSION_COOKIE", SETTING_TEXT, "deft_session", FIELD(session_cookie),
     "name of the session cookie; instances on one host need different names, as cookies ignore "
     "ports"},
    {"DEFT_CORS_ORIGINS", SETTING_TEXT, "", FIELD(cors_origins),
     "web origins, in addition to localhost, that may send CORS requests with a key; separated by "
     "spaces"},
    {"OH_DEFERRED_INIT", SETTING_BOOL, "0", FIELD(deferred_init),
     "1: deferred start: refuse requests until POST /api/init; also set it for the gateway and "
     "workers"},
    {"OH_SECRET_KEY", SETTING_SECRET, "", FIELD(init_key),
     "X-Init-API-Key of POST /api/init; required with OH_DEFERRED_INIT"},
    {"LOG_LEVEL", SETTING_TEXT, "info", FIELD(log_level),
     "debug, info, warning or error"},
    {"DEFT_CRASH_AT", SETTING_TEXT, "", FIELD(crash_at),
     "for tests: name:n, the crash point where the process ends"},
};
/* clang-format on */

static const struct process process = {
    .name = "deft-fcgi",
    .help = "Usage: deft-fcgi [--new-key NAME | --new-runtime-key NAME | --list-keys |\n"
            "                  --revoke-key ID | --new-link | --hash-key |\n"
            "                  --help | --help-config | --version]\n"
            "Serves the REST APIs over FastCGI. It is configured by environment variables: see\n"
            "--help-config.\n"
            "\n"
            "  --new-key NAME     create an API key of the owner, print it and exit\n"
            "  --new-runtime-key NAME\n"
            "                     create a key of the Runtime API, print it and exit\n"
            "  --list-keys        print the owner's keys (id, creation time, state, kind,\n"
            "                     name) and exit\n"
            "  --revoke-key ID    revoke that key and exit; a name is accepted if exactly\n"
            "                     one valid key has it\n"
            "  --new-link         create a one-time sign-in link, print it and exit\n"
            "  --hash-key         print the gateway's DEFT_HASH_KEY, which is derived from\n"
            "                     DEFT_SECRET_KEY, and exit\n",
    .settings = settings_table,
    .n_settings = ARRAY_SIZE(settings_table),
};

static int check_threads(const char *name, int64_t n, struct error *err)
{
    if (n < 1 || n > THREADS_MAX)
        return error_set(err, ERROR_INVALID, "%s must be from 1 to %d", name, THREADS_MAX);
    return 0;
}

static int check_settings(const struct fcgi_settings *settings, struct fcgi_context *context,
                          struct error *err)
{
    if (check_threads("DEFT_FCGI_THREADS", settings->n_threads, err) < 0 ||
        check_threads("DEFT_FCGI_SANDBOX_THREADS", settings->n_sandbox_threads, err) < 0 ||
        check_threads("DEFT_FCGI_STREAM_THREADS", settings->n_stream_threads, err) < 0)
        return -1;
    if (settings->sandbox_most < 1)
        return error_set(err, ERROR_INVALID, "OH_SANDBOX_MAX_NUM_SANDBOXES must be at least 1");
    if (text_equal(settings->default_runtime, "docker"))
        context->default_runtime = RUNTIME_DOCKER;
    else if (!text_equal(settings->default_runtime, "local"))
        return error_set(err, ERROR_INVALID, "DEFT_CONVERSATION_RUNTIME must be local or docker");
    if (settings->deferred_init != 0 && !secret_is_set(&settings->init_key))
        return error_set(err, ERROR_INVALID, "OH_DEFERRED_INIT needs OH_SECRET_KEY");
    if (keyring_init(&context->keyring, &settings->secret_key, err) < 0)
        return error_wrap(err, "DEFT_SECRET_KEY");
    return crash_points_init(context->crash, settings->crash_at, err);
}

static int load_settings(struct fcgi_settings *settings, struct fcgi_context *context,
                         struct error *err)
{
    if (process_configure(&process, settings, &settings->log_level, err) < 0)
        return -1;
    context->settings = settings;
    return check_settings(settings, context, err);
}

static int open_database(struct fcgi_context *context, struct error *err)
{
    struct db_options options = {.url = secret_reveal(&context->settings->database_url),
                                 .application = "deft-fcgi",
                                 .n_connections = (size_t)context->settings->n_threads + 1};

    if (hints_open(options.url, options.application, 0, &context->hints, err) < 0)
        return -1;
    options.hints = context->hints;
    return db_open(&options, &context->db, err);
}

static int open_http(struct fcgi_context *context, struct error *err)
{
    const char *ca_file = context->settings->ca_file;

    if (http_open_trusting(ca_file[0] != '\0' ? ca_file : NULL, &context->http, err) < 0)
        return -1;
    if (text_equal(context->settings->mode, "local"))
        http_trust_users(context->http);
    return 0;
}

static int open_catalogue(struct fcgi_context *context, struct error *err)
{
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
    const struct fcgi_settings *settings = context->settings;

    if (text_folder_read(settings->catalogue_dir, settings->catalogue_overrides, &folder, err) < 0)
        return -1;
    return catalogue_new(&folder, &context->catalogue, err);
}

static void open_llm(struct fcgi_context *context)
{
    const struct fcgi_settings *settings = context->settings;
    const struct llm_options options = {
        .catalogue = context->catalogue,
        .http = context->http,
        .scripted_dir = settings->scripted_dir[0] != '\0' ? settings->scripted_dir : NULL,
    };

    context->llm = llm_new(&options);
}

static int serve_until_stopped(struct fcgi_context *context, struct error *err)
{
    CLEANUP(fd_close) int stop_fd = -1;
    struct listeners *listeners = NULL;

    if (process_open_stop(&stop_fd, err) < 0 || open_catalogue(context, err) < 0 ||
        open_http(context, err) < 0)
        return -1;
    open_llm(context);
    context->wrong_keys = wrong_keys_new();
    if (listeners_start(context, &listeners, err) < 0)
        return -1;
    log_info("process.started", LOG_STR("version", PACKAGE_VERSION),
             LOG_STR("socket", context->settings->socket_path),
             LOG_INT("threads", context->settings->n_threads));
    if (hints_run(context->hints, stop_fd, err) < 0)
        return -1;
    if (listeners_stop(listeners, clock_monotonic_ms() + SHUTDOWN_MS, err) < 0)
        return -1;
    llm_free(context->llm);
    http_free(context->http);
    catalogue_free(context->catalogue);
    wrong_keys_free(context->wrong_keys);
    log_info("process.ended");
    return 0;
}

enum command {
    COMMAND_SERVE,
    COMMAND_KEY,
    COMMAND_RUNTIME_KEY,
    COMMAND_LIST_KEYS,
    COMMAND_REVOKE_KEY,
    COMMAND_LINK,
    COMMAND_HASH_KEY,
};

static const struct option {
    const char *text;
    enum command command;
    int n_arguments;
} options[] = {
    {"--new-key", COMMAND_KEY, 1},         {"--new-runtime-key", COMMAND_RUNTIME_KEY, 1},
    {"--list-keys", COMMAND_LIST_KEYS, 0}, {"--revoke-key", COMMAND_REVOKE_KEY, 1},
    {"--new-link", COMMAND_LINK, 0},       {"--hash-key", COMMAND_HASH_KEY, 0},
};

/* The command line's only option, or NULL. */
static const struct option *find_option(int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (argc == 2 + options[i].n_arguments && text_equal(argv[1], options[i].text))
            return &options[i];
    }
    return NULL;
}

/* A one-shot command may not listen on any socket. */
static int confine_to_sockets(const struct fcgi_settings *settings, bool is_serving,
                              struct error *err)
{
    const char *const sockets[] = {settings->socket_path, settings->sandbox_socket_path,
                                   settings->stream_socket_path, settings->probe_socket_path, NULL};

    return confine(CONFINE_DAEMON, is_serving ? sockets : sockets + ARRAY_SIZE(sockets) - 1, err);
}

static int run_command(enum command command, const char *argument, struct error *err)
{
    struct fcgi_settings settings = {0};
    _Atomic(int64_t) last_active_ms = clock_monotonic_ms();
    _Atomic(bool) has_begun = false;
    struct crash_points crash;
    struct fcgi_context context = {.routes = route_tables,
                                   .started_ms = clock_monotonic_ms(),
                                   .started_at_us = clock_utc_us(),
                                   .last_active_ms = &last_active_ms,
                                   .has_begun = &has_begun,
                                   .crash = &crash};
    int rc = -1;

    if (load_settings(&settings, &context, err) < 0 ||
        confine_to_sockets(&settings, command == COMMAND_SERVE, err) < 0 ||
        open_database(&context, err) < 0)
        return -1;
    switch (command) {
    case COMMAND_SERVE:
        rc = serve_until_stopped(&context, err);
        break;
    case COMMAND_KEY:
        rc = key_command_new(&context, argument, err);
        break;
    case COMMAND_RUNTIME_KEY:
        rc = key_command_new_runtime(&context, argument, err);
        break;
    case COMMAND_LIST_KEYS:
        rc = key_command_list(&context, err);
        break;
    case COMMAND_REVOKE_KEY:
        rc = key_command_revoke(&context, argument, err);
        break;
    case COMMAND_LINK:
        rc = key_command_link(&context, err);
        break;
    case COMMAND_HASH_KEY:
        rc = key_command_hash_key(&context, err);
        break;
    }
    /* After a failure threads may still be running: the process exit frees everything. */
    if (rc < 0)
        return -1;
    db_free(context.db);
    hints_free(context.hints);
    settings_done(settings_table, ARRAY_SIZE(settings_table), &settings);
    return 0;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    const struct option *option = find_option(argc, argv);
    int status = EXIT_SUCCESS;

    if (argc > 1 && process_answer(&process, argv[1], &status))
        return status;
    if (argc != 1 && option == NULL)
        return process_refuse(&process, argv[1]);
    process_bound_heaps(LARGE_ALLOCATION_BYTES);
    json_setup();
    if (run_command(option != NULL ? option->command : COMMAND_SERVE, argc == 3 ? argv[2] : "",
                    &err) < 0)
        return process_complain(&process, &err);
    return EXIT_SUCCESS;
}

/*
 * deft-gateway: live events of conversations over WebSocket, for any number of clients.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "auth/wrong_keys.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/secret.h"
#include "base/settings.h"
#include "gateway/bash_feed.h"
#include "gateway/errand.h"
#include "gateway/gateway.h"
#include "gateway/masked_input.h"
#include "gateway/model_waits.h"
#include "gateway/server.h"
#include "gateway/stream.h"
#include "gateway/streams.h"
#include "store/db/db.h"
#include "store/db/db_pipe.h"
#include "store/db/live_listen.h"

enum { DB_TIMEOUT_MS = 5000, LARGE_ALLOCATION_BYTES = 64 * 1024 };

struct gateway_settings {
    const char *app_url;
    struct secret database_url;
    const char *socket_path;
    const char *preview_socket_path;
    struct secret secret_key;
    struct secret hash_key;
    int64_t max_subscribers;
    int64_t auth_timeout_ms;
    int64_t slow_ms;
    struct run_limits run_limits;
    const char *runtime_url;
    const char *runtime_socket;
    struct secret runtime_key;
    const char *sandbox_image;
    int64_t deferred_init;
    const char *log_level;
};

static const struct setting settings_table[] = {
    {"DEFT_APP_URL", SETTING_TEXT, "http://localhost:3000",
     offsetof(struct gateway_settings, app_url), "address of the web page"},
    {"DEFT_DATABASE_URL", SETTING_SECRET, NULL, offsetof(struct gateway_settings, database_url),
     "PostgreSQL: conninfo or URI"},
    {"DEFT_GATEWAY_SOCKET", SETTING_TEXT, NULL, offsetof(struct gateway_settings, socket_path),
     "Unix socket to listen on; nginx connects to it"},
    {"DEFT_GATEWAY_PREVIEW_SOCKET", SETTING_TEXT, "",
     offsetof(struct gateway_settings, preview_socket_path),
     "Unix socket for requests of previews; empty: none"},
    {"DEFT_HASH_KEY", SETTING_SECRET, "", offsetof(struct gateway_settings, hash_key),
     "key of the hashes of tokens, 64 hex digits, as deft-fcgi --hash-key prints it"},
    {"DEFT_SECRET_KEY", SETTING_SECRET, "", offsetof(struct gateway_settings, secret_key),
     "where there is no DEFT_HASH_KEY: root key of the instance, 64 hex digits"},
    {"DEFT_GATEWAY_SUBSCRIBERS", SETTING_COUNT, "48",
     offsetof(struct gateway_settings, max_subscribers), "most sockets of one conversation"},
    {"DEFT_GATEWAY_AUTH_MS", SETTING_MS, "10000",
     offsetof(struct gateway_settings, auth_timeout_ms),
     "how long a socket may take to send its key"},
    {"DEFT_GATEWAY_SLOW_MS", SETTING_MS, "20000", offsetof(struct gateway_settings, slow_ms),
     "how long a socket may take nothing while something is due"},
    {"DEFT_RUN_SLOTS", SETTING_COUNT, "10", offsetof(struct gateway_settings, run_limits.n_slots),
     "conversations of one user that run at a time; more wait"},
    {"DEFT_RUN_QUEUE", SETTING_COUNT, "100", offsetof(struct gateway_settings, run_limits.n_queued),
     "runs of one user that may wait; a message beyond that is stored alone"},
    {"DEFT_RUNTIME_URL", SETTING_TEXT, "http://localhost",
     offsetof(struct gateway_settings, runtime_url), "the Runtime API"},
    {"DEFT_RUNTIME_SOCKET", SETTING_TEXT, "", offsetof(struct gateway_settings, runtime_socket),
     "Unix socket of the Runtime API; empty: over TCP"},
    {"DEFT_RUNTIME_API_KEY", SETTING_SECRET, "", offsetof(struct gateway_settings, runtime_key),
     "key of the Runtime API"},
    {"DEFT_SANDBOX_IMAGE", SETTING_TEXT, "deft-sandbox:1",
     offsetof(struct gateway_settings, sandbox_image), "image of new sandboxes"},
    {"OH_DEFERRED_INIT", SETTING_BOOL, "0", offsetof(struct gateway_settings, deferred_init),
     "1: no sockets until POST /api/init"},
    {"LOG_LEVEL", SETTING_TEXT, "info", offsetof(struct gateway_settings, log_level),
     "debug, info, warning or error"},
};

static const struct process process = {
    .name = "deft-gateway",
    .help = "Usage: deft-gateway [--help | --help-config | --version]\n"
            "Sends live events of conversations over WebSocket. It is set up by environment\n"
            "variables: see --help-config.\n",
    .settings = settings_table,
    .n_settings = ARRAY_SIZE(settings_table),
};

static void on_changed(void *owner, const char *conversation_id)
{
    struct gateway *gateway = owner;
    struct stream *stream = streams_find(&gateway->streams, conversation_id);

    if (stream != NULL)
        news_want(&gateway->news, stream);
}

static void on_ended(void *owner, const char *key_id)
{
    struct gateway *gateway = owner;

    callers_doubt(&gateway->callers, key_id);
}

/* Each line begins with the conversation's id. */
static void on_progressed(void *owner, const char *lines)
{
    struct gateway *gateway = owner;

    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        CLEANUP(mem_freep) char *line = mem_dup_bytes(lines, len);
        char *json = strchr(line, ' ');
        struct stream *stream = NULL;

        lines += len + (lines[len] == '\n' ? 1 : 0);
        if (json == NULL)
            continue;
        *json++ = '\0';
        model_waits_hear(gateway->model_waits, line, json, clock_monotonic_ms());
        stream = streams_find(&gateway->streams, line);
        if (stream != NULL)
            stream_take_progress(stream, json);
    }
}

static void on_reset(void *owner)
{
    struct gateway *gateway = owner;

    news_want_all(&gateway->news);
    callers_doubt_all(&gateway->callers);
}

static int open_pipes(struct gateway *gateway, const struct gateway_settings *settings,
                      struct error *err)
{
    struct db_options options = {.url = secret_reveal(&settings->database_url),
                                 .application = "deft-gateway",
                                 .statement_timeout_ms = DB_TIMEOUT_MS};

    if (db_pipe_open(&options, &gateway->live, err) < 0 ||
        db_pipe_open(&options, &gateway->back, err) < 0 ||
        db_pipe_open(&options, &gateway->hints, err) < 0)
        return error_wrap(err, "DEFT_DATABASE_URL");
    gateway->listener = (struct live_listener){.changed = on_changed,
                                               .ended = on_ended,
                                               .progressed = on_progressed,
                                               .reset = on_reset,
                                               .owner = gateway};
    live_listen(gateway->hints, &gateway->listener);
    return 0;
}

/* The gateway only verifies tokens: it gets no key that opens sealed data. */
static int open_keyring(struct gateway *gateway, const struct gateway_settings *settings,
                        struct error *err)
{
    if (!secret_is_set(&settings->hash_key))
        return keyring_init(&gateway->keyring, &settings->secret_key, err) < 0
                   ? error_wrap(err, "neither DEFT_HASH_KEY nor DEFT_SECRET_KEY is right")
                   : 0;
    if (keyring_init_hash(&gateway->keyring, &settings->hash_key, err) < 0)
        return error_wrap(err, "DEFT_HASH_KEY");
    return 0;
}

static int open_parts(struct gateway *gateway, const struct gateway_settings *settings,
                      struct error *err)
{
    if (masked_input_open(err) < 0)
        return -1;
    gateway->app_url = settings->app_url;
    gateway->wrong_keys = wrong_keys_new();
    gateway->is_dormant = settings->deferred_init != 0;
    gateway->max_subscribers = settings->max_subscribers;
    gateway->auth_timeout_ms = settings->auth_timeout_ms;
    gateway->slow_ms = settings->slow_ms;
    gateway->run_limits = settings->run_limits;
    gateway->sandboxes = (struct sandbox_service){
        .url = settings->runtime_url,
        .socket = settings->runtime_socket[0] != '\0' ? settings->runtime_socket : NULL,
        .key = &settings->runtime_key,
        .image = settings->sandbox_image};
    gateway->model_waits = model_waits_new();
    news_init(&gateway->news, gateway);
    callers_init(&gateway->callers, gateway);
    if (open_keyring(gateway, settings, err) < 0)
        return -1;
    if (open_pipes(gateway, settings, err) < 0 || errands_open(&gateway->errands, err) < 0 ||
        server_open(gateway, err) < 0)
        return -1;
    if (preview_relay_open(&gateway->previews, settings->preview_socket_path, err) < 0)
        return -1;
    return door_open(&gateway->door, settings->socket_path, err);
}

static void close_parts(struct gateway *gateway)
{
    door_close(&gateway->door);
    preview_relay_close(&gateway->previews);
    server_close(gateway);
    bash_feeds_done(gateway);
    errands_close(&gateway->errands);
    news_done(&gateway->news);
    callers_done(&gateway->callers);
    streams_done(&gateway->streams);
    db_pipe_free(gateway->live);
    db_pipe_free(gateway->back);
    db_pipe_free(gateway->hints);
    model_waits_free(gateway->model_waits);
    wrong_keys_free(gateway->wrong_keys);
    masked_input_close();
}

static int serve(const struct gateway_settings *settings, struct error *err)
{
    CLEANUP(fd_close) int stop_fd = -1;
    struct gateway gateway = {.door = {.listen_fd = -1, .epoll_fd = -1},
                              .previews = PREVIEW_RELAY_INIT,
                              .errands = {.done_fd = -1}};
    const char *const sockets[] = {settings->socket_path, settings->preview_socket_path, NULL};
    int rc = 0;

    if (confine(CONFINE_DAEMON, sockets, err) < 0 || process_open_stop(&stop_fd, err) < 0)
        return -1;
    rc = open_parts(&gateway, settings, err);
    if (rc == 0) {
        log_info("gateway.started", LOG_STR("socket", settings->socket_path));
        rc = server_run(&gateway, stop_fd, err);
    }
    close_parts(&gateway);
    return rc;
}

int main(int argc, char **argv)
{
    struct gateway_settings settings = {0};
    struct error err = ERROR_INIT;
    int rc = 0;

    if (argc > 1)
        return process_answer(&process, argv[1], &rc) ? rc : process_refuse(&process, argv[1]);
    process_bound_heaps(LARGE_ALLOCATION_BYTES);
    json_setup();
    if (process_configure(&process, &settings, &settings.log_level, &err) < 0)
        return process_complain(&process, &err);
    rc = serve(&settings, &err);
    if (rc < 0)
        log_error("gateway.failed", LOG_ERROR(&err));
    else
        log_info("gateway.stopped");
    settings_done(settings_table, ARRAY_SIZE(settings_table), &settings);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

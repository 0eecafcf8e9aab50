/*
 * deft-gateway: live events of conversations over WebSocket, for any number of clients.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "auth/wrong_keys.h"
#include "base/confine.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/process.h"
#include "base/secret.h"
#include "base/settings.h"
#include "base/text_folder.h"
#include "gateway/bash/bash_feed.h"
#include "gateway/core/async_http.h"
#include "gateway/core/ticker.h"
#include "gateway/feed/feed.h"
#include "gateway/preview/relay.h"
#include "gateway/ws/acceptor.h"
#include "gateway/ws/masked_input.h"
#include "gateway/ws/revocation.h"
#include "gateway/ws/subscriber.h"
#include "gateway/ws/ws_server.h"
#include "gateway/ws/ws_services.h"
#include "model/catalogue/catalogue.h"
#include "store/db/async_listen.h"
#include "store/db/db.h"
#include "store/db/db_async.h"

enum { DB_TIMEOUT_MS = 5000, LARGE_ALLOCATION_BYTES = 64 * 1024 };

struct gateway_settings {
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
    const char *catalogue_dir;
    const char *catalogue_overrides; /* "": none */
    const char *log_level;
};

static const struct setting settings_table[] = {
    {"DEFT_DATABASE_URL", SETTING_SECRET, NULL, offsetof(struct gateway_settings, database_url),
     "libpq connection string or URI of PostgreSQL"},
    {"DEFT_GATEWAY_SOCKET", SETTING_TEXT, NULL, offsetof(struct gateway_settings, socket_path),
     "path of the Unix socket that nginx connects to"},
    {"DEFT_GATEWAY_PREVIEW_SOCKET", SETTING_TEXT, "",
     offsetof(struct gateway_settings, preview_socket_path),
     "path of the Unix socket for preview requests; empty: none"},
    {"DEFT_HASH_KEY", SETTING_SECRET, "", offsetof(struct gateway_settings, hash_key),
     "key for token hashes, 64 hex digits, as printed by deft-fcgi --hash-key"},
    {"DEFT_SECRET_KEY", SETTING_SECRET, "", offsetof(struct gateway_settings, secret_key),
     "root key of the instance, 64 hex digits; used if DEFT_HASH_KEY is not set"},
    {"DEFT_GATEWAY_SUBSCRIBERS", SETTING_COUNT, "48",
     offsetof(struct gateway_settings, max_subscribers),
     "maximum number of WebSockets of one conversation"},
    {"DEFT_GATEWAY_AUTH_MS", SETTING_MS, "10000",
     offsetof(struct gateway_settings, auth_timeout_ms), "time a WebSocket has to authenticate"},
    {"DEFT_GATEWAY_SLOW_MS", SETTING_MS, "20000", offsetof(struct gateway_settings, slow_ms),
     "time after which a WebSocket that does not read its pending data is closed"},
    {"DEFT_RUN_SLOTS", SETTING_COUNT, "10", offsetof(struct gateway_settings, run_limits.n_slots),
     "concurrent runs of one user; further runs are queued"},
    {"DEFT_RUN_QUEUE", SETTING_COUNT, "100", offsetof(struct gateway_settings, run_limits.n_queued),
     "queued runs of one user; above that a message is stored without a run"},
    {"DEFT_RUNTIME_URL", SETTING_TEXT, "http://localhost",
     offsetof(struct gateway_settings, runtime_url), "URL of the Runtime API"},
    {"DEFT_RUNTIME_SOCKET", SETTING_TEXT, "", offsetof(struct gateway_settings, runtime_socket),
     "Unix socket of the Runtime API; empty: connect over TCP"},
    {"DEFT_RUNTIME_API_KEY", SETTING_SECRET, "", offsetof(struct gateway_settings, runtime_key),
     "API key of the Runtime API"},
    {"DEFT_SANDBOX_IMAGE", SETTING_TEXT, "deft-sandbox:1",
     offsetof(struct gateway_settings, sandbox_image), "image of new sandboxes"},
    {"DEFT_CATALOGUE_DIR", SETTING_TEXT, DEFT_DATA_DIR "/catalogue",
     offsetof(struct gateway_settings, catalogue_dir),
     "folder of prompts, descriptions of tools and models"},
    {"DEFT_CATALOGUE_OVERRIDES", SETTING_TEXT, "",
     offsetof(struct gateway_settings, catalogue_overrides),
     "folder whose files replace those of the same name there; empty: none"},
    {"LOG_LEVEL", SETTING_TEXT, "info", offsetof(struct gateway_settings, log_level),
     "debug, info, warning or error"},
};

static const struct process process = {
    .name = "deft-gateway",
    .help = "Usage: deft-gateway [--help | --help-config | --version]\n"
            "Streams events of conversations over WebSocket. It is configured by environment\n"
            "variables: see --help-config.\n",
    .settings = settings_table,
    .n_settings = ARRAY_SIZE(settings_table),
};

/* The context of the process; its members borrow from each other in the order of opening. */
struct gateway {
    struct db_async
        *live; /* for live data; its answers never show an older state than earlier ones */
    struct db_async *back; /* for longer queries */
    struct db_async *hints;
    struct async_listener listener;
    struct catalogue *catalogue;
    struct keyring keyring;
    struct wrong_keys *wrong_keys;
    struct async_http http;
    struct ticker ticker;
    struct feed feed;
    struct bash_feeds bash_feeds;
    struct revocation revocation;
    struct ws_services services;
    struct ws_server server;
    struct acceptor acceptor;
    struct preview_relay previews;
    int64_t slow_ms; /* how long a socket may stay unwritable while data is due */
};

/* --- hints of the database --- */

static void on_changed(void *owner, const char *conversation_id)
{
    struct gateway *gateway = owner;

    feed_take_change(&gateway->feed, conversation_id);
}

static void on_ended(void *owner, const char *credential_id)
{
    struct gateway *gateway = owner;

    revocation_doubt(&gateway->revocation, credential_id);
}

static void on_progressed(void *owner, const char *lines)
{
    struct gateway *gateway = owner;

    feed_take_progress(&gateway->feed, lines);
}

static void on_reset(void *owner)
{
    struct gateway *gateway = owner;

    feed_refresh(&gateway->feed);
    revocation_doubt_all(&gateway->revocation);
}

/* --- the loop --- */

/* An answer or a hint from PostgreSQL or a sandbox, preview traffic, or a new connection. */
static void pump(void *owner)
{
    struct gateway *gateway = owner;

    db_async_pump(gateway->hints);
    db_async_pump(gateway->live);
    db_async_pump(gateway->back);
    async_http_pump(&gateway->http);
    acceptor_pump(&gateway->acceptor);
    preview_relay_pump(&gateway->previews);
}

static int64_t tick(void *owner, int64_t now_ms)
{
    struct gateway *gateway = owner;

    subscribers_close_slow(&gateway->server.waiting, now_ms, gateway->slow_ms);
    bash_feeds_tick(&gateway->bash_feeds);
    return feed_tick(&gateway->feed, now_ms);
}

static int run_loop(struct gateway *gateway, int stop_fd, struct error *err)
{
    const int fds[] = {db_async_fd(gateway->hints), db_async_fd(gateway->live),
                       db_async_fd(gateway->back),  gateway->acceptor.listen_fd,
                       gateway->http.done_fd,       gateway->previews.epoll_fd};
    const struct ws_server_sources sources = {fds, ARRAY_SIZE(fds), pump, gateway};

    db_async_pump(gateway->hints); /* connects, so that it listens before the first subscriber */
    ticker_start(&gateway->ticker);
    return ws_server_run(&gateway->server, &sources, stop_fd, err);
}

/* --- opening and closing --- */

static int open_pipes(struct gateway *gateway, const struct gateway_settings *settings,
                      struct error *err)
{
    struct db_options options = {.url = secret_reveal(&settings->database_url),
                                 .application = "deft-gateway",
                                 .statement_timeout_ms = DB_TIMEOUT_MS};

    if (db_async_open(&options, &gateway->live, err) < 0 ||
        db_async_open(&options, &gateway->back, err) < 0 ||
        db_async_open(&options, &gateway->hints, err) < 0)
        return error_wrap(err, "DEFT_DATABASE_URL");
    gateway->listener = (struct async_listener){.changed = on_changed,
                                                .ended = on_ended,
                                                .progressed = on_progressed,
                                                .reset = on_reset,
                                                .owner = gateway};
    async_listen(gateway->hints, &gateway->listener);
    db_async_set_hints(gateway->back, gateway->hints);
    return 0;
}

/* The gateway only verifies tokens: it gets no key that opens sealed data. */
static int open_keyring(struct gateway *gateway, const struct gateway_settings *settings,
                        struct error *err)
{
    if (!secret_is_set(&settings->hash_key))
        return keyring_init(&gateway->keyring, &settings->secret_key, err) < 0
                   ? error_wrap(err, "neither DEFT_HASH_KEY nor DEFT_SECRET_KEY is valid")
                   : 0;
    if (keyring_init_hash(&gateway->keyring, &settings->hash_key, err) < 0)
        return error_wrap(err, "DEFT_HASH_KEY");
    return 0;
}

static int open_catalogue(struct gateway *gateway, const struct gateway_settings *settings,
                          struct error *err)
{
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;

    if (text_folder_read(settings->catalogue_dir, settings->catalogue_overrides, &folder, err) < 0)
        return -1;
    return catalogue_new(&folder, &gateway->catalogue, err);
}

/* Needs the pipes. */
static void init_rooms(struct gateway *gateway, const struct gateway_settings *settings)
{
    gateway->slow_ms = settings->slow_ms;
    feed_init(&gateway->feed, gateway->live, gateway->back, &gateway->ticker);
    gateway->feed.max_readers = settings->max_subscribers;
    gateway->bash_feeds.http = &gateway->http;
    gateway->bash_feeds.ticker = &gateway->ticker;
    gateway->bash_feeds.max_readers = settings->max_subscribers;
    gateway->bash_feeds.sandboxes = (struct sandbox_service){
        .url = settings->runtime_url,
        .socket = settings->runtime_socket[0] != '\0' ? settings->runtime_socket : NULL,
        .key = &settings->runtime_key,
        .image = settings->sandbox_image};
    revocation_init(&gateway->revocation, gateway->back);
    gateway->services = (struct ws_services){.live = gateway->live,
                                             .back = gateway->back,
                                             .keyring = &gateway->keyring,
                                             .wrong_keys = gateway->wrong_keys,
                                             .revocation = &gateway->revocation,
                                             .feed = &gateway->feed,
                                             .bash_feeds = &gateway->bash_feeds,
                                             .catalogue = gateway->catalogue,
                                             .run_limits = settings->run_limits,
                                             .auth_timeout_ms = settings->auth_timeout_ms};
}

static int open_parts(struct gateway *gateway, const struct gateway_settings *settings,
                      struct error *err)
{
    if (masked_input_open(err) < 0 || open_catalogue(gateway, settings, err) < 0 ||
        open_keyring(gateway, settings, err) < 0 || open_pipes(gateway, settings, err) < 0)
        return -1;
    gateway->wrong_keys = wrong_keys_new();
    init_rooms(gateway, settings);
    if (async_http_open(&gateway->http, err) < 0 ||
        ws_server_open(&gateway->server, &gateway->services, err) < 0)
        return -1;
    gateway->ticker = (struct ticker){.lws = gateway->server.lws, .tick = tick, .owner = gateway};
    if (preview_relay_open(&gateway->previews, settings->preview_socket_path, err) < 0)
        return -1;
    return acceptor_open(&gateway->acceptor, gateway->server.lws, settings->socket_path, err);
}

static void close_parts(struct gateway *gateway)
{
    acceptor_close(&gateway->acceptor);
    preview_relay_close(&gateway->previews);
    ws_server_close(&gateway->server);
    bash_feeds_done(&gateway->bash_feeds);
    async_http_close(&gateway->http);
    feed_done(&gateway->feed);
    revocation_done(&gateway->revocation);
    db_async_free(gateway->live);
    db_async_free(gateway->back);
    db_async_free(gateway->hints);
    wrong_keys_free(gateway->wrong_keys);
    catalogue_free(gateway->catalogue);
    masked_input_close();
}

static int serve_until_stopped(const struct gateway_settings *settings, struct error *err)
{
    CLEANUP(fd_close) int stop_fd = -1;
    struct gateway gateway = {
        .acceptor = {.listen_fd = -1}, .previews = PREVIEW_RELAY_INIT, .http = {.done_fd = -1}};
    const char *const sockets[] = {settings->socket_path, settings->preview_socket_path, NULL};
    int rc = 0;

    if (confine(CONFINE_DAEMON, sockets, err) < 0 || process_open_stop(&stop_fd, err) < 0)
        return -1;
    rc = open_parts(&gateway, settings, err);
    if (rc == 0) {
        log_info("gateway.started", LOG_STR("socket", settings->socket_path));
        rc = run_loop(&gateway, stop_fd, err);
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
    rc = serve_until_stopped(&settings, &err);
    if (rc < 0)
        log_error("gateway.failed", LOG_ERROR(&err));
    else
        log_info("gateway.stopped");
    settings_done(settings_table, ARRAY_SIZE(settings_table), &settings);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

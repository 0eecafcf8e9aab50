/*
 * deft-gateway: live events of conversations over WebSocket, for any number of clients.
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/settings.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "config.h"
#include "gateway/gateway.h"
#include "gateway/server.h"
#include "store/db.h"
#include "store/hints.h"

enum { DB_CONNECTIONS = 2, DB_TIMEOUT_MS = 5000, EXIT_CONFIG = 78 };

struct gateway_settings {
    const char *database_url;
    const char *socket_path;
    struct secret secret_key;
    int64_t max_subscribers;
    int64_t auth_timeout_ms;
    const char *log_level;
};

static const struct setting settings_table[] = {
    {"DEFT_DATABASE_URL", SETTING_TEXT, NULL, offsetof(struct gateway_settings, database_url),
     "PostgreSQL: conninfo or URI"},
    {"DEFT_GATEWAY_SOCKET", SETTING_TEXT, NULL, offsetof(struct gateway_settings, socket_path),
     "Unix socket to listen on; nginx connects to it"},
    {"DEFT_SECRET_KEY", SETTING_SECRET, NULL, offsetof(struct gateway_settings, secret_key),
     "root key of the instance, 64 hex digits"},
    {"DEFT_GATEWAY_SUBSCRIBERS", SETTING_COUNT, "48",
     offsetof(struct gateway_settings, max_subscribers), "most sockets of one conversation"},
    {"DEFT_GATEWAY_AUTH_MS", SETTING_MS, "10000",
     offsetof(struct gateway_settings, auth_timeout_ms),
     "how long a socket may take to send its key"},
    {"LOG_LEVEL", SETTING_TEXT, "info", offsetof(struct gateway_settings, log_level),
     "debug, info, warning or error"},
};

static void print_help(void)
{
    puts("deft-gateway: live events of conversations over WebSocket\n"
         "\n"
         "usage: deft-gateway [--help | --help-config | --version]\n"
         "\n"
         "Settings come from the environment: deft-gateway --help-config lists them.");
}

static void print_settings(void)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    settings_describe(settings_table, ARRAY_SIZE(settings_table), &text);
    (void)fputs(text.text, stdout);
}

static int configure(struct gateway_settings *settings, struct error *err)
{
    enum log_level level = LOG_LEVEL_INFO;

    if (settings_read(settings_table, ARRAY_SIZE(settings_table), settings, err) < 0)
        return -1;
    if (log_level_parse(settings->log_level, &level, err) < 0)
        return error_wrap(err, "LOG_LEVEL");
    log_setup("deft-gateway", level);
    return 0;
}

static int open_parts(struct gateway *gateway, const struct gateway_settings *settings,
                      struct error *err)
{
    struct db_options options = {.url = settings->database_url,
                                 .application = "deft-gateway",
                                 .n_connections = DB_CONNECTIONS,
                                 .statement_timeout_ms = DB_TIMEOUT_MS};

    gateway->max_subscribers = settings->max_subscribers;
    gateway->auth_timeout_s = (settings->auth_timeout_ms + 999) / 1000;
    if (keyring_init(&gateway->keyring, &settings->secret_key, err) < 0)
        return error_wrap(err, "DEFT_SECRET_KEY");
    if (db_open(&options, &gateway->db, err) < 0)
        return error_wrap(err, "DEFT_DATABASE_URL");
    if (hints_open(settings->database_url, "deft-gateway", 1U << HINT_EVENTS, &gateway->hints,
                   err) < 0)
        return -1;
    return server_open(gateway, settings->socket_path, err);
}

static void close_parts(struct gateway *gateway)
{
    server_close(gateway);
    hints_free(gateway->hints);
    db_free(gateway->db);
}

static int block_signals(int *fd_out, struct error *err)
{
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    if (pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0)
        return error_set(err, ERROR_INTERNAL, "pthread_sigmask");
    *fd_out = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (*fd_out < 0)
        return error_set(err, ERROR_INTERNAL, "signalfd: %m");
    return 0;
}

static int serve(const struct gateway_settings *settings, struct error *err)
{
    CLEANUP(fd_close) int stop_fd = -1;
    struct gateway gateway = {0};
    int rc = 0;

    if (block_signals(&stop_fd, err) < 0)
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

    json_setup();
    log_setup("deft-gateway", LOG_LEVEL_INFO);
    if (argc > 1 && text_equal(argv[1], "--help-config"))
        print_settings();
    else if (argc > 1 && text_equal(argv[1], "--version"))
        puts(PACKAGE_STRING);
    else if (argc > 1)
        print_help();
    if (argc > 1)
        return text_starts_with(argv[1], "--") ? EXIT_SUCCESS : EXIT_FAILURE;
    if (configure(&settings, &err) < 0) {
        log_error("gateway.misconfigured", LOG_ERROR(&err));
        return EXIT_CONFIG;
    }
    rc = serve(&settings, &err);
    if (rc < 0)
        log_error("gateway.failed", LOG_ERROR(&err));
    else
        log_info("gateway.stopped");
    secret_done(&settings.secret_key);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

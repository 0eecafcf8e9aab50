/*
 * deft-worker: claims conversations with a requested run, and runs them.
 *
 * The main thread renews leases, receives hints and signals, and starts and joins the threads of
 * worker/pool.c; it never blocks on anything else.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/text.h"
#include "base/text_folder.h"
#include "client/http.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/limits.h"
#include "store/db/db.h"
#include "store/db/hints.h"
#include "worker/context.h"
#include "worker/delta_outbox.h"
#include "worker/pool.h"
#include "worker/webhooks/sender.h"

#define PROCESS_NAME "deft-worker"
#define NS_PER_MS 1000000L
#define LARGE_ALLOCATION_BYTES (64 * 1024)

/* A worker renews a few tokens at once; the wait for another one's renewal. */
enum { GRANT_CONNECTIONS = 4, GRANT_WAIT_MS = 30000 };

#define FIELD(name) offsetof(struct worker_settings, name)

/* clang-format off */
#define RECEIVER(n)                                                                                \
    {"OH_WEBHOOKS_" #n "_BASE_URL", SETTING_TEXT, "", FIELD(receivers[n].base_url),                \
     "base URL of a webhook receiver (POST URL/conversations and URL/events/<id>); empty: none"},  \
    {"OH_WEBHOOKS_" #n "_HEADERS", SETTING_SECRET, "", FIELD(receivers[n].headers),                \
     "headers of its calls, as a JSON object of strings"},                                         \
    {"OH_WEBHOOKS_" #n "_EVENT_BUFFER_SIZE", SETTING_TEXT, "5",                                    \
     FIELD(receivers[n].event_buffer_size), "number of events that are sent at once"},             \
    {"OH_WEBHOOKS_" #n "_FLUSH_DELAY", SETTING_TEXT, "30", FIELD(receivers[n].flush_delay),        \
     "seconds after which fewer events are sent"},                                                 \
    {"OH_WEBHOOKS_" #n "_NUM_RETRIES", SETTING_TEXT, "3", FIELD(receivers[n].num_retries),         \
     "retries of a failed call before the delay grows"},                                           \
    {"OH_WEBHOOKS_" #n "_RETRY_DELAY", SETTING_TEXT, "5", FIELD(receivers[n].retry_delay),         \
     "seconds between these retries"},                                                             \
    {"OH_WEBHOOKS_" #n "_MAX_QUEUE_SIZE", SETTING_TEXT, "1000", FIELD(receivers[n].max_queue_size),\
     "queued events of a conversation while the receiver fails; the oldest are dropped"},          \
    {"OH_WEBHOOKS_" #n "_MAX_BATCH_BYTES", SETTING_TEXT, "5242880",                                \
     FIELD(receivers[n].max_batch_bytes),                                                          \
     "maximum size of one call, unless a single event is larger"},                                 \
    {"OH_WEBHOOKS_" #n "_MAX_QUEUE_BYTES", SETTING_TEXT, "52428800",                               \
     FIELD(receivers[n].max_queue_bytes), "maximum size of the queued events"}
/* clang-format on */

static const struct setting worker_settings[] = {
    {"DEFT_DATABASE_URL", SETTING_SECRET, NULL, FIELD(database_url),
     "libpq connection string or URI of PostgreSQL"},
    {"DEFT_SECRET_KEY", SETTING_SECRET, NULL, FIELD(secret_key),
     "root key of the instance, 64 hex digits"},
    {"DEFT_WORKER_CONVERSATIONS", SETTING_COUNT, "100", FIELD(n_conversations),
     "maximum number of concurrent conversations"},
    {"DEFT_RUN_SLOTS", SETTING_COUNT, "10", FIELD(run_limits.n_slots),
     "concurrent runs of one user; further runs are queued"},
    {"DEFT_RUN_QUEUE", SETTING_COUNT, "100", FIELD(run_limits.n_queued),
     "queued runs of one user; above that agents cannot start more"},
    {"DEFT_WORKER_STACK_BYTES", SETTING_BYTES, "131072", FIELD(stack_bytes),
     "stack size of a conversation's thread"},
    {"DEFT_WORKER_CONNECTIONS", SETTING_COUNT, "8", FIELD(n_connections),
     "maximum number of database connections, in addition to the one for leases"},
    {"DEFT_MODE", SETTING_TEXT, "", FIELD(mode),
     "local: only the host's administrator can reach this instance, so user-supplied addresses may "
     "be private"},
    {"LOG_LEVEL", SETTING_TEXT, "info", FIELD(log_level), "debug, info, warning or error"},
    {"DEFT_RUNTIME_URL", SETTING_TEXT, "http://localhost", FIELD(runtime_url),
     "URL of the Runtime API"},
    {"DEFT_RUNTIME_SOCKET", SETTING_TEXT, "", FIELD(runtime_socket),
     "Unix socket of the Runtime API; empty: connect over TCP"},
    {"DEFT_RUNTIME_API_KEY", SETTING_SECRET, "", FIELD(runtime_key), "API key of the Runtime API"},
    {"DEFT_SANDBOX_IMAGE", SETTING_TEXT, "deft-sandbox:1", FIELD(sandbox_image),
     "image of new sandboxes"},
    {"DEFT_SANDBOX_START_MS", SETTING_MS, "120000", FIELD(sandbox_start_ms),
     "time a sandbox has to start"},
    {"DEFT_SANDBOX_CHECK_MS", SETTING_MS, "10000", FIELD(sandbox_check_ms),
     "interval, and timeout, of health checks of the sandbox during a long call"},
    {"DEFT_TOOL_TIMEOUT_MS", SETTING_MS, "1800000", FIELD(tool_timeout_ms),
     "default timeout of tool calls"},
    {"LLM_MODEL", SETTING_TEXT, "scripted/hello", FIELD(llm_model),
     "default model of conversations"},
    {"LLM_BASE_URL", SETTING_TEXT, "", FIELD(llm_base_url),
     "base URL of the default model; empty: its provider's"},
    {"LLM_API_KEY", SETTING_SECRET, "", FIELD(llm_key), "API key of the default model"},
    {"DEFT_LLM_ALLOW_PRIVATE", SETTING_BOOL, "0", FIELD(llm_allow_private),
     "1: user-supplied model addresses may be loopback or private"},
    {"DEFT_BUDGET_PER_USER_CENTS", SETTING_COUNT, "0", FIELD(budget_per_user_cents),
     "what all model calls of a user may cost, in US cents; 0: no limit"},
    {"DEFT_BUDGET_PER_DAY_CENTS", SETTING_COUNT, "0", FIELD(budget_per_day_cents),
     "what a user's model calls of one day (UTC) may cost, in US cents; 0: no limit"},
    {"DEFT_MODEL_OUTAGE_MS", SETTING_MS, "600000", FIELD(model_outage_ms),
     "how long a run waits for a model whose server is out of order, after its retries; 0: it "
     "ends"},
    {"DEFT_BUDGET_UNPRICED", SETTING_BOOL, "0", FIELD(budget_unpriced),
     "1: a run with a budget may use a model whose price is unknown; its calls count as free"},
    {"DEFT_CA_FILE", SETTING_TEXT, "", FIELD(ca_file),
     "PEM file of certificate authorities that replaces the system's, such as a company proxy's"},
    {"DEFT_CATALOGUE_DIR", SETTING_TEXT, DEFT_DATA_DIR "/catalogue", FIELD(catalogue_dir),
     "folder of prompts, descriptions of tools and models"},
    {"DEFT_CATALOGUE_OVERRIDES", SETTING_TEXT, "", FIELD(catalogue_overrides),
     "folder whose files replace those of the same name there; empty: none"},
    {"DEFT_SCRIPTED_DIR", SETTING_TEXT, "", FIELD(scripted_dir), "directory of scripted models"},
    RECEIVER(0),
    RECEIVER(1),
    RECEIVER(2),
    RECEIVER(3),
    {"OH_SESSION_API_KEYS_0", SETTING_SECRET, "", FIELD(session_key),
     "default X-Session-API-Key of webhook calls"},
    {"DEFT_WEBHOOKS_ALLOW_PRIVATE", SETTING_BOOL, "0", FIELD(webhooks_allow_private),
     "1: webhook receivers may have loopback or private addresses"},
    {"DEFT_WEBHOOKS_TIMEOUT_MS", SETTING_MS, "30000", FIELD(webhooks_timeout_ms),
     "time limit of one webhook call"},
    {"OH_DEFERRED_INIT", SETTING_BOOL, "0", FIELD(deferred_init),
     "1: deferred start: POST /api/init may add webhooks"},
    {"DEFT_CRASH_AT", SETTING_TEXT, "", FIELD(crash_at),
     "for tests: name:n, the crash point where the process ends"},
};

static const struct process process = {
    .name = PROCESS_NAME,
    .help = "Usage: " PROCESS_NAME " [--help | --help-config | --version]\n"
            "Runs conversations. It is configured by environment variables: see --help-config.\n",
    .settings = worker_settings,
    .n_settings = ARRAY_SIZE(worker_settings),
};

static int read_settings(struct worker_context *context, struct error *err)
{
    struct worker_settings *settings = &context->settings;

    if (process_configure(&process, settings, &settings->log_level, err) < 0)
        return -1;
    if (settings->n_conversations < 1 || settings->n_connections < 1 ||
        settings->run_limits.n_slots < 1 || settings->sandbox_check_ms < 1)
        return error_set(err, ERROR_INVALID,
                         "DEFT_WORKER_CONVERSATIONS, DEFT_WORKER_CONNECTIONS, DEFT_RUN_SLOTS and "
                         "DEFT_SANDBOX_CHECK_MS must be at least 1");
    if (keyring_init(&context->keyring, &settings->secret_key, err) < 0)
        return error_wrap(err, "DEFT_SECRET_KEY");
    if (receivers_read(settings->receivers, &context->receivers, err) < 0)
        return -1;
    return crash_points_init(&context->crash, settings->crash_at, err);
}

static int open_database(struct worker_context *context, struct error *err)
{
    struct db_options options = {
        .url = secret_reveal(&context->settings.database_url),
        .application = PROCESS_NAME,
        .n_connections = (size_t)context->settings.n_connections,
        .crash = &context->crash,
    };

    if (hints_open(options.url, PROCESS_NAME, 1U << HINT_WORK | 1U << HINT_CONTROL, &context->hints,
                   err) < 0)
        return -1;
    options.hints = context->hints;
    if (db_open(&options, &context->db, err) < 0)
        return -1;
    options.crash = NULL;
    options.n_connections = 1;
    options.statement_timeout_ms = HEARTBEAT_MS;
    if (db_open(&options, &context->lease_db, err) < 0)
        return -1;
    options.n_connections = GRANT_CONNECTIONS;
    options.statement_timeout_ms = GRANT_WAIT_MS;
    if (db_open(&options, &context->grant_db, err) < 0)
        return -1;
    return delta_outbox_new(context->hints, &context->outbox, err);
}

static int open_http(struct worker_context *context, struct error *err)
{
    const char *ca_file = context->settings.ca_file;

    if (http_open_trusting(ca_file[0] != '\0' ? ca_file : NULL, &context->http, err) < 0)
        return -1;
    if (text_equal(context->settings.mode, "local"))
        http_trust_users(context->http);
    return 0;
}

static int open_catalogue(struct worker_context *context, struct error *err)
{
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
    const struct worker_settings *settings = &context->settings;

    if (text_folder_read(settings->catalogue_dir, settings->catalogue_overrides, &folder, err) < 0)
        return -1;
    return catalogue_new(&folder, &context->catalogue, err);
}

static int open_context(struct worker_context *context, struct error *err)
{
    const struct worker_settings *settings = &context->settings;
    struct llm_options options = {
        .scripted_dir = settings->scripted_dir[0] != '\0' ? settings->scripted_dir : NULL,
        .crash = &context->crash,
    };

    context->owner = uuid_random();
    if (open_catalogue(context, err) < 0 || open_database(context, err) < 0 ||
        open_http(context, err) < 0)
        return -1;
    options.catalogue = context->catalogue;
    options.http = context->http;
    context->llm = llm_new(&options);
    return 0;
}

static void close_context(struct worker_context *context)
{
    llm_free(context->llm);
    http_free(context->http);
    sender_free(context->sender);
    delta_outbox_free(context->outbox);
    db_free(context->grant_db);
    db_free(context->lease_db);
    db_free(context->db);
    hints_free(context->hints);
    catalogue_free(context->catalogue);
    receivers_done(&context->receivers);
    settings_done(worker_settings, ARRAY_SIZE(worker_settings), &context->settings);
}

static int open_timer(int *fd_out, struct error *err)
{
    struct itimerspec each = {
        .it_interval = {.tv_sec = HEARTBEAT_MS / 1000, .tv_nsec = HEARTBEAT_MS % 1000 * NS_PER_MS},
        .it_value = {.tv_nsec = 1},
    };

    *fd_out = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (*fd_out < 0 || timerfd_settime(*fd_out, 0, &each, NULL) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "timerfd: %m");
    return 0;
}

/* Event sources of the main thread. */
enum source {
    SOURCE_SIGNAL,
    SOURCE_TIMER,
    SOURCE_POOL,
    SOURCE_OUTBOX,
    SOURCE_HINTS,
    SOURCE_LISTEN,
    N_SOURCES,
};

static void take_hints(struct worker_context *context, struct pool *pool)
{
    enum hint_kind kind = HINT_WORK;
    char id[64] = "";
    bool is_work = false;
    bool is_control = false;

    hints_pump(context->hints);
    while (hints_next(context->hints, &kind, id)) {
        is_work = is_work || kind == HINT_WORK;
        is_control = is_control || (kind == HINT_CONTROL && pool_holds(pool, id));
    }
    if (is_control)
        pool_renew_leases(pool);
    if (is_work)
        pool_claim_work(pool);
}

/* Periodic check, which makes up for lost hints. */
static void tick(int timer_fd, struct pool *pool)
{
    uint64_t n_ticks = 0;
    ssize_t n = read(timer_fd, &n_ticks, sizeof(n_ticks));

    (void)n; /* nothing to read: another source woke the thread */
    pool_renew_leases(pool);
    pool_claim_work(pool);
}

static int serve_until_stopped(struct worker_context *context, struct pool *pool, int signal_fd,
                               int timer_fd, struct error *err)
{
    bool is_stopping = false;

    while (!is_stopping || !pool_is_empty(pool)) {
        int hint_fds[2] = {-1, -1};
        struct pollfd waits[N_SOURCES] = {
            [SOURCE_SIGNAL] = {.fd = is_stopping ? -1 : signal_fd, .events = POLLIN},
            [SOURCE_TIMER] = {.fd = timer_fd, .events = POLLIN},
            [SOURCE_POOL] = {.fd = pool_fd(pool), .events = POLLIN},
            [SOURCE_OUTBOX] = {.fd = delta_outbox_fd(context->outbox), .events = POLLIN},
        };

        hints_fds(context->hints, hint_fds);
        waits[SOURCE_HINTS] = (struct pollfd){.fd = hint_fds[0], .events = POLLIN};
        waits[SOURCE_LISTEN] = (struct pollfd){.fd = hint_fds[1], .events = POLLIN};
        if (poll(waits, N_SOURCES, -1) < 0 && errno != EINTR)
            return error_set(err, ERROR_UNAVAILABLE, "poll: %m");
        if (waits[SOURCE_SIGNAL].revents != 0) {
            log_info("worker.draining");
            is_stopping = true;
            pool_drain(pool);
        }
        if (waits[SOURCE_POOL].revents != 0)
            pool_join_ended(pool);
        if (waits[SOURCE_TIMER].revents != 0)
            tick(timer_fd, pool);
        delta_outbox_pump(context->outbox);
        take_hints(context, pool);
    }
    return 0;
}

static int run_worker(struct worker_context *context, struct error *err)
{
    CLEANUP(fd_close) int signal_fd = -1;
    CLEANUP(fd_close) int timer_fd = -1;
    struct pool *pool = NULL;
    int rc = 0;

    if (process_open_stop(&signal_fd, err) < 0 || open_timer(&timer_fd, err) < 0 ||
        open_context(context, err) < 0 || pool_new(context, &pool, err) < 0 ||
        sender_start(context, &context->sender, err) < 0)
        return -1;
    log_info("worker.started", LOG_STR("owner", context->owner.text));
    rc = serve_until_stopped(context, pool, signal_fd, timer_fd, err);
    hints_pump(context->hints);
    sender_stop(context->sender);
    pool_free(pool);
    return rc;
}

int main(int argc, char **argv)
{
    struct worker_context context = {.db = NULL};
    const char *const no_sockets[] = {NULL};
    struct error err = ERROR_INIT;
    int status = 0;

    if (argc > 1)
        return process_answer(&process, argv[1], &status) ? status
                                                          : process_refuse(&process, argv[1]);
    process_bound_heaps(LARGE_ALLOCATION_BYTES);
    json_setup();
    if (read_settings(&context, &err) < 0 || confine(CONFINE_DAEMON, no_sockets, &err) < 0)
        return process_complain(&process, &err);
    if (run_worker(&context, &err) < 0) {
        log_error("worker.failed", LOG_ERROR(&err));
        status = 1;
    }
    log_info("worker.stopped");
    close_context(&context);
    return status;
}

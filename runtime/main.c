/* deft-runtime: creates, watches and removes sandboxes; the only process that calls the engine. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auth/wrong_keys.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "runtime/api/http_front.h"
#include "runtime/backend/backend.h"
#include "runtime/backend_select.h"
#include "runtime/core/runtime_lock.h"
#include "runtime/core/runtime_metrics.h"
#include "runtime/core/service.h"
#include "runtime/core/start_queue.h"
#include "runtime/egress/dns_server.h"
#include "runtime/egress/dns_tcp.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_denials.h"
#include "runtime/egress/egress_loader.h"
#include "runtime/egress/egress_state.h"
#include "runtime/images/build_queue.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/lifecycle/reconcile.h"
#include "runtime/lifecycle/reconcile_queue.h"
#include "runtime/lifecycle/warm_pool.h"
#include "runtime/runtime_settings.h"
#include "store/db/db.h"
#include "store/db/hints.h"
#include "web/fastcgi_server.h"

#define STACK_BYTES (256UL * 1024)
#define LARGE_ALLOCATION_BYTES (64 * 1024)
#define HINTS_WAIT_MS 1000
#define PING_MS 5000
#define DRAIN_MS 10000 /* between log lines while requests end at shutdown */

struct service_threads {
    pthread_t items[RUNTIME_THREADS_MAX + 6 + DNS_SERVER_THREADS + DNS_TCP_THREADS];
    size_t n;
};

static void *run_starter(void *context)
{
    struct service *service = context;
    char id[RUNTIME_ID_BYTES] = "";

    while (start_queue_take(service->starts, id)) {
        struct error err = ERROR_INIT;

        if (lifecycle_start(service, id, &err) < 0)
            log_warning("runtime.start_failed", LOG_STR("runtime_id", id), LOG_ERROR(&err));
        start_queue_finish(service->starts, id);
    }
    return NULL;
}

static void *run_reconciler(void *context)
{
    reconcile_run(context);
    return NULL;
}

static void *run_pool(void *context)
{
    warm_pool_run(context);
    return NULL;
}

static void *run_builder(void *context)
{
    build_queue_run(context);
    return NULL;
}

static void *run_refusals(void *context)
{
    egress_denials_run(context);
    return NULL;
}

static void *run_loader(void *context)
{
    egress_loader_run(context);
    return NULL;
}

static void *run_dns_server(void *context)
{
    dns_server_run(context);
    return NULL;
}

static void *run_dns_tcp(void *context)
{
    dns_tcp_run(context);
    return NULL;
}

static void on_up(void *context)
{
    struct service *service = context;

    reconcile_queue_add(service->reconcile_queue, RECONCILE_ALL | RECONCILE_RULES);
}

static void on_down(void *context, const struct error *why)
{
    (void)context;
    log_warning("engine.lost", LOG_ERROR(why));
}

static void on_event(void *context, const struct backend_event *event)
{
    struct service *service = context;

    reconcile_queue_add_event(service->reconcile_queue, event);
}

static void *run_follower(void *context)
{
    struct service *service = context;
    const struct backend_event_sink sink = {
        .context = service, .up = on_up, .down = on_down, .event = on_event};

    service->backend->functions->follow(service->backend, &sink);
    return NULL;
}

static int start_thread(struct service_threads *threads, void *(*body)(void *), void *context,
                        struct error *err)
{
    pthread_attr_t attributes;
    int rc = 0;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    rc = pthread_create(&threads->items[threads->n], &attributes, body, context);
    pthread_attr_destroy(&attributes);
    if (rc != 0)
        return error_set(err, ERROR_UNAVAILABLE, "a thread cannot be started: %d", rc);
    threads->n++;
    return 0;
}

static int start_threads(struct service_threads *threads, struct service *service,
                         struct error *err)
{
    const struct runtime_settings *settings = service->settings;

    if (start_thread(threads, run_loader, service, err) < 0 ||
        start_thread(threads, run_reconciler, service, err) < 0 ||
        start_thread(threads, run_pool, service, err) < 0 ||
        start_thread(threads, run_builder, service, err) < 0 ||
        start_thread(threads, run_refusals, service, err) < 0 ||
        start_thread(threads, run_follower, service, err) < 0)
        return -1;
    for (int i = 0; i < DNS_SERVER_THREADS + DNS_TCP_THREADS; i++) {
        if (start_thread(threads, i < DNS_SERVER_THREADS ? run_dns_server : run_dns_tcp, service,
                         err) < 0)
            return -1;
    }
    for (int64_t i = 0; i < settings->n_starters; i++) {
        if (start_thread(threads, run_starter, service, err) < 0)
            return -1;
    }
    return 0;
}

static int start_server(struct service *service, struct fastcgi_server **server_out,
                        struct error *err)
{
    const struct fastcgi_listener listener = {.path = service->settings->listen,
                                              .n_threads = service->settings->n_threads,
                                              .serve = front_serve,
                                              .context = service};

    return fastcgi_server_start(&listener, 1, NULL, server_out, err);
}

/* server: NULL when it did not start. */
static void stop_threads(struct service *service, struct service_threads *threads,
                         struct fastcgi_server *server)
{
    if (server != NULL)
        fastcgi_server_close(server);
    start_queue_close(service->starts);
    service->backend->functions->stop_following(service->backend);
    reconcile_queue_stop(service->reconcile_queue);
    warm_pool_stop(service->pool);
    build_queue_stop(service);
    egress_stop(service->egress);
    egress_denials_stop(service->denials);
    for (size_t i = 0; i < threads->n; i++)
        pthread_join(threads->items[i], NULL);
    while (server != NULL && fastcgi_server_wait(server, clock_monotonic_ms() + DRAIN_MS) > 0)
        log_warning("server.draining");
    fastcgi_server_free(server);
}

static void ping_when_due(struct service *service, int64_t *next_ms)
{
    struct error ignored = ERROR_INIT;

    if (clock_monotonic_ms() < *next_ms)
        return;
    if (service->backend->functions->check(service->backend, &ignored) == 0)
        service->backend->functions->ping(service->backend);
    *next_ms = clock_monotonic_ms() + PING_MS;
}

/* Runs until the stop signal. Hints report changes of desired state and wake the reconciler. */
static int wait_for_stop(struct service *service, struct hints *hints, int stop_fd,
                         struct error *err)
{
    int64_t next_ping_ms = 0;

    for (;;) {
        int fds[2] = {-1, -1};
        struct pollfd polled[3];
        enum hint_kind kind = HINT_RUNTIME;
        char id[64] = "";

        ping_when_due(service, &next_ping_ms);
        hints_pump(hints);
        while (hints_next(hints, &kind, id)) {
            reconcile_queue_add(service->reconcile_queue, RECONCILE_DESIRED);
            build_queue_wake(service->build_queue);
        }
        hints_fds(hints, fds);
        polled[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = fds[0], .events = POLLIN};
        polled[2] = (struct pollfd){.fd = fds[1], .events = POLLIN};
        if (poll(polled, ARRAY_SIZE(polled), HINTS_WAIT_MS) < 0 && errno != EINTR)
            return error_set(err, ERROR_INTERNAL, "poll: %m");
        if (polled[0].revents != 0)
            return 0;
    }
}

/* No sandbox may start until the rules are loaded. */
static void set_first_rules_state(struct service *service)
{
    struct error state = ERROR_INIT;

    if (service->settings->has_network_rules != 0)
        error_set(&state, ERROR_UNAVAILABLE, "the network rules are not loaded yet");
    else if (!runtime_has_processes(service->settings))
        log_warning("network_rules.disabled",
                    LOG_STR("meaning", "sandboxes can reach the host and its networks"));
    service_set_rules_state(service, &state);
}

static int run_service(struct service *service, struct error *err)
{
    CLEANUP(fd_close) int stop_fd = -1;
    struct fastcgi_server *server = NULL;
    struct service_threads threads = {.n = 0};
    struct hints *hints = NULL;
    int rc = 0;

    if (process_open_stop(&stop_fd, err) < 0 ||
        hints_open(secret_reveal(&service->settings->database_url), "deft-runtime",
                   1U << HINT_RUNTIME, &hints, err) < 0)
        return -1;
    set_first_rules_state(service);
    service->denials = egress_denials_new(service->settings);
    if (egress_new(service->settings, &service->egress, err) < 0) {
        hints_free(hints);
        return -1;
    }
    log_info("process.started", LOG_STR("listen", service->settings->listen));
    rc = start_threads(&threads, service, err);
    if (rc == 0)
        rc = start_server(service, &server, err);
    if (rc == 0)
        rc = wait_for_stop(service, hints, stop_fd, err);
    log_info("process.stopping");
    stop_threads(service, &threads, server);
    hints_free(hints);
    return rc;
}

static int open_service(struct service *service, struct http *http, struct error *err)
{
    const struct runtime_settings *settings = service->settings;
    const struct db_options options = {.url = secret_reveal(&settings->database_url),
                                       .application = "deft-runtime",
                                       .n_connections = 16};

    lock_init(&service->lock);
    service->http = http;
    service->locks = runtime_locks_new();
    service->starts = start_queue_new();
    service->reconcile_queue = reconcile_queue_new();
    service->pool = warm_pool_new(settings);
    service->build_queue = build_queue_new();
    service->metrics = metrics_new();
    service->wrong_keys = wrong_keys_new();
    service->limits =
        (struct start_spec_limits){.image = settings->image,
                                   .memory_bytes = settings->docker.profile.memory_bytes,
                                   .nano_cpus = settings->docker.profile.nano_cpus,
                                   .max_memory_bytes = settings->max_memory_bytes,
                                   .max_nano_cpus = settings->max_nano_cpus};
    if (keyring_init(&service->keyring, &settings->root_key, err) < 0 ||
        backend_select_open(settings, http, &service->backend, err) < 0)
        return -1;
    return db_open(&options, &service->db, err);
}

static void close_service(struct service *service)
{
    db_free(service->db);
    if (service->backend != NULL)
        service->backend->functions->free(service->backend);
    reconcile_queue_free(service->reconcile_queue);
    warm_pool_free(service->pool);
    build_queue_free(service->build_queue);
    metrics_free(service->metrics);
    wrong_keys_free(service->wrong_keys);
    egress_denials_free(service->denials);
    egress_free(service->egress);
    start_queue_free(service->starts);
    runtime_locks_free(service->locks);
    lock_done(&service->lock);
}

static int remove_all(struct service *service, struct error *err)
{
    if (service->backend->functions->remove_all(service->backend, err) < 0)
        return -1;
    if (service->settings->has_network_rules != 0)
        egress_remove_rules(service->settings->docker.instance);
    return 0;
}

enum mode { MODE_SERVE, MODE_END, MODE_REAP };

static int run_mode(const struct runtime_settings *settings, enum mode mode, struct error *err)
{
    struct service service = {.settings = settings};
    struct http *http = NULL;
    int rc = 0;

    if (http_open(&http, err) < 0)
        return -1;
    rc = open_service(&service, http, err);
    if (rc == 0 && mode == MODE_SERVE)
        rc = run_service(&service, err);
    else if (rc == 0 && mode == MODE_END)
        rc = backend_select_end_all(service.backend, err);
    else if (rc == 0)
        rc = remove_all(&service, err);
    close_service(&service);
    http_free(http);
    return rc;
}

/* With the process back end, this process itself creates the sandboxes' namespaces and mounts. */
static int give_up(const struct runtime_settings *settings, struct error *err)
{
    const char *const no_sockets[] = {NULL};

    return confine(runtime_has_processes(settings) ? CONFINE_HOST : CONFINE_RUNTIME, no_sockets,
                   err);
}

int main(int argc, char **argv)
{
    CLEANUP(strbuf_done) struct strbuf seccomp = STRBUF_INIT;
    CLEANUP(runtime_settings_done) struct runtime_settings settings = {.log_level = NULL};
    struct error err = ERROR_INIT;
    enum mode mode = MODE_SERVE;
    int status = EXIT_SUCCESS;

    if (argc > 1 && process_answer(&runtime_process, argv[1], &status))
        return status;
    if (argc > 1 && !text_equal(argv[1], "--reap") && !text_equal(argv[1], "--end"))
        return process_refuse(&runtime_process, argv[1]);
    if (argc > 1)
        mode = text_equal(argv[1], "--end") ? MODE_END : MODE_REAP;
    process_bound_heaps(LARGE_ALLOCATION_BYTES);
    json_setup();
    if (runtime_settings_read(&settings, &seccomp, &err) < 0 || give_up(&settings, &err) < 0 ||
        run_mode(&settings, mode, &err) < 0)
        return process_complain(&runtime_process, &err);
    return EXIT_SUCCESS;
}

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
#include "base/settings.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "runtime/api/http_front.h"
#include "runtime/backend/backend.h"
#include "runtime/build/image_source.h"
#include "runtime/choice.h"
#include "runtime/core/gate.h"
#include "runtime/core/metrics.h"
#include "runtime/core/service.h"
#include "runtime/egress/egress.h"
#include "runtime/egress/egress_parts.h"
#include "runtime/egress/refusals.h"
#include "runtime/egress/resolver.h"
#include "runtime/images/builder.h"
#include "runtime/lifecycle/life.h"
#include "runtime/lifecycle/pool.h"
#include "runtime/lifecycle/reconcile.h"
#include "runtime/lifecycle/reconciler.h"
#include "store/db/db.h"
#include "store/db/hints.h"

#define FIELD(field) offsetof(struct runtime_settings, field)
#define STACK_BYTES (256UL * 1024)
#define THREADS_MAX 256
#define LARGE_ALLOCATION_BYTES (64 * 1024)
#define HINTS_WAIT_MS 1000
#define PING_MS 5000
#define SECCOMP_MAX_BYTES (1024UL * 1024)

static const struct setting runtime_settings_table[] = {
    {"DEFT_DATABASE_URL", SETTING_SECRET, NULL, FIELD(database_url), "PostgreSQL, conninfo or URI"},
    {"DEFT_SECRET_KEY", SETTING_SECRET, NULL, FIELD(root_key), "root key, 64 hex digits"},
    {"DEFT_RUNTIME_API_KEY", SETTING_SECRET, NULL, FIELD(api_key), "what X-API-Key must be"},
    {"DEFT_RUNTIME_ADMIN_KEY", SETTING_SECRET, "", FIELD(admin_key),
     "bearer's token of /api/admin; empty: nobody"},
    {"DEFT_RUNTIME_ADMIN_PASSWORD", SETTING_SECRET, "", FIELD(admin_password),
     "who knows it gets such a token for a time; empty: nobody"},
    {"DEFT_RUNTIME_LISTEN", SETTING_TEXT, NULL, FIELD(listen), "FastCGI socket, a path"},
    {"DEFT_APP_URL", SETTING_TEXT, "http://localhost:3000", FIELD(app_url),
     "address of the web page; what sandboxes serve is shown below its host"},
    {"DEFT_AGENT_URL", SETTING_TEXT, "http://localhost:8000", FIELD(agent_url),
     "where callers from outside reach their sandboxes: the agent origin"},
    {"DEFT_TENANT_RUNTIMES", SETTING_COUNT, "10", FIELD(tenant_runtimes),
     "sandboxes that a key from outside has running at a time, unless it says another number"},
    {"DEFT_BUILDS", SETTING_BOOL, "1", FIELD(may_build), "0: build no images that clients post"},
    {"DEFT_BUILD_MS", SETTING_MS, "1200000", FIELD(docker.build_ms),
     "a build that takes longer has failed"},
    {"DEFT_BUILD_MAX_BYTES", SETTING_BYTES, "67108864", FIELD(build_max_bytes),
     "the largest archive that is built from, packed"},
    {"DEFT_BUILD_MAX_UNPACKED_BYTES", SETTING_BYTES, "1073741824", FIELD(build_max_unpacked_bytes),
     "and unpacked"},
    {"DEFT_TENANT_IMAGES", SETTING_COUNT, "10", FIELD(tenant_images),
     "images that a key from outside has; its oldest make room"},
    {"DEFT_RUNTIME", SETTING_TEXT, "docker", FIELD(backend),
     "what sandboxes are: docker, containers of an engine; process (or local), processes of this "
     "host, which isolates less"},
    {"DEFT_PROCESS_DIR", SETTING_TEXT, "/var/lib/deft/sandboxes", FIELD(process.folder),
     "process: where sandboxes and their files are kept"},
    {"DEFT_PROCESS_ROOT", SETTING_TEXT, "", FIELD(process.root),
     "process: tree of the image that all of them have; empty: the host's programs"},
    {"DEFT_PROCESS_NETWORK", SETTING_TEXT, "none", FIELD(process.network),
     "process: none, or host: sandboxes then reach all that this host reaches, and itself"},
    {"DEFT_PROCESS_CGROUPS", SETTING_TEXT, "/sys/fs/cgroup", FIELD(process.cgroups),
     "process: control groups of the host, which bound sandboxes and hold them; none: use none"},
    {"DEFT_INSTANCE", SETTING_TEXT, "deft", FIELD(docker.instance),
     "prefix of container, volume and network names"},
    {"DEFT_SANDBOX_IMAGE", SETTING_TEXT, "deft-sandbox:1", FIELD(image),
     "image where a request names none"},
    {"DEFT_ACTION_BINARY", SETTING_TEXT, NULL, FIELD(docker.action_binary),
     "the static deft-action that every sandbox runs"},
    {"DEFT_SANDBOX_CA_BUNDLE", SETTING_TEXT, "/etc/ssl/certs/ca-certificates.crt",
     FIELD(docker.ca_bundle), "certificates for sandboxes whose image has none; empty: none"},
    {"DEFT_DOCKER_SOCKET", SETTING_TEXT, "/var/run/docker.sock", FIELD(docker.socket),
     "socket of the container engine"},
    {"DEFT_DOCKER_API", SETTING_TEXT, "1.41", FIELD(docker.api_version),
     "version of the engine's API to speak"},
    {"DEFT_SANDBOX_PULL", SETTING_BOOL, "1", FIELD(docker.may_pull),
     "fetch images that are not on the host"},
    {"DEFT_REGISTRIES", SETTING_TEXT, IMAGE_SOURCE_DEFAULT, FIELD(docker.registries),
     "registries that images are fetched from, separated by blanks; DEFT_SANDBOX_IMAGE comes from"
     " wherever it says"},
    {"DEFT_SANDBOX_READY_MS", SETTING_MS, "30000", FIELD(docker.ready_ms),
     "a sandbox that is not ready by then has failed"},
    {"DEFT_SANDBOX_SPARES", SETTING_COUNT, "3", FIELD(docker.n_spares),
     "networks and workspaces made ahead, of each"},
    {"DEFT_WARM_LEAST", SETTING_COUNT, "1", FIELD(warm_least),
     "sandboxes of the usual kind that always wait, started, for somebody"},
    {"DEFT_WARM_MOST", SETTING_COUNT, "4", FIELD(warm_most),
     "the most that wait, of all kinds, after many were started lately; 0: none ever"},
    {"DEFT_SANDBOX_SUBNETS", SETTING_TEXT, "10.201.0.0/16", FIELD(docker.subnets),
     "range that sandbox networks are cut from"},
    {"DEFT_SANDBOX_MEMORY_BYTES", SETTING_BYTES, "4294967296", FIELD(docker.profile.memory_bytes),
     "memory of a sandbox"},
    {"DEFT_SANDBOX_MAX_MEMORY_BYTES", SETTING_BYTES, "68719476736", FIELD(max_memory_bytes),
     "the most a request may ask for"},
    {"DEFT_SANDBOX_NANO_CPUS", SETTING_COUNT, "2000000000", FIELD(docker.profile.nano_cpus),
     "processors of a sandbox, in billionths"},
    {"DEFT_SANDBOX_MAX_NANO_CPUS", SETTING_COUNT, "64000000000", FIELD(max_nano_cpus),
     "the most a request may ask for"},
    {"DEFT_SANDBOX_PIDS", SETTING_COUNT, "512", FIELD(docker.profile.n_pids),
     "processes and threads in a sandbox"},
    {"DEFT_SANDBOX_FILES", SETTING_COUNT, "8192", FIELD(docker.profile.n_files),
     "open files of a process; 0: the engine's own limit"},
    {"DEFT_SANDBOX_OOM_SCORE", SETTING_COUNT, "500", FIELD(docker.profile.oom_score_adj),
     "who is ended first when the host has no memory; 0: the engine's choice"},
    {"DEFT_SANDBOX_TMP_BYTES", SETTING_BYTES, "1073741824", FIELD(docker.profile.tmp_bytes),
     "size of /tmp"},
    {"DEFT_SANDBOX_DISK_BYTES", SETTING_BYTES, "10737418240", FIELD(docker.profile.disk_bytes),
     "size of a workspace, and of what is written elsewhere, where the engine can; of a file; 0: "
     "any"},
    {"DEFT_SANDBOX_FREE_BYTES", SETTING_BYTES, "1073741824", FIELD(free_bytes),
     "with less room on the engine's disk no sandbox is started; 0: until it is full"},
    {"DEFT_SANDBOX_FREE_FILES", SETTING_COUNT, "20000", FIELD(n_free_files),
     "the same, with fewer files that can still be made there; 0: until none can"},
    {"DEFT_SANDBOX_SHM_BYTES", SETTING_BYTES, "268435456", FIELD(docker.profile.shm_bytes),
     "size of /dev/shm"},
    {"DEFT_SANDBOX_READ_ONLY", SETTING_BOOL, "0", FIELD(docker.profile.is_root_read_only),
     "1: only the workspace and /tmp can be written"},
    {"DEFT_SANDBOX_OCI_RUNTIME", SETTING_TEXT, "", FIELD(docker.profile.oci_runtime),
     "the engine's runtime, such as runsc; empty: its default"},
    {"DEFT_SANDBOX_SECCOMP", SETTING_TEXT, "", FIELD(seccomp_path),
     "file with a seccomp profile; empty: the engine's default"},
    {"OH_SANDBOX_EGRESS", SETTING_TEXT, "internet", FIELD(egress),
     "where sandboxes may go: internet (nothing private), none, list"},
    {"OH_SANDBOX_EGRESS_ALLOW", SETTING_TEXT, "", FIELD(egress_allow),
     "the list: names, *.names, IPv4 ranges, each with :port or without"},
    {"DEFT_NETWORK_RULES", SETTING_BOOL, "1", FIELD(has_network_rules),
     "0: do not load packet filter rules; sandboxes then reach the host and its networks"},
    {"DEFT_RESOLVER_PORT", SETTING_COUNT, RESOLVER_PORT, FIELD(resolver_port),
     "where deft-resolver listens at the gateways of sandboxes; the next one answers for lists"},
    {"DEFT_ORPHAN_GRACE_MS", SETTING_MS, "120000", FIELD(orphan_grace_ms),
     "age at which a container that no row answers for is removed"},
    {"DEFT_RECONCILE_MS", SETTING_MS, "60000", FIELD(reconcile_ms),
     "how often rows and containers are compared without cause"},
    {"DEFT_RENEW_AFTER_MS", SETTING_MS, "60000", FIELD(renew_after_ms),
     "how long a sandbox with an older deft-action must be unused to be started again"},
    {"OH_SANDBOX_LIFECYCLE_IDLE_SECONDS", SETTING_COUNT, "1200", FIELD(idle_s),
     "a sandbox that nobody used for so long, and in which nothing runs, is paused; 0: never"},
    {"DEFT_STOP_AFTER_MS", SETTING_MS, "3600000", FIELD(stop_after_ms),
     "what is paused for so long loses its programs, not its files; 0: never"},
    {"OH_SANDBOX_LIFECYCLE_MAX_SESSION_SECONDS", SETTING_COUNT, "43200", FIELD(max_session_s),
     "one that has been up for so long is paused though programs run in it; 0: never"},
    {"OH_SANDBOX_LIFECYCLE_DELETE_AFTER_SECONDS", SETTING_COUNT, "5184000", FIELD(dead_s),
     "one at rest for so long is removed with its files; 0: never"},
    {"DEFT_RUNTIME_THREADS", SETTING_COUNT, "32", FIELD(n_threads), "requests at a time"},
    {"DEFT_RUNTIME_STARTERS", SETTING_COUNT, "8", FIELD(n_starters), "starts at a time"},
    {"LOG_LEVEL", SETTING_TEXT, "info", FIELD(log_level), "debug, info, warning or error"},
};

static const struct process process = {
    .name = "deft-runtime",
    .help =
        "Usage: deft-runtime [--end | --reap | --help | --help-config | --version]\n"
        "Serves the Runtime API (FastCGI) and keeps sandboxes as its rows want them. It is set\n"
        "up by environment variables: see --help-config.\n"
        "\n"
        "  --end   end all sandboxes of this instance, whose files stay, then end\n"
        "  --reap  remove all containers, volumes, networks and rules of this instance, then end\n",
    .settings = runtime_settings_table,
    .n_settings = ARRAY_SIZE(runtime_settings_table),
};

struct threads {
    pthread_t items[THREADS_MAX + 6 + EGRESS_RESOLVERS];
    size_t n;
};

struct front_threads {
    struct service *service;
    int fd;
};

static void *run_front(void *context)
{
    struct front_threads *front = context;

    front_run(front->service, front->fd);
    return NULL;
}

static void *run_starter(void *context)
{
    struct service *service = context;
    char id[RUNTIME_ID_BYTES] = "";

    while (gate_next_start(service->gate, id)) {
        struct error err = ERROR_INIT;

        if (life_launch(service, id, &err) < 0)
            log_warning("runtime.launch_failed", LOG_STR("runtime_id", id), LOG_ERROR(&err));
        gate_start_done(service->gate, id);
    }
    return NULL;
}

static void *run_reconciler(void *context)
{
    reconciler_run(context);
    return NULL;
}

static void *run_pool(void *context)
{
    pool_run(context);
    return NULL;
}

static void *run_builder(void *context)
{
    builder_run(context);
    return NULL;
}

static void *run_refusals(void *context)
{
    refusals_run(context);
    return NULL;
}

static void *run_loader(void *context)
{
    egress_run_loader(context);
    return NULL;
}

static void *run_resolver(void *context)
{
    egress_run_resolver(context);
    return NULL;
}

static void on_up(void *context)
{
    struct service *service = context;

    reconciler_ask(service->reconciler, RECONCILE_ALL | RECONCILE_RULES);
}

static void on_down(void *context, const struct error *why)
{
    (void)context;
    log_warning("engine.lost", LOG_ERROR(why));
}

static void on_news(void *context, const struct news *news)
{
    struct service *service = context;

    reconciler_tell(service->reconciler, news);
}

static void *run_follower(void *context)
{
    struct service *service = context;
    const struct news_sink sink = {
        .context = service, .up = on_up, .down = on_down, .news = on_news};

    service->backend->functions->follow(service->backend, &sink);
    return NULL;
}

static int start_thread(struct threads *threads, void *(*body)(void *), void *context,
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

static int start_threads(struct threads *threads, struct front_threads *front, struct error *err)
{
    const struct runtime_settings *settings = front->service->settings;

    if (start_thread(threads, run_loader, front->service, err) < 0 ||
        start_thread(threads, run_reconciler, front->service, err) < 0 ||
        start_thread(threads, run_pool, front->service, err) < 0 ||
        start_thread(threads, run_builder, front->service, err) < 0 ||
        start_thread(threads, run_refusals, front->service, err) < 0 ||
        start_thread(threads, run_follower, front->service, err) < 0)
        return -1;
    for (int i = 0; i < EGRESS_RESOLVERS; i++) {
        if (start_thread(threads, run_resolver, front->service, err) < 0)
            return -1;
    }
    for (int64_t i = 0; i < settings->n_starters; i++) {
        if (start_thread(threads, run_starter, front->service, err) < 0)
            return -1;
    }
    for (int64_t i = 0; i < settings->n_threads; i++) {
        if (start_thread(threads, run_front, front, err) < 0)
            return -1;
    }
    return 0;
}

static void stop_threads(struct threads *threads, const struct front_threads *front)
{
    struct service *service = front->service;

    front_stop(front->fd);
    gate_close(service->gate);
    service->backend->functions->stop_following(service->backend);
    reconciler_stop(service->reconciler);
    pool_stop(service->pool);
    builder_stop(service);
    egress_stop(service->egress);
    refusals_stop(service->refusals);
    for (size_t i = 0; i < threads->n; i++)
        pthread_join(threads->items[i], NULL);
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
            reconciler_ask(service->reconciler, RECONCILE_WISHES);
            builder_ask(service->builder);
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
        log_warning("network_rules.off",
                    LOG_STR("meaning", "sandboxes reach the host and its networks"));
    service_set_rules_state(service, &state);
}

static int serve(struct service *service, struct error *err)
{
    CLEANUP(fd_close) int stop_fd = -1;
    struct front_threads front = {.service = service, .fd = -1};
    struct threads threads = {.n = 0};
    struct hints *hints = NULL;
    int rc = 0;

    if (process_open_stop(&stop_fd, err) < 0 ||
        front_listen(service->settings->listen, &front.fd, err) < 0)
        return -1;
    if (hints_open(secret_reveal(&service->settings->database_url), "deft-runtime",
                   1U << HINT_RUNTIME, &hints, err) < 0)
        return -1;
    set_first_rules_state(service);
    service->refusals = refusals_new(service->settings);
    if (egress_new(service->settings, &service->egress, err) < 0) {
        hints_free(hints);
        return -1;
    }
    log_info("process.started", LOG_STR("listen", service->settings->listen));
    rc = start_threads(&threads, &front, err);
    if (rc == 0)
        rc = wait_for_stop(service, hints, stop_fd, err);
    log_info("process.stopping");
    stop_threads(&threads, &front);
    hints_free(hints);
    close(front.fd);
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
    service->gate = gate_new();
    service->reconciler = reconciler_new();
    service->pool = pool_new(settings);
    service->builder = builder_new();
    service->metrics = metrics_new();
    service->wrong_keys = wrong_keys_new();
    service->limits = (struct spec_limits){.image = settings->image,
                                           .memory_bytes = settings->docker.profile.memory_bytes,
                                           .nano_cpus = settings->docker.profile.nano_cpus,
                                           .max_memory_bytes = settings->max_memory_bytes,
                                           .max_nano_cpus = settings->max_nano_cpus};
    if (keyring_init(&service->keyring, &settings->root_key, err) < 0 ||
        choice_open(settings, http, &service->backend, err) < 0)
        return -1;
    return db_open(&options, &service->db, err);
}

static void close_service(struct service *service)
{
    db_free(service->db);
    if (service->backend != NULL)
        service->backend->functions->free(service->backend);
    reconciler_free(service->reconciler);
    pool_free(service->pool);
    builder_free(service->builder);
    metrics_free(service->metrics);
    wrong_keys_free(service->wrong_keys);
    refusals_free(service->refusals);
    egress_free(service->egress);
    gate_free(service->gate);
    lock_done(&service->lock);
}

static int reap(struct service *service, struct error *err)
{
    if (service->backend->functions->reap(service->backend, err) < 0)
        return -1;
    if (service->settings->has_network_rules != 0)
        egress_remove_rules(service->settings->docker.instance);
    return 0;
}

enum mode { MODE_SERVE, MODE_END, MODE_REAP };

static int run(const struct runtime_settings *settings, enum mode mode, struct error *err)
{
    struct service service = {.settings = settings};
    struct http *http = NULL;
    int rc = 0;

    if (http_open(&http, err) < 0)
        return -1;
    rc = open_service(&service, http, err);
    if (rc == 0 && mode == MODE_SERVE)
        rc = serve(&service, err);
    else if (rc == 0 && mode == MODE_END)
        rc = choice_end_all(service.backend, err);
    else if (rc == 0)
        rc = reap(&service, err);
    close_service(&service);
    http_free(http);
    return rc;
}

static int check_settings(const struct runtime_settings *settings, struct error *err)
{
    if (choice_check(settings, err) < 0)
        return -1;
    if (settings->resolver_port < RESOLVER_PORT_LEAST ||
        settings->resolver_port > RESOLVER_PORT_MOST)
        return error_set(err, ERROR_INVALID, "DEFT_RESOLVER_PORT: a port from %d to %d",
                         RESOLVER_PORT_LEAST, RESOLVER_PORT_MOST);
    if (settings->n_threads < 1 || settings->n_starters < 1 ||
        settings->n_threads + settings->n_starters > THREADS_MAX)
        return error_set(err, ERROR_INVALID,
                         "DEFT_RUNTIME_THREADS and DEFT_RUNTIME_STARTERS: at least 1 each, at most "
                         "%d together",
                         THREADS_MAX);
    return 0;
}

static int read_settings(struct runtime_settings *settings, struct strbuf *seccomp,
                         struct error *err)
{
    if (process_configure(&process, settings, &settings->log_level, err) < 0 ||
        check_settings(settings, err) < 0)
        return -1;
    if (settings->seccomp_path[0] != '\0' &&
        file_read(settings->seccomp_path, SECCOMP_MAX_BYTES, seccomp, err) < 0)
        return error_wrap(err, "DEFT_SANDBOX_SECCOMP");
    settings->docker.profile.seccomp_profile = seccomp->text;
    settings->docker.profile.seccomp_path = settings->seccomp_path;
    /* There are no bridges to filter. */
    if (runtime_has_processes(settings))
        settings->has_network_rules = 0;
    settings->docker.profile.has_resolver = settings->has_network_rules != 0;
    return 0;
}

/* With the process back end, this process itself creates the sandboxes' namespaces and mounts. */
static int give_up(const struct runtime_settings *settings, struct error *err)
{
    const char *const no_sockets[] = {NULL};

    return confine(runtime_has_processes(settings) ? CONFINE_HOST : CONFINE_RUNTIME, no_sockets,
                   err);
}

static void runtime_settings_done(struct runtime_settings *settings)
{
    settings_done(runtime_settings_table, ARRAY_SIZE(runtime_settings_table), settings);
}

int main(int argc, char **argv)
{
    CLEANUP(strbuf_done) struct strbuf seccomp = STRBUF_INIT;
    CLEANUP(runtime_settings_done) struct runtime_settings settings = {.log_level = NULL};
    struct error err = ERROR_INIT;
    enum mode mode = MODE_SERVE;
    int status = EXIT_SUCCESS;

    if (argc > 1 && process_answer(&process, argv[1], &status))
        return status;
    if (argc > 1 && !text_equal(argv[1], "--reap") && !text_equal(argv[1], "--end"))
        return process_refuse(&process, argv[1]);
    if (argc > 1)
        mode = text_equal(argv[1], "--end") ? MODE_END : MODE_REAP;
    process_bound_heaps(LARGE_ALLOCATION_BYTES);
    json_setup();
    if (read_settings(&settings, &seccomp, &err) < 0 || give_up(&settings, &err) < 0 ||
        run(&settings, mode, &err) < 0)
        return process_complain(&process, &err);
    return EXIT_SUCCESS;
}

#include "runtime/bwrap/box_start.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/encode.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/preview.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/bwrap/box.h"
#include "runtime/bwrap/box_end.h"
#include "runtime/bwrap/box_watch.h"
#include "runtime/bwrap/bwrap_arguments.h"
#include "runtime/bwrap/bwrap_host.h"
#include "runtime/bwrap/bwrap_image.h"
#include "runtime/bwrap/home_folder.h"
#include "runtime/bwrap/host_prepare.h"
#include "runtime/bwrap/process_spawn.h"

#define BACKLOG 128
#define PORTS_TRIED 16
#define PART_BYTES 4
#define SAID_MAX_BYTES (64UL * 1024)

struct box_start {
    struct bwrap_host *host;
    const struct sandbox_config *order;
    char box[BOX_ID_BYTES];
    char init_key[CRYPTO_TOKEN_BYTES];
    int port;
    pid_t pid; /* of bubblewrap itself; 0 before its start */
    int fds[BWRAP_N_FDS];
    int ready_fd;      /* the sandbox's standard output */
    int start_pipe[2]; /* pipe: the program starts once it contains a byte */
    struct strbuf said;
};

/* --- inherited descriptors --- */

/* A socket on the host's loopback; ERROR_CONFLICT if the port is in use. port 0: any free one. */
static int open_socket(uint32_t host, uint16_t port, int *fd_out, struct error *err)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(host)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *fd_out = fd;
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(fd, BACKLOG) == 0)
        return 0;
    return error_set(err, errno == EADDRINUSE ? ERROR_CONFLICT : ERROR_UNAVAILABLE,
                     "creating the sandbox's socket: %m");
}

static int try_listeners(struct box_start *launch, struct error *err)
{
    struct sockaddr_in address = {.sin_port = 0};
    socklen_t len = sizeof(address);
    int fd = -1;

    if (open_socket(INADDR_LOOPBACK, 0, &launch->fds[BWRAP_LISTENER_FD], err) < 0)
        return -1;
    fd = launch->fds[BWRAP_LISTENER_FD];
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "creating the sandbox's socket: %m");
    launch->port = ntohs(address.sin_port);
    /* In the host's network, programs' own ports are reachable: no socket for previews. */
    if (text_equal(launch->host->settings.network, "host"))
        return 0;
    return open_socket(PREVIEW_LOOPBACK, (uint16_t)launch->port, &launch->fds[BWRAP_PREVIEW_FD],
                       err);
}

/*
 * The listeners are created here, so they are in the host's network even if the sandbox has its
 * own: its server accepts connections on them, but no program in it can reach the host's network
 * through them. The second one, for previews, has the same port at another loopback address.
 */
static int open_listeners(struct box_start *launch, struct error *err)
{
    int rc = try_listeners(launch, err);

    for (int i = 0; rc < 0 && err->code == ERROR_CONFLICT && i < PORTS_TRIED; i++) {
        fd_close(&launch->fds[BWRAP_LISTENER_FD]);
        fd_close(&launch->fds[BWRAP_PREVIEW_FD]);
        rc = try_listeners(launch, err);
    }
    return rc;
}

static int open_file(const struct box_start *launch, const char *name, int *fd_out,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    box_append_path(launch->host, launch->box, name, &path);
    *fd_out = open(path.text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (*fd_out < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    return 0;
}

static int open_filter(struct box_start *launch, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (launch->host->settings.seccomp_profile[0] == '\0')
        return 0;
    agent_folder_append_path(launch->host, "filter", &path);
    launch->fds[BWRAP_SECCOMP_FD] = open(path.text, O_RDONLY | O_CLOEXEC);
    if (launch->fds[BWRAP_SECCOMP_FD] < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path.text);
    return 0;
}

static int open_fds(struct box_start *launch, struct error *err)
{
    int ends[2] = {-1, -1};

    if (pipe2(ends, O_CLOEXEC) < 0 || pipe2(launch->start_pipe, O_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "pipe: %m");
    launch->ready_fd = ends[0];
    launch->fds[STDOUT_FILENO] = ends[1];
    launch->fds[STDIN_FILENO] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (open_listeners(launch, err) < 0 || open_filter(launch, err) < 0)
        return -1;
    if (open_file(launch, "said", &launch->fds[STDERR_FILENO], err) < 0)
        return -1;
    return open_file(launch, "status", &launch->fds[BWRAP_STATUS_FD], err);
}

static void close_fds(struct box_start *launch)
{
    for (size_t i = 0; i < BWRAP_N_FDS; i++)
        fd_close(&launch->fds[i]);
    fd_close(&launch->start_pipe[0]);
    fd_close(&launch->start_pipe[1]);
}

/* --- the command --- */

/* The sandbox sees its limits, as in a container: programs choose their size by them. */
struct bounds {
    struct strbuf from[CGROUP_N_KINDS];
    struct strbuf to[CGROUP_N_KINDS];
    struct bwrap_mount views[CGROUP_N_KINDS];
    size_t n;
};

static void bounds_done(struct bounds *bounds)
{
    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        strbuf_done(&bounds->from[i]);
        strbuf_done(&bounds->to[i]);
    }
}

static void bounds_find(const struct box_start *launch, struct bounds *bounds)
{
    for (size_t i = 0; i < CGROUP_N_KINDS; i++) {
        bounds->from[i] = (struct strbuf)STRBUF_INIT;
        bounds->to[i] = (struct strbuf)STRBUF_INIT;
        if (cgroup_append_mount(&launch->host->cgroups, (enum cgroup_kind)i, launch->box,
                                &bounds->from[i], &bounds->to[i]))
            bounds->views[bounds->n++] =
                (struct bwrap_mount){bounds->from[i].text, bounds->to[i].text};
    }
}

static int make_arguments(const struct box_start *launch, struct arguments *arguments,
                          struct error *err)
{
    const struct bwrap_host *host = launch->host;
    CLEANUP(strbuf_done) struct strbuf agent_build = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf workspace = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf journal = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf user = STRBUF_INIT;
    CLEANUP(bounds_done) struct bounds bounds = {.n = 0};
    struct bwrap_paths places = {.root = host->settings.root,
                                 .tmp_bytes = host->settings.tmp_bytes,
                                 .shm_bytes = host->settings.shm_bytes,
                                 .has_host_network = text_equal(host->settings.network, "host"),
                                 .has_seccomp = host->settings.seccomp_profile[0] != '\0'};

    agent_folder_append_path(host, "", &agent_build);
    home_append_path(host, launch->order->home, "workspace", &workspace);
    home_append_path(host, launch->order->home, "journal", &journal);
    home_append_path(host, launch->order->home, "user", &user);
    places.agent_build = agent_build.text;
    places.workspace = workspace.text;
    places.journal = journal.text;
    places.user = user.text;
    bounds_find(launch, &bounds);
    places.views = bounds.views;
    places.n_views = bounds.n;
    if (bwrap_arguments_append(arguments, &places, err) < 0)
        return -1;
    arguments_add(arguments, "--");
    arguments_add(arguments, ACTION_MOUNT "/" ACTION_NAME);
    return 0;
}

/* In the environment rather than in the arguments, which every user of the host can read. */
static void make_environment(const struct box_start *launch, struct arguments *environment)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf listener = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf preview = STRBUF_INIT;

    arguments_add(environment, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    arguments_add(environment, "LANG=C.UTF-8");
    arguments_add(environment, "HOME=/home/deft");
    arguments_add(environment, "HOSTNAME=sandbox");
    arguments_add(environment, OUTPUTS_SETTING "=" OUTPUTS_FOLDER);
    strbuf_appendf(&id, "RUNTIME_ID=%s", launch->order->runtime_id);
    arguments_add(environment, id.text);
    strbuf_appendf(&key, "DEFT_ACTION_INIT_KEY=%s", launch->init_key);
    arguments_add(environment, key.text);
    strbuf_appendf(&listener, "DEFT_ACTION_SOCKET=%d", BWRAP_LISTENER_FD);
    arguments_add(environment, listener.text);
    strbuf_appendf(&preview, "DEFT_ACTION_PREVIEW_SOCKET=%d",
                   launch->fds[BWRAP_PREVIEW_FD] >= 0 ? BWRAP_PREVIEW_FD : 0);
    arguments_add(environment, preview.text);
    /* In the host's network, the port would be shared by all sandboxes and the host. */
    arguments_add(environment, text_equal(launch->host->settings.network, "host")
                                   ? "DEFT_ACTION_BIND=none"
                                   : "DEFT_ACTION_BIND=127.0.0.1");
}

static void add_limit(struct spawn_options *plan, int what, int64_t value)
{
    plan->limits[plan->n_limits++] = (struct spawn_limit){
        .what = what, .limit = {.rlim_cur = (rlim_t)value, .rlim_max = (rlim_t)value}};
}

static void set_limits(const struct bwrap_settings *settings, struct spawn_options *plan)
{
    add_limit(plan, RLIMIT_CORE, 0);
    if (settings->n_files > 0)
        add_limit(plan, RLIMIT_NOFILE, settings->n_files);
    if (settings->disk_bytes > 0)
        add_limit(plan, RLIMIT_FSIZE, settings->disk_bytes);
    /* Counts per user: without users of their own, it would limit our own user's session. */
    if (plan->uid != geteuid())
        add_limit(plan, RLIMIT_NPROC, settings->n_pids);
}

static void make_group(const struct box_start *launch)
{
    const struct bwrap_settings *settings = &launch->host->settings;
    const struct sandbox_config *order = launch->order;
    const struct cgroup_limits limits = {
        .memory_bytes = order->memory_bytes > 0 ? order->memory_bytes : settings->memory_bytes,
        .n_pids = settings->n_pids,
        .nano_cpus = order->nano_cpus > 0 ? order->nano_cpus : settings->nano_cpus};

    cgroup_make(&launch->host->cgroups, launch->box, &limits);
}

static int spawn(struct box_start *launch, const struct arguments *arguments,
                 const struct arguments *environment, struct error *err)
{
    const struct bwrap_settings *settings = &launch->host->settings;
    int cgroup_fds[CGROUP_N_KINDS] = {-1, -1, -1, -1};
    struct spawn_options plan = {.argv = (const char *const *)arguments->items,
                                 .environment = (const char *const *)environment->items,
                                 .uid = home_uid(launch->order->home),
                                 .oom_score_adj = settings->oom_score_adj,
                                 .cgroup_fds = cgroup_fds,
                                 .n_group_fds = CGROUP_N_KINDS,
                                 .n_fds = BWRAP_N_FDS,
                                 .waits_for_start = true,
                                 .start_fd = launch->start_pipe[0]};
    int rc = 0;

    memcpy(plan.fds, launch->fds, sizeof(launch->fds));
    set_limits(settings, &plan);
    cgroup_open(&launch->host->cgroups, launch->box, cgroup_fds);
    rc = spawn_start(&plan, &launch->pid, err);
    for (size_t i = 0; i < CGROUP_N_KINDS; i++)
        fd_close(&cgroup_fds[i]);
    return rc;
}

/* Starts the program only after its pid is recorded, so that a restarted service finds it. */
static int open_gate(const struct box_start *launch, struct error *err)
{
    if (box_note_guardian(launch->fds[BWRAP_STATUS_FD], launch->pid, err) < 0)
        return -1;
    return fd_write_all(launch->start_pipe[1], "g", 1, err);
}

static void end_child(struct box_start *launch)
{
    (void)kill(launch->pid, SIGKILL);
    (void)waitpid(launch->pid, NULL, 0);
    launch->pid = 0;
}

static int run_command(struct box_start *launch, struct error *err)
{
    CLEANUP(arguments_done) struct arguments arguments = {.items = NULL};
    CLEANUP(arguments_done) struct arguments environment = {.items = NULL};

    make_group(launch);
    if (make_arguments(launch, &arguments, err) < 0)
        return -1;
    make_environment(launch, &environment);
    if (spawn(launch, &arguments, &environment, err) < 0)
        return -1;
    if (open_gate(launch, err) == 0)
        return 0;
    end_child(launch);
    return -1;
}

/* --- readiness --- */

static int read_some(struct box_start *launch, bool *is_over_out, struct error *err)
{
    char bytes[1024];
    ssize_t n = read(launch->ready_fd, bytes, sizeof(bytes));

    if (n < 0 && errno != EINTR)
        return error_set(err, ERROR_UNAVAILABLE, "reading the sandbox's output: %m");
    *is_over_out = n == 0 || launch->said.len > SAID_MAX_BYTES;
    if (n > 0)
        strbuf_append_bytes(&launch->said, bytes, (size_t)n);
    return 0;
}

/* The server prints a single line of JSON there, and nothing else. */
static int wait_ready(struct box_start *launch, struct error *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + launch->host->settings.ready_ms;
    struct pollfd polled = {.fd = launch->ready_fd, .events = POLLIN};
    bool is_over = false;

    while (strstr(launch->said.text, "\"ready\"") == NULL) {
        int64_t left_ms = deadline_ms - clock_monotonic_ms();

        if (left_ms <= 0)
            return error_set(err, ERROR_TIMEOUT, "the sandbox did not get ready");
        if (poll(&polled, 1, (int)left_ms) > 0 && read_some(launch, &is_over, err) < 0)
            return -1;
        if (!is_over)
            continue;
        box_explain(launch->host, launch->box, err);
        return -1;
    }
    return 0;
}

static int follow(struct box_start *launch, struct error *err)
{
    int pidfd = pidfd_open(launch->pid, 0);

    if (pidfd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "starting the sandbox's process: %m");
    box_watch_child(launch->host, launch->box, pidfd);
    return 0;
}

static int run_steps(struct box_start *launch, struct error *err)
{
    int rc = 0;

    if (bwrap_image_check(launch->host, launch->order->image, err) < 0 ||
        home_make(launch->host, launch->order->home, err) < 0)
        return -1;
    /* Ends leftovers of an earlier start, which would write to the same home. */
    if (boxes_end(launch->host, launch->order->runtime_id, err) < 0 ||
        box_make(launch->host, launch->box, launch->order, err) < 0)
        return -1;
    rc = open_fds(launch, err) < 0 ? -1 : run_command(launch, err);
    /* Only bubblewrap holds them now: when it ends, the pipe reports EOF. */
    close_fds(launch);
    if (rc < 0 || wait_ready(launch, err) < 0)
        return -1;
    return follow(launch, err);
}

static void undo(struct box_start *launch)
{
    struct error err = ERROR_INIT;

    if (box_end(launch->host, launch->box, &err) < 0)
        log_warning("container.remove_failed", LOG_STR("runtime_id", launch->order->runtime_id),
                    LOG_ERROR(&err));
    if (launch->pid != 0)
        end_child(launch);
}

static void name_box(struct box_start *launch)
{
    unsigned char bytes[PART_BYTES];
    char part[2 * PART_BYTES + 1] = "";

    crypto_random(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), part);
    (void)snprintf(launch->box, sizeof(launch->box), "%.20s-%s", launch->order->runtime_id, part);
}

int box_start(struct bwrap_host *host, const struct sandbox_config *order,
              struct started_sandbox *place_out, struct error *err)
{
    struct box_start launch = {.host = host,
                               .order = order,
                               .fds = {-1, -1, -1, -1, -1, -1, -1},
                               .ready_fd = -1,
                               .start_pipe = {-1, -1},
                               .said = STRBUF_INIT};
    int rc = 0;

    name_box(&launch);
    crypto_random_token(launch.init_key);
    rc = run_steps(&launch, err);
    fd_close(&launch.ready_fd);
    strbuf_done(&launch.said);
    if (rc < 0) {
        undo(&launch);
        return -1;
    }
    *place_out = (struct started_sandbox){.network = ""};
    (void)snprintf(place_out->container_id, sizeof(place_out->container_id), "%s", launch.box);
    (void)snprintf(place_out->url, sizeof(place_out->url), "http://127.0.0.1:%d", launch.port);
    (void)snprintf(place_out->image_id, sizeof(place_out->image_id), "%s", bwrap_image_id(host));
    (void)snprintf(place_out->init_key, sizeof(place_out->init_key), "%s", launch.init_key);
    return 0;
}

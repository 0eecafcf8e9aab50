#include "runtime/runtime_settings.h"

#include <stddef.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/settings.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend_select.h"
#include "runtime/build/image_source.h"
#include "runtime/core/service.h"
#include "runtime/egress/dnsmasq_command.h"

#define FIELD(field) offsetof(struct runtime_settings, field)
#define SECCOMP_MAX_BYTES (1024UL * 1024)

static const struct setting runtime_settings_table[] = {
    {"DEFT_DATABASE_URL", SETTING_SECRET, NULL, FIELD(database_url),
     "libpq connection string or URI of PostgreSQL"},
    {"DEFT_SECRET_KEY", SETTING_SECRET, NULL, FIELD(root_key),
     "root key of the instance, 64 hex digits"},
    {"DEFT_RUNTIME_API_KEY", SETTING_SECRET, NULL, FIELD(api_key),
     "API key that clients send as X-API-Key"},
    {"DEFT_RUNTIME_ADMIN_KEY", SETTING_SECRET, "", FIELD(admin_key),
     "bearer token for /api/admin; empty: no access by token"},
    {"DEFT_RUNTIME_ADMIN_PASSWORD", SETTING_SECRET, "", FIELD(admin_password),
     "password of the administrator, exchanged for a temporary token; empty: no sign-in"},
    {"DEFT_RUNTIME_LISTEN", SETTING_TEXT, NULL, FIELD(listen), "path of the FastCGI socket"},
    {"DEFT_APP_URL", SETTING_TEXT, "http://localhost:3000", FIELD(app_url),
     "URL of the web page; previews are served from subdomains of its host"},
    {"DEFT_AGENT_URL", SETTING_TEXT, "http://localhost:8000", FIELD(agent_url),
     "URL of the agent API, through which external clients reach their sandboxes"},
    {"DEFT_TENANT_RUNTIMES", SETTING_COUNT, "10", FIELD(tenant_runtimes),
     "default limit of running sandboxes per Runtime API key"},
    {"DEFT_BUILDS", SETTING_BOOL, "1", FIELD(may_build),
     "1: clients may post contexts to build images from"},
    {"DEFT_BUILD_MS", SETTING_MS, "1200000", FIELD(docker.build_ms), "timeout of an image build"},
    {"DEFT_BUILD_MAX_BYTES", SETTING_BYTES, "67108864", FIELD(build_max_bytes),
     "maximum size of a build context, compressed"},
    {"DEFT_BUILD_MAX_UNPACKED_BYTES", SETTING_BYTES, "1073741824", FIELD(build_max_unpacked_bytes),
     "maximum size of a build context, unpacked"},
    {"DEFT_TENANT_IMAGES", SETTING_COUNT, "10", FIELD(tenant_images),
     "built images kept per Runtime API key; above that the oldest are removed"},
    {"DEFT_RUNTIME", SETTING_TEXT, "docker", FIELD(backend),
     "how sandboxes run: docker, in containers; process (or local), as processes of this host, "
     "with less isolation"},
    {"DEFT_PROCESS_DIR", SETTING_TEXT, "/var/lib/deft/sandboxes", FIELD(process.folder),
     "process: directory of sandboxes and their files"},
    {"DEFT_PROCESS_ROOT", SETTING_TEXT, "", FIELD(process.root),
     "process: root directory of the image of all sandboxes; empty: the host's programs"},
    {"DEFT_PROCESS_NETWORK", SETTING_TEXT, "none", FIELD(process.network),
     "process: none, or host: sandboxes then reach the host and every network it reaches"},
    {"DEFT_PROCESS_CGROUPS", SETTING_TEXT, "/sys/fs/cgroup", FIELD(process.cgroups),
     "process: cgroup file system used to limit and pause sandboxes; none: do not use cgroups"},
    {"DEFT_INSTANCE", SETTING_TEXT, "deft", FIELD(docker.instance),
     "prefix of container, volume and network names"},
    {"DEFT_SANDBOX_IMAGE", SETTING_TEXT, "deft-sandbox:1", FIELD(image),
     "default image of sandboxes"},
    {"DEFT_ACTION_BINARY", SETTING_TEXT, NULL, FIELD(docker.action_binary),
     "path of the static deft-action binary that runs in every sandbox"},
    {"DEFT_SANDBOX_CA_BUNDLE", SETTING_TEXT, "/etc/ssl/certs/ca-certificates.crt",
     FIELD(docker.ca_bundle), "CA bundle for sandboxes whose image has none; empty: none"},
    {"DEFT_DOCKER_SOCKET", SETTING_TEXT, "/var/run/docker.sock", FIELD(docker.socket),
     "socket of the container engine"},
    {"DEFT_DOCKER_API", SETTING_TEXT, "1.41", FIELD(docker.api_version),
     "version of the engine's API to use"},
    {"DEFT_SANDBOX_PULL", SETTING_BOOL, "1", FIELD(docker.may_pull),
     "1: pull images that are not on the host"},
    {"DEFT_REGISTRIES", SETTING_TEXT, IMAGE_SOURCE_DEFAULT, FIELD(docker.registries),
     "registries that images may be pulled from, separated by spaces; does not restrict "
     "DEFT_SANDBOX_IMAGE"},
    {"DEFT_SANDBOX_READY_MS", SETTING_MS, "30000", FIELD(docker.ready_ms),
     "time a sandbox has to become ready"},
    {"DEFT_SANDBOX_SPARES", SETTING_COUNT, "3", FIELD(docker.n_prealloc),
     "number of networks, and of workspaces, that are created in advance"},
    {"DEFT_WARM_LEAST", SETTING_COUNT, "1", FIELD(warm_least),
     "minimum size of the warm pool: started sandboxes with the default configuration"},
    {"DEFT_WARM_MOST", SETTING_COUNT, "4", FIELD(warm_most),
     "maximum size of the warm pool, all configurations, when demand is high; 0: no warm pool"},
    {"DEFT_SANDBOX_SUBNETS", SETTING_TEXT, "10.201.0.0/16", FIELD(docker.subnets),
     "IPv4 range of sandbox networks"},
    {"DEFT_SANDBOX_MEMORY_BYTES", SETTING_BYTES, "4294967296", FIELD(docker.profile.memory_bytes),
     "default memory of a sandbox"},
    {"DEFT_SANDBOX_MAX_MEMORY_BYTES", SETTING_BYTES, "68719476736", FIELD(max_memory_bytes),
     "maximum memory that a request may ask for"},
    {"DEFT_SANDBOX_NANO_CPUS", SETTING_COUNT, "2000000000", FIELD(docker.profile.nano_cpus),
     "default processors of a sandbox, in billionths"},
    {"DEFT_SANDBOX_MAX_NANO_CPUS", SETTING_COUNT, "64000000000", FIELD(max_nano_cpus),
     "maximum processors that a request may ask for, in billionths"},
    {"DEFT_SANDBOX_PIDS", SETTING_COUNT, "512", FIELD(docker.profile.n_pids),
     "processes and threads in a sandbox"},
    {"DEFT_SANDBOX_FILES", SETTING_COUNT, "8192", FIELD(docker.profile.n_files),
     "open files per process; 0: the engine's default"},
    {"DEFT_SANDBOX_OOM_SCORE", SETTING_COUNT, "500", FIELD(docker.profile.oom_score_adj),
     "OOM score adjustment of sandboxes; 0: the engine's default"},
    {"DEFT_SANDBOX_TMP_BYTES", SETTING_BYTES, "1073741824", FIELD(docker.profile.tmp_bytes),
     "size of /tmp"},
    {"DEFT_SANDBOX_DISK_BYTES", SETTING_BYTES, "10737418240", FIELD(docker.profile.disk_bytes),
     "limit of a workspace, of other written files (if the engine supports it), and of a single "
     "file; 0: no limit"},
    {"DEFT_SANDBOX_FREE_BYTES", SETTING_BYTES, "1073741824", FIELD(free_bytes),
     "minimum free space on the engine's disk for starting sandboxes; 0: no minimum"},
    {"DEFT_SANDBOX_FREE_FILES", SETTING_COUNT, "20000", FIELD(n_free_files),
     "minimum free inodes on the engine's disk for starting sandboxes; 0: no minimum"},
    {"DEFT_SANDBOX_SHM_BYTES", SETTING_BYTES, "268435456", FIELD(docker.profile.shm_bytes),
     "size of /dev/shm"},
    {"DEFT_SANDBOX_READ_ONLY", SETTING_BOOL, "0", FIELD(docker.profile.is_root_read_only),
     "1: only the workspace and /tmp are writable"},
    {"DEFT_SANDBOX_OCI_RUNTIME", SETTING_TEXT, "", FIELD(docker.profile.oci_runtime),
     "the engine's runtime, such as runsc; empty: its default"},
    {"DEFT_SANDBOX_SECCOMP", SETTING_TEXT, "", FIELD(seccomp_path),
     "file with a seccomp profile; empty: the engine's default"},
    {"OH_SANDBOX_EGRESS", SETTING_TEXT, "internet", FIELD(egress),
     "default egress policy of sandboxes: internet (public addresses only), none, list"},
    {"OH_SANDBOX_EGRESS_ALLOW", SETTING_TEXT, "", FIELD(egress_allow),
     "allow list for the policy list: host names, *.domains and IPv4 ranges, each with an optional "
     ":port"},
    {"DEFT_NETWORK_RULES", SETTING_BOOL, "1", FIELD(has_network_rules),
     "0: do not load packet filter rules; sandboxes then reach the host and its networks"},
    {"DEFT_RESOLVER_PORT", SETTING_COUNT, RESOLVER_PORT, FIELD(resolver_port),
     "port of deft-resolver at the gateways of sandboxes; allow lists use the next port"},
    {"DEFT_ORPHAN_GRACE_MS", SETTING_MS, "120000", FIELD(orphan_grace_ms),
     "age at which a container without a database row is removed"},
    {"DEFT_RECONCILE_MS", SETTING_MS, "60000", FIELD(reconcile_ms),
     "interval of comparing database rows with containers"},
    {"DEFT_RENEW_AFTER_MS", SETTING_MS, "60000", FIELD(renew_after_ms),
     "idle time after which a sandbox with an older deft-action is restarted"},
    {"OH_SANDBOX_LIFECYCLE_IDLE_SECONDS", SETTING_COUNT, "1200", FIELD(idle_s),
     "idle time, with no running program, after which a sandbox is paused; 0: never"},
    {"DEFT_STOP_AFTER_MS", SETTING_MS, "3600000", FIELD(stop_after_ms),
     "time after which a paused sandbox is stopped and keeps only its files; 0: never"},
    {"OH_SANDBOX_LIFECYCLE_MAX_SESSION_SECONDS", SETTING_COUNT, "43200", FIELD(max_session_s),
     "uptime after which a sandbox is paused even if programs run in it; 0: never"},
    {"OH_SANDBOX_LIFECYCLE_DELETE_AFTER_SECONDS", SETTING_COUNT, "5184000", FIELD(dead_s),
     "time after which a paused or stopped sandbox is deleted with its files; 0: never"},
    {"DEFT_RUNTIME_THREADS", SETTING_COUNT, "32", FIELD(n_threads),
     "number of concurrent requests"},
    {"DEFT_RUNTIME_STARTERS", SETTING_COUNT, "8", FIELD(n_starters), "number of concurrent starts"},
    {"LOG_LEVEL", SETTING_TEXT, "info", FIELD(log_level), "debug, info, warning or error"},
};

const struct process runtime_process = {
    .name = "deft-runtime",
    .help =
        "Usage: deft-runtime [--end | --reap | --help | --help-config | --version]\n"
        "Serves the Runtime API over FastCGI and keeps sandboxes in the state that their rows\n"
        "require. It is configured by environment variables: see --help-config.\n"
        "\n"
        "  --end   stop all sandboxes of this instance, keep their files, and exit\n"
        "  --reap  remove all containers, volumes, networks and rules of this instance, and exit\n",
    .settings = runtime_settings_table,
    .n_settings = ARRAY_SIZE(runtime_settings_table),
};

static int check_settings(const struct runtime_settings *settings, struct error *err)
{
    if (backend_select_check(settings, err) < 0)
        return -1;
    if (settings->resolver_port < RESOLVER_PORT_LEAST ||
        settings->resolver_port > RESOLVER_PORT_MOST)
        return error_set(err, ERROR_INVALID, "DEFT_RESOLVER_PORT: must be a port from %d to %d",
                         RESOLVER_PORT_LEAST, RESOLVER_PORT_MOST);
    if (settings->n_threads < 1 || settings->n_starters < 1 ||
        settings->n_threads + settings->n_starters > RUNTIME_THREADS_MAX)
        return error_set(err, ERROR_INVALID,
                         "DEFT_RUNTIME_THREADS and DEFT_RUNTIME_STARTERS: must be at least 1 each, "
                         "and at most %d together",
                         RUNTIME_THREADS_MAX);
    return 0;
}

int runtime_settings_read(struct runtime_settings *settings, struct strbuf *seccomp,
                          struct error *err)
{
    if (process_configure(&runtime_process, settings, &settings->log_level, err) < 0 ||
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

void runtime_settings_done(struct runtime_settings *settings)
{
    settings_done(runtime_settings_table, ARRAY_SIZE(runtime_settings_table), settings);
}

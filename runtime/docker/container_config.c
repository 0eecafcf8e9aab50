#include "runtime/docker/container_config.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/backend/sandbox_users.h"
#include "runtime/docker/docker_settings.h"

/*
 * deft-action starts as root, gives the journal to its own user, switches to that user, and drops
 * these capabilities for good, in the bounding set too, before it starts or reads anything of the
 * sandbox.
 */
#define START_CAPABILITIES "CHOWN", "DAC_READ_SEARCH", "SETGID", "SETPCAP", "SETUID"

static void push_variable(json_t *list, const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "%s=%s", name, value);
    json_push(list, json_text(text.text, text.len));
}

static void push_number(json_t *list, const char *name, unsigned value)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "%u", value);
    push_variable(list, name, text.text);
}

/* The start request's environment follows later, with the key. */
static json_t *create_environment(const struct docker_names *names,
                                  const struct sandbox_config *order)
{
    const struct sandbox_users users = sandbox_users_of_home(order->home);
    json_t *list = json_array();

    push_variable(list, "RUNTIME_ID", order->runtime_id);
    push_variable(list, "DEFT_ACTION_INIT_KEY", names->init_key);
    push_variable(list, OUTPUTS_SETTING, OUTPUTS_FOLDER);
    push_number(list, "DEFT_ACTION_SERVER_UID", users.server);
    push_number(list, "DEFT_ACTION_COMMAND_UID", users.command);
    push_number(list, "DEFT_ACTION_GID", users.group);
    push_number(list, "DEFT_ACTION_ACCOUNT_UID", SANDBOX_UID);
    return list;
}

static json_t *create_mounts(const struct docker_names *names, struct error *err)
{
    return json_build(
        err, "[{s:s, s:s, s:s, s:b, s:{s:b}}, {s:s, s:s, s:s, s:{s:b}}, {s:s, s:s, s:s, s:{s:b}}]",
        "Type", "volume", "Source", names->action_volume, "Target", ACTION_MOUNT, "ReadOnly", 1,
        "VolumeOptions", "NoCopy", 1,
        /* */
        "Type", "volume", "Source", names->journal_volume, "Target", JOURNAL_MOUNT, "VolumeOptions",
        "NoCopy", 1,
        /* */
        "Type", "volume", "Source", names->workspace_volume, "Target", WORKSPACE_MOUNT,
        "VolumeOptions", "NoCopy", 1);
}

static json_t *create_limits(const struct docker_profile *profile, struct error *err)
{
    json_auto_t *limits = json_array();

    if (profile->n_files > 0) {
        json_push(limits, json_build(err, "{s:s, s:I, s:I}", "Name", "nofile", "Soft",
                                     (json_int_t)(profile->n_files + 1) / 2, "Hard",
                                     (json_int_t)profile->n_files));
    }
    /* Even if the engine cannot limit disk use, no single file exceeds the total limit. */
    if (profile->disk_bytes > 0) {
        json_push(limits, json_build(err, "{s:s, s:I, s:I}", "Name", "fsize", "Soft",
                                     (json_int_t)profile->disk_bytes, "Hard",
                                     (json_int_t)profile->disk_bytes));
    }
    if (profile->n_of_user > 0) {
        json_push(limits, json_build(err, "{s:s, s:I, s:I}", "Name", "nproc", "Soft",
                                     (json_int_t)profile->n_of_user, "Hard",
                                     (json_int_t)profile->n_of_user));
    }
    json_push(limits, json_build(err, "{s:s, s:I, s:I}", "Name", "core", "Soft", (json_int_t)0,
                                 "Hard", (json_int_t)0));
    return json_incref(limits);
}

static json_t *create_security(const struct docker_profile *profile)
{
    json_t *options = json_array();

    json_push(options, json_text_of("no-new-privileges:true"));
    if (profile->seccomp_profile[0] != '\0') {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        strbuf_appendf(&text, "seccomp=%s", profile->seccomp_profile);
        json_push(options, json_text(text.text, text.len));
    }
    return options;
}

/* Limits of memory, processors, processes and files. */
static void put_resources(json_t *host, const struct docker_profile *profile,
                          const struct sandbox_config *order, struct error *err)
{
    int64_t memory = order->memory_bytes > 0 ? order->memory_bytes : profile->memory_bytes;
    int64_t cpus = order->nano_cpus > 0 ? order->nano_cpus : profile->nano_cpus;

    json_put(host, "Memory", json_integer(memory));
    json_put(host, "MemorySwap", json_integer(memory));
    json_put(host, "NanoCpus", json_integer(cpus));
    json_put(host, "CpuShares", json_integer(512));
    json_put(host, "PidsLimit", json_integer(profile->n_pids));
    json_put(host, "ShmSize", json_integer(profile->shm_bytes));
    json_put(host, "Ulimits", create_limits(profile, err));
    if (profile->layer_bytes > 0) {
        CLEANUP(strbuf_done) struct strbuf size = STRBUF_INIT;

        strbuf_appendf(&size, "%lld", (long long)profile->layer_bytes);
        json_put(host, "StorageOpt", json_build(err, "{s:s}", "size", size.text));
    }
    if (profile->oom_score_adj > 0)
        json_put(host, "OomScoreAdj", json_integer(profile->oom_score_adj));
}

/* A tmpfs is noexec by default and has the image's owner; its mode is always the image's. */
static json_t *create_tmpfs(const struct docker_profile *profile,
                            const struct sandbox_config *order, struct error *err)
{
    const struct sandbox_users users = sandbox_users_of_home(order->home);
    CLEANUP(strbuf_done) struct strbuf options = STRBUF_INIT;

    strbuf_appendf(&options, "rw,exec,nosuid,nodev,mode=1777,size=%lld",
                   (long long)profile->tmp_bytes);
    if (!profile->is_for_podman)
        strbuf_appendf(&options, ",uid=%u,gid=%u", users.command, users.group);
    return json_build(err, "{s:s}", "/tmp", options.text);
}

/*
 * Omits the host's search domains. Short timeouts, so that lookups fail within seconds if no name
 * server responds: the engine's own resolver does not report that.
 */
static void put_resolver(json_t *host, struct error *err)
{
    json_put(host, "Dns", json_build(err, "[s]", EGRESS_NAME_SERVER));
    json_put(host, "DnsSearch", json_build(err, "[s]", "."));
    json_put(host, "DnsOptions", json_build(err, "[s,s]", "timeout:2", "attempts:3"));
}

static json_t *create_host(const struct docker_profile *profile, const struct docker_names *names,
                           const struct sandbox_config *order, struct error *err)
{
    json_auto_t *host = json_build(
        err,
        "{s:b, s:[s], s:[s,s,s,s,s], s:b, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:{}, s:[], "
        "s:[], s:[],"
        " s:[], s:[], s:{s:s, s:I}, s:{s:s, s:{s:s, s:s}}}",
        "Privileged", 0, "CapDrop", "ALL", "CapAdd", START_CAPABILITIES, "ReadonlyRootfs",
        profile->is_root_read_only != 0, "Init", 0, "IpcMode", "private", "PidMode", "", "UTSMode",
        "", "UsernsMode", "", "CgroupnsMode", "private", "NetworkMode", names->network,
        "PublishAllPorts", 0, "PortBindings", "ExtraHosts", "Links", "Binds", "Devices",
        "DeviceCgroupRules", "RestartPolicy", "Name", "no", "MaximumRetryCount", (json_int_t)0,
        "LogConfig", "Type", profile->is_for_podman ? "json-file" : "local", "Config", "max-size",
        "1m", "max-file", "2");

    if (host == NULL)
        return NULL;
    put_resources(host, profile, order, err);
    json_put(host, "SecurityOpt", create_security(profile));
    json_put(host, "Tmpfs", create_tmpfs(profile, order, err));
    json_put(host, "Mounts", create_mounts(names, err));
    if (profile->has_resolver)
        put_resolver(host, err);
    if (profile->oci_runtime[0] != '\0')
        json_put_text(host, "Runtime", profile->oci_runtime);
    return json_incref(host);
}

json_t *docker_labels(const char *instance, const char *role, struct error *err)
{
    return json_build(err, "{s:s, s:s, s:s}", LABEL_MANAGED, "1", LABEL_INSTANCE, instance,
                      LABEL_ROLE, role);
}

static json_t *create_sandbox_labels(const char *instance, const struct sandbox_config *order,
                                     struct error *err)
{
    json_t *labels = docker_labels(instance, "sandbox", err);

    if (labels == NULL)
        return NULL;
    json_put_text(labels, LABEL_RUNTIME, order->runtime_id);
    if (order->session_id[0] != '\0')
        json_put_text(labels, LABEL_SESSION, order->session_id);
    if (order->conversation_id[0] != '\0')
        json_put_text(labels, LABEL_CONVERSATION, order->conversation_id);
    return labels;
}

json_t *container_config_json(const struct docker_profile *profile,
                              const struct docker_names *names, const struct sandbox_config *order,
                              struct error *err)
{
    json_auto_t *environment = create_environment(names, order);
    json_auto_t *host = NULL;
    json_auto_t *labels = NULL;

    host = create_host(profile, names, order, err);
    labels = create_sandbox_labels(names->instance, order, err);
    if (host == NULL || labels == NULL)
        return NULL;
    /* A command may have removed the project folder; its parent always exists. */
    return json_build(
        err, "{s:s, s:[s], s:[], s:s, s:s, s:s, s:b, s:b, s:b, s:{s:[s]}, s:s, s:O, s:O, s:O}",
        "Image", order->image, "Entrypoint", ACTION_MOUNT "/" ACTION_NAME, "Cmd", "User", "0:0",
        "WorkingDir", WORKSPACE_MOUNT, "Hostname", "sandbox", "Tty", 0, "OpenStdin", 0,
        "AttachStdin", 0, "Healthcheck", "Test", "NONE", "StopSignal", "SIGTERM", "Env",
        environment, "Labels", labels, "HostConfig", host);
}

json_t *container_config_helper_json(const char *instance, const char *image, const char *volume,
                                     const char *target, struct error *err)
{
    json_auto_t *labels = docker_labels(instance, "helper", err);

    if (labels == NULL)
        return NULL;
    return json_build(err, "{s:s, s:[s], s:O, s:{s:s, s:[{s:s, s:s, s:s, s:{s:b}}]}}", "Image",
                      image, "Entrypoint", "/none", "Labels", labels, "HostConfig", "NetworkMode",
                      "none", "Mounts", "Type", "volume", "Source", volume, "Target", target,
                      "VolumeOptions", "NoCopy", 1);
}

/* Networks and homes: creation, removal, and spares made in advance. */
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/backend/bridge.h"
#include "runtime/backend/layout.h"
#include "runtime/backend/sandbox_users.h"
#include "runtime/backend/subnet.h"
#include "runtime/docker/docker_body.h"
#include "runtime/docker/docker_parts.h"
#include "runtime/docker/tar.h"

/* Another network may use a subnet already; then another one is tried. */
#define SUBNET_TRIES 8
#define SUBNETS_LOOKED_AT 64
#define ROUTES_MAX_BYTES (8UL * 1024 * 1024)
/* The oldest version whose network API has these members. */
#define PODMAN_API "4.0.0"

static void random_id(char id[HOME_ID_BYTES])
{
    unsigned char bytes[(HOME_ID_BYTES - 1) / 2];

    crypto_random(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), id);
}

static int call(struct docker *docker, const char *method, const char *path, const json_t *body,
                json_t **reply_out, struct error *err)
{
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = method, .path = path, .body = body},
                       reply_out, err);
}

/* --- networks --- */

static json_t *create_network_body(const struct docker *docker, const char *id, const char *name,
                                   const char *subnet, struct error *err)
{
    json_auto_t *labels = docker_labels(docker->settings.instance, "network", err);
    json_t *body = NULL;
    char bridge[BRIDGE_NAME_BYTES] = "";

    if (labels == NULL)
        return NULL;
    bridge_name(id, bridge);
    /* Not internal: sandboxes may reach the internet; packet filter rules restrict the rest. */
    body = json_build(err, "{s:s, s:s, s:b, s:b, s:O, s:{s:s, s:s}}", "Name", name, "Driver",
                      "bridge", "EnableIPv6", 0, "CheckDuplicate", 1, "Labels", labels, "Options",
                      "com.docker.network.bridge.name", bridge,
                      "com.docker.network.bridge.enable_icc", "false");
    if (body != NULL && subnet[0] != '\0')
        json_put(body, "IPAM", json_build(err, "{s:[{s:s}]}", "Config", "Subnet", subnet));
    return body;
}

/*
 * Podman's native API: only that one can create a network without a DNS server of its own, so that
 * sandboxes use deft's, as with Docker.
 */
static int post_podman_network(struct docker *docker, const char *id, const char *name,
                               const char *subnet, struct error *err)
{
    json_auto_t *labels = docker_labels(docker->settings.instance, "network", err);
    json_auto_t *body = NULL;
    struct engine podman = docker->engine;
    char bridge[BRIDGE_NAME_BYTES] = "";

    if (labels == NULL)
        return -1;
    bridge_name(id, bridge);
    podman.version = PODMAN_API;
    body = json_build(err, "{s:s, s:s, s:s, s:b, s:b, s:O}", "name", name, "driver", "bridge",
                      "network_interface", bridge, "ipv6_enabled", 0, "dns_enabled", 0, "labels",
                      labels);
    if (body == NULL)
        return -1;
    if (subnet[0] != '\0')
        json_put(body, "subnets", json_build(err, "[{s:s}]", "subnet", subnet));
    return engine_call(
        &podman,
        &(struct engine_request){.method = "POST", .path = "/libpod/networks/create", .body = body},
        NULL, err);
}

static int post_network(struct docker *docker, const char *id, const char *name, const char *subnet,
                        struct error *err)
{
    json_auto_t *body = NULL;

    if (docker_is_podman(docker))
        return post_podman_network(docker, id, name, subnet, err);
    body = create_network_body(docker, id, name, subnet, err);
    return body == NULL ? -1 : call(docker, "POST", "/networks/create", body, NULL, err);
}

static int try_network(struct docker *docker, const char *subnet, char name_out[SPARE_NAME_BYTES],
                       struct error *err)
{
    char id[BRIDGE_ID_BYTES] = "";
    char name[SPARE_NAME_BYTES] = "";

    bridge_new_id(docker->settings.instance, id);
    bridge_network_name(docker->settings.instance, id, name);
    /* Registered before it exists, so that a concurrent sweep does not remove it. */
    spares_hold(docker->spares, SPARE_NETWORK, name);
    if (post_network(docker, id, name, subnet, err) < 0) {
        spares_forget(docker->spares, SPARE_NETWORK, name);
        return -1;
    }
    memcpy(name_out, name, sizeof(name));
    return 0;
}

/* A subnet without a host route into it, or "" if none was found. */
static int choose_subnet(const struct docker *docker, char subnet_out[SUBNET_TEXT_BYTES],
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf routes = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    uint32_t n = 0;

    error_ignore(file_read("/proc/net/route", ROUTES_MAX_BYTES, &routes, &ignored),
                 "then the engine has to know");
    crypto_random(&n, sizeof(n));
    for (uint32_t i = 0; i < SUBNETS_LOOKED_AT; i++) {
        if (subnet_of_range(docker->settings.subnets, n + i, subnet_out, err) < 0)
            return -1;
        if (!subnet_is_routed(subnet_out, routes.text))
            return 0;
    }
    log_warning("subnet.not_found", LOG_STR("range", docker->settings.subnets));
    subnet_out[0] = '\0';
    return 0;
}

int docker_make_network(struct docker *docker, char name_out[SPARE_NAME_BYTES], struct error *err)
{
    for (int i = 0; i < SUBNET_TRIES; i++) {
        char subnet[SUBNET_TEXT_BYTES] = "";

        if (choose_subnet(docker, subnet, err) < 0)
            return -1;
        if (try_network(docker, subnet, name_out, err) == 0)
            return 0;
        if (error_is_transient(err))
            return -1;
    }
    log_warning("subnet.refused", LOG_STR("range", docker->settings.subnets), LOG_ERROR(err));
    return try_network(docker, "", name_out, err);
}

int docker_remove_network(struct docker *docker, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, "/networks/");
    percent_append(&path, name);
    if (call(docker, "DELETE", path.text, NULL, NULL, err) < 0 && err->code != ERROR_NOT_FOUND)
        return error_wrap(err, "removing network %s", name);
    spares_forget(docker->spares, SPARE_NETWORK, name);
    return 0;
}

/* --- homes --- */

/* The folders belong to the sandbox's users, whatever the image contains. */
static void append_home_archive(const char *home, struct strbuf *archive)
{
    const struct sandbox_users users = sandbox_users_of_home(home);
    const struct tar_entry folders[] = {
        {.name = "workspace/", .mode = 0755, .owner = users.command, .group = users.group},
        {.name = "workspace/project/", .mode = 0755, .owner = users.command, .group = users.group},
        {.name = ".deft-j/", .mode = 0700, .owner = users.server, .group = users.group},
    };

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        tar_append_directory(archive, &folders[i]);
    tar_append_end(archive);
}

static int fill_home(struct docker *docker, const char *home, const char *workspace,
                     const char *journal, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;
    json_auto_t *body = docker_helper_body(docker->settings.instance, docker->empty_image,
                                           workspace, WORKSPACE_MOUNT, err);

    if (body == NULL)
        return -1;
    json_array_append_new(json_object_get(json_object_get(body, "HostConfig"), "Mounts"),
                          json_build(err, "{s:s, s:s, s:s, s:{s:b}}", "Type", "volume", "Source",
                                     journal, "Target", JOURNAL_MOUNT, "VolumeOptions", "NoCopy",
                                     1));
    append_home_archive(home, &archive);
    return docker_fill_volumes(docker, body, &archive, err);
}

/* User pairs of all homes on this engine, other services' included. */
static int list_users(struct docker *docker, struct users_in_use *users_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *reply = NULL;
    const json_t *volume = NULL;
    size_t i = 0;

    strbuf_append(&path, "/volumes?");
    engine_append_label_filter(&path, LABEL_MANAGED, "1");
    if (call(docker, "GET", path.text, NULL, &reply, err) < 0)
        return -1;
    json_array_foreach (json_object_get(reply, "Volumes"), i, volume)
        users_in_use_add(users_out, json_text_or(volume, "Name", ""));
    return 0;
}

static int take_users(struct docker *docker, unsigned *command_out, struct error *err)
{
    struct users_in_use others = {.bits = {0}};
    uint32_t start = 0;
    bool is_taken = false;

    if (list_users(docker, &others, err) < 0)
        return -1;
    crypto_random(&start, sizeof(start));
    lock_take(&docker->lock);
    is_taken = users_in_use_take(&docker->users, &others, start, command_out);
    lock_release(&docker->lock);
    if (!is_taken)
        return error_set(err, ERROR_UNAVAILABLE,
                         "all %d pairs of users are in use by workspaces on this engine; delete "
                         "sandboxes that are no longer needed",
                         USERS_PAIRS);
    return 0;
}

void docker_hold_users(struct docker *docker, const char *home)
{
    lock_take(&docker->lock);
    users_in_use_add(&docker->users, home);
    lock_release(&docker->lock);
}

void docker_release_users(struct docker *docker, const char *home)
{
    lock_take(&docker->lock);
    users_in_use_remove(&docker->users, home);
    lock_release(&docker->lock);
}

static int name_home(struct docker *docker, char home_out[SPARE_NAME_BYTES], struct error *err)
{
    char id[HOME_ID_BYTES] = "";
    unsigned command = 0;

    if (take_users(docker, &command, err) < 0)
        return -1;
    random_id(id);
    (void)snprintf(home_out, SPARE_NAME_BYTES, "%s-%u", id, command);
    return 0;
}

int docker_make_home(struct docker *docker, char home_out[SPARE_NAME_BYTES], struct error *err)
{
    char home[SPARE_NAME_BYTES] = "";
    char workspace[DOCKER_NAME_BYTES] = "";
    char journal[DOCKER_NAME_BYTES] = "";
    int64_t size_bytes = docker_volume_limit(docker);

    if (name_home(docker, home, err) < 0)
        return error_wrap(err, "making a workspace");
    docker_workspace_name(docker, home, workspace);
    docker_journal_name(docker, home, journal);
    spares_hold(docker->spares, SPARE_HOME, home);
    if (docker_make_volume(docker, workspace, "workspace", size_bytes, err) < 0 ||
        docker_make_volume(docker, journal, "journal", size_bytes, err) < 0 ||
        fill_home(docker, home, workspace, journal, err) < 0) {
        spares_forget(docker->spares, SPARE_HOME, home);
        docker_release_users(docker, home);
        return error_wrap(err, "making a workspace");
    }
    (void)snprintf(home_out, SPARE_NAME_BYTES, "%s", home);
    return 0;
}

static int list_helpers(struct docker *docker, const char *volume, json_t **list_out,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf filter = STRBUF_INIT;

    strbuf_appendf(&filter,
                   "{\"volume\":[\"%s\"],\"label\":[\"" LABEL_ROLE "=helper\",\"" LABEL_INSTANCE
                   "=%s\"]}",
                   volume, docker->settings.instance);
    strbuf_append(&path, "/containers/json?all=1&filters=");
    percent_append(&path, filter.text);
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = "GET", .path = path.text}, list_out, err);
}

/* A helper that filled a home and was left by an engine's shutdown keeps the volume in use. */
static int remove_helpers(struct docker *docker, const char *volume, struct error *err)
{
    json_auto_t *helpers = NULL;
    const json_t *helper = NULL;
    size_t i = 0;

    if (list_helpers(docker, volume, &helpers, err) < 0)
        return -1;
    json_array_foreach (helpers, i, helper) {
        if (docker_remove_container(docker, json_text_or(helper, "Id", ""), err) < 0)
            return -1;
    }
    return 0;
}

static int remove_home_volume(struct docker *docker, const char *name, struct error *err)
{
    if (docker_remove_volume(docker, name, err) == 0)
        return 0;
    if (err->code != ERROR_CONFLICT || remove_helpers(docker, name, err) < 0)
        return -1;
    return docker_remove_volume(docker, name, err);
}

int docker_remove_home(struct docker *docker, const char *home, struct error *err)
{
    char name[DOCKER_NAME_BYTES] = "";

    docker_hold_users(docker, home);
    docker_workspace_name(docker, home, name);
    if (remove_home_volume(docker, name, err) < 0)
        return -1;
    docker_journal_name(docker, home, name);
    if (remove_home_volume(docker, name, err) < 0)
        return -1;
    spares_forget(docker->spares, SPARE_HOME, home);
    docker_release_users(docker, home);
    return 0;
}

/* --- keeping ready --- */

int docker_refill(struct docker *docker, bool *is_full_out, struct error *err)
{
    size_t wanted = (size_t)docker->settings.n_spares;
    char name[SPARE_NAME_BYTES] = "";

    *is_full_out = false;
    if (spares_n_ready(docker->spares, SPARE_NETWORK) < wanted) {
        if (docker_make_network(docker, name, err) < 0)
            return -1;
        spares_give(docker->spares, SPARE_NETWORK, name);
        return 0;
    }
    if (spares_n_ready(docker->spares, SPARE_HOME) < wanted) {
        if (docker_make_home(docker, name, err) < 0)
            return -1;
        spares_give(docker->spares, SPARE_HOME, name);
        return 0;
    }
    *is_full_out = true;
    return 0;
}

#include "runtime/docker/network.h"

#include <string.h>

#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "runtime/backend/bridge.h"
#include "runtime/backend/subnet.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/docker.h"

/* Another network may use a subnet already; then another one is tried. */
#define SUBNET_TRIES 8
#define SUBNETS_LOOKED_AT 64
#define ROUTES_MAX_BYTES (8UL * 1024 * 1024)
/* The oldest version whose network API has these members. */
#define PODMAN_API "4.0.0"

static int call(struct docker *docker, const char *method, const char *path, const json_t *body,
                json_t **reply_out, struct error *err)
{
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = method, .path = path, .body = body},
                       reply_out, err);
}

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

static int try_network(struct docker *docker, const char *subnet,
                       char name_out[PREALLOC_NAME_BYTES], struct error *err)
{
    char id[BRIDGE_ID_BYTES] = "";
    char name[PREALLOC_NAME_BYTES] = "";

    bridge_new_id(docker->settings.instance, id);
    bridge_network_name(docker->settings.instance, id, name);
    /* Registered before it exists, so that a concurrent sweep does not remove it. */
    prealloc_add_used(docker->prealloc, PREALLOC_NETWORK, name);
    if (post_network(docker, id, name, subnet, err) < 0) {
        prealloc_forget(docker->prealloc, PREALLOC_NETWORK, name);
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
                 "the engine then checks the subnet itself");
    crypto_random(&n, sizeof(n));
    for (uint32_t i = 0; i < SUBNETS_LOOKED_AT; i++) {
        if (subnet_of_range(docker->settings.subnets, n + i, subnet_out, err) < 0)
            return -1;
        if (!subnet_is_routed(subnet_out, routes.text))
            return 0;
    }
    log_warning("subnet.range_exhausted", LOG_STR("range", docker->settings.subnets));
    subnet_out[0] = '\0';
    return 0;
}

int docker_make_network(struct docker *docker, char name_out[PREALLOC_NAME_BYTES],
                        struct error *err)
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
    log_warning("subnet.rejected", LOG_STR("range", docker->settings.subnets), LOG_ERROR(err));
    return try_network(docker, "", name_out, err);
}

int docker_remove_network(struct docker *docker, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, "/networks/");
    percent_append(&path, name);
    if (call(docker, "DELETE", path.text, NULL, NULL, err) < 0 && err->code != ERROR_NOT_FOUND)
        return error_wrap(err, "removing network %s", name);
    prealloc_forget(docker->prealloc, PREALLOC_NETWORK, name);
    return 0;
}

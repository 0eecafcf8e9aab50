#include "runtime/docker/cleanup.h"

#include <string.h>

#include <jansson.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/bridge.h"
#include "runtime/docker/container.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/container_events.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/home_volumes.h"
#include "runtime/docker/image_build.h"
#include "runtime/docker/network.h"
#include "runtime/docker/volume.h"

static bool is_among(char (*names)[BACKEND_NAME_BYTES], size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (text_equal(names[i], name))
            return true;
    }
    return false;
}

static int list_ours(struct docker *docker, const char *what, json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/%s?", what);
    engine_append_label_filter(&path, LABEL_INSTANCE, docker->settings.instance);
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = "GET", .path = path.text}, reply_out,
                       err);
}

/* The home in a volume's name, after "<instance>-ws-" or "<instance>-j-"; NULL for others. */
static const char *home_of_volume(const struct docker *docker, const char *name)
{
    const char *rest = name + strlen(docker->settings.instance);

    if (!text_starts_with(name, docker->settings.instance))
        return NULL;
    if (text_starts_with(rest, "-ws-"))
        return rest + strlen("-ws-");
    if (text_starts_with(rest, "-j-"))
        return rest + strlen("-j-");
    return NULL;
}

static bool is_known_network(struct docker *docker, const char *name)
{
    return prealloc_has(docker->prealloc, PREALLOC_NETWORK, name);
}

static bool is_known_volume(struct docker *docker, const char *name)
{
    const char *home = home_of_volume(docker, name);

    return home != NULL ? prealloc_has(docker->prealloc, PREALLOC_HOME, home)
                        : text_equal(name, docker->action_volume);
}

/* Objects that are neither ready for use nor in use: they belong to a row or are leftovers. */
static json_t *find_unknown(struct docker *docker, const json_t *things,
                            bool (*is_known)(struct docker *docker, const char *name))
{
    json_t *unknown = json_array();
    size_t i = 0;
    const json_t *thing = NULL;

    json_array_foreach (things, i, thing) {
        const char *name = json_text_or(thing, "Name", "");

        if (!is_known(docker, name))
            json_push(unknown, json_text_of(name));
    }
    return unknown;
}

static void sweep_networks(struct docker *docker, const json_t *names,
                           const struct kept_names *kept)
{
    size_t i = 0;
    const json_t *item = NULL;

    json_array_foreach (names, i, item) {
        const char *name = json_string_value(item);
        struct error err = ERROR_INIT;

        if (is_among(kept->networks, kept->n_networks, name))
            continue;
        /* If a container still uses it, the next sweep removes it. */
        if (docker_remove_network(docker, name, &err) < 0)
            log_warning("network.remove_failed", LOG_STR("network", name), LOG_ERROR(&err));
        else
            log_info("network.removed", LOG_STR("network", name));
    }
}

static void sweep_volumes(struct docker *docker, const json_t *names, const struct kept_names *kept)
{
    size_t i = 0;
    const json_t *item = NULL;

    json_array_foreach (names, i, item) {
        const char *name = json_string_value(item);
        const char *home = home_of_volume(docker, name);
        struct error err = ERROR_INIT;

        if (home != NULL && is_among(kept->homes, kept->n_homes, home))
            continue;
        docker_hold_users(docker, name);
        /* An older deft-action's volume can be removed once its last sandbox is gone. */
        if (docker_remove_volume(docker, name, &err) == 0) {
            docker_release_users(docker, name);
            log_info("volume.removed", LOG_STR("volume", name));
        } else if (err.code != ERROR_CONFLICT)
            log_warning("volume.remove_failed", LOG_STR("volume", name), LOG_ERROR(&err));
        else
            log_debug("volume.in_use", LOG_STR("volume", name), LOG_ERROR(&err));
    }
}

/* --- steps of builds --- */

/*
 * A build step's container has no label: it is identified by its network. A running build's network
 * is registered as handed out; sandboxes and helpers have labels.
 */
static bool is_lost_step(struct docker *docker, const json_t *container)
{
    const char *network = json_text_or(json_object_get(container, "HostConfig"), "NetworkMode", "");

    return json_object_get(json_object_get(container, "Labels"), LABEL_INSTANCE) == NULL &&
           bridge_is_seen(docker->settings.instance, network) && !is_known_network(docker, network);
}

static void remove_lost_step(struct docker *docker, const json_t *container)
{
    const char *id = json_text_or(container, "Id", "");
    struct error err = ERROR_INIT;

    if (docker_remove_container(docker, id, &err) < 0) {
        log_warning("container.remove_failed", LOG_STR("container_id", id), LOG_ERROR(&err));
        return;
    }
    log_info("build_step.removed", LOG_STR("container_id", id));
    docker_remove_step(docker, json_text_or(container, "ImageID", ""));
}

/* An engine that was killed during a build does not clean up after it. */
static int sweep_steps(struct docker *docker, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *containers = NULL;
    const json_t *container = NULL;
    size_t i = 0;

    strbuf_append(&path, "/containers/json?all=1&filters=");
    percent_append(&path, "{\"status\":[\"created\",\"exited\"]}");
    if (engine_call(&docker->engine, &(struct engine_request){.method = "GET", .path = path.text},
                    &containers, err) < 0)
        return -1;
    json_array_foreach (containers, i, container) {
        if (is_lost_step(docker, container))
            remove_lost_step(docker, container);
    }
    return 0;
}

/* One made in advance that cannot be removed now is forgotten, so that the next sweep removes it.
 */
static void remove_ready(struct docker *docker, enum prealloc_kind kind, const char *name)
{
    struct error err = ERROR_INIT;
    int rc = kind == PREALLOC_NETWORK ? docker_remove_network(docker, name, &err)
                                      : docker_remove_home(docker, name, &err);

    if (rc == 0)
        return;
    log_debug("prealloc.remove_failed", LOG_STR("name", name), LOG_ERROR(&err));
    prealloc_forget(docker->prealloc, kind, name);
}

/* Requests that lost a race may have returned more than is wanted. */
static void trim(struct docker *docker)
{
    static const enum prealloc_kind kinds[] = {PREALLOC_NETWORK, PREALLOC_HOME};
    size_t wanted = (size_t)docker->settings.n_prealloc;
    char name[PREALLOC_NAME_BYTES] = "";

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        while (prealloc_n_ready(docker->prealloc, kinds[i]) > wanted &&
               prealloc_take(docker->prealloc, kinds[i], name))
            remove_ready(docker, kinds[i], name);
    }
}

/*
 * Order matters: first the engine's objects, then those handed out, then those in rows. An object
 * only moves from handed out to rows, so one in neither is a leftover.
 */
int docker_remove_leftovers(struct docker *docker, const struct kept_source *source,
                            struct error *err)
{
    CLEANUP(kept_names_done) struct kept_names kept = {.networks = NULL};
    json_auto_t *networks = NULL;
    json_auto_t *volumes = NULL;
    json_auto_t *unknown_networks = NULL;
    json_auto_t *unknown_volumes = NULL;

    if (list_ours(docker, "networks", &networks, err) < 0 ||
        list_ours(docker, "volumes", &volumes, err) < 0)
        return -1;
    unknown_networks = find_unknown(docker, networks, is_known_network);
    unknown_volumes = find_unknown(docker, json_object_get(volumes, "Volumes"), is_known_volume);
    if (source->load(source->context, &kept, err) < 0)
        return -1;
    sweep_networks(docker, unknown_networks, &kept);
    sweep_volumes(docker, unknown_volumes, &kept);
    trim(docker);
    return sweep_steps(docker, err);
}

static int keep_nothing(void *context, struct kept_names *kept_out, struct error *err)
{
    (void)context;
    (void)kept_out;
    (void)err;
    return 0;
}

int docker_remove_all(struct docker *docker, struct error *err)
{
    CLEANUP(seen_list_done) struct seen_list list = {.items = NULL};
    const struct kept_source nobody = {.load = keep_nothing};

    if (docker_list_containers(docker, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        if (docker_remove_container(docker, list.items[i].container_id, err) < 0)
            return -1;
    }
    prealloc_clear(docker->prealloc);
    docker->action_volume[0] = '\0';
    if (docker_remove_images(docker, err) < 0)
        return -1;
    return docker_remove_leftovers(docker, &nobody, err);
}

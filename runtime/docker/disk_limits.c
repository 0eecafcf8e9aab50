#include "runtime/docker/disk_limits.h"

#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/log.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/docker/container.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/volume.h"

int docker_free_space(struct docker *docker, struct backend_space *space_out, struct error *err)
{
    char root[sizeof(docker->root)] = "";

    lock_take(&docker->lock);
    (void)snprintf(root, sizeof(root), "%s", docker->root);
    lock_release(&docker->lock);
    /* The engine runs in a machine of its own. */
    if (root[0] == '\0')
        return error_set(err, ERROR_NOT_FOUND, "the engine's disk is not visible to this process");
    return backend_read_room(root, space_out, err);
}

static int try_layer(struct docker *docker, const char *volume, struct error *err)
{
    json_auto_t *options = docker_size_option(docker->settings.profile.disk_bytes, err);
    json_auto_t *reply = NULL;
    json_auto_t *body = NULL;

    if (options == NULL)
        return -1;
    body = container_config_helper_json(docker->settings.instance, docker->empty_image, volume,
                                        WORKSPACE_MOUNT, err);
    if (body == NULL)
        return -1;
    json_put(json_object_get(body, "HostConfig"), "StorageOpt", json_incref(options));
    if (docker_make_helper(docker, body, &reply, err) < 0)
        return -1;
    return docker_remove_container(docker, json_text_or(reply, "Id", ""), err);
}

/* Depends on storage driver and mount options; the engine reports it only when tried. */
void docker_detect_limits(struct docker *docker)
{
    struct error volume_err = ERROR_INIT;
    struct error layer_err = ERROR_INIT;
    struct error removal = ERROR_INIT;
    char name[DOCKER_NAME_BYTES] = "";
    bool has_volume = false;
    bool has_layer = false;

    if (docker->settings.profile.disk_bytes == 0)
        return;
    (void)snprintf(name, sizeof(name), "%s-probe", docker->settings.instance);
    has_volume = docker_make_volume(docker, name, "probe", docker->settings.profile.disk_bytes,
                                    &volume_err) == 0;
    has_layer = try_layer(docker, name, &layer_err) == 0;
    if (docker_remove_volume(docker, name, &removal) < 0)
        log_debug("volume.remove_failed", LOG_STR("volume", name), LOG_ERROR(&removal));
    lock_take(&docker->lock);
    /* Podman accepts a volume's size, and fails only at the mount if it cannot limit it. */
    docker->limits_volumes = has_volume && !docker->is_podman;
    docker->limits_layers = has_layer;
    lock_release(&docker->lock);
    log_info("disk_limit.checked", LOG_STR("workspaces", has_volume ? "held" : volume_err.message),
             LOG_STR("layers", has_layer ? "held" : layer_err.message));
}

int64_t docker_volume_limit(struct docker *docker)
{
    bool is_held = false;

    lock_take(&docker->lock);
    is_held = docker->limits_volumes;
    lock_release(&docker->lock);
    return is_held ? docker->settings.profile.disk_bytes : 0;
}

int64_t docker_layer_limit(struct docker *docker)
{
    bool is_held = false;

    lock_take(&docker->lock);
    is_held = docker->limits_layers;
    lock_release(&docker->lock);
    return is_held ? docker->settings.profile.disk_bytes : 0;
}

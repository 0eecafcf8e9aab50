#include "runtime/docker/docker_backend.h"

#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "runtime/docker/cleanup.h"
#include "runtime/docker/container.h"
#include "runtime/docker/container_events.h"
#include "runtime/docker/container_idle.h"
#include "runtime/docker/container_pause.h"
#include "runtime/docker/container_start.h"
#include "runtime/docker/disk_limits.h"
#include "runtime/docker/docker.h"
#include "runtime/docker/home_volumes.h"
#include "runtime/docker/image_build.h"
#include "runtime/docker/image_lookup.h"
#include "runtime/docker/network.h"
#include "runtime/docker/prealloc_refill.h"
#include "runtime/docker/shared_objects.h"

static struct docker *docker_of(struct backend *backend)
{
    return (struct docker *)(void *)backend;
}

static const char *do_name(struct backend *backend)
{
    return docker_is_podman(docker_of(backend)) ? "podman" : "docker";
}

static int do_check(struct backend *backend, struct error *err)
{
    struct docker *docker = docker_of(backend);
    bool is_up = false;

    lock_take(&docker->lock);
    is_up = docker->state.code == ERROR_NONE;
    if (!is_up)
        error_set(err, ERROR_UNAVAILABLE, "sandboxes cannot be started now: %.180s",
                  docker->state.message);
    lock_release(&docker->lock);
    return is_up ? 0 : -1;
}

static int do_space(struct backend *backend, struct backend_space *space_out, struct error *err)
{
    return docker_free_space(docker_of(backend), space_out, err);
}

static bool do_take_ready_home(struct backend *backend, char home_out[BACKEND_NAME_BYTES])
{
    return prealloc_take(docker_of(backend)->prealloc, PREALLOC_HOME, home_out);
}

static int do_take_home(struct backend *backend, char home_out[BACKEND_NAME_BYTES],
                        struct error *err)
{
    if (do_take_ready_home(backend, home_out))
        return 0;
    return docker_make_home(docker_of(backend), home_out, err);
}

static void do_home_is_kept(struct backend *backend, const char *home)
{
    prealloc_forget(docker_of(backend)->prealloc, PREALLOC_HOME, home);
}

static void do_network_is_kept(struct backend *backend, const char *network)
{
    prealloc_forget(docker_of(backend)->prealloc, PREALLOC_NETWORK, network);
}

static void do_give_home(struct backend *backend, const char *home)
{
    prealloc_add_ready(docker_of(backend)->prealloc, PREALLOC_HOME, home);
}

static const char *do_agent_build(struct backend *backend)
{
    return docker_of(backend)->action_volume;
}

static int do_start(struct backend *backend, const struct sandbox_config *order,
                    struct started_sandbox *place_out, struct error *err)
{
    return docker_start_container(docker_of(backend), order, place_out, err);
}

static int do_remove(struct backend *backend, const char *runtime_id, const char *network,
                     struct error *err)
{
    struct docker *docker = docker_of(backend);
    char name[DOCKER_NAME_BYTES] = "";

    docker_container_name(docker, runtime_id, name);
    if (docker_remove_container(docker, name, err) < 0)
        return -1;
    if (network == NULL || network[0] == '\0')
        return 0;
    return docker_remove_network(docker, network, err);
}

static int do_remove_home(struct backend *backend, const char *home, struct error *err)
{
    return docker_remove_home(docker_of(backend), home, err);
}

static int do_pause(struct backend *backend, const char *container_id, struct error *err)
{
    return docker_pause_container(docker_of(backend), container_id, err);
}

static int do_resume(struct backend *backend, const char *container_id, struct error *err)
{
    return docker_resume_container(docker_of(backend), container_id, err);
}

static int do_is_paused(struct backend *backend, const char *container_id, bool *is_paused_out,
                        struct error *err)
{
    return docker_container_is_paused(docker_of(backend), container_id, is_paused_out, err);
}

static void do_explain_end(struct backend *backend, const char *container_id, struct error *why_out)
{
    docker_explain_end(docker_of(backend), container_id, "", why_out);
}

static int do_is_at_rest(struct backend *backend, const char *container_id, bool *is_at_rest_out,
                         struct error *err)
{
    return docker_container_is_idle(docker_of(backend), container_id, is_at_rest_out, err);
}

static int do_list(struct backend *backend, struct seen_list *list_out, struct error *err)
{
    return docker_list_containers(docker_of(backend), list_out, err);
}

static int do_find_image(struct backend *backend, const char *image, struct seen_image *seen_out,
                         struct error *err)
{
    return docker_find_image(docker_of(backend), image, seen_out, err);
}

static int do_build(struct backend *backend, const struct image_build_request *order,
                    char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said, struct error *err)
{
    return docker_build_image(docker_of(backend), order, image_id, said, err);
}

static void do_stop_building(struct backend *backend)
{
    docker_stop_building(docker_of(backend));
}

static int do_remove_image(struct backend *backend, const char *image, struct error *err)
{
    return docker_remove_image(docker_of(backend), image, err);
}

static int do_remove_container(struct backend *backend, const char *container_id, struct error *err)
{
    return docker_remove_container(docker_of(backend), container_id, err);
}

static int do_tidy(struct backend *backend, const struct kept_source *source, struct error *err)
{
    return docker_remove_leftovers(docker_of(backend), source, err);
}

static int do_refill(struct backend *backend, bool *is_full_out, struct error *err)
{
    return docker_refill(docker_of(backend), is_full_out, err);
}

static void do_follow(struct backend *backend, const struct backend_event_sink *sink)
{
    docker_follow(docker_of(backend), sink);
}

static void do_stop_following(struct backend *backend)
{
    docker_stop_following(docker_of(backend));
}

static void do_ping(struct backend *backend)
{
    docker_ping(docker_of(backend));
}

static int do_remove_all(struct backend *backend, struct error *err)
{
    return docker_remove_all(docker_of(backend), err);
}

static void do_free(struct backend *backend)
{
    struct docker *docker = docker_of(backend);

    prealloc_free(docker->prealloc);
    json_decref(docker->known_images);
    condition_done(&docker->stop_wanted);
    lock_done(&docker->lock);
    mem_free(docker);
}

static const struct backend_functions docker_functions = {
    .name = do_name,
    .check = do_check,
    .space = do_space,
    .take_ready_home = do_take_ready_home,
    .take_home = do_take_home,
    .home_is_kept = do_home_is_kept,
    .network_is_kept = do_network_is_kept,
    .give_home = do_give_home,
    .agent_build = do_agent_build,
    .start = do_start,
    .remove = do_remove,
    .remove_home = do_remove_home,
    .pause = do_pause,
    .resume = do_resume,
    .is_paused = do_is_paused,
    .explain_end = do_explain_end,
    .list = do_list,
    .is_at_rest = do_is_at_rest,
    .find_image = do_find_image,
    .build = do_build,
    .stop_building = do_stop_building,
    .remove_image = do_remove_image,
    .remove_container = do_remove_container,
    .tidy = do_tidy,
    .refill = do_refill,
    .follow = do_follow,
    .stop_following = do_stop_following,
    .ping = do_ping,
    .remove_all = do_remove_all,
    .free = do_free,
};

int docker_backend_new(const struct docker_settings *settings, struct http *http,
                       struct backend **backend_out, struct error *err)
{
    struct docker *docker = NEW(struct docker);

    docker->backend.functions = &docker_functions;
    docker->settings = *settings;
    docker->engine =
        (struct engine){.http = http, .socket = settings->socket, .version = settings->api_version};
    docker->prealloc = prealloc_new();
    docker->known_images = json_object();
    lock_init(&docker->lock);
    condition_init(&docker->stop_wanted);
    error_set(&docker->state, ERROR_UNAVAILABLE, "the container engine has not been checked yet");
    if (docker_name_action_volume(docker, err) < 0) {
        do_free(&docker->backend);
        return -1;
    }
    *backend_out = &docker->backend;
    return 0;
}

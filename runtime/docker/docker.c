#include "runtime/docker/docker.h"

#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "runtime/docker/docker_parts.h"

static struct docker *of(struct backend *backend)
{
    return (struct docker *)(void *)backend;
}

static const char *do_name(struct backend *backend)
{
    return docker_is_podman(of(backend)) ? "podman" : "docker";
}

static int do_check(struct backend *backend, struct error *err)
{
    struct docker *docker = of(backend);
    bool is_up = false;

    lock_take(&docker->lock);
    is_up = docker->state.code == ERROR_NONE;
    if (!is_up)
        error_set(err, ERROR_UNAVAILABLE, "sandboxes cannot be started now: %.180s",
                  docker->state.message);
    lock_release(&docker->lock);
    return is_up ? 0 : -1;
}

static int do_room(struct backend *backend, struct backend_room *room_out, struct error *err)
{
    return docker_room(of(backend), room_out, err);
}

static bool do_take_spare_home(struct backend *backend, char home_out[BACKEND_NAME_BYTES])
{
    return spares_take(of(backend)->spares, SPARE_HOME, home_out);
}

static int do_take_home(struct backend *backend, char home_out[BACKEND_NAME_BYTES],
                        struct error *err)
{
    if (do_take_spare_home(backend, home_out))
        return 0;
    return docker_make_home(of(backend), home_out, err);
}

static void do_home_is_kept(struct backend *backend, const char *home)
{
    spares_forget(of(backend)->spares, SPARE_HOME, home);
}

static void do_network_is_kept(struct backend *backend, const char *network)
{
    spares_forget(of(backend)->spares, SPARE_NETWORK, network);
}

static void do_give_home(struct backend *backend, const char *home)
{
    spares_give(of(backend)->spares, SPARE_HOME, home);
}

static const char *do_fittings(struct backend *backend)
{
    return of(backend)->action_volume;
}

static int do_start(struct backend *backend, const struct sandbox_order *order,
                    struct sandbox_place *place_out, struct error *err)
{
    return docker_start(of(backend), order, place_out, err);
}

static int do_remove(struct backend *backend, const char *runtime_id, const char *network,
                     struct error *err)
{
    struct docker *docker = of(backend);
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
    return docker_remove_home(of(backend), home, err);
}

static int do_pause(struct backend *backend, const char *container_id, struct error *err)
{
    return docker_pause(of(backend), container_id, err);
}

static int do_resume(struct backend *backend, const char *container_id, struct error *err)
{
    return docker_resume(of(backend), container_id, err);
}

static int do_is_paused(struct backend *backend, const char *container_id, bool *is_paused_out,
                        struct error *err)
{
    return docker_is_paused(of(backend), container_id, is_paused_out, err);
}

static void do_explain_end(struct backend *backend, const char *container_id, struct error *why_out)
{
    docker_explain(of(backend), container_id, "", why_out);
}

static int do_is_at_rest(struct backend *backend, const char *container_id, bool *is_at_rest_out,
                         struct error *err)
{
    return docker_is_at_rest(of(backend), container_id, is_at_rest_out, err);
}

static int do_list(struct backend *backend, struct seen_list *list_out, struct error *err)
{
    return docker_list(of(backend), list_out, err);
}

static int do_find_image(struct backend *backend, const char *image, struct seen_image *seen_out,
                         struct error *err)
{
    return docker_find_image(of(backend), image, seen_out, err);
}

static int do_build(struct backend *backend, const struct image_order *order,
                    char image_id[BACKEND_IMAGE_BYTES], struct strbuf *said, struct error *err)
{
    return docker_build(of(backend), order, image_id, said, err);
}

static void do_stop_building(struct backend *backend)
{
    docker_stop_building(of(backend));
}

static int do_remove_image(struct backend *backend, const char *image, struct error *err)
{
    return docker_remove_image(of(backend), image, err);
}

static int do_remove_container(struct backend *backend, const char *container_id, struct error *err)
{
    return docker_remove_container(of(backend), container_id, err);
}

static int do_tidy(struct backend *backend, const struct kept_source *source, struct error *err)
{
    return docker_tidy(of(backend), source, err);
}

static int do_refill(struct backend *backend, bool *is_full_out, struct error *err)
{
    return docker_refill(of(backend), is_full_out, err);
}

static void do_follow(struct backend *backend, const struct news_sink *sink)
{
    docker_follow(of(backend), sink);
}

static void do_stop_following(struct backend *backend)
{
    docker_stop_following(of(backend));
}

static void do_ping(struct backend *backend)
{
    docker_ping(of(backend));
}

static int do_reap(struct backend *backend, struct error *err)
{
    return docker_reap(of(backend), err);
}

static void do_free(struct backend *backend)
{
    struct docker *docker = of(backend);

    spares_free(docker->spares);
    json_decref(docker->known_images);
    condition_done(&docker->stop_wanted);
    lock_done(&docker->lock);
    mem_free(docker);
}

static const struct backend_functions docker_functions = {
    .name = do_name,
    .check = do_check,
    .room = do_room,
    .take_spare_home = do_take_spare_home,
    .take_home = do_take_home,
    .home_is_kept = do_home_is_kept,
    .network_is_kept = do_network_is_kept,
    .give_home = do_give_home,
    .fittings = do_fittings,
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
    .reap = do_reap,
    .free = do_free,
};

int docker_new(const struct docker_settings *settings, struct http *http,
               struct backend **backend_out, struct error *err)
{
    struct docker *docker = NEW(struct docker);

    docker->backend.functions = &docker_functions;
    docker->settings = *settings;
    docker->engine =
        (struct engine){.http = http, .socket = settings->socket, .version = settings->api_version};
    docker->spares = spares_new();
    docker->known_images = json_object();
    lock_init(&docker->lock);
    condition_init(&docker->stop_wanted);
    error_set(&docker->state, ERROR_UNAVAILABLE, "the container engine was not asked yet");
    if (docker_name_action(docker, err) < 0) {
        do_free(&docker->backend);
        return -1;
    }
    *backend_out = &docker->backend;
    return 0;
}

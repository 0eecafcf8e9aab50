/*
 * Names of objects; creation and removal of containers and volumes, shared by several files.
 */
#include "runtime/docker/docker_parts.h"

#include <stdio.h>

#include "base/encode.h"
#include "base/json.h"
#include "runtime/docker/docker_body.h"

#define REMOVAL_TIMEOUT_MS 30000

void docker_container_name(const struct docker *docker, const char *runtime_id,
                           char name[DOCKER_NAME_BYTES])
{
    (void)snprintf(name, DOCKER_NAME_BYTES, "%s-%s", docker->settings.instance, runtime_id);
}

void docker_workspace_name(const struct docker *docker, const char *home,
                           char name[DOCKER_NAME_BYTES])
{
    (void)snprintf(name, DOCKER_NAME_BYTES, "%s-ws-%s", docker->settings.instance, home);
}

void docker_journal_name(const struct docker *docker, const char *home,
                         char name[DOCKER_NAME_BYTES])
{
    (void)snprintf(name, DOCKER_NAME_BYTES, "%s-j-%s", docker->settings.instance, home);
}

bool docker_is_podman(struct docker *docker)
{
    bool is_podman = false;

    lock_take(&docker->lock);
    is_podman = docker->is_podman;
    lock_release(&docker->lock);
    return is_podman;
}

/* --- containers --- */

int docker_make_helper(struct docker *docker, const json_t *body, json_t **reply_out,
                       struct error *err)
{
    return engine_call(
        &docker->engine,
        &(struct engine_request){.method = "POST", .path = "/containers/create", .body = body},
        reply_out, err);
}

static int await_removal(struct docker *docker, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/containers/%s/wait?condition=removed", name);
    return engine_call(&docker->engine,
                       &(struct engine_request){
                           .method = "POST", .path = path.text, .timeout_ms = REMOVAL_TIMEOUT_MS},
                       NULL, err);
}

int docker_remove_container(struct docker *docker, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    /* Also removes its anonymous volumes (of the image's VOLUME instructions). */
    strbuf_appendf(&path, "/containers/%s?force=1&v=1", name);
    if (engine_call(&docker->engine,
                    &(struct engine_request){.method = "DELETE", .path = path.text}, NULL,
                    err) == 0 ||
        err->code == ERROR_NOT_FOUND)
        return 0;
    if (err->code != ERROR_CONFLICT)
        return error_wrap(err, "removing container %s", name);
    /* Another request is removing it already. */
    if (await_removal(docker, name, err) < 0 && err->code != ERROR_NOT_FOUND)
        return error_wrap(err, "waiting for container %s to go", name);
    return 0;
}

/* --- volumes --- */

json_t *docker_size_option(int64_t bytes, struct error *err)
{
    char text[24] = "";

    (void)snprintf(text, sizeof(text), "%lld", (long long)bytes);
    return json_build(err, "{s:s}", "size", text);
}

int docker_make_volume(struct docker *docker, const char *name, const char *role,
                       int64_t size_bytes, struct error *err)
{
    json_auto_t *labels = docker_labels(docker->settings.instance, role, err);
    json_auto_t *body = NULL;

    if (labels == NULL)
        return -1;
    body = json_build(err, "{s:s, s:O}", "Name", name, "Labels", labels);
    if (body == NULL)
        return -1;
    if (size_bytes > 0)
        json_put(body, "DriverOpts", docker_size_option(size_bytes, err));
    return engine_call(
        &docker->engine,
        &(struct engine_request){.method = "POST", .path = "/volumes/create", .body = body}, NULL,
        err);
}

int docker_remove_volume(struct docker *docker, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_append(&path, "/volumes/");
    percent_append(&path, name);
    if (engine_call(&docker->engine,
                    &(struct engine_request){.method = "DELETE", .path = path.text}, NULL,
                    err) < 0 &&
        err->code != ERROR_NOT_FOUND)
        return error_wrap(err, "removing volume %s", name);
    return 0;
}

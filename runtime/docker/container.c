#include "runtime/docker/container.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "runtime/docker/docker.h"

#define REMOVAL_TIMEOUT_MS 30000

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

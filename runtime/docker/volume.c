#include "runtime/docker/volume.h"

#include <stdio.h>

#include "base/encode.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "runtime/docker/container_config.h"
#include "runtime/docker/docker.h"

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

#include "runtime/docker/container_pause.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "runtime/docker/docker.h"

static int request_motion(struct docker *docker, const char *method, const char *container_id,
                          const char *what, json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/containers/%s/%s", container_id, what);
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = method, .path = path.text}, reply_out,
                       err);
}

enum motion { MOTION_NONE, MOTION_RUNS, MOTION_PAUSED };

static int read_motion(struct docker *docker, const char *container_id, enum motion *motion_out,
                       struct error *err)
{
    json_auto_t *facts = NULL;
    const json_t *state = NULL;

    if (request_motion(docker, "GET", container_id, "json", &facts, err) < 0)
        return -1;
    state = json_object_get(facts, "State");
    *motion_out = MOTION_NONE;
    if (json_bool_or(state, "Paused", 0))
        *motion_out = MOTION_PAUSED;
    else if (json_bool_or(state, "Running", 0))
        *motion_out = MOTION_RUNS;
    return 0;
}

/* If the state is already the wanted one, engines refuse with messages and statuses that vary. */
static int bring_to(struct docker *docker, const char *container_id, enum motion wanted,
                    struct error *err)
{
    struct error refusal = ERROR_INIT;
    enum motion motion = MOTION_NONE;

    if (request_motion(docker, "POST", container_id, wanted == MOTION_PAUSED ? "pause" : "unpause",
                       NULL, &refusal) == 0)
        return 0;
    if (refusal.code == ERROR_UNAVAILABLE || refusal.code == ERROR_TIMEOUT) {
        *err = refusal;
        return -1;
    }
    if (read_motion(docker, container_id, &motion, err) < 0)
        return -1;
    if (motion == wanted)
        return 0;
    *err = refusal;
    return -1;
}

int docker_pause_container(struct docker *docker, const char *container_id, struct error *err)
{
    return bring_to(docker, container_id, MOTION_PAUSED, err);
}

int docker_resume_container(struct docker *docker, const char *container_id, struct error *err)
{
    return bring_to(docker, container_id, MOTION_RUNS, err);
}

int docker_container_is_paused(struct docker *docker, const char *container_id, bool *is_paused_out,
                               struct error *err)
{
    enum motion motion = MOTION_NONE;

    if (read_motion(docker, container_id, &motion, err) < 0)
        return -1;
    *is_paused_out = motion == MOTION_PAUSED;
    return 0;
}

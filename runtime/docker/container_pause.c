#include "runtime/docker/container_pause.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "runtime/docker/docker.h"

static int request_container(struct docker *docker, const char *method, const char *container_id,
                             const char *what, json_t **reply_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "/containers/%s/%s", container_id, what);
    return engine_call(&docker->engine,
                       &(struct engine_request){.method = method, .path = path.text}, reply_out,
                       err);
}

enum container_state { CONTAINER_STOPPED, CONTAINER_RUNS, CONTAINER_PAUSED };

static int read_state(struct docker *docker, const char *container_id,
                      enum container_state *found_out, struct error *err)
{
    json_auto_t *facts = NULL;
    const json_t *state = NULL;

    if (request_container(docker, "GET", container_id, "json", &facts, err) < 0)
        return -1;
    state = json_object_get(facts, "State");
    *found_out = CONTAINER_STOPPED;
    if (json_bool_or(state, "Paused", 0))
        *found_out = CONTAINER_PAUSED;
    else if (json_bool_or(state, "Running", 0))
        *found_out = CONTAINER_RUNS;
    return 0;
}

/* If the state is already the wanted one, engines refuse with messages and statuses that vary. */
static int bring_to(struct docker *docker, const char *container_id, enum container_state wanted,
                    struct error *err)
{
    struct error refusal = ERROR_INIT;
    enum container_state found = CONTAINER_STOPPED;

    if (request_container(docker, "POST", container_id,
                          wanted == CONTAINER_PAUSED ? "pause" : "unpause", NULL, &refusal) == 0)
        return 0;
    if (refusal.code == ERROR_UNAVAILABLE || refusal.code == ERROR_TIMEOUT) {
        *err = refusal;
        return -1;
    }
    if (read_state(docker, container_id, &found, err) < 0)
        return -1;
    if (found == wanted)
        return 0;
    *err = refusal;
    return -1;
}

int docker_pause_container(struct docker *docker, const char *container_id, struct error *err)
{
    return bring_to(docker, container_id, CONTAINER_PAUSED, err);
}

int docker_resume_container(struct docker *docker, const char *container_id, struct error *err)
{
    return bring_to(docker, container_id, CONTAINER_RUNS, err);
}

int docker_container_is_paused(struct docker *docker, const char *container_id, bool *is_paused_out,
                               struct error *err)
{
    enum container_state found = CONTAINER_STOPPED;

    if (read_state(docker, container_id, &found, err) < 0)
        return -1;
    *is_paused_out = found == CONTAINER_PAUSED;
    return 0;
}

#include "runtime/docker/container_idle.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/mount_paths.h"
#include "runtime/docker/docker.h"

/* Columns of the engine's process list. */
enum { COLUMN_PID, COLUMN_PARENT, COLUMN_COMMAND };

static const char *column(const json_t *process, size_t i)
{
    const char *text = json_string_value(json_array_get(process, i));

    return text != NULL ? text : "";
}

static bool has_children(const json_t *processes, const char *pid)
{
    const json_t *process = NULL;
    size_t i = 0;

    json_array_foreach (processes, i, process) {
        if (text_equal(column(process, COLUMN_PARENT), pid))
            return true;
    }
    return false;
}

static bool is_server(const char *command)
{
    return strstr(command, "/docker-init") != NULL || strstr(command, "/podman-init") != NULL ||
           text_starts_with(command, ACTION_MOUNT "/" ACTION_NAME);
}

/* A conversation's shell that waits for a command at its terminal. */
static bool is_waiting_shell(const json_t *processes, const json_t *process)
{
    return text_ends_with(column(process, COLUMN_COMMAND), " -i") &&
           !has_children(processes, column(process, COLUMN_PID));
}

int docker_container_is_idle(struct docker *docker, const char *container_id, bool *is_at_rest_out,
                             struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *reply = NULL;
    const json_t *processes = NULL;
    const json_t *process = NULL;
    size_t i = 0;

    strbuf_appendf(&path, "/containers/%s/top?ps_args=-o%%20pid,ppid,args", container_id);
    if (engine_call(&docker->engine, &(struct engine_request){.method = "GET", .path = path.text},
                    &reply, err) < 0)
        return error_wrap(err, "listing the processes of container %s", container_id);
    processes = json_object_get(reply, "Processes");
    *is_at_rest_out = json_array_size(processes) > 0;
    json_array_foreach (processes, i, process) {
        if (!is_server(column(process, COLUMN_COMMAND)) && !is_waiting_shell(processes, process))
            *is_at_rest_out = false;
    }
    return 0;
}

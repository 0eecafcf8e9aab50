#include "sandbox/ports/mcp_command.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/core/child_process.h"

enum { MAX_ARGS = 64, MAX_ENV = 64 };

static const char *variable(char *const *environment, const char *name)
{
    size_t len = strlen(name);

    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    }
    return "";
}

/* The order's variables, and those of the sandbox that it does not set. */
static char **environment_of(const struct mcp_command *command)
{
    char **environment = child_process_environment_new(CHILD_PROCESS_TERMINAL, command->workspace);
    const char *name = NULL;
    json_t *value = NULL;
    size_t n = 0;

    json_object_foreach (json_object_get(command->order, "env"), name, value) {
        if (!json_is_string(value) || n++ >= MAX_ENV)
            continue;
        environment = child_process_environment_put(environment, name, json_string_value(value));
    }
    return environment;
}

static int start(const struct mcp_command *command, char *const *environment, const int fds[3],
                 pid_t *pid_out, struct error *err)
{
    const char *name = json_text_or(command->order, "command", "");
    CLEANUP(mem_freep) char *path =
        strchr(name, '/') != NULL ? mem_dup_text(name)
                                  : child_process_find_program(name, variable(environment, "PATH"));
    char *argv[MAX_ARGS + 2] = {path};
    const json_t *arg = NULL;
    size_t i = 0;

    if (path == NULL)
        return error_set(err, ERROR_INVALID, "The sandbox has no program %s", name);
    json_array_foreach (json_object_get(command->order, "args"), i, arg) {
        if (i < MAX_ARGS)
            argv[i + 1] = (char *)(uintptr_t)json_string_value(arg);
    }
    return child_process_start(
        &(struct child_process_spec){
            .path = path,
            .argv = argv,
            .envp = environment,
            .working_dir = json_text_or(command->order, "cwd", command->working_dir),
            .fds = (const struct child_process_fd[]){{fds[0], STDIN_FILENO},
                                                     {fds[1], STDOUT_FILENO},
                                                     {fds[2], STDERR_FILENO}},
            .n_fds = 3,
            .session = command->session,
            .ends_with_server = command->ends_with_server},
        pid_out, err);
}

int mcp_command_start(const struct mcp_command *command, const int fds[3], pid_t *pid_out,
                      struct error *err)
{
    char **environment = environment_of(command);
    int rc = start(command, environment, fds, pid_out, err);

    if (rc < 0 && command->session != NULL)
        *command->session = 0;
    child_process_environment_free(environment);
    return rc;
}

#include "sandbox/core/action_observation.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "sandbox/core/child_process.h"

json_t *action_observation_content(const char *text, size_t len)
{
    json_t *content = json_array();
    json_t *part = json_object();

    json_put_text(part, "type", "text");
    json_put(part, "text", json_text(text, len));
    json_put(part, "cache_prompt", json_false());
    json_push(content, part);
    return content;
}

static void put_place(json_t *metadata, const struct terminal_result *result)
{
    CLEANUP(mem_freep) char *user = child_process_user_name();
    CLEANUP(mem_freep) char *python = child_process_find_program("python", result->path);
    char host[HOST_NAME_MAX + 1] = "";

    if (python == NULL)
        python = child_process_find_program("python3", result->path);
    (void)gethostname(host, sizeof(host) - 1);
    json_put_text(metadata, "username", user);
    json_put_text(metadata, "hostname", host);
    json_put_text(metadata, "working_dir", result->working_dir);
    json_put_text(metadata, "py_interpreter_path", python != NULL ? python : "");
}

json_t *action_observation_from_terminal(const struct terminal_result *result)
{
    json_t *observation = json_object();
    json_t *metadata = json_object();
    int code = result->has_exit_code ? result->exit_code : -1;

    json_put(metadata, "exit_code", json_integer(code));
    json_put(metadata, "pid", json_integer(result->has_metadata ? result->background_pid : -1));
    if (result->has_metadata)
        put_place(metadata, result);
    json_put_text(metadata, "prefix", result->prefix != NULL ? result->prefix : "");
    json_put_text(metadata, "suffix", result->suffix != NULL ? result->suffix : "");
    json_put(observation, "content",
             action_observation_content(result->content, result->content_len));
    json_put(observation, "is_error", json_boolean(result->is_error));
    json_put_text(observation, "command", result->command);
    if (result->has_exit_code)
        json_put(observation, "exit_code", json_integer(code));
    json_put(observation, "timeout", json_false());
    json_put(observation, "metadata", metadata);
    if (result->save_dir != NULL)
        json_put_text(observation, "full_output_save_dir", result->save_dir);
    json_put_text(observation, "kind", "TerminalObservation");
    return observation;
}

json_t *action_observation_from_refusal(const char *command, const char *reason)
{
    const struct terminal_result refusal = {
        .content = reason,
        .content_len = strlen(reason),
        .is_error = true,
        .command = command,
    };

    return action_observation_from_terminal(&refusal);
}

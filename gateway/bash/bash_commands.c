#include "gateway/bash/bash_commands.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

enum { TIMEOUT_DEFAULT_S = 300, TIMEOUT_MAX_S = 3600 };

static int check(const json_t *frame, struct error *err)
{
    const json_t *cwd = json_object_get(frame, "cwd");
    const json_t *timeout = json_object_get(frame, "timeout");

    if (!json_is_string(json_object_get(frame, "command")))
        return error_set(err, ERROR_INVALID, "a command must be an object with a string `command`");
    if (cwd != NULL && !json_is_null(cwd) && !json_is_string(cwd))
        return error_set(err, ERROR_INVALID, "cwd must be a string or null");
    if (timeout != NULL && (!json_is_integer(timeout) || json_integer_value(timeout) < 1 ||
                            json_integer_value(timeout) > TIMEOUT_MAX_S))
        return error_set(err, ERROR_INVALID, "timeout must be from 1 to %d seconds", TIMEOUT_MAX_S);
    return 0;
}

int bash_command_read(const json_t *frame, struct bash_command **command_out, struct error *err)
{
    json_auto_t *body = json_object();

    if (check(frame, err) < 0)
        return -1;
    json_put(body, "command", json_incref(json_object_get(frame, "command")));
    json_put_text(body, "cwd", json_text_or(frame, "cwd", NULL));
    json_put(body, "timeout", json_integer(json_int_or(frame, "timeout", TIMEOUT_DEFAULT_S)));
    *command_out = NEW(struct bash_command);
    (*command_out)->body = json_to_text(body);
    return 0;
}

void bash_commands_init(struct bash_commands *commands)
{
    STAILQ_INIT(&commands->queue);
    commands->n = 0;
}

void bash_commands_add(struct bash_commands *commands, struct bash_command *command)
{
    STAILQ_INSERT_TAIL(&commands->queue, command, link);
    commands->n++;
}

struct bash_command *bash_commands_first(const struct bash_commands *commands)
{
    return STAILQ_FIRST(&commands->queue);
}

void bash_commands_drop_first(struct bash_commands *commands)
{
    struct bash_command *first = STAILQ_FIRST(&commands->queue);

    STAILQ_REMOVE_HEAD(&commands->queue, link);
    commands->n--;
    mem_free(first->body);
    mem_free(first);
}

void bash_commands_done(struct bash_commands *commands)
{
    while (!STAILQ_EMPTY(&commands->queue))
        bash_commands_drop_first(commands);
}

void bash_commands_forget(struct bash_commands *commands, const struct connection *connection)
{
    struct bash_command *command = NULL;

    STAILQ_FOREACH(command, &commands->queue, link)
    {
        if (command->from == connection)
            command->from = NULL;
    }
}

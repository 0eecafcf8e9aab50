#include "sandbox/legacy/legacy_actions.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/editor/file_editor.h"
#include "sandbox/git/credentials.h"
#include "sandbox/http/server_request.h"
#include "sandbox/legacy/legacy_files.h"
#include "sandbox/legacy/legacy_reply.h"
#include "sandbox/legacy/python_repl.h"
#include "sandbox/terminal/terminal.h"

enum { TIMEOUT_DEFAULT_S = 120, MAX_TIMEOUT_S = 1000000000 };

struct legacy_action {
    struct legacy_actions *legacy;
    struct server_request *request; /* NULL: its client has disconnected */
    json_t *fields;
    struct terminal *own; /* a separate shell for this action */
    struct legacy_action *next;
};

struct legacy_actions {
    struct action_server *server;
    struct terminal *terminal;
    struct file_editor *editor;
    struct python_repl *repl;
    struct legacy_action *first; /* the running one, then the queue */
    size_t n;
    bool is_running;
    bool is_pumping;
    struct terminal *spent; /* to be freed after its own call has returned */
    struct event_loop_timer burial;
};

/* One row per type of action; an error from `run` is a failure of the call. */
struct legacy_action_type {
    const char *name;
    int (*run)(struct legacy_action *action, const json_t *args, struct error *err);
};

static void on_burial(void *owner)
{
    struct legacy_actions *legacy = owner;

    terminal_free(legacy->spent);
    legacy->spent = NULL;
}

struct legacy_actions *legacy_actions_new(struct action_server *server)
{
    struct legacy_actions *legacy = NEW(struct legacy_actions);

    legacy->server = server;
    legacy->burial = (struct event_loop_timer){.expired = on_burial, .owner = legacy};
    return legacy;
}

static void legacy_action_free(struct legacy_action *action)
{
    terminal_free(action->own);
    json_decref(action->fields);
    mem_free(action);
}

void legacy_actions_free(struct legacy_actions *legacy)
{
    if (legacy == NULL)
        return;
    event_loop_timer_clear(legacy->server->loop, &legacy->burial);
    terminal_free(legacy->spent);
    terminal_free(legacy->terminal);
    while (legacy->first != NULL) {
        struct legacy_action *action = legacy->first;

        legacy->first = action->next;
        if (action->request != NULL)
            legacy_reply_answer_failure(action->request, "the server is shutting down");
        legacy_action_free(action);
    }
    file_editor_free(legacy->editor);
    python_repl_free(legacy->repl);
    mem_free(legacy);
}

bool legacy_actions_are_busy(const struct legacy_actions *legacy)
{
    return legacy->is_running;
}

static struct terminal *new_terminal(struct legacy_actions *legacy)
{
    const struct action_config *config = legacy->server->config;
    const struct terminal_spec spec = {
        .workspace = config->workspace,
        .no_change_ms = action_config_run_silence_ms(config),
        .face = TERMINAL_RUN,
        .credentials = legacy->server->credentials,
    };

    return terminal_new(legacy->server->loop, &spec);
}

/* Created on first use: the environment that comes with the sandbox's key is set by then. */
static struct terminal *shared_terminal(struct legacy_actions *legacy)
{
    if (legacy->terminal == NULL)
        legacy->terminal = new_terminal(legacy);
    return legacy->terminal;
}

const char *legacy_actions_working_dir(const struct legacy_actions *legacy)
{
    if (legacy->terminal == NULL)
        return legacy->server->config->workspace;
    return terminal_working_dir(legacy->terminal);
}

/* --- the end of an action --- */

static void pump(struct legacy_actions *legacy);

/* A terminal must not be freed inside its own call: a timer frees it. */
static void bury(struct legacy_actions *legacy, struct terminal *terminal)
{
    if (terminal == NULL)
        return;
    terminal_free(legacy->spent);
    legacy->spent = terminal;
    event_loop_timer_set(legacy->server->loop, &legacy->burial, 1);
}

static void end_first(struct legacy_actions *legacy)
{
    struct legacy_action *action = legacy->first;

    legacy->first = action->next;
    legacy->n--;
    legacy->is_running = false;
    legacy->server->last_action_ms = clock_monotonic_ms();
    bury(legacy, action->own);
    action->own = NULL;
    legacy_action_free(action);
    pump(legacy);
}

static void end_with(struct legacy_action *action, json_t *observation)
{
    credentials_mask_json(action->legacy->server->credentials, observation);
    if (action->request != NULL)
        server_request_answer_json(action->request, 200, observation);
    json_decref(observation);
    end_first(action->legacy);
}

/* --- what actions do --- */

static double timeout_of(const struct legacy_action *action)
{
    double timeout_s = json_number_or(action->fields, "timeout", TIMEOUT_DEFAULT_S);

    return isfinite(timeout_s) && timeout_s >= 0 && timeout_s <= MAX_TIMEOUT_S ? timeout_s
                                                                               : TIMEOUT_DEFAULT_S;
}

static void on_terminal_answer(void *owner, json_t *terminal)
{
    struct legacy_action *action = owner;
    const json_t *args = json_object_get(action->fields, "args");
    json_t *observation = legacy_reply_run(args, terminal);

    json_decref(terminal);
    end_with(action, observation);
}

static int run_command(struct legacy_action *action, const json_t *args, struct error *err)
{
    struct legacy_actions *legacy = action->legacy;
    struct terminal *terminal = NULL;
    const struct terminal_answer answer = {action, on_terminal_answer};
    bool is_static = json_bool_or(args, "is_static", 0) != 0;
    struct terminal_call call = {
        .command = json_string_value(json_object_get(args, "command")),
        .is_input = json_bool_or(args, "is_input", 0) != 0,
        .timeout_s = timeout_of(action),
        .waits_in_silence = json_bool_or(args, "blocking", 0) != 0,
        .exports = "",
        .working_dir = legacy->server->config->workspace,
    };

    if (call.command == NULL || strlen(call.command) > MAX_COMMAND_BYTES)
        return error_set(err, ERROR_INVALID, "args.command must be a string of at most %d bytes",
                         MAX_COMMAND_BYTES);
    if (is_static) {
        action->own = new_terminal(legacy);
        call.working_dir = json_text_or(args, "cwd", legacy_actions_working_dir(legacy));
    }
    terminal = is_static ? action->own : shared_terminal(legacy);
    terminal_execute(terminal, &call, &answer);
    return 0;
}

static void append_extra(const struct legacy_action *action, const char *python, struct strbuf *out)
{
    const json_t *args = json_object_get(action->fields, "args");

    if (!json_bool_or(args, "include_extra", 1))
        return;
    strbuf_appendf(out, "\n[Jupyter current working directory: %s]",
                   legacy_actions_working_dir(action->legacy));
    strbuf_appendf(out, "\n[Jupyter Python interpreter: %s]", python);
}

static void on_cell_answer(void *owner, const struct python_result *result)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    struct legacy_action *action = owner;
    const json_t *args = json_object_get(action->fields, "args");
    json_t *extras = json_object();

    strbuf_append(&content, result->content);
    append_extra(action, result->python, &content);
    json_put_text(extras, "code", json_text_or(args, "code", ""));
    json_put(extras, "image_urls",
             json_array_size(result->images) > 0 ? json_incref(result->images) : json_null());
    end_with(action, legacy_reply("run_ipython", content.text, content.len, extras));
}

static int run_cell(struct legacy_action *action, const json_t *args, struct error *err)
{
    struct legacy_actions *legacy = action->legacy;
    const struct python_answer answer = {action, on_cell_answer};
    const struct python_cell call = {
        .code = json_string_value(json_object_get(args, "code")),
        .working_dir = legacy_actions_working_dir(legacy),
        .timeout_s = timeout_of(action),
    };
    struct error why = ERROR_INIT;

    if (call.code == NULL || strlen(call.code) > MAX_COMMAND_BYTES)
        return error_set(err, ERROR_INVALID, "args.code must be a string of at most %d bytes",
                         MAX_COMMAND_BYTES);
    if (legacy->repl == NULL)
        legacy->repl = python_repl_new(legacy->server->loop, legacy->server->config->workspace);
    if (python_repl_run(legacy->repl, &call, &answer, &why) == 0)
        return 0;
    if (why.code == ERROR_NOT_FOUND)
        end_with(action, legacy_reply_error("There is no Python in this sandbox, so cells cannot "
                                            "run. Commands and files still work."));
    else
        *err = why;
    return why.code == ERROR_NOT_FOUND ? 0 : -1;
}

static int run_file_action(struct legacy_action *action, const json_t *args,
                           int (*act)(const struct legacy_context *context, const json_t *args,
                                      json_t **observation_out, struct error *err),
                           struct error *err)
{
    struct legacy_actions *legacy = action->legacy;
    struct legacy_context context = {.working_dir = legacy_actions_working_dir(legacy)};
    json_t *observation = NULL;

    if (legacy->editor == NULL)
        legacy->editor = file_editor_new();
    context.editor = legacy->editor;
    if (act(&context, args, &observation, err) < 0)
        return -1;
    end_with(action, observation);
    return 0;
}

static int run_read(struct legacy_action *action, const json_t *args, struct error *err)
{
    return run_file_action(action, args, legacy_files_read, err);
}

static int run_write(struct legacy_action *action, const json_t *args, struct error *err)
{
    return run_file_action(action, args, legacy_files_write, err);
}

static int run_edit(struct legacy_action *action, const json_t *args, struct error *err)
{
    return run_file_action(action, args, legacy_files_edit, err);
}

static int refuse_browser(struct legacy_action *action, const json_t *args, struct error *err)
{
    (void)args;
    (void)err;
    end_with(action, legacy_reply_error("Browser functionality is not supported or disabled."));
    return 0;
}

static const struct legacy_action_type types[] = {
    {"run", run_command},
    {"run_ipython", run_cell},
    {"read", run_read},
    {"write", run_write},
    {"edit", run_edit},
    {"browse", refuse_browser},
    {"browse_interactive", refuse_browser},
};

/* --- one after another --- */

static int start_action(struct legacy_action *action, struct error *err)
{
    const char *name = json_text_or(action->fields, "action", "");
    const json_t *args = json_object_get(action->fields, "args");

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (text_equal(types[i].name, name))
            return types[i].run(action, args, err);
    }
    return error_set(err, ERROR_INVALID, "unknown action '%.40s'", name);
}

static void start_first(struct legacy_actions *legacy)
{
    struct legacy_action *action = legacy->first;
    struct error err = ERROR_INIT;

    legacy->is_running = true;
    legacy->server->last_action_ms = clock_monotonic_ms();
    if (start_action(action, &err) == 0)
        return;
    if (action->request != NULL)
        legacy_reply_answer_failure(action->request, err.message);
    end_first(legacy);
}

static void pump(struct legacy_actions *legacy)
{
    /* An action that ends at once re-enters here: the outer call starts the next one. */
    if (legacy->is_pumping)
        return;
    legacy->is_pumping = true;
    while (legacy->first != NULL && !legacy->is_running)
        start_first(legacy);
    legacy->is_pumping = false;
}

static void on_request_dropped(void *owner)
{
    struct legacy_action *action = owner;

    action->request = NULL;
}

static void enqueue(struct server_request *request, json_t *fields)
{
    struct legacy_actions *legacy = request->server->legacy;
    struct legacy_action *action = NEW(struct legacy_action);
    struct legacy_action **end = &legacy->first;

    action->legacy = legacy;
    action->request = request;
    action->fields = json_incref(fields);
    request->dropped = on_request_dropped;
    request->owner = action;
    while (*end != NULL)
        end = &(*end)->next;
    *end = action;
    legacy->n++;
    pump(legacy);
}

void legacy_actions_handle(struct server_request *request)
{
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;
    json_t *fields = NULL;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0) {
        legacy_reply_answer_invalid(request, err.message);
        return;
    }
    fields = json_object_get(body, "action");
    if (!json_is_object(fields) || !json_is_string(json_object_get(fields, "action")))
        legacy_reply_answer_invalid(request, "action must be an object with an action type");
    else if (request->server->legacy->n >= MAX_QUEUED_ACTIONS)
        server_request_answer_detail(request, 429, "too many actions are waiting");
    else
        enqueue(request, fields);
}

#include "sandbox/legacy/execute.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/limits.h"
#include "sandbox/core/loop.h"
#include "sandbox/core/server.h"
#include "sandbox/editor/editor.h"
#include "sandbox/git/credentials.h"
#include "sandbox/http/request.h"
#include "sandbox/legacy/cell.h"
#include "sandbox/legacy/execute_files.h"
#include "sandbox/legacy/execute_reply.h"
#include "sandbox/terminal/terminal.h"

enum { TIMEOUT_DEFAULT_S = 120, MAX_TIMEOUT_S = 1000000000 };

struct execution {
    struct executions *executions;
    struct request *request; /* NULL: its client has disconnected */
    json_t *action;
    struct terminal *own; /* a separate shell for this action */
    struct execution *next;
};

struct executions {
    struct server *server;
    struct terminal *terminal;
    struct editor *editor;
    struct cells *cells;
    struct execution *first; /* the running one, then the queue */
    size_t n;
    bool is_running;
    bool is_pumping;
    struct terminal *spent; /* to be freed after its own call has returned */
    struct loop_timer burial;
};

/* One row per type of action; an error from `run` is a failure of the call. */
struct execution_type {
    const char *name;
    int (*run)(struct execution *execution, const json_t *args, struct error *err);
};

static void on_burial(void *owner)
{
    struct executions *executions = owner;

    terminal_free(executions->spent);
    executions->spent = NULL;
}

struct executions *executions_new(struct server *server)
{
    struct executions *executions = NEW(struct executions);

    executions->server = server;
    executions->burial = (struct loop_timer){.expired = on_burial, .owner = executions};
    return executions;
}

static void execution_free(struct execution *execution)
{
    terminal_free(execution->own);
    json_decref(execution->action);
    mem_free(execution);
}

void executions_free(struct executions *executions)
{
    if (executions == NULL)
        return;
    loop_timer_clear(executions->server->loop, &executions->burial);
    terminal_free(executions->spent);
    terminal_free(executions->terminal);
    while (executions->first != NULL) {
        struct execution *execution = executions->first;

        executions->first = execution->next;
        if (execution->request != NULL)
            execute_answer_failure(execution->request, "the server ends");
        execution_free(execution);
    }
    editor_free(executions->editor);
    cells_free(executions->cells);
    mem_free(executions);
}

bool executions_are_busy(const struct executions *executions)
{
    return executions->is_running;
}

static struct terminal *new_terminal(struct executions *executions)
{
    const struct config *config = executions->server->config;
    const struct terminal_spec spec = {
        .workspace = config->workspace,
        .no_change_ms = config_run_silence_ms(config),
        .face = TERMINAL_RUN,
        .credentials = executions->server->credentials,
    };

    return terminal_new(executions->server->loop, &spec);
}

/* Created on first use: the environment that comes with the sandbox's key is set by then. */
static struct terminal *shared_terminal(struct executions *executions)
{
    if (executions->terminal == NULL)
        executions->terminal = new_terminal(executions);
    return executions->terminal;
}

const char *executions_working_dir(const struct executions *executions)
{
    if (executions->terminal == NULL)
        return executions->server->config->workspace;
    return terminal_working_dir(executions->terminal);
}

/* --- the end of an action --- */

static void pump(struct executions *executions);

/* A terminal must not be freed inside its own call: a timer frees it. */
static void bury(struct executions *executions, struct terminal *terminal)
{
    if (terminal == NULL)
        return;
    terminal_free(executions->spent);
    executions->spent = terminal;
    loop_timer_set(executions->server->loop, &executions->burial, 1);
}

static void end_first(struct executions *executions)
{
    struct execution *execution = executions->first;

    executions->first = execution->next;
    executions->n--;
    executions->is_running = false;
    executions->server->last_action_ms = clock_monotonic_ms();
    bury(executions, execution->own);
    execution->own = NULL;
    execution_free(execution);
    pump(executions);
}

static void end_with(struct execution *execution, json_t *observation)
{
    credentials_mask_json(execution->executions->server->credentials, observation);
    if (execution->request != NULL)
        request_answer_json(execution->request, 200, observation);
    json_decref(observation);
    end_first(execution->executions);
}

/* --- what actions do --- */

static double timeout_of(const struct execution *execution)
{
    double timeout_s = json_number_or(execution->action, "timeout", TIMEOUT_DEFAULT_S);

    return isfinite(timeout_s) && timeout_s >= 0 && timeout_s <= MAX_TIMEOUT_S ? timeout_s
                                                                               : TIMEOUT_DEFAULT_S;
}

static void on_terminal_answer(void *owner, json_t *terminal)
{
    struct execution *execution = owner;
    const json_t *args = json_object_get(execution->action, "args");
    json_t *observation = execute_reply_run(args, terminal);

    json_decref(terminal);
    end_with(execution, observation);
}

static int run_command(struct execution *execution, const json_t *args, struct error *err)
{
    struct executions *executions = execution->executions;
    struct terminal *terminal = NULL;
    const struct terminal_answer answer = {execution, on_terminal_answer};
    bool is_static = json_bool_or(args, "is_static", 0) != 0;
    struct terminal_call call = {
        .command = json_string_value(json_object_get(args, "command")),
        .is_input = json_bool_or(args, "is_input", 0) != 0,
        .timeout_s = timeout_of(execution),
        .waits_in_silence = json_bool_or(args, "blocking", 0) != 0,
        .exports = "",
        .working_dir = executions->server->config->workspace,
    };

    if (call.command == NULL || strlen(call.command) > MAX_COMMAND_BYTES)
        return error_set(err, ERROR_INVALID, "args.command must be text of at most %d bytes",
                         MAX_COMMAND_BYTES);
    if (is_static) {
        execution->own = new_terminal(executions);
        call.working_dir = json_text_or(args, "cwd", executions_working_dir(executions));
    }
    terminal = is_static ? execution->own : shared_terminal(executions);
    terminal_execute(terminal, &call, &answer);
    return 0;
}

static void append_extra(const struct execution *execution, const char *python, struct strbuf *out)
{
    const json_t *args = json_object_get(execution->action, "args");

    if (!json_bool_or(args, "include_extra", 1))
        return;
    strbuf_appendf(out, "\n[Jupyter current working directory: %s]",
                   executions_working_dir(execution->executions));
    strbuf_appendf(out, "\n[Jupyter Python interpreter: %s]", python);
}

static void on_cell_answer(void *owner, const struct cell_result *result)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    struct execution *execution = owner;
    const json_t *args = json_object_get(execution->action, "args");
    json_t *extras = json_object();

    strbuf_append(&content, result->content);
    append_extra(execution, result->python, &content);
    json_put_text(extras, "code", json_text_or(args, "code", ""));
    json_put(extras, "image_urls",
             json_array_size(result->images) > 0 ? json_incref(result->images) : json_null());
    end_with(execution, execute_reply("run_ipython", content.text, content.len, extras));
}

static int run_cell(struct execution *execution, const json_t *args, struct error *err)
{
    struct executions *executions = execution->executions;
    const struct cell_answer answer = {execution, on_cell_answer};
    const struct cell_call call = {
        .code = json_string_value(json_object_get(args, "code")),
        .working_dir = executions_working_dir(executions),
        .timeout_s = timeout_of(execution),
    };
    struct error why = ERROR_INIT;

    if (call.code == NULL || strlen(call.code) > MAX_COMMAND_BYTES)
        return error_set(err, ERROR_INVALID, "args.code must be text of at most %d bytes",
                         MAX_COMMAND_BYTES);
    if (executions->cells == NULL)
        executions->cells =
            cells_new(executions->server->loop, executions->server->config->workspace);
    if (cells_run(executions->cells, &call, &answer, &why) == 0)
        return 0;
    if (why.code == ERROR_NOT_FOUND)
        end_with(execution,
                 execute_reply_error("There is no Python in this sandbox, so no cell can "
                                     "run here. Commands and files still work."));
    else
        *err = why;
    return why.code == ERROR_NOT_FOUND ? 0 : -1;
}

static int run_file_action(struct execution *execution, const json_t *args,
                           int (*act)(const struct execute_place *place, const json_t *args,
                                      json_t **observation_out, struct error *err),
                           struct error *err)
{
    struct executions *executions = execution->executions;
    struct execute_place place = {.working_dir = executions_working_dir(executions)};
    json_t *observation = NULL;

    if (executions->editor == NULL)
        executions->editor = editor_new();
    place.editor = executions->editor;
    if (act(&place, args, &observation, err) < 0)
        return -1;
    end_with(execution, observation);
    return 0;
}

static int run_read(struct execution *execution, const json_t *args, struct error *err)
{
    return run_file_action(execution, args, execute_read, err);
}

static int run_write(struct execution *execution, const json_t *args, struct error *err)
{
    return run_file_action(execution, args, execute_write, err);
}

static int run_edit(struct execution *execution, const json_t *args, struct error *err)
{
    return run_file_action(execution, args, execute_edit, err);
}

static int refuse_browser(struct execution *execution, const json_t *args, struct error *err)
{
    (void)args;
    (void)err;
    end_with(execution, execute_reply_error("Browser functionality is not supported or disabled."));
    return 0;
}

static const struct execution_type types[] = {
    {"run", run_command},
    {"run_ipython", run_cell},
    {"read", run_read},
    {"write", run_write},
    {"edit", run_edit},
    {"browse", refuse_browser},
    {"browse_interactive", refuse_browser},
};

/* --- one after another --- */

static int start(struct execution *execution, struct error *err)
{
    const char *name = json_text_or(execution->action, "action", "");
    const json_t *args = json_object_get(execution->action, "args");

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (text_equal(types[i].name, name))
            return types[i].run(execution, args, err);
    }
    return error_set(err, ERROR_INVALID, "unknown action '%.40s'", name);
}

static void start_first(struct executions *executions)
{
    struct execution *execution = executions->first;
    struct error err = ERROR_INIT;

    executions->is_running = true;
    executions->server->last_action_ms = clock_monotonic_ms();
    if (start(execution, &err) == 0)
        return;
    if (execution->request != NULL)
        execute_answer_failure(execution->request, err.message);
    end_first(executions);
}

static void pump(struct executions *executions)
{
    /* An action that ends at once re-enters here: the outer call starts the next one. */
    if (executions->is_pumping)
        return;
    executions->is_pumping = true;
    while (executions->first != NULL && !executions->is_running)
        start_first(executions);
    executions->is_pumping = false;
}

static void on_request_dropped(void *owner)
{
    struct execution *execution = owner;

    execution->request = NULL;
}

static void enqueue(struct request *request, json_t *action)
{
    struct executions *executions = request->server->executions;
    struct execution *execution = NEW(struct execution);
    struct execution **end = &executions->first;

    execution->executions = executions;
    execution->request = request;
    execution->action = json_incref(action);
    request->dropped = on_request_dropped;
    request->owner = execution;
    while (*end != NULL)
        end = &(*end)->next;
    *end = execution;
    executions->n++;
    pump(executions);
}

void execute_handle(struct request *request)
{
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;
    json_t *action = NULL;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0) {
        execute_answer_invalid(request, err.message);
        return;
    }
    action = json_object_get(body, "action");
    if (!json_is_object(action) || !json_is_string(json_object_get(action, "action")))
        execute_answer_invalid(request, "action must be an object with the type of an action");
    else if (request->server->executions->n >= MAX_QUEUED_ACTIONS)
        request_answer_detail(request, 429, "too many actions wait");
    else
        enqueue(request, action);
}

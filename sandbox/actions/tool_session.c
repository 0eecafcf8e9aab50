#include "sandbox/actions/tool_session.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/actions/file_tool.h"
#include "sandbox/actions/hook_tool.h"
#include "sandbox/actions/journal.h"
#include "sandbox/actions/mcp_tool.h"
#include "sandbox/actions/progress_reports.h"
#include "sandbox/actions/repository_tool.h"
#include "sandbox/browser/browser.h"
#include "sandbox/checkpoint/checkpoint_tool.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_observation.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/fork_task.h"
#include "sandbox/core/identity.h"
#include "sandbox/editor/file_editor.h"
#include "sandbox/git/credentials.h"
#include "sandbox/git/workspace_repository.h"
#include "sandbox/http/request_waiters.h"
#include "sandbox/http/server_request.h"
#include "sandbox/ports/mcp_program.h"
#include "sandbox/ports/mcp_programs.h"
#include "sandbox/terminal/env_script.h"
#include "sandbox/terminal/terminal.h"

struct action {
    struct tool_session *session;
    char id[MAX_ACTION_ID_BYTES];
    int64_t fence;
    char hash[ACTION_HASH_BYTES];
    enum action_tool tool;
    json_t *body;
    bool is_running;
    struct fork_task *task; /* of a running file tool, hook or checkpoint; else NULL */
    struct mcp_call *call;  /* of a running ACTION_MCP; else NULL */
    struct request_waiters waiters;
    struct action *next;
};

struct tool_session {
    struct action_server *server;
    struct uuid id;
    struct terminal *terminal;
    struct file_editor *editor;
    struct browser *browser;
    struct fork_task *repository_task; /* preparing a repository, or NULL */
    char *prepared;         /* the folder last prepared; a repository unless that failed */
    struct action *actions; /* in order of arrival */
    size_t n_actions;
    size_t n_file_tasks; /* actions with a task, by their tool */
    size_t n_hook_tasks;
    struct progress_reports *progress;
    bool is_pumping;
};

static const char interrupted_reason[] = "The action was interrupted before it ran.";
static const char ended_reason[] = "The conversation's sandbox session was ended.";

char *action_interrupted_body(const char *reason)
{
    json_auto_t *body = json_object();

    json_put_text(body, "state", "interrupted");
    json_put_text(body, "reason", reason);
    return json_to_text(body);
}

const struct uuid *tool_session_id(const struct tool_session *session)
{
    return &session->id;
}

struct progress_reports *tool_session_progress(const struct tool_session *session)
{
    return session->progress;
}

const char *action_hash(const struct action *action)
{
    return action->hash;
}

struct tool_session *tool_session_new(struct action_server *server, const struct uuid *id)
{
    struct tool_session *session = NEW(struct tool_session);
    const struct terminal_spec spec = {
        .workspace = server->config->workspace,
        .no_change_ms = server->config->no_change_ms,
        .job_wait_ms = server->config->job_wait_ms,
        .foreground_cap_s = action_config_foreground_cap_s(server->config),
        .credentials = server->credentials,
        .save_dir = server->config->save_dir,
    };
    const struct browser_spec browser = {
        .program = server->config->browser,
        .workspace = server->config->workspace,
        .wait_ms = server->config->browser_wait_ms,
        .timeout_ms = server->config->browser_timeout_ms,
    };

    session->server = server;
    session->id = *id;
    session->terminal = terminal_new(server->loop, &spec);
    session->editor = file_editor_new();
    session->browser = browser_new(server->loop, &browser);
    session->progress = progress_reports_new();
    return session;
}

int action_wait(struct action *action, struct server_request *request, struct error *err)
{
    return request_waiters_add(&action->waiters, request, err);
}

static void answer_waiters(struct action *action, const char *body)
{
    struct server_request *request = request_waiters_take(&action->waiters);

    for (; request != NULL; request = request_waiters_take(&action->waiters))
        server_request_answer_text(request, 200, "application/json", body, strlen(body));
}

static void answer_waiters_error(struct action *action, const struct error *err)
{
    struct server_request *request = request_waiters_take(&action->waiters);

    for (; request != NULL; request = request_waiters_take(&action->waiters))
        server_request_answer_error(request, err);
}

static void remove_action(struct action *action)
{
    struct tool_session *session = action->session;
    struct action **link = &session->actions;

    while (*link != action)
        link = &(*link)->next;
    *link = action->next;
    session->n_actions--;
    assert(action->waiters.n == 0);
    fork_task_free(action->task);
    mcp_call_free(action->call);
    json_decref(action->body);
    mem_free(action);
}

/* Ends an action: stores its result, then answers its waiters. */
static void end_action(struct action *action, const char *body)
{
    action->session->server->last_action_ms = clock_monotonic_ms();
    if (action->is_running)
        journal_finish(action->session->server->journal, action->id, body);
    answer_waiters(action, body);
    remove_action(action);
}

static void pump(struct tool_session *session);

static void on_observation(void *owner, json_t *observation)
{
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *body = json_object();
    struct action *action = owner;
    struct tool_session *session = action->session;

    credentials_mask_json(session->server->credentials, observation);
    json_put_text(body, "state", "finished");
    json_put(body, "observation", observation);
    text = json_to_text(body);
    end_action(action, text);
    pump(session);
}

static const char *working_dir_of(const struct action *action)
{
    return json_text_or(action->body, "working_dir", action->session->server->config->workspace);
}

/* A folder that cannot be made a repository is not an error: the tools work without one. */
static int prepare_folder(const struct action *action, struct error *err)
{
    struct tool_session *session = action->session;
    const char *folder = working_dir_of(action);
    struct error no_repository = ERROR_INIT;

    if (session->prepared != NULL && text_equal(session->prepared, folder) &&
        identity_has_access(folder, F_OK))
        return 0;
    if (workspace_repository_make_folder(folder, err) < 0)
        return error_wrap(err, "The working directory cannot be created");
    mem_free(session->prepared);
    session->prepared = mem_dup_text(folder);
    if (workspace_repository_init(folder, &no_repository) < 0)
        log_info("workspace.prepare_failed", LOG_ERROR(&no_repository));
    return 0;
}

/* A new shell starts in the folder; the editor uses absolute paths. */
static bool needs_folder(const struct action *action)
{
    return action->tool == ACTION_TERMINAL && !terminal_has_shell(action->session->terminal);
}

static void run_terminal(struct action *action, const json_t *args)
{
    CLEANUP(strbuf_done) struct strbuf exports = STRBUF_INIT;
    const struct terminal_answer answer = {action, on_observation};
    struct terminal_call call = {
        .command = json_text_or(args, "command", ""),
        .is_input = json_bool_or(args, "is_input", 0) != 0,
        .reset = json_bool_or(args, "reset", 0) != 0,
        .timeout_s = json_number_or(args, "timeout", -1),
        .waits_in_silence = json_number_or(args, "timeout", -1) >= 0,
        .working_dir = working_dir_of(action),
    };

    env_script_append(&exports, json_object_get(action->body, "env"));
    call.exports = exports.text;
    terminal_execute(action->session->terminal, &call, &answer);
}

static void run_editor(struct action *action, const json_t *args)
{
    on_observation(action,
                   file_editor_execute(action->session->editor, args, working_dir_of(action)));
}

static void run_browser(struct action *action, const json_t *args)
{
    const struct browser_answer answer = {action, on_observation};
    const struct browser_call call = {
        .tool = json_text_or(action->body, "tool", ""),
        .args = args,
        .working_dir = working_dir_of(action),
    };

    browser_execute(action->session->browser, &call, &answer);
}

static void on_prepared(void *owner, json_t *found, const struct error *why)
{
    struct action *action = owner;

    action->session->repository_task = NULL;
    on_observation(action, found != NULL ? found : repository_tool_failure(why->message));
}

static void run_repository(struct action *action, const json_t *args)
{
    struct tool_session *session = action->session;
    const struct repository_call what = {args, working_dir_of(action),
                                         session->server->credentials};
    const struct fork_task_spec order = {.work = repository_tool_run,
                                         .what = &what,
                                         .deadline_ms = repository_tool_deadline_ms(args),
                                         .told = on_prepared,
                                         .owner = action};
    struct error err = ERROR_INIT;

    if (fork_task_start(session->server->loop, &order, &session->repository_task, &err) < 0)
        on_observation(action, repository_tool_failure(err.message));
}

static const char *tool_name(const struct action *action)
{
    return json_text_or(action->body, "tool", "");
}

static void on_file_task(void *owner, json_t *found, const struct error *why)
{
    struct action *action = owner;

    action->task = NULL;
    action->session->n_file_tasks--;
    on_observation(action,
                   found != NULL ? found : file_tool_failure(tool_name(action), why->message));
}

static void run_file_tool(struct action *action, const json_t *args)
{
    const struct file_tool_call what = {tool_name(action), args, working_dir_of(action)};
    const struct fork_task_spec order = {.work = file_tool_run,
                                         .what = &what,
                                         .deadline_ms = FILE_TOOL_DEADLINE_MS,
                                         .told = on_file_task,
                                         .owner = action};
    struct error err = ERROR_INIT;

    action->session->n_file_tasks++;
    if (fork_task_start(action->session->server->loop, &order, &action->task, &err) < 0)
        on_file_task(action, NULL, &err);
}

static void on_hook_task(void *owner, json_t *found, const struct error *why)
{
    struct action *action = owner;

    action->task = NULL;
    action->session->n_hook_tasks--;
    on_observation(action, found != NULL ? found : hook_tool_failure(why->message));
}

static void run_hook(struct action *action, const json_t *args)
{
    const struct action_server *server = action->session->server;
    const struct hook_call what = {.args = args,
                                   .working_dir = working_dir_of(action),
                                   .workspace = server->config->workspace,
                                   .credentials = server->credentials,
                                   .session = fork_task_session_new()};
    const struct fork_task_spec order = {.work = hook_tool_run,
                                         .what = &what,
                                         .deadline_ms = hook_tool_deadline_ms(args),
                                         .session = what.session,
                                         .told = on_hook_task,
                                         .owner = action};
    struct error err = ERROR_INIT;
    int rc = 0;

    action->session->n_hook_tasks++;
    if (what.session == NULL)
        rc = error_set(&err, ERROR_UNAVAILABLE, "memory for the hook's process: %m");
    else
        rc = fork_task_start(server->loop, &order, &action->task, &err);
    if (rc < 0)
        on_hook_task(action, NULL, &err);
}

static void on_mcp_outcome(void *owner, const struct mcp_outcome *outcome)
{
    struct action *action = owner;

    action->call = NULL;
    progress_reports_forget(action->session->progress, action->id);
    on_observation(action, mcp_tool_observation(action->body, outcome));
}

static void on_mcp_progress(void *owner, const struct mcp_progress *report)
{
    const struct action *action = owner;

    progress_reports_note(action->session->progress, action->id, report);
}

static void run_mcp(struct action *action)
{
    struct tool_session *session = action->session;
    const struct mcp_tool_call what = {.programs = session->server->mcp_programs,
                                       .conversation = &session->id,
                                       .body = action->body,
                                       .working_dir = working_dir_of(action),
                                       .progressed = on_mcp_progress,
                                       .told = on_mcp_outcome,
                                       .owner = action};
    struct error err = ERROR_INIT;

    if (mcp_tool_start(&what, &action->call, &err) < 0)
        on_mcp_outcome(action, &(struct mcp_outcome){.why = err.message});
}

static void on_checkpoint(void *owner, json_t *found, const struct error *why)
{
    struct action *action = owner;

    action->task = NULL;
    on_observation(action, found != NULL ? found : checkpoint_tool_failure(why->message));
}

static void run_checkpoint(struct action *action, const json_t *args)
{
    const struct action_server *server = action->session->server;
    const struct checkpoint_call what = {args, working_dir_of(action), server->config->journal_dir,
                                         clock_monotonic_ms() + CHECKPOINT_TOOL_OWN_DEADLINE_MS};
    const struct fork_task_spec order = {.work = checkpoint_tool_run,
                                         .what = &what,
                                         .deadline_ms = CHECKPOINT_TOOL_DEADLINE_MS,
                                         .told = on_checkpoint,
                                         .owner = action};
    struct error err = ERROR_INIT;

    if (fork_task_start(server->loop, &order, &action->task, &err) < 0)
        on_checkpoint(action, NULL, &err);
}

static int store_start(const struct action *action, struct error *err)
{
    struct journal_entry entry = {
        .conversation = action->session->id,
        .fence = action->fence,
    };

    memcpy(entry.id, action->id, sizeof(entry.id));
    memcpy(entry.hash, action->hash, sizeof(entry.hash));
    return journal_start(action->session->server->journal, &entry, err);
}

static void start_action(struct action *action)
{
    const json_t *args = json_object_get(action->body, "args");
    struct error err = ERROR_INIT;

    /* An action that cannot be recorded must not run: a retry would run it again. */
    if (store_start(action, &err) < 0) {
        log_error("action.start_store_failed", LOG_ERROR(&err));
        answer_waiters_error(action, &err);
        remove_action(action);
        return;
    }
    action->is_running = true;
    action->session->server->last_action_ms = clock_monotonic_ms();
    if (action->tool != ACTION_REPOSITORY && prepare_folder(action, &err) < 0 &&
        needs_folder(action)) {
        on_observation(action, action_observation_from_refusal(json_text_or(args, "command", ""),
                                                               err.message));
        return;
    }
    switch (action->tool) {
    case ACTION_TERMINAL:
        run_terminal(action, args);
        return;
    case ACTION_FILE_EDITOR:
        run_editor(action, args);
        return;
    case ACTION_BROWSER:
        run_browser(action, args);
        return;
    case ACTION_REPOSITORY:
        run_repository(action, args);
        return;
    case ACTION_FILE_TOOL:
        run_file_tool(action, args);
        return;
    case ACTION_HOOK:
        run_hook(action, args);
        return;
    case ACTION_MCP:
        run_mcp(action);
        return;
    case ACTION_CHECKPOINT:
        run_checkpoint(action, args);
        return;
    }
}

/*
 * Shell and browser run one action at a time, the editor and MCP servers any number, file tools and
 * hooks a few.
 * While a repository is being prepared the shell waits for it.
 */
static bool can_start(const struct action *action)
{
    const struct tool_session *session = action->session;

    if (action->is_running)
        return false;
    switch (action->tool) {
    case ACTION_TERMINAL:
    case ACTION_REPOSITORY:
        return !terminal_is_busy(session->terminal) && session->repository_task == NULL;
    case ACTION_BROWSER:
        return !browser_is_busy(session->browser);
    case ACTION_FILE_TOOL:
        return session->n_file_tasks < MAX_FILE_TASKS;
    case ACTION_HOOK:
        return session->n_hook_tasks < MAX_HOOK_TASKS;
    case ACTION_FILE_EDITOR:
    case ACTION_MCP:
    case ACTION_CHECKPOINT:
        break;
    }
    return true;
}

static struct action *next_startable(const struct tool_session *session)
{
    struct action *action = session->actions;

    while (action != NULL && !can_start(action))
        action = action->next;
    return action;
}

static void pump(struct tool_session *session)
{
    struct action *action = NULL;

    /* An action that ends at once re-enters here: the outer call starts the next one. */
    if (session->is_pumping)
        return;
    session->is_pumping = true;
    for (action = next_startable(session); action != NULL; action = next_startable(session))
        start_action(action);
    session->is_pumping = false;
}

struct action *tool_session_find_action(struct tool_session *session, const char *id)
{
    struct action *action = session->actions;

    while (action != NULL && !text_equal(action->id, id))
        action = action->next;
    return action;
}

static struct action *add_action(struct tool_session *session, const struct action_spec *spec)
{
    struct action *action = NEW(struct action);
    struct action **end = &session->actions;

    action->session = session;
    memcpy(action->id, spec->id, sizeof(action->id));
    memcpy(action->hash, spec->hash, sizeof(action->hash));
    action->fence = spec->fence;
    action->tool = spec->tool;
    action->body = json_incref(spec->body);
    while (*end != NULL)
        end = &(*end)->next;
    *end = action;
    session->n_actions++;
    return action;
}

int tool_session_run(struct tool_session *session, const struct action_spec *spec,
                     struct server_request *request, struct error *err)
{
    struct action *action = NULL;

    if (session->n_actions >= MAX_QUEUED_ACTIONS)
        return error_set(err, ERROR_RATE_LIMITED,
                         "too many actions of this conversation are waiting");
    action = add_action(session, spec);
    if (action_wait(action, request, err) < 0) {
        remove_action(action);
        return -1;
    }
    pump(session);
    return 0;
}

bool tool_session_is_idle(const struct tool_session *session)
{
    return session->n_actions == 0 && terminal_is_idle(session->terminal);
}

/* Files that were set back in part would be worse than a restore that ends on its own. */
static void interrupt_running(const struct action *action)
{
    if (action->task != NULL && action->tool != ACTION_CHECKPOINT)
        fork_task_interrupt(action->task);
    if (action->call != NULL)
        mcp_call_interrupt(action->call);
}

void tool_session_interrupt(struct tool_session *session)
{
    CLEANUP(mem_freep) char *body = action_interrupted_body(interrupted_reason);
    struct action *action = session->actions;

    /* The end of a call must not start, and so perhaps end, the action that is next in the list. */
    session->is_pumping = true;
    while (action != NULL) {
        struct action *next = action->next;

        if (action->is_running)
            interrupt_running(action);
        else
            end_action(action, body);
        action = next;
    }
    session->is_pumping = false;
    terminal_interrupt(session->terminal);
    if (session->repository_task != NULL)
        fork_task_interrupt(session->repository_task);
    browser_interrupt(session->browser);
}

void tool_session_free(struct tool_session *session)
{
    CLEANUP(mem_freep) char *body = action_interrupted_body(ended_reason);

    if (session == NULL)
        return;
    terminal_free(session->terminal);
    fork_task_free(session->repository_task);
    browser_free(session->browser);
    while (session->actions != NULL)
        end_action(session->actions, body);
    mcp_programs_end(session->server->mcp_programs, &session->id);
    progress_reports_free(session->progress);
    file_editor_free(session->editor);
    mem_free(session->prepared);
    mem_free(session);
}

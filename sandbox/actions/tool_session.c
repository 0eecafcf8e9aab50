#include "sandbox/actions/conversation.h"

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
#include "sandbox/actions/journal.h"
#include "sandbox/actions/prepare.h"
#include "sandbox/browser/browser.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/errand.h"
#include "sandbox/core/identity.h"
#include "sandbox/core/observation.h"
#include "sandbox/core/server.h"
#include "sandbox/editor/editor.h"
#include "sandbox/git/credentials.h"
#include "sandbox/git/repository.h"
#include "sandbox/http/request.h"
#include "sandbox/terminal/exports.h"
#include "sandbox/terminal/terminal.h"

struct waiter {
    struct action *action;
    struct request *request;
    struct waiter *next;
};

struct action {
    struct conversation *conversation;
    char id[MAX_ACTION_ID_BYTES];
    int64_t fence;
    char hash[ACTION_HASH_BYTES];
    enum action_tool tool;
    json_t *body;
    bool is_running;
    struct waiter *waiters;
    struct action *next;
};

struct conversation {
    struct server *server;
    struct uuid id;
    struct terminal *terminal;
    struct editor *editor;
    struct browser *browser;
    struct errand *errand;  /* preparing a repository, or NULL */
    char *prepared;         /* the folder last prepared; a repository unless that failed */
    struct action *actions; /* in order of arrival */
    size_t n_actions;
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

const struct uuid *conversation_id(const struct conversation *conversation)
{
    return &conversation->id;
}

const char *action_hash(const struct action *action)
{
    return action->hash;
}

struct conversation *conversation_new(struct server *server, const struct uuid *id)
{
    struct conversation *conversation = NEW(struct conversation);
    const struct terminal_spec spec = {
        .workspace = server->config->workspace,
        .no_change_ms = server->config->no_change_ms,
        .foreground_cap_s = config_foreground_cap_s(server->config),
        .credentials = server->credentials,
        .save_dir = server->config->save_dir,
    };
    const struct browser_spec browser = {
        .program = server->config->browser,
        .workspace = server->config->workspace,
        .wait_ms = server->config->browser_wait_ms,
        .timeout_ms = server->config->browser_timeout_ms,
    };

    conversation->server = server;
    conversation->id = *id;
    conversation->terminal = terminal_new(server->loop, &spec);
    conversation->editor = editor_new();
    conversation->browser = browser_new(server->loop, &browser);
    return conversation;
}

static void on_waiter_dropped(void *owner)
{
    struct waiter *waiter = owner;
    struct waiter **link = &waiter->action->waiters;

    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
    mem_free(waiter);
}

int action_wait(struct action *action, struct request *request, struct error *err)
{
    struct waiter *waiter = NULL;
    size_t n = 0;

    for (const struct waiter *at = action->waiters; at != NULL; at = at->next)
        n++;
    if (n >= MAX_WAITERS)
        return error_set(err, ERROR_RATE_LIMITED, "too many requests wait for this action");
    waiter = NEW(struct waiter);
    waiter->action = action;
    waiter->request = request;
    waiter->next = action->waiters;
    action->waiters = waiter;
    request->dropped = on_waiter_dropped;
    request->owner = waiter;
    return 0;
}

static void answer_waiters(struct action *action, const char *body)
{
    struct waiter *waiter = action->waiters;

    action->waiters = NULL;
    while (waiter != NULL) {
        struct waiter *next = waiter->next;

        request_answer_text(waiter->request, 200, "application/json", body, strlen(body));
        mem_free(waiter);
        waiter = next;
    }
}

static void answer_waiters_error(struct action *action, const struct error *err)
{
    struct waiter *waiter = action->waiters;

    action->waiters = NULL;
    while (waiter != NULL) {
        struct waiter *next = waiter->next;

        request_answer_error(waiter->request, err);
        mem_free(waiter);
        waiter = next;
    }
}

static void remove_action(struct action *action)
{
    struct conversation *conversation = action->conversation;
    struct action **link = &conversation->actions;

    while (*link != action)
        link = &(*link)->next;
    *link = action->next;
    conversation->n_actions--;
    assert(action->waiters == NULL);
    json_decref(action->body);
    mem_free(action);
}

/* Ends an action: stores its result, then answers its waiters. */
static void end_action(struct action *action, const char *body)
{
    action->conversation->server->last_action_ms = clock_monotonic_ms();
    if (action->is_running)
        journal_finish(action->conversation->server->journal, action->id, body);
    answer_waiters(action, body);
    remove_action(action);
}

static void pump(struct conversation *conversation);

static void on_observation(void *owner, json_t *observation)
{
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *body = json_object();
    struct action *action = owner;
    struct conversation *conversation = action->conversation;

    credentials_mask_json(conversation->server->credentials, observation);
    json_put_text(body, "state", "finished");
    json_put(body, "observation", observation);
    text = json_to_text(body);
    end_action(action, text);
    pump(conversation);
}

static const char *working_dir_of(const struct action *action)
{
    return json_text_or(action->body, "working_dir",
                        action->conversation->server->config->workspace);
}

/* A folder that cannot be made a repository is not an error: the tools work without one. */
static int prepare_folder(const struct action *action, struct error *err)
{
    struct conversation *conversation = action->conversation;
    const char *folder = working_dir_of(action);
    struct error no_repository = ERROR_INIT;

    if (conversation->prepared != NULL && text_equal(conversation->prepared, folder) &&
        identity_has_access(folder, F_OK))
        return 0;
    if (repository_make_folder(folder, err) < 0)
        return error_wrap(err, "The working directory cannot be made");
    mem_free(conversation->prepared);
    conversation->prepared = mem_dup_text(folder);
    if (repository_prepare(folder, &no_repository) < 0)
        log_info("workspace.not_prepared", LOG_ERROR(&no_repository));
    return 0;
}

/* A new shell starts in the folder; the editor uses absolute paths. */
static bool needs_folder(const struct action *action)
{
    return action->tool == ACTION_TERMINAL && !terminal_has_shell(action->conversation->terminal);
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

    exports_append(&exports, json_object_get(action->body, "env"));
    call.exports = exports.text;
    terminal_execute(action->conversation->terminal, &call, &answer);
}

static void run_editor(struct action *action, const json_t *args)
{
    on_observation(action,
                   editor_execute(action->conversation->editor, args, working_dir_of(action)));
}

static void run_browser(struct action *action, const json_t *args)
{
    const struct browser_answer answer = {action, on_observation};
    const struct browser_call call = {
        .tool = json_text_or(action->body, "tool", ""),
        .args = args,
        .working_dir = working_dir_of(action),
    };

    browser_execute(action->conversation->browser, &call, &answer);
}

static void on_prepared(void *owner, json_t *found, const struct error *why)
{
    struct action *action = owner;

    action->conversation->errand = NULL;
    on_observation(action, found != NULL ? found : prepare_failure(why->message));
}

static void run_repository(struct action *action, const json_t *args)
{
    struct conversation *conversation = action->conversation;
    const struct prepare_order what = {args, working_dir_of(action),
                                       conversation->server->credentials};
    const struct errand_order order = {.work = prepare_run,
                                       .what = &what,
                                       .deadline_ms = prepare_deadline_ms(args),
                                       .told = on_prepared,
                                       .owner = action};
    struct error err = ERROR_INIT;

    if (errand_start(conversation->server->loop, &order, &conversation->errand, &err) < 0)
        on_observation(action, prepare_failure(err.message));
}

static int store_start(const struct action *action, struct error *err)
{
    struct journal_entry entry = {
        .conversation = action->conversation->id,
        .fence = action->fence,
    };

    memcpy(entry.id, action->id, sizeof(entry.id));
    memcpy(entry.hash, action->hash, sizeof(entry.hash));
    return journal_start(action->conversation->server->journal, &entry, err);
}

static void start_action(struct action *action)
{
    const json_t *args = json_object_get(action->body, "args");
    struct error err = ERROR_INIT;

    /* An action that cannot be recorded must not run: a retry would run it again. */
    if (store_start(action, &err) < 0) {
        log_error("action.start_not_stored", LOG_ERROR(&err));
        answer_waiters_error(action, &err);
        remove_action(action);
        return;
    }
    action->is_running = true;
    action->conversation->server->last_action_ms = clock_monotonic_ms();
    if (action->tool != ACTION_REPOSITORY && prepare_folder(action, &err) < 0 &&
        needs_folder(action)) {
        on_observation(action,
                       observation_from_refusal(json_text_or(args, "command", ""), err.message));
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
    }
}

/*
 * Shell and browser run one action at a time, the editor any number. While a repository is being
 * prepared the shell waits for it.
 */
static bool can_start(const struct action *action)
{
    const struct conversation *conversation = action->conversation;

    if (action->is_running)
        return false;
    switch (action->tool) {
    case ACTION_TERMINAL:
    case ACTION_REPOSITORY:
        return !terminal_is_busy(conversation->terminal) && conversation->errand == NULL;
    case ACTION_BROWSER:
        return !browser_is_busy(conversation->browser);
    case ACTION_FILE_EDITOR:
        break;
    }
    return true;
}

static struct action *next_startable(const struct conversation *conversation)
{
    struct action *action = conversation->actions;

    while (action != NULL && !can_start(action))
        action = action->next;
    return action;
}

static void pump(struct conversation *conversation)
{
    struct action *action = NULL;

    /* An action that ends at once re-enters here: the outer call starts the next one. */
    if (conversation->is_pumping)
        return;
    conversation->is_pumping = true;
    for (action = next_startable(conversation); action != NULL;
         action = next_startable(conversation))
        start_action(action);
    conversation->is_pumping = false;
}

struct action *conversation_find_action(struct conversation *conversation, const char *id)
{
    struct action *action = conversation->actions;

    while (action != NULL && !text_equal(action->id, id))
        action = action->next;
    return action;
}

static struct action *add_action(struct conversation *conversation, const struct action_spec *spec)
{
    struct action *action = NEW(struct action);
    struct action **end = &conversation->actions;

    action->conversation = conversation;
    memcpy(action->id, spec->id, sizeof(action->id));
    memcpy(action->hash, spec->hash, sizeof(action->hash));
    action->fence = spec->fence;
    action->tool = spec->tool;
    action->body = json_incref(spec->body);
    while (*end != NULL)
        end = &(*end)->next;
    *end = action;
    conversation->n_actions++;
    return action;
}

int conversation_run(struct conversation *conversation, const struct action_spec *spec,
                     struct request *request, struct error *err)
{
    struct action *action = NULL;

    if (conversation->n_actions >= MAX_QUEUED_ACTIONS)
        return error_set(err, ERROR_RATE_LIMITED, "too many actions of this conversation wait");
    action = add_action(conversation, spec);
    if (action_wait(action, request, err) < 0) {
        remove_action(action);
        return -1;
    }
    pump(conversation);
    return 0;
}

bool conversation_rests(const struct conversation *conversation)
{
    return conversation->n_actions == 0 && terminal_rests(conversation->terminal);
}

void conversation_interrupt(struct conversation *conversation)
{
    CLEANUP(mem_freep) char *body = action_interrupted_body(interrupted_reason);
    struct action *action = conversation->actions;

    while (action != NULL) {
        struct action *next = action->next;

        if (!action->is_running)
            end_action(action, body);
        action = next;
    }
    terminal_interrupt(conversation->terminal);
    if (conversation->errand != NULL)
        errand_interrupt(conversation->errand);
    browser_interrupt(conversation->browser);
}

void conversation_free(struct conversation *conversation)
{
    CLEANUP(mem_freep) char *body = action_interrupted_body(ended_reason);

    if (conversation == NULL)
        return;
    terminal_free(conversation->terminal);
    errand_free(conversation->errand);
    browser_free(conversation->browser);
    while (conversation->actions != NULL)
        end_action(conversation->actions, body);
    editor_free(conversation->editor);
    mem_free(conversation->prepared);
    mem_free(conversation);
}

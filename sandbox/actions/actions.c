#include "sandbox/actions/actions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
#include "sandbox/actions/tool_session.h"
#include "sandbox/browser/browser.h"
#include "sandbox/checkpoint/checkpoint_tool.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/server_request.h"
#include "sandbox/terminal/env_script.h"

struct actions {
    struct action_server *server;
    struct tool_session *sessions[MAX_CONVERSATIONS]; /* least recently used first */
    size_t n;
};

struct tool_name {
    const char *name;
    enum action_tool tool;
};

static const struct tool_name tools[] = {
    {"terminal", ACTION_TERMINAL},
    {"file_editor", ACTION_FILE_EDITOR},
    {"repository", ACTION_REPOSITORY},
    {"hook", ACTION_HOOK},
    {"mcp", ACTION_MCP},
    {"checkpoint", ACTION_CHECKPOINT},
};

struct actions *actions_new(struct action_server *server)
{
    struct actions *actions = NEW(struct actions);

    actions->server = server;
    return actions;
}

void actions_free(struct actions *actions)
{
    if (actions == NULL)
        return;
    for (size_t i = 0; i < actions->n; i++)
        tool_session_free(actions->sessions[i]);
    mem_free(actions);
}

/* Index of the conversation's session; actions->n when there is none. */
static size_t place_of(const struct actions *actions, const struct uuid *id)
{
    size_t i = 0;

    while (i < actions->n && !text_equal(tool_session_id(actions->sessions[i])->text, id->text))
        i++;
    return i;
}

static struct tool_session *find_session(const struct actions *actions, const struct uuid *id)
{
    size_t place = place_of(actions, id);

    return place < actions->n ? actions->sessions[place] : NULL;
}

static struct tool_session *take_out(struct actions *actions, size_t place)
{
    struct tool_session *session = actions->sessions[place];

    actions->n--;
    for (size_t i = place; i < actions->n; i++)
        actions->sessions[i] = actions->sessions[i + 1];
    return session;
}

/* Drops the least recently used idle session; its next command starts a new shell. */
static void drop_resting(struct actions *actions)
{
    for (size_t i = 0; i < actions->n; i++) {
        if (!tool_session_is_idle(actions->sessions[i]))
            continue;
        log_info("conversation.evicted",
                 LOG_STR("id", tool_session_id(actions->sessions[i])->text));
        tool_session_free(take_out(actions, i));
        return;
    }
}

static int obtain_session(struct actions *actions, const struct uuid *id,
                          struct tool_session **session_out, struct error *err)
{
    size_t place = place_of(actions, id);
    struct tool_session *session = NULL;

    if (place < actions->n)
        session = take_out(actions, place);
    if (actions->n == MAX_CONVERSATIONS)
        drop_resting(actions);
    if (actions->n == MAX_CONVERSATIONS)
        return error_set(err, ERROR_RATE_LIMITED, "too many conversations in this sandbox");
    if (session == NULL)
        session = tool_session_new(actions->server, id);
    actions->sessions[actions->n++] = session;
    *session_out = session;
    return 0;
}

static int read_id(const struct server_request *request, struct action_spec *spec,
                   struct error *err)
{
    size_t len = strlen(request->param);

    if (len == 0 || len >= sizeof(spec->id) ||
        strspn(request->param, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                               "0123456789-_.:") != len)
        return error_set(err, ERROR_INVALID, "not an action id");
    memcpy(spec->id, request->param, len + 1);
    return 0;
}

/* Reads conversation and fence; refuses a stale fence, stores a newer one. */
static int read_scope(const struct server_request *request, struct action_spec *spec,
                      struct error *err)
{
    CLEANUP(mem_freep) char *conversation = server_request_header(request, "x-deft-conversation");
    CLEANUP(mem_freep) char *fence = server_request_header(request, "x-deft-fence");
    struct journal *journal = request->server->journal;

    if (conversation == NULL || !uuid_parse(conversation, &spec->conversation))
        return error_set(err, ERROR_INVALID, "X-Deft-Conversation must be a UUID");
    if (fence == NULL)
        return error_set(err, ERROR_INVALID, "X-Deft-Fence is missing");
    if (text_parse_int(fence, 0, INT64_MAX, &spec->fence, err) < 0)
        return error_wrap(err, "X-Deft-Fence");
    if (spec->fence < journal_fence(journal, &spec->conversation))
        return error_set(err, ERROR_STALE, "the fence %lld is older than %lld",
                         (long long)spec->fence,
                         (long long)journal_fence(journal, &spec->conversation));
    journal_raise_fence(journal, &spec->conversation, spec->fence);
    return 0;
}

/* FNV-1a, 64 bits: detects a caller's mistake; callers have no reason to forge a collision. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xCBF29CE484222325ULL;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3ULL;
    return hash;
}

/* Tool and arguments identify an action; its working directory and secrets may differ. */
static void hash_body(const json_t *body, char hash[ACTION_HASH_BYTES])
{
    CLEANUP(strbuf_done) struct strbuf hex = STRBUF_INIT;
    json_auto_t *what = json_object();
    char *text = NULL;

    json_put(what, "tool", json_incref(json_object_get(body, "tool")));
    json_put(what, "args", json_incref(json_object_get(body, "args")));
    text = json_dumps(what, JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL)
        abort(); /* it was parsed from text */
    strbuf_appendf(&hex, "%016llx", (unsigned long long)hash_text(text));
    memcpy(hash, hex.text, ACTION_HASH_BYTES);
    mem_free(text);
}

static bool is_absent(const json_t *value)
{
    return value == NULL || json_is_null(value);
}

static int check_terminal_args(const json_t *args, struct error *err)
{
    const json_t *command = json_object_get(args, "command");
    const json_t *timeout = json_object_get(args, "timeout");
    double timeout_s = json_number_value(timeout);

    if (!json_is_string(command) || json_string_length(command) > MAX_COMMAND_BYTES)
        return error_set(err, ERROR_INVALID, "args.command must be a string of at most %d bytes",
                         MAX_COMMAND_BYTES);
    if (!is_absent(timeout) &&
        (!json_is_number(timeout) || !isfinite(timeout_s) || timeout_s < 0 || timeout_s > 1e9))
        return error_set(err, ERROR_INVALID, "args.timeout must be a number of seconds");
    return 0;
}

static int check_browser_args(const json_t *args, struct error *err)
{
    if (json_dumpb(args, NULL, 0, JSON_COMPACT) > MAX_BROWSER_ARGS_BYTES)
        return error_set(err, ERROR_INVALID, "args must have at most %d bytes",
                         MAX_BROWSER_ARGS_BYTES);
    return 0;
}

static int check_body(enum action_tool tool, const json_t *body, struct error *err)
{
    const json_t *args = json_object_get(body, "args");

    switch (tool) {
    case ACTION_TERMINAL:
        return check_terminal_args(args, err);
    case ACTION_BROWSER:
        return check_browser_args(args, err);
    case ACTION_REPOSITORY:
        return repository_tool_check(args, err);
    case ACTION_HOOK:
        return hook_tool_check(args, err);
    case ACTION_MCP:
        return mcp_tool_check(body, err);
    case ACTION_CHECKPOINT:
        return checkpoint_tool_check(args, err);
    case ACTION_FILE_EDITOR:
    case ACTION_FILE_TOOL:
        break;
    }
    return 0;
}

static int read_tool(const json_t *body, struct action_spec *spec, struct error *err)
{
    const char *name = json_text_or(body, "tool", "");

    if (!json_is_object(json_object_get(body, "args")))
        return error_set(err, ERROR_INVALID, "args must be an object");
    for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
        if (!text_equal(tools[i].name, name))
            continue;
        spec->tool = tools[i].tool;
        return check_body(spec->tool, body, err);
    }
    if (browser_has_tool(name)) {
        spec->tool = ACTION_BROWSER;
        return check_body(spec->tool, body, err);
    }
    if (file_tool_exists(name)) {
        spec->tool = ACTION_FILE_TOOL;
        return 0;
    }
    return error_set(
        err, ERROR_INVALID,
        "tool must be terminal, file_editor, repository, hook, mcp, checkpoint, one of browser_*, "
        "glob, grep, read_file, write_file, edit, list_directory or apply_patch");
}

/* The caller owns *body_out, which spec->body borrows. */
static int read_spec(const struct server_request *request, struct action_spec *spec,
                     json_t **body_out, struct error *err)
{
    if (read_id(request, spec, err) < 0 || read_scope(request, spec, err) < 0)
        return -1;
    if (json_parse(request->body.text, request->body.len, body_out, err) < 0)
        return error_wrap(err, "body");
    if (!json_is_object(*body_out))
        return error_set(err, ERROR_INVALID, "the body must be an object");
    if (read_tool(*body_out, spec, err) < 0 ||
        env_script_check(json_object_get(*body_out, "env"), err) < 0)
        return -1;
    spec->body = *body_out;
    hash_body(*body_out, spec->hash);
    return 0;
}

static int check_same(const struct action_spec *spec, const char *hash, struct error *err)
{
    if (!text_equal(spec->hash, hash))
        return error_set(err, ERROR_CONFLICT, "another action already has this id");
    return 0;
}

static int answer_kept(struct server_request *request, const struct journal_entry *entry,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    if (journal_read_result(request->server->journal, entry, &body, err) < 0)
        return -1;
    server_request_answer_text(request, 200, "application/json", body.text, body.len);
    return 0;
}

static int put_action(struct server_request *request, struct action_spec *spec, struct error *err)
{
    struct actions *actions = request->server->actions;
    const struct journal_entry *entry = NULL;
    struct tool_session *session = NULL;
    struct action *action = NULL;

    entry = journal_find(request->server->journal, spec->id);
    if (entry != NULL && !text_equal(entry->conversation.text, spec->conversation.text))
        return error_set(err, ERROR_CONFLICT, "another conversation has this action id");
    if (entry != NULL && check_same(spec, entry->hash, err) < 0)
        return -1;
    if (entry != NULL && entry->state == JOURNAL_FINISHED)
        return answer_kept(request, entry, err);
    if (obtain_session(actions, &spec->conversation, &session, err) < 0)
        return -1;
    action = tool_session_find_action(session, spec->id);
    if (action == NULL)
        return tool_session_run(session, spec, request, err);
    if (check_same(spec, action_hash(action), err) < 0)
        return -1;
    return action_wait(action, request, err);
}

void actions_handle_put(struct server_request *request)
{
    struct action_spec spec = {.fence = -1};
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;

    if (read_spec(request, &spec, &body, &err) < 0 || put_action(request, &spec, &err) < 0)
        server_request_answer_error(request, &err);
}

static void answer_state(struct server_request *request, const char *state)
{
    json_auto_t *body = json_object();

    json_put_text(body, "state", state);
    server_request_answer_json(request, 200, body);
}

static int get_action(struct server_request *request, const struct action_spec *spec,
                      struct error *err)
{
    const struct journal_entry *entry = journal_find(request->server->journal, spec->id);
    struct tool_session *session = find_session(request->server->actions, &spec->conversation);
    struct action *action = session != NULL ? tool_session_find_action(session, spec->id) : NULL;
    const char *wait = server_request_query(request, "wait");

    if (action != NULL && wait != NULL && text_equal(wait, "1"))
        return action_wait(action, request, err);
    if (entry != NULL && entry->state == JOURNAL_FINISHED &&
        text_equal(entry->conversation.text, spec->conversation.text))
        return answer_kept(request, entry, err);
    answer_state(request, action != NULL ? "running" : "unknown");
    return 0;
}

void actions_handle_get(struct server_request *request)
{
    struct action_spec spec = {.fence = -1};
    struct error err = ERROR_INIT;

    if (read_id(request, &spec, &err) < 0 || read_scope(request, &spec, &err) < 0 ||
        get_action(request, &spec, &err) < 0)
        server_request_answer_error(request, &err);
}

static void answer_success(struct server_request *request)
{
    json_auto_t *body = json_object();

    json_put(body, "success", json_true());
    server_request_answer_json(request, 200, body);
}

void actions_handle_delete(struct server_request *request)
{
    journal_acknowledge(request->server->journal, request->param);
    answer_success(request);
}

void actions_handle_acknowledge(struct server_request *request)
{
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;
    const json_t *ids = NULL;
    const json_t *id = NULL;
    size_t i = 0;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    ids = json_object_get(body, "ids");
    if (!json_is_array(ids)) {
        server_request_answer_detail(request, 400, "ids must be a list");
        return;
    }
    json_array_foreach (ids, i, id) {
        if (json_is_string(id))
            journal_acknowledge(request->server->journal, json_string_value(id));
    }
    answer_success(request);
}

void actions_handle_interrupt(struct server_request *request)
{
    struct uuid id = UUID_INIT;
    struct tool_session *session = NULL;

    if (!uuid_parse(request->param, &id)) {
        server_request_answer_detail(request, 400, "not a conversation id");
        return;
    }
    session = find_session(request->server->actions, &id);
    if (session != NULL)
        tool_session_interrupt(session);
    answer_success(request);
}

static int wait_for_progress(struct server_request *request, struct error *err)
{
    const char *after = server_request_query(request, "after");
    struct tool_session *session = NULL;
    struct uuid id = UUID_INIT;
    int64_t seq = 0;

    if (!uuid_parse(request->param, &id))
        return error_set(err, ERROR_INVALID, "not a conversation id");
    if (after != NULL && text_parse_int(after, 0, INT64_MAX, &seq, err) < 0)
        return error_wrap(err, "after");
    session = find_session(request->server->actions, &id);
    if (session == NULL)
        return error_set(err, ERROR_NOT_FOUND, "the conversation has no action");
    return progress_reports_wait(tool_session_progress(session), seq, request, err);
}

void actions_handle_progress(struct server_request *request)
{
    struct error err = ERROR_INIT;

    if (wait_for_progress(request, &err) < 0)
        server_request_answer_error(request, &err);
}

void actions_handle_forget(struct server_request *request)
{
    struct actions *actions = request->server->actions;
    struct uuid id = UUID_INIT;
    size_t place = 0;

    if (!uuid_parse(request->param, &id)) {
        server_request_answer_detail(request, 400, "not a conversation id");
        return;
    }
    place = place_of(actions, &id);
    if (place < actions->n)
        tool_session_free(take_out(actions, place));
    journal_forget(request->server->journal, &id);
    answer_success(request);
}

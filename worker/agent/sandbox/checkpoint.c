#include "worker/agent/sandbox/checkpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/crash.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "model/tools/agent_tool.h"
#include "model/tools/tool_table.h"
#include "model/tools/toolset.h"
#include "store/conversation/checkpoint_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/database_retry.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent/sandbox/sandbox_http.h"
#include "worker/context.h"

#define TAKE_PATH "/checkpoints/take"

enum {
    TAKE_MS = 5000,
    ANSWER_MS = 3000, /* in addition */
    TREE_CHARS = 64,
    TEXT_MAX_CHARS = 500,
};

/* --- whether one is due --- */

static bool changes_files(const struct agent *agent, size_t action)
{
    const char *name =
        json_text_or(stored_event_json(&agent->history.items[action]), "tool_name", "");
    const struct agent_tool *tool = toolset_find(agent->tools, name);

    return tool == NULL || tool->own == NULL || !tool_leaves_files(tool->own);
}

static bool any_changes_files(const struct agent *agent, const struct index_list *pending)
{
    for (size_t i = 0; i < pending->n; i++) {
        if (changes_files(agent, pending->items[i]))
            return true;
    }
    return false;
}

static int load_last(struct agent *agent, void *seq_out, struct error *err)
{
    return checkpoint_store_last(agent->context->db, &agent->lease.conversation_id, seq_out, err);
}

/* Whether the user has spoken, or has gone back in the log, since the newest checkpoint. */
static int is_new_turn(struct agent *agent, bool *is_new_out, struct error *err)
{
    if (!agent->knows_checkpoint &&
        database_retry(agent, load_last, &agent->checkpoint_seq, err) < 0)
        return -1;
    agent->knows_checkpoint = true;
    *is_new_out = agent->checkpoint_seq == 0 || agent->history.branch_seq > agent->checkpoint_seq ||
                  history_has_user_message_after(&agent->history, agent->checkpoint_seq);
    return 0;
}

/* --- storing --- */

static struct uuid last_message(const struct history *history)
{
    for (size_t i = history->n; i > 0; i--) {
        if (stored_event_is_message(&history->items[i - 1], "user"))
            return history->items[i - 1].id;
    }
    return (struct uuid)UUID_INIT;
}

static int add_row(struct agent *agent, void *checkpoint, struct error *err)
{
    return checkpoint_store_add(agent->context->db, &agent->lease, checkpoint, err);
}

int checkpoint_store(struct agent *agent, int64_t seq, const char *tree, const json_t *details,
                     struct error *err)
{
    struct checkpoint checkpoint = {
        .seq = seq,
        .message_id = last_message(&agent->history),
        .runtime_session = agent->conversation.runtime_session,
        .runtime_id = sandbox_runtime_id(agent->sandbox),
        .tree = tree,
        .details = details,
    };

    while (database_retry(agent, add_row, &checkpoint, err) < 0) {
        /* A lease that expired while the database was unavailable may still be ours. */
        if (err->code != ERROR_STALE || event_writer_check_lease(agent, err) < 0)
            return -1;
    }
    if (seq > agent->checkpoint_seq)
        agent->checkpoint_seq = seq;
    return 0;
}

/* --- taking --- */

bool checkpoint_is_name(const char *tree)
{
    return tree != NULL && strlen(tree) == TREE_CHARS &&
           strspn(tree, "0123456789abcdef") == TREE_CHARS;
}

/* NULL: the sandbox has taken none. */
static const char *tree_of(const json_t *reply)
{
    const char *tree = json_text_or(reply, "id", NULL);

    return checkpoint_is_name(tree) ? tree : NULL;
}

static json_t *shown_text(const struct agent *agent, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    secret_list_mask_text(&agent->secrets, text, &masked);
    return json_text(masked.text, utf8_offset(masked.text, masked.len, TEXT_MAX_CHARS));
}

static json_t *skipped_of(const struct agent *agent, const json_t *reply)
{
    const json_t *skipped = json_object_get(reply, "skipped");
    json_t *kept = json_array();
    const json_t *entry = NULL;
    size_t i = 0;

    json_array_foreach (skipped, i, entry) {
        json_t *copy = json_object();

        json_put(copy, "path", shown_text(agent, json_text_or(entry, "path", "")));
        json_put(copy, "reason", shown_text(agent, json_text_or(entry, "reason", "")));
        json_push(kept, copy);
        if (json_array_size(kept) == CHECKPOINT_SKIPPED_MAX)
            break;
    }
    return kept;
}

static json_t *details_of(const struct agent *agent, const json_t *reply)
{
    json_t *details = json_object();
    const char *reason = json_text_or(reply, "reason", NULL);

    json_put(details, "n_files", json_integer(json_int_or(reply, "n_files", 0)));
    json_put(details, "n_skipped", json_integer(json_int_or(reply, "n_skipped", 0)));
    json_put(details, "skipped", skipped_of(agent, reply));
    if (tree_of(reply) == NULL)
        json_put(details, "reason",
                 shown_text(agent, reason != NULL ? reason : "The sandbox gave no checkpoint"));
    return details;
}

static json_t *take_content(const struct agent *agent)
{
    json_t *content = json_object();

    json_put_text(content, "working_dir", conversation_working_dir(&agent->conversation));
    json_put(content, "timeout_ms", json_integer(TAKE_MS));
    return content;
}

/* Waits for what checkpoint_begin() began, if anything, else asks now. */
static int ask(struct agent *agent, json_t **reply_out, struct error *err)
{
    CLEANUP(http_call_freep) struct http_call *call = TAKE_PTR(agent->checkpoint_call);
    json_auto_t *content = NULL;

    if (call != NULL)
        return sandbox_http_wait(agent, call, err) < 0 ? -1
                                                       : sandbox_ask_read(call, reply_out, err);
    content = take_content(agent);
    return sandbox_ask(agent->sandbox,
                       &(struct sandbox_order){.path = TAKE_PATH,
                                               .content = content,
                                               .timeout_ms = TAKE_MS + ANSWER_MS},
                       reply_out, err);
}

/* *reply_out says why there is none if the sandbox does not answer. */
static int take(struct agent *agent, json_t **reply_out, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (ask(agent, reply_out, &failure) == 0)
        return 0;
    if (failure.code == ERROR_CANCELLED || failure.code == ERROR_STALE) {
        *err = failure;
        return -1;
    }
    log_warning("checkpoint.failed", LOG_ERROR(&failure));
    *reply_out = json_object();
    json_put_text(*reply_out, "reason", failure.message);
    return 0;
}

static int take_and_store(struct agent *agent, int64_t seq, struct error *err)
{
    json_auto_t *reply = NULL;
    json_auto_t *details = NULL;
    struct error failure = ERROR_INIT;

    /* The calls say better than we why there is no sandbox. */
    if (sandbox_ready(agent->sandbox, &failure) < 0) {
        if (failure.code == ERROR_UNAVAILABLE)
            return 0;
        *err = failure;
        return -1;
    }
    if (take(agent, &reply, err) < 0)
        return -1;
    crash_point(&agent->context->crash, CRASH_CHECKPOINT_TAKEN);
    details = details_of(agent, reply);
    if (checkpoint_store(agent, seq, tree_of(reply), details, err) < 0)
        return -1;
    crash_point(&agent->context->crash, CRASH_CHECKPOINT_STORED);
    return 0;
}

/* A sub-agent's calls are part of its caller's turn. */
static bool has_checkpoints(const struct agent *agent)
{
    return agent->sandbox != NULL && !agent->conversation.is_sub_agent;
}

/* Calls since then have changed no files, or it would have been stored before them. */
static bool is_begun(const struct agent *agent)
{
    return agent->checkpoint_call != NULL &&
           !history_has_user_message_after(&agent->history, agent->checkpoint_call_seq);
}

void checkpoint_begin(struct agent *agent)
{
    json_auto_t *content = NULL;
    struct error err = ERROR_INIT;
    bool is_new = false;

    if (!has_checkpoints(agent) || is_begun(agent) || !sandbox_is_ready(agent->sandbox))
        return;
    http_call_free(TAKE_PTR(agent->checkpoint_call));
    if (is_new_turn(agent, &is_new, &err) < 0 || !is_new)
        return;
    content = take_content(agent);
    agent->checkpoint_call_seq = agent->history.last_seq;
    error_ignore(sandbox_ask_begin(agent->sandbox,
                                   &(struct sandbox_order){.path = TAKE_PATH,
                                                           .content = content,
                                                           .timeout_ms = TAKE_MS + ANSWER_MS},
                                   &agent->checkpoint_call, &err),
                 "it is taken before the first call");
}

int checkpoint_settle(struct agent *agent, const struct index_list *pending, struct error *err)
{
    bool is_new = false;

    if (!has_checkpoints(agent) || pending->n == 0 || !any_changes_files(agent, pending))
        return 0;
    if (is_new_turn(agent, &is_new, err) < 0)
        return -1;
    return is_new ? take_and_store(agent, agent->history.items[pending->items[0]].seq, err) : 0;
}

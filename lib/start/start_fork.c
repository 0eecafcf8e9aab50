#include "start/start_fork.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/conversation/file_restore.h"
#include "model/conversation/sealed_secrets.h"
#include "model/conversation/worktree.h"
#include "model/event/stats.h"
#include "model/tools/project_servers.h"
#include "start/start_context.h"
#include "start/start_place.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/checkpoint_store.h"

static json_t *copy_spec(const struct conversation *source, const struct fork_order *order)
{
    json_t *spec = json_deep_copy(source->spec);

    json_put(spec, "tags", order->tags != NULL ? json_deep_copy(order->tags) : json_object());
    (void)json_object_del(spec, "goal");
    (void)json_object_del(spec, KNOWLEDGE_REQUESTS);
    /* Consents are for one conversation. */
    project_servers_withdraw_all(spec);
    return spec;
}

static int derive(const struct start_context *context, const struct conversation *source,
                  const struct fork_order *order, struct conversation *copy, struct error *err)
{
    copy->id = uuid_is_set(&order->id) ? order->id : uuid_random();
    if (order->title != NULL && !text_is_blank(order->title))
        copy->title = mem_dup_text(order->title);
    copy->spec = copy_spec(source, order);
    copy->stats =
        order->metrics == FORK_RESETS_METRICS ? stats_new() : json_deep_copy(source->stats);
    copy->agent_state = json_deep_copy(source->agent_state);
    /* The source's sub-agents, and its sessions at MCP servers. */
    (void)json_object_del(copy->agent_state, AGENT_STATE_DELEGATES);
    (void)json_object_del(copy->agent_state, AGENT_STATE_SERVER_SESSIONS);
    file_restore_clear(copy->agent_state);
    worktree_set_settled(copy);
    return sealed_secrets_copy(context->keyring, source, copy, &copy->secrets, err);
}

static bool wants_files(const struct start_context *context, const struct conversation *source,
                        const struct fork_order *order)
{
    if (order->files == FORK_FILES_BY_SANDBOX)
        return context->caller.kind != START_BY_SANDBOX && source->runtime_kind == RUNTIME_DOCKER;
    return order->files == FORK_FILES_RESTORED;
}

/* Refuses at once what the run could not restore either. */
static int check_files(const struct start_context *context, const struct conversation *source,
                       const struct fork_order *order, struct error *err)
{
    CLEANUP(found_checkpoint_done) struct found_checkpoint found = FOUND_CHECKPOINT_INIT;

    if (order->files != FORK_FILES_RESTORED)
        return 0;
    if (context->caller.kind == START_BY_SANDBOX)
        return error_set(err, ERROR_FORBIDDEN,
                         "A sandbox's key forks conversations in that sandbox only, where restored "
                         "files would replace those of the source");
    if (order->from_event_id == NULL)
        return 0;
    if (checkpoint_store_find(context->db, &source->id, order->from_event_id, &found, err) < 0)
        return -1;
    if (found.state == CHECKPOINT_IS_MISSING)
        return error_set(
            err, ERROR_CONFLICT, "There is no checkpoint of the files at that event%s%s",
            found.reason != NULL ? ": " : "", found.reason != NULL ? found.reason : "");
    return 0;
}

/* The run finds the checkpoint: until then the source may take one of the wanted files. */
static void order_files(const struct conversation *source, const struct fork_order *order,
                        struct conversation *copy)
{
    const struct uuid id = uuid_random();
    const char *leaf = uuid_is_set(&source->leaf_event_id) ? source->leaf_event_id.text : NULL;
    const struct file_restore restore = {
        .id = id.text,
        .source_id = source->id.text,
        .event_id = order->from_event_id != NULL ? order->from_event_id : leaf,
        .is_required = order->files == FORK_FILES_RESTORED,
    };

    file_restore_set(copy->agent_state, &restore);
}

int start_fork(const struct start_context *context, const struct conversation *source,
               const struct fork_order *order, struct conversation *copy_out, struct error *err)
{
    const struct fork fork = {source->id, order->from_event_id};

    if (check_files(context, source, order, err) < 0 ||
        derive(context, source, order, copy_out, err) < 0)
        return -1;
    if (order->files == FORK_FILES_RESTORED)
        start_place_copy_apart(source, copy_out);
    else
        start_place_copy(context, source, copy_out);
    if (wants_files(context, source, order))
        order_files(source, order, copy_out);
    return branch_store_fork(context->db, &fork, copy_out, err);
}

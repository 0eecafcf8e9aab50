#include "start/start_fork.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/conversation/sealed_secrets.h"
#include "model/conversation/worktree.h"
#include "model/event/stats.h"
#include "model/tools/project_servers.h"
#include "start/start_context.h"
#include "start/start_place.h"
#include "store/conversation/branch_store.h"

static json_t *copy_spec(const struct conversation *source, const struct fork_order *order)
{
    json_t *spec = json_deep_copy(source->spec);

    json_put(spec, "tags", order->tags != NULL ? json_deep_copy(order->tags) : json_object());
    (void)json_object_del(spec, "goal");
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
    /* They are sub-agents of the source. */
    (void)json_object_del(copy->agent_state, AGENT_STATE_DELEGATES);
    worktree_set_settled(copy);
    return sealed_secrets_copy(context->keyring, source, copy, &copy->secrets, err);
}

int start_fork(const struct start_context *context, const struct conversation *source,
               const struct fork_order *order, struct conversation *copy_out, struct error *err)
{
    const struct fork fork = {source->id, order->from_event_id};

    if (derive(context, source, order, copy_out, err) < 0)
        return -1;
    start_place_copy(context, source, copy_out);
    return branch_store_fork(context->db, &fork, copy_out, err);
}

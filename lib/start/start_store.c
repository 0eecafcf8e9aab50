#include "start/start_store.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/conversation/sealed_secrets.h"
#include "start/start_context.h"
#include "start/start_validate.h"
#include "store/conversation/conversation_store.h"

int start_check_quota(const struct start_context *context, struct error *err)
{
    const struct run_seeker seeker = {.user_id = &context->caller.scope.user_id};

    return conversation_store_check_room(context->db, &seeker, &context->limits.runs, err);
}

int start_store_order(const struct start_context *context, const struct start_order *order,
                      enum start_outcome *outcome_out, struct error *err)
{
    CLEANUP(start_rows_done) struct start_rows rows = START_ROWS_INIT;
    bool was_there = false;

    if (order->content != NULL && start_check_quota(context, err) < 0)
        return -1;
    if (start_rows_plan(order, &rows, err) < 0 ||
        conversation_store_create(context->db, order->conversation, &rows.events, &rows.write,
                                  &was_there, err) < 0)
        return -1;
    if (was_there)
        *outcome_out = START_EXISTED;
    else
        *outcome_out = order->folder == START_IN_WORKTREE ? START_PENDING : START_STORED;
    return 0;
}

struct start_order start_order_of(const struct start_context *context, struct start_plan *plan)
{
    struct conversation *conversation = &plan->conversation;

    mem_free(conversation->secrets);
    conversation->secrets =
        sealed_secrets_seal_text(context->keyring, conversation, &plan->secrets);
    return (struct start_order){
        .catalogue = context->catalogue,
        .conversation = conversation,
        .content = plan->content,
        .sender = plan->sender,
        .folder = json_bool_or(conversation->spec, "worktree", 0) != 0 ? START_IN_WORKTREE
                                                                       : START_IN_FOLDER,
        .worktree_options = json_object_get(conversation->spec, "worktree_options"),
    };
}

int start_store(const struct start_context *context, struct start_plan *plan,
                enum start_outcome *outcome_out, struct error *err)
{
    const struct start_order order = start_order_of(context, plan);

    return start_store_order(context, &order, outcome_out, err);
}

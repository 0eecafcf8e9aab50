#include "start/start_rows.h"

#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/conversation/worktree.h"
#include "store/conversation/conversation_post.h"

void start_rows_done(struct start_rows *rows)
{
    if (rows == NULL)
        return;
    event_list_done(&rows->events);
    conversation_change_done(&rows->change);
    json_decref(TAKE_PTR(rows->payload));
}

static int plan_message(const struct start_order *order, struct start_rows *rows, struct error *err)
{
    const struct planned_message message = {order->catalogue, order->content, MESSAGE_AND_RUN};

    if (order->content == NULL)
        return 0;
    if (conversation_plan_message(order->conversation, &message, &rows->events, &rows->change,
                                  err) < 0)
        return -1;
    event_list_set_sender(&rows->events, order->sender);
    conversation_write_change(&rows->change, &rows->write);
    return 0;
}

/* {"content", "sender", "options"}, for the job. */
static json_t *worktree_payload(const struct start_order *order)
{
    json_t *payload = json_object();

    json_put(payload, "content", json_incref(order->content));
    json_put_text(payload, "sender", order->sender);
    json_put(payload, "options", json_incref(order->worktree_options));
    return payload;
}

static void plan_job(const struct start_order *order, struct start_rows *rows)
{
    worktree_set_pending(order->conversation);
    rows->payload = worktree_payload(order);
    rows->write.job = (struct job_request){
        .kind = "worktree", .payload = rows->payload, .key = order->conversation->id};
}

int start_rows_plan(const struct start_order *order, struct start_rows *rows_out, struct error *err)
{
    if (order->folder == START_IN_FOLDER)
        return plan_message(order, rows_out, err);
    plan_job(order, rows_out);
    return 0;
}

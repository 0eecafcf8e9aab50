#include "model/conversation/file_restore.h"

#include "base/json.h"
#include "model/conversation/conversation.h"

void file_restore_set(json_t *agent_state, const struct file_restore *order)
{
    json_t *json = json_object();

    json_put_text(json, "id", order->id);
    json_put_text(json, "tree", order->tree);
    json_put_text(json, "runtime_session", order->runtime_session);
    json_put_text(json, "runtime_id", order->runtime_id);
    json_put_text(json, "source_id", order->source_id);
    json_put_text(json, "event_id", order->event_id);
    json_put(json, "is_required", json_boolean(order->is_required));
    json_put(agent_state, AGENT_STATE_RESTORE, json);
}

void file_restore_clear(json_t *agent_state)
{
    (void)json_object_del(agent_state, AGENT_STATE_RESTORE);
}

bool file_restore_read(const json_t *agent_state, struct file_restore *order_out)
{
    const json_t *json = json_object_get(agent_state, AGENT_STATE_RESTORE);

    *order_out = (struct file_restore){
        .id = json_text_or(json, "id", NULL),
        .tree = json_text_or(json, "tree", NULL),
        .runtime_session = json_text_or(json, "runtime_session", NULL),
        .runtime_id = json_text_or(json, "runtime_id", NULL),
        .source_id = json_text_or(json, "source_id", NULL),
        .event_id = json_text_or(json, "event_id", NULL),
        .is_required = json_bool_or(json, "is_required", 0) != 0,
    };
    return order_out->id != NULL;
}

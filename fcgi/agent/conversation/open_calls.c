#include "fcgi/agent/conversation/open_calls.h"

#include "base/json.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/event_store.h"
#include "store/conversation/waiting_calls.h"

int open_calls_end(const struct request *request, const struct conversation *conversation,
                   const struct call_end *end, struct event_list *events, struct error *err)
{
    CLEANUP(history_done) struct history open = HISTORY_INIT;

    if (open_calls_load(request->context->db, conversation, &open, err) < 0)
        return -1;
    for (size_t i = 0; i < open.n; i++) {
        const struct stored_event *event = &open.items[i];
        const struct call_ref call = {
            .action_id = event->id,
            .tool_name = json_text_or(stored_event_json(event), "tool_name", ""),
            .tool_call_id = json_text_or(stored_event_json(event), "tool_call_id", "")};

        end->add(events, &call, end->text);
    }
    return 0;
}

#include "fcgi/agent/open_calls.h"

#include "base/json.h"
#include "base/text.h"
#include "fcgi/context.h"
#include "fcgi/request.h"
#include "model/conversation.h"
#include "model/event.h"
#include "store/event_store.h"

static bool has_result(const struct history *history, const struct uuid *action_id)
{
    for (size_t i = 0; i < history->n; i++) {
        if (text_equal(history->items[i].result_of.text, action_id->text))
            return true;
    }
    return false;
}

int open_calls_end(const struct request *request, const struct conversation *conversation,
                   const struct call_end *end, struct event_list *events, struct error *err)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    if (event_store_load_after(request->context->db, &conversation->id, &history, err) < 0)
        return -1;
    for (size_t i = 0; i < history.n; i++) {
        const struct stored_event *event = &history.items[i];
        const struct call_ref call = {.action_id = event->id,
                                      .tool_name = json_text_or(event->json, "tool_name", ""),
                                      .tool_call_id =
                                          json_text_or(event->json, "tool_call_id", "")};

        if (text_equal(event->kind, "ActionEvent") && !has_result(&history, &event->id))
            end->add(events, &call, end->text);
    }
    return 0;
}

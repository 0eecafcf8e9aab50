#include "worker/agent/core/call_action.h"

#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/secret_list.h"

json_t *call_action_to_run(const struct agent *agent, size_t action)
{
    const struct stored_event *event = &agent->history.items[action];
    json_t *withheld = json_object_get(agent->withheld, event->id.text);

    return withheld != NULL ? withheld : json_object_get(stored_event_json(event), "action");
}

bool call_is_incomplete(const struct agent *agent, size_t action)
{
    const struct stored_event *event = &agent->history.items[action];

    return event->seq <= agent->claimed_seq &&
           json_object_get(agent->withheld, event->id.text) == NULL &&
           secret_list_is_masked(json_object_get(stored_event_json(event), "action"));
}

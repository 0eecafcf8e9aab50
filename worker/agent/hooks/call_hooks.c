#include "worker/agent/hooks/call_hooks.h"

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/hooks/hook_run.h"

#define BLOCKED_TEXT "A hook blocked this call."

void call_verdicts_init(struct call_verdicts *verdicts, size_t n, const struct uuid *first_id)
{
    *verdicts =
        (struct call_verdicts){.items = mem_alloc_array(n, sizeof(*verdicts->items)), .n = n};
    for (size_t i = 0; i < n; i++)
        verdicts->items[i] = (struct call_verdict){.action_id = i == 0 ? *first_id : uuid_random(),
                                                   .events = EVENT_LIST_INIT,
                                                   .reason = STRBUF_INIT};
}

void call_verdicts_done(struct call_verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->n; i++) {
        event_list_done(&verdicts->items[i].events);
        strbuf_done(&verdicts->items[i].reason);
    }
    mem_free(verdicts->items);
}

static size_t count_bytes(const struct event_list *events)
{
    size_t n = 0;

    for (size_t i = 0; i < events->n; i++)
        n += json_dumpb(events->items[i].json, NULL, 0, JSON_COMPACT);
    return n;
}

int call_hooks_before(struct agent *agent, const char *tool_name, const json_t *action,
                      struct call_verdict *verdict, struct error *err)
{
    CLEANUP(hook_outcome_done) struct hook_outcome outcome = HOOK_OUTCOME_INIT;
    const struct hook_occasion occasion = {
        .event = HOOK_PRE_TOOL_USE,
        .subject = verdict->action_id.text,
        .action_id = verdict->action_id.text,
        .tool_name = tool_name,
        .tool_input = action,
    };

    if (hook_run_all(agent, &occasion, &verdict->events, &outcome, err) < 0)
        return -1;
    verdict->n_bytes = count_bytes(&verdict->events);
    verdict->is_blocked = outcome.is_blocked;
    strbuf_append(&verdict->reason, outcome.reason.len > 0 ? outcome.reason.text : BLOCKED_TEXT);
    return 0;
}

/* True if the result is stored although not all hooks have run. */
static bool may_go_without(const struct agent *agent, const struct error *failure)
{
    return failure->code == ERROR_UNAVAILABLE ||
           (failure->code == ERROR_CANCELLED && run_control_stop(agent->control) == STOP_INTERRUPT);
}

int call_hooks_after(struct agent *agent, size_t action, const json_t *observation,
                     struct event_list *events, struct strbuf *context, struct error *err)
{
    CLEANUP(hook_outcome_done) struct hook_outcome outcome = HOOK_OUTCOME_INIT;
    const struct stored_event *event = &agent->history.items[action];
    struct uuid id = event->id;
    json_auto_t *json = json_incref(stored_event_json(event));
    const struct hook_occasion occasion = {
        .event = HOOK_POST_TOOL_USE,
        .subject = id.text,
        .action_id = id.text,
        .tool_name = json_text_or(json, "tool_name", ""),
        .tool_input = json_object_get(json, "action"),
        .tool_response = observation,
    };
    struct error failure = ERROR_INIT;

    if (hook_run_all(agent, &occasion, events, &outcome, &failure) < 0) {
        if (!may_go_without(agent, &failure)) {
            *err = failure;
            return -1;
        }
        log_info("hook.not_run", LOG_ERROR(&failure));
    }
    strbuf_append(context, outcome.context.text);
    return 0;
}

int call_hooks_add_observation(struct agent *agent, size_t action, json_t *observation,
                               struct event_list *events, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    json_auto_t *parts = json_array();
    const struct call_ref ref = call_ref_of(&agent->history.items[action]);

    if (call_hooks_after(agent, action, observation, events, &context, err) < 0)
        return -1;
    event_add_observation(events, &ref, observation);
    json_push(parts, text_content(context.text));
    if (context.len > 0)
        event_list_set_extended(events, parts);
    return 0;
}

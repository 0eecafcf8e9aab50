#include "worker/agent/sandbox/sandbox_call.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/tools/agent_tool.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/core/secret_lookup.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent/sandbox/takeover.h"
#include "worker/context.h"

/* Tools enforce a command's own limit; this much later the sandbox is considered hung. */
#define OWN_LIMIT_MARGIN_MS 60000
#define LEASE_LOOK_MS 100

#define LOST_TEXT                                                                                  \
    "The sandbox was restarted while this call was in progress, perhaps because it ran out of "    \
    "memory. The call was cut off and did not complete; it was not tried again."

#define WITHHELD_TEXT                                                                              \
    "The call was not run: its arguments hold the value of a secret. Such values are not stored, " \
    "and the call could not be run at once. Call again, and refer to the secret by its "           \
    "environment variable, such as \"$NAME\"."

/* Starts nothing on a lease that may have expired: the next holder may start the same. */
static int wait_for_lease(struct agent *agent, struct error *err)
{
    while (!run_control_has_lease(agent->control)) {
        if (run_control_sleep(agent->control, LEASE_LOOK_MS, err) < 0)
            return -1;
    }
    return 0;
}

/* Stores which sandbox is used, before its first call: see takeover.h. */
static int note_sandbox(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list no_events = EVENT_LIST_INIT;
    json_t *state = agent->conversation.agent_state;
    struct conversation_write change = {.agent_state = state};
    const char *runtime_id = sandbox_runtime_id(agent->sandbox);

    if (text_equal(json_text_or(state, AGENT_STATE_SANDBOX, ""), runtime_id))
        return 0;
    json_put_text(state, AGENT_STATE_SANDBOX, runtime_id);
    return event_writer_append(agent, &no_events, &change, err);
}

/* After a 409: 0 if the lease is ours, so that the call itself was refused. */
static int check_refusal(struct agent *agent, const struct error *refusal,
                         struct strbuf *problem_out, struct error *err)
{
    if (event_writer_check_lease(agent, err) < 0)
        return -1;
    strbuf_append(problem_out, refusal->message);
    return 0;
}

/* Reports failures that concern the model; all others end the step. */
static int settle_failure(struct agent *agent, const struct action_request *order,
                          const struct error *failure, struct strbuf *problem_out,
                          struct error *err)
{
    switch (failure->code) {
    case ERROR_CONFLICT:
        return check_refusal(agent, failure, problem_out, err);
    case ERROR_NOT_FOUND:
        strbuf_append(problem_out, LOST_TEXT);
        return 0;
    case ERROR_TIMEOUT:
        sandbox_interrupt(agent->sandbox);
        strbuf_appendf(problem_out, "The call was cut off: it gave no result within %lld seconds.",
                       (long long)(order->timeout_ms / 1000));
        return 0;
    case ERROR_INVALID:
    case ERROR_TOO_LARGE:
        strbuf_append(problem_out, failure->message);
        return 0;
    case ERROR_NONE:
    case ERROR_UNAUTHENTICATED:
    case ERROR_FORBIDDEN:
    case ERROR_STALE:
    case ERROR_RATE_LIMITED:
    case ERROR_CANCELLED:
    case ERROR_UNAVAILABLE:
    case ERROR_UNSUPPORTED:
    case ERROR_MEDIA_TYPE:
    case ERROR_SLOW_CLIENT:
    case ERROR_INTERNAL:
    case ERROR_N_CODES:
        break;
    }
    *err = *failure;
    return -1;
}

static void take_result(struct action_result *result, json_t **observation_out,
                        struct strbuf *problem_out)
{
    if (result->state == SANDBOX_FINISHED) {
        *observation_out = TAKE_PTR(result->observation);
        return;
    }
    if (result->reason[0] != '\0')
        strbuf_appendf(problem_out, "The call was interrupted: %s", result->reason);
    else
        strbuf_append(problem_out, LOST_TEXT);
}

/* The action as the model wrote it if this run received it; else as stored. */
static json_t *action_to_run(const struct agent *agent, size_t action)
{
    const struct stored_event *event = &agent->history.items[action];
    json_t *withheld = json_object_get(agent->withheld, event->id.text);

    return withheld != NULL ? withheld : json_object_get(event->json, "action");
}

/* True for a call from another worker or run that lost a secret's value to masking. */
static bool is_incomplete(const struct agent *agent, size_t action)
{
    const struct stored_event *event = &agent->history.items[action];

    return event->seq <= agent->claimed_seq &&
           json_object_get(agent->withheld, event->id.text) == NULL &&
           secret_list_is_masked(json_object_get(event->json, "action"));
}

/* *is_lost_out: an earlier sandbox may have begun this call, and this one does not know it. */
static int is_lost(struct agent *agent, size_t action, const struct action_request *order,
                   bool *is_lost_out, struct error *err)
{
    CLEANUP(action_result_done) struct action_result known = ACTION_RESULT_INIT;
    struct takeover_facts facts = {
        .used_sandbox = json_text_or(agent->conversation.agent_state, AGENT_STATE_SANDBOX, ""),
        .sandbox = order->runtime_id,
        .is_inherited = agent->history.items[action].seq <= agent->claimed_seq,
    };

    *is_lost_out = false;
    if (takeover_decide(&facts) == TAKEOVER_RUN && !is_incomplete(agent, action))
        return 0;
    if (sandbox_query_action(agent->sandbox, order, &known, err) < 0)
        return -1;
    if (known.state == SANDBOX_UNKNOWN && is_incomplete(agent, action))
        return error_set(err, ERROR_INVALID, WITHHELD_TEXT);
    *is_lost_out = known.state == SANDBOX_UNKNOWN;
    return 0;
}

static int run_order(struct agent *agent, size_t action, const struct action_request *order,
                     struct action_result *result_out, struct error *err)
{
    bool lost = false;

    if (is_lost(agent, action, order, &lost, err) < 0 || note_sandbox(agent, err) < 0 ||
        wait_for_lease(agent, err) < 0)
        return -1;
    if (lost)
        return error_set(err, ERROR_NOT_FOUND, "the sandbox of this call no longer exists");
    sandbox_make_working_dir(agent->sandbox);
    return sandbox_run_action(agent->sandbox, order, result_out, err);
}

/* Longest time for the call: longer than the limit in its own arguments. */
static int64_t timeout_of(const struct agent *agent, const json_t *args)
{
    double own_s = json_number_or(args, "timeout", 0);

    if (own_s > 0 && own_s < 1e6)
        return (int64_t)(own_s * 1000) + OWN_LIMIT_MARGIN_MS;
    return agent->context->settings.tool_timeout_ms;
}

int sandbox_call_run(struct agent *agent, size_t action, const struct agent_tool *tool,
                     json_t **observation_out, struct strbuf *problem_out, struct error *err)
{
    CLEANUP(action_result_done) struct action_result result = ACTION_RESULT_INIT;
    json_auto_t *args = json_copy(action_to_run(agent, action));
    json_auto_t *env = NULL;
    struct action_request order = {.action_id = agent->history.items[action].id,
                                   .tool = tool->name,
                                   .observation_kind = tool->observation_kind};
    struct error failure = ERROR_INIT;

    (void)json_object_del(args, "kind");
    if (text_equal(tool->name, "terminal")) {
        secret_lookup_named(agent, json_text_or(args, "command", ""));
        env = secret_list_env(&agent->secrets, json_text_or(args, "command", ""));
    }
    if (sandbox_ready(agent->sandbox, err) < 0)
        return -1;
    memcpy(order.runtime_id, sandbox_runtime_id(agent->sandbox), sizeof(order.runtime_id));
    order.args = args;
    order.env = env;
    order.timeout_ms = timeout_of(agent, args);
    if (run_order(agent, action, &order, &result, &failure) < 0)
        return settle_failure(agent, &order, &failure, problem_out, err);
    take_result(&result, observation_out, problem_out);
    return 0;
}

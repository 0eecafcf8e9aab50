#include "worker/agent/sandbox/sandbox_call.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "model/tools/agent_tool.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/call_action.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/core/secret_lookup.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent/sandbox/takeover.h"
#include "worker/context.h"

/* Tools enforce a command's own limit; this much later the sandbox is considered hung. */
#define OWN_LIMIT_MARGIN_MS 60000

#define LOST_TEXT                                                                                  \
    "The sandbox was restarted while this call was in progress, perhaps because it ran out of "    \
    "memory. The call was cut off and did not complete; it was not tried again."

static_assert(TOOL_CONCURRENCY_MAX < HTTP_WAIT_MAX,
              "calls that run at once are waited for at once, with a request of side work");

struct sandbox_tool_call {
    struct agent *agent;
    size_t action; /* index, because the history's items move */
    json_t *args;
    json_t *env;
    json_t *more;
    struct action_request order; /* borrows these three */
    bool is_ready;               /* the sandbox runs */
    bool is_early;               /* see sandbox_call_is_early() */
    struct sandbox_action *sent; /* NULL: see failure */
    struct error failure;
};

static bool is_noted(const struct agent *agent)
{
    return text_equal(json_text_or(agent->conversation.agent_state, AGENT_STATE_SANDBOX, ""),
                      sandbox_runtime_id(agent->sandbox));
}

/* Stores which sandbox is used, before its first call: see takeover.h. */
static int note_sandbox(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list no_events = EVENT_LIST_INIT;
    json_t *state = agent->conversation.agent_state;
    struct conversation_write change = {.agent_state = state};

    if (is_noted(agent))
        return 0;
    json_put_text(state, AGENT_STATE_SANDBOX, sandbox_runtime_id(agent->sandbox));
    return event_writer_append(agent, &no_events, &change, err);
}

void call_problem_done(struct call_problem *problem)
{
    strbuf_done(&problem->text);
}

static void problem_lost(struct call_problem *problem)
{
    strbuf_append(&problem->text, LOST_TEXT);
    problem->is_of_sandbox = true;
}

/* After a 409: 0 if the lease is ours, so that the call itself was refused. */
static int check_refusal(struct agent *agent, const struct error *refusal,
                         struct call_problem *problem_out, struct error *err)
{
    if (event_writer_check_lease(agent, err) < 0)
        return -1;
    strbuf_append(&problem_out->text, refusal->message);
    return 0;
}

/* Reports failures that concern the model; all others end the step. */
static int settle_failure(struct agent *agent, const struct action_request *order,
                          const struct error *failure, struct call_problem *problem_out,
                          struct error *err)
{
    switch (failure->code) {
    case ERROR_CONFLICT:
        return check_refusal(agent, failure, problem_out, err);
    case ERROR_NOT_FOUND:
        problem_lost(problem_out);
        return 0;
    case ERROR_TIMEOUT:
        sandbox_interrupt(agent->sandbox);
        strbuf_appendf(&problem_out->text,
                       "The call was cut off: it gave no result within %lld seconds.",
                       (long long)(order->timeout_ms / 1000));
        return 0;
    case ERROR_INVALID:
    case ERROR_TOO_LARGE:
        strbuf_append(&problem_out->text, failure->message);
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
                        struct call_problem *problem_out)
{
    if (result->state == SANDBOX_FINISHED) {
        *observation_out = TAKE_PTR(result->observation);
        return;
    }
    if (result->reason[0] != '\0')
        strbuf_appendf(&problem_out->text, "The call was interrupted: %s", result->reason);
    else
        problem_lost(problem_out);
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
    if (takeover_decide(&facts) == TAKEOVER_RUN && !call_is_incomplete(agent, action))
        return 0;
    if (sandbox_query_action(agent->sandbox, order, &known, err) < 0)
        return -1;
    if (known.state == SANDBOX_UNKNOWN && call_is_incomplete(agent, action))
        return error_set(err, ERROR_INVALID, CALL_WITHHELD_TEXT);
    *is_lost_out = known.state == SANDBOX_UNKNOWN;
    return 0;
}

/* Makes sure that the call may be sent: under the lease, and to the sandbox that it is for. */
static int clear_order(struct agent *agent, size_t action, const struct action_request *order,
                       struct error *err)
{
    bool lost = false;

    if (is_lost(agent, action, order, &lost, err) < 0)
        return -1;
    /* The sandbox is noted after the last lost call: until then, the others are in doubt, too. */
    if (lost)
        return error_set(err, ERROR_NOT_FOUND, "the sandbox of this call no longer exists");
    if (note_sandbox(agent, err) < 0 || run_control_wait_for_lease(agent->control, err) < 0)
        return -1;
    sandbox_make_working_dir(agent->sandbox);
    return 0;
}

/* Longest time for the call: longer than the limit in its own arguments. */
static int64_t timeout_of(const struct agent *agent, const json_t *args)
{
    double own_s = json_number_or(args, "timeout", 0);

    if (own_s > 0 && own_s < 1e6)
        return (int64_t)(own_s * 1000) + OWN_LIMIT_MARGIN_MS;
    return agent->context->settings.tool_timeout_ms;
}

/* Resolves the call's arguments and the secrets that it names. */
static void take_order(struct sandbox_tool_call *call, const struct agent_tool *tool)
{
    struct agent *agent = call->agent;

    call->args = json_copy(call_action_to_run(agent, call->action));
    (void)json_object_del(call->args, "kind");
    if (text_equal(tool->name, "terminal")) {
        secret_lookup_named(agent, json_text_or(call->args, "command", ""));
        call->env = secret_list_env(&agent->secrets, json_text_or(call->args, "command", ""));
    }
    call->order = (struct action_request){
        .action_id = agent->history.items[call->action].id,
        .tool = tool->own->name,
        .observation_kind = tool->own->observation_kind,
        .args = call->args,
        .env = call->env,
        .timeout_ms = timeout_of(agent, call->args),
    };
}

static int send_order(struct sandbox_tool_call *call, struct error *err)
{
    struct agent *agent = call->agent;

    if (sandbox_ready(agent->sandbox, err) < 0)
        return -1;
    memcpy(call->order.runtime_id, sandbox_runtime_id(agent->sandbox),
           sizeof(call->order.runtime_id));
    call->is_ready = true;
    call->is_early = agent->n_open_calls > 0 && !is_noted(agent);
    if (call->is_early)
        return 0;
    if (clear_order(agent, call->action, &call->order, err) < 0)
        return -1;
    call->sent = sandbox_begin_action(agent->sandbox, &call->order);
    return 0;
}

struct sandbox_tool_call *sandbox_call_begin(struct agent *agent, size_t action,
                                             const struct agent_tool *tool)
{
    struct sandbox_tool_call *call = NEW(struct sandbox_tool_call);

    call->agent = agent;
    call->action = action;
    take_order(call, tool);
    error_ignore(send_order(call, &call->failure), "sandbox_call_end() reports it");
    return call;
}

struct sandbox_tool_call *sandbox_call_begin_as(struct agent *agent, size_t action,
                                                const struct sandbox_call_form *form)
{
    struct sandbox_tool_call *call = NEW(struct sandbox_tool_call);

    call->agent = agent;
    call->action = action;
    call->args = json_incref(form->args);
    call->more = json_incref(form->more);
    call->order = (struct action_request){
        .action_id = agent->history.items[action].id,
        .tool = form->tool,
        .observation_kind = form->observation_kind,
        .args = call->args,
        .more = call->more,
        .timeout_ms = form->timeout_ms,
    };
    error_ignore(send_order(call, &call->failure), "sandbox_call_end() reports it");
    return call;
}

bool sandbox_call_is_early(const struct sandbox_tool_call *call)
{
    return call->is_early;
}

bool sandbox_call_is_sent(const struct sandbox_tool_call *call)
{
    return call->sent != NULL && sandbox_action_is_sent(call->sent);
}

void sandbox_call_free(struct sandbox_tool_call *call)
{
    if (call == NULL)
        return;
    sandbox_action_free(call->sent);
    json_decref(call->args);
    json_decref(call->env);
    json_decref(call->more);
    mem_free(call);
}

void sandbox_call_freep(struct sandbox_tool_call **call)
{
    sandbox_call_free(*call);
    *call = NULL;
}

size_t sandbox_call_action(const struct sandbox_tool_call *call)
{
    return call->action;
}

int sandbox_call_wait(struct agent *agent, struct sandbox_tool_call *const *calls, size_t n,
                      size_t *index_out, struct error *err)
{
    struct sandbox_action *actions[TOOL_CONCURRENCY_MAX] = {NULL};

    assert(n <= TOOL_CONCURRENCY_MAX);
    for (size_t i = 0; i < n; i++)
        actions[i] = calls[i]->sent;
    return sandbox_wait_action(agent->sandbox, actions, n, index_out, err);
}

int sandbox_call_end(struct sandbox_tool_call *call, json_t **observation_out,
                     struct call_problem *problem_out, struct error *err)
{
    CLEANUP(action_result_done) struct action_result result = ACTION_RESULT_INIT;
    struct error failure = call->failure;

    /* A sandbox that does not start is no news for the model. */
    if (!call->is_ready) {
        *err = failure;
        return -1;
    }
    if (call->sent == NULL || sandbox_end_action(call->sent, &result, &failure) < 0)
        return settle_failure(call->agent, &call->order, &failure, problem_out, err);
    take_result(&result, observation_out, problem_out);
    return 0;
}

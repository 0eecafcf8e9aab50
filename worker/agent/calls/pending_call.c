#include "worker/agent/calls/pending_call.h"

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "model/prompt/path_rules.h"
#include "model/prompt/skills.h"
#include "model/tools/agent_tool.h"
#include "model/tools/client_tools.h"
#include "model/tools/mcp_config.h"
#include "model/tools/mcp_tools.h"
#include "model/tools/resource_keys.h"
#include "model/tools/toolset.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/call_plan.h"
#include "worker/agent/calls/delegate_call.h"
#include "worker/agent/calls/run_end.h"
#include "worker/agent/calls/start_child.h"
#include "worker/agent/calls/task_call.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/hooks/call_hooks.h"
#include "worker/agent/hooks/hook_run.h"
#include "worker/agent/mcp/program_call.h"
#include "worker/agent/mcp/server_call.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent/sandbox/sandbox_call.h"
#include "worker/context.h"
#include "worker/tools/worker_tool.h"

#define NOT_RUN_TEXT "This call was not executed: the conversation finished before it."

/* A call and its tool. */
struct pending_call {
    const struct index_list *pending;
    size_t at;     /* in pending */
    size_t action; /* pending->items[at] */
    const struct agent_tool *tool;
    struct server_talks *talks;
    struct begun_call begun; /* the result */
};

/* The outcome of a call: an observation, or the reason why there is none. */
struct outcome {
    json_t *observation;
    struct call_problem problem;
    struct skill_texts rules; /* for the file that the call concerns */
    struct event_list hooks;  /* executions of the hooks after the call */
    struct strbuf hook_text;  /* theirs for the model */
};

/* clang-format off */
#define OUTCOME_INIT {NULL, CALL_PROBLEM_INIT, SKILL_TEXTS_INIT, EVENT_LIST_INIT, STRBUF_INIT}
/* clang-format on */

static void outcome_done(struct outcome *outcome)
{
    json_decref(outcome->observation);
    call_problem_done(&outcome->problem);
    skill_texts_done(&outcome->rules);
    event_list_done(&outcome->hooks);
    strbuf_done(&outcome->hook_text);
}

/* The texts that come with the result; NULL if there are none. A new reference. */
static json_t *extended_of(const struct outcome *outcome)
{
    json_t *parts = NULL;

    if (json_array_size(outcome->rules.parts) == 0 && outcome->hook_text.len == 0)
        return NULL;
    parts = outcome->rules.parts != NULL ? json_copy(outcome->rules.parts) : json_array();
    if (outcome->hook_text.len > 0)
        json_push(parts, text_content(outcome->hook_text.text));
    return parts;
}

static void outcome_add_event(const struct call_ref *ref, const struct outcome *outcome,
                              struct event_list *events)
{
    json_auto_t *extended = extended_of(outcome);

    if (outcome->observation != NULL) {
        event_add_observation(events, ref, outcome->observation);
        if (extended != NULL)
            event_list_set_extended(events, extended);
    } else if (outcome->problem.is_of_sandbox) {
        event_add_internal_error(events, ref, outcome->problem.text.text);
    } else {
        event_add_agent_error(events, ref, outcome->problem.text.text);
    }
}

static int store_once(struct agent *agent, size_t action, struct outcome *outcome,
                      const struct conversation_write *change, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct crash_points *crash = &agent->context->crash;
    struct call_ref ref = call_ref_of(&agent->history.items[action]);

    event_list_append(&events, &outcome->hooks);
    outcome_add_event(&ref, outcome, &events);
    crash_point(crash, CRASH_OBS_BEFORE_COMMIT);
    crash_expect_sent(crash, CRASH_OBS_COMMIT_SENT);
    if (event_writer_append(agent, &events, change, err) < 0)
        return -1;
    crash_point(crash, CRASH_OBS_COMMITTED);
    return 0;
}

/*
 * `action` is an index, because storing moves the history's items. A result too large for an event,
 * which masking can also cause, is stored without its hooks' text, or else replaced by a message
 * that says so.
 */
static int store_outcome(struct agent *agent, size_t action, struct outcome *outcome,
                         const struct conversation_write *change, struct error *err)
{
    CLEANUP(outcome_done) struct outcome instead = OUTCOME_INIT;
    int rc = store_once(agent, action, outcome, change, err);

    if (rc < 0 && err->code == ERROR_TOO_LARGE && outcome->hook_text.len > 0) {
        strbuf_reset(&outcome->hook_text);
        rc = store_once(agent, action, outcome, change, err);
    }
    if (rc == 0) {
        hook_run_acknowledge(agent, &outcome->hooks);
        return 0;
    }
    if (err->code != ERROR_TOO_LARGE)
        return -1;
    strbuf_append(&instead.problem.text,
                  "The call was executed, but its result is too large to keep.");
    return store_once(agent, action, &instead, change, err);
}

/* As store_outcome(), after the hooks for the result. */
static int end_with_hooks(struct agent *agent, size_t action, struct outcome *outcome,
                          const struct conversation_write *change, struct error *err)
{
    if (outcome->observation != NULL &&
        call_hooks_after(agent, action, outcome->observation, &outcome->hooks, &outcome->hook_text,
                         err) < 0)
        return -1;
    return store_outcome(agent, action, outcome, change, err);
}

static const struct agent_tool *tool_of(const struct agent *agent, size_t action)
{
    return toolset_find(agent->tools, json_text_or(stored_event_json(&agent->history.items[action]),
                                                   "tool_name", ""));
}

static const json_t *action_of(const struct agent *agent, const struct pending_call *call)
{
    return json_object_get(stored_event_json(&agent->history.items[call->action]), "action");
}

/* A worker tool only changes its own part of agent_state. */
static int run_in_worker(struct agent *agent, struct pending_call *call, struct error *err)
{
    CLEANUP(outcome_done) struct outcome outcome = OUTCOME_INIT;
    json_t *state = agent->conversation.agent_state;
    struct conversation_write change = {.agent_state = state};
    bool is_state_changed = false;

    outcome.observation =
        worker_tool_run(agent->context->catalogue, &agent->conversation, call->tool->name,
                        action_of(agent, call), &is_state_changed);
    if (outcome.observation == NULL)
        strbuf_appendf(&outcome.problem.text, "The tool '%s' cannot run here.", call->tool->name);
    return end_with_hooks(agent, call->action, &outcome, is_state_changed ? &change : NULL, err);
}

/* Stores the result of a call that has ended. */
static int end_at_server(struct agent *agent, struct server_call *sent, struct error *err)
{
    CLEANUP(outcome_done) struct outcome outcome = OUTCOME_INIT;
    struct conversation_write change = {.agent_state = NULL};

    if (server_call_end(sent, &outcome.observation, &outcome.problem.text, err) < 0)
        return -1;
    change.agent_state = agent->conversation.agent_state;
    return end_with_hooks(agent, server_call_action(sent), &outcome,
                          server_call_has_new_session(sent) ? &change : NULL, err);
}

/* The state with the names of the rules that the outcome brings; NULL if there are none. A new
 * reference. */
static json_t *state_with_rules(const struct agent *agent, const struct outcome *outcome)
{
    json_t *state = NULL;
    json_t *known = NULL;
    json_t *names = NULL;

    if (outcome->observation == NULL || json_array_size(outcome->rules.names) == 0)
        return NULL;
    state = json_copy(agent->conversation.agent_state);
    known = json_object_get(state, AGENT_STATE_PATH_RULES);
    names = json_is_array(known) ? json_copy(known) : json_array();
    json_array_extend(names, outcome->rules.names);
    json_put(state, AGENT_STATE_PATH_RULES, names);
    return state;
}

/* Stores the outcome of a sandbox's call, with the rules for the file that it concerns. */
static int store_with_rules(struct agent *agent, size_t action, struct outcome *outcome,
                            struct error *err)
{
    json_auto_t *state = NULL;
    struct conversation_write change = {.agent_state = NULL};

    path_rules_for_call(agent->context->catalogue, &agent->conversation,
                        json_object_get(stored_event_json(&agent->history.items[action]), "action"),
                        &outcome->rules);
    state = state_with_rules(agent, outcome);
    if (state == NULL)
        return end_with_hooks(agent, action, outcome, NULL, err);
    change.agent_state = state;
    if (end_with_hooks(agent, action, outcome, &change, err) < 0)
        return -1;
    json_decref(agent->conversation.agent_state);
    agent->conversation.agent_state = json_incref(state);
    return 0;
}

static int end_in_sandbox(struct agent *agent, struct sandbox_tool_call *sent, struct error *err)
{
    CLEANUP(outcome_done) struct outcome outcome = OUTCOME_INIT;
    size_t action = sandbox_call_action(sent);
    const struct agent_tool *tool = tool_of(agent, action);

    if (sandbox_call_end(sent, &outcome.observation, &outcome.problem, err) < 0)
        return -1;
    if (outcome.observation != NULL && tool != NULL && tool->place == TOOL_AT_SERVER)
        program_call_settle(agent, tool, &outcome.observation, &outcome.problem.text);
    if (store_with_rules(agent, action, &outcome, err) < 0)
        return -1;
    sandbox_acknowledge(agent->sandbox, &agent->history.items[action].id);
    return 0;
}

/* Takes over `begun`. */
static int note_begun(struct agent *agent, struct pending_call *call,
                      struct sandbox_tool_call *begun, struct error *err)
{
    CLEANUP(sandbox_call_freep) struct sandbox_tool_call *sent = begun;

    call->begun.is_early = sandbox_call_is_early(sent);
    if (call->begun.is_early)
        return 0;
    if (!sandbox_call_is_sent(sent))
        return end_in_sandbox(agent, sent, err);
    call->begun.in_sandbox = TAKE_PTR(sent);
    return 0;
}

static int begin_in_sandbox(struct agent *agent, struct pending_call *call, struct error *err)
{
    return note_begun(agent, call, sandbox_call_begin(agent, call->action, call->tool), err);
}

static int begin_program(struct agent *agent, struct pending_call *call, struct error *err)
{
    call->begun.is_program = true;
    return note_begun(agent, call, program_call_begin(agent, call->action, call->tool), err);
}

static int begin_at_server(struct agent *agent, struct pending_call *call, struct error *err)
{
    CLEANUP(server_call_freep) struct server_call *sent = NULL;

    /* A worker of an older release may have sent it to a program that no sandbox keeps. */
    if (program_call_is_possible(agent, call->tool) &&
        !server_call_is_in_doubt(agent, call->action, call->tool))
        return begin_program(agent, call, err);
    if (server_call_begin(agent, call->talks, call->action, call->tool, &sent, err) < 0)
        return -1;
    if (!server_call_is_running(sent))
        return end_at_server(agent, sent, err);
    call->begun.at_server = TAKE_PTR(sent);
    return 0;
}

/* The client has the call by now and handles it; the model gets a fixed result. */
static int hand_to_client(struct agent *agent, struct pending_call *call, struct error *err)
{
    CLEANUP(outcome_done) struct outcome outcome = OUTCOME_INIT;

    outcome.observation = observation_from_text(call->tool->observation_kind, CLIENT_TOOL_RESULT);
    return end_with_hooks(agent, call->action, &outcome, NULL, err);
}

static int start_child(struct agent *agent, struct pending_call *call, struct error *err)
{
    return start_child_run(agent, call->action, err);
}

static int run_sub_agent(struct agent *agent, struct pending_call *call, struct error *err)
{
    return task_call_run(agent, call->action, &call->begun.waits, err);
}

static int run_delegates(struct agent *agent, struct pending_call *call, struct error *err)
{
    return delegate_call_run(agent, call->action, &call->begun.waits, err);
}

static int reject_unknown(struct agent *agent, size_t action, struct error *err)
{
    CLEANUP(outcome_done) struct outcome outcome = OUTCOME_INIT;

    strbuf_appendf(&outcome.problem.text, "Tool '%s' is no longer available in this conversation.",
                   json_text_or(stored_event_json(&agent->history.items[action]), "tool_name", ""));
    return store_outcome(agent, action, &outcome, NULL, err);
}

/* Whether the user sent a message after the model's last request. */
static bool has_user_spoken(const struct agent *agent, const struct stored_event *action)
{
    int64_t seen_seq = agent->asked_seq > 0 ? agent->asked_seq : action->seq;

    return history_has_user_message_after(&agent->history, seen_seq);
}

static void plan_finish(const struct agent *agent, const struct pending_call *call,
                        const struct outcome *outcome, struct event_list *events,
                        struct conversation_write *change)
{
    const struct stored_event *action = &agent->history.items[call->action];
    struct call_ref ref = call_ref_of(action);

    event_list_append(events, &outcome->hooks);
    outcome_add_event(&ref, outcome, events);
    for (size_t i = call->at + 1; i < call->pending->n; i++) {
        struct call_ref behind = call_ref_of(&agent->history.items[call->pending->items[i]]);

        event_add_agent_error(events, &behind, NOT_RUN_TEXT);
    }
    if (!has_user_spoken(agent, action))
        run_end_plan_finish(agent, events, change);
}

static int run_finish(struct agent *agent, struct pending_call *call, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(outcome_done) struct outcome outcome = OUTCOME_INIT;
    struct conversation_write change = {.made_progress = true};

    outcome.observation = worker_tool_finish(action_of(agent, call));
    if (call_hooks_after(agent, call->action, outcome.observation, &outcome.hooks,
                         &outcome.hook_text, err) < 0)
        return -1;
    plan_finish(agent, call, &outcome, &events, &change);
    crash_point(&agent->context->crash, CRASH_OBS_BEFORE_COMMIT);
    /* A conflicting write may be a message of the user: then this call is evaluated again. */
    if (event_writer_append_once(agent, &events, &change, err) < 0)
        return -1;
    hook_run_acknowledge(agent, &outcome.hooks);
    agent->is_over = change.end_run;
    return 0;
}

static int (*const runners[TOOL_N_PLACES])(struct agent *agent, struct pending_call *call,
                                           struct error *err) = {
    [TOOL_IN_SANDBOX] = begin_in_sandbox, [TOOL_IN_WORKER] = run_in_worker,
    [TOOL_AT_SERVER] = begin_at_server,   [TOOL_IN_CLIENT] = hand_to_client,
    [TOOL_IN_CHILD] = start_child,        [TOOL_IN_SUB_AGENT] = run_sub_agent,
    [TOOL_IN_DELEGATES] = run_delegates,  [TOOL_ENDS_RUN] = run_finish,
};

static void add_server_key(struct resource_keys *keys, const char *server)
{
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;

    strbuf_appendf(&key, "server:%s", server);
    resource_keys_add(keys, strbuf_take(&key));
}

static enum call_company company_of(enum tool_place place)
{
    static const enum call_company companies[TOOL_N_PLACES] = {
        [TOOL_IN_CHILD] = COMPANY_OF_NONE,
        [TOOL_IN_SUB_AGENT] = COMPANY_OF_SUB_AGENTS,
        [TOOL_IN_DELEGATES] = COMPANY_OF_NONE,
        [TOOL_ENDS_RUN] = COMPANY_OF_NONE,
    };

    return companies[place];
}

void pending_call_plan(const struct agent *agent, size_t action, struct planned_call *planned)
{
    const struct agent_tool *tool = tool_of(agent, action);

    resource_keys_done(&planned->keys);
    planned->company = COMPANY_OF_CALLS;
    if (tool == NULL)
        return;
    planned->company = company_of(tool->place);
    resource_keys_add_call(
        &planned->keys, tool,
        json_object_get(stored_event_json(&agent->history.items[action]), "action"));
    if (tool->place == TOOL_AT_SERVER &&
        mcp_server_is_sequential(agent->conversation.spec, mcp_tool_server(tool)))
        add_server_key(&planned->keys, mcp_tool_server(tool));
}

int pending_call_begin(struct agent *agent, const struct index_list *pending, size_t at,
                       struct server_talks *talks, struct begun_call *begun_out, struct error *err)
{
    struct pending_call call = {
        .pending = pending, .at = at, .action = pending->items[at], .talks = talks};

    call.tool = tool_of(agent, call.action);
    if (call.tool == NULL)
        return reject_unknown(agent, call.action, err);
    if (runners[call.tool->place](agent, &call, err) < 0)
        return -1;
    *begun_out = call.begun;
    return 0;
}

int pending_call_end(struct agent *agent, const struct begun_call *begun, struct error *err)
{
    return begun->at_server != NULL ? end_at_server(agent, begun->at_server, err)
                                    : end_in_sandbox(agent, begun->in_sandbox, err);
}

void begun_call_done(struct begun_call *call)
{
    sandbox_call_freep(&call->in_sandbox);
    server_call_freep(&call->at_server);
}

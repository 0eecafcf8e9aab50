#include "worker/agent/llm/llm_response.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "model/security/security_analyzer.h"
#include "model/security/security_call.h"
#include "model/tools/agent_tool.h"
#include "model/tools/tool_call.h"
#include "model/tools/tool_check.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/run_end.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_size.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/hooks/call_hooks.h"
#include "worker/agent/hooks/hook_run.h"
#include "worker/agent/llm/policy.h"
#include "worker/agent/llm/risk_query.h"
#include "worker/context.h"

#define CODE_BAD_CALL "FunctionCallValidationError"
/* So many answers in a row whose call cannot be read end a run. */
#define BAD_CALLS_MAX 5
#define SUPERSEDED_TEXT "Superseded by a new user message"
/* Of the executions of hooks before the calls of one answer, which are stored together. */
#define HOOKS_MAX_BYTES (16 * 1024 * 1024)
#define HOOKS_TOO_LARGE_TEXT                                                                       \
    "The hooks before the calls of one answer printed more than 16 MB. Let them print less, and "  \
    "run the conversation again."
#define CALL_ID_PREFIX "call_"
#define RESPONSE_ID_PREFIX "chatcmpl-"
#define FRESH_ID_BYTES (sizeof(RESPONSE_ID_PREFIX) + UUID_HEX_BYTES) /* of the longer prefix */

/* Whether a message of the user arrived while the model was answering. */
enum user_spoke { USER_SILENT, USER_SPOKE };

/* What was said of an answer's calls before they are stored. */
struct call_opinions {
    struct call_verdicts hooks;
    struct risk_verdicts guards;
};

static void call_opinions_done(struct call_opinions *opinions)
{
    call_verdicts_done(&opinions->hooks);
    risk_verdicts_done(&opinions->guards);
}

/* The events made from an answer. */
struct plan {
    struct event_list events;
    struct conversation_write change;
    const char *response_id; /* the reply's, or fresh_response_id */
    char fresh_response_id[FRESH_ID_BYTES];
    struct call_ref *runnable; /* the calls that could be executed */
    struct policy_call *risks; /* the same calls, as the policy sees them */
    size_t n_runnable;
    const struct call_verdicts *verdicts;
    const struct risk_verdicts *guards;
    struct call_ref *blocked; /* the calls that hooks blocked */
    const char **why_blocked;
    size_t n_blocked;
    json_t *withheld; /* for agent->withheld */
};

/* clang-format off */
#define PLAN_INIT {.events = EVENT_LIST_INIT}
/* clang-format on */

static void plan_done(struct plan *plan)
{
    event_list_done(&plan->events);
    mem_free(plan->runnable);
    mem_free(plan->risks);
    mem_free(plan->blocked);
    mem_free(plan->why_blocked);
    json_decref(plan->withheld);
}

static void write_fresh_id(const char *prefix, char id_out[FRESH_ID_BYTES])
{
    struct uuid fresh = uuid_random();
    size_t len = strlen(prefix);

    (void)memcpy(id_out, prefix, len + 1);
    uuid_to_hex(&fresh, id_out + len);
}

/* Results are matched by this id in places, so an id that was used before is replaced. */
static const char *choose_call_id(const struct agent *agent, const char *id,
                                  char fresh_out[FRESH_ID_BYTES])
{
    if (!history_has_call_id(&agent->history, id))
        return id;
    write_fresh_id(CALL_ID_PREFIX, fresh_out);
    return fresh_out;
}

/*
 * Calls of one answer are grouped by this id, and answers counted by it; but some servers use one
 * id for all answers, and others draw it from a thousand.
 */
static void choose_response_id(const struct agent *agent, const struct llm_reply *reply,
                               struct plan *plan)
{
    plan->response_id = reply->response_id;
    if (!history_has_response_id(&agent->history, reply->response_id))
        return;
    write_fresh_id(RESPONSE_ID_PREFIX, plan->fresh_response_id);
    plan->response_id = plan->fresh_response_id;
}

/* Without an analyzer the risk is unknown, whatever the model states. */
static const char *risk_of(const struct agent *agent, const struct tool_call_check *check)
{
    bool has_analyzer = conversation_has_analyzer(&agent->conversation);

    if (!has_analyzer || check->tool == NULL || check->tool->annotations.is_read_only)
        return "UNKNOWN";
    return check->security_risk;
}

static const json_t *analyzer_of(const struct agent *agent)
{
    return json_object_get(agent->conversation.spec, "security_analyzer");
}

static enum policy_risk judge(const struct agent *agent, const struct action_parts *parts,
                              const struct risk_verdicts *guards)
{
    struct security_call call = {
        .tool_name = parts->tool_name,
        .action = parts->action,
        .summary = parts->summary,
        .thought = parts->thought,
        .reasoning = parts->reasoning,
        .own = policy_risk_from_string(parts->security_risk),
    };

    risk_verdicts_tell(guards, analyzer_of(agent), &call);
    return security_analyzer_judge(analyzer_of(agent), &call);
}

/* True if a block holds a secret. Without its words the server would refuse its signature. */
static bool tells_secret(const struct agent *agent, const json_t *blocks)
{
    const json_t *block = NULL;
    size_t i = 0;

    json_array_foreach (blocks, i, block) {
        CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;
        const char *text = json_text_or(block, "thinking", "");

        secret_list_mask_text(&agent->secrets, text, &masked);
        if (!text_equal(masked.text, text))
            return true;
    }
    return false;
}

/* True if a text of the item holds a secret. Its encrypted form may hold it, too. */
static bool item_tells_secret(const struct agent *agent, const json_t *item)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    json_append_text(&text, json_object_get(item, "summary"));
    json_append_text(&text, json_object_get(item, "content"));
    secret_list_mask_text(&agent->secrets, text.text, &masked);
    return !text_equal(masked.text, text.text);
}

/* The last event is the one that carries the answer's thought. */
static void plan_thinking(const struct agent *agent, const struct llm_reply *reply,
                          struct plan *plan)
{
    if (reply->thinking != NULL && !tells_secret(agent, reply->thinking))
        event_list_set_thinking(&plan->events, reply->thinking);
    if (reply->reasoning_item != NULL && !item_tells_secret(agent, reply->reasoning_item))
        event_list_set_reasoning_item(&plan->events, reply->reasoning_item);
}

/* Adds a valid call to those that hooks blocked, or to those to run. */
static void plan_valid(struct plan *plan, const struct call_verdict *verdict,
                       const struct call_ref *ref, const struct policy_call *judged)
{
    if (verdict->is_blocked) {
        plan->why_blocked[plan->n_blocked] = verdict->reason.text;
        plan->blocked[plan->n_blocked++] = *ref;
        return;
    }
    plan->risks[plan->n_runnable] = *judged;
    plan->runnable[plan->n_runnable++] = *ref;
}

static void plan_call(const struct agent *agent, const struct llm_reply *reply, size_t index,
                      struct plan *plan)
{
    CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};
    CLEANUP(strbuf_done) struct strbuf thought = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf reasoning = STRBUF_INIT;
    const struct llm_tool_call *call = &reply->calls[index];
    const struct call_verdict *verdict = &plan->verdicts->items[index];
    char fresh_id[FRESH_ID_BYTES] = "";
    json_auto_t *withheld = NULL;
    struct action_parts parts = {.llm_response_id = plan->response_id};
    struct call_ref ref = {.tool_name = call->name};

    tool_call_check(agent->tools, call->name, call->arguments, &check);
    withheld = secret_list_mask_call(&agent->secrets, &agent->conversation, &check);
    event_size_limit(&check, call, index == 0 ? reply : NULL);
    parts.tool_call_id = choose_call_id(agent, call->id, fresh_id);
    parts.responses_item_id = call->item_id;
    parts.tool_name = check.tool != NULL ? check.tool->name : call->name;
    parts.arguments = check.arguments;
    parts.security_risk = risk_of(agent, &check);
    parts.summary = check.summary;
    parts.action = check.action;
    if (index == 0) {
        secret_list_mask_text(&agent->secrets, reply->text, &thought);
        secret_list_mask_text(&agent->secrets, reply->reasoning == NULL ? "" : reply->reasoning,
                              &reasoning);
        parts.thought = thought.text;
        parts.reasoning = reply->reasoning == NULL ? NULL : reasoning.text;
    }
    if (check.action != NULL && check.tool != NULL)
        event_list_append(&plan->events, &verdict->events);
    (void)event_add_action(&plan->events, &parts);
    event_list_name_last(&plan->events, &verdict->action_id);
    ref.action_id = verdict->action_id;
    if (index == 0)
        plan_thinking(agent, reply, plan);
    if (withheld != NULL)
        json_put(plan->withheld, ref.action_id.text, json_incref(withheld));
    ref.tool_name = parts.tool_name;
    /* The plan outlives fresh_id. */
    ref.tool_call_id =
        json_text_or(plan->events.items[plan->events.n - 1].json, "tool_call_id", "");
    if (check.action == NULL || check.tool == NULL) {
        event_add_agent_error(&plan->events, &ref, check.problem == NULL ? "" : check.problem);
        return;
    }
    plan_valid(plan, verdict, &ref,
               &(struct policy_call){check.tool->name, judge(agent, &parts, plan->guards)});
}

/* Adds the analyzer's verdict on the batch, before the policy uses it. */
static void plan_analysis(const struct agent *agent, struct plan *plan)
{
    const json_t *spec = agent->conversation.spec;
    json_t *of_guards = risk_verdicts_details(plan->guards, analyzer_of(agent));
    json_auto_t *risks = json_object();
    json_auto_t *details = json_object();

    if (!conversation_has_analyzer(&agent->conversation) || plan->n_runnable == 0 ||
        policy_is_talk(plan->risks, plan->n_runnable))
        return;
    for (size_t i = 0; i < plan->n_runnable; i++)
        json_put_text(risks, plan->runnable[i].action_id.text,
                      policy_risk_to_string(plan->risks[i].risk));
    /* Guards speak of all calls together: the first one has their words. */
    if (of_guards != NULL)
        json_put(details, plan->runnable[0].action_id.text, json_incref(of_guards));
    event_add_security_analysis(
        &plan->events, &(struct analysis_parts){
                           .analyzer = json_text_or(analyzer_of(agent), "kind", ""),
                           .policy = json_text_or(json_object_get(spec, "confirmation_policy"),
                                                  "kind", "NeverConfirm"),
                           .risks = risks,
                           .details = details});
}

static void plan_calls(const struct agent *agent, const struct llm_reply *reply,
                       enum user_spoke spoke, struct plan *plan)
{
    const json_t *policy = json_object_get(agent->conversation.spec, "confirmation_policy");

    plan->runnable = mem_alloc_array(reply->n_calls, sizeof(*plan->runnable));
    plan->risks = mem_alloc_array(reply->n_calls, sizeof(*plan->risks));
    plan->blocked = mem_alloc_array(reply->n_calls, sizeof(*plan->blocked));
    plan->why_blocked = mem_alloc_array(reply->n_calls, sizeof(*plan->why_blocked));
    for (size_t i = 0; i < reply->n_calls; i++)
        plan_call(agent, reply, i, plan);
    for (size_t i = 0; i < plan->n_blocked; i++)
        event_add_hook_rejection(&plan->events, &plan->blocked[i], plan->why_blocked[i]);
    plan_analysis(agent, plan);
    if (!policy_must_confirm(policy, plan->risks, plan->n_runnable))
        return;
    if (spoke == USER_SILENT) {
        run_end_plan(&plan->events, STATUS_WAITING_FOR_CONFIRMATION, &plan->change);
        return;
    }
    for (size_t i = 0; i < plan->n_runnable; i++)
        event_add_rejection(&plan->events, &plan->runnable[i], SUPERSEDED_TEXT);
}

static void say_to_model(const struct agent *agent, enum catalogue_text text, struct plan *plan)
{
    (void)event_add_environment_message(&plan->events,
                                        catalogue_text(agent->context->catalogue, text));
}

static void plan_words(const struct agent *agent, const struct llm_reply *reply,
                       enum user_spoke spoke, struct plan *plan)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf reasoning = STRBUF_INIT;

    secret_list_mask_text(&agent->secrets, reply->text, &text);
    secret_list_mask_text(&agent->secrets, reply->reasoning == NULL ? "" : reply->reasoning,
                          &reasoning);
    (void)event_add_agent_message(&plan->events, text.text,
                                  reply->reasoning == NULL ? NULL : reasoning.text,
                                  plan->response_id);
    event_list_name_last(&plan->events, &agent->answer_id);
    plan_thinking(agent, reply, plan);
    if (text_equal(reply->finish_reason, "length"))
        say_to_model(agent, TEXT_CUT_ANSWER, plan);
    else if (text_is_blank(text.text))
        say_to_model(agent, TEXT_EMPTY_ANSWER, plan);
    else if (spoke == USER_SILENT)
        run_end_plan_finish(agent, &plan->events, &plan->change);
}

/*
 * Only the problem is stored, as a message of the user: an answer whose call cannot be read is of
 * no use to the model. A model that does not learn from it ends the run.
 */
static void plan_problem(const struct agent *agent, const struct llm_reply *reply,
                         enum user_spoke spoke, struct plan *plan)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *content = json_array();

    secret_list_mask_text(&agent->secrets, reply->call_problem, &text);
    if (spoke == USER_SILENT && agent->n_bad_calls + 1 >= BAD_CALLS_MAX) {
        run_end_plan(&plan->events, STATUS_ERROR, &plan->change);
        event_add_conversation_error(&plan->events, CODE_BAD_CALL, text.text);
        return;
    }
    json_push(content, text_content(text.text));
    (void)event_add_user_message(&plan->events, content);
}

/*
 * Asks the hooks about the calls before anything is stored of them. A stop loses the answer, as it
 * would have during the model's call. ERROR_UNAVAILABLE has a message for the user.
 */
static int ask_hooks(struct agent *agent, const struct llm_reply *reply,
                     struct call_verdicts *verdicts, struct error *err)
{
    size_t n_bytes = 0;

    if (!hook_run_has(agent, HOOK_PRE_TOOL_USE))
        return 0;
    for (size_t i = 0; i < verdicts->n; i++) {
        CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};
        json_auto_t *withheld = NULL;

        tool_call_check(agent->tools, reply->calls[i].name, reply->calls[i].arguments, &check);
        withheld = secret_list_mask_call(&agent->secrets, &agent->conversation, &check);
        if (check.action != NULL && check.tool != NULL &&
            call_hooks_before(agent, check.tool->name, check.action, &verdicts->items[i], err) < 0)
            return -1;
        n_bytes += verdicts->items[i].n_bytes;
        if (n_bytes > HOOKS_MAX_BYTES)
            return error_set(err, ERROR_UNAVAILABLE, HOOKS_TOO_LARGE_TEXT);
    }
    return 0;
}

/* Of an answer that is lost: it was paid for. */
static void store_cost(struct agent *agent, const struct llm_reply *reply)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    json_auto_t *snapshot = stats_snapshot(agent->stats);
    struct conversation_write change = {.guard = GUARD_LEASE};
    struct error failure = ERROR_INIT;

    event_add_state(&events, "stats", snapshot);
    stats_append_text(agent->stats, &stats);
    change.stats = stats.text;
    change.cost_nanos = cost_to_nanos(reply->usage.cost);
    if (event_writer_append(agent, &events, &change, &failure) < 0)
        log_info("cost.not_stored", LOG_ERROR(&failure));
}

static void acknowledge_hooks(struct agent *agent, const struct call_verdicts *verdicts)
{
    for (size_t i = 0; i < verdicts->n; i++)
        hook_run_acknowledge(agent, &verdicts->items[i].events);
}

static int store_planned(struct agent *agent, const struct llm_reply *reply,
                         const struct call_opinions *opinions, enum user_spoke spoke,
                         struct error *err)
{
    CLEANUP(plan_done) struct plan plan = PLAN_INIT;
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    json_auto_t *snapshot = stats_snapshot(agent->stats);
    int rc = 0;

    plan.withheld = json_object();
    plan.verdicts = &opinions->hooks;
    plan.guards = &opinions->guards;
    stats_append_text(agent->stats, &stats);
    event_add_state(&plan.events, "stats", snapshot);
    choose_response_id(agent, reply, &plan);
    if (reply->call_problem != NULL)
        plan_problem(agent, reply, spoke, &plan);
    else if (reply->n_calls > 0)
        plan_calls(agent, reply, spoke, &plan);
    else
        plan_words(agent, reply, spoke, &plan);
    plan.change.stats = stats.text;
    plan.change.cost_nanos = cost_to_nanos(reply->usage.cost);
    plan.change.made_progress = true;
    if (plan.change.status != NULL)
        rc = event_writer_append_unless_spoken(agent, &plan.events, &plan.change, err);
    else
        rc = event_writer_append(agent, &plan.events, &plan.change, err);
    if (rc < 0)
        return -1;
    json_decref(agent->withheld);
    agent->withheld = TAKE_PTR(plan.withheld);
    agent->is_over = plan.change.end_run;
    agent->n_bad_calls = reply->call_problem != NULL ? agent->n_bad_calls + 1 : 0;
    return 0;
}

static enum user_spoke has_spoken(const struct agent *agent)
{
    return history_has_user_message_after(&agent->history, agent->asked_seq) ? USER_SPOKE
                                                                             : USER_SILENT;
}

/* After a conflicting write: brings the state that the answer is planned on up to date. */
static int plan_anew(struct agent *agent, const struct llm_reply *reply, enum user_spoke *spoke_out,
                     struct error *err)
{
    bool is_counted = !agent->has_foreign_stats && !agent->is_row_stale;

    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    if (!is_counted)
        stats_add(agent->stats, &reply->usage);
    *spoke_out = has_spoken(agent);
    return 0;
}

/*
 * Asks hooks and guards about the calls. What their models cost was stored meanwhile, which also
 * read what others have written.
 */
static int ask_about_calls(struct agent *agent, const struct llm_reply *reply,
                           struct call_opinions *opinions, struct error *err)
{
    if (ask_hooks(agent, reply, &opinions->hooks, err) < 0 ||
        event_writer_refresh_row(agent, err) < 0)
        return -1;
    return risk_query_ask(agent, reply, &opinions->hooks, &opinions->guards, err);
}

int llm_response_store(struct agent *agent, const struct llm_reply *reply, struct error *err)
{
    CLEANUP(call_opinions_done) struct call_opinions opinions = {CALL_VERDICTS_INIT,
                                                                 RISK_VERDICTS_INIT};
    enum user_spoke spoke = USER_SILENT;
    int rc = 0;

    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    call_verdicts_init(&opinions.hooks, reply->call_problem != NULL ? 0 : reply->n_calls,
                       &agent->answer_id);
    rc = ask_about_calls(agent, reply, &opinions, err);
    /* After what the models of hooks and guards cost, which is stored by itself. */
    stats_add(agent->stats, &reply->usage);
    if (rc < 0) {
        if (err->code != ERROR_STALE)
            store_cost(agent, reply);
        return -1;
    }
    spoke = has_spoken(agent);
    rc = store_planned(agent, reply, &opinions, spoke, err);
    /* An answer that would have ended the run does not if the user has sent another message. */
    while (rc < 0 && err->code == ERROR_CONFLICT) {
        if (plan_anew(agent, reply, &spoke, err) < 0)
            return -1;
        rc = store_planned(agent, reply, &opinions, spoke, err);
    }
    if (rc < 0)
        return -1;
    acknowledge_hooks(agent, &opinions.hooks);
    crash_point(&agent->context->crash, CRASH_ACTION_COMMITTED);
    return 0;
}

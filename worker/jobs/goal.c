/*
 * After a run with a goal: judges whether the goal is met; if not, starts the next round with what
 * is missing.
 */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/goal.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/job_store.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/query/llm_query.h"
#include "worker/context.h"
#include "worker/jobs/job.h"
#include "worker/jobs/job_conversation.h"

#define USAGE_ID "goal-judge"

/* The conversation without its system prompt, a message per line. */
static void append_events(const struct history *history, struct strbuf *out)
{
    json_auto_t *said = json_array();

    messages_append_as_said(said, history);
    for (size_t i = 0; i < json_array_size(said); i++) {
        const json_t *message = json_array_get(said, i);

        if (text_equal(json_text_or(message, "role", ""), "system"))
            continue;
        json_append_text(out, message);
        strbuf_append_char(out, '\n');
    }
}

static json_t *messages_for(const struct job_conversation *target)
{
    const struct catalogue *catalogue = target->agent.context->catalogue;
    CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *goal = goal_of(&target->agent.conversation);
    json_t *messages = json_array();

    append_events(&target->agent.history, &events);
    catalogue_append(catalogue, TEXT_GOAL, "request",
                     (const struct text_value[]){{"objective", json_text_or(goal, "objective", "")},
                                                 {"events", events.text}},
                     2, &text);
    json_push(messages, messages_system(catalogue_text(catalogue, TEXT_GOAL)));
    messages_append_user(messages, text.text);
    return messages;
}

/* The first object in the answer, whatever text surrounds it. */
static json_t *read_verdict(const char *text)
{
    const char *begin = strchr(text, '{');
    const char *end = strrchr(text, '}');
    json_t *json = NULL;
    json_t *verdict = json_object();
    struct error ignored = ERROR_INIT;

    if (begin != NULL && end != NULL && end > begin &&
        json_parse(begin, (size_t)(end - begin) + 1, &json, &ignored) < 0)
        json = NULL;
    json_put(verdict, "score", json_real(json_number_or(json, "score", 0)));
    json_put(verdict, "complete", json_boolean(json_bool_or(json, "complete", 0)));
    json_put_text(verdict, "missing",
                  json_text_or(json, "missing", json == NULL ? "The verdict was not JSON." : ""));
    json_decref(json);
    return verdict;
}

/* The outcome to store: a verdict, or a failure that ends the loop. */
struct goal_outcome {
    const struct catalogue *catalogue;
    json_t *verdict;  /* NULL: the run failed, or there is no verdict */
    const char *code; /* of a failure to report; NULL: none */
    const char *detail;
};

static void plan_next_round(struct conversation *now, const struct goal_outcome *outcome,
                            struct event_list *events, struct conversation_write *change)
{
    CLEANUP(conversation_change_done) struct conversation_change planned = CONVERSATION_CHANGE_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_auto_t *content = json_array();
    const char *stats = change->stats; /* includes the outcome's cost */
    const struct text_value missing = {"missing", json_text_or(outcome->verdict, "missing", "")};
    const struct planned_message message = {outcome->catalogue, content, MESSAGE_AND_RUN};
    struct error ignored = ERROR_INIT;

    if (!goal_next_round(now, outcome->verdict, events))
        return;
    catalogue_append(outcome->catalogue, TEXT_GOAL, "next_round", &missing, 1, &words);
    json_push(content, text_content(words.text));
    if (conversation_plan_message(now, &message, events, &planned, &ignored) < 0)
        return;
    conversation_write_change(&planned, change);
    /* The members owned by the plan are freed here. */
    change->first_title = NULL;
    change->stats = stats;
}

static void plan_outcome(struct conversation *now, const void *what, struct event_list *events,
                         struct conversation_write *change)
{
    const struct goal_outcome *outcome = what;

    /* The user acted first. */
    if (!goal_is_active(now) || now->is_wanted)
        return;
    change->spec = now->spec;
    if (outcome->code != NULL)
        event_add_conversation_error(events, outcome->code, outcome->detail);
    if (outcome->verdict == NULL)
        goal_set(now, GOAL_INTERRUPTED, NULL, events);
    else if (json_bool_or(outcome->verdict, "complete", 0) != 0)
        goal_set(now, GOAL_COMPLETE, outcome->verdict, events);
    else
        plan_next_round(now, outcome, events, change);
}

static int write_outcome(struct job_conversation *target, const struct llm_reply *reply,
                         const struct goal_outcome *outcome, struct error *err)
{
    const struct job_note note = {
        .reply = reply, .tells_cost = true, .plan = plan_outcome, .what = outcome};

    return job_conversation_write(target, &note, err);
}

static int judge(struct job_conversation *target, struct error *err)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;
    const struct agent *agent = &target->agent;
    json_auto_t *messages = messages_for(target);
    json_auto_t *verdict = NULL;
    struct llm_failure failure = LLM_FAILURE_INIT;

    model_choose(agent->context, &agent->conversation, agent->llm_spec, &agent->llm_key, &choice);
    if (llm_query_run(&target->agent, &(struct llm_query){&choice, messages, NULL, USAGE_ID, NULL},
                      &reply, &failure, err) < 0) {
        if (err->code == ERROR_CANCELLED)
            return -1;
        log_info("goal.judgement_failed", LOG_STR("code", llm_failure_code(&failure)),
                 LOG_ERROR(err));
        secret_list_mask_text(&agent->secrets, failure.detail, &detail);
        return write_outcome(target, NULL,
                             &(struct goal_outcome){.catalogue = target->agent.context->catalogue,
                                                    .code = llm_failure_code(&failure),
                                                    .detail = detail.text},
                             err);
    }
    secret_list_mask_text(&agent->secrets, reply.text, &detail);
    verdict = read_verdict(detail.text);
    return write_outcome(
        target, &reply,
        &(struct goal_outcome){.catalogue = target->agent.context->catalogue, .verdict = verdict},
        err);
}

int job_goal(struct job_conversation *target, const struct job *job, json_t **result_out,
             struct error *err)
{
    const struct conversation *conversation = &target->agent.conversation;

    (void)job;
    (void)result_out;
    /* Another run is requested, whose end makes this job due again, or confirmation is pending. */
    if (!goal_is_active(conversation) || conversation->is_wanted ||
        conversation->status == STATUS_WAITING_FOR_CONFIRMATION)
        return 0;
    if (conversation->status == STATUS_FINISHED)
        return judge(target, err);
    return write_outcome(
        target, NULL,
        &(struct goal_outcome){.catalogue = target->agent.context->catalogue, .verdict = NULL},
        err);
}

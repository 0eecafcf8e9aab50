#include "worker/agent/llm/risk_query.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm.h"
#include "model/agent/analyzer_spec.h"
#include "model/conversation/conversation.h"
#include "model/event/stats.h"
#include "model/security/risk_text.h"
#include "model/security/security_call.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/secret_lookup.h"
#include "worker/agent/llm/risk_question.h"
#include "worker/agent/query/budget.h"
#include "worker/agent/query/llm_query.h"
#include "worker/context.h"

#define USAGE_ID "security-analyzer"
#define UNPRICED_TEXT                                                                              \
    "The guard was not asked: the price of its model is unknown, so the conversation's budget "    \
    "cannot be kept. Set the model's input_cost_per_token and output_cost_per_token."
#define NO_RISK_TEXT                                                                               \
    "The guard's answer has no line \"RISK: LOW\", \"RISK: MEDIUM\" or \"RISK: HIGH\" of its own."
#define CUT_TEXT "The calls are too long for the guard: it was shown only their beginning."

enum { TIMEOUT_S = 60, ANSWER_MAX_CHARS = 2000 };

/* A guard that is asked, and what comes of it. */
struct risk_exchange {
    const json_t *guard;
    const struct risk_calls *calls;
    struct strbuf answer;
    struct strbuf problem; /* why its risk is unknown */
    enum policy_risk risk;
};

static void risk_exchange_done(struct risk_exchange *exchange)
{
    strbuf_done(&exchange->answer);
    strbuf_done(&exchange->problem);
}

void risk_verdicts_done(struct risk_verdicts *verdicts)
{
    json_decref(verdicts->analyzer);
    json_decref(verdicts->details);
    mem_free(verdicts->risks);
}

/* --- one guard --- */

static int64_t timeout_ms_of(const json_t *llm)
{
    int64_t own_s = json_int_or(llm, "timeout", TIMEOUT_S);

    return 1000 * (own_s >= 1 && own_s < TIMEOUT_S ? own_s : TIMEOUT_S);
}

/* Appends why the model must not be asked, if it must not. */
static int check_budget(struct agent *agent, const json_t *llm, struct strbuf *problem,
                        struct error *err)
{
    if (budget_check_call(agent, problem, err) < 0)
        return -1;
    if (problem->len == 0 && !budget_allows_model(agent, llm))
        strbuf_append(problem, UNPRICED_TEXT);
    return 0;
}

static void take_answer(struct risk_exchange *exchange, const char *text)
{
    exchange->risk = risk_text_verdict(text);
    strbuf_append_bytes(&exchange->answer, text, utf8_offset(text, strlen(text), ANSWER_MAX_CHARS));
    if (exchange->risk == POLICY_RISK_UNKNOWN)
        strbuf_append(&exchange->problem, NO_RISK_TEXT);
    /* The rest of the calls may be worse. */
    if (exchange->calls->is_cut && exchange->risk != POLICY_RISK_HIGH) {
        exchange->risk = POLICY_RISK_UNKNOWN;
        strbuf_reset(&exchange->problem);
        strbuf_append(&exchange->problem, CUT_TEXT);
    }
}

/* If a client has changed the row, its stats are without this: the next write of the run has it. */
static int store_cost(struct agent *agent, const struct llm_reply *reply, struct error *err)
{
    llm_query_store_cost(agent, reply);
    if (!event_writer_is_row_due(agent))
        return 0;
    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    stats_add(agent->stats, &reply->usage);
    return 0;
}

static int run_query(struct agent *agent, const struct model_choice *choice,
                     struct risk_exchange *exchange, struct error *err)
{
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    json_auto_t *messages = risk_question_messages(agent, exchange->guard, exchange->calls);
    const struct llm_query query = {choice, messages, NULL, USAGE_ID, NULL};
    struct llm_failure failure = LLM_FAILURE_INIT;
    struct error why = ERROR_INIT;

    if (llm_query_run(agent, &query, &reply, &failure, &why) == 0) {
        take_answer(exchange, reply.text);
        return store_cost(agent, &reply, err);
    }
    if (why.code == ERROR_CANCELLED || why.code == ERROR_STALE) {
        *err = why;
        return -1;
    }
    strbuf_appendf(&exchange->problem, "The guard's model could not be asked: %s", failure.detail);
    return 0;
}

static int ask_one(struct agent *agent, struct risk_exchange *exchange, struct error *err)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    json_t *llm = json_object_get(exchange->guard, "llm");

    if (!json_is_object(llm)) {
        strbuf_append(&exchange->problem, "The guard has no model.");
        return 0;
    }
    secret_set(&key, json_text_or(llm, "api_key", ""));
    model_choose(agent->context, &agent->conversation, llm, &key, &choice);
    if (check_budget(agent, choice.spec, &exchange->problem, err) < 0)
        return -1;
    if (exchange->problem.len > 0)
        return 0;
    llm_query_limit(&choice, timeout_ms_of(llm));
    return run_query(agent, &choice, exchange, err);
}

/* --- all of them --- */

static json_t *detail_of(const struct risk_exchange *exchange)
{
    json_t *detail = json_object();

    json_put_text(detail, "model",
                  json_text_or(json_object_get(exchange->guard, "llm"), "model", ""));
    json_put_text(detail, "risk", policy_risk_to_string(exchange->risk));
    if (exchange->answer.len > 0)
        json_put_text(detail, "answer", exchange->answer.text);
    if (exchange->problem.len > 0)
        json_put_text(detail, "error", exchange->problem.text);
    return detail;
}

static int ask_all(struct agent *agent, const json_t *guards, const struct risk_calls *calls,
                   struct risk_verdicts *verdicts, struct error *err)
{
    json_t *details = json_array();

    verdicts->details = json_object();
    json_put(verdicts->details, "guards", details);
    verdicts->risks = mem_alloc_array(json_array_size(guards), sizeof(*verdicts->risks));
    for (size_t i = 0; i < json_array_size(guards); i++) {
        CLEANUP(risk_exchange_done) struct risk_exchange exchange = {.guard =
                                                                         json_array_get(guards, i),
                                                                     .calls = calls,
                                                                     .answer = STRBUF_INIT,
                                                                     .problem = STRBUF_INIT};

        if (ask_one(agent, &exchange, err) < 0)
            return -1;
        log_info("guard.asked", LOG_STR("risk", policy_risk_to_string(exchange.risk)),
                 LOG_INT("answered", exchange.answer.len > 0));
        verdicts->risks[verdicts->n++] = exchange.risk;
        json_push(details, detail_of(&exchange));
    }
    return 0;
}

/* The analyzer with the secrets of its models. */
static json_t *open_analyzer(const struct agent *agent)
{
    json_auto_t *secrets = agent_open_secrets(agent);
    json_auto_t *spec = conversation_spec_with_secrets(&agent->conversation, secrets);

    return json_incref(json_object_get(spec, "security_analyzer"));
}

static bool has_guards(json_t *analyzer)
{
    json_auto_t *guards = analyzer_guards(analyzer);

    return json_array_size(guards) > 0;
}

int risk_query_ask(struct agent *agent, const struct llm_reply *reply,
                   const struct call_verdicts *hooks, struct risk_verdicts *verdicts_out,
                   struct error *err)
{
    CLEANUP(risk_calls_done) struct risk_calls calls = RISK_CALLS_INIT;
    json_t *analyzer = json_object_get(agent->conversation.spec, "security_analyzer");
    json_auto_t *opened = NULL;
    json_auto_t *guards = NULL;

    if (!has_guards(analyzer))
        return 0;
    risk_calls_read(&calls, agent, reply, hooks);
    if (calls.n == 0 || calls.is_talk)
        return 0;
    verdicts_out->analyzer = json_deep_copy(analyzer);
    opened = open_analyzer(agent);
    guards = analyzer_guards(opened);
    return ask_all(agent, guards, &calls, verdicts_out, err);
}

static bool are_of(const struct risk_verdicts *verdicts, const json_t *analyzer)
{
    return verdicts->analyzer != NULL && json_equal(verdicts->analyzer, analyzer);
}

void risk_verdicts_tell(const struct risk_verdicts *verdicts, const json_t *analyzer,
                        struct security_call *call)
{
    if (!are_of(verdicts, analyzer))
        return;
    call->guards = verdicts->risks;
    call->n_guards = verdicts->n;
}

json_t *risk_verdicts_details(const struct risk_verdicts *verdicts, const json_t *analyzer)
{
    return are_of(verdicts, analyzer) ? verdicts->details : NULL;
}

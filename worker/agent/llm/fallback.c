#include "worker/agent/llm/fallback.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "llm/llm.h"
#include "model/conversation/conversation.h"
#include "model/event/error_class.h"
#include "store/user/profile_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/query/budget.h"
#include "worker/context.h"

/* So long the conversation's own model is left alone after a fallback has answered for it. */
enum { REST_MS = 60000 };

/* More names than anyone needs are not followed. */
enum { FALLBACKS_MAX = 16 };

void fallback_model_done(struct fallback_model *model)
{
    model_choice_done(&model->choice);
    secret_done(&model->key);
    json_decref(model->llm);
}

static const json_t *names_of(const struct agent *agent)
{
    return json_object_get(json_object_get(agent->llm_spec, "fallback_strategy"), "fallback_llms");
}

size_t fallback_count(const struct agent *agent)
{
    size_t n = json_array_size(names_of(agent));

    if (conversation_is_sandbox_clients(&agent->conversation))
        return 0;
    return n < FALLBACKS_MAX ? n : FALLBACKS_MAX;
}

bool fallback_may_help(const struct llm_failure *failure)
{
    enum error_class class = ERROR_CLASS_UNKNOWN;

    if (failure->kind == LLM_FAILURE_CANCELLED)
        return false;
    class = error_class_of(llm_failure_code(failure), failure->detail);
    return class == ERROR_CLASS_TRANSIENT || class == ERROR_CLASS_RATE_LIMIT ||
           class == ERROR_CLASS_QUOTA;
}

bool fallback_load(const struct agent *agent, size_t i, struct fallback_model *model_out)
{
    const struct conversation *conversation = &agent->conversation;
    const struct document_scope scope = {.db = agent->context->db,
                                         .keyring = &agent->context->keyring,
                                         .user_id = conversation->user_id};
    const char *name = json_string_value(json_array_get(names_of(agent), i));
    struct error err = ERROR_INIT;

    if (name == NULL)
        return false;
    if (profile_store_load_llm(&scope, name, &model_out->llm, &err) < 0) {
        log_warning("fallback.unavailable", LOG_STR("profile", name), LOG_ERROR(&err));
        return false;
    }
    secret_set(&model_out->key, json_text_or(model_out->llm, "api_key", ""));
    model_choose(agent->context, conversation, model_out->llm, &model_out->key, &model_out->choice);
    if (budget_allows_model(agent, model_out->choice.spec))
        return true;
    log_warning("fallback.unpriced", LOG_STR("profile", name));
    return false;
}

bool fallback_is_resting(const struct agent *agent)
{
    return clock_monotonic_ms() < agent->own_model_rests_until_ms && fallback_count(agent) > 0;
}

void fallback_note_rest(struct agent *agent)
{
    agent->own_model_rests_until_ms = clock_monotonic_ms() + REST_MS;
}

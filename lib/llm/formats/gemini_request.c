/* The request of a call of Gemini's native format (see gemini.h). */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/format.h"
#include "llm/formats/gemini.h"
#include "llm/formats/turn_list.h"
#include "llm/gemini_models.h"
#include "llm/llm.h"
#include "llm/llm_headers.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

#define EFFORT_DEFAULT "high"

static const char GO_ON[] = "]},{\"role\":\"user\",\"parts\":[{\"text\":\"" TURN_GO_ON_TEXT "\"}";
static const char ONLY_GO_ON[] = "{\"role\":\"user\",\"parts\":[{\"text\":\"" TURN_GO_ON_TEXT "\"}";

/*
 * What an effort means. The budgets are those of the vendor's compatible endpoint; INT64_MAX: all
 * that the model takes. Another word is the vendor's own: it goes there as a level.
 */
static const struct {
    const char *effort;
    const char *level;
    int64_t budget;
} efforts[] = {
    {"none", "MINIMAL", 0},     {"minimal", "MINIMAL", 1024}, {"low", "LOW", 1024},
    {"medium", "MEDIUM", 8192}, {"high", "HIGH", 24576},      {"xhigh", "HIGH", INT64_MAX},
    {"max", "HIGH", INT64_MAX},
};

static void copy_member(json_t *object, const char *key, json_t *value)
{
    if (value != NULL && !json_is_null(value))
        json_put(object, key, json_incref(value));
}

/* --- thinking --- */

/* How the model is asked to think; GEMINI_THINKING_NONE: not at all. */
static enum gemini_thinking thinking_kind(const struct catalogue *catalogue,
                                          const struct llm_request *request)
{
    const char *name = catalogue_model_name(request->spec);
    const struct gemini_model *model = gemini_find(name);
    const struct model_facts *facts = catalogue_find_model(catalogue, name);
    const json_t *overrides = json_object_get(request->spec, "capability_overrides");
    enum gemini_thinking kind = model != NULL ? model->thinking : GEMINI_THINKING_NONE;
    bool thinks = kind != GEMINI_THINKING_NONE && (facts == NULL || facts->is_reasoning);

    if (json_bool_or(overrides, "supports_reasoning_effort", thinks) == 0)
        return GEMINI_THINKING_NONE;
    return kind != GEMINI_THINKING_NONE ? kind : GEMINI_THINKING_BY_LEVEL;
}

static const char *level_of(const struct gemini_model *model, const char *level)
{
    bool has_minimal = model != NULL && model->has_minimal;

    if (text_equal(level, "MINIMAL") && !has_minimal)
        return "LOW";
    if (text_equal(level, "MEDIUM") && model != NULL && model->has_no_medium)
        return "HIGH";
    return level;
}

/* An answer's limit includes the thoughts: they get at most half of it. */
static int64_t budget_of(const struct gemini_model *model, const struct llm_request *request,
                         int64_t budget)
{
    json_int_t most = json_int_or(request->spec, "extended_thinking_budget", model->budget_max);
    json_int_t max_output = json_int_or(request->spec, "max_output_tokens", 0);

    if (budget == 0 && model->may_not_think)
        return 0;
    if (most > model->budget_max)
        most = model->budget_max;
    if (max_output > 0 && most > max_output / 2)
        most = max_output / 2;
    if (budget > most)
        budget = most;
    return budget < model->budget_min ? model->budget_min : budget;
}

/* Absent: the contract's default; null: the model decides. */
static void put_thinking(json_t *config, const struct catalogue *catalogue,
                         const struct llm_request *request)
{
    const struct gemini_model *model = gemini_find(catalogue_model_name(request->spec));
    const json_t *set = json_object_get(request->spec, "reasoning_effort");
    const char *effort = set == NULL ? EFFORT_DEFAULT : json_string_value(set);
    enum gemini_thinking kind = thinking_kind(catalogue, request);
    const char *level = effort;
    int64_t budget = -1;
    json_t *thinking = NULL;

    if (kind == GEMINI_THINKING_NONE || effort == NULL)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(efforts); i++) {
        if (text_equal(efforts[i].effort, effort)) {
            level = level_of(model, efforts[i].level);
            budget = efforts[i].budget;
        }
    }
    thinking = json_object();
    if (kind == GEMINI_THINKING_BY_BUDGET && budget >= 0)
        json_put(thinking, "thinkingBudget",
                 json_integer((json_int_t)budget_of(model, request, budget)));
    else
        json_put_text(thinking, "thinkingLevel", level);
    json_put(thinking, "includeThoughts", json_true());
    json_put(config, "thinkingConfig", thinking);
}

/* --- the body --- */

static json_t *config_of(const struct catalogue *catalogue, const struct llm_request *request,
                         const struct llm_plan *plan)
{
    json_t *stop_words = text_calls_stop_words(&request->prompt->calls);
    json_t *config = json_object();

    if (plan->is_warm)
        json_put(config, "temperature", json_real(1.0));
    else
        copy_member(config, "temperature", json_object_get(request->spec, "temperature"));
    copy_member(config, "topP", json_object_get(request->spec, "top_p"));
    copy_member(config, "topK", json_object_get(request->spec, "top_k"));
    copy_member(config, "seed", json_object_get(request->spec, "seed"));
    copy_member(config, "maxOutputTokens", json_object_get(request->spec, "max_output_tokens"));
    json_put(config, "stopSequences", stop_words);
    put_thinking(config, catalogue, request);
    return config;
}

/* Members of the specification's own join those of an object that both have. */
static json_t *members_of(const struct catalogue *catalogue, const struct llm_request *request,
                          const struct llm_plan *plan)
{
    json_t *config = config_of(catalogue, request, plan);
    json_t *extra = json_object_get(request->spec, "litellm_extra_body");
    json_t *body = json_object();

    json_put(body, "generationConfig", config);
    if (json_is_object(extra))
        (void)json_object_update_recursive(body, extra);
    if (json_object_size(json_object_get(body, "generationConfig")) == 0)
        (void)json_object_del(body, "generationConfig");
    return body;
}

/* Closes the last content. The last one must not be the model's. */
static void append_contents(struct strbuf *out, const struct llm_prompt *prompt)
{
    strbuf_append_bytes(out, prompt->messages.text, prompt->messages.len);
    if (prompt->end.role == LLM_ROLE_ASSISTANT)
        strbuf_append(out, GO_ON);
    else if (prompt->end.role == LLM_ROLE_NONE)
        strbuf_append(out, ONLY_GO_ON);
    strbuf_append(out, "]}");
}

/* Inserts the prompt, which is JSON text, unless the specification has its own. */
static void append_texts(struct strbuf *out, const struct llm_prompt *prompt, const json_t *rest)
{
    if (prompt->system.len > 0 && json_object_get(rest, "systemInstruction") == NULL)
        strbuf_appendf(out, "\"systemInstruction\":{\"parts\":[%s]},", prompt->system.text);
    if (json_object_get(rest, "contents") == NULL) {
        strbuf_append(out, "\"contents\":[");
        append_contents(out, prompt);
        strbuf_append(out, "],");
    }
    if (prompt->tools.len > 0 && json_object_get(rest, "tools") == NULL)
        strbuf_appendf(out, "\"tools\":[{\"functionDeclarations\":%s}],", prompt->tools.text);
}

/* The model and whether the answer is streamed are in the URL. */
char *gemini_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                          const struct llm_route *route, const struct llm_plan *plan)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *rest = NULL;
    const struct llm_prompt *prompt = request->prompt;
    json_auto_t *body = members_of(catalogue, request, plan);

    (void)route;
    rest = json_to_text(body);
    strbuf_reserve(&text, prompt->system.len + prompt->messages.len + prompt->tools.len +
                              strlen(rest) + sizeof(GO_ON));
    strbuf_append_char(&text, '{');
    append_texts(&text, prompt, body);
    if (json_object_size(body) == 0)
        strbuf_truncate(&text, text.len - strlen(","));
    strbuf_append(&text, rest + 1);
    return strbuf_take(&text);
}

void gemini_add_headers(const struct llm_request *request, const struct llm_route *route,
                        struct llm_headers *headers)
{
    (void)route;
    if (request->api_key == NULL || !secret_is_set(request->api_key))
        return;
    strbuf_append(&headers->key, secret_reveal(request->api_key));
    llm_headers_add(headers, "x-goog-api-key", headers->key.text);
}

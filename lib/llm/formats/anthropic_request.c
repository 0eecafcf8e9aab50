/* The request of a call of Anthropic's Messages (see anthropic.h). */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/claude.h"
#include "llm/format.h"
#include "llm/formats/anthropic.h"
#include "llm/llm.h"
#include "llm/llm_headers.h"
#include "llm/llm_prompt.h"
#include "llm/route.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

#define API_VERSION "2023-06-01"
/* Thinking between the calls of one answer. */
#define INTERLEAVED_THINKING "interleaved-thinking-2025-05-14"
/* The server drops thinking whose prompt has changed, after a condensation, instead of refusing it.
 */
#define THINKING_BINDING "thinking-binding-controls-2026-08-01"
#define EFFORT_DEFAULT "high"

enum {
    /* Of models that the catalogue does not know: new ones think, retired ones do not. */
    THINKING_MODEL_MAX_OUTPUT_TOKENS = 32000,
    OTHER_MODEL_MAX_OUTPUT_TOKENS = 8192,
    THINKING_BUDGET_DEFAULT = 200000,
    THINKING_BUDGET_MIN = 1024,
};

static const char CACHE_MARK[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";
/* The last message must be the user's: an answer would be continued in the middle. */
static const char GO_ON[] = "]},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                            "\"" ANTHROPIC_GO_ON_TEXT "\"}";
static const char ONLY_GO_ON[] =
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" ANTHROPIC_GO_ON_TEXT "\"}";

/* Tokens of thinking for models that take a budget and no effort. */
static const struct {
    const char *effort;
    int64_t budget;
} budgets[] = {
    {"minimal", 1024}, {"low", 1024},   {"medium", 2048},
    {"high", 4096},    {"xhigh", 8192}, {"max", 16384},
};

static const char *feature_name(const struct llm_request *request)
{
    return json_text_or(request->spec, "model_canonical_name",
                        json_text_or(request->spec, "model", ""));
}

static enum claude_thinking thinking_kind(const struct llm_request *request)
{
    const struct claude_model *model = claude_find(feature_name(request));

    return model != NULL ? model->thinking : CLAUDE_THINKING_NONE;
}

static int64_t max_tokens(const struct catalogue *catalogue, const struct llm_request *request)
{
    const struct model_facts *facts = catalogue_find_model(catalogue, feature_name(request));
    json_int_t set = json_int_or(request->spec, "max_output_tokens", 0);

    if (set > 0)
        return set;
    if (facts != NULL && facts->max_output_tokens > 0)
        return facts->max_output_tokens;
    return thinking_kind(request) != CLAUDE_THINKING_NONE ? THINKING_MODEL_MAX_OUTPUT_TOKENS
                                                          : OTHER_MODEL_MAX_OUTPUT_TOKENS;
}

/* --- thinking --- */

/* Absent: the contract's default; null: none. */
static const char *effort_of(const struct llm_request *request)
{
    const json_t *effort = json_object_get(request->spec, "reasoning_effort");

    if (effort == NULL)
        return EFFORT_DEFAULT;
    return json_is_string(effort) ? json_string_value(effort) : "none";
}

static int64_t budget_of_effort(const char *effort)
{
    for (size_t i = 0; i < ARRAY_SIZE(budgets); i++) {
        if (text_equal(budgets[i].effort, effort))
            return budgets[i].budget;
    }
    return 0;
}

/* What a budget leaves must suffice for an answer. */
static bool put_budget(json_t *body, int64_t budget, int64_t max_output)
{
    json_t *thinking = NULL;

    if (budget > max_output - 1)
        budget = max_output - 1;
    if (budget < THINKING_BUDGET_MIN)
        return false;
    thinking = json_object();
    json_put_text(thinking, "type", "enabled");
    json_put(thinking, "budget_tokens", json_integer((json_int_t)budget));
    json_put(body, "thinking", thinking);
    return true;
}

static void put_adaptive(json_t *body, const char *effort, enum claude_thinking kind)
{
    json_t *thinking = json_object();
    json_t *config = json_object();
    json_t *binding = json_object();

    json_put_text(thinking, "type", "adaptive");
    json_put_text(config, "effort", text_equal(effort, "minimal") ? "low" : effort);
    json_put_text(binding, "prefix_mismatch_behavior", "drop_block");
    if (kind == CLAUDE_THINKING_BOUND)
        json_put(thinking, "block_binding", json_incref(binding));
    json_decref(binding);
    json_put(body, "thinking", thinking);
    json_put(body, "output_config", config);
}

/*
 * True if the model is asked to think within a budget. It must then have thought before the last
 * calls, too: after a switch from another model it thinks again once it has answered in words.
 */
static bool put_manual(json_t *body, const struct llm_request *request, const char *effort,
                       enum claude_thinking kind, int64_t max_output)
{
    int64_t budget = budget_of_effort(effort);

    if (request->prompt->end.is_without_thinking)
        return false;
    if (kind == CLAUDE_THINKING_MANUAL)
        budget = json_int_or(request->spec, "extended_thinking_budget", THINKING_BUDGET_DEFAULT);
    return put_budget(body, budget, max_output);
}

/* True if sampling parameters would be refused. */
static bool put_thinking(json_t *body, const struct llm_request *request, int64_t max_output)
{
    const char *effort = effort_of(request);
    bool is_wanted = !text_equal(effort, "none");

    switch (thinking_kind(request)) {
    case CLAUDE_THINKING_NONE:
        return false;
    case CLAUDE_THINKING_BY_EFFORT:
        return is_wanted &&
               put_manual(body, request, effort, CLAUDE_THINKING_BY_EFFORT, max_output);
    case CLAUDE_THINKING_MANUAL:
        return is_wanted && put_manual(body, request, effort, CLAUDE_THINKING_MANUAL, max_output);
    case CLAUDE_THINKING_ADAPTIVE:
        if (is_wanted)
            put_adaptive(body, effort, CLAUDE_THINKING_ADAPTIVE);
        return true;
    case CLAUDE_THINKING_BOUND:
        /* They think in any case: the effort is all that can be asked for. */
        put_adaptive(body, is_wanted ? effort : "low", CLAUDE_THINKING_BOUND);
        return true;
    }
    return false;
}

/* --- the body --- */

/* Newer models take one of temperature and top_p, and none while they think. */
static void put_sampling(json_t *body, const struct llm_request *request,
                         const struct llm_plan *plan)
{
    json_t *temperature = json_object_get(request->spec, "temperature");
    json_t *top_p = json_object_get(request->spec, "top_p");
    json_t *top_k = json_object_get(request->spec, "top_k");

    if (plan->is_warm)
        json_put(body, "temperature", json_real(1.0));
    else if (json_is_number(temperature))
        json_put(body, "temperature", json_incref(temperature));
    else if (json_is_number(top_p))
        json_put(body, "top_p", json_incref(top_p));
    if (json_is_number(top_k))
        json_put(body, "top_k", json_incref(top_k));
}

static json_t *members_of(const struct catalogue *catalogue, const struct llm_request *request,
                          const struct llm_route *route, const struct llm_plan *plan)
{
    int64_t max_output = max_tokens(catalogue, request);
    json_t *stop_words = text_calls_stop_words(&request->prompt->calls);
    json_t *body = json_object();

    json_put_text(body, "model", route->model);
    json_put(body, "max_tokens", json_integer((json_int_t)max_output));
    if (!put_thinking(body, request, max_output))
        put_sampling(body, request, plan);
    if (plan->is_stream)
        json_put(body, "stream", json_true());
    if (stop_words != NULL)
        json_put(body, "stop_sequences", stop_words);
    (void)json_object_update(body, json_object_get(request->spec, "litellm_extra_body"));
    return body;
}

/* Closes the last message, with the mark in its last block. */
static void append_messages(struct strbuf *out, const struct llm_prompt *prompt)
{
    strbuf_append_bytes(out, prompt->messages.text, prompt->end.mark_at);
    if (prompt->end.mark_at > 0)
        strbuf_append(out, CACHE_MARK);
    strbuf_append(out, prompt->messages.text + prompt->end.mark_at);
    if (prompt->end.role == LLM_ROLE_ASSISTANT)
        strbuf_append(out, GO_ON);
    else if (prompt->end.role == LLM_ROLE_NONE)
        strbuf_append(out, ONLY_GO_ON);
    strbuf_append(out, "]}");
}

/* Inserts the prompt, which is JSON text, unless the specification has its own. */
static void append_texts(struct strbuf *out, const struct llm_prompt *prompt, const json_t *rest)
{
    if (prompt->system.len > 0 && json_object_get(rest, "system") == NULL)
        strbuf_appendf(out, "\"system\":[%s],", prompt->system.text);
    if (json_object_get(rest, "messages") == NULL) {
        strbuf_append(out, "\"messages\":[");
        append_messages(out, prompt);
        strbuf_append(out, "],");
    }
    if (prompt->tools.len > 0 && json_object_get(rest, "tools") == NULL)
        strbuf_appendf(out, "\"tools\":%s,", prompt->tools.text);
}

char *anthropic_request_body(const struct catalogue *catalogue, const struct llm_request *request,
                             const struct llm_route *route, const struct llm_plan *plan)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *rest = NULL;
    const struct llm_prompt *prompt = request->prompt;
    json_auto_t *body = members_of(catalogue, request, route, plan);

    rest = json_to_text(body);
    strbuf_reserve(&text, prompt->system.len + prompt->messages.len + prompt->tools.len +
                              strlen(rest) + sizeof(CACHE_MARK) + sizeof(GO_ON));
    strbuf_append_char(&text, '{');
    append_texts(&text, prompt, body);
    strbuf_append(&text, rest + 1);
    return strbuf_take(&text);
}

void anthropic_add_headers(const struct llm_request *request, const struct llm_route *route,
                           struct llm_headers *headers)
{
    (void)route;
    if (request->api_key != NULL && secret_is_set(request->api_key)) {
        strbuf_append(&headers->key, secret_reveal(request->api_key));
        llm_headers_add(headers, "x-api-key", headers->key.text);
    }
    llm_headers_add(headers, "anthropic-version", API_VERSION);
    if (thinking_kind(request) == CLAUDE_THINKING_MANUAL)
        llm_headers_add(headers, "anthropic-beta", INTERLEAVED_THINKING);
    if (thinking_kind(request) == CLAUDE_THINKING_BOUND)
        llm_headers_add(headers, "anthropic-beta", THINKING_BINDING);
}

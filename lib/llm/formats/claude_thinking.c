#include "llm/formats/claude_thinking.h"

#include <stddef.h>

#include "base/json.h"
#include "base/text.h"
#include "llm/claude.h"
#include "llm/llm.h"
#include "llm/llm_prompt.h"
#include "model/catalogue/catalogue.h"
#include "model/catalogue/model_table.h"

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

/* Tokens of thinking for models that take a budget and no effort. */
static const struct {
    const char *effort;
    int64_t budget;
} budgets[] = {
    {"minimal", 1024}, {"low", 1024},   {"medium", 2048},
    {"high", 4096},    {"xhigh", 8192}, {"max", 16384},
};

static enum claude_thinking thinking_of(const json_t *spec)
{
    const struct claude_model *model = claude_find(catalogue_model_name(spec));

    return model != NULL ? model->thinking : CLAUDE_THINKING_NONE;
}

const char *claude_beta_of(const json_t *spec)
{
    switch (thinking_of(spec)) {
    case CLAUDE_THINKING_MANUAL:
        return INTERLEAVED_THINKING;
    case CLAUDE_THINKING_BOUND:
        return THINKING_BINDING;
    case CLAUDE_THINKING_NONE:
    case CLAUDE_THINKING_BY_EFFORT:
    case CLAUDE_THINKING_ADAPTIVE:
        break;
    }
    return NULL;
}

int64_t claude_max_tokens(const struct catalogue *catalogue, const json_t *spec)
{
    const struct model_facts *facts = catalogue_find_model(catalogue, catalogue_model_name(spec));
    json_int_t set = json_int_or(spec, "max_output_tokens", 0);

    if (set > 0)
        return set;
    if (facts != NULL && facts->max_output_tokens > 0)
        return facts->max_output_tokens;
    return thinking_of(spec) != CLAUDE_THINKING_NONE ? THINKING_MODEL_MAX_OUTPUT_TOKENS
                                                     : OTHER_MODEL_MAX_OUTPUT_TOKENS;
}

/* --- thinking --- */

const char *claude_effort_of(const json_t *spec)
{
    const json_t *effort = json_object_get(spec, "reasoning_effort");

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
static bool put_budget(json_t *members, int64_t budget, int64_t max_output)
{
    json_t *thinking = NULL;

    if (budget > max_output - 1)
        budget = max_output - 1;
    if (budget < THINKING_BUDGET_MIN)
        return false;
    thinking = json_object();
    json_put_text(thinking, "type", "enabled");
    json_put(thinking, "budget_tokens", json_integer((json_int_t)budget));
    json_put(members, "thinking", thinking);
    return true;
}

static void put_adaptive(json_t *members, const char *effort, enum claude_thinking kind)
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
    json_put(members, "thinking", thinking);
    json_put(members, "output_config", config);
}

/*
 * True if the model is asked to think within a budget. It must then have thought before the last
 * calls, too: after a switch from another model it thinks again once it has answered in words.
 */
static bool put_manual(json_t *members, const struct llm_request *request, const char *effort,
                       enum claude_thinking kind, int64_t max_output)
{
    int64_t budget = budget_of_effort(effort);

    if (request->prompt->end.is_without_thinking)
        return false;
    if (kind == CLAUDE_THINKING_MANUAL)
        budget = json_int_or(request->spec, "extended_thinking_budget", THINKING_BUDGET_DEFAULT);
    return put_budget(members, budget, max_output);
}

bool claude_put_thinking(json_t *members, const struct llm_request *request, int64_t max_output)
{
    const char *effort = claude_effort_of(request->spec);
    bool is_wanted = !text_equal(effort, "none");

    switch (thinking_of(request->spec)) {
    case CLAUDE_THINKING_NONE:
        return false;
    case CLAUDE_THINKING_BY_EFFORT:
        return is_wanted &&
               put_manual(members, request, effort, CLAUDE_THINKING_BY_EFFORT, max_output);
    case CLAUDE_THINKING_MANUAL:
        return is_wanted &&
               put_manual(members, request, effort, CLAUDE_THINKING_MANUAL, max_output);
    case CLAUDE_THINKING_ADAPTIVE:
        if (is_wanted)
            put_adaptive(members, effort, CLAUDE_THINKING_ADAPTIVE);
        return true;
    case CLAUDE_THINKING_BOUND:
        /* They think in any case: the effort is all that can be asked for. */
        put_adaptive(members, is_wanted ? effort : "low", CLAUDE_THINKING_BOUND);
        return true;
    }
    return false;
}

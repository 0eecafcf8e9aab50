#include "worker/agent/llm/view_tokens.h"

#include <jansson.h>

#include "base/json.h"
#include "base/log.h"
#include "llm/llm.h"
#include "model/conversation/conversation.h"
#include "model/event/stats.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/token_count.h"
#include "worker/agent/core/token_gauge.h"
#include "worker/agent/llm/agent_prompt.h"
#include "worker/context.h"

static size_t lower(size_t a, size_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

static const json_t *find_condenser(const struct agent *agent)
{
    const json_t *spec = conversation_agent(&agent->conversation);

    return conversation_find_condenser(json_object_get(spec, "condenser"));
}

static size_t limit_of(const json_t *condenser)
{
    json_int_t limit = json_int_or(condenser, "max_tokens", 0);

    return limit > 0 ? (size_t)limit : 0;
}

static size_t scaled(size_t n_tokens, double scale)
{
    return (size_t)((double)n_tokens * scale);
}

/* What a window leaves for messages. */
static size_t without_tools(size_t window, size_t n_tools)
{
    if (window == 0)
        return 0;
    return window > n_tools ? window - n_tools : 1;
}

static size_t count_prompt(const struct agent *agent)
{
    struct token_count count = agent->transcript.count;

    if (!agent->transcript.prompt.features.takes_images)
        count.n_images = 0;
    return token_count_sum(&count);
}

struct view_tokens view_tokens_measure(struct agent *agent)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    const json_t *condenser = find_condenser(agent);
    struct view_tokens tokens = {.max_tokens = limit_of(condenser)};
    const char *model = NULL;
    size_t window = 0;

    model_choose(agent->context, &agent->conversation, agent->llm_spec, &agent->llm_key, &choice);
    model = json_text_or(choice.spec, "model", "");
    tokens.window = token_gauge_window(&agent->gauge, model);
    if (condenser == NULL && tokens.window == 0)
        return tokens;
    window = lower((size_t)llm_window_tokens(agent->context->catalogue, choice.spec),
                   (size_t)tokens.window);
    if (tokens.max_tokens == 0 && window == 0)
        return tokens;
    agent_prompt_update(agent, choice.spec);
    tokens.scale = token_gauge_scale(&agent->gauge, model);
    tokens.n_tokens = scaled(count_prompt(agent), tokens.scale);
    tokens.limit =
        lower(tokens.max_tokens,
              without_tools(window, scaled(agent->transcript.n_tool_tokens, tokens.scale)));
    return tokens;
}

bool view_tokens_are_over(const struct view_tokens *tokens)
{
    return tokens->limit > 0 && tokens->n_tokens > tokens->limit;
}

size_t view_tokens_to_forget(const struct view_tokens *tokens)
{
    size_t half = tokens->limit / 2;

    if (!view_tokens_are_over(tokens))
        return 0;
    return (size_t)((double)(tokens->n_tokens - half) / tokens->scale) + 1;
}

void view_tokens_note_usage(struct agent *agent, const struct llm_usage *usage)
{
    size_t n_tools = agent->transcript.n_tool_tokens;
    const struct token_prompt prompt = {
        .model = usage->model,
        .n_estimated = count_prompt(agent) + n_tools,
        .n_text = agent->transcript.count.n_tokens + n_tools,
        .generation = agent->transcript.generation,
    };

    if (token_gauge_note(&agent->gauge, &prompt, usage->prompt_tokens))
        log_warning("model.truncates", LOG_STR("model", usage->model),
                    LOG_INT("window_tokens", agent->gauge.window_tokens),
                    LOG_INT("estimated_tokens", (int64_t)prompt.n_estimated));
}

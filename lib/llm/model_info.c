#include "llm/model_info.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *const plain_text_names[] = {
    "deepseek", "glm", "groq/kimi-k2-instruct", "openrouter/minimax", NULL,
};

static const char *const reasoning_back_names[] = {
    "kimi-k3",
    "kimi-k2-thinking",
    "kimi-k2.5",
    "kimi-k2.6",
    "openrouter/minimax-m2",
    "deepseek/deepseek-reasoner",
    "deepseek/deepseek-v4-pro",
    "deepseek/deepseek-v4-flash",
    NULL,
};

static const char *const effort_names[] = {
    "gpt-5",
    "/o1",
    "/o3",
    "/o4-mini",
    "gpt-oss",
    "deepseek-r1",
    "grok-4",
    "kimi-k3",
    "claude-sonnet-4",
    "claude-opus-4",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-haiku-4-5",
    "gemini-2.5",
    "gemini-3",
    NULL,
};

static const char *const no_effort_names[] = {
    "gpt-3.5",    "gpt-4",   "chatgpt-", "claude-3", "gemini-1",
    "gemini-2.0", "mistral", "devstral", "llama",    NULL,
};

/* Public list prices; a proxy's header or configured prices take precedence. */
static const struct model_info_price prices[] = {
    {"gpt-4o-mini", 128000, 0.15, 0.075, 0.60},
    {"gpt-4o", 128000, 2.50, 1.25, 10.00},
    {"gpt-4.1-nano", 1047576, 0.10, 0.025, 0.40},
    {"gpt-4.1-mini", 1047576, 0.40, 0.10, 1.60},
    {"gpt-4.1", 1047576, 2.00, 0.50, 8.00},
    {"o3", 200000, 2.00, 0.50, 8.00},
    {"o4-mini", 200000, 1.10, 0.275, 4.40},
    {"gpt-5-nano", 272000, 0.05, 0.005, 0.40},
    {"gpt-5-mini", 272000, 0.25, 0.025, 2.00},
    {"gpt-5", 272000, 1.25, 0.125, 10.00},
    {"claude-haiku-4-5", 200000, 1.00, 0.10, 5.00},
    {"claude-sonnet-4", 200000, 3.00, 0.30, 15.00},
    {"claude-opus-4-5", 200000, 5.00, 0.50, 25.00},
    {"gemini-2.5-flash", 1048576, 0.30, 0.03, 2.50},
    {"gemini-2.5-pro", 1048576, 1.25, 0.125, 10.00},
};

static bool has_any(const char *model, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcasestr(model, *names) != NULL)
            return true;
    }
    return false;
}

/* The name without provider and deployment stage: the part after the last slash. */
static const char *bare_name(const char *model)
{
    const char *slash = strrchr(model, '/');

    return slash != NULL ? slash + 1 : model;
}

bool model_info_wants_plain_text(const char *model)
{
    return has_any(model, plain_text_names);
}

bool model_info_wants_reasoning_back(const char *model)
{
    return has_any(model, reasoning_back_names);
}

enum model_info_answer model_info_takes_effort(const char *model)
{
    if (has_any(model, effort_names) || strncmp(model, "o3", 2) == 0 ||
        strncmp(model, "o1", 2) == 0 || strncmp(model, "o4-mini", 7) == 0)
        return MODEL_INFO_YES;
    return has_any(model, no_effort_names) ? MODEL_INFO_NO : MODEL_INFO_UNKNOWN;
}

bool model_info_takes_cache_retention(const char *model)
{
    if (strncmp(model, "azure/", 6) == 0)
        return false;
    if (strcasestr(model, "gpt-5.1-codex-mini") != NULL)
        return true;
    return (strcasestr(model, "gpt-5") != NULL || strcasestr(model, "gpt-4.1") != NULL) &&
           strcasestr(model, "mini") == NULL;
}

const struct model_info_price *model_info_price_of(const char *model)
{
    const struct model_info_price *best = NULL;
    const char *name = bare_name(model);

    for (size_t i = 0; i < ARRAY_SIZE(prices); i++) {
        size_t len = strlen(prices[i].prefix);

        if (strncasecmp(name, prices[i].prefix, len) != 0)
            continue;
        if (best == NULL || len > strlen(best->prefix))
            best = &prices[i];
    }
    return best;
}

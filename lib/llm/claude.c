#include "llm/claude.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* Before the name in Bedrock's names: "us.anthropic.claude-…". */
#define VENDOR "anthropic."

/* The longest name that fits counts; the last row is for models that are newer than this table. */
static const struct claude_model models[] = {
    {"claude-v", CLAUDE_THINKING_NONE},
    {"claude-instant", CLAUDE_THINKING_NONE},
    {"claude-3-opus", CLAUDE_THINKING_NONE},
    {"claude-3-sonnet", CLAUDE_THINKING_NONE},
    {"claude-3-haiku", CLAUDE_THINKING_NONE},
    {"claude-3-5", CLAUDE_THINKING_NONE},
    {"claude-3-7-sonnet", CLAUDE_THINKING_BY_EFFORT},
    {"claude-sonnet-3-7", CLAUDE_THINKING_BY_EFFORT},
    {"claude-sonnet-4", CLAUDE_THINKING_BY_EFFORT},
    {"claude-sonnet-4-5", CLAUDE_THINKING_MANUAL},
    {"claude-sonnet-4-6", CLAUDE_THINKING_MANUAL},
    {"claude-haiku-4-5", CLAUDE_THINKING_MANUAL},
    {"claude-opus-4", CLAUDE_THINKING_BY_EFFORT},
    {"claude-opus-4-5", CLAUDE_THINKING_BY_EFFORT},
    {"claude-opus-4-6", CLAUDE_THINKING_ADAPTIVE},
    {"claude-opus-4-7", CLAUDE_THINKING_ADAPTIVE},
    {"claude-opus-4-8", CLAUDE_THINKING_ADAPTIVE},
    {"claude-sonnet-5", CLAUDE_THINKING_ADAPTIVE},
    {"claude-opus-5", CLAUDE_THINKING_ADAPTIVE},
    {"claude-fable-5", CLAUDE_THINKING_ADAPTIVE},
    {"claude-mythos-5", CLAUDE_THINKING_ADAPTIVE},
    {"claude-sonnet-5-5", CLAUDE_THINKING_BOUND},
    {"claude-opus-5-5", CLAUDE_THINKING_BOUND},
    {"claude-haiku-5-5", CLAUDE_THINKING_BOUND},
    {"claude-fable-5-1", CLAUDE_THINKING_BOUND},
    {"claude-fable-5-2", CLAUDE_THINKING_BOUND},
    {"claude-mythos-5-1", CLAUDE_THINKING_BOUND},
    {"claude-mythos-5-2", CLAUDE_THINKING_BOUND},
    {"claude-", CLAUDE_THINKING_BOUND},
};

/* Names without their provider; some servers write a version with a dot. */
static bool begins_with(const char *name, const char *begin)
{
    for (; *begin != '\0'; name++, begin++) {
        if (strncasecmp(name, begin, 1) != 0 && !(*name == '.' && *begin == '-'))
            return false;
    }
    return true;
}

static const char *own_name(const char *model)
{
    const char *slash = strrchr(model, '/');
    const char *name = slash != NULL ? slash + 1 : model;
    const char *vendor = strstr(name, VENDOR);

    return vendor != NULL ? vendor + strlen(VENDOR) : name;
}

const struct claude_model *claude_find(const char *model)
{
    const struct claude_model *best = NULL;
    const char *name = own_name(model);

    for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
        if (begins_with(name, models[i].name) &&
            (best == NULL || strlen(models[i].name) > strlen(best->name)))
            best = &models[i];
    }
    return best;
}

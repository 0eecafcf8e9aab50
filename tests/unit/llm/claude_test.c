/*
 * Which models of Anthropic's think, and how, by name.
 */
#include "llm/claude.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attr.h"

static const struct {
    const char *model;
    enum claude_thinking thinking;
} names[] = {
    {"claude-3-opus-20240229", CLAUDE_THINKING_NONE},
    {"claude-3-haiku-20240307", CLAUDE_THINKING_NONE},
    {"claude-3-5-sonnet-latest", CLAUDE_THINKING_NONE},
    {"claude-3.5-haiku", CLAUDE_THINKING_NONE},
    {"claude-3-7-sonnet-20250219", CLAUDE_THINKING_BY_EFFORT},
    {"claude-sonnet-3-7", CLAUDE_THINKING_BY_EFFORT},
    {"claude-sonnet-4-20250514", CLAUDE_THINKING_BY_EFFORT},
    {"claude-sonnet-4", CLAUDE_THINKING_BY_EFFORT},
    {"claude-sonnet-4-5-20250929", CLAUDE_THINKING_MANUAL},
    {"claude-sonnet-4.5", CLAUDE_THINKING_MANUAL},
    {"claude-sonnet-4-6", CLAUDE_THINKING_MANUAL},
    {"claude-haiku-4-5", CLAUDE_THINKING_MANUAL},
    {"claude-opus-4-20250514", CLAUDE_THINKING_BY_EFFORT},
    {"claude-opus-4-1", CLAUDE_THINKING_BY_EFFORT},
    {"claude-opus-4-5", CLAUDE_THINKING_BY_EFFORT},
    {"claude-opus-4-6", CLAUDE_THINKING_ADAPTIVE},
    {"claude-opus-4-7", CLAUDE_THINKING_ADAPTIVE},
    {"claude-opus-4-8", CLAUDE_THINKING_ADAPTIVE},
    {"claude-sonnet-5", CLAUDE_THINKING_ADAPTIVE},
    {"claude-opus-5", CLAUDE_THINKING_ADAPTIVE},
    {"claude-fable-5", CLAUDE_THINKING_ADAPTIVE},
    {"claude-mythos-5", CLAUDE_THINKING_ADAPTIVE},
    {"claude-sonnet-5-5", CLAUDE_THINKING_BOUND},
    {"claude-opus-5.5", CLAUDE_THINKING_BOUND},
    {"claude-haiku-5-5", CLAUDE_THINKING_BOUND},
    {"claude-fable-5-1", CLAUDE_THINKING_BOUND},
    {"claude-fable-5-2", CLAUDE_THINKING_BOUND},
    {"claude-mythos-5-1", CLAUDE_THINKING_BOUND},
    {"claude-mythos-5-2", CLAUDE_THINKING_BOUND},
    {"claude-next", CLAUDE_THINKING_BOUND},
    {"anthropic/claude-opus-5", CLAUDE_THINKING_ADAPTIVE},
    {"openrouter/anthropic/Claude-Opus-4.5", CLAUDE_THINKING_BY_EFFORT},
    {"bedrock/anthropic.claude-opus-4-6-v1", CLAUDE_THINKING_ADAPTIVE},
    {"bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", CLAUDE_THINKING_MANUAL},
    {"bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-5",
     CLAUDE_THINKING_ADAPTIVE},
    {"bedrock/anthropic.claude-3-sonnet-20240229-v1:0", CLAUDE_THINKING_NONE},
    {"bedrock/anthropic.claude-v2:1", CLAUDE_THINKING_NONE},
    {"bedrock/anthropic.claude-instant-v1", CLAUDE_THINKING_NONE},
};

static void longest_name_that_fits_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct claude_model *model = claude_find(names[i].model);

        if (model == NULL || model->thinking != names[i].thinking)
            fail_msg("%s", names[i].model);
    }
}

static void other_names_are_no_claude(void **state)
{
    static const char *const others[] = {
        "", "gpt-5", "claude", "my-claude-opus-5", "claude-opus-5/x", "anthropic/", "claudeXopus"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (claude_find(others[i]) != NULL)
            fail_msg("%s", others[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_name_that_fits_counts),
        cmocka_unit_test(other_names_are_no_claude),
    };

    return cmocka_run_group_tests_name("claude", tests, NULL, NULL);
}

#include "llm/gemini_models.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* The longest name that fits counts; the last row is for models that are newer than this table. */
static const struct gemini_model models[] = {
    {.name = "gemini-1", .thinking = GEMINI_THINKING_NONE},
    {.name = "gemini-exp", .thinking = GEMINI_THINKING_NONE},
    {.name = "gemini-gemma", .thinking = GEMINI_THINKING_NONE},
    {.name = "gemini-2.0", .thinking = GEMINI_THINKING_NONE},
    {.name = "gemini-2.5",
     .thinking = GEMINI_THINKING_BY_BUDGET,
     .budget_min = 512,
     .budget_max = 24576,
     .may_not_think = true},
    {.name = "gemini-2.5-pro",
     .thinking = GEMINI_THINKING_BY_BUDGET,
     .budget_min = 128,
     .budget_max = 32768},
    {.name = "gemini-3-pro", .thinking = GEMINI_THINKING_BY_LEVEL, .has_no_medium = true},
    {.name = "gemini-3-flash", .thinking = GEMINI_THINKING_BY_LEVEL, .has_minimal = true},
    {.name = "gemini-3.1-flash", .thinking = GEMINI_THINKING_BY_LEVEL, .has_minimal = true},
    {.name = "gemini-3.5-flash", .thinking = GEMINI_THINKING_BY_LEVEL, .has_minimal = true},
    {.name = "gemini-3.6-flash", .thinking = GEMINI_THINKING_BY_LEVEL, .has_minimal = true},
    {.name = "gemini-", .thinking = GEMINI_THINKING_BY_LEVEL},
};

const struct gemini_model *gemini_find(const char *model)
{
    const struct gemini_model *best = NULL;
    const char *slash = strrchr(model, '/');
    const char *name = slash != NULL ? slash + 1 : model;

    for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
        if (strncasecmp(name, models[i].name, strlen(models[i].name)) == 0 &&
            (best == NULL || strlen(models[i].name) > strlen(best->name)))
            best = &models[i];
    }
    return best;
}

/* Both came with the third generation, and so did levels. */
static bool is_of_third_generation(const char *name)
{
    const struct gemini_model *model = gemini_find(name);

    return model != NULL && model->thinking == GEMINI_THINKING_BY_LEVEL;
}

bool gemini_needs_signatures(const char *model)
{
    return is_of_third_generation(model);
}

bool gemini_takes_result_images(const char *model)
{
    return is_of_third_generation(model);
}

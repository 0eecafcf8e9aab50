#include "llm/bedrock_models.h"

#include <stddef.h>
#include <string.h>

#include "llm/claude.h"

bool bedrock_takes_full_results(const char *model)
{
    return claude_find(model) != NULL || strstr(model, "amazon.nova") != NULL;
}

/* Answers in the format of Anthropic's Messages. */
#include "llm/formats/anthropic.h"

#define FUZZ_FORMAT LLM_FORMAT_ANTHROPIC
#include "llm_format.h"

/* Answers in the format of OpenAI's Responses. */
#include "llm/formats/responses.h"

#define FUZZ_FORMAT LLM_FORMAT_RESPONSES
#include "llm_format.h"

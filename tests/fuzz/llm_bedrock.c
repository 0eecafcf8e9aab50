/* Answers in the format of Bedrock's Converse. */
#include "llm/formats/bedrock.h"

#define FUZZ_FORMAT LLM_FORMAT_BEDROCK
#include "llm_format.h"

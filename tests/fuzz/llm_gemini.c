/* Answers in Gemini's native format. */
#include "llm/formats/gemini.h"

#define FUZZ_FORMAT LLM_FORMAT_GEMINI
#include "llm_format.h"

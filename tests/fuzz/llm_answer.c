/* Answers in the format of Chat Completions. */
#include "llm/formats/chat.h"

#define FUZZ_FORMAT LLM_FORMAT_CHAT
#include "llm_format.h"

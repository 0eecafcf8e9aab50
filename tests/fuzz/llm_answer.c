/* Answers in the format of Chat Completions. */
#include "llm/chat.h"

#define FUZZ_FORMAT LLM_FORMAT_CHAT
#include "llm_format.h"

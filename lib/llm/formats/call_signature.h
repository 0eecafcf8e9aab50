/*
 * Internal to lib/llm: signatures of thoughts that are sent back with calls, in Google's formats.
 * Source: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
#ifndef DEFT_LLM_FORMATS_CALL_SIGNATURE_H
#define DEFT_LLM_FORMATS_CALL_SIGNATURE_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct llm_prompt;

/*
 * The signature for call i of a message of the assistant, or NULL for none. It is the model's own
 * if this model made the call. Else the first call has the vendor's mark for calls of another
 * model, if the model refuses calls without a signature. Lives as long as the message.
 */
const char *call_signature(const struct llm_prompt *prompt, const json_t *message,
                           size_t i) NONNULL MUST_CHECK;

#endif

/*
 * The rules of Gemini's native API for the order of contents, as its fake has them
 * (tests/fakes/gemini-check.mjs).
 */
#ifndef DEFT_TESTS_UNIT_LLM_GEMINI_RULES_H
#define DEFT_TESTS_UNIT_LLM_GEMINI_RULES_H

#include <jansson.h>

#include "base/attr.h"

struct llm_prompt;

/* The body of a request to the prompt's model, begun for this specification. A new reference. */
json_t *gemini_body_of(json_t *spec, const struct llm_prompt *prompt) NONNULL;
/* Fails the test unless a model of the third generation takes the contents of a body. */
void assert_gemini_takes(const json_t *body) NONNULL;

#endif

/*
 * Inside of lib/llm: JSON of models and their servers, which is sometimes a little broken.
 */
#ifndef DEFT_LLM_JSON_REPAIR_H
#define DEFT_LLM_JSON_REPAIR_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

/*
 * As json_parse(), but broken UTF-8, lone surrogates and escaped NULs become U+FFFD.
 */
int json_parse_lenient(const char *text, size_t len, json_t **json_out,
                       struct error *err) NONNULL MUST_CHECK;

#endif

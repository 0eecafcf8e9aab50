/*
 * Internal to lib/llm: parses the slightly malformed JSON that models and their servers may send.
 *
 * Decision: docs/decisions/0066-json-repair.md
 */
#ifndef DEFT_LLM_JSON_REPAIR_H
#define DEFT_LLM_JSON_REPAIR_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

/* As json_parse(), but replaces invalid UTF-8, lone surrogates and escaped NULs with U+FFFD. */
int json_parse_lenient(const char *text, size_t len, json_t **json_out,
                       struct error *err) NONNULL MUST_CHECK;

#endif

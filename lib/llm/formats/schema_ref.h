/*
 * Internal to lib/llm: references within a JSON Schema.
 * Source: JSON Schema draft 2020-12, section 8.2.3; RFC 6901 (JSON Pointer)
 */
#ifndef DEFT_LLM_FORMATS_SCHEMA_REF_H
#define DEFT_LLM_FORMATS_SCHEMA_REF_H

#include <jansson.h>

#include "base/attr.h"

/*
 * The schema that this one refers to by $ref, over several steps if need be; the schema itself if
 * it has no $ref. NULL if there is nothing at that place of the root, or the reference leads to
 * another document or in a circle, or is longer than 256 bytes. Borrowed from the root.
 */
const json_t *schema_resolve(const json_t *root, const json_t *schema) MUST_CHECK;

#endif

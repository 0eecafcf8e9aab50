/*
 * Internal to lib/llm: JSON Schemas of tools in the form that Gemini's native format takes, a part
 * of OpenAPI 3.0's. Tools of MCP servers may use all of JSON Schema: references are replaced by
 * what they refer to, other keywords that the format lacks are left out. The result describes at
 * least what the schema allows; the tool itself checks its arguments.
 *
 * Threading: pure.
 * Source:    https://ai.google.dev/api/caching#Schema, JSON Schema draft 2020-12
 */
#ifndef DEFT_LLM_FORMATS_GEMINI_SCHEMA_H
#define DEFT_LLM_FORMATS_GEMINI_SCHEMA_H

#include <jansson.h>

#include "base/attr.h"

/*
 * The schema of a function's parameters, of type OBJECT. A new reference; NULL for a function
 * without parameters. schema: any JSON, or NULL.
 */
json_t *gemini_schema_new(const json_t *schema) MUST_CHECK;

#endif

/*
 * Validates and converts single members' values: kind and limits.
 */
#ifndef DEFT_MODEL_SCHEMA_FIELD_VALUE_H
#define DEFT_MODEL_SCHEMA_FIELD_VALUE_H

#include <jansson.h>

#include "base/attr.h"

struct field;
struct json_path;

/* Returns the converted value, a new reference, or NULL and adds a problem. Not for objects. */
json_t *field_value_read(const struct field *field, json_t *input, const struct json_path *path,
                         json_t *problems) NONNULL MUST_CHECK;

#endif

/*
 * Validates and converts single values of a shape: kind and limits.
 */
#ifndef DEFT_MODEL_SCHEMA_SHAPE_VALUE_H
#define DEFT_MODEL_SCHEMA_SHAPE_VALUE_H

#include <jansson.h>

#include "base/attr.h"

struct field;
struct place;

/* Returns the converted value, a new reference, or NULL and adds a problem. Not for objects. */
json_t *shape_value_read(const struct field *field, json_t *input, const struct place *place,
                         json_t *problems) NONNULL MUST_CHECK;

#endif

/*
 * Validates and converts single values of a shape: kind and limits.
 */
#ifndef DEFT_MODEL_SCHEMA_SHAPE_VALUE_H
#define DEFT_MODEL_SCHEMA_SHAPE_VALUE_H

#include <jansson.h>

#include "base/attr.h"

struct field;
struct place;

/*
 * Returns a new reference to the converted value, or NULL with an entry in problems. Not for
 * objects.
 */
json_t *shape_value_read(const struct field *field, json_t *input, const struct place *place,
                         json_t *problems) NONNULL MUST_CHECK;

#endif

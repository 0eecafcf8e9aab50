/*
 * Single values of a shape: is it the right kind, can it be converted, is it within its limits.
 */
#ifndef DEFT_MODEL_SCHEMA_SHAPE_VALUE_H
#define DEFT_MODEL_SCHEMA_SHAPE_VALUE_H

#include <jansson.h>

#include "base/attr.h"

struct field;
struct place;

/* A new reference of the value as its kind, or NULL with an entry in problems. Not for objects. */
json_t *shape_value_read(const struct field *field, json_t *input, const struct place *place,
                         json_t *problems) NONNULL MUST_CHECK;

#endif

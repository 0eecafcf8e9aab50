/*
 * Shapes: the members that an object of the wire may have, as tables. One reader checks a client's
 * or a model's object against its table, converts what may be converted ("5" for 5), fills in the
 * defaults, and says in words what is wrong.
 *
 * Ownership: tables live for ever; shape_read() gives a new object.
 * Threading: no state.
 */
#ifndef DEFT_MODEL_SCHEMA_SHAPE_H
#define DEFT_MODEL_SCHEMA_SHAPE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/schema/field.h"

struct place;

/*
 * A new object with the shape's members, in the table's order; members without value and default
 * are left out, nullable ones are null. What is wrong is appended to problems; such members are
 * missing in the result.
 */
json_t *shape_read(const struct shape *shape, json_t *input, const struct place *place,
                   json_t *problems) NONNULL MUST_CHECK;
/* The JSON schema of the shape as chat models want it, its help texts included. A new reference. */
json_t *shape_to_schema(const struct shape *shape) NONNULL MUST_CHECK;
/* The field of that name, or NULL. */
const struct field *shape_find(const struct shape *shape, const char *name) NONNULL MUST_CHECK;

#endif

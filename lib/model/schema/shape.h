/*
 * Shapes: tables of the members that a wire object may have. One reader validates a client's or a
 * model's object against its table, converts values where allowed ("5" to 5), fills in defaults,
 * and reports errors.
 *
 * Ownership: tables are static; shape_read() returns a new object.
 * Threading: no state.
 * Decision: docs/decisions/0057-schema-tables.md
 */
#ifndef DEFT_MODEL_SCHEMA_SHAPE_H
#define DEFT_MODEL_SCHEMA_SHAPE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/schema/field.h"

struct place;

/*
 * Returns a new object with the shape's members, in the table's order; members without value and
 * default are left out, nullable ones are null. Errors are appended to problems; members with
 * errors are missing in the result.
 */
json_t *shape_read(const struct shape *shape, json_t *input, const struct place *place,
                   json_t *problems) NONNULL MUST_CHECK;
/* Returns the shape's JSON schema for chat models, including help texts. A new reference. */
json_t *shape_to_schema(const struct shape *shape) NONNULL MUST_CHECK;
/* Returns the field of that name, or NULL. */
const struct field *shape_find(const struct shape *shape, const char *name) NONNULL MUST_CHECK;

#endif

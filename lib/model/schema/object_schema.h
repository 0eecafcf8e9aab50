/*
 * Shapes: tables of the members that a wire object may have. One reader validates a client's or a
 * model's object against its table, converts values where allowed ("5" to 5), fills in defaults,
 * and reports errors.
 *
 * Ownership: tables are static; object_schema_read() returns a new object.
 * Threading: no state.
 * Decision: docs/decisions/0057-schema-tables.md
 */
#ifndef DEFT_MODEL_SCHEMA_OBJECT_SCHEMA_H
#define DEFT_MODEL_SCHEMA_OBJECT_SCHEMA_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/schema/field.h"

struct json_path;

/*
 * Returns a new object with the schema's members, in the table's order; members without value and
 * default are left out, nullable ones are null. Errors are appended to problems; members with
 * errors are missing in the result.
 */
json_t *object_schema_read(const struct object_schema *schema, json_t *input,
                           const struct json_path *path, json_t *problems) NONNULL MUST_CHECK;
/* Where the descriptions of members come from: path is "a", or "a.b" in the objects of a list. */
struct schema_help {
    const char *(*find)(const struct schema_help *help, const char *path); /* NULL: none */
};

/* Returns the JSON schema of it for chat models, with descriptions. A new reference. */
json_t *object_schema_to_json(const struct object_schema *schema,
                              const struct schema_help *help) NONNULL MUST_CHECK;
/* Returns the field of that name, or NULL. */
const struct field *object_schema_find(const struct object_schema *schema,
                                       const char *name) NONNULL MUST_CHECK;

#endif

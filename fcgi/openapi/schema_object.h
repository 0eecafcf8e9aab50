/*
 * JSON schema (2020-12, as used by OpenAPI 3.1) of wire objects.
 *
 * Ownership: every function returns a new reference.
 * Threading: no state.
 */
#ifndef DEFT_FCGI_OPENAPI_SCHEMA_OBJECT_H
#define DEFT_FCGI_OPENAPI_SCHEMA_OBJECT_H

#include <jansson.h>

#include "base/attr.h"

struct field;
struct object_schema;

/* {"type": name} */
json_t *schema_of_type(const char *name) NONNULL MUST_CHECK;
/* A list of `items`, which is taken over. */
json_t *schema_of_list(json_t *items) NONNULL MUST_CHECK;
/* The schema, which is taken over, or null. */
json_t *schema_or_null(json_t *schema) NONNULL MUST_CHECK;
/* A reference to a component. */
json_t *schema_reference(const char *name) NONNULL MUST_CHECK;

/* The schema of one member, with its default. */
json_t *schema_of_field(const struct field *field) NONNULL MUST_CHECK;
/* An object with these members; others are allowed unless it is closed. */
json_t *schema_of_object(const struct object_schema *object) NONNULL MUST_CHECK;

#endif

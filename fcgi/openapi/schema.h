/*
 * JSON schema (2020-12, as OpenAPI 3.1 has it) of what goes over the wire.
 *
 * Ownership: every function gives a new reference.
 * Threading: no state.
 */
#ifndef DEFT_FCGI_OPENAPI_SCHEMA_H
#define DEFT_FCGI_OPENAPI_SCHEMA_H

#include <jansson.h>

#include "base/attr.h"

struct field;
struct shape;

/* {"type": name} */
json_t *schema_of_type(const char *name) NONNULL MUST_CHECK;
/* A list of `items`, which it takes over. */
json_t *schema_of_list(json_t *items) NONNULL MUST_CHECK;
/* The schema, which it takes over, or null. */
json_t *schema_or_null(json_t *schema) NONNULL MUST_CHECK;
/* A reference to a component. */
json_t *schema_reference(const char *name) NONNULL MUST_CHECK;

/* What one member may be, with its default. */
json_t *schema_of_field(const struct field *field) NONNULL MUST_CHECK;
/* An object of these members; others are allowed unless the shape is closed. */
json_t *schema_of_shape(const struct shape *shape) NONNULL MUST_CHECK;

#endif

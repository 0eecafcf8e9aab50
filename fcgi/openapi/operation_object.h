/*
 * A route's parameters, body and responses in OpenAPI's form.
 *
 * Ownership: every function returns a new reference; `schemas` collects the components that are
 * referenced.
 * Threading: no state.
 */
#ifndef DEFT_FCGI_OPENAPI_OPERATION_OBJECT_H
#define DEFT_FCGI_OPENAPI_OPERATION_OBJECT_H

#include <jansson.h>

#include "base/attr.h"

struct operation;
struct route;

/* Path and query parameters. */
json_t *operation_object_parameters(const struct route *route,
                                    const struct operation *operation) NONNULL MUST_CHECK;
/* The request's body; NULL when the route takes none. */
json_t *operation_object_body(json_t *schemas,
                              const struct operation *operation) NONNULL MUST_CHECK;
/* The responses by status. */
json_t *operation_object_responses(json_t *schemas, const struct route *route,
                                   const struct operation *operation) NONNULL MUST_CHECK;
/* Adds the components that error responses reference. */
void operation_object_put_refusals(json_t *schemas) NONNULL;

#endif

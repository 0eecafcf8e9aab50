/*
 * What a route takes and gives, in the words of OpenAPI: parameters, body, answers.
 *
 * Ownership: every function gives a new reference; `schemas` collects the components that are
 * named. Threading: no state.
 */
#ifndef DEFT_FCGI_OPENAPI_EXCHANGE_H
#define DEFT_FCGI_OPENAPI_EXCHANGE_H

#include <jansson.h>

#include "base/attr.h"

struct operation;
struct route;

/* Parameters of path and query. */
json_t *exchange_parameters(const struct route *route,
                            const struct operation *operation) NONNULL MUST_CHECK;
/* The request's body; NULL when none is taken. */
json_t *exchange_body(json_t *schemas, const struct operation *operation) NONNULL MUST_CHECK;
/* The answers by status. */
json_t *exchange_responses(json_t *schemas, const struct route *route,
                           const struct operation *operation) NONNULL MUST_CHECK;
/* Adds the components that answers to failures name. */
void exchange_put_refusals(json_t *schemas) NONNULL;

#endif

/*
 * The OpenAPI 3.1 description of the agent API: generated from the route tables, so that it lists
 * exactly the routes that are served.
 *
 * Threading: no state.
 * Source: https://spec.openapis.org/oas/v3.1.1
 */
#ifndef DEFT_FCGI_OPENAPI_OPENAPI_DOCUMENT_H
#define DEFT_FCGI_OPENAPI_OPENAPI_DOCUMENT_H

#include <jansson.h>

#include "base/attr.h"
#include "fcgi/core/router.h"

extern const struct route description_routes[];

/*
 * The whole document, for the given contract version; a new reference. tables: as route_tables.
 */
json_t *openapi_document(const char *version, const struct route *const *tables) NONNULL MUST_CHECK;

#endif

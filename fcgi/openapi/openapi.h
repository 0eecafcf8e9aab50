/*
 * The description of the agent API in OpenAPI 3.1: made from the route tables, so that it names
 * what is served and nothing else.
 *
 * Threading: no state.
 * Source:    https://spec.openapis.org/oas/v3.1.1
 */
#ifndef DEFT_FCGI_OPENAPI_OPENAPI_H
#define DEFT_FCGI_OPENAPI_OPENAPI_H

#include <jansson.h>

#include "base/attr.h"

/* The whole document, of the given contract version; a new reference. */
json_t *openapi_document(const char *version) NONNULL MUST_CHECK;

#endif

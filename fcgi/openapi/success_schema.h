/*
 * {"success": true}, the answer of many routes.
 *
 * Threading: a constant.
 */
#ifndef DEFT_FCGI_OPENAPI_SUCCESS_SCHEMA_H
#define DEFT_FCGI_OPENAPI_SUCCESS_SCHEMA_H

struct object_schema;

extern const struct object_schema success_schema;

#endif

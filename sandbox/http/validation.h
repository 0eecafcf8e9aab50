/*
 * Validation errors of requests, in the format that clients expect: 422 {"detail":[{…}]}.
 */
#ifndef DEFT_SANDBOX_HTTP_VALIDATION_H
#define DEFT_SANDBOX_HTTP_VALIDATION_H

#include "base/attr.h"

struct server_request;

/*
 * Answers 422 with one error. type: its kind ("missing", "int_parsing"); place: "body", "query" or
 * "path"; name: the field, or NULL for the whole.
 */
void validation_answer(struct server_request *request, const char *type, const char *place,
                       const char *name, const char *message) __attribute__((nonnull(1, 2, 3, 5)));

#endif

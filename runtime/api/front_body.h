/*
 * Reads the body of a request to the Runtime API.
 *
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_API_FRONT_BODY_H
#define DEFT_RUNTIME_API_FRONT_BODY_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct request_input;
struct strbuf;

/* Appends the body, if there is one; ERROR_TOO_LARGE, ERROR_INVALID. */
int front_body_read(const struct request_input *input, int64_t max_bytes, struct strbuf *body,
                    struct error *err) NONNULL MUST_CHECK;

#endif

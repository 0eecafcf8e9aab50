/*
 * Bytes of a client as a request, up to the route that would serve it: all that deft-fcgi reads of
 * one before a handler sees it.
 */
#ifndef DEFT_TESTS_UNIT_RAW_REQUEST_H
#define DEFT_TESTS_UNIT_RAW_REQUEST_H

#include <stddef.h>

#include "base/attr.h"

/* FastCGI parameters "NAME=value", ends with NULL; and the body. */
struct raw_request {
    char **params;
    const char *body;
    size_t body_len;
    size_t body_max_bytes;
};

/* Reads target, query, cookie, body and origin, looks for the route, and answers what needs no
 * handler. The answer goes nowhere. */
void raw_request_read(const struct raw_request *raw) NONNULL;

#endif

/*
 * A route: method and path, what is checked before its handler runs, and the handler.
 *
 * Ownership: tables of routes are constants of the program.
 */
#ifndef DEFT_SANDBOX_HTTP_HTTP_ROUTE_H
#define DEFT_SANDBOX_HTTP_HTTP_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "sandbox/http/http_head.h"

struct error;
struct server_request;

enum http_route_access {
    ROUTE_OPEN,
    ROUTE_KEYED,
    ROUTE_OLDER, /* needs the key; refused with the older API's message */
};

struct http_route {
    enum request_method method;
    const char *path; /* may contain one {name} for a segment, or {name*} at the end for the rest */
    enum http_route_access access;
    int64_t max_body;
    void (*handle)(struct server_request *request);
    /* Streaming routes: sets request->sink before the first byte; may answer at once. */
    void (*begin)(struct server_request *request);
};

struct http_route_table {
    const struct http_route *routes;
    size_t n;
};

/*
 * Finds the route of method and path; *param_out becomes the value of the {…}. NULL with err set:
 * ERROR_NOT_FOUND, or ERROR_UNSUPPORTED when the path has other methods only. The caller frees
 * *param_out.
 */
const struct http_route *http_route_find(const struct http_route_table *table,
                                         enum request_method method, const char *path,
                                         char **param_out, struct error *err) NONNULL MUST_CHECK;

#endif

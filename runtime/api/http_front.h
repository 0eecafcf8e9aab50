/*
 * The Runtime API's server: FastCGI on a Unix socket, JSON in and out. A table lists the routes,
 * the access level and the maximum body length of each; any other request is refused.
 *
 * deft's own processes call with the service's key. Requests that nginx marks as external come from
 * tenants (tenant.h), who authenticate with their own keys; the service's key is not accepted
 * there.
 *
 * Threading: front_serve() runs on several threads.
 */
#ifndef DEFT_RUNTIME_API_HTTP_FRONT_H
#define DEFT_RUNTIME_API_HTTP_FRONT_H

#include <stdint.h>

#include "base/attr.h"
#include "runtime/api/front_route.h"

struct error;
struct reply_output;
struct request_input;
struct service;
struct strbuf;

/* Ends with a NULL method; the first match counts. */
extern const struct front_route api_routes[];

/* Reads the body of a route whose body_max_bytes is 0; ERROR_TOO_LARGE. */
int front_read_body(const struct front_request *request, int64_t max_bytes, struct strbuf *body,
                    struct error *err) NONNULL MUST_CHECK;
/* Serves one request, as a listener of web/fastcgi_server.h. context: the service. */
void front_serve(void *context, const struct request_input *input,
                 const struct reply_output *output) NONNULL;

#endif

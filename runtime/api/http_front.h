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

#include "base/attr.h"
#include "runtime/api/front_route.h"

struct reply_output;
struct request_input;
struct service;

/* Ends with a NULL method; the first match counts. */
extern const struct front_route api_routes[];

/* Serves one request, as a listener of web/fastcgi_server.h. context: the service. */
void front_serve(void *context, const struct request_input *input,
                 const struct reply_output *output) NONNULL;

#endif

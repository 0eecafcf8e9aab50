/*
 * The Runtime API's server: FastCGI on a Unix socket, JSON in and out. A table lists the routes,
 * the access level and the maximum body length of each; any other request is refused.
 *
 * deft's own processes call with the service's key. Requests that nginx marks as external come from
 * tenants (tenant.h), who authenticate with their own keys; the service's key is not accepted
 * there.
 *
 * Threading: front_run() is the body of each of several threads; they share the listening socket.
 */
#ifndef DEFT_RUNTIME_API_HTTP_FRONT_H
#define DEFT_RUNTIME_API_HTTP_FRONT_H

#include <stdint.h>

#include "base/attr.h"
#include "runtime/api/front_route.h"

struct error;
struct service;
struct strbuf;

/* Ends with a NULL method; the first match counts. */
extern const struct front_route api_routes[];

/* Reads the body of a route whose body_max_bytes is 0; ERROR_TOO_LARGE. */
int front_read_body(const struct front_request *request, int64_t max_bytes, struct strbuf *body,
                    struct error *err) NONNULL MUST_CHECK;
/* Appends the decoded first query parameter of that name; nothing if there is none. */
void front_query_member(const struct front_request *request, const char *name,
                        struct strbuf *value) NONNULL;

/* Creates the socket; the umask determines its mode. */
int front_listen(const char *path, int *fd_out, struct error *err) NONNULL MUST_CHECK;
void front_run(struct service *service, int fd) NONNULL;
/* Wakes all threads that wait for a request; they return. */
void front_stop(int fd);

#endif

/*
 * The Runtime API's way in: FastCGI on a Unix socket, JSON in and out. A table says which routes
 * there are, who may use each, and how long a body may be; what it does not say is refused.
 *
 * There are two doors. By the private one deft's own processes come, with the service's key. By the
 * other one, which nginx marks, come tenants (tenant.h), with a key of theirs; the service's key is
 * none there.
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

/* Ends with a NULL method; the first that fits counts. */
extern const struct front_route api_routes[];

/* Reads the body of a route that says 0 for it; ERROR_TOO_LARGE. */
int front_read_body(const struct front_request *request, int64_t max_bytes, struct strbuf *body,
                    struct error *err) NONNULL MUST_CHECK;
/* Appends the query's first member of that name, decoded; nothing when it has none. */
void front_query_member(const struct front_request *request, const char *name,
                        struct strbuf *value) NONNULL;

/* Makes the socket, with the mode that the umask gives it. */
int front_listen(const char *path, int *fd_out, struct error *err) NONNULL MUST_CHECK;
void front_run(struct service *service, int fd) NONNULL;
/* Wakes all threads that wait for a request; they end. */
void front_stop(int fd);

#endif

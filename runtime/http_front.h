/*
 * The Runtime API's way in: FastCGI on a Unix socket, JSON in and out, one key, a handful of
 * routes.
 *
 * Threading: front_run() is the body of each of several threads; they share the listening socket.
 */
#ifndef DEFT_RUNTIME_HTTP_FRONT_H
#define DEFT_RUNTIME_HTTP_FRONT_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct service;

/* A request, parsed. All is borrowed for the call. */
struct front_request {
    const char *id;    /* what stands for {id} in the route; "" when it has none */
    const char *query; /* raw */
    json_t *body;      /* NULL when there is none */
};

/* *reply_out becomes the body of a 200. */
typedef int front_handle(struct service *service, const struct front_request *request,
                         json_t **reply_out, struct error *err);

struct front_route {
    const char *method;
    const char *path; /* may end in {id} */
    bool is_open;     /* needs no key */
    front_handle *handle;
};

/* Ends with a NULL method; the first that fits counts. */
extern const struct front_route api_routes[];

/* Makes the socket, with the mode that the umask gives it. */
int front_listen(const char *path, int *fd_out, struct error *err) NONNULL MUST_CHECK;
void front_run(struct service *service, int fd) NONNULL;
/* Wakes all threads that wait for a request; they end. */
void front_stop(int fd);

#endif

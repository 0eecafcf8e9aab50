/*
 * A route of the Runtime API: its access level, maximum body length and handler.
 *
 * Ownership: tables of routes are constants of the program; a request is borrowed for the call.
 */
#ifndef DEFT_RUNTIME_API_FRONT_ROUTE_H
#define DEFT_RUNTIME_API_FRONT_ROUTE_H

#include <jansson.h>

struct error;
struct request_input;
struct service;
struct tenant;

/* A parsed request. All members are borrowed for the call. */
struct front_request {
    const char *id;                    /* value of {id} in the route, decoded; "" without one */
    const char *query;                 /* raw */
    json_t *body;                      /* NULL if there is none */
    const struct tenant *tenant;       /* NULL: one of deft's own processes */
    const char *content_type;          /* "" if there is none */
    const struct request_input *input; /* of a body that the handler reads itself */
};

/* *reply_out becomes the body of a 200; a JSON string is sent as plain text. */
typedef int front_handle(struct service *service, const struct front_request *request,
                         json_t **reply_out, struct error *err);

enum front_access {
    ACCESS_HOUSE, /* deft's own processes */
    ACCESS_ADMIN, /* deft's own, and callers with the administrator's key */
    ACCESS_KEY,   /* and tenants */
    ACCESS_OPEN,  /* no authentication */
};

struct front_route {
    const char *method;
    const char *path; /* may hold {id} */
    enum front_access access;
    long body_max_bytes; /* 0: the body is not read */
    front_handle *handle;
};

#endif

/*
 * A route of the Runtime API: who may use it, how long its body may be, and its handler.
 *
 * Ownership: tables of routes are constants of the program; a request is borrowed for the call.
 */
#ifndef DEFT_RUNTIME_API_FRONT_ROUTE_H
#define DEFT_RUNTIME_API_FRONT_ROUTE_H

#include <jansson.h>

struct error;
struct front_source;
struct service;
struct tenant;

/* A request, parsed. All is borrowed for the call. */
struct front_request {
    const char *id;              /* what stands for {id} in the route; "" when it has none */
    const char *query;           /* raw */
    json_t *body;                /* NULL when there is none */
    const struct tenant *tenant; /* NULL: one of deft's own processes */
    const char *content_type;    /* "" when it has none */
    struct front_source *source; /* of a body that the route reads itself */
};

/* *reply_out becomes the body of a 200; a text is sent as it is. */
typedef int front_handle(struct service *service, const struct front_request *request,
                         json_t **reply_out, struct error *err);

enum front_access {
    ACCESS_HOUSE, /* deft's own processes */
    ACCESS_ADMIN, /* and who brings the administrator's key */
    ACCESS_KEY,   /* and tenants */
    ACCESS_OPEN,  /* everybody */
};

struct front_route {
    const char *method;
    const char *path; /* may end in {id} */
    enum front_access access;
    long body_max_bytes; /* 0: a body is not looked at */
    front_handle *handle;
};

#endif

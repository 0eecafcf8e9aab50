/*
 * The routes: one table per file of handlers, and the rule that selects the row for a path. A row
 * states who may call and how large a body may be, so that no handler can forget it.
 */
#ifndef DEFT_FCGI_CORE_ROUTER_H
#define DEFT_FCGI_CORE_ROUTER_H

#include <stdint.h>

#include "base/attr.h"
#include "fcgi/core/request.h"
#include "model/limits.h"

struct error;
struct reply;

enum access {
    ACCESS_UNSET,     /* a mistake in a table: refused */
    ACCESS_PUBLIC,    /* anyone */
    ACCESS_CALLER,    /* any key or session */
    ACCESS_USER,      /* a user's key or session, not a sandbox's key */
    ACCESS_BEARER,    /* as USER; the key may also come as "Authorization: Bearer" */
    ACCESS_SESSION,   /* a signed-in browser */
    ACCESS_SANDBOX,   /* the key of a user's sandbox, while that is running */
    ACCESS_WORKSPACE, /* any key or session, or the key in the cookie of workspace links */
};

/* Set by POST /api/auth/workspace-session; holds a key. */
#define WORKSPACE_COOKIE "oh_workspace_session_key"

#define ORIGIN_BOTH (ORIGIN_APP | ORIGIN_AGENT)

/* The handler reads the body itself, as a stream. */
#define BODY_STREAM (-1)
/* For bodies of a few members. */
#define BODY_SMALL_BYTES ((int64_t)256 * 1024)
/* For bodies with messages, agents or commands. */
#define BODY_LARGE_BYTES ((int64_t)REQUEST_MAX_BYTES)

struct route {
    enum http_method method;
    const char *pattern; /* "/api/conversations/{conversation_id}"; {name*} takes the rest */
    unsigned origins;    /* ORIGIN_APP | ORIGIN_AGENT */
    enum access access;
    enum sandbox_access sandbox; /* permission that a sandbox's key needs here */
    int64_t body_max_bytes;      /* 0: the body is not read */
    /* NULL ends a table */
    int (*handle)(const struct request *request, struct reply *reply, struct error *err);
};

/* All tables; ends with NULL. */
extern const struct route *const route_tables[];

enum route_result { ROUTE_FOUND, ROUTE_UNKNOWN, ROUTE_OTHER_METHOD, ROUTE_OTHER_SLASH };

/*
 * Finds the row for method, origin and path; the row with the most literal text wins. FOUND sets
 * request->route and its path parameters. OTHER_METHOD sets *allowed_out to bits of 1U << HTTP_….
 * OTHER_SLASH: the path matches with its trailing slash added or removed.
 */
enum route_result route_find(struct request *request, unsigned *allowed_out) NONNULL MUST_CHECK;

#endif

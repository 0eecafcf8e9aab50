/*
 * Routes of the contract that are not served yet: each says so, so that none is missing silently.
 */
#include "base/error.h"
#include "fcgi/agent/agent.h"
#include "fcgi/reply.h"

static int unserved(const struct request *request, struct reply *reply, struct error *err)
{
    (void)reply;
    return error_set(err, ERROR_UNSUPPORTED, "this server does not serve %s %s yet",
                     http_method_to_string(request->method), request->route->pattern);
}

#define ROUTE(method, pattern)                                                                     \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, BODY_LARGE_BYTES, unserved}

/* clang-format off */
const struct route unserved_routes[] = {
    ROUTE(HTTP_POST, "/api/skills/install"),
    ROUTE(HTTP_POST, "/api/plugins/fetch"),
    ROUTE(HTTP_POST, "/api/plugins/install"),
    {.handle = NULL},
};
/* clang-format on */

bool agent_is_unserved(const struct route *route)
{
    return route->handle == unserved;
}

/*
 * The description of the API: as OpenAPI, and as a page that displays it.
 */
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "fcgi/openapi/openapi_document.h"

/* GET -> 200 the OpenAPI document */
static int openapi(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *document = openapi_document(CONTRACT_VERSION, request->context->routes);

    (void)err;
    return reply_json(reply, 200, document);
}

const struct route description_routes[] = {
    {HTTP_GET, "/openapi.json", ORIGIN_BOTH, ACCESS_PUBLIC, SANDBOX_OPEN, 0, openapi},
    {.handle = NULL},
};

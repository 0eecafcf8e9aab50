/*
 * GET /api/settings/agent-schema, /api/settings/conversation-schema
 */
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/router.h"
#include "fcgi/settings/user_documents.h"
#include "model/agent/settings_schema.h"

/* GET -> 200 schema */
static int agent_schema(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *schema = settings_schema_of_agent(context_model(request->context));

    (void)err;
    return reply_json(reply, 200, schema);
}

/* GET -> 200 schema */
static int conversation_schema(const struct request *request, struct reply *reply,
                               struct error *err)
{
    json_auto_t *schema = settings_schema_of_conversation();

    (void)request;
    (void)err;
    return reply_json(reply, 200, schema);
}

const struct route settings_schema_routes[] = {
    {HTTP_GET, "/api/settings/agent-schema", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, 0,
     agent_schema},
    {HTTP_GET, "/api/settings/conversation-schema", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, 0,
     conversation_schema},
    {.handle = NULL},
};

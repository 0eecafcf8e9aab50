/*
 * The user's consent to MCP servers that the workspace of a conversation names
 * (model/tools/project_servers.h). No key of a sandbox may give it.
 */
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/conversation_edit.h"
#include "fcgi/core/reply.h"
#include "model/schema/object_schema.h"
#include "model/tools/project_servers.h"

static const struct field consent_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "digest", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
const struct object_schema project_server_consent_schema = SCHEMA(consent_fields);

static const struct field withdrawal_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
const struct object_schema project_server_withdrawal_schema = SCHEMA(withdrawal_fields);

/* GET -> 200 {"project_mcp_servers"} | 404 */
static int servers_get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *answer = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    answer = project_servers_event_value(conversation.spec);
    return reply_json(reply, 200, answer);
}

/* Writes the specification, and tells of it, if the consents are others than before. */
static void write_consents(struct conversation_edit *edit, const json_t *before)
{
    json_t *spec = edit->conversation.spec;
    json_auto_t *after = project_servers_digests(spec);
    json_auto_t *value = project_servers_event_value(spec);

    if (json_equal(before, after))
        return;
    edit->write.spec = spec;
    event_add_state(&edit->events, PROJECT_SERVERS_KEY, value);
}

static int plan_consent(struct conversation_edit *edit, struct error *err)
{
    json_auto_t *before = project_servers_digests(edit->conversation.spec);

    if (project_servers_consent(edit->conversation.spec, json_text_or(edit->body, "name", ""),
                                json_text_or(edit->body, "digest", ""), err) < 0)
        return -1;
    write_consents(edit, before);
    return 0;
}

static int plan_withdrawal(struct conversation_edit *edit, struct error *err)
{
    json_auto_t *before = project_servers_digests(edit->conversation.spec);

    (void)err;
    project_servers_withdraw(edit->conversation.spec, json_text_or(edit->body, "name", ""));
    write_consents(edit, before);
    return 0;
}

static int apply(const struct request *request, const struct object_schema *schema,
                 conversation_edit_plan *plan, struct reply *reply, struct error *err)
{
    json_auto_t *body = NULL;

    if (request_json_schema(request, schema, &body, err) < 0 ||
        conversation_edit_apply(request, body, plan, err) < 0)
        return -1;
    return reply_success(reply);
}

/* POST {"name","digest"} -> 200 | 404 | 409 | 422 */
static int servers_consent(const struct request *request, struct reply *reply, struct error *err)
{
    return apply(request, &project_server_consent_schema, plan_consent, reply, err);
}

/* POST {"name"} -> 200 | 404 | 422 */
static int servers_withdraw(const struct request *request, struct reply *reply, struct error *err)
{
    return apply(request, &project_server_withdrawal_schema, plan_withdrawal, reply, err);
}

#define SERVERS "/api/conversations/{conversation_id}/project_mcp_servers"

const struct route server_consent_routes[] = {
    {HTTP_GET, SERVERS, ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, 0, servers_get},
    {HTTP_POST, SERVERS "/consent", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     servers_consent},
    {HTTP_POST, SERVERS "/withdraw", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     servers_withdraw},
    {.handle = NULL},
};

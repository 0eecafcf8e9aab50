/*
 * A client's request that the agent's run reads its workspace anew before its model's next call
 * (model/prompt/knowledge_request.h). No key of a sandbox may make it: an agent would change its
 * own instructions.
 */
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/conversation_edit.h"
#include "fcgi/core/reply.h"
#include "model/prompt/knowledge_request.h"
#include "model/prompt/project_knowledge.h"

static int plan_reload(struct conversation_edit *edit, struct error *err)
{
    json_auto_t *value = knowledge_request_event_value(true);

    (void)err;
    knowledge_request_add(edit->conversation.spec);
    edit->write.spec = edit->conversation.spec;
    event_add_state(&edit->events, PROJECT_KNOWLEDGE_KEY, value);
    return 0;
}

/* POST -> 200 | 404 */
static int reload_knowledge(const struct request *request, struct reply *reply, struct error *err)
{
    if (conversation_edit_apply_with(request, request, plan_reload, err) < 0)
        return -1;
    return reply_success(reply);
}

const struct route knowledge_reload_routes[] = {
    {HTTP_POST, "/api/conversations/{conversation_id}/reload_knowledge", ORIGIN_BOTH, ACCESS_USER,
     SANDBOX_REFUSED, BODY_SMALL_BYTES, reload_knowledge},
    {.handle = NULL},
};

#include "worker/agent/calls/agent_start.h"

#include <jansson.h>

#include "base/json.h"
#include "model/event/event.h"
#include "start/start_rows.h"
#include "worker/agent/core/agent.h"
#include "worker/context.h"

struct start_context agent_start_context(const struct agent *agent)
{
    const struct worker_context *context = agent->context;
    const struct conversation *conversation = &agent->conversation;

    return (struct start_context){
        .db = context->db,
        .catalogue = context->catalogue,
        .keyring = &context->keyring,
        .limits = {.runs = context->settings.run_limits},
        .caller = {.kind = START_BY_SANDBOX,
                   .scope = {.user_id = conversation->user_id,
                             .runtime_session = conversation->runtime_session},
                   .runtime_session = conversation->runtime_session,
                   .runtime_id = "",
                   .secrets = START_SECRETS_REFUSED},
    };
}

int agent_start_plan(const struct catalogue *catalogue, struct conversation *child,
                     const char *task, struct start_rows *rows_out, struct error *err)
{
    json_auto_t *content = json_array();
    const struct start_order order = {.catalogue = catalogue,
                                      .conversation = child,
                                      .content = content,
                                      .folder = START_IN_FOLDER};

    json_push(content, text_content(task));
    return start_rows_plan(&order, rows_out, err);
}

#include "worker/agent/agent_run.h"

#include <malloc.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/direct_connections.h"
#include "client/http.h"
#include "model/event/stats.h"
#include "model/tools/toolset.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/agent_row.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

/* A history of this length takes megabytes. */
enum { LARGE_HISTORY_EVENTS = 2000 };

void agent_init(struct agent *agent, struct worker_context *context, struct run_control *control,
                struct claim *claim)
{
    *agent = (struct agent){
        .context = context,
        .control = control,
        .lease = claim->lease,
        .conversation = claim->conversation,
        .history = HISTORY_INIT,
        .transcript = TRANSCRIPT_INIT,
        .gauge = TOKEN_GAUGE_INIT,
        .secrets = SECRET_LIST_INIT,
        .llm_key = SECRET_INIT,
        .direct = direct_connections_new(),
        .n_claims = claim->claim_count,
        .n_model_waits = claim->n_model_waits,
        .model_out_since_ms = clock_monotonic_ms() - claim->model_out_ms,
    };
    claim->conversation = (struct conversation)CONVERSATION_INIT;
    if (agent->conversation.agent_state == NULL)
        agent->conversation.agent_state = json_object();
    agent->stats = stats_open(agent->conversation.stats);
    json_decref(TAKE_PTR(agent->conversation.stats));
    secret_list_mask_log(&agent->secrets);
    agent_take_secrets(agent);
    agent->tools = toolset_new(agent->context->catalogue, &agent->conversation);
    agent->sandbox = sandbox_new(agent);
}

void agent_done(struct agent *agent)
{
    bool was_large = false;

    if (agent == NULL)
        return;
    was_large = agent->history.n > LARGE_HISTORY_EVENTS;
    http_call_free(agent->checkpoint_call);
    sandbox_free(agent->sandbox);
    server_connections_free(agent->servers);
    direct_connections_free(agent->direct);
    stats_free(agent->stats);
    history_done(&agent->history);
    transcript_done(&agent->transcript);
    token_gauge_done(&agent->gauge);
    toolset_free(agent->tools);
    secret_list_unmask_log();
    secret_list_done(&agent->secrets);
    json_decref(agent->withheld);
    secret_done(&agent->llm_key);
    json_decref(agent->llm_spec);
    conversation_done(&agent->conversation);
    /* The freed memory is fragmented: only malloc_trim() returns its pages. */
    if (was_large)
        (void)malloc_trim(0);
}

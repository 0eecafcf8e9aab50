#include "worker/agent/run.h"

#include <malloc.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/http.h"
#include "client/lane.h"
#include "model/event/stats.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/control.h"
#include "worker/agent/core/conversation_row.h"
#include "worker/agent/core/mask.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

/* A history of this length takes megabytes. */
enum { LARGE_HISTORY_EVENTS = 2000 };

void agent_init(struct agent *agent, struct worker_context *context, struct control *control,
                struct claim *claim)
{
    *agent = (struct agent){
        .context = context,
        .control = control,
        .lease = claim->lease,
        .conversation = claim->conversation,
        .history = HISTORY_INIT,
        .transcript = TRANSCRIPT_INIT,
        .tools = STRBUF_INIT,
        .secrets = SECRET_LIST_INIT,
        .llm_key = SECRET_INIT,
        .lane = http_lane_new(),
        .n_claims = claim->claim_count,
    };
    claim->conversation = (struct conversation)CONVERSATION_INIT;
    if (agent->conversation.agent_state == NULL)
        agent->conversation.agent_state = json_object();
    agent->stats = stats_open(agent->conversation.stats);
    json_decref(TAKE_PTR(agent->conversation.stats));
    mask_log_begin(&agent->secrets);
    agent_take_secrets(agent);
    agent->sandbox = sandbox_new(agent);
}

void agent_done(struct agent *agent)
{
    bool was_large = false;

    if (agent == NULL)
        return;
    was_large = agent->history.n > LARGE_HISTORY_EVENTS;
    sandbox_free(agent->sandbox);
    http_lane_free(agent->lane);
    stats_free(agent->stats);
    history_done(&agent->history);
    transcript_done(&agent->transcript);
    strbuf_done(&agent->tools);
    mask_log_end();
    secret_list_done(&agent->secrets);
    json_decref(agent->withheld);
    secret_done(&agent->llm_key);
    json_decref(agent->llm_spec);
    conversation_done(&agent->conversation);
    /* The freed memory is fragmented: only malloc_trim() returns its pages. */
    if (was_large)
        (void)malloc_trim(0);
}

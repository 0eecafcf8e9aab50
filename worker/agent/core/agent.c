#include "worker/agent/core/agent.h"

#include <malloc.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/http.h"
#include "model/event/stats.h"
#include "model/conversation/vault.h"
#include "worker/agent/core/control.h"
#include "worker/agent/core/lookup.h"
#include "worker/agent/core/mask.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

/* From here on a history takes megabytes. */
enum { LARGE_HISTORY_EVENTS = 2000 };

json_t *agent_open_secrets(const struct agent *agent)
{
    struct error err = ERROR_INIT;
    json_t *secrets = NULL;

    if (vault_open(&agent->context->keyring, &agent->conversation, &secrets, &err) < 0)
        log_error("secrets.unreadable", LOG_ERROR(&err));
    return secrets;
}

/* The LLM object to ask with: the conversation's own, or a copy when secrets are put back into it.
 */
static json_t *llm_spec_of(const struct agent *agent, const json_t *secrets)
{
    json_auto_t *spec = NULL;

    if (json_object_size(json_object_get(secrets, "members")) == 0)
        return json_incref(conversation_llm(&agent->conversation));
    spec = conversation_spec_with_secrets(&agent->conversation, secrets);
    return json_incref(json_object_get(json_object_get(spec, "agent"), "llm"));
}

static void take_secrets(struct agent *agent)
{
    json_auto_t *secrets = agent_open_secrets(agent);

    secret_list_read(&agent->secrets, json_object_get(secrets, "secrets"));
    secret_set(&agent->llm_key, json_text_or(secrets, "llm_api_key", ""));
    agent->llm_spec = llm_spec_of(agent, secrets);
    if (agent->llm_spec == NULL)
        agent->llm_spec = json_object();
}

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
    take_secrets(agent);
    mask_log_begin(&agent->secrets);
    lookup_all(agent);
    agent->sandbox = sandbox_new(agent);
}

void agent_take_row(struct agent *agent, struct conversation *now)
{
    struct conversation *own = &agent->conversation;

    json_decref(own->spec);
    own->spec = TAKE_PTR(now->spec);
    stats_free(agent->stats);
    agent->stats = stats_open(now->stats);
    own->stats_hash = now->stats_hash;
    mem_free(own->secrets);
    own->secrets = TAKE_PTR(now->secrets);
    secret_list_done(&agent->secrets);
    json_decref(agent->llm_spec);
    take_secrets(agent);
    lookup_all(agent);
    /* Both are written for one model. */
    strbuf_reset(&agent->tools);
    transcript_restart(&agent->transcript);
    agent->is_row_stale = false;
    agent->has_foreign_stats = false;
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
    /* It lay between what stays: the allocator gives its pages back when told to. */
    if (was_large)
        (void)malloc_trim(0);
}

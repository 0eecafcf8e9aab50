#include "worker/agent/core/agent_row.h"

#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/sealed_secrets.h"
#include "model/event/stats.h"
#include "model/tools/toolset.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/secret_lookup.h"
#include "worker/context.h"

/* The LLM object for requests: the conversation's own, or a copy with its secrets filled in. */
static json_t *llm_spec_of(const struct agent *agent, const json_t *secrets)
{
    json_auto_t *spec = NULL;

    if (json_object_size(json_object_get(secrets, "members")) == 0)
        return json_incref(conversation_llm(&agent->conversation));
    spec = conversation_spec_with_secrets(&agent->conversation, secrets);
    return json_incref(json_object_get(json_object_get(spec, "agent"), "llm"));
}

void agent_take_secrets(struct agent *agent)
{
    json_auto_t *secrets = agent_open_secrets(agent);

    secret_list_read(&agent->secrets, json_object_get(secrets, "secrets"));
    secret_set(&agent->llm_key, json_text_or(secrets, "llm_api_key", ""));
    agent->llm_spec = llm_spec_of(agent, secrets);
    if (agent->llm_spec == NULL)
        agent->llm_spec = json_object();
    secret_lookup_all(agent);
}

void agent_renew_tools(struct agent *agent)
{
    toolset_free(agent->tools);
    agent->tools = toolset_new(agent->context->catalogue, &agent->conversation);
    transcript_restart(&agent->transcript);
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
    secret_list_retire(&agent->secrets);
    json_decref(agent->llm_spec);
    agent_take_secrets(agent);
    agent_renew_tools(agent);
    agent->is_row_stale = false;
    agent->has_foreign_stats = false;
}

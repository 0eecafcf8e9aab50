#include "worker/agent/llm/agent_prompt.h"

#include <stddef.h>

#include "base/json.h"
#include "model/tools/toolset.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/transcript.h"
#include "worker/context.h"

/* They change only with what restarts the transcript. */
static void write_tools(struct agent *agent)
{
    json_auto_t *tools = NULL;

    if (agent->transcript.has_tools)
        return;
    tools = toolset_functions(agent->tools);
    transcript_set_tools(&agent->transcript, tools);
}

void agent_prompt_write(struct agent *agent, json_t *spec)
{
    transcript_begin(&agent->transcript, agent->context->catalogue, spec);
    write_tools(agent);
    transcript_update(&agent->transcript, &agent->history);
}

void agent_prompt_update(struct agent *agent, json_t *spec)
{
    if (agent->transcript.prompt.format == NULL)
        agent_prompt_write(agent, spec);
    else
        transcript_update(&agent->transcript, &agent->history);
}

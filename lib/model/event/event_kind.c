/*
 * Kinds of events and the Python modules of their classes: filters may use either name.
 */
#include <string.h>

#include "base/text.h"
#include "model/event/event.h"

struct event_class {
    const char *name;
    const char *module; /* Python module of the class */
};

#define SDK "openhands.sdk.event."

static const struct event_class event_classes[] = {
    {"SystemPromptEvent", SDK "llm_convertible.system"},
    {"MessageEvent", SDK "llm_convertible.message"},
    {"ActionEvent", SDK "llm_convertible.action"},
    {"ObservationEvent", SDK "llm_convertible.observation"},
    {"UserRejectObservation", SDK "llm_convertible.observation"},
    {"AgentErrorEvent", SDK "llm_convertible.observation"},
    {"ConversationErrorEvent", SDK "conversation_error"},
    {"ConversationStateUpdateEvent", SDK "conversation_state"},
    {"SecurityAnalysisEvent", SDK "security"},
    {"PauseEvent", SDK "user_action"},
    {"InterruptEvent", SDK "user_action"},
    {"CondensationRequest", SDK "condenser"},
    {"Condensation", SDK "condenser"},
    {"CondensationSummaryEvent", SDK "condenser"},
    {"HookExecutionEvent", SDK "hook_execution"},
    {"LLMCompletionLogEvent", SDK "llm_completion_log"},
    {"StreamingDeltaEvent", SDK "streaming_delta"},
    {"TokenEvent", SDK "token"},
    {"ACPToolCallEvent", SDK "acp_tool_call"},
    {"ServerErrorEvent", "openhands.agent_server.models"},
};

const char *event_kind_from_filter(const char *filter)
{
    const char *dot = strrchr(filter, '.');
    const char *name = dot != NULL ? dot + 1 : filter;

    for (size_t i = 0; i < ARRAY_SIZE(event_classes); i++) {
        size_t len = strlen(event_classes[i].module);

        if (!text_equal(event_classes[i].name, name))
            continue;
        if (dot != NULL &&
            ((size_t)(dot - filter) != len || strncmp(filter, event_classes[i].module, len) != 0))
            return NULL;
        return event_classes[i].name;
    }
    return NULL;
}

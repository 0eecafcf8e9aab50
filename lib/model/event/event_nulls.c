/*
 * Fills in, by kind, the null members that events are stored and sent without.
 */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/event/event.h"

#define MESSAGE_NULLS "tool_calls|tool_call_id|name|reasoning_content|responses_reasoning_item"
#define TOOL_NULLS "observation_type|annotations|meta"
#define METADATA_NULLS "username|hostname|working_dir|py_interpreter_path"

/* The members that may be null: by kind or, for an object without one, by the member holding it. */
struct nulls {
    const char *name;
    const char *members;
};

static const struct nulls kinds[] = {
    {"ActionEvent",
     "parent_id|reasoning_content|responses_reasoning_item|action|critic_result|summary"},
    {"AgentErrorEvent", "parent_id|classification"},
    {"Condensation", "parent_id|summary|summary_offset"},
    {"CondensationRequest", "parent_id"},
    {"CondensationSummaryEvent", "parent_id"},
    {"ConversationErrorEvent", "parent_id|classification"},
    {"ConversationStateUpdateEvent", "parent_id"},
    {"HookExecutionEvent", "parent_id|tool_name|reason|additional_context|error|action_id|"
                           "message_id|hook_input"},
    {"InterruptEvent", "parent_id"},
    {"MessageEvent", "parent_id|llm_response_id|sender|critic_result"},
    {"ObservationEvent", "parent_id"},
    {"PauseEvent", "parent_id"},
    {"SecurityAnalysisEvent", "parent_id"},
    {"SystemPromptEvent", "parent_id|dynamic_context"},
    {"UserRejectObservation", "parent_id"},
    {"TerminalAction", "timeout"},
    {"TerminalObservation", "command|exit_code|full_output_save_dir"},
    {"FileEditorAction", "file_text|old_str|new_str|insert_line|view_range"},
    {"FileEditorObservation", "path|old_content|new_content"},
    {"StartChildConversationAction", "title"},
    {"StartChildConversationObservation",
     "conversation_id|parent_conversation_id|status|title|url|workspace|isolation"},
    {"TaskAction", "description|resume"},
    {"TaskTool", TOOL_NULLS},
    {"TerminalTool", TOOL_NULLS},
    {"FileEditorTool", TOOL_NULLS},
    {"StartChildConversationTool", TOOL_NULLS},
    {"BrowserObservation", "screenshot_data|full_output_save_dir"},
    {"BrowserNavigateTool", TOOL_NULLS},
    {"BrowserClickTool", TOOL_NULLS},
    {"BrowserTypeTool", TOOL_NULLS},
    {"BrowserGetStateTool", TOOL_NULLS},
    {"BrowserGetContentTool", TOOL_NULLS},
    {"BrowserScrollTool", TOOL_NULLS},
    {"BrowserGoBackTool", TOOL_NULLS},
    {"BrowserListTabsTool", TOOL_NULLS},
    {"BrowserSwitchTabTool", TOOL_NULLS},
    {"BrowserCloseTabTool", TOOL_NULLS},
    {"BrowserGetStorageTool", TOOL_NULLS},
    {"BrowserSetStorageTool", TOOL_NULLS},
    {"TaskTrackerTool", TOOL_NULLS},
    {"FinishTool", TOOL_NULLS},
    {"ThinkTool", TOOL_NULLS},
};

static const struct nulls members[] = {
    {"llm_message", MESSAGE_NULLS},
    {"tool_call", "responses_item_id"},
    {"tool_calls", "responses_item_id"},
    {"metadata", METADATA_NULLS},
};

static const char *find(const struct nulls *table, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (text_equal(table[i].name, name))
            return table[i].members;
    }
    return "";
}

static void add_nulls(json_t *object, const char *names)
{
    while (*names != '\0') {
        size_t len = strcspn(names, "|");

        if (json_object_getn(object, names, len) == NULL)
            (void)json_object_setn_new(object, names, len, json_null());
        names += len + (names[len] == '|');
    }
}

/* True for members with arbitrary content. */
static bool is_opaque(const char *member)
{
    return text_equal(member, "value") || text_equal(member, "arguments");
}

static void fill(json_t *value, const char *member);

static void fill_members(json_t *object)
{
    const char *name = NULL;
    json_t *inner = NULL;

    json_object_foreach (object, name, inner) {
        if (!is_opaque(name))
            fill(inner, name);
    }
}

static void fill(json_t *value, const char *member)
{
    const char *kind = json_text_or(value, "kind", NULL);
    json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (value, i, item)
        fill(item, member);
    if (json_typeof(value) != JSON_OBJECT)
        return;
    fill_members(value);
    add_nulls(value, kind != NULL ? find(kinds, ARRAY_SIZE(kinds), kind)
                                  : find(members, ARRAY_SIZE(members), member));
}

void event_fill_nulls(json_t *event)
{
    fill(event, "");
}

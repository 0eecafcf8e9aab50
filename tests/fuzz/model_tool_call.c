/*
 * Any call of a model is an action or a problem, never both, and always has arguments that are a
 * JSON object. Input: the tool's name, a line break, its arguments.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "json_setup.h"
#include "model/conversation/conversation.h"
#include "model/event/observation_text.h"
#include "model/tools/tool_call.h"
#include "model/tools/tool_check.h"
#include "model/tools/toolset.h"
#include "unit/support/test_catalogue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *spec_with_all_tools(void)
{
    static const char *const names[] = {"terminal", "file_editor", "task_tracker", "finish",
                                        "think"};
    json_t *spec = json_object();
    json_t *agent = json_object();
    json_t *tools = json_array();
    json_t *analyzer = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        json_t *tool = json_object();

        json_put_text(tool, "name", names[i]);
        json_push(tools, tool);
    }
    json_put(agent, "tools", tools);
    json_put(spec, "agent", agent);
    json_put_text(analyzer, "kind", "LLMSecurityAnalyzer");
    json_put(spec, "security_analyzer", analyzer);
    return spec;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(toolset_freep) struct toolset *tools = NULL;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(mem_freep) char *name = mem_dup_bytes(data, size);
    char *arguments = strchr(name, '\n');
    json_auto_t *kept = NULL;

    if (arguments == NULL)
        return 0;
    *arguments++ = '\0';
    conversation.spec = spec_with_all_tools();
    tools = toolset_new(test_catalogue(), &conversation);
    tool_call_check(tools, name, arguments, &check);
    kept = json_loads(check.arguments, 0, NULL);
    assert(json_is_object(kept));
    assert((check.action == NULL) == (check.problem != NULL));
    assert((check.action == NULL) == (check.summary == NULL));
    observation_append_text(kept, &text);
    return 0;
}

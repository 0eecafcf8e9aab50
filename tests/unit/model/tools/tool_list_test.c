/*
 * All tools as clients, models and specifications know them, compared with tests/data/tools.txt;
 * names that mean tools.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/tools/agent_tool.h"
#include "model/tools/client_tools.h"
#include "model/tools/tool_table.h"
#include "model/tools/tools.h"
#include "model/tools/toolset.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

/* A conversation whose agent has the tools that a list names. */
static void make(const char *tools, bool has_browser, struct conversation *conversation_out)
{
    start_default(conversation_out);
    json_put(conversation_agent(conversation_out), "tools", json_of(tools));
    json_put(conversation_out->spec, "has_browser", json_boolean(has_browser));
}

static const char *place_name(enum tool_place place)
{
    static const char *const names[TOOL_N_PLACES] = {
        [TOOL_IN_SANDBOX] = "sandbox",     [TOOL_IN_WORKER] = "worker",
        [TOOL_IN_CLIENT] = "client",       [TOOL_IN_CHILD] = "child",
        [TOOL_IN_SUB_AGENT] = "sub-agent", [TOOL_IN_DELEGATES] = "sub-agents",
        [TOOL_ENDS_RUN] = "end",
    };

    return names[place];
}

/* The definition without its description, the place, and the parameters' names. */
static void append_tool(const struct toolset *tools, size_t i, struct strbuf *out)
{
    const struct agent_tool *tool = toolset_at(tools, i);
    json_auto_t *definitions = toolset_definitions(tools);
    json_auto_t *functions = toolset_functions(tools);
    json_t *definition = json_array_get(definitions, i);
    const json_t *function = json_object_get(json_array_get(functions, i), "function");
    const json_t *parameters = json_object_get(function, "parameters");
    const char *name = NULL;
    json_t *parameter = NULL;

    assert_true(strlen(json_text_or(definition, "description", "")) > 100);
    assert_string_equal(json_text_or(definition, "description", ""),
                        json_text_or(function, "description", "?"));
    (void)json_object_del(definition, "description");
    strbuf_appendf(out, "%s in %s: ", tool->name, place_name(tool->place));
    json_append_text(out, definition);
    json_object_foreach (json_object_get(parameters, "properties"), name, parameter)
        strbuf_appendf(out, " %s%s", name,
                       json_text_or(parameter, "description", "")[0] != '\0' ? "" : " undescribed");
    strbuf_append_char(out, '\n');
}

#define ALL_TOOLS                                                                                  \
    "[{'name': 'terminal'}, {'name': 'file_editor'}, {'name': 'task_tracker'},"                    \
    " {'name': 'start_child_conversation'}, {'name': 'task_tool_set'}, {'name': 'delegate'},"      \
    " {'name': 'glob'},"                                                                           \
    " {'name': 'grep'}, {'name': 'read_file'}, {'name': 'write_file'}, {'name': 'edit'},"          \
    " {'name': 'list_directory'}, {'name': 'apply_patch'}, {'name': 'invoke_skill'},"              \
    " {'name': 'browser_tool_set'}]"

static void tools_are_those_of_the_list(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(toolset_freep) struct toolset *tools = NULL;
    CLEANUP(strbuf_done) struct strbuf ours = STRBUF_INIT;

    (void)state;
    make(ALL_TOOLS, true, &conversation);
    tools = toolset_new(test_catalogue(), &conversation);
    assert_int_equal(toolset_size(tools), tool_table_n);
    for (size_t i = 0; i < toolset_size(tools); i++)
        append_tool(tools, i, &ours);
    assert_is_listed(ours.text, "tools.txt");
}

static void names_of_specifications_mean_tools(void **state)
{
    static const struct {
        const char *name;
        const char *tool; /* the first one; NULL: none */
    } cases[] = {
        {"terminal", "terminal"},
        {"TerminalTool", "terminal"},
        {"BashTool", "terminal"},
        {"execute_bash", "terminal"},
        {"file_editor", "file_editor"},
        {"FileEditorTool", "file_editor"},
        {"str_replace_editor", "file_editor"},
        {"task_tracker", "task_tracker"},
        {"TaskTrackerTool", "task_tracker"},
        {"start_child_conversation", "start_child_conversation"},
        {"StartChildConversationTool", "start_child_conversation"},
        {"task", "task"},
        {"TaskTool", "task"},
        {"task_tool_set", "task"},
        {"TaskToolSet", "task"},
        {"delegate", "delegate"},
        {"DelegateTool", "delegate"},
        {"browser_tool_set", "browser_navigate"},
        {"browser_click", "browser_click"},
        {"finish", "finish"},
        {"FinishTool", "finish"},
        {"glob", "glob"},
        {"GlobTool", "glob"},
        {"grep", "grep"},
        {"GrepTool", "grep"},
        {"read_file", "read_file"},
        {"ReadFileTool", "read_file"},
        {"write_file", "write_file"},
        {"WriteFileTool", "write_file"},
        {"edit", "edit"},
        {"EditTool", "edit"},
        {"list_directory", "list_directory"},
        {"ListDirectoryTool", "list_directory"},
        {"apply_patch", "apply_patch"},
        {"ApplyPatchTool", "apply_patch"},
        {"invoke_skill", "invoke_skill"},
        {"InvokeSkillTool", "invoke_skill"},
        {"think", "think"},
        {"ThinkTool", "think"},
        {"Terminal", NULL},
        {"workflow", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        const struct tool **tools = NULL;
        json_t *list = json_array();
        json_t *tool = json_object();

        start_default(&conversation);
        json_put_text(tool, "name", cases[i].name);
        json_push(list, tool);
        json_put(conversation_agent(&conversation), "tools", list);
        json_put(conversation_agent(&conversation), "include_default_tools", json_array());
        json_put(conversation.spec, "has_browser", json_true());
        tools = tools_of(&conversation);
        if (cases[i].tool == NULL)
            assert_null(tools[0]);
        else
            assert_string_equal(tools[0] == NULL ? "none" : tools[0]->name, cases[i].tool);
        assert_int_equal(tools_have(SANDBOX_WITH_BROWSER, cases[i].name), cases[i].tool != NULL);
        mem_free((void *)tools);
    }
}

static void tools_of_others_may_be_named(void **state)
{
    static const char *const elsewhere[] = {
        "AskOracleTool",
        "ClassifyAndSwitchLLMTool",
        "PlanningFileEditorTool",
        "SwitchLLMTool",
        "TomConsultTool",
        "VisionInspectTool",
        "WorkflowTool",
        "ask_oracle",
        "consult_tom_agent",
        "inspect_image_with_vision",
        "planning_file_editor",
        "route_task_to_model",
        "switch_llm",
        "vision_inspect",
        "workflow",
    };
    static const char *const unknown[] = {"", "nosuch", "Glob", "write", "glob|grep"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
        assert_true(tools_may_be_named(elsewhere[i]));
        assert_false(tools_have(SANDBOX_WITH_BROWSER, elsewhere[i]));
    }
    for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
        assert_false(tools_may_be_named(unknown[i]));
    assert_true(tools_may_be_named("terminal"));
    assert_true(tools_may_be_named("browser_click"));
}

static void the_list_of_names_has_sets_once(void **state)
{
    json_auto_t *without = tools_names(SANDBOX_WITHOUT_BROWSER);
    json_auto_t *with = tools_names(SANDBOX_WITH_BROWSER);

    (void)state;
    assert_json_is(without, "['terminal', 'file_editor', 'task_tracker', 'glob', 'grep',"
                            " 'read_file', 'write_file', 'edit', 'list_directory', 'apply_patch',"
                            " 'start_child_conversation', 'task_tool_set', 'task', 'delegate']");
    assert_json_is(with, "['terminal', 'file_editor', 'task_tracker', 'glob', 'grep', 'read_file', "
                         "'write_file', 'edit', 'list_directory',"
                         " 'apply_patch', 'start_child_conversation',"
                         " 'task_tool_set', 'task', 'delegate', 'browser_tool_set']");
}

static void some_tools_need_a_sandbox(void **state)
{
    static const struct {
        const char *tools;
        bool needs_sandbox;
    } cases[] = {
        {"[]", false},
        {"[{'name': 'task_tracker'}]", false},
        {"[{'name': 'terminal'}]", true},
        {"[{'name': 'start_child_conversation'}]", true},
        {"[{'name': 'task'}]", true},
        {"[{'name': 'delegate'}]", true},
        {"[{'name': 'browser_tool_set'}]", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(toolset_freep) struct toolset *tools = NULL;

        make(cases[i].tools, false, &conversation);
        tools = toolset_new(test_catalogue(), &conversation);
        assert_int_equal(toolset_needs_sandbox(tools), cases[i].needs_sandbox);
        assert_ptr_equal(toolset_conversation(tools), &conversation);
    }
}

/* --- tools of clients --- */

#define PAINT                                                                                      \
    "{'name': 'paint', 'description': 'Paints', 'parameters': {'type': 'object'},"                 \
    " 'annotations': {'readOnlyHint': true}}"

static void tools_of_clients_come_last(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(toolset_freep) struct toolset *tools = NULL;
    json_auto_t *definitions = NULL;
    json_auto_t *functions = NULL;

    (void)state;
    make("[]", false, &conversation);
    json_put(conversation.spec, "client_tools",
             json_of("[" PAINT ", {'name': 'bare', 'annotations': null, 'parameters': {}}]"));
    tools = toolset_new(test_catalogue(), &conversation);
    definitions = toolset_definitions(tools);
    functions = toolset_functions(tools);
    assert_int_equal(toolset_size(tools), 4);
    assert_json_is(json_array_get(definitions, 2),
                   "{'kind': 'ClientTool', 'title': 'paint', 'description': 'Paints',"
                   " 'action_type': 'ClientAction_paint',"
                   " 'observation_type': 'ClientToolObservation',"
                   " 'annotations': {'readOnlyHint': true}, 'client_tool_name': 'paint',"
                   " 'input_schema': {'type': 'object'}}");
    assert_json_is(json_array_get(definitions, 3),
                   "{'kind': 'ClientTool', 'title': 'bare', 'description': '',"
                   " 'action_type': 'ClientAction_bare',"
                   " 'observation_type': 'ClientToolObservation', 'client_tool_name': 'bare',"
                   " 'input_schema': {}}");
    assert_json_is(json_array_get(functions, 2),
                   "{'type': 'function', 'function': {'name': 'paint', 'description': 'Paints',"
                   " 'parameters': {'type': 'object'}}}");
    assert_json_is((json_t *)(uintptr_t)client_tool_find(&conversation, "paint"), PAINT);
    assert_null(client_tool_find(&conversation, "pain"));
}

static void hints_of_clients_have_the_protocols_defaults(void **state)
{
    static const struct {
        const char *tool;
        bool is_read_only;
        bool is_destructive;
        bool is_idempotent;
        bool is_open_world;
    } cases[] = {
        {"{'name': 'x'}", false, true, false, true},
        {"{'name': 'x', 'annotations': {'readOnlyHint': true, 'destructiveHint': false,"
         " 'idempotentHint': true, 'openWorldHint': false}}",
         true, false, true, false},
        {"{'name': 'x', 'annotations': {'readOnlyHint': false, 'destructiveHint': true,"
         " 'idempotentHint': false, 'openWorldHint': true}}",
         false, true, false, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *provided = json_of(cases[i].tool);
        struct agent_tool tool = client_tool(provided);

        assert_int_equal(tool.annotations.is_read_only, cases[i].is_read_only);
        assert_int_equal(tool.annotations.is_destructive, cases[i].is_destructive);
        assert_int_equal(tool.annotations.is_idempotent, cases[i].is_idempotent);
        assert_int_equal(tool.annotations.is_open_world, cases[i].is_open_world);
        assert_int_equal(tool.place, TOOL_IN_CLIENT);
        mem_free(tool.action_kind);
    }
}

/* Models refuse two functions of one name. */
static void a_tool_of_ones_own_shadows_a_clients(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(toolset_freep) struct toolset *tools = NULL;
    json_auto_t *functions = NULL;

    (void)state;
    make("[{'name': 'terminal'}]", false, &conversation);
    json_put(conversation.spec, "client_tools",
             json_of("[{'name': 'terminal', 'parameters': {}}, {'name': 'BashTool',"
                     " 'parameters': {}}, {'name': 'paint', 'parameters': {}}]"));
    tools = toolset_new(test_catalogue(), &conversation);
    functions = toolset_functions(tools);
    assert_int_equal(json_array_size(functions), 4);
    assert_string_equal(
        json_text_or(json_object_get(json_array_get(functions, 3), "function"), "name", ""),
        "paint");
    assert_non_null(toolset_find(tools, "terminal")->own);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Checkpoints depend on it: a tool that is missing here is believed to change files. */
static void tools_that_change_no_files_are_known(void **state)
{
    static const char expected[] = "browser_get_content browser_get_state browser_get_storage "
                                   "browser_list_tabs finish glob grep"
                                   " invoke_skill list_directory read_file task_tracker think ";
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
    const char *names[64] = {NULL};
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < tool_table_n; i++) {
        if (tool_leaves_files(&tool_table[i]))
            names[n++] = tool_table[i].name;
    }
    qsort(names, n, sizeof(*names), compare_names);
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&found, "%s ", names[i]);
    assert_string_equal(found.text, expected);
}

int tool_list_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_are_those_of_the_list),
        cmocka_unit_test(names_of_specifications_mean_tools),
        cmocka_unit_test(tools_of_others_may_be_named),
        cmocka_unit_test(the_list_of_names_has_sets_once),
        cmocka_unit_test(some_tools_need_a_sandbox),
        cmocka_unit_test(tools_that_change_no_files_are_known),
        cmocka_unit_test(tools_of_clients_come_last),
        cmocka_unit_test(hints_of_clients_have_the_protocols_defaults),
        cmocka_unit_test(a_tool_of_ones_own_shadows_a_clients),
    };

    return cmocka_run_group_tests_name("model/tool list", tests, NULL, NULL);
}

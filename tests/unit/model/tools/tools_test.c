#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/prompt/prompt.h"
#include "model/schema/object_schema.h"
#include "model/tools/agent_tool.h"
#include "model/tools/tool_table.h"
#include "model/tools/tools.h"
#include "model/tools/toolset.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

static void start_with_tools(struct conversation *conversation, const char *agent)
{
    json_auto_t *request = json_of("{'workspace': {'working_dir': '/w/p'}}");

    json_put(request, "agent", json_of(agent));
    start_conversation(request, conversation, NULL);
}

static bool has_tool(const struct conversation *conversation, const char *name)
{
    CLEANUP(toolset_freep) struct toolset *tools = toolset_new(test_catalogue(), conversation);

    return toolset_find(tools, name) != NULL;
}

static void old_names_mean_the_same_tools_once(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct tool **tools = NULL;

    (void)state;
    start_with_tools(&conversation,
                     "{'llm': {}, 'tools': [{'name': 'BashTool'}, {'name': 'terminal'},"
                     " {'name': 'browser_tool_set'}, {'name': 'FileEditorTool'}],"
                     " 'include_default_tools': ['FinishTool']}");
    tools = tools_of(&conversation);
    assert_string_equal(tools[0]->name, "terminal");
    assert_string_equal(tools[1]->name, "file_editor");
    assert_string_equal(tools[2]->name, "finish");
    assert_null(tools[3]);
    mem_free(tools);
    assert_true(has_tool(&conversation, "TerminalTool"));
    assert_false(has_tool(&conversation, "think"));
}

static void a_filter_takes_tools_away_but_for_the_built_in_ones(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *definitions = NULL;
    const struct tool **tools = NULL;

    (void)state;
    start_with_tools(&conversation,
                     "{'llm': {}, 'tools': [{'name': 'terminal'}, {'name': 'file_editor'},"
                     " {'name': 'task_tracker'}], 'filter_tools_regex': '^(?!term)(file|task_t)'}");
    tools = tools_of(&conversation);
    assert_string_equal(tools[0]->name, "file_editor");
    assert_string_equal(tools[1]->name, "task_tracker");
    assert_string_equal(tools[2]->name, "finish");
    assert_string_equal(tools[3]->name, "think");
    assert_null(tools[4]);
    mem_free(tools);
    assert_false(has_tool(&conversation, "terminal"));
    assert_true(has_tool(&conversation, "file_editor"));
    assert_true(has_tool(&conversation, "finish"));
    definitions = definitions_of(&conversation);
    assert_int_equal(json_array_size(definitions), 4);
}

/* One that was kept before anybody read it. */
static void a_filter_that_is_none_lets_nobody_through(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    start_with_tools(&conversation, "{'llm': {}, 'tools': [{'name': 'terminal'}]}");
    assert_true(has_tool(&conversation, "terminal"));
    json_put_text(json_object_get(conversation.spec, "agent"), "filter_tools_regex", "(a)\\1");
    assert_false(has_tool(&conversation, "terminal"));
    assert_true(has_tool(&conversation, "finish"));
}

/* The set is one name of a specification and many tools, where there is a browser. */
static void the_browser_set_brings_its_tools(void **state)
{
    CLEANUP(conversation_done) struct conversation without = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation with = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf prompt = STRBUF_INIT;
    const struct tool **tools = NULL;
    size_t n = 0;

    (void)state;
    start_with_tools(&without, "{'llm': {}, 'tools': [{'name': 'browser_tool_set'}]}");
    start_with_tools(&with, "{'llm': {}, 'tools': [{'name': 'browser_tool_set'}]}");
    json_put(with.spec, "has_browser", json_true());
    assert_false(tools_have_browser(&without));
    assert_false(has_tool(&without, "browser_click"));
    prompt_append(test_catalogue(), &without, &prompt);
    assert_null(strstr(prompt.text, "<BROWSER_TOOLS>"));
    assert_true(tools_have_browser(&with));
    assert_true(has_tool(&with, "browser_click"));
    assert_false(has_tool(&with, "browser_tool_set"));
    prompt_append(test_catalogue(), &with, &prompt);
    assert_non_null(strstr(prompt.text, "<BROWSER_TOOLS>"));
    tools = tools_of(&with);
    while (tools[n] != NULL)
        n++;
    mem_free((void *)tools);
    assert_int_equal(n, 12 + 2);
}

static void the_set_is_told_by_one_name(void **state)
{
    json_auto_t *without = tools_names(SANDBOX_WITHOUT_BROWSER);
    json_auto_t *with = tools_names(SANDBOX_WITH_BROWSER);

    (void)state;
    assert_int_equal(json_array_size(with), json_array_size(without) + 1);
    assert_true(tools_have(SANDBOX_WITH_BROWSER, "browser_tool_set"));
    assert_false(tools_have(SANDBOX_WITHOUT_BROWSER, "browser_tool_set"));
    assert_true(tools_may_be_named("browser_tool_set"));
}

static void editor_is_told_the_working_directory(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *definitions = NULL;

    (void)state;
    start_with_tools(&conversation, "{'llm': {}, 'tools': [{'name': 'file_editor'}]}");
    definitions = definitions_of(&conversation);
    assert_true(text_ends_with(json_text_or(json_array_get(definitions, 0), "description", ""),
                               "The working directory is /w/p."));
}

/* path: "a", or "a.b" of the objects in a list. */
static bool has_argument(const struct object_schema *schema, const char *path)
{
    size_t len = strcspn(path, ".");
    CLEANUP(mem_freep) char *name = mem_dup_bytes(path, len);
    const struct field *field = object_schema_find(schema, name);

    if (field == NULL || path[len] == '\0')
        return field != NULL;
    return field->items != NULL && object_schema_find(field->items, path + len + 1) != NULL;
}

static void every_parameter_is_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < tool_table_n; i++) {
        const struct tool *tool = &tool_table[i];

        const struct text_template *text = catalogue_template(test_catalogue(), tool->text);

        assert_true(strlen(text_template_part(text, "")) > 100);
        assert_true(tool->schema->is_closed);
        for (size_t j = 0; j < tool->schema->n; j++)
            assert_true(text_template_part(text, tool->schema->fields[j].name)[0] != '\0');
        /* and no part is of an argument that the tool does not have */
        for (size_t j = 1; j < text->n; j++)
            assert_true(has_argument(tool->schema, text->parts[j].name));
    }
}

static void read_only_tools_have_no_risk(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(toolset_freep) struct toolset *tools = NULL;
    json_auto_t *functions = NULL;
    json_t *function = NULL;
    size_t i = 0;

    (void)state;
    start_default(&conversation);
    tools = toolset_new(test_catalogue(), &conversation);
    functions = toolset_functions(tools);
    json_array_foreach (functions, i, function) {
        json_t *body = json_object_get(function, "function");
        json_t *properties = json_object_get(json_object_get(body, "parameters"), "properties");
        const struct agent_tool *tool = toolset_find(tools, json_text_or(body, "name", ""));

        assert_int_equal(json_object_get(properties, "security_risk") == NULL,
                         tool->annotations.is_read_only);
        assert_non_null(json_object_get(properties, "summary"));
    }
}

int tools_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_names_mean_the_same_tools_once),
        cmocka_unit_test(a_filter_takes_tools_away_but_for_the_built_in_ones),
        cmocka_unit_test(a_filter_that_is_none_lets_nobody_through),
        cmocka_unit_test(the_browser_set_brings_its_tools),
        cmocka_unit_test(the_set_is_told_by_one_name),
        cmocka_unit_test(editor_is_told_the_working_directory),
        cmocka_unit_test(every_parameter_is_described),
        cmocka_unit_test(read_only_tools_have_no_risk),
    };

    return cmocka_run_group_tests_name("model/tools", tests, NULL, NULL);
}

#include "model/tools/resource_keys.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/tools/agent_tool.h"
#include "model/tools/toolset.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

static void agent_with_all_tools(struct conversation *conversation)
{
    start_default(conversation);
    json_put(conversation->spec, "has_browser", json_true());
    json_push(json_object_get(conversation_agent(conversation), "tools"),
              json_of("{'name': 'browser_tool_set', 'params': {}}"));
    json_push(json_object_get(conversation_agent(conversation), "tools"),
              json_of("{'name': 'task_tool_set', 'params': {}}"));
    json_put(conversation->spec, "client_tools",
             json_of("[{'name': 'paint', 'parameters': {'type': 'object'}},"
                     " {'name': 'look', 'parameters': {'type': 'object'},"
                     " 'annotations': {'readOnlyHint': true}}]"));
}

static void calls_occupy_what_their_tools_use(void **state)
{
    static const struct {
        const char *tool;
        const char *action;
        const char *keys;
    } cases[] = {
        {"terminal", "{'command': 'ls'}", "terminal:session"},
        {"file_editor", "{'path': '/w/a'}", "file:/w/a"},
        {"file_editor", "{'path': '/w//x/./../a/'}", "file:/w/a"},
        {"file_editor", "{'path': '/../../a.b/..c'}", "file:/a.b/..c"},
        {"file_editor", "{'path': ''}", "file:"},
        {"task", "{'prompt': 'p'}", ""},
        {"task", "{'prompt': 'p', 'resume': ' '}", ""},
        {"task", "{'prompt': 'p', 'resume': 'task_00000001'}", "task:task_00000001"},
        {"browser_click", "{'index': 1}", "browser"},
        {"browser_get_state", "{}", "browser"},
        {"task_tracker", "{}", "tool:task_tracker"},
        {"think", "{'thought': 'hm'}", ""},
        {"paint", "{}", "tool:paint"},
        {"look", "{}", ""},
    };
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(toolset_freep) struct toolset *tools = NULL;

    (void)state;
    agent_with_all_tools(&conversation);
    tools = toolset_new(test_catalogue(), &conversation);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(resource_keys_done) struct resource_keys keys = RESOURCE_KEYS_INIT;
        json_auto_t *action = json_of(cases[i].action);
        const struct agent_tool *tool = toolset_find(tools, cases[i].tool);

        assert_non_null(tool);
        resource_keys_add_call(&keys, tool, action);
        assert_string_equal(keys.n == 0 ? "" : keys.items[0], cases[i].keys);
        assert_true(keys.n <= 1);
    }
}

static void add_all(struct resource_keys *keys, const char *letters)
{
    for (; *letters != '\0'; letters++)
        resource_keys_add(keys, mem_dup_bytes(letters, 1));
}

static void keys_are_sorted_and_stand_once(void **state)
{
    CLEANUP(resource_keys_done) struct resource_keys keys = RESOURCE_KEYS_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)state;
    add_all(&keys, "cabacb");
    for (size_t i = 0; i < keys.n; i++)
        strbuf_append(&text, keys.items[i]);
    assert_string_equal(text.text, "abc");
}

static void one_common_key_is_an_overlap(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        int is_overlap;
    } cases[] = {{"", "", 0}, {"a", "", 0}, {"ace", "bdf", 0}, {"ace", "bde", 1}, {"b", "abc", 1}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(resource_keys_done) struct resource_keys a = RESOURCE_KEYS_INIT;
        CLEANUP(resource_keys_done) struct resource_keys b = RESOURCE_KEYS_INIT;

        add_all(&a, cases[i].a);
        add_all(&b, cases[i].b);
        assert_int_equal(resource_keys_overlap(&a, &b), cases[i].is_overlap);
        assert_int_equal(resource_keys_overlap(&b, &a), cases[i].is_overlap);
    }
}

int resource_keys_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_occupy_what_their_tools_use),
        cmocka_unit_test(keys_are_sorted_and_stand_once),
        cmocka_unit_test(one_common_key_is_an_overlap),
    };

    return cmocka_run_group_tests_name("model/resource_keys", tests, NULL, NULL);
}

#include "model/tools/sub_agents.h"

#include <string.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "unit/model/model_test.h"
#include "unit/support/test_catalogue.h"

static void make_keyring(struct keyring *keyring)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&root, "0011223344556677889900112233445566778899001122334455667788990011");
    assert_int_equal(keyring_init(keyring, &root, &err), 0);
}

static void built_in_kinds_need_their_tools(void **state)
{
    static const struct {
        const char *name;
        const char *tools;
    } kinds[] = {
        {"general-purpose", "['terminal', 'file_editor', 'task_tracker']"},
        {"code-explorer", "['terminal']"},
        {"bash-runner", "['terminal']"},
        {"web-researcher", "['browser_tool_set']"},
    };
    json_auto_t *with = sub_agents_builtin(test_catalogue(), SANDBOX_WITH_BROWSER);
    json_auto_t *without = sub_agents_builtin(test_catalogue(), SANDBOX_WITHOUT_BROWSER);

    (void)state;
    assert_int_equal(json_array_size(with), ARRAY_SIZE(kinds));
    assert_int_equal(json_array_size(without), ARRAY_SIZE(kinds) - 1);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        json_t *kind = json_array_get(with, i);

        assert_string_equal(json_text_or(kind, "name", ""), kinds[i].name);
        assert_json_is(json_object_get(kind, "tools"), kinds[i].tools);
        assert_true(strlen(json_text_or(kind, "description", "")) > 20);
        /* what all sub-agents are told is enough for the general one */
        assert_int_equal(strlen(json_text_or(kind, "system_prompt", "")) > 20, i > 0);
        assert_string_not_equal(json_text_or(kind, "description", ""),
                                json_text_or(kind, "system_prompt", ""));
        (void)json_object_del(kind, "description");
        (void)json_object_del(kind, "system_prompt");
        (void)json_object_del(kind, "name");
        (void)json_object_del(kind, "tools");
        assert_json_is(kind, "{'model': 'inherit', 'skills': [], 'level': 'builtin',"
                             " 'is_builtin': true}");
    }
}

static void make(const char *spec, struct conversation *conversation_out)
{
    conversation_out->id = uuid_random();
    conversation_out->spec = json_of(spec);
}

static void kinds_are_found_by_name(void **state)
{
    static const struct {
        const char *spec;
        const char *name;
        const char *found; /* the name it has; NULL: none */
    } cases[] = {
        {"{}", "general-purpose", "general-purpose"},
        {"{}", "default", "general-purpose"},
        {"{}", "code-explorer", "code-explorer"},
        {"{}", "explore", "code-explorer"},
        {"{}", "bash-runner", "bash-runner"},
        {"{}", "bash", "bash-runner"},
        {"{}", "web-researcher", NULL},
        {"{'has_browser': true}", "web-researcher", "web-researcher"},
        {"{}", "", NULL},
        {"{}", "nosuch", NULL},
        {"{'agent_definitions': [{'name': 'mine'}]}", "mine", "mine"},
        {"{'agent_definitions': [{'name': 'mine'}]}", "bash", "bash-runner"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        json_auto_t *found = NULL;

        make(cases[i].spec, &conversation);
        found = sub_agent_find(test_catalogue(), &conversation, cases[i].name);
        if (cases[i].found == NULL)
            assert_null(found);
        else
            assert_string_equal(json_text_or(found, "name", "none"), cases[i].found);
    }
}

static void definitions_of_the_creator_take_precedence(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *found = NULL;

    (void)state;
    make("{'agent_definitions': [{'name': 'bash-runner', 'own': 1}]}", &conversation);
    found = sub_agent_find(test_catalogue(), &conversation, "bash-runner");
    assert_json_is(found, "{'name': 'bash-runner', 'own': 1}");
}

/* The names in a list of lines "- name: purpose". */
static void append_names(const char *list, struct strbuf *out)
{
    while (*list != '\0') {
        size_t len = strcspn(list, "\n");

        strbuf_appendf(out, "%.*s|", (int)strcspn(list, ":\n"), list);
        list += len + (list[len] == '\n');
    }
}

static void a_list_has_the_creators_first_and_no_name_twice(void **state)
{
    static const struct {
        const char *spec;
        const char *names;
    } cases[] = {
        {"{}", "- general-purpose|- code-explorer|- bash-runner|"},
        {"{'has_browser': true, 'agent_definitions': [{'name': 'mine', 'description': 'm'}, {},"
         " {'name': 'bash-runner'}]}",
         "- mine|- bash-runner|- general-purpose|- code-explorer|- web-researcher|"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;

        make(cases[i].spec, &conversation);
        sub_agents_append_list(test_catalogue(), &conversation, &list);
        append_names(list.text, &names);
        assert_string_equal(names.text, cases[i].names);
        if (i == 1)
            assert_memory_equal(list.text, "- mine: m\n- bash-runner\n- general-purpose: ", 42);
    }
}

static void the_models_of_tools_are_told_the_kinds(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *definitions = NULL;

    (void)state;
    start_default(&conversation);
    json_put(conversation_agent(&conversation), "tools", json_of("[{'name': 'task'}]"));
    json_put(conversation.spec, "agent_definitions",
             json_of("[{'name': 'mine', 'description': 'rare purpose'}]"));
    definitions = definitions_of(&conversation);
    assert_non_null(strstr(json_text_or(json_array_get(definitions, 0), "description", ""),
                           "- mine: rare purpose\n- general-purpose: "));
}

static void a_sub_agent_is_a_child_with_its_definitions_tools(void **state)
{
    static const struct {
        const char *definition;
        const char *tools;
        const char *suffix;
        int max_iterations;
    } cases[] = {
        {"{}", "[{'name': 'terminal'}]", "own\n\nrole", 9},
        {"{'tools': ['a', 5], 'system_prompt': 'prompt', 'max_iteration_per_run': 3}",
         "[{'name': 'a', 'params': {}}, {'name': '', 'params': {}}]", "own\n\nrole\n\nprompt", 3},
        {"{'tools': [], 'system_prompt': ' ', 'max_iteration_per_run': 0}",
         "[{'name': 'terminal'}]", "own\n\nrole", 9},
        {"{'max_iteration_per_run': 1}", "[{'name': 'terminal'}]", "own\n\nrole", 1},
    };
    struct keyring keyring;

    (void)state;
    make_keyring(&keyring);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
        CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
        json_auto_t *definition = json_of(cases[i].definition);
        const struct sub_agent sub_agent = {definition, "role", -1};
        struct error err = ERROR_INIT;

        make("{'agent': {'tools': [{'name': 'terminal'}],"
             " 'agent_context': {'system_message_suffix': 'own', 'x': 1}}, 'max_iterations': 9,"
             " 'confirmation_policy': {'kind': 'AlwaysConfirm'}, 'autotitle': true,"
             " 'client_tools': [{'name': 'paint'}]}",
             &parent);
        assert_int_equal(sub_agent_make(&keyring, &parent, &sub_agent, "T", &child, &err), 0);
        assert_json_is(json_object_get(conversation_agent(&child), "tools"), cases[i].tools);
        assert_string_equal(
            json_text_or(json_object_get(conversation_agent(&child), "agent_context"),
                         "system_message_suffix", ""),
            cases[i].suffix);
        assert_json_is(
            json_object_get(json_object_get(conversation_agent(&child), "agent_context"), "x"),
            "1");
        assert_int_equal(conversation_max_iterations(&child), cases[i].max_iterations);
        assert_json_is(json_object_get(child.spec, "confirmation_policy"),
                       "{'kind': 'NeverConfirm'}");
        assert_json_is(json_object_get(child.spec, "autotitle"), "false");
        assert_json_is(json_object_get(child.spec, "client_tools"), "[]");
        assert_true(child.is_sub_agent);
        assert_string_equal(child.title, "T");
        /* the parent stays as it is */
        assert_json_is(json_object_get(conversation_agent(&parent), "tools"),
                       "[{'name': 'terminal'}]");
    }
}

/* Tools that a definition names are all that it gets; what servers list is asked anew. */
static void a_sub_agent_with_its_own_tools_has_no_servers(void **state)
{
    static const struct {
        const char *definition;
        const char *servers;
    } cases[] = {
        {"{'tools': ['terminal']}", "{}"},
        {"{'tools': []}", "{'one': {'url': 'http://one'}}"},
        {"{}", "{'one': {'url': 'http://one'}}"},
    };
    struct keyring keyring;

    (void)state;
    make_keyring(&keyring);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
        CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
        json_auto_t *definition = json_of(cases[i].definition);
        const struct sub_agent sub_agent = {definition, "", -1};
        struct error err = ERROR_INIT;

        make("{'agent': {'agent_context': {}, 'mcp_config': {'one': {'url': 'http://one'}}},"
             " 'mcp_listing': {'tools': []}}",
             &parent);
        assert_int_equal(sub_agent_make(&keyring, &parent, &sub_agent, "", &child, &err), 0);
        assert_json_is(json_object_get(conversation_agent(&child), "mcp_config"), cases[i].servers);
        assert_null(json_object_get(child.spec, "mcp_listing"));
    }
}

static void a_sub_agent_without_a_context_gets_one(void **state)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    json_auto_t *definition = json_of("{'system_prompt': 'prompt'}");
    const struct sub_agent sub_agent = {definition, "", -1};
    struct keyring keyring;
    struct error err = ERROR_INIT;

    (void)state;
    make_keyring(&keyring);
    make("{'agent': {'agent_context': null}}", &parent);
    assert_int_equal(sub_agent_make(&keyring, &parent, &sub_agent, "", &child, &err), 0);
    assert_json_is(conversation_agent(&child),
                   "{'agent_context': {'system_message_suffix': 'prompt'}}");
    assert_null(child.title);
}

static void secrets_that_cannot_be_opened_make_no_sub_agent(void **state)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    json_auto_t *definition = json_object();
    const struct sub_agent sub_agent = {definition, "", -1};
    struct keyring keyring;
    struct error err = ERROR_INIT;

    (void)state;
    make_keyring(&keyring);
    make("{'agent': {}}", &parent);
    parent.secrets = json_dumps(parent.spec, 0);
    assert_int_equal(sub_agent_make(&keyring, &parent, &sub_agent, "", &child, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_false(child.is_sub_agent);
}

/* Any worker that continues the call gets the same child. */
static void a_childs_id_follows_from_its_parent_and_the_call(void **state)
{
    const struct uuid a = {"00000000-0000-4000-8000-00000000000a"};
    const struct uuid b = {"00000000-0000-4000-8000-00000000000b"};
    const struct uuid first = child_conversation_id(&a, &b);
    const struct uuid again = child_conversation_id(&a, &b);
    const struct uuid other = child_conversation_id(&b, &a);

    (void)state;
    assert_true(uuid_is_set(&first));
    assert_string_equal(first.text, again.text);
    assert_string_not_equal(first.text, other.text);
}

int sub_agents_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_kinds_need_their_tools),
        cmocka_unit_test(kinds_are_found_by_name),
        cmocka_unit_test(definitions_of_the_creator_take_precedence),
        cmocka_unit_test(a_list_has_the_creators_first_and_no_name_twice),
        cmocka_unit_test(the_models_of_tools_are_told_the_kinds),
        cmocka_unit_test(a_sub_agent_is_a_child_with_its_definitions_tools),
        cmocka_unit_test(a_sub_agent_with_its_own_tools_has_no_servers),
        cmocka_unit_test(a_sub_agent_without_a_context_gets_one),
        cmocka_unit_test(secrets_that_cannot_be_opened_make_no_sub_agent),
        cmocka_unit_test(a_childs_id_follows_from_its_parent_and_the_call),
    };

    return cmocka_run_group_tests_name("model/sub-agents", tests, NULL, NULL);
}

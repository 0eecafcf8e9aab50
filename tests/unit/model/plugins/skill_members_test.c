/*
 * Skills and sub-agents of files, member by member.
 */
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/plugins/skill_file.h"
#include "unit/model/model_test.h"

static void skills_have_all_members(void **state)
{
    static const struct {
        enum skill_form form;
        const char *path;
        const char *text;
        const char *skill; /* NULL: none */
    } cases[] = {
        {SKILL_FOLDER, "skills/one/SKILL.md", "---\ndescription: d\n---\n\nBody\n",
         "{'name': 'one', 'type': 'agentskills', 'content': 'Body\\n', 'triggers': [],"
         " 'source': 'skills/one/SKILL.md', 'description': 'd', 'is_agentskills_format': true,"
         " 'disable_model_invocation': false}"},
        {SKILL_FOLDER, "SKILL.md", "---\nname: x\ndisable-model-invocation: true\n---\nBody",
         "{'name': 'x', 'type': 'agentskills', 'content': 'Body', 'triggers': [],"
         " 'source': 'SKILL.md', 'description': null, 'is_agentskills_format': true,"
         " 'disable_model_invocation': true}"},
        {SKILL_FILE, "skills/one.md", "---\ntriggers: [a, b]\n---\nBody",
         "{'name': 'one', 'type': 'knowledge', 'content': 'Body', 'triggers': ['a', 'b'],"
         " 'source': 'skills/one.md', 'description': null, 'is_agentskills_format': false,"
         " 'disable_model_invocation': false}"},
        {SKILL_FILE, "one.MD", "---\ntriggers: a\ninputs: []\n---\nBody",
         "{'name': 'one', 'type': 'knowledge', 'content': 'Body', 'triggers': ['a', '/one'],"
         " 'source': 'one.MD', 'description': null, 'is_agentskills_format': false,"
         " 'disable_model_invocation': false}"},
        {SKILL_FILE, "one.md", "Body",
         "{'name': 'one', 'type': 'repo', 'content': 'Body', 'triggers': [],"
         " 'source': 'one.md', 'description': null, 'is_agentskills_format': false,"
         " 'disable_model_invocation': false}"},
        {SKILL_FILE, "skills/README.md", "Body", NULL},
        {SKILL_FILE, "skills/skill.md", "Body", NULL},
        {SKILL_FILE, "skills/x.md", "---\nname: a/b\n---\nBody", NULL},
        {SKILL_FILE, "skills/x.md", "---\nname: ''\n---\nBody", NULL},
        {SKILL_FOLDER, "SKILL.md", "Body", NULL},
        {SKILL_MEMORY, "a/other.md", "Body", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *skill = skill_from_file(cases[i].form, cases[i].path, cases[i].text);

        if (cases[i].skill == NULL)
            assert_null(skill);
        else
            assert_json_is(skill, cases[i].skill);
    }
}

static void files_of_memory_are_known_by_name(void **state)
{
    static const struct {
        const char *path;
        const char *name;
    } cases[] = {
        {"AGENTS.md", "agents"},   {"agents.md", "agents"}, {"AGENT.md", "agents"},
        {"x/CLAUDE.md", "claude"}, {"GEMINI.md", "gemini"}, {".cursorrules", "cursorrules"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *skill =
            skill_from_file(SKILL_MEMORY, cases[i].path, "---\nname: other\n---\nBody");

        assert_string_equal(json_text_or(skill, "name", ""), cases[i].name);
        assert_string_equal(json_text_or(skill, "type", ""), "repo");
        /* the whole file is the text */
        assert_string_equal(json_text_or(skill, "content", ""), "---\nname: other\n---\nBody");
    }
}

static void names_and_descriptions_have_limits(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf description = STRBUF_INIT;
        json_auto_t *skill = NULL;

        strbuf_append(&text, "---\nname: ");
        for (size_t i = 0; i < 64 + extra; i++)
            strbuf_append_char(&text, 'n');
        for (size_t i = 0; i < 1024 + 5; i++)
            strbuf_append(&description, "\xc3\xa4");
        strbuf_appendf(&text, "\ndescription: %s\n---\nBody", description.text);
        skill = skill_from_file(SKILL_FILE, "x.md", text.text);
        if (extra > 0) {
            assert_null(skill);
            continue;
        }
        assert_int_equal(strlen(json_text_or(skill, "name", "")), 64);
        assert_int_equal(strlen(json_text_or(skill, "description", "")), 2 * 1024);
    }
}

static void sub_agents_have_all_members(void **state)
{
    json_auto_t *whole = sub_agent_from_file(
        "agents/one.md",
        "---\nname: n\ndescription: d\nmodel: m\ncolor: red\ntools: [a]\nskills: s\n---\n\nBody",
        "plugin");
    json_auto_t *least = sub_agent_from_file("agents/one.md", "Body", "user");
    json_auto_t *readme = sub_agent_from_file("agents/Readme.md", "Body", "user");
    json_auto_t *wrong = sub_agent_from_file("agents/x.md", "---\nname: a/b\n---\nBody", "user");

    (void)state;
    assert_json_is(json_object_get(whole, "tools"), "['a']");
    assert_json_is(json_object_get(whole, "skills"), "['s']");
    assert_string_equal(json_text_or(whole, "name", ""), "n");
    assert_string_equal(json_text_or(whole, "description", ""), "d");
    assert_string_equal(json_text_or(whole, "model", ""), "m");
    assert_string_equal(json_text_or(whole, "color", ""), "red");
    assert_string_equal(json_text_or(whole, "system_prompt", ""), "Body");
    assert_string_equal(json_text_or(whole, "source", ""), "agents/one.md");
    assert_string_equal(json_text_or(whole, "level", ""), "plugin");
    assert_string_equal(json_text_or(least, "name", ""), "one");
    assert_string_equal(json_text_or(least, "description", "?"), "");
    assert_string_equal(json_text_or(least, "model", ""), "inherit");
    assert_null(json_object_get(least, "color"));
    assert_json_is(json_object_get(least, "tools"), "[]");
    assert_null(readme);
    assert_null(wrong);
}

int skill_member_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skills_have_all_members),
        cmocka_unit_test(files_of_memory_are_known_by_name),
        cmocka_unit_test(names_and_descriptions_have_limits),
        cmocka_unit_test(sub_agents_have_all_members),
    };

    return cmocka_run_group_tests_name("model/skill members", tests, NULL, NULL);
}

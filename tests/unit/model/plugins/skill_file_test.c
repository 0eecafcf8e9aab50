#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "model/plugins/front_matter.h"
#include "model/plugins/skill_file.h"
#include "unit/model/model_test.h"

static void head_is_read_in_all_its_forms(void **state)
{
    static const char text[] = "---\n"
                               "name: 'it''s'\n"
                               "# a comment\n"
                               "plain: a: b # not this\n"
                               "quoted: \"x \\\"y\\\" #z\"\n"
                               "on: true\n"
                               "off: false\r\n"
                               "inline: [a, \"b, c\", 'd']\n"
                               "list:\n"
                               "  - one\n"
                               "  - \"two\"\n"
                               "map:\n"
                               "  inner: 1\n"
                               "folded: >-\n"
                               "  first\n"
                               "  second\n"
                               "\n"
                               "literal: |\n"
                               "  a\n"
                               "    b\n"
                               "---\n"
                               "Text\n";
    json_auto_t *head = NULL;
    const char *body = NULL;
    struct error err = ERROR_INIT;
    json_auto_t *want = json_of(
        "{'plain':'a: b','quoted':'x \\'y\\' #z','on':true,'off':false,'inline':['a','b, c','d'],"
        "'list':['one','two'],'map':[],'folded':'first second','literal':'a\\n  b'}");

    (void)state;
    assert_int_equal(front_matter_read(text, &head, &body, &err), 0);
    json_object_del(head, "name");
    assert_true(json_equal(head, want));
    assert_string_equal(body, "Text\n");
}

static void text_without_a_head_is_all_body(void **state)
{
    static const char *const texts[] = {"",       "Text",          "---\nname: x\nno end",
                                        "--- \n", "a\n---\n---\n", "---"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *body = NULL;
        json_auto_t *head = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(front_matter_read(texts[i], &head, &body, &err), 0);
        assert_int_equal(json_object_size(head), 0);
        assert_string_equal(body, texts[i]);
    }
}

static void text_that_is_not_utf8_is_refused_in_words(void **state)
{
    static const char *const texts[] = {"---\nna\xffme: x\n---\n", "---\nname: \xc3\n---\n",
                                        "\xed\xa0\x80"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        json_auto_t *head = NULL;
        const char *body = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(front_matter_read(texts[i], &head, &body, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_non_null(strstr(err.message, "not UTF-8"));
        assert_null(skill_from_file(SKILL_FILE, "/p/x.md", texts[i]));
        assert_null(sub_agent_from_file("/p/x.md", texts[i], "user"));
    }
}

static void skill_takes_its_name_and_kind_from_its_place(void **state)
{
    json_auto_t *folder = skill_from_file(SKILL_FOLDER, "/p/.agents/skills/pdf/SKILL.md",
                                          "---\ndescription: Reads\n---\n\nHow");
    json_auto_t *words = skill_from_file(SKILL_FILE, "/p/.openhands/skills/git.md",
                                         "---\ntriggers:\n- git\n---\nUse it");
    json_auto_t *plain = skill_from_file(SKILL_FILE, "/p/style.md", "Be brief");
    json_auto_t *inputs =
        skill_from_file(SKILL_FILE, "/p/fix.md", "---\nname: fix\ninputs:\n  - name: n\n---\nFix");
    json_auto_t *memory = skill_from_file(SKILL_MEMORY, "/p/agents.MD", "---\nRules");

    (void)state;
    assert_string_equal(json_text_or(folder, "name", ""), "pdf");
    assert_string_equal(json_text_or(folder, "type", ""), "agentskills");
    assert_string_equal(json_text_or(folder, "description", ""), "Reads");
    assert_string_equal(json_text_or(folder, "content", ""), "How");
    assert_string_equal(json_text_or(words, "type", ""), "knowledge");
    assert_string_equal(json_string_value(json_array_get(json_object_get(words, "triggers"), 0)),
                        "git");
    assert_string_equal(json_text_or(plain, "type", ""), "repo");
    assert_string_equal(json_text_or(plain, "name", ""), "style");
    assert_string_equal(json_string_value(json_array_get(json_object_get(inputs, "triggers"), 0)),
                        "/fix");
    assert_string_equal(json_text_or(memory, "name", ""), "agents");
    assert_string_equal(json_text_or(memory, "content", ""), "---\nRules");
}

static void what_is_no_skill_is_left_out(void **state)
{
    (void)state;
    assert_null(skill_from_file(SKILL_FILE, "/p/README.md", "x"));
    assert_null(skill_from_file(SKILL_MEMORY, "/p/notes.md", "x"));
    assert_null(skill_from_file(SKILL_FILE, "/p/x.md", "---\nname: a/b\n---\nx"));
}

int skill_file_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_is_read_in_all_its_forms),
        cmocka_unit_test(text_without_a_head_is_all_body),
        cmocka_unit_test(text_that_is_not_utf8_is_refused_in_words),
        cmocka_unit_test(skill_takes_its_name_and_kind_from_its_place),
        cmocka_unit_test(what_is_no_skill_is_left_out),
    };

    return cmocka_run_group_tests_name("skill_file", tests, NULL, NULL);
}

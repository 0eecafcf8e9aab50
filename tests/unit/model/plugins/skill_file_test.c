#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
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
    json_auto_t *want =
        json_of("{'plain':'a: b','quoted':'x \\'y\\' "
                "#z','on':true,'off':false,'inline':['a','b, c','d'],"
                "'list':['one','two'],'map':[],'folded':'first second','literal':'a\\n  b'}");

    (void)state;
    assert_int_equal(front_matter_read(text, &head, &body, &err), 0);
    assert_string_equal(json_text_or(head, "name", ""), "it's");
    json_object_del(head, "name");
    assert_true(json_equal(head, want));
    assert_string_equal(body, "Text\n");
}

static void assert_head(const char *entries, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
    json_auto_t *head = NULL;
    const char *body = NULL;
    struct error err = ERROR_INIT;

    strbuf_appendf(&text, "---\n%s---\nText", entries);
    assert_int_equal(front_matter_read(text.text, &head, &body, &err), 0);
    json_append_text(&got, head);
    assert_string_equal(got.text, expected);
    assert_string_equal(body, "Text");
}

static void head_is_yaml(void **state)
{
    (void)state;
    assert_head("a: \"x\\ty\\u00e9\"\n", "{\"a\":\"x\\ty\u00e9\"}");
    assert_head("'a b': first\n  second\n", "{\"a b\":\"first second\"}");
    assert_head("a: [x,\n  \"y, z\",\n]\nb: c\n", "{\"a\":[\"x\",\"y, z\"],\"b\":\"c\"}");
    assert_head("a:\n- x\n- - deeper\n- k: v\n- true\n", "{\"a\":[\"x\",true]}");
    assert_head("a:\n- \n- x\n-\n", "{\"a\":[\"x\"]}");
    assert_head("a: {k: v, l: [m]}\nb: c\n", "{\"a\":[],\"b\":\"c\"}");
    assert_head("a: 'true'\nb: 12\nc:\na: d\n", "{\"a\":\"d\",\"b\":\"12\",\"c\":[]}");
}

static void entry_that_is_not_yaml_keeps_the_text_of_its_line(void **state)
{
    (void)state;
    assert_head("a: Use when: asked # or not\nb: [file] [ref]\nc: @d\n",
                "{\"a\":\"Use when: asked\",\"b\":\"[file] [ref]\",\"c\":\"@d\"}");
    assert_head("a:b\nc: \"open\nd: e\n", "{\"a\":\"b\",\"c\":\"\\\"open\",\"d\":\"e\"}");
    assert_head("a: x: y\n  more\n", "{\"a\":\"x: y\"}");
    assert_head("a: \"no\\0text\"\n", "{\"a\":\"\\\"no\\\\0text\\\"\"}");
}

static void aliases_and_deep_nesting_count_as_no_yaml(void **state)
{
    (void)state;
    assert_head("a: &x [y]\nb: *x\n", "{\"a\":[\"y\"],\"b\":\"*x\"}");
    assert_head("a: [[[[[[[b]]]]]]]\n", "{\"a\":[]}");
    assert_head("a: [[[[[[[[b]]]]]]]]\n", "{\"a\":\"[[[[[[[[b]]]]]]]]\"}");
    assert_head("a: {<<: *x}\n", "{\"a\":\"{<<: *x}\"}");
}

static void head_that_is_too_large_is_refused_in_words(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *head = NULL;
    const char *body = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    strbuf_append(&text, "---\n");
    while (text.len < 4 + 65536)
        strbuf_append(&text, "a: bcde\n");
    strbuf_append(&text, "---\n");
    assert_int_equal(front_matter_read(text.text, &head, &body, &err), 0);
    json_decref(head);
    head = NULL;
    strbuf_truncate(&text, text.len - 4);
    strbuf_append(&text, "b: c\n---\n");
    assert_int_equal(front_matter_read(text.text, &head, &body, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.message, "65536 bytes"));
    assert_null(skill_from_file(SKILL_FILE, "/p/x.md", text.text));
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
        cmocka_unit_test(head_is_yaml),
        cmocka_unit_test(entry_that_is_not_yaml_keeps_the_text_of_its_line),
        cmocka_unit_test(aliases_and_deep_nesting_count_as_no_yaml),
        cmocka_unit_test(head_that_is_too_large_is_refused_in_words),
        cmocka_unit_test(text_without_a_head_is_all_body),
        cmocka_unit_test(text_that_is_not_utf8_is_refused_in_words),
        cmocka_unit_test(skill_takes_its_name_and_kind_from_its_place),
        cmocka_unit_test(what_is_no_skill_is_left_out),
    };

    return cmocka_run_group_tests_name("skill_file", tests, NULL, NULL);
}

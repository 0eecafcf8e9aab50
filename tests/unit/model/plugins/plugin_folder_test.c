#include "base/error.h"
#include "base/json.h"
#include "model/plugins/plugin_folder.h"
#include "unit/model/model_test.h"

static void plugin_is_what_its_manifest_and_folders_say(void **state)
{
    json_auto_t *files = json_of(
        "[{'path': '.plugin/plugin.json', 'text': '{\\u0022name\\u0022:\\u0022p-1\\u0022}'},"
        " {'path': 'skills/a/SKILL.md', 'text': 'Do a.'},"
        " {'path': 'skills/a/references/more.md', 'text': 'no skill'},"
        " {'path': 'skills/b.md', 'text': 'Do b.'}, {'path': 'skills/c/SKILL.md'},"
        " {'path': 'commands/go.md', 'text': 'x'}, {'path': 'commands/deep/no.md', 'text': 'x'}]");
    const struct plugin_folder folder = {"/w/p", files};
    json_auto_t *package = NULL;
    json_auto_t *commands = json_of("['go']");
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(plugin_folder_read_plugin(&folder, &package, &err), 0);
    assert_string_equal(json_text_or(package, "name", ""), "p-1");
    assert_json_equal(json_object_get(package, "commands"), commands);
    assert_int_equal(json_array_size(json_object_get(package, "files")), 7);
    assert_int_equal(json_array_size(json_object_get(package, "skills")), 2);
    assert_string_equal(
        json_text_or(json_array_get(json_object_get(package, "skills"), 0), "source", ""),
        "/w/p/skills/a/SKILL.md");
}

static void folders_that_hold_no_plugin_or_skill_are_refused(void **state)
{
    static const char *const wrong[] = {
        "[]",
        "[{'path': '.plugin/plugin.json'}]",
        "[{'path': '.plugin/plugin.json', 'text': '['}]",
        "[{'path': '.plugin/plugin.json', 'text': '{\\u0022name\\u0022:\\u0022A b\\u0022}'}]",
        "[{'path': 'SKILL.md', 'text': '---\\nname: A_b\\n---\\nx'}]",
        "[{'path': 7, 'text': []}, 5, null]",
        "{'path': 'SKILL.md'}",
    };
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        json_auto_t *files = json_of(wrong[i]);
        const struct plugin_folder folder = {"/w", files};
        json_auto_t *package = NULL;

        assert_int_equal(plugin_folder_read_plugin(&folder, &package, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_int_equal(plugin_folder_read_skill(&folder, &package, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_null(package);
    }
}

static void market_place_is_found_where_it_may_lie(void **state)
{
    json_auto_t *files = json_of("[{'path': '.claude-plugin/marketplace.json',"
                                 " 'text': '{\\u0022plugins\\u0022:[{\\u0022name\\u0022:7}]}'}]");
    json_auto_t *none = json_of("[]");
    const struct plugin_folder folder = {"/w", files};
    const struct plugin_folder empty = {"/w", none};
    json_auto_t *market = plugin_folder_read_market(&folder, NULL);

    (void)state;
    assert_int_equal(json_array_size(market), 1);
    assert_null(plugin_folder_read_market(&empty, NULL));
}

int package_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plugin_is_what_its_manifest_and_folders_say),
        cmocka_unit_test(folders_that_hold_no_plugin_or_skill_are_refused),
        cmocka_unit_test(market_place_is_found_where_it_may_lie),
    };

    return cmocka_run_group_tests_name("model/package", tests, NULL, NULL);
}

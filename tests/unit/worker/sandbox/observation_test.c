#include "worker/worker_test.h"

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/events.h"

static int take(const char *reply, const char *kind, json_t **out)
{
    json_auto_t *json = test_json(reply);
    struct error err = ERROR_INIT;

    return observation_from_sandbox(json, kind, out, &err);
}

static void impossible_replies_are_refused(void **state)
{
    json_t *out = NULL;

    (void)state;
    assert_int_equal(take("{}", "TerminalObservation", &out), -1);
    assert_int_equal(take("[]", "TerminalObservation", &out), -1);
    assert_int_equal(
        take("{\"kind\": \"FinishObservation\", \"content\": []}", "TerminalObservation", &out),
        -1);
    assert_int_equal(
        take("{\"kind\": \"TerminalObservation\", \"content\": [1]}", "TerminalObservation", &out),
        -1);
    assert_null(out);
}

static void only_known_members_pass(void **state)
{
    json_t *out = NULL;

    (void)state;
    assert_int_equal(take("{\"kind\": \"TerminalObservation\", \"content\": [], \"exit_code\": 1,"
                          " \"command\": 7, \"more\": 1, \"metadata\": {\"pid\": 3, \"x\": 1}}",
                          "TerminalObservation", &out),
                     0);
    assert_int_equal(json_int_or(out, "exit_code", 0), 1);
    assert_null(json_object_get(out, "command"));
    assert_null(json_object_get(out, "more"));
    assert_int_equal(json_object_size(json_object_get(out, "metadata")), 1);
    json_decref(out);
}

/* Clients refuse members that are missing, unknown or of another type. */
static void observations_of_file_tools_have_their_form(void **state)
{
    static const struct {
        const char *kind;
        const char *given;
        const char *taken;
    } rows[] = {
        {"GlobObservation",
         "\"files\": [\"/a\"], \"pattern\": \"*\", \"search_path\": \"/\", \"truncated\": true, "
         "\"more\": 1",
         "\"files\": [\"/a\"], \"pattern\": \"*\", \"search_path\": \"/\", \"truncated\": true"},
        {"GlobObservation", "\"files\": [1], \"pattern\": 1, \"truncated\": 1",
         "\"files\": [], \"pattern\": \"\", \"search_path\": \"\""},
        {"GrepObservation",
         "\"matches\": [\"/a\"], \"pattern\": \"x\", \"search_path\": \"/\", \"include_pattern\": "
         "\"*.c\"",
         "\"matches\": [\"/a\"], \"pattern\": \"x\", \"search_path\": \"/\", \"include_pattern\": "
         "\"*.c\""},
        {"ReadFileObservation",
         "\"file_path\": \"/a\", \"file_content\": \"x\", \"lines_shown\": [1, 2], "
         "\"total_lines\": 2, \"is_truncated\": false",
         "\"file_path\": \"/a\", \"file_content\": \"x\", \"lines_shown\": [1, 2], "
         "\"total_lines\": 2, \"is_truncated\": false"},
        {"ReadFileObservation", "\"lines_shown\": [1]", "\"file_path\": \"\""},
        {"ReadFileObservation", "\"lines_shown\": [1, \"2\"]", "\"file_path\": \"\""},
        {"WriteFileObservation",
         "\"file_path\": \"/a\", \"is_new_file\": true, \"new_content\": \"x\"",
         "\"file_path\": \"/a\", \"is_new_file\": true, \"new_content\": \"x\""},
        {"EditObservation",
         "\"file_path\": \"/a\", \"replacements_made\": 2, \"old_content\": \"y\"",
         "\"file_path\": \"/a\", \"replacements_made\": 2, \"old_content\": \"y\""},
        {"ListDirectoryObservation",
         "\"dir_path\": \"/\", \"total_count\": 9, \"is_truncated\": true, \"entries\": ["
         "{\"name\": \"a\", \"path\": \"/a\", \"is_directory\": false, \"size\": 1, "
         "\"modified_time\": \"2026-01-15T10:30:00\", \"x\": 1},"
         "{\"name\": \"b\", \"path\": \"/b\", \"is_directory\": false, \"size\": 1, "
         "\"modified_time\": \"yesterday\"},"
         "{\"name\": \"c\", \"path\": \"/c\", \"is_directory\": false, \"size\": 1, "
         "\"modified_time\": \"2026-01-15T10:30:60\"},"
         "{\"name\": \"d\"}, 7]",
         "\"dir_path\": \"/\", \"total_count\": 9, \"is_truncated\": true, \"entries\": ["
         "{\"name\": \"a\", \"path\": \"/a\", \"is_directory\": false, \"size\": 1, "
         "\"modified_time\": \"2026-01-15T10:30:00\"}]"},
        {"ListDirectoryObservation", "\"entries\": 1", "\"entries\": []"},
        {"ApplyPatchObservation",
         "\"message\": \"Done!\", \"fuzz\": 1, \"commit\": {\"x\": 1, \"changes\": {"
         "\"a\": {\"type\": \"add\", \"new_content\": \"x\", \"y\": 1},"
         "\"b\": {\"type\": \"delete\", \"old_content\": \"x\"},"
         "\"c\": {\"type\": \"update\", \"move_path\": \"d\"},"
         "\"e\": {\"type\": \"wipe\"}, \"f\": 1}}",
         "\"message\": \"Done!\", \"fuzz\": 1, \"commit\": {\"changes\": {"
         "\"a\": {\"type\": \"add\", \"new_content\": \"x\"},"
         "\"b\": {\"type\": \"delete\", \"old_content\": \"x\"},"
         "\"c\": {\"type\": \"update\", \"move_path\": \"d\"}}}"},
        {"ApplyPatchObservation", "\"commit\": 1, \"fuzz\": 0", "\"fuzz\": 0"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf wanted = STRBUF_INIT;
        json_auto_t *expected = NULL;
        json_auto_t *out = NULL;

        strbuf_appendf(&reply, "{\"kind\": \"%s\", \"content\": [], %s}", rows[i].kind,
                       rows[i].given);
        strbuf_appendf(&wanted, "{\"kind\": \"%s\", \"content\": [], \"is_error\": false, %s}",
                       rows[i].kind, rows[i].taken);
        expected = test_json(wanted.text);
        assert_int_equal(take(reply.text, rows[i].kind, &out), 0);
        if (!json_equal(out, expected))
            fail_msg("%zu: %s", i, rows[i].given);
    }
}

static void a_browser_tells_its_picture_only(void **state)
{
    json_t *out = NULL;

    (void)state;
    assert_int_equal(take("{\"kind\": \"BrowserObservation\", \"content\": [],"
                          " \"screenshot_data\": \"aGk=\", \"tabs\": 3}",
                          "BrowserObservation", &out),
                     0);
    assert_string_equal(json_text_or(out, "screenshot_data", ""), "aGk=");
    assert_null(json_object_get(out, "tabs"));
    json_decref(out);
}

static void edits_too_large_for_an_event_lose_their_contents(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    json_t *out = NULL;

    (void)state;
    strbuf_append(&reply, "{\"kind\": \"FileEditorObservation\", \"content\": [], \"path\": \"/a\","
                          " \"old_content\": \"");
    for (int i = 0; i < 1200000; i++)
        strbuf_append_char(&reply, 'x');
    strbuf_append(&reply, "\"}");
    assert_int_equal(take(reply.text, "FileEditorObservation", &out), 0);
    assert_null(json_object_get(out, "old_content"));
    assert_string_equal(json_text_or(out, "path", ""), "/a");
    json_decref(out);
}

int observation_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_replies_are_refused),
        cmocka_unit_test(only_known_members_pass),
        cmocka_unit_test(observations_of_file_tools_have_their_form),
        cmocka_unit_test(a_browser_tells_its_picture_only),
        cmocka_unit_test(edits_too_large_for_an_event_lose_their_contents),
    };

    return cmocka_run_group_tests_name("observation", tests, NULL, NULL);
}

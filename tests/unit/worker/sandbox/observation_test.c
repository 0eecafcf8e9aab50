#include "worker/worker_test.h"

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/limits.h"
#include "support/json_path.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/events.h"

/* Room that an observation leaves for the event's other members. */
#define EVENT_MARGIN_BYTES ((size_t)4000)

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
    assert_int_equal(take("{\"kind\": \"TerminalObservation\"}", "TerminalObservation", &out), -1);
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
        {"MCPToolObservation",
         "\"tool_name\": \"t\", \"has_changed_tools\": true, \"error\": \"why\", \"tools\": []",
         "\"tool_name\": \"t\", \"has_changed_tools\": true, \"error\": \"why\""},
        {"MCPToolObservation", "\"has_changed_tools\": 1, \"error\": 1", "\"tool_name\": \"\""},
        {"MCPListObservation", "\"tools\": [{\"name\": \"a\"}], \"more\": 1",
         "\"tools\": [{\"name\": \"a\"}]"},
        {"MCPListObservation", "\"tools\": [{}, 1], \"error\": \"why\"", "\"error\": \"why\""},
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

/* Each member with a value of its type and one of another; metadata: of its nested object. */
static const struct {
    const char *kind;
    const char *name;
    const char *value;
    const char *wrong;
} members[] = {
    {"TerminalObservation", "command", "\"ls\"", "7"},
    {"TerminalObservation", "exit_code", "7", "\"7\""},
    {"TerminalObservation", "timeout", "true", "1"},
    {"TerminalObservation", "full_output_save_dir", "\"/o\"", "false"},
    {"FileEditorObservation", "command", "\"view\"", "null"},
    {"FileEditorObservation", "path", "\"/p\"", "7"},
    {"FileEditorObservation", "prev_exist", "false", "0"},
    {"FileEditorObservation", "old_content", "\"a\"", "[]"},
    {"FileEditorObservation", "new_content", "\"b\"", "{}"},
    {"BrowserObservation", "screenshot_data", "\"aGk=\"", "7"},
    {"BrowserObservation", "full_output_save_dir", "\"/o\"", "7"},
    {"GlobObservation", "truncated", "true", "1"},
    {"GrepObservation", "include_pattern", "\"*.c\"", "7"},
    {"GrepObservation", "truncated", "true", "1"},
    {"ReadFileObservation", "file_content", "\"x\"", "7"},
    {"ReadFileObservation", "is_truncated", "true", "1"},
    {"ReadFileObservation", "lines_shown", "[1, 2]", "[1, 2, 3]"},
    {"ReadFileObservation", "total_lines", "2", "\"2\""},
    {"WriteFileObservation", "file_path", "\"/a\"", "7"},
    {"WriteFileObservation", "is_new_file", "true", "1"},
    {"WriteFileObservation", "old_content", "\"x\"", "7"},
    {"WriteFileObservation", "new_content", "\"x\"", "7"},
    {"EditObservation", "file_path", "\"/a\"", "7"},
    {"EditObservation", "is_new_file", "true", "1"},
    {"EditObservation", "replacements_made", "2", "2.5"},
    {"EditObservation", "old_content", "\"x\"", "7"},
    {"EditObservation", "new_content", "\"x\"", "7"},
    {"ListDirectoryObservation", "dir_path", "\"/\"", "7"},
    {"ListDirectoryObservation", "total_count", "2", "\"2\""},
    {"ListDirectoryObservation", "is_truncated", "true", "1"},
    {"ApplyPatchObservation", "message", "\"x\"", "7"},
    {"ApplyPatchObservation", "fuzz", "2", "true"},
    {"metadata", "exit_code", "-1", "1.5"},
    {"metadata", "pid", "3", "true"},
    {"metadata", "username", "\"u\"", "7"},
    {"metadata", "hostname", "\"h\"", "7"},
    {"metadata", "working_dir", "\"/w\"", "7"},
    {"metadata", "py_interpreter_path", "\"/py\"", "7"},
    {"metadata", "prefix", "\"[\"", "7"},
    {"metadata", "suffix", "\"]\"", "7"},
};

/* What becomes of a reply with that member, as text. */
static void take_member(const char *kind, const char *place, const char *name, const char *value,
                        struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    json_auto_t *observation = NULL;
    bool is_nested = text_equal(place, "metadata");

    strbuf_appendf(&reply, "{\"kind\": \"%s\", \"content\": [], %s\"%s\": %s%s}", kind,
                   is_nested ? "\"metadata\": {" : "", name, value, is_nested ? "}" : "");
    assert_int_equal(take(reply.text, kind, &observation), 0);
    strbuf_reset(out);
    json_append_text(out, observation);
}

static void each_member_passes_with_its_type_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        bool is_nested = text_equal(members[i].kind, "metadata");
        const char *kind = is_nested ? "TerminalObservation" : members[i].kind;
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

        strbuf_appendf(&path, "%s%s", is_nested ? "metadata." : "", members[i].name);
        take_member(kind, members[i].kind, members[i].name, members[i].value, &seen);
        assert_json_at(seen.text, path.text, members[i].value);
        assert_json_at(seen.text, "is_error", "false");
        assert_json_at(seen.text, "content", "[]");
        take_member(kind, members[i].kind, members[i].name, members[i].wrong, &seen);
        assert_json_at(seen.text, path.text, NULL);
    }
}

/* Members that clients need: another stands in for one that is missing or of another type. */
static void required_members_are_always_there(void **state)
{
    static const struct {
        const char *kind;
        const char *name;
        const char *value;
        const char *instead;
    } rows[] = {
        {"GlobObservation", "files", "[\"/a\"]", "[]"},
        {"GlobObservation", "pattern", "\"*\"", "\"\""},
        {"GlobObservation", "search_path", "\"/\"", "\"\""},
        {"GrepObservation", "matches", "[\"/a\"]", "[]"},
        {"GrepObservation", "pattern", "\"x\"", "\"\""},
        {"GrepObservation", "search_path", "\"/\"", "\"\""},
        {"ReadFileObservation", "file_path", "\"/a\"", "\"\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

        take_member(rows[i].kind, "", rows[i].name, rows[i].value, &seen);
        assert_json_at(seen.text, rows[i].name, rows[i].value);
        take_member(rows[i].kind, "", rows[i].name, "7", &seen);
        assert_json_at(seen.text, rows[i].name, rows[i].instead);
        take_member(rows[i].kind, "", "more", "7", &seen);
        assert_json_at(seen.text, rows[i].name, rows[i].instead);
    }
}

#define ENTRY_TIME "\"modified_time\": \"2026-01-15T10:30:00\""

/* An entry of a folder that lacks a member, or has it in another form, is left out. */
static void entries_have_all_their_members(void **state)
{
    static const char *const broken[] = {
        "\"path\": \"/a\", \"is_directory\": false, \"size\": 1, " ENTRY_TIME,
        "\"name\": \"a\", \"is_directory\": false, \"size\": 1, " ENTRY_TIME,
        "\"name\": \"a\", \"path\": \"/a\", \"size\": 1, " ENTRY_TIME,
        "\"name\": \"a\", \"path\": \"/a\", \"is_directory\": false, " ENTRY_TIME,
        "\"name\": \"a\", \"path\": \"/a\", \"is_directory\": false, \"size\": 1",
        "\"name\": 7, \"path\": \"/a\", \"is_directory\": false, \"size\": 1, " ENTRY_TIME,
        "\"name\": \"a\", \"path\": \"/a\", \"is_directory\": false, \"size\": 1,"
        " \"modified_time\": \"2026-01-15T10:30:00Z\"",
        "\"name\": \"a\", \"path\": \"/a\", \"is_directory\": false, \"size\": 1,"
        " \"modified_time\": \"2026-1-15T10:30:00\"",
        "\"name\": \"a\", \"path\": \"/a\", \"is_directory\": false, \"size\": 1,"
        " \"modified_time\": 7",
    };
    static const char whole[] =
        "\"name\": \"b\", \"path\": \"/b\", \"is_directory\": true, \"size\": 2, " ENTRY_TIME;

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf entries = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

        strbuf_appendf(&entries, "[{%s}, {%s}]", broken[i], whole);
        strbuf_appendf(&expected, "[{%s}]", whole);
        take_member("ListDirectoryObservation", "", "entries", entries.text, &seen);
        assert_json_at(seen.text, "entries", expected.text);
    }
}

/* So is a change of a file without its type, whatever else it lacks. */
static void changes_have_their_type(void **state)
{
    static const char *const broken[] = {
        "", "\"type\": \"rename\"", "\"type\": 7, \"old_content\": \"a\"",
        "\"old_content\": \"a\", \"new_content\": \"b\", \"move_path\": \"/c\""};
    static const char whole[] = "\"type\": \"add\", \"new_content\": \"b\"";

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf commit = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

        strbuf_appendf(&commit, "{\"changes\": {\"/a\": {%s}, \"/b\": {%s}}}", broken[i], whole);
        strbuf_appendf(&expected, "{\"changes\": {\"/b\": {%s}}}", whole);
        take_member("ApplyPatchObservation", "", "commit", commit.text, &seen);
        assert_json_at(seen.text, "commit", expected.text);
    }
}

static void members_of_other_kinds_do_not_pass(void **state)
{
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

    (void)state;
    take_member("FileEditorObservation", "", "exit_code", "1", &seen);
    assert_json_at(seen.text, "exit_code", NULL);
    take_member("TerminalObservation", "", "pid", "1", &seen);
    assert_json_at(seen.text, "pid", NULL);
    take_member("TerminalObservation", "metadata", "command", "\"x\"", &seen);
    assert_json_at(seen.text, "metadata", "{}");
    take_member("FileEditorObservation", "metadata", "pid", "1", &seen);
    assert_json_at(seen.text, "metadata", NULL);
    take_member("TerminalObservation", "", "metadata", "[]", &seen);
    assert_json_at(seen.text, "metadata", NULL);
    take_member("TerminalObservation", "", "is_error", "true", &seen);
    assert_json_at(seen.text, "is_error", "true");
}

/* What is taken of a reply whose member and whose text have so many letters. */
static int take_large(const char *kind, const char *member, size_t n_member, size_t n_text,
                      json_t **out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    json_auto_t *json = NULL;

    strbuf_appendf(&reply, "{\"kind\": \"%s\", \"path\": \"/a\", \"%s\": \"", kind, member);
    for (size_t i = 0; i < n_member; i++)
        strbuf_append_char(&reply, 'x');
    strbuf_append(&reply, "\", \"content\": [{\"type\": \"text\", \"text\": \"");
    for (size_t i = 0; i < n_text; i++)
        strbuf_append_char(&reply, 'y');
    strbuf_append(&reply, "\"}]}");
    json = test_json(reply.text);
    return observation_from_sandbox(json, kind, out, err);
}

static size_t size_of(const json_t *json)
{
    return json_dumpb(json, NULL, 0, JSON_COMPACT);
}

static void contents_are_dropped_where_the_event_would_be_too_large(void **state)
{
    static const struct {
        const char *kind;
        const char *member;
    } cases[] = {
        {"FileEditorObservation", "old_content"},
        {"FileEditorObservation", "new_content"},
        {"BrowserObservation", "screenshot_data"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_auto_t *small = NULL;
        json_auto_t *most = NULL;
        json_auto_t *large = NULL;
        struct error err = ERROR_INIT;
        size_t room = 0;

        assert_int_equal(take_large(cases[i].kind, cases[i].member, 1, 1, &small, &err), 0);
        room = EVENT_MAX_BYTES - EVENT_MARGIN_BYTES - size_of(small);
        assert_int_equal(take_large(cases[i].kind, cases[i].member, room + 1, 1, &most, &err), 0);
        assert_int_equal(size_of(most), EVENT_MAX_BYTES - EVENT_MARGIN_BYTES);
        assert_non_null(json_object_get(most, cases[i].member));
        assert_int_equal(take_large(cases[i].kind, cases[i].member, room + 2, 1, &large, &err), 0);
        assert_null(json_object_get(large, cases[i].member));
        assert_int_equal(json_array_size(json_object_get(large, "content")), 1);
    }
}

static void text_that_is_too_large_is_refused(void **state)
{
    json_auto_t *small = NULL;
    json_auto_t *most = NULL;
    json_t *none = NULL;
    struct error err = ERROR_INIT;
    size_t room = 0;

    (void)state;
    assert_int_equal(take_large("TerminalObservation", "command", 1, 1, &small, &err), 0);
    room = EVENT_MAX_BYTES - EVENT_MARGIN_BYTES - size_of(small);
    assert_int_equal(take_large("TerminalObservation", "command", 1, room + 1, &most, &err), 0);
    assert_int_equal(take_large("TerminalObservation", "command", 1, room + 2, &none, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_null(none);
}

static void text_of_deft_is_an_observation(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *seen = observation_from_text("XObservation", "words");

    (void)state;
    json_append_text(&text, seen);
    assert_json_at(text.text, "",
                   "{\"kind\": \"XObservation\", \"is_error\": false, \"content\": [{\"type\":"
                   " \"text\", \"text\": \"words\", \"cache_prompt\": false}]}");
}

int observation_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_replies_are_refused),
        cmocka_unit_test(only_known_members_pass),
        cmocka_unit_test(observations_of_file_tools_have_their_form),
        cmocka_unit_test(a_browser_tells_its_picture_only),
        cmocka_unit_test(each_member_passes_with_its_type_only),
        cmocka_unit_test(required_members_are_always_there),
        cmocka_unit_test(entries_have_all_their_members),
        cmocka_unit_test(changes_have_their_type),
        cmocka_unit_test(members_of_other_kinds_do_not_pass),
        cmocka_unit_test(contents_are_dropped_where_the_event_would_be_too_large),
        cmocka_unit_test(text_that_is_too_large_is_refused),
        cmocka_unit_test(text_of_deft_is_an_observation),
    };

    return cmocka_run_group_tests_name("observation", tests, NULL, NULL);
}

/*
 * The file tools, on a folder of their own.
 */
#include "sandbox/actions/file_tool.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/folder.h"
#include "support/json_path.h"
#include "unit/sandbox/sandbox_test.h"

static int set_up(void **state)
{
    char *folder = mem_dup_text("/tmp/deft-file-tool-XXXXXX");

    assert_non_null(mkdtemp(folder));
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    folder_remove(*state);
    mem_free(*state);
    return 0;
}

/* The path of a file in the folder. */
struct path {
    char text[256];
};

static struct path in_folder(const char *folder, const char *name)
{
    struct path path = {.text = ""};

    (void)snprintf(path.text, sizeof(path.text), "%s/%s", folder, name);
    return path;
}

static void put_file(const char *folder, const char *name, const char *text)
{
    FILE *file = NULL;
    CLEANUP(mem_freep) char *path = mem_dup_text(in_folder(folder, name).text);

    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void set_age(const char *folder, const char *name, time_t age_s)
{
    const struct timespec times[2] = {{.tv_sec = 1700000000 - age_s},
                                      {.tv_sec = 1700000000 - age_s}};

    assert_int_equal(utimensat(AT_FDCWD, in_folder(folder, name).text, times, 0), 0);
}

static void assert_file(const char *folder, const char *name, const char *expected)
{
    char text[4096] = "";
    FILE *file = fopen(in_folder(folder, name).text, "re");
    size_t n = 0;

    assert_non_null(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

/* The observation as text, with the folder's path replaced by DIR; freed by the caller. */
static char *run(const char *folder, const char *tool, const char *args)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *json = json_loads(args, 0, NULL);
    const struct file_tool_call call = {tool, json, folder};
    json_auto_t *observation = NULL;
    CLEANUP(mem_freep) char *text = NULL;
    const char *at = NULL;

    assert_non_null(json);
    observation = file_tool_run(&call);
    text = json_to_text(observation);
    at = text;
    for (const char *hit = strstr(at, folder); hit != NULL; hit = strstr(at, folder)) {
        strbuf_append_bytes(&out, at, (size_t)(hit - at));
        strbuf_append(&out, "DIR");
        at = hit + strlen(folder);
    }
    strbuf_append(&out, at);
    return strbuf_take(&out);
}

static void assert_failed(const char *text, const char *kind, const char *words)
{
    assert_json_at(text, "kind", kind);
    assert_json_at(text, "is_error", "true");
    if (strstr(text, words) == NULL)
        fail_msg("%s", text);
}

/* --- searches --- */

static void glob_lists_the_newest_first(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *all = NULL;
    CLEANUP(mem_freep) char *below = NULL;
    CLEANUP(mem_freep) char *none = NULL;

    put_file(folder, "old.c", "x");
    put_file(folder, "sub/new.c", "x");
    put_file(folder, "sub/other.h", "x");
    put_file(folder, ".hidden/a.c", "x");
    put_file(folder, "node_modules/a.c", "x");
    set_age(folder, "old.c", 100);
    set_age(folder, "sub/new.c", 10);
    all = run(folder, "glob", "{\"pattern\":\"**/*.c\"}");
    assert_json_at(all, "",
                   "{\"kind\":\"GlobObservation\",\"pattern\":\"**/*.c\",\"search_path\":\"DIR\","
                   "\"files\":[\"DIR/sub/new.c\",\"DIR/old.c\"],\"truncated\":false,"
                   "\"is_error\":false,\"content\":[{\"type\":\"text\",\"cache_prompt\":false,"
                   "\"text\":\"Found 2 file(s) matching pattern '**/*.c' in 'DIR':\\nDIR/sub/new.c"
                   "\\nDIR/old.c\"}]}");
    below = run(folder, "glob", "{\"pattern\":\"*.c\",\"path\":\"./sub/../sub/\"}");
    assert_json_at(below, "files", "[\"DIR/sub/new.c\"]");
    assert_json_at(below, "search_path", "\"DIR/sub\"");
    none = run(folder, "glob", "{\"pattern\":\"*.rs\"}");
    assert_json_at(none, "files", "[]");
    assert_json_at(none, "is_error", "false");
    assert_json_at(none, "content[0].text", "\"No files found matching pattern '*.rs' in 'DIR'.\"");
}

static void hundred_files_are_listed(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *json = NULL;

    for (int i = 0; i < 101; i++) {
        char name[32] = "";

        (void)snprintf(name, sizeof(name), "f%03d", i);
        put_file(folder, name, "x");
        set_age(folder, name, i);
    }
    text = run(folder, "glob", "{\"pattern\":\"f*\"}");
    json = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(json, "files")), 100);
    assert_json_at(text, "files[0]", "\"DIR/f000\"");
    assert_json_at(text, "files[99]", "\"DIR/f099\"");
    assert_json_at(text, "truncated", "true");
    assert_non_null(strstr(text, "[1 more, older ones"));
}

static void grep_finds_files_by_lines(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *all = NULL;
    CLEANUP(mem_freep) char *some = NULL;
    CLEANUP(mem_freep) char *none = NULL;

    put_file(folder, "a.c", "int Main(void)\n");
    put_file(folder, "b/main.h", "x\nint main(void);\n");
    put_file(folder, "c.txt", "nothing\n");
    put_file(folder, "empty", "");
    put_file(folder, ".git/main", "int main\n");
    set_age(folder, "a.c", 5);
    set_age(folder, "b/main.h", 1);
    all = run(folder, "grep", "{\"pattern\":\"int main\\\\(\"}");
    assert_json_at(all, "matches", "[\"DIR/b/main.h\",\"DIR/a.c\"]");
    assert_json_at(all, "kind", "\"GrepObservation\"");
    assert_json_at(all, "pattern", "\"int main\\\\(\"");
    assert_json_at(all, "include_pattern", NULL);
    assert_json_at(all, "truncated", "false");
    some = run(folder, "grep", "{\"pattern\":\"main\",\"include\":\"*.c\"}");
    assert_json_at(some, "matches", "[\"DIR/a.c\"]");
    assert_json_at(some, "include_pattern", "\"*.c\"");
    none = run(folder, "grep", "{\"pattern\":\"lost\"}");
    assert_json_at(none, "matches", "[]");
    assert_json_at(none, "content[0].text",
                   "\"No files found containing pattern 'lost' in 'DIR'.\"");
}

static void searches_that_cannot_be_done_say_why(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *missing = run(folder, "glob", "{\"pattern\":\"*\",\"path\":\"no\"}");
    CLEANUP(mem_freep) char *bad = run(folder, "grep", "{\"pattern\":\"(\"}");
    CLEANUP(mem_freep) char *include = run(folder, "grep", "{\"pattern\":\"x\",\"path\":\"f\"}");
    CLEANUP(mem_freep) char *file = NULL;

    assert_failed(missing, "\"GlobObservation\"", "No such file");
    assert_json_at(missing, "files", "[]");
    assert_failed(bad, "\"GrepObservation\"", "Invalid regex");
    assert_failed(include, "\"GrepObservation\"", "cannot be searched");
    put_file(folder, "f", "x");
    file = run(folder, "grep", "{\"pattern\":\"x\",\"path\":\"f\"}");
    assert_failed(file, "\"GrepObservation\"", "Not a directory");
}

static void binary_files_and_links_are_left_out(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *text = NULL;
    FILE *file = NULL;

    put_file(folder, "real", "wanted\n");
    assert_int_equal(symlink("real", in_folder(folder, "link").text), 0);
    file = fopen(in_folder(folder, "binary").text, "we");
    assert_non_null(file);
    assert_int_equal(fwrite("wanted\n\0\n", 1, 9, file), 9);
    assert_int_equal(fclose(file), 0);
    text = run(folder, "grep", "{\"pattern\":\"wanted\"}");
    assert_json_at(text, "matches", "[\"DIR/real\"]");
}

/* --- reading and writing --- */

static void parts_of_files_are_read(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *whole = NULL;
    CLEANUP(mem_freep) char *part = NULL;
    CLEANUP(mem_freep) char *rest = NULL;
    CLEANUP(mem_freep) char *beyond = NULL;
    CLEANUP(mem_freep) char *missing = NULL;

    put_file(folder, "f", "one\ntwo\nthree\n");
    whole = run(folder, "read_file", "{\"file_path\":\"f\"}");
    assert_json_at(whole, "",
                   "{\"kind\":\"ReadFileObservation\",\"file_path\":\"DIR/f\",\"file_content\":"
                   "\"one\\ntwo\\nthree\\n\",\"is_truncated\":false,\"total_lines\":3,"
                   "\"lines_shown\":[1,3],\"is_error\":false,\"content\":[{\"type\":\"text\","
                   "\"text\":\"one\\ntwo\\nthree\\n\",\"cache_prompt\":false}]}");
    part = run(folder, "read_file", "{\"file_path\":\"f\",\"offset\":1,\"limit\":1}");
    assert_json_at(part, "file_content", "\"two\\n\"");
    assert_json_at(part, "lines_shown", "[2,2]");
    assert_json_at(part, "is_truncated", "true");
    assert_json_at(part, "content[0].text",
                   "\"[Lines 2 to 2 of 3; read on with offset 2.]\\ntwo\\n\"");
    rest = run(folder, "read_file", "{\"file_path\":\"f\",\"offset\":2}");
    assert_json_at(rest, "file_content", "\"three\\n\"");
    assert_json_at(rest, "is_truncated", "true");
    beyond = run(folder, "read_file", "{\"file_path\":\"f\",\"offset\":3}");
    assert_failed(beyond, "\"ReadFileObservation\"", "beyond the end");
    missing = run(folder, "read_file", "{\"file_path\":\"no\"}");
    assert_failed(missing, "\"ReadFileObservation\"", "File not found: DIR/no");
}

static void long_files_are_cut_at_a_line(void **state)
{
    const char *folder = *state;
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf wide = STRBUF_INIT;
    CLEANUP(mem_freep) char *many = NULL;
    CLEANUP(mem_freep) char *one = NULL;
    json_auto_t *json = NULL;

    for (int i = 0; i < 1001; i++)
        strbuf_append(&lines, "x\n");
    put_file(folder, "lines", lines.text);
    many = run(folder, "read_file", "{\"file_path\":\"lines\"}");
    assert_json_at(many, "lines_shown", "[1,1000]");
    assert_json_at(many, "total_lines", "1001");
    for (int i = 0; i < 200000; i++)
        strbuf_append(&wide, "ä");
    put_file(folder, "wide", wide.text);
    one = run(folder, "read_file", "{\"file_path\":\"wide\"}");
    json = json_loads(one, 0, NULL);
    assert_int_equal(strlen(json_text_or(json, "file_content", "")), 256 * 1024);
}

static void files_are_written_whole(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *made =
        run(folder, "write_file", "{\"file_path\":\"sub/dir/f\",\"content\":\"one\\n\"}");
    CLEANUP(mem_freep) char *again = NULL;

    assert_json_at(made, "is_new_file", "true");
    assert_json_at(made, "old_content", NULL);
    assert_json_at(made, "new_content", "\"one\\n\"");
    assert_json_at(made, "content[0].text", "\"Created DIR/sub/dir/f.\"");
    assert_json_at(made, "kind", "\"WriteFileObservation\"");
    assert_file(folder, "sub/dir/f", "one\n");
    again = run(folder, "write_file", "{\"file_path\":\"sub/dir/f\",\"content\":\"two\"}");
    assert_json_at(again, "is_new_file", "false");
    assert_json_at(again, "old_content", "\"one\\n\"");
    assert_json_at(again, "content[0].text", "\"Overwrote DIR/sub/dir/f.\"");
    assert_file(folder, "sub/dir/f", "two");
}

static void edits_replace_what_they_expect(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *once = NULL;
    CLEANUP(mem_freep) char *twice = NULL;
    CLEANUP(mem_freep) char *made = NULL;

    put_file(folder, "f", "a b a\n");
    once = run(folder, "edit", "{\"file_path\":\"f\",\"old_string\":\"b\",\"new_string\":\"c\"}");
    assert_json_at(once, "replacements_made", "1");
    assert_json_at(once, "is_new_file", "false");
    assert_json_at(once, "old_content", "\"a b a\\n\"");
    assert_json_at(once, "new_content", "\"a c a\\n\"");
    assert_json_at(once, "kind", "\"EditObservation\"");
    twice = run(folder, "edit",
                "{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"aa\","
                "\"expected_replacements\":2}");
    assert_json_at(twice, "replacements_made", "2");
    assert_file(folder, "f", "aa c aa\n");
    made =
        run(folder, "edit", "{\"file_path\":\"new/f\",\"old_string\":\"\",\"new_string\":\"x\"}");
    assert_json_at(made, "is_new_file", "true");
    assert_file(folder, "new/f", "x");
}

static void refused_edits_change_nothing(void **state)
{
    static const struct {
        const char *args;
        const char *words;
    } rows[] = {
        {"{\"file_path\":\"f\",\"old_string\":\"lost\",\"new_string\":\"x\"}", "No occurrence"},
        {"{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"x\"}", "occurs 2 times"},
        {"{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"a\"}", "are the same"},
        {"{\"file_path\":\"f\",\"old_string\":\"\",\"new_string\":\"x\"}", "exists"},
        {"{\"file_path\":\"no\",\"old_string\":\"a\",\"new_string\":\"x\"}", "File not found"},
    };
    const char *folder = *state;

    put_file(folder, "f", "a b a\n");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(mem_freep) char *text = run(folder, "edit", rows[i].args);

        assert_failed(text, "\"EditObservation\"", rows[i].words);
    }
    assert_file(folder, "f", "a b a\n");
}

/* 100,000 replacements by a text of a thousand bytes each. */
static void edit_does_not_make_a_huge_file(void **state)
{
    const char *folder = *state;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf args = STRBUF_INIT;
    CLEANUP(mem_freep) char *seen = NULL;

    for (int i = 0; i < 100000; i++)
        strbuf_append(&text, "a\n");
    put_file(folder, "f", text.text);
    strbuf_appendf(&args,
                   "{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"%01000d\","
                   "\"expected_replacements\":100000}",
                   0);
    seen = run(folder, "edit", args.text);
    assert_failed(seen, "\"EditObservation\"", "larger than 10 MB");
}

static void folders_are_listed(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *flat = NULL;
    CLEANUP(mem_freep) char *deep = NULL;
    CLEANUP(mem_freep) char *missing = run(folder, "list_directory", "{\"dir_path\":\"no\"}");

    put_file(folder, "b.txt", "12345");
    put_file(folder, "a/c", "x");
    put_file(folder, ".git/config", "x");
    set_age(folder, "b.txt", 0);
    flat = run(folder, "list_directory", "{}");
    assert_json_at(flat, "entries[0].name", "\".git\"");
    assert_json_at(flat, "entries[1].is_directory", "true");
    assert_json_at(flat, "entries[2]",
                   "{\"name\":\"b.txt\",\"path\":\"DIR/b.txt\",\"is_directory\":false,\"size\":5,"
                   "\"modified_time\":\"2023-11-14T22:13:20\"}");
    assert_json_at(flat, "entries[3]", NULL);
    assert_json_at(flat, "total_count", "3");
    assert_json_at(flat, "is_truncated", "false");
    assert_json_at(flat, "dir_path", "\"DIR\"");
    assert_json_at(flat, "content[0].text", "\"3 entries in DIR:\\n.git/\\na/\\nb.txt (5 bytes)\"");
    deep = run(folder, "list_directory", "{\"dir_path\":\".\",\"recursive\":true}");
    assert_json_at(deep, "total_count", "4");
    assert_json_at(deep, "entries[2].path", "\"DIR/a/c\"");
    assert_failed(missing, "\"ListDirectoryObservation\"", "cannot be listed");
}

/* --- patches --- */

#define PATCH_ARGS(lines) "{\"patch\":\"*** Begin Patch\\n" lines "*** End Patch\"}"

static void patch_changes_all_its_files(void **state)
{
    const char *folder = *state;
    CLEANUP(mem_freep) char *text = NULL;

    put_file(folder, "f", "a\nb\n");
    put_file(folder, "gone", "x\n");
    put_file(folder, "from", "y\n");
    text = run(folder, "apply_patch",
               PATCH_ARGS("*** Add File: sub/new\\n+hi\\n*** Delete File: gone\\n"
                          "*** Update File: f\\n@@\\n-b\\n+B\\n"
                          "*** Update File: from\\n*** Move to: to\\n@@\\n-y\\n+z\\n"));
    assert_json_at(text, "is_error", "false");
    assert_json_at(text, "message", "\"Done!\"");
    assert_json_at(text, "fuzz", "0");
    assert_json_at(text, "kind", "\"ApplyPatchObservation\"");
    assert_json_at(text, "content[0].text", "\"Done!\"");
    assert_json_at(text, "commit.changes.gone", "{\"type\":\"delete\",\"old_content\":\"x\\n\"}");
    assert_json_at(
        text, "commit.changes.f",
        "{\"type\":\"update\",\"old_content\":\"a\\nb\\n\",\"new_content\":\"a\\nB\\n\"}");
    assert_json_at(text, "commit.changes.from.move_path", "\"to\"");
    assert_file(folder, "sub/new", "hi\n");
    assert_file(folder, "f", "a\nB\n");
    assert_file(folder, "to", "z\n");
    assert_int_not_equal(access(in_folder(folder, "gone").text, F_OK), 0);
    assert_int_not_equal(access(in_folder(folder, "from").text, F_OK), 0);
}

static void refused_patch_changes_nothing(void **state)
{
    static const struct {
        const char *args;
        const char *words;
    } rows[] = {
        {"{\"patch\":\"nonsense\"}", "first line must be"},
        {PATCH_ARGS("*** Add File: new\\n+x\\n*** Update File: f\\n@@\\n-lost\\n+x\\n"),
         "not found in f"},
        {PATCH_ARGS("*** Add File: f\\n+x\\n"), "f exists"},
        {PATCH_ARGS("*** Delete File: no\\n"), "there is no such file"},
        {PATCH_ARGS("*** Add File: ../out\\n+x\\n"), "is not a file below"},
        {PATCH_ARGS("*** Add File: /tmp/out\\n+x\\n"), "is not a file below"},
        {PATCH_ARGS("*** Add File: a/..\\n+x\\n"), "is not a file below"},
        {PATCH_ARGS("*** Update File: f\\n*** Move to: ../g\\n@@\\n-a\\n+x\\n"),
         "is not a file below"},
    };
    const char *folder = *state;

    put_file(folder, "f", "a\n");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(mem_freep) char *text = run(folder, "apply_patch", rows[i].args);

        assert_failed(text, "\"ApplyPatchObservation\"", rows[i].words);
        assert_json_at(text, "commit", NULL);
    }
    assert_file(folder, "f", "a\n");
    assert_int_not_equal(access(in_folder(folder, "new").text, F_OK), 0);
}

static void failures_have_the_tools_kind(void **state)
{
    json_auto_t *observation = file_tool_failure("grep", "it took too long");

    (void)state;
    assert_string_equal(json_text_or(observation, "kind", ""), "GrepObservation");
    assert_true(json_bool_or(observation, "is_error", 0));
    assert_true(file_tool_exists("apply_patch"));
    assert_false(file_tool_exists("terminal"));
}

int file_tool_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(glob_lists_the_newest_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hundred_files_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(grep_finds_files_by_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(searches_that_cannot_be_done_say_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(binary_files_and_links_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_of_files_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_files_are_cut_at_a_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_written_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edits_replace_what_they_expect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused_edits_change_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edit_does_not_make_a_huge_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(patch_changes_all_its_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused_patch_changes_nothing, set_up, tear_down),
        cmocka_unit_test(failures_have_the_tools_kind),
    };

    return cmocka_run_group_tests_name("file_tool", tests, NULL, NULL);
}

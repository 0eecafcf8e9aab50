/*
 * The editor's commands by the route of actions: what they change, show and refuse.
 */
#include "sandbox/editor/file_editor.h"

#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/mem.h"
#include "sandbox/editor/line_diff.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/tools_tests.h"

#define HEADERS "X-Deft-Conversation: 11111111-2222-4333-8444-555555555555\r\nX-Deft-Fence: 1\r\n"

/* more: further members of the arguments, which begin with a comma. */
static struct bench_reply edit(struct action_bench *bench, const char *command, const char *name,
                               const char *more)
{
    return bench_ask(bench, bench_text(bench, "PUT /actions/e%zu", bench->n_texts), HEADERS,
                     bench_text(bench,
                                "{\"tool\":\"file_editor\",\"args\":{\"command\":\"%s\",\"path\":"
                                "\"%s/%s\"%s}}",
                                command, bench->workspace, name, more));
}

#define assert_edit(bench, command, name, more, path, expected)                                    \
    do {                                                                                           \
        CLEANUP(bench_reply_done) struct bench_reply seen_ =                                       \
            edit((bench), (command), (name), (more));                                              \
                                                                                                   \
        assert_reply(seen_, 200, "observation." path, (expected));                                 \
    } while (0)

#define TEXT "content[0].text"

static void created_file_is_observed(void **state)
{
    struct action_bench *bench = *state;
    const char *path = bench_path(bench, "d/a");
    CLEANUP(bench_reply_done) struct bench_reply made = {0, STRBUF_INIT, STRBUF_INIT};

    made = edit(bench, "create", "d/a", ",\"file_text\":\"one\\n\"");
    assert_reply(made, 200, "observation",
                 bench_text(bench,
                            "{\"content\":[{\"type\":\"text\",\"text\":\"File created successfully "
                            "at: %s\",\"cache_prompt\":false}],\"is_error\":false,\"command\":"
                            "\"create\",\"path\":\"%s\",\"prev_exist\":false,\"new_content\":"
                            "\"one\\n\",\"kind\":\"FileEditorObservation\"}",
                            path, path));
    assert_file(bench, "d/a", "one\n");
    assert_edit(bench, "create", "d/a", ",\"file_text\":\"two\"", TEXT,
                bench_text(bench,
                           "\"File already exists at: %s. Command `create` does not overwrite "
                           "files.\"",
                           path));
    assert_file(bench, "d/a", "one\n");
}

static void replaced_text_is_shown_with_its_surroundings(void **state)
{
    struct action_bench *bench = *state;
    static const char review[] =
        "Review the change: indentation, no duplicated or lost lines. Edit "
        "the file again if it is not what you intended.";
    const char *path = bench_path(bench, "a");
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_write(bench, "a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    reply = edit(bench, "str_replace", "a", ",\"old_str\":\"6\\n\",\"new_str\":\"six\\nsix\\n\"");
    assert_reply(
        reply, 200, "observation." TEXT,
        bench_text(bench,
                   "\"The file %s has been edited. Here is the changed part, numbered as "
                   "by `cat -n`:\\n     2\\t2\\n     3\\t3\\n     4\\t4\\n     5\\t5\\n     "
                   "6\\tsix\\n     7\\tsix\\n     8\\t7\\n     9\\t8\\n    10\\t9\\n    "
                   "11\\t10\\n    12\\t11\\n%s\"",
                   path, review));
    assert_reply(reply, 200, "observation.prev_exist", "true");
    assert_reply(reply, 200, "observation.old_content",
                 "\"1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\n12\\n\"");
    assert_reply(reply, 200, "observation.new_content",
                 "\"1\\n2\\n3\\n4\\n5\\nsix\\nsix\\n7\\n8\\n9\\n10\\n11\\n12\\n\"");
    assert_edit(bench, "str_replace", "a", ",\"old_str\":\"12\"", "new_content",
                "\"1\\n2\\n3\\n4\\n5\\nsix\\nsix\\n7\\n8\\n9\\n10\\n11\\n\\n\"");
    assert_edit(bench, "undo_edit", "a", "", "new_content",
                "\"1\\n2\\n3\\n4\\n5\\nsix\\nsix\\n7\\n8\\n9\\n10\\n11\\n12\\n\"");
    bench_write(bench, "b", "x\ny\n");
    assert_edit(
        bench, "insert", "b", ",\"insert_line\":1,\"new_str\":\"new\"", TEXT,
        bench_text(bench,
                   "\"The file %s has been edited. Here is the changed part, numbered as by "
                   "`cat -n`:\\n     1\\tx\\n     2\\tnew\\n     3\\ty\\n%s\"",
                   bench_path(bench, "b"), review));
}

static void blanks_around_the_wanted_text_are_forgiven(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "a", "  if x:\n");
    assert_edit(bench, "str_replace", "a",
                ",\"old_str\":\"\\t\\n if x:  \\r\\n\",\"new_str\":\" if "
                "y: \"",
                "is_error", "false");
    assert_file(bench, "a", "  if y:\n");
}

static void edit_that_cannot_be_is_refused(void **state)
{
    struct action_bench *bench = *state;
    const char *work = bench->workspace;
    const struct {
        const char *command;
        const char *name;
        const char *more;
        const char *text;
    } cases[] = {
        {"create", "new", "", "Parameter `file_text` is required for command: create."},
        {"create", "a/new", ",\"file_text\":\"x\"",
         bench_text(bench, "%s/a is not a directory", work)},
        {"view", "none", "",
         bench_text(bench, "The path %s/none does not exist. Give the path of an existing file.",
                    work)},
        {"str_replace", "d", ",\"old_str\":\"x\"",
         bench_text(bench,
                    "The path %s/d is a directory; only the `view` command works on directories.",
                    work)},
        {"str_replace", "a", "", "Parameter `old_str` is required for command: str_replace."},
        {"str_replace", "a", ",\"old_str\":\"\"", "No replacement was made: `old_str` is empty."},
        {"str_replace", "a", ",\"old_str\":\"x\",\"new_str\":\"x\"",
         "No replacement was made: `new_str` and `old_str` are the same."},
        {"str_replace", "a", ",\"old_str\":\"none\",\"new_str\":\"y\"",
         bench_text(bench, "No replacement was made: `old_str` did not appear verbatim in %s/a.",
                    work)},
        {"str_replace", "a", ",\"old_str\":\"\\n\\n\",\"new_str\":\"y\"",
         bench_text(bench, "No replacement was made: `old_str` did not appear verbatim in %s/a.",
                    work)},
        {"str_replace", "a", ",\"old_str\":\"x\",\"new_str\":\"y\"",
         "No replacement was made: `old_str` occurs more than once, in lines 1, 1, 3. Give more of "
         "the text around it so that it is unique."},
        {"insert", "a", ",\"new_str\":\"y\"",
         "Parameter `insert_line` is required for command: insert."},
        {"insert", "a", ",\"insert_line\":1",
         "Parameter `new_str` is required for command: insert."},
        {"insert", "a", ",\"insert_line\":4,\"new_str\":\"y\"",
         "Invalid `insert_line` parameter: 4. It should be within the lines of the file: [0, 3]."},
        {"insert", "a", ",\"insert_line\":-1,\"new_str\":\"y\"",
         "Invalid `insert_line` parameter: -1. It should be within the lines of the file: [0, 3]."},
        {"undo_edit", "a", "", bench_text(bench, "No edit history found for %s/a.", work)},
        {"other", "a", "",
         "Unrecognized command other. The allowed commands are: view, create, str_replace, insert, "
         "undo_edit."},
        {"view", "d", ",\"view_range\":[1,2]",
         "The `view_range` parameter is not allowed when `path` is a directory."},
        {"view", "a", ",\"view_range\":[1]",
         "Invalid `view_range` parameter: it should be a list of two integers."},
        {"view", "a", ",\"view_range\":[1,2,3]",
         "Invalid `view_range` parameter: it should be a list of two integers."},
        {"view", "a", ",\"view_range\":[\"1\",2]",
         "Invalid `view_range` parameter: it should be a list of two integers."},
        {"view", "a", ",\"view_range\":[1,\"2\"]",
         "Invalid `view_range` parameter: it should be a list of two integers."},
        {"view", "a", ",\"view_range\":[0,1]",
         "Invalid `view_range` parameter: [0, 1]. Its first element should be within the lines of "
         "the file: [1, 3]."},
        {"view", "a", ",\"view_range\":[4,4]",
         "Invalid `view_range` parameter: [4, 4]. Its first element should be within the lines of "
         "the file: [1, 3]."},
        {"view", "a", ",\"view_range\":[2,1]",
         "Invalid `view_range` parameter: [2, 1]. Its second element should not be less than the "
         "first, or be -1."},
        {"view", "binary", "",
         bench_text(bench,
                    "The file %s/binary cannot be opened as text: the file is binary. Only images "
                    "can be viewed otherwise.",
                    work)},
        {"view", "large", "",
         bench_text(bench, "The file %s/large is too large (10.0 MB). The limit is 10 MB.", work)},
        {"view", "pipe", "",
         bench_text(
             bench,
             "The file %s/pipe cannot be opened as text: not a regular file. Only images can "
             "be viewed otherwise.",
             work)},
    };

    bench_shell(bench, "mkdir d; mkfifo pipe; truncate -s 10485761 large");
    bench_write(bench, "a", "x x\n2\nx\n");
    bench_write_bytes(bench, "binary", "a\0b", 3);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            edit(bench, cases[i].command, cases[i].name, cases[i].more);

        assert_reply(reply, 200, "observation." TEXT, bench_text(bench, "\"%s\"", cases[i].text));
        assert_reply(reply, 200, "observation.is_error", "true");
        assert_reply(reply, 200, "observation.path", NULL);
        assert_reply(reply, 200, "observation.prev_exist", "true");
        assert_reply(reply, 200, "observation.new_content", NULL);
    }
    assert_file(bench, "a", "x x\n2\nx\n");
    assert_false(bench_has(bench, "new"));
}

static void path_must_be_absolute(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "a", "x");
    assert_answers(bench, "PUT /actions/p1", HEADERS,
                   "{\"tool\":\"file_editor\",\"args\":{\"command\":\"view\",\"path\":\"a\"}}", 200,
                   "observation." TEXT,
                   bench_text(bench,
                              "\"The path a is not an absolute path. Maybe you meant %s/a?\"",
                              bench->workspace));
    assert_answers(bench, "PUT /actions/p2", HEADERS,
                   "{\"tool\":\"file_editor\",\"args\":{\"command\":\"view\",\"path\":\"none\"}}",
                   200, "observation." TEXT,
                   "\"The path none is not an absolute path, it should start with `/`.\"");
    assert_answers(bench, "PUT /actions/p3", HEADERS,
                   "{\"tool\":\"file_editor\",\"args\":{\"command\":\"view\"}}", 200,
                   "observation." TEXT, "\"Parameter `path` is required for command: view.\"");
}

static void lines_of_a_file_are_viewed(void **state)
{
    static const struct {
        const char *range;
        const char *lines;
    } cases[] = {
        {"", "     1\\ta\\n     2\\tb\\n     3\\tc\\n"},
        {",\"view_range\":null", "     1\\ta\\n     2\\tb\\n     3\\tc\\n"},
        {",\"view_range\":[2,3]", "     2\\tb\\n     3\\tc\\n"},
        {",\"view_range\":[1,1]", "     1\\ta\\n"},
        {",\"view_range\":[2,-1]", "     2\\tb\\n     3\\tc\\n"},
        {",\"view_range\":[3,4]",
         "     3\\tc\\nNOTE: line 4 of view_range is past the end; the file has 3 lines.\\n"},
    };
    struct action_bench *bench = *state;

    bench_write(bench, "a", "a\nb\nc\n");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_edit(bench, "view", "a", cases[i].range, TEXT,
                    bench_text(bench, "\"Here's the result of running `cat -n` on %s/a:\\n%s\"",
                               bench->workspace, cases[i].lines));
    bench_write(bench, "empty", "");
    assert_edit(bench, "view", "empty", ",\"view_range\":[1,1]", TEXT,
                bench_text(bench,
                           "\"Here's the result of running `cat -n` on %s/empty:\\n     1\\t\\n\"",
                           bench->workspace));
}

static void long_view_is_clipped(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *range;
        bool is_clipped;
    } cases[] = {
        {"", true},
        {",\"view_range\":[1,1600]", true},
        {",\"view_range\":[1,1599]", false},
        {",\"view_range\":[402,2000]", false},
        {",\"view_range\":[400,2000]", true},
        {",\"view_range\":[1900,2000]", false},
    };

    /* 10 characters a line: 1600 lines fit. */
    bench_shell(bench, "seq 100000001 100002000 > a");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            edit(bench, "view", "a", cases[i].range);

        if ((strstr(reply.body.text, "<response clipped>") != NULL) != cases[i].is_clipped)
            fail_msg("%s", cases[i].range);
    }
}

static void folder_is_viewed_two_levels_deep(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "mkdir -p v/b/c/d v/e; touch v/a v/.h1 v/.h2 v/b/x v/b/.h3 v/b/c/y;"
                       "ln -s b v/link; mkdir w");
    assert_edit(bench, "view", "v", "", TEXT,
                bench_text(bench,
                           "\"Here are the files and directories up to 2 levels deep in %s/v, "
                           "excluding hidden items:\\n%s/v/\\n%s/v/a\\n%s/v/b/\\n%s/v/b/c/\\n"
                           "%s/v/b/x\\n%s/v/e/\\n%s/v/link/\\n%s/v/link/c/\\n%s/v/link/x\\n\\n2 "
                           "hidden files or directories in this directory are left out. `ls -la "
                           "%s/v` shows them.\"",
                           bench->workspace, bench->workspace, bench->workspace, bench->workspace,
                           bench->workspace, bench->workspace, bench->workspace, bench->workspace,
                           bench->workspace, bench->workspace, bench->workspace));
    assert_edit(bench, "view", "w/", "", TEXT,
                bench_text(bench,
                           "\"Here are the files and directories up to 2 levels deep in %s/w/, "
                           "excluding hidden items:\\n%s/w/\\n\"",
                           bench->workspace, bench->workspace));
}

static void images_are_shown(void **state)
{
    static const char *const types[][2] = {
        {"a.png", "image/png"}, {"a.jpg", "image/jpeg"},  {"a.JPEG", "image/jpeg"},
        {"a.gif", "image/gif"}, {"a.webp", "image/webp"}, {"a.bmp", "image/bmp"},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        bench_write_bytes(bench, types[i][0], "a\0b", 3);
        assert_edit(
            bench, "view", types[i][0], "", "content",
            bench_text(bench,
                       "[{\"type\":\"text\",\"text\":\"Image file %s/%s:\",\"cache_prompt\":"
                       "false},{\"type\":\"image\",\"image_urls\":[\"data:%s;base64,YQBi\"],"
                       "\"cache_prompt\":false}]",
                       bench->workspace, types[i][0], types[i][1]));
    }
}

static void encoding_and_line_ends_stay(void **state)
{
    static const struct {
        const char *before;
        const char *seen;
        const char *after;
    } cases[] = {
        {"a\r\nb\r\n", "\"x\\nb\\n\"", "x\r\nb\r\n"},
        {"a\r\nb\n", "\"x\\r\\nb\\n\"", "x\r\nb\n"},
        {"\xEF\xBB\xBF"
         "a\n",
         "\"x\\n\"", "\xEF\xBB\xBFx\n"},
        {"a \xe4\xff\n", "\"x \xc3\xa4\xc3\xbf\\n\"", "x \xe4\xff\n"},
        {"a \xc3\xa4\n", "\"x \xc3\xa4\\n\"", "x \xc3\xa4\n"},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bench_write(bench, "a", cases[i].before);
        assert_edit(bench, "str_replace", "a", ",\"old_str\":\"a\",\"new_str\":\"x\"",
                    "new_content", cases[i].seen);
        assert_file(bench, "a", cases[i].after);
    }
    bench_write(bench, "a", "a \xe4\n");
    assert_edit(bench, "str_replace", "a", ",\"old_str\":\"a\",\"new_str\":\"\xe2\x82\xac\"", TEXT,
                "\"the file is Latin-1, which lacks some characters of the text\"");
    assert_file(bench, "a", "a \xe4\n");
}

static void ten_edits_of_a_file_are_undone(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "a", "0");
    for (int i = 0; i < 11; i++)
        assert_edit(bench, "str_replace", "a",
                    bench_text(bench, ",\"old_str\":\"%d\",\"new_str\":\"%d\"", i, i + 1),
                    "is_error", "false");
    assert_edit(bench, "undo_edit", "a", "", TEXT,
                bench_text(bench,
                           "\"Last edit to %s/a undone successfully. Here's the result of running "
                           "`cat -n` on %s/a:\\n     1\\t10\\n\"",
                           bench->workspace, bench->workspace));
    assert_edit(bench, "undo_edit", "a", "", "old_content", "\"10\"");
    for (int i = 8; i >= 1; i--)
        assert_edit(bench, "undo_edit", "a", "", "new_content", bench_text(bench, "\"%d\"", i));
    assert_edit(bench, "undo_edit", "a", "", TEXT,
                bench_text(bench, "\"No edit history found for %s/a.\"", bench->workspace));
    assert_file(bench, "a", "1");
}

static void contents_of_large_files_are_not_shown(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "printf b > large; head -c 1572860 /dev/zero | tr '\\0' a >> large");
    assert_edit(bench, "str_replace", "large", ",\"old_str\":\"b\",\"new_str\":\"cc\"", "is_error",
                "false");
    assert_edit(bench, "str_replace", "large", ",\"old_str\":\"cc\",\"new_str\":\"ccccccc\"",
                "old_content", NULL);
    assert_edit(bench, "undo_edit", "large", "", "new_content", NULL);
}

static void difference_of_texts_is_one_part(void **state)
{
    static const struct {
        const char *before;
        const char *after;
        const char *diff;
    } cases[] = {
        {"a\n", "a\n", ""},
        {"", "", ""},
        {"a\nb\nc\n", "a\nx\nc\n", "--- n\n+++ n\n@@ -2 +2 @@\n-b\n+x"},
        {"a\nb\n", "a\nb\nc\nd\n", "--- n\n+++ n\n@@ -2,0 +3,2 @@\n+c\n+d"},
        {"a\nb\nc\n", "c\n", "--- n\n+++ n\n@@ -1,2 +0,0 @@\n-a\n-b"},
        {"a", "a\n", "--- n\n+++ n\n@@ -1,0 +2 @@\n+"},
        {"a \t\r\n", "b \n", "--- n\n+++ n\n@@ -1 +1 @@\n-a\n+b"},
        {"ab\n", "a\n", "--- n\n+++ n\n@@ -1 +1 @@\n-ab\n+a"},
        {"a\na\n", "a\n", "--- n\n+++ n\n@@ -2 +1,0 @@\n-a"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf diff = STRBUF_INIT;

        line_diff_append(&diff, "n", cases[i].before, cases[i].after);
        assert_string_equal(diff.text, cases[i].diff);
    }
}

int editor_commands_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(created_file_is_observed),
        BENCH_TEST(replaced_text_is_shown_with_its_surroundings),
        BENCH_TEST(blanks_around_the_wanted_text_are_forgiven),
        BENCH_TEST(edit_that_cannot_be_is_refused),
        BENCH_TEST(path_must_be_absolute),
        BENCH_TEST(lines_of_a_file_are_viewed),
        BENCH_TEST(long_view_is_clipped),
        BENCH_TEST(folder_is_viewed_two_levels_deep),
        BENCH_TEST(images_are_shown),
        BENCH_TEST(encoding_and_line_ends_stay),
        BENCH_TEST(ten_edits_of_a_file_are_undone),
        BENCH_TEST(contents_of_large_files_are_not_shown),
        cmocka_unit_test(difference_of_texts_is_one_part),
    };

    return cmocka_run_group_tests_name("sandbox/editor_commands", tests, NULL, NULL);
}

/*
 * The file actions of the older API: read, write and edit.
 */
#include "sandbox/legacy/legacy_files.h"

#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/legacy/legacy_tests.h"

static struct bench_reply act(struct action_bench *bench, const char *name, const char *args)
{
    return bench_ask(bench, "POST /execute_action", "",
                     bench_text(bench, "{\"action\":{\"action\":\"%s\",\"args\":%s}}", name, args));
}

#define assert_acts(bench, name, args, path, expected)                                             \
    do {                                                                                           \
        CLEANUP(bench_reply_done) struct bench_reply reply_ = act((bench), (name), (args));        \
                                                                                                   \
        assert_reply(reply_, 200, (path), (expected));                                             \
    } while (0)

static void file_is_read_in_lines(void **state)
{
    struct action_bench *bench = *state;
    static const char *const ranges[][2] = {
        {"", "\"1\\n2\\n3\""},
        {",\"start\":1", "\"2\\n3\""},
        {",\"start\":1,\"end\":2", "\"2\\n\""},
        {",\"end\":1", "\"1\\n\""},
        {",\"end\":0", "\"\""},
        {",\"end\":-1", "\"1\\n2\\n3\""},
        {",\"start\":2,\"end\":1", "\"\""},
        {",\"start\":3", "\"\""},
        {",\"start\":9,\"end\":99", "\"\""},
        {",\"start\":0,\"end\":3", "\"1\\n2\\n3\""},
    };

    bench_write(bench, "a.txt", "1\n2\n3");
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
        assert_acts(bench, "read",
                    bench_text(bench, "{\"path\":\"%s/a.txt\"%s}", bench->workspace, ranges[i][0]),
                    "content", ranges[i][1]);
    assert_acts(bench, "read", "{\"path\":\"a.txt\",\"end\":1}", "",
                bench_text(bench,
                           "{\"observation\":\"read\",\"content\":\"1\\n\",\"extras\":{\"path\":"
                           "\"%s/a.txt\",\"impl_source\":\"default\"},\"message\":\"I read the "
                           "file %s/a.txt.\"}",
                           bench->workspace, bench->workspace));
}

static void media_are_read_as_data(void **state)
{
    static const char *const types[][2] = {
        {"a.png", "image/png"}, {"a.JPG", "image/jpeg"},  {"a.jpeg", "image/jpeg"},
        {"a.bmp", "image/bmp"}, {"a.gif", "image/gif"},   {"a.pdf", "application/pdf"},
        {"a.mp4", "video/mp4"}, {"a.webm", "video/webm"}, {"a.ogg", "video/ogg"},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        bench_write_bytes(bench, types[i][0], "a\0b", 3);
        assert_acts(bench, "read", bench_text(bench, "{\"path\":\"%s\"}", types[i][0]), "content",
                    bench_text(bench, "\"data:%s;base64,YQBi\"", types[i][1]));
    }
}

static void file_that_cannot_be_read_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    const char *work = bench->workspace;
    const struct {
        const char *name;
        const char *content;
    } cases[] = {
        {"none",
         bench_text(bench, "\"File not found: %s/none. Your current working directory is %s.\"",
                    work, work)},
        {"file/x",
         bench_text(bench, "\"File not found: %s/file/x. Your current working directory is %s.\"",
                    work, work)},
        {"folder",
         bench_text(bench, "\"Path is a directory: %s/folder. You can only read files\"", work)},
        {"pipe",
         bench_text(bench, "\"Not a regular file: %s/pipe. You can only read files\"", work)},
        {"binary", "\"ERROR_BINARY_FILE\""},
        {"latin1", bench_text(bench, "\"File could not be decoded as utf-8: %s/latin1.\"", work)},
    };

    bench_shell(bench, "mkdir folder; mkfifo pipe; echo > file");
    bench_write_bytes(bench, "binary", "a\0b", 3);
    bench_write(bench, "latin1", "\xe4");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            act(bench, "read", bench_text(bench, "{\"path\":\"%s\"}", cases[i].name));

        assert_reply(reply, 200, "observation", "\"error\"");
        assert_reply(reply, 200, "content", cases[i].content);
        assert_reply(reply, 200, "message", cases[i].content);
    }
    bench_shell(bench, "truncate -s 20971521 large");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            act(bench, "read", "{\"path\":\"large\"}");

        assert_reply(reply, 200, "observation", "\"error\"");
        assert_non_null(strstr(reply.body.text, "File could not be read: "));
    }
}

static void editor_reads_with_line_numbers(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    const char *path = bench_path(bench, "a.txt");

    bench_write(bench, "a.txt", "one\ntwo\nthree\n");
    reply =
        act(bench, "read",
            bench_text(bench, "{\"path\":\"%s\",\"impl_source\":\"oh_aci\",\"view_range\":[2,2]}",
                       path));
    assert_non_null(strstr(reply.body.text, "     2\\ttwo\\n"));
    assert_null(strstr(reply.body.text, "three"));
    assert_reply(reply, 200, "observation", "\"read\"");
    assert_reply(reply, 200, "extras",
                 bench_text(bench, "{\"path\":\"%s\",\"impl_source\":\"oh_aci\"}", path));
    assert_reply(reply, 200, "message", bench_text(bench, "\"I read the file %s.\"", path));
    assert_acts(bench, "read", "{\"path\":\"/none\",\"impl_source\":\"oh_aci\"}", "content",
                "\"ERROR:\\nThe path /none does not exist. Give the path of an existing file.\"");
}

static void file_is_written_in_lines(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *range;
        const char *text;
    } cases[] = {
        {"", "new\n"},
        {",\"start\":1", "1\nnew\n"},
        {",\"start\":1,\"end\":2", "1\nnew\n3"},
        {",\"start\":1,\"end\":1", "1\nnew\n2\n3"},
        {",\"start\":0,\"end\":0", "new\n1\n2\n3"},
        {",\"start\":3,\"end\":-1", "1\n2\n3new\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bench_write(bench, "a.txt", "1\n2\n3");
        assert_acts(bench, "write",
                    bench_text(bench, "{\"path\":\"a.txt\",\"content\":\"new\"%s}", cases[i].range),
                    "",
                    bench_text(bench,
                               "{\"observation\":\"write\",\"content\":\"\",\"extras\":{\"path\":"
                               "\"%s/a.txt\"},\"message\":\"I wrote to the file %s/a.txt.\"}",
                               bench->workspace, bench->workspace));
        assert_file(bench, "a.txt", cases[i].text);
    }
}

static void new_file_is_written_with_its_folders(void **state)
{
    struct action_bench *bench = *state;
    struct stat info = {0};

    assert_acts(bench, "write", "{\"path\":\"d/new\",\"content\":\"x\"}", "observation",
                "\"write\"");
    assert_file(bench, "d/new", "x\n");
    assert_int_equal(stat(bench_path(bench, "d/new"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0664);
    bench_shell(bench, "chmod 600 d/new");
    assert_acts(bench, "write", "{\"path\":\"d/new\",\"content\":\"y\"}", "observation",
                "\"write\"");
    assert_int_equal(stat(bench_path(bench, "d/new"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_acts(bench, "write", "{\"path\":\"d/empty\"}", "observation", "\"write\"");
    assert_file(bench, "d/empty", "\n");
}

static void file_that_cannot_be_written_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    const char *work = bench->workspace;

    bench_shell(bench, "mkdir folder; echo > file");
    bench_write(bench, "latin1", "\xe4");
    assert_acts(
        bench, "write", "{\"path\":\"folder\",\"content\":\"x\"}", "content",
        bench_text(bench, "\"Path is a directory: %s/folder. You can only write to files\"", work));
    assert_acts(bench, "write", "{\"path\":\"latin1\",\"content\":\"x\"}", "content",
                bench_text(bench, "\"File could not be decoded as utf-8: %s/latin1\"", work));
    assert_acts(
        bench, "write", "{\"path\":\"file/x\",\"content\":\"x\"}", "content",
        bench_text(bench, "\"File could not be written: %s/file is not a directory.\"", work));
    assert_acts(bench, "write", "{\"path\":\"file/x\",\"content\":\"x\"}", "observation",
                "\"error\"");
    assert_acts(bench, "write", "{\"path\":\"/proc/none\",\"content\":\"x\"}", "content",
                "\"File could not be written: writing /proc/none: No such file or directory.\"");
    bench_shell(bench, "truncate -s 20971521 large");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            act(bench, "write", "{\"path\":\"large\",\"content\":\"x\"}");

        assert_reply(reply, 200, "observation", "\"error\"");
        assert_non_null(strstr(reply.body.text, "File could not be read: "));
    }
}

static void edit_shows_its_change(void **state)
{
    struct action_bench *bench = *state;
    const char *path = bench_path(bench, "a.txt");
    CLEANUP(bench_reply_done) struct bench_reply made =
        act(bench, "edit",
            bench_text(bench, "{\"path\":\"%s\",\"command\":\"create\",\"file_text\":\"1\\n2\\n\"}",
                       path));
    CLEANUP(bench_reply_done) struct bench_reply changed =
        act(bench, "edit",
            bench_text(bench,
                       "{\"path\":\"%s\",\"command\":\"str_replace\",\"old_str\":\"2\","
                       "\"new_str\":\"two\",\"impl_source\":\"oh_aci\"}",
                       path));
    CLEANUP(bench_reply_done) struct bench_reply undone =
        act(bench, "edit", bench_text(bench, "{\"path\":\"%s\",\"command\":\"undo_edit\"}", path));

    assert_reply(made, 200, "observation", "\"edit\"");
    assert_reply(made, 200, "message", bench_text(bench, "\"I edited the file %s.\"", path));
    assert_reply(made, 200, "content",
                 bench_text(bench, "\"File created successfully at: %s\"", path));
    assert_reply(made, 200, "extras",
                 bench_text(bench,
                            "{\"path\":\"%s\",\"impl_source\":\"oh_aci\",\"prev_exist\":false,"
                            "\"old_content\":null,\"new_content\":\"1\\n2\\n\",\"diff\":\"--- "
                            "%s\\n+++ %s\\n@@ -0,0 +1,2 @@\\n+1\\n+2\"}",
                            path, path, path));
    assert_reply(changed, 200, "extras.prev_exist", "true");
    assert_reply(changed, 200, "extras.old_content", "\"1\\n2\\n\"");
    assert_reply(changed, 200, "extras.new_content", "\"1\\ntwo\\n\"");
    assert_reply(changed, 200, "extras.diff",
                 bench_text(bench, "\"--- %s\\n+++ %s\\n@@ -2 +2 @@\\n-2\\n+two\"", path, path));
    assert_reply(undone, 200, "extras.new_content", "\"1\\n2\\n\"");
}

static void line_of_an_insertion_may_be_text(void **state)
{
    struct action_bench *bench = *state;
    const char *path = bench_path(bench, "a.txt");
    static const struct {
        const char *line;
        const char *text; /* NULL: unchanged */
    } cases[] = {
        {"1", "1\nx\n2\n"}, {"\"1\"", "1\nx\n2\n"}, {"\"x\"", NULL},
        {"\"-1\"", NULL},   {"1.0", NULL},          {"null", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        bench_write(bench, "a.txt", "1\n2\n");
        reply = act(bench, "edit",
                    bench_text(bench,
                               "{\"path\":\"%s\",\"command\":\"insert\",\"new_str\":\"x\","
                               "\"insert_line\":%s}",
                               path, cases[i].line));
        assert_file(bench, "a.txt", cases[i].text != NULL ? cases[i].text : "1\n2\n");
        if (cases[i].text == NULL) {
            assert_reply(reply, 200, "content",
                         "\"ERROR:\\nParameter `insert_line` is required for command: insert.\"");
            assert_reply(reply, 200, "extras.new_content", "null");
            assert_reply(reply, 200, "extras.diff", "\"\"");
        }
    }
}

int legacy_files_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(file_is_read_in_lines),
        BENCH_TEST(media_are_read_as_data),
        BENCH_TEST(file_that_cannot_be_read_is_an_error),
        BENCH_TEST(editor_reads_with_line_numbers),
        BENCH_TEST(file_is_written_in_lines),
        BENCH_TEST(new_file_is_written_with_its_folders),
        BENCH_TEST(file_that_cannot_be_written_is_an_error),
        BENCH_TEST(edit_shows_its_change),
        BENCH_TEST(line_of_an_insertion_may_be_text),
    };

    return cmocka_run_group_tests_name("sandbox/legacy_files", tests, NULL, NULL);
}

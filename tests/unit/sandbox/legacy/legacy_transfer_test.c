/*
 * Files in and out by the older API: uploads, of which zip files are unpacked, and zipped folders.
 */
#include "sandbox/legacy/legacy_transfer.h"

#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/legacy/legacy_tests.h"

#define FORM "Content-Type: multipart/form-data; boundary=b\r\n"
#define PART(name)                                                                                 \
    "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" name "\"\r\n\r\n"
#define END "\r\n--b--\r\n"

static const char *upload_line(struct action_bench *bench, const char *query)
{
    return bench_text(bench, "POST /upload_file?destination=%s%s", bench->workspace, query);
}

static void file_is_uploaded_under_its_name(void **state)
{
    struct action_bench *bench = *state;
    struct stat info = {0};

    assert_answers(bench, upload_line(bench, "/d"), FORM, PART("a.txt") "text" END, 200, "",
                   bench_text(bench,
                              "{\"filename\":\"a.txt\",\"destination\":\"%s/d\",\"recursive\":"
                              "false}",
                              bench->workspace));
    assert_file(bench, "d/a.txt", "text");
    bench_shell(bench, "chmod 700 d/a.txt");
    assert_answers(bench, upload_line(bench, "/d&recursive=no"), FORM, PART("a.txt") "new" END, 200,
                   "recursive", "false");
    assert_file(bench, "d/a.txt", "new");
    assert_int_equal(stat(bench_path(bench, "d/a.txt"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_string_equal(bench_shell_line(bench, "ls -A d"), "a.txt");
}

static void upload_that_is_wrong_is_refused(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *query;
        const char *type;
        const char *body;
        int status;
        const char *detail;
    } cases[] = {
        {"", FORM, PART("") "x" END, 500, "\"400: The file needs a name without slashes\""},
        {"", FORM, PART("a/b") "x" END, 500, "\"400: The file needs a name without slashes\""},
        {"", FORM, PART(".") "x" END, 500, "\"400: The file needs a name without slashes\""},
        {"", FORM, PART("..") "x" END, 500, "\"400: The file needs a name without slashes\""},
        {"&recursive=true", FORM, PART("a") "x" END, 500,
         "\"400: Recursive uploads must be zip files\""},
        {"&recursive=TRUE", FORM, PART("a") "x" END, 500,
         "\"400: Recursive uploads must be zip files\""},
        {"&recursive=1", FORM, PART("a") "x" END, 500,
         "\"400: Recursive uploads must be zip files\""},
        {"", FORM, "--b--\r\n", 422, "\"Invalid request parameters\""},
        {"", "", PART("a") "x" END, 422, "\"Invalid request parameters\""},
        {"", FORM, PART("a.zip") "x" END, 500, "\"the file is not a zip archive, or is damaged\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_answers(bench, upload_line(bench, cases[i].query), cases[i].type, cases[i].body,
                       cases[i].status, "detail", cases[i].detail);
        assert_string_equal(bench_shell_line(bench, "ls -A"), "");
    }
    assert_answers(bench, "POST /upload_file?destination=x", FORM, PART("a") "x" END, 500, "detail",
                   "\"400: Destination path must be absolute\"");
    bench_write(bench, "file", "x");
    assert_answers(bench, upload_line(bench, "/file"), FORM, PART("a") "x" END, 500, "detail",
                   bench_text(bench, "\"%s/file is not a directory\"", bench->workspace));
    assert_answers(bench, upload_line(bench, ""), FORM, "--b--\r\n", 422, "errors",
                   "\"file: Field required\"");
    bench_shell(bench, "mkdir folder");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            bench_ask(bench, upload_line(bench, ""), FORM, PART("folder") "x" END);

        assert_int_equal(reply.status, 500);
        assert_string_equal(bench_shell_line(bench, "ls -A | tr '\\n' ' '"), "file folder ");
    }
}

/* What one route zips the other unpacks. */
static void folder_goes_out_and_in_again(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply zipped = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply unpacked = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf form = STRBUF_INIT;

    bench_shell(bench, "mkdir -p d/e/f ../out; echo one > d/a; echo two > d/e/b; : > d/e/empty;"
                       "echo hid > d/.hid; echo out > ../out/secret; ln -s ../../out d/link;"
                       "ln -s a d/file; ln -s none d/dead; mkfifo d/pipe");
    zipped = bench_ask(bench, bench_text(bench, "GET /download_files?path=%s/d/", bench->workspace),
                       "", NULL);
    assert_int_equal(zipped.status, 200);
    assert_header(&zipped, "content-type", "application/zip");
    assert_header(&zipped, "content-disposition", "attachment; filename=\"d.zip\"");
    strbuf_append(&form, PART("d.zip"));
    strbuf_append_bytes(&form, zipped.body.text, zipped.body.len);
    strbuf_append(&form, END);
    unpacked = bench_receive(
        bench, bench_send_bytes(bench, upload_line(bench, "/new&recursive=true"), FORM, &form));
    assert_reply(unpacked, 200, "",
                 bench_text(bench,
                            "{\"filename\":\"d.zip\",\"destination\":\"%s/new\","
                            "\"recursive\":true}",
                            bench->workspace));
    assert_string_equal(bench_shell_line(bench, "cd new; find . -type f | sort | tr '\\n' ' '"),
                        "./.hid ./a ./e/b ./e/empty ./file ");
    assert_file(bench, "new/a", "one\n");
    assert_file(bench, "new/e/b", "two\n");
    assert_file(bench, "new/e/empty", "");
    assert_file(bench, "new/file", "one\n");
}

static void deep_folder_is_refused(void **state)
{
    struct action_bench *bench = *state;
    const char *line = bench_text(bench, "GET /download_files?path=%s", bench->workspace);
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "for i in $(seq 128); do mkdir a; cd a; done");
    reply = bench_ask(bench, line, "", NULL);
    assert_int_equal(reply.status, 200);
    assert_header(&reply, "content-disposition", "attachment; filename=\"work.zip\"");
    bench_shell(bench, "for i in $(seq 128); do cd a; done; mkdir a");
    assert_answers(bench, line, "", NULL, 500, "detail",
                   "\"folders are nested more than 128 deep\"");
}

static void download_needs_an_absolute_path(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, "GET /download_files", "", NULL, 422, "errors",
                   "\"path: Field required\"");
    assert_answers(bench, "GET /download_files?path=x", "", NULL, 500, "detail",
                   "\"400: Path must be absolute\"");
    assert_answers(bench, bench_text(bench, "GET /download_files?path=%s/none", bench->workspace),
                   "", NULL, 500, "detail", "\"404: File not found\"");
}

int legacy_transfer_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(file_is_uploaded_under_its_name), BENCH_TEST(upload_that_is_wrong_is_refused),
        BENCH_TEST(folder_goes_out_and_in_again),    BENCH_TEST(deep_folder_is_refused),
        BENCH_TEST(download_needs_an_absolute_path),
    };

    return cmocka_run_group_tests_name("sandbox/legacy_transfer", tests, NULL, NULL);
}

/*
 * POST /api/file/upload: what is written, and what is refused without a trace.
 */
#include "sandbox/files/files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/core/action_limits.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/files/files_tests.h"

#define FORM "Content-Type: multipart/form-data; boundary=b\r\n"
#define PART "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n"
#define END "\r\n--b--\r\n"
#define BODY PART "content" END

static const char *upload_line(struct action_bench *bench, const char *name)
{
    return bench_text(bench, "POST /api/file/upload?path=%s/%s", bench->workspace, name);
}

/* No file of an upload that was refused, also no temporary one, stays in the workspace. */
static void assert_empty(struct action_bench *bench)
{
    assert_string_equal(bench_shell_line(bench, "ls -A | wc -l"), "0");
}

static void file_is_written_with_its_folders(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, upload_line(bench, "a/b/new"), FORM, BODY, 200, "",
                   "{\"success\":true,\"file_size\":7}");
    assert_file(bench, "a/b/new", "content");
    /* The path may be the rest of the route's own. */
    assert_answers(bench, bench_text(bench, "POST /api/file/upload/%s/c", bench->workspace + 1),
                   FORM, PART END, 200, "", "{\"success\":true,\"file_size\":0}");
    assert_file(bench, "c", "");
    assert_answers(bench, bench_text(bench, "POST /api/file/upload/%s/d", bench->workspace), FORM,
                   BODY, 200, "file_size", "7");
    assert_file(bench, "d", "content");
    assert_string_equal(bench_shell_line(bench, "ls -A | tr '\\n' ' '"), "a c d ");
}

static void existing_file_keeps_its_mode(void **state)
{
    struct action_bench *bench = *state;
    struct stat info = {0};

    bench_write(bench, "run", "old");
    assert_int_equal(chmod(bench_path(bench, "run"), 0751), 0);
    assert_answers(bench, upload_line(bench, "run"), FORM, BODY, 200, "success", "true");
    assert_file(bench, "run", "content");
    assert_int_equal(stat(bench_path(bench, "run"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0751);
}

static void request_without_path_or_file_is_invalid(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *path; /* NULL: none */
        const char *type;
        const char *body;
        const char *loc;
    } cases[] = {
        {NULL, FORM, BODY, "[\"query\",\"path\"]"},
        {"x", "", BODY, "[\"body\",\"file\"]"},
        {"x", "Content-Type: text/plain\r\n", BODY, "[\"body\",\"file\"]"},
        {"x", FORM, "--b--\r\n", "[\"body\",\"file\"]"},
        {"x", FORM, PART "content", "[\"body\",\"file\"]"},
        {"x", FORM, "--b\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx" END,
         "[\"body\",\"file\"]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *line =
            cases[i].path != NULL ? upload_line(bench, cases[i].path) : "POST /api/file/upload";
        CLEANUP(bench_reply_done) struct bench_reply reply =
            bench_ask(bench, line, cases[i].type, cases[i].body);

        assert_reply(reply, 422, "detail[0].loc", cases[i].loc);
        assert_reply(reply, 422, "detail[0].type", "\"missing\"");
        assert_reply(reply, 422, "detail[0].msg", "\"Field required\"");
        assert_reply(reply, 422, "detail[0].input", "null");
        assert_empty(bench);
    }
}

static void path_that_cannot_be_written_is_refused(void **state)
{
    struct action_bench *bench = *state;
    char long_name[300] = "";
    const struct {
        const char *path;
        int status;
        const char *detail;
    } cases[] = {
        {bench->folder, 400, "\"Path is a directory\""},
        {bench_path(bench, "none/"), 400, "\"Path is a directory\""},
        {bench_path(bench, "file/x"), 400, "\"A parent of the path is not a directory\""},
        {"relative", 400, "\"Path must be absolute\""},
        {"/%ff", 400, "\"Path must be UTF-8\""},
        {bench_text(bench, "/proc/deft/none"), 400, "\"A parent of the path is not a directory\""},
        {bench_text(bench, "/proc/none"), 400, "\"writing /proc/none: No such file or directory\""},
    };

    bench_write(bench, "file", "x");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_answers(bench, bench_text(bench, "POST /api/file/upload?path=%s", cases[i].path),
                       FORM, BODY, cases[i].status, "detail", cases[i].detail);
    memset(long_name, 'a', sizeof(long_name) - 1);
    assert_answers(bench, upload_line(bench, long_name), FORM, BODY, 400, "success", NULL);
    assert_string_equal(bench_shell_line(bench, "ls -A"), "file");
}

static void form_without_a_boundary_is_refused(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, upload_line(bench, "x"), "Content-Type: multipart/form-data\r\n", BODY,
                   400, "detail", "\"the body must be multipart/form-data\"");
    assert_empty(bench);
}

static void malformed_body_leaves_no_file(void **state)
{
    struct action_bench *bench = *state;

    assert_answers(bench, upload_line(bench, "x"), FORM, PART "content\r\n--bx\r\n", 400, "detail",
                   "\"the multipart body is malformed\"");
    assert_empty(bench);
}

/* Large bodies arrive in pieces, and are written back while they do. */
static void large_file_is_written_whole(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct stat info = {0};
    enum { SIZE = 9 * 1024 * 1024 + 1 };

    strbuf_append(&body, PART);
    strbuf_reserve(&body, SIZE);
    memset(body.text + body.len, 'z', SIZE);
    body.len += SIZE;
    strbuf_append(&body, END);
    assert_answers(bench, upload_line(bench, "large"), FORM, body.text, 200, "file_size",
                   "9437185");
    assert_int_equal(stat(bench_path(bench, "large"), &info), 0);
    assert_int_equal(info.st_size, SIZE);
    assert_string_equal(bench_shell_line(bench, "tr -d z < large | wc -c"), "0");
}

/* The limit is of the file's own bytes: the form around them has some more. */
static void file_over_the_limit_is_refused(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    int client = -1;

    client = bench_send(bench, upload_line(bench, "x"),
                        bench_text(bench, FORM "Content-Length: %lld\r\n",
                                   (long long)MAX_UPLOAD_BYTES + MAX_SMALL_BODY_BYTES + 1),
                        NULL);
    reply = bench_receive(bench, client);
    assert_int_equal(reply.status, 413);
    assert_empty(bench);
}

int upload_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(file_is_written_with_its_folders),
        BENCH_TEST(existing_file_keeps_its_mode),
        BENCH_TEST(request_without_path_or_file_is_invalid),
        BENCH_TEST(path_that_cannot_be_written_is_refused),
        BENCH_TEST(form_without_a_boundary_is_refused),
        BENCH_TEST(malformed_body_leaves_no_file),
        BENCH_TEST(large_file_is_written_whole),
        BENCH_TEST(file_over_the_limit_is_refused),
    };

    return cmocka_run_group_tests_name("sandbox/upload", tests, NULL, NULL);
}

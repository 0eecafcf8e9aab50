/*
 * GET /api/file/download and /files/shown: bytes, headers, ranges, and what is no file.
 */
#include "sandbox/files/static_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/files/files_tests.h"

/* A file of the workspace that was changed at a known time. */
static void write_dated(struct action_bench *bench, const char *name, const char *text)
{
    const struct timespec times[] = {{0, 0}, {1582939925, 5}}; /* 2020-02-29T01:32:05Z */

    bench_write(bench, name, text);
    assert_int_equal(utimensat(AT_FDCWD, bench_path(bench, name), times, 0), 0);
}

static const char *download_line(struct action_bench *bench, const char *name)
{
    return bench_text(bench, "GET /api/file/download?path=%s/%s", bench->workspace, name);
}

static void file_is_sent_with_its_headers(void **state)
{
    struct action_bench *bench = *state;
    struct stat info = {0};
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    write_dated(bench, "a.txt", "0123456789");
    assert_int_equal(stat(bench_path(bench, "a.txt"), &info), 0);
    reply = bench_ask(bench, download_line(bench, "a.txt"), "", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body.text, "0123456789");
    assert_header(&reply, "content-type", "application/octet-stream");
    assert_header(&reply, "content-length", "10");
    assert_header(&reply, "content-disposition", "attachment; filename=\"a.txt\"");
    assert_header(&reply, "last-modified", "Sat, 29 Feb 2020 01:32:05 GMT");
    assert_header(&reply, "accept-ranges", "bytes");
    assert_header(&reply, "content-range", NULL);
    assert_header(&reply, "etag",
                  bench_text(bench, "\"%llx-a-%llx\"", (unsigned long long)info.st_ino,
                             1582939925ULL * 1000000000ULL + 5));
}

/* Each of them comes at least once. */
static void each_day_and_month_has_its_name(void **state)
{
    static const struct {
        time_t at;
        const char *date;
    } cases[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {1612137599, "Sun, 31 Jan 2021 23:59:59 GMT"},
        {1612137600, "Mon, 01 Feb 2021 00:00:00 GMT"},
        {1614643200, "Tue, 02 Mar 2021 00:00:00 GMT"},
        {1617753600, "Wed, 07 Apr 2021 00:00:00 GMT"},
        {1620259200, "Thu, 06 May 2021 00:00:00 GMT"},
        {1622764800, "Fri, 04 Jun 2021 00:00:00 GMT"},
        {1625270400, "Sat, 03 Jul 2021 00:00:00 GMT"},
        {1628380799, "Sat, 07 Aug 2021 23:59:59 GMT"},
        {1630454400, "Wed, 01 Sep 2021 00:00:00 GMT"},
        {1633046400, "Fri, 01 Oct 2021 00:00:00 GMT"},
        {1635724800, "Mon, 01 Nov 2021 00:00:00 GMT"},
        {1638316800, "Wed, 01 Dec 2021 00:00:00 GMT"},
    };
    struct action_bench *bench = *state;

    bench_write(bench, "a", "x");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct timespec times[] = {{0, 0}, {cases[i].at, 0}};
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        assert_int_equal(utimensat(AT_FDCWD, bench_path(bench, "a"), times, 0), 0);
        reply = bench_ask(bench, download_line(bench, "a"), "", NULL);
        assert_header(&reply, "last-modified", cases[i].date);
    }
}

static void path_may_be_the_rest_of_the_routes_own(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_write(bench, "a b%", "x");
    reply =
        bench_ask(bench, bench_text(bench, "GET /api/file/download%s/a%%20b%%25", bench->workspace),
                  "", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body.text, "x");
    assert_header(&reply, "content-disposition", "attachment; filename*=utf-8''a%20b%25");
}

static void name_that_is_not_plain_is_encoded(void **state)
{
    static const struct {
        const char *name;
        const char *query;
        const char *disposition;
    } cases[] = {
        {"~ ", "~%20", "attachment; filename=\"~ \""},
        {"a\"", "a%22", "attachment; filename*=utf-8''a%22"},
        {"a\\", "a%5c", "attachment; filename*=utf-8''a%5C"},
        {"\x7f", "%7f", "attachment; filename*=utf-8''%7F"},
        {"\x1f", "%1f", "attachment; filename*=utf-8''%1F"},
        {"\xc3\xa4", "%c3%a4", "attachment; filename*=utf-8''%C3%A4"},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        bench_write(bench, cases[i].name, "x");
        reply = bench_ask(bench, download_line(bench, cases[i].query), "", NULL);
        assert_int_equal(reply.status, 200);
        assert_header(&reply, "content-disposition", cases[i].disposition);
    }
}

static void what_is_no_file_is_refused(void **state)
{
    struct action_bench *bench = *state;
    const struct {
        const char *path;
        int status;
        const char *detail;
    } cases[] = {
        {"relative", 400, "\"Path must be absolute\""},
        {bench->workspace, 400, "\"Path is not a file\""},
        {bench_path(bench, "pipe"), 400, "\"Path is not a file\""},
        {bench_path(bench, "none"), 404, "\"File not found\""},
        {bench_path(bench, "file/x"), 404, "\"File not found\""},
    };

    bench_write(bench, "file", "x");
    assert_int_equal(mkfifo(bench_path(bench, "pipe"), 0600), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_answers(bench, bench_text(bench, "GET /api/file/download?path=%s", cases[i].path),
                       "", NULL, cases[i].status, "detail", cases[i].detail);
    assert_answers(bench, "GET /api/file/download", "", NULL, 422, "detail[0].loc",
                   "[\"query\",\"path\"]");
}

static void range_is_sent_and_named(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *headers;
        int status;
        const char *range; /* NULL: no header */
        const char *body;  /* NULL: the error */
    } cases[] = {
        {"Range: bytes=2-4\r\n", 206, "bytes 2-4/10", "234"},
        {"Range: bytes=-1\r\n", 206, "bytes 9-9/10", "9"},
        {"Range: bytes=4-3\r\n", 416, "bytes */10", NULL},
        {"Range: bytes=10-\r\n", 416, "bytes */10", NULL},
        {"Range: bytes=2-4,6-7\r\n", 200, NULL, "0123456789"},
        {"Range: bytes=2-4\r\nIf-Range: Sat, 29 Feb 2020 01:32:05 GMT\r\n", 206, "bytes 2-4/10",
         "234"},
        {"Range: bytes=2-4\r\nIf-Range: Sat, 29 Feb 2020 01:32:06 GMT\r\n", 200, NULL,
         "0123456789"},
        {"Range: bytes=2-4\r\nIf-Range: \"other\"\r\n", 200, NULL, "0123456789"},
    };

    write_dated(bench, "a.txt", "0123456789");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            bench_ask(bench, download_line(bench, "a.txt"), cases[i].headers, NULL);

        assert_int_equal(reply.status, cases[i].status);
        assert_header(&reply, "content-range", cases[i].range);
        if (cases[i].body != NULL)
            assert_string_equal(reply.body.text, cases[i].body);
        else
            assert_json_at(reply.body.text, "detail", "\"Range Not Satisfiable\"");
    }
}

static void range_may_depend_on_the_etag(void **state)
{
    struct action_bench *bench = *state;
    struct stat info = {0};
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    write_dated(bench, "a.txt", "0123456789");
    assert_int_equal(stat(bench_path(bench, "a.txt"), &info), 0);
    reply =
        bench_ask(bench, download_line(bench, "a.txt"),
                  bench_text(bench, "Range: bytes=0-0\r\nIf-Range: \"%llx-a-%llx\"\r\n",
                             (unsigned long long)info.st_ino, 1582939925ULL * 1000000000ULL + 5),
                  NULL);
    assert_int_equal(reply.status, 206);
    assert_string_equal(reply.body.text, "0");
}

/* --- /files/shown --- */

static void type_follows_from_the_ending(void **state)
{
    static const char *const types[][2] = {
        {"a.html", "text/html; charset=utf-8"},
        {"a.htm", "text/html; charset=utf-8"},
        {"a.css", "text/css; charset=utf-8"},
        {"a.js", "text/javascript; charset=utf-8"},
        {"a.mjs", "text/javascript; charset=utf-8"},
        {"a.json", "application/json"},
        {"a.map", "application/json"},
        {"a.txt", "text/plain; charset=utf-8"},
        {"a.md", "text/markdown; charset=utf-8"},
        {"a.log", "text/plain; charset=utf-8"},
        {"a.csv", "text/csv; charset=utf-8"},
        {"a.xml", "application/xml"},
        {"a.svg", "image/svg+xml"},
        {"a.PNG", "image/png"},
        {"a.jpg", "image/jpeg"},
        {"a.jpeg", "image/jpeg"},
        {"a.gif", "image/gif"},
        {"a.webp", "image/webp"},
        {"a.avif", "image/avif"},
        {"a.bmp", "image/bmp"},
        {"a.ico", "image/vnd.microsoft.icon"},
        {"a.pdf", "application/pdf"},
        {"a.wasm", "application/wasm"},
        {"a.woff", "font/woff"},
        {"a.woff2", "font/woff2"},
        {"a.ttf", "font/ttf"},
        {"a.mp3", "audio/mpeg"},
        {"a.wav", "audio/wav"},
        {"a.mp4", "video/mp4"},
        {"a.webm", "video/webm"},
        {"a.zip", "application/zip"},
        {"a.tar.gz", "application/gzip"},
        {"a.none", "application/octet-stream"},
        {"a", "application/octet-stream"},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        bench_write(bench, types[i][0], "x");
        reply = bench_ask(
            bench, bench_text(bench, "GET /files/shown?file=%s/%s", bench->workspace, types[i][0]),
            "", NULL);
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.body.text, "x");
        assert_header(&reply, "content-type", types[i][1]);
        assert_header(&reply, "content-disposition", NULL);
    }
}

static void folder_is_shown_by_its_index(void **state)
{
    struct action_bench *bench = *state;
    const char *line = bench_text(bench, "GET /files/shown?file=%s", bench->workspace);
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_answers(bench, line, "", NULL, 404, "detail", "\"No index.html in directory\"");
    bench_write(bench, "index.html", "<p>");
    reply = bench_ask(bench, line, "", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body.text, "<p>");
    assert_header(&reply, "content-type", "text/html; charset=utf-8");
}

static void shown_path_must_be_absolute_and_inside(void **state)
{
    struct action_bench *bench = *state;
    const char *inside = bench_text(bench, "X-Deft-Inside: %s\r\n", bench->workspace);

    bench_write(bench, "in.txt", "x");
    bench_write(bench, "../out.txt", "secret");
    bench_shell(bench, "mkdir web; ln -s ../../out.txt web/index.html");
    assert_answers(bench, "GET /files/shown", "", NULL, 400, "detail", "\"Path must be absolute\"");
    assert_answers(bench, "GET /files/shown?file=in.txt", "", NULL, 400, "detail",
                   "\"Path must be absolute\"");
    assert_answers(bench,
                   bench_text(bench, "GET /files/shown?file=%s/../out.txt", bench->workspace),
                   inside, NULL, 400, "detail", "\"Path is outside the workspace\"");
    assert_answers(bench, bench_text(bench, "GET /files/shown?file=%s/web", bench->workspace),
                   inside, NULL, 400, "detail", "\"Path is outside the workspace\"");
    assert_answers(bench, bench_text(bench, "GET /files/shown?file=%s/none", bench->workspace),
                   inside, NULL, 404, "detail", "\"File not found\"");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            bench_ask(bench, bench_text(bench, "GET /files/shown?file=%s/in.txt", bench->workspace),
                      inside, NULL);

        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.body.text, "x");
    }
}

int download_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(file_is_sent_with_its_headers),
        BENCH_TEST(each_day_and_month_has_its_name),
        BENCH_TEST(path_may_be_the_rest_of_the_routes_own),
        BENCH_TEST(name_that_is_not_plain_is_encoded),
        BENCH_TEST(what_is_no_file_is_refused),
        BENCH_TEST(range_is_sent_and_named),
        BENCH_TEST(range_may_depend_on_the_etag),
        BENCH_TEST(type_follows_from_the_ending),
        BENCH_TEST(folder_is_shown_by_its_index),
        BENCH_TEST(shown_path_must_be_absolute_and_inside),
    };

    return cmocka_run_group_tests_name("sandbox/download", tests, NULL, NULL);
}

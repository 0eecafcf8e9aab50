/*
 * The routes below /api/file that list, search and create directories.
 */
#include "sandbox/files/files.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/files/files_tests.h"

static const char *search_line(struct action_bench *bench, const char *query)
{
    return bench_text(bench, "GET /api/file/search_subdirs?path=%s%s", bench->workspace, query);
}

/* The names that a search finds, as a JSON list. */
static void assert_found(struct action_bench *bench, const char *query, const char *names,
                         const char *next_page)
{
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_ask(bench, search_line(bench, query), "", NULL);
    json_auto_t *body = json_loads(reply.body.text, 0, NULL);
    json_auto_t *found = json_array();
    const json_t *item = NULL;
    size_t i = 0;
    char *text = NULL;

    json_array_foreach (json_object_get(body, "items"), i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));

        assert_non_null(name);
        assert_string_equal(json_string_value(json_object_get(item, "path")),
                            bench_path(bench, name));
        assert_int_equal(json_array_append(found, json_object_get(item, "name")), 0);
    }
    text = json_dumps(found, JSON_COMPACT);
    assert_int_equal(reply.status, 200);
    assert_string_equal(text, names);
    assert_json_at(reply.body.text, "next_page_id", next_page);
    free(text);
}

static void only_folders_are_found_in_order(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "mkdir b A a .hid z; ln -s b link; ln -s none dead; echo > file;"
                       "mkdir $(printf '\\377')");
    assert_found(bench, "", "[\"A\",\"a\",\"b\",\"link\",\"z\"]", "null");
    assert_found(bench, "&include_hidden=TRUE", "[\".hid\",\"A\",\"a\",\"b\",\"link\",\"z\"]",
                 "null");
    assert_found(bench, "&include_hidden=1", "[\".hid\",\"A\",\"a\",\"b\",\"link\",\"z\"]", "null");
    assert_found(bench, "&include_hidden=0", "[\"A\",\"a\",\"b\",\"link\",\"z\"]", "null");
}

static void folders_come_in_pages(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "mkdir A a b c");
    assert_found(bench, "&limit=2", "[\"A\",\"a\"]", "\"b\"");
    assert_found(bench, "&limit=2&page_id=b", "[\"b\",\"c\"]", "null");
    assert_found(bench, "&limit=4", "[\"A\",\"a\",\"b\",\"c\"]", "null");
    assert_found(bench, "&limit=3", "[\"A\",\"a\",\"b\"]", "\"c\"");
    assert_found(bench, "&limit=1&page_id=a", "[\"a\"]", "\"b\"");
    /* Not a name: the first that does not come before it. */
    assert_found(bench, "&page_id=B", "[\"b\",\"c\"]", "null");
    assert_found(bench, "&page_id=bb", "[\"c\"]", "null");
    assert_found(bench, "&page_id=d", "[]", "null");
}

static void page_has_a_hundred_folders(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "mkdir $(seq 1000 1100)");
    reply = bench_ask(bench, search_line(bench, ""), "", NULL);
    assert_reply(reply, 200, "items[99].name", "\"1099\"");
    assert_reply(reply, 200, "items[100]", NULL);
    assert_reply(reply, 200, "next_page_id", "\"1100\"");
}

static void root_is_searched_without_a_second_slash(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_ask(bench, "GET /api/file/search_subdirs?path=/&limit=1&page_id=tmp", "", NULL);

    assert_reply(reply, 200, "items[0]", "{\"name\":\"tmp\",\"path\":\"/tmp\"}");
}

static void wrong_search_is_refused(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "file", "x");
    assert_answers(bench, "GET /api/file/search_subdirs", "", NULL, 422, "detail[0].loc",
                   "[\"query\",\"path\"]");
    assert_answers(bench, "GET /api/file/search_subdirs?path=x", "", NULL, 400, "detail",
                   "\"Path must be absolute\"");
    assert_answers(bench, search_line(bench, "/none"), "", NULL, 404, "detail",
                   "\"Path not found\"");
    assert_answers(bench, search_line(bench, "/file"), "", NULL, 400, "detail",
                   "\"Path is not a directory\"");
    assert_answers(bench, search_line(bench, "&limit=1"), "", NULL, 200, "items", "[]");
    assert_answers(bench, search_line(bench, "&limit=100"), "", NULL, 200, "items", "[]");
    assert_answers(bench, search_line(bench, "&limit=0"), "", NULL, 400, "items", NULL);
    assert_answers(bench, search_line(bench, "&limit=101"), "", NULL, 400, "items", NULL);
    assert_answers(bench, search_line(bench, "&limit=x"), "", NULL, 400, "items", NULL);
}

static void directory_is_created_with_its_parents(void **state)
{
    struct action_bench *bench = *state;
    const char *line =
        bench_text(bench, "POST /api/file/create_directory?path=%s/a/b", bench->workspace);

    assert_answers(bench, line, "", "", 200, "", "{\"success\":true}");
    assert_string_equal(bench_shell_line(bench, "test -d a/b && echo yes"), "yes");
    /* One that exists is enough. */
    assert_answers(bench, line, "", "", 200, "", "{\"success\":true}");
}

static void directory_that_cannot_be_is_refused(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "file", "x");
    assert_answers(bench, "POST /api/file/create_directory", "", "", 422, "detail[0].loc",
                   "[\"query\",\"path\"]");
    assert_answers(bench, "POST /api/file/create_directory?path=x", "", "", 400, "detail",
                   "\"Path must be absolute\"");
    assert_answers(
        bench, bench_text(bench, "POST /api/file/create_directory?path=%s/file", bench->workspace),
        "", "", 400, "detail", "\"Path is not a directory\"");
    assert_answers(
        bench,
        bench_text(bench, "POST /api/file/create_directory?path=%s/file/x", bench->workspace), "",
        "", 400, "detail", "\"Path is not a directory\"");
    assert_file(bench, "file", "x");
}

static void home_is_where_the_workspace_is(void **state)
{
    static const char *const homes[][2] = {
        {"/workspace/project", "\"/\""},
        {"/home/ann/workspace/project", "\"/home/ann\""},
        {"/srv/code", "\"/srv/code\""},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        mem_free((char *)(uintptr_t)bench->config.workspace);
        bench->config.workspace = mem_dup_text(homes[i][0]);
        reply = bench_ask(bench, "GET /api/file/home", "", NULL);
        assert_reply(reply, 200, "home", homes[i][1]);
        assert_reply(reply, 200, "favorites",
                     bench_text(bench, "[{\"label\":\"Workspace\",\"path\":\"%s\"}]", homes[i][0]));
        assert_reply(reply, 200, "locations", "[{\"label\":\"/\",\"path\":\"/\"}]");
    }
}

int directories_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(only_folders_are_found_in_order),
        BENCH_TEST(folders_come_in_pages),
        BENCH_TEST(page_has_a_hundred_folders),
        BENCH_TEST(root_is_searched_without_a_second_slash),
        BENCH_TEST(wrong_search_is_refused),
        BENCH_TEST(directory_is_created_with_its_parents),
        BENCH_TEST(directory_that_cannot_be_is_refused),
        BENCH_TEST(home_is_where_the_workspace_is),
    };

    return cmocka_run_group_tests_name("sandbox/directories", tests, NULL, NULL);
}

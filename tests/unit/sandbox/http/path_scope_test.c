#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/path_scope.h"
#include "sandbox/http/server_request.h"
#include "unit/sandbox/sandbox_test.h"

static void plain_paths_lose_their_dots(void **state)
{
    static const char *const cases[][2] = {
        {"/", "/"},
        {"//none//such/", "/none/such"},
        {"/none/./a/../b", "/none/b"},
        {"/../../none", "/none"},
        {"/none/..", "/"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(path_scope_resolve(cases[i][0], &out, &err), 0);
        assert_string_equal(out.text, cases[i][1]);
    }
}

static const char *const made[] = {"work/out", "work/abroad", "work/dangling", "work/loop",
                                   "alias",    "work",        "other"};

static void links_are_followed_before_dots(void **state)
{
    char dir[] = "/tmp/deft-inside-XXXXXX";
    struct error err = ERROR_INIT;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir("work", 0700), 0);
    assert_int_equal(mkdir("other", 0700), 0);
    assert_int_equal(symlink("../other", "work/out"), 0);
    assert_int_equal(symlink("/etc", "work/abroad"), 0);
    assert_int_equal(symlink("none/yet", "work/dangling"), 0);
    assert_int_equal(symlink("loop", "work/loop"), 0);
    assert_int_equal(symlink("work", "alias"), 0);
    {
        static const char *const kept[] = {"/work",      "/work/a",         "/work/dangling",
                                           "/alias/new", "/work/../work/x", "/other/../work"};
        static const char *const refused[] = {
            "/work/out", "/work/out/x", "/work/abroad/passwd", "/work/out/../x",
            "/works",    "/work/..",    "/work/loop",          "/alias/out"};
        CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf loop = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf none = STRBUF_INIT;

        strbuf_appendf(&folder, "%s/alias", dir);
        for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
            CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

            strbuf_appendf(&path, "%s%s", dir, kept[i]);
            assert_true(path_scope_contains(folder.text, path.text));
        }
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
            CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

            strbuf_appendf(&path, "%s%s", dir, refused[i]);
            assert_false(path_scope_contains(folder.text, path.text));
        }
        strbuf_appendf(&loop, "%s/work/loop", dir);
        assert_int_equal(path_scope_resolve(loop.text, &none, &err), -1);
    }
    for (size_t i = 0; i < ARRAY_SIZE(made); i++)
        assert_int_equal(remove(made[i]), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void relative_paths_are_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(path_scope_resolve("tmp", &out, &err), -1);
    assert_false(path_scope_contains("/", "tmp"));
    assert_true(path_scope_contains("/", "/tmp"));
}

static void on_answered(struct http_connection *connection)
{
    (void)connection;
}

/* The path that a handler is given; "" where the request was answered with 422. */
static void check_path(const char *target, const char *header, struct strbuf *path_out)
{
    CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct action_server server = {.loop = NULL};
    struct server_request *request = NULL;
    struct error err = ERROR_INIT;
    size_t used = 0;

    strbuf_appendf(&text, "GET %s HTTP/1.1\r\n%s\r\n", target, header);
    assert_int_equal(http_head_read(&head, text.text, text.len, &used, &err), 0);
    request = server_request_new(&server, &head);
    request->answered = on_answered;
    strbuf_reset(path_out);
    if (path_scope_check(request)) {
        assert_false(request->is_answered);
        strbuf_append(path_out, server_request_query(request, "path"));
    } else {
        assert_int_equal(request->status, 422);
    }
    server_request_free(request);
}

/* What is checked is what is opened: links are resolved once. */
static void path_of_a_limited_request_is_the_resolved_one_or_refused(void **state)
{
    static const struct {
        const char *target;
        const char *header;
        const char *path;
    } cases[] = {
        {"/x?path=/none/work/../work/a", "X-Deft-Inside: /none/work\r\n", "/none/work/a"},
        {"/x?path=/none/work/a/", "X-Deft-Inside: /none/work\r\n", "/none/work/a/"},
        {"/x?path=/none/w%20k/a", "X-Deft-Inside: /none/w%20k\r\n", "/none/w k/a"},
        {"/x?path=/none/work/../other", "X-Deft-Inside: /none/work\r\n", ""},
        {"/x?path=/none/works", "X-Deft-Inside: /none/work\r\n", ""},
        {"/x?path=work", "X-Deft-Inside: /none/work\r\n", ""},
        {"/x?path=", "X-Deft-Inside: /none/work\r\n", ""},
        {"/x?path=/none/work/../other", "", "/none/work/../other"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        check_path(cases[i].target, cases[i].header, &path);
        assert_string_equal(path.text, cases[i].path);
    }
}

int path_scope_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_paths_lose_their_dots),
        cmocka_unit_test(links_are_followed_before_dots),
        cmocka_unit_test(relative_paths_are_refused),
        cmocka_unit_test(path_of_a_limited_request_is_the_resolved_one_or_refused),
    };

    return cmocka_run_group_tests_name("path_scope", tests, NULL, NULL);
}

/*
 * Which files of a folder are told, and that nothing outside of it is.
 */
#include "sandbox/git/repository_fetch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/fork_request.h"
#include "sandbox/http/server_request.h"
#include "support/json_path.h"
#include "unit/sandbox/sandbox_test.h"

/* below root: in/skill.md, in/deep/notes.txt, in/out -> out, out/secret.md */
struct bench {
    struct action_server server;
    char root[32];
};

static const char *const folders[] = {"in", "in/deep", "out"};
static const char *const files[] = {"in/skill.md", "in/deep/notes.txt", "out/secret.md"};

static void at(const struct bench *bench, const char *name, char path[80])
{
    (void)snprintf(path, 80, "%s/%s", bench->root, name);
}

static int set_up(void **state)
{
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;
    char path[80] = "";

    memcpy(bench->root, "/tmp/deft-fetch-XXXXXX", sizeof("/tmp/deft-fetch-XXXXXX"));
    assert_non_null(mkdtemp(bench->root));
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        at(bench, folders[i], path);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        CLEANUP(fd_close) int fd = -1;

        at(bench, files[i], path);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, "content", 7, &err), 0);
    }
    at(bench, "in/out", path);
    assert_int_equal(symlink("../out", path), 0);
    assert_int_equal(event_loop_new(&bench->server.loop, &err), 0);
    bench->server.forks = fork_requests_new(bench->server.loop);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    char path[80] = "";

    fork_requests_free(bench->server.forks);
    event_loop_free(bench->server.loop);
    at(bench, "in/out", path);
    (void)unlink(path);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        at(bench, files[i], path);
        (void)unlink(path);
    }
    for (size_t i = ARRAY_SIZE(folders); i > 0; i--) {
        at(bench, folders[i - 1], path);
        (void)rmdir(path);
    }
    assert_int_equal(rmdir(bench->root), 0);
    mem_free(bench);
    return 0;
}

static void on_answered(struct http_connection *connection)
{
    (void)connection;
}

/* The work leaves a large body in a file. */
static void read_reply(const struct server_request *request, struct strbuf *answer)
{
    char bytes[4096] = "";
    ssize_t n = 0;

    strbuf_append_bytes(answer, request->reply.text, request->reply.len);
    if (request->file_fd < 0)
        return;
    n = pread(request->file_fd, bytes, sizeof(bytes), request->file_at);
    assert_true(n > 0);
    strbuf_append_bytes(answer, bytes, (size_t)n);
}

/* Fetches a part of "in"; the status, and the body in *answer. */
static int fetch(struct bench *bench, const char *part, struct strbuf *answer)
{
    static const char text[] = "POST /repositories/fetch HTTP/1.1\r\n\r\n";
    CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
    struct server_request *request = NULL;
    struct error err = ERROR_INIT;
    size_t used = 0;
    int status = 0;

    assert_int_equal(http_head_read(&head, text, strlen(text), &used, &err), 0);
    request = server_request_new(&bench->server, &head);
    request->answered = on_answered;
    strbuf_appendf(&request->body, "{\"source\":\"%s/in\",\"repo_path\":\"%s\"}", bench->root,
                   part);
    repository_fetch_handle(request);
    while (!request->is_answered)
        event_loop_dispatch(bench->server.loop);
    status = request->status;
    strbuf_reset(answer);
    read_reply(request, answer);
    server_request_free(request);
    return status;
}

static void files_are_told_but_links_are_not_followed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;

    assert_int_equal(fetch(*state, "", &answer), 200);
    assert_json_at(answer.text, "files[0].path", "\"deep/notes.txt\"");
    assert_json_at(answer.text, "files[1].path", "\"skill.md\"");
    assert_json_at(answer.text, "files[2]", NULL);
    assert_int_equal(fetch(*state, "deep", &answer), 200);
    assert_json_at(answer.text, "files[0].path", "\"notes.txt\"");
    assert_json_at(answer.text, "files[1]", NULL);
}

/* Where each other path leads to a folder with a file that is not of the repository. */
static void part_that_leads_out_is_refused(void **state)
{
    static const char *const parts[] = {"..",   "../out", "out",     "deep/../../out",
                                        "/tmp", "none",   "skill.md"};
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (fetch(*state, parts[i], &answer) == 200 && strstr(answer.text, "unreachable") == NULL)
            fail_msg("%s: %s", parts[i], answer.text);
        assert_null(strstr(answer.text, "secret.md"));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int repository_fetch_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_told_but_links_are_not_followed),
        TEST(part_that_leads_out_is_refused),
    };

    return cmocka_run_group_tests_name("sandbox/repository_fetch", tests, NULL, NULL);
}

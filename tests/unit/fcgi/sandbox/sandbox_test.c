#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define ANSWER(type, length, body)                                                                 \
    "HTTP/1.1 200 OK\r\nContent-Type: " type "\r\nContent-Length: " length "\r\n\r\n" body

static const char alive[] = ANSWER("application/json", "15", "{\"status\":\"ok\"}");
static const char page[] =
    ANSWER("application/json", "33", "{\"items\":[],\"next_page_id\":null}\n");

static void reads_are_passed_on_with_the_sandboxs_key(void **state)
{
    const struct test_reply replies[] = {{.bytes = page}};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    DISPATCH(answer, ALICE, "GET", "/api/bash/bash_events/search?limit=5&kind__eq=BashOutput",
             NULL);

    assert_answer_json(&answer, 200, "{\"items\":[],\"next_page_id\":null}");
    assert_asked(server, 0, "GET /api/bash/bash_events/search?limit=5&kind__eq=BashOutput ");
    assert_asked(server, 0, "sandbox-key");
    assert_null(strstr(test_server_request(server, 0), "sk-deft-"));
    test_server_stop(server);
}

static void scoped_command_runs_in_the_workspace(void **state)
{
    const struct test_reply replies[] = {{.bytes = alive}, {.bytes = page}};
    struct test_server *server = test_start_sandbox(*state, replies, 2);
    struct test_path path = test_conversation(*state);
    DISPATCH(answer, ALICE, "POST", test_under(&path, "/bash/start_bash_command"),
             "{\"command\":\"ls\",\"timeout\":5}");

    assert_answer(&answer, 200, "items");
    assert_asked(server, 0, "POST /api/file/create_directory?path=%2Fworkspace%2Fproject ");
    assert_asked(server, 1, "POST /api/bash/start_bash_command ");
    assert_asked(server, 1, path.id.text);
    assert_asked(server, 1, "\"cwd\":\"/workspace/project\"");
    test_server_stop(server);
}

/* The sandbox holds a conversation's calls to its folder, which links may leave. */
static void scoped_calls_say_where_they_must_stay(void **state)
{
    static const char inside[] = "\r\nX-Deft-Inside: %2Fworkspace%2Fproject\r\n";
    const struct test_reply replies[] = {{.bytes = page}};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    struct test_path path = test_conversation(*state);
    char scope[80];
    DISPATCH(command, ALICE, "POST", test_under(&path, "/bash/start_bash_command"),
             "{\"command\":\"ls\"}");
    DISPATCH(file, ALICE, "GET", test_under(&path, "/file/download?path=/workspace/project/a"),
             NULL);
    DISPATCH(shared, ALICE, "GET", "/api/file/download?path=/workspace/project/a", NULL);

    (void)snprintf(scope, sizeof(scope), "\r\nX-Deft-Scope: %s\r\n", path.id.text);
    assert_int_equal(command.status, 200);
    assert_int_equal(file.status, 200);
    assert_int_equal(shared.status, 200);
    assert_asked(server, 1, inside);
    assert_asked(server, 1, scope);
    assert_asked(server, test_server_n_requests(server) - 2, inside);
    assert_not_asked(server, test_server_n_requests(server) - 1, "X-Deft-Inside");
    assert_not_asked(server, test_server_n_requests(server) - 1, "X-Deft-Scope");
    test_server_stop(server);
}

static void bad_commands_never_reach_a_sandbox(void **state)
{
    static const char *const bodies[] = {
        "",
        "{}",
        "[]",
        "{\"command\":5}",
        "{\"command\":\"ls\",\"timeout\":0}",
        "{\"command\":\"ls\",\"timeout\":\"1\"}",
        "{\"command\":\"ls\",\"cwd\":1}",
        "{\"command\":\"ls\",\"timeout\":999999999}",
    };

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        DISPATCH(answer, ALICE, "POST", "/api/bash/execute_bash_command", bodies[i]);
        assert_answer(&answer, 422, "detail");
    }
}

static void sandboxes_leave_threads_to_other_requests(void **state)
{
    struct fixture *fixture = *state;
    const struct test_reply replies[] = {{.bytes = alive}, {.bytes = page}};
    struct test_server *server = test_start_sandbox(*state, replies, 2);
    size_t n = test_take_waits(fixture);

    {
        DISPATCH(waits, ALICE, "POST", "/api/bash/execute_bash_command", "{\"command\":\"true\"}");
        DISPATCH(asks, ALICE, "POST", "/api/hooks", "{\"project_dir\":\"/workspace\"}");
        DISPATCH(others, ALICE, "GET", "/api/conversations/count", NULL);

        assert_answer(&waits, 503, "Service Unavailable");
        assert_non_null(strstr(waits.head.text, "Retry-After: 1\r\n"));
        assert_answer(&asks, 502, "too many requests are already waiting");
        assert_answer(&others, 200, "");
    }
    test_give_waits(fixture, n);
    {
        DISPATCH(waits, ALICE, "POST", "/api/bash/execute_bash_command", "{\"command\":\"true\"}");

        assert_answer(&waits, 200, "");
    }
    assert_int_equal(test_take_waits(fixture), n);
    test_give_waits(fixture, n);
    test_server_stop(server);
}

static void paths_outside_the_workspace_are_refused(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(cwd, ALICE, "POST", test_under(&path, "/bash/execute_bash_command"),
             "{\"command\":\"ls\",\"cwd\":\"/etc\"}");
    DISPATCH(upload, ALICE, "POST", test_under(&path, "/file/upload?path=/etc/x"), "x");
    DISPATCH(climb, ALICE, "GET",
             test_under(&path, "/file/download?path=/workspace/project/../../etc/passwd"), NULL);
    DISPATCH(relative, ALICE, "GET", test_under(&path, "/file/download?path=x"), NULL);
    DISPATCH(missing, ALICE, "GET", test_under(&path, "/file/download"), NULL);
    DISPATCH(shared, ALICE, "GET", "/api/file/download?path=x", NULL);

    assert_answer_json(&cwd, 422, "{\"detail\":\"cwd must be inside the conversation workspace\"}");
    assert_answer_json(&upload, 422,
                       "{\"detail\":\"path must be inside the conversation workspace\"}");
    assert_answer(&climb, 422, "path must be inside");
    assert_answer(&relative, 422, "path must be inside");
    assert_answer(&missing, 422, "missing");
    assert_answer_json(&shared, 400, "{\"detail\":\"Path must be absolute\"}");
}

static void scoped_routes_name_what_they_do_not_know(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(foreign, BOB, "GET", test_under(&path, "/bash/bash_events/search"), NULL);
    DISPATCH(malformed, ALICE, "GET", "/api/conversations/x/bash/bash_events/search", NULL);
    char text[100];

    (void)snprintf(text, sizeof(text), "Conversation not found: %s", path.id.text);
    assert_answer(&foreign, 404, text);
    assert_int_equal(malformed.status, 422);
    assert_json_at(malformed.body.text, "detail[0].loc", "[\"path\",\"runtime_conversation_id\"]");
}

static void upload_goes_through_as_it_is(void **state)
{
    const struct test_reply replies[] = {{.bytes = alive}, {.bytes = page}};
    struct test_server *server = test_start_sandbox(*state, replies, 2);
    struct fixture *fixture = *state;
    char key[128];
    const char *params[] = {key, "CONTENT_TYPE=multipart/form-data; boundary=b", NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        CLEANUP(test_answer_done) struct test_answer answer = test_dispatch_with(
            *state, params, "POST", "/api/file/upload?path=%2Fw%2Fa%20b&path=%2Fw%2Flast",
            "--b\r\nthe file\r\n--b--\r\n");

        assert_answer(&answer, 200, "items");
    }
    assert_asked(server, 1, "POST /api/file/upload?path=%2Fw%2Flast ");
    assert_asked(server, 1, "multipart/form-data; boundary=b");
    assert_asked(server, 1, "--b\r\nthe file\r\n--b--\r\n");
    test_server_stop(server);
}

/* An upload of that body whose head names that length. */
static int upload(void **state, const char *length, const char *body)
{
    const struct fixture *fixture = *state;
    char key[128];
    const char *params[] = {key, length, NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "POST", "/api/file/upload?path=/w/a", body);

        return answer.status;
    }
}

/* A client that went away in the middle of its file is not answered by the sandbox. */
static void upload_is_whole_or_cut_off(void **state)
{
    static const struct {
        const char *length;
        const char *body;
        bool is_whole;
        const char *sent;
    } rows[] = {
        {"CONTENT_LENGTH=3", "abc", true, "\r\nContent-Length: 3\r\n"},
        {"CONTENT_LENGTH=4", "abc", false, NULL},
        {"CONTENT_LENGTH=0", "", true, "\r\nTransfer-Encoding: chunked\r\n"},
        {"CONTENT_LENGTH=", "abc", true, "\r\nTransfer-Encoding: chunked\r\n"},
    };
    const struct test_reply replies[] = {{.bytes = alive}, {.bytes = page}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, replies, 2);
        int status = upload(state, rows[i].length, rows[i].body);

        if ((status == 200) != rows[i].is_whole)
            fail_msg("%s: %d", rows[i].length, status);
        if (rows[i].is_whole)
            assert_asked(server, 1, rows[i].sent);
        test_server_stop(server);
    }
}

static void old_upload_has_the_path_in_the_address(void **state)
{
    const struct test_reply replies[] = {{.bytes = alive}, {.bytes = page}};
    struct test_server *server = test_start_sandbox(*state, replies, 2);
    DISPATCH(answer, ALICE, "POST", "/api/file/upload/w/%2Fa.txt", "x");

    assert_answer(&answer, 200, "items");
    assert_asked(server, 1, "POST /api/file/upload?path=%2Fw%2F%2Fa.txt ");
    test_server_stop(server);
}

static void download_streams_and_keeps_its_headers(void **state)
{
    static const char head[] = "HTTP/1.1 206 Partial Content\r\n"
                               "Content-Type: application/octet-stream\r\nContent-Length: 3\r\n"
                               "Content-Disposition: attachment; filename=\"b.txt\"\r\n"
                               "Content-Range: bytes 0-2/9\r\nETag: \"e\"\r\n\r\nabc";
    const struct test_reply replies[] = {{.bytes = head}};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    struct fixture *fixture = *state;
    char key[128];
    const char *params[] = {key, "HTTP_RANGE=bytes=0-2", NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "GET", "/api/file/download?path=/w/b.txt", NULL);

        assert_answer(&answer, 206, "abc");
        assert_int_equal(answer.body.len, 3);
        assert_non_null(strstr(answer.head.text, "Content-Range: bytes 0-2/9\r\n"));
        assert_non_null(strstr(answer.head.text, "filename=\"b.txt\""));
    }
    assert_asked(server, 0, "bytes=0-2");
    test_server_stop(server);
}

static void files_keep_what_is_said_of_them(void **state)
{
    static const char *const headers[] = {
        "Content-Range: bytes 0-1/9\r\n",
        "Accept-Ranges: bytes\r\n",
        "ETag: \"e\"\r\n",
        "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n",
        "X-Archive-Repo-Root: /w\r\n",
        "X-Archive-Repo-Remote: r\r\n",
        "X-Archive-Branch: b\r\n",
        "X-Archive-Head-Commit: h\r\n",
        "X-Archive-Base-Commit: c\r\n",
        "X-Archive-Base-Ref: f\r\n",
        "Content-Type: text/x-a.b+c; d=e\r\n",
        "Content-Disposition: attachment; filename=a\r\n",
        "Content-Length: 2\r\n",
    };
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *server = NULL;
    const struct fixture *fixture = *state;
    char key[128];
    const char *params[] = {key, "HTTP_RANGE=bytes=0-1", "HTTP_IF_RANGE=\"e\"", NULL};

    strbuf_append(&bytes, "HTTP/1.1 206 Partial Content\r\n");
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
        strbuf_append(&bytes, headers[i]);
    strbuf_append(&bytes, "\r\n{}");
    reply.bytes = bytes.text;
    server = test_start_sandbox(*state, &reply, 1);
    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "GET", "/api/file/download?path=/x", NULL);

        assert_answer(&answer, 206, "{}");
        for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
            if (strstr(answer.head.text, headers[i]) == NULL)
                fail_msg("no %s in %s", headers[i], answer.head.text);
        }
    }
    assert_asked(server, 0, "\r\nRange: bytes=0-1\r\n");
    assert_asked(server, 0, "\r\nIf-Range: \"e\"\r\n");
    test_server_stop(server);
}

/* Each at its greatest length, and one byte over it. */
static void long_headers_of_a_sandbox_do_not_pass(void **state)
{
    static const struct {
        const char *before;
        const char *fallback; /* what is said instead */
        int most;
    } rows[] = {
        {"Content-Type: text/", "Content-Type: application/octet-stream\r\n", 127 - 5},
        {"Content-Disposition: attachment;", "Content-Disposition: attachment\r\n", 2047 - 11},
        {"ETag: ", "", 2047},
    };

    for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
        struct test_reply reply = {.ending = TEST_CLOSE};
        struct test_server *server = NULL;
        bool passes = i % 2 == 0;

        strbuf_append(&line, rows[i / 2].before);
        for (int j = 0; j < rows[i / 2].most + (passes ? 0 : 1); j++)
            strbuf_append_char(&line, 'a');
        strbuf_append(&line, "\r\n");
        strbuf_appendf(&bytes, "HTTP/1.1 200 OK\r\n%sContent-Length: 2\r\n\r\n{}", line.text);
        reply.bytes = bytes.text;
        server = test_start_sandbox(*state, &reply, 1);
        {
            DISPATCH(answer, ALICE, "GET", "/api/file/download?path=/x", NULL);

            assert_int_equal(answer.status, 200);
            if ((strstr(answer.head.text, line.text) != NULL) != passes)
                fail_msg("%s%d: %s", rows[i / 2].before, passes, answer.head.text);
            if (!passes)
                assert_non_null(strstr(answer.head.text, rows[i / 2].fallback));
        }
        test_server_stop(server);
    }
}

static void what_a_sandbox_chooses_is_taken_from_tables(void **state)
{
    static const struct {
        const char *head;
        int status;
        const char *has;
        const char *lacks;
    } rows[] = {
        {"200 OK\r\nContent-Type: text/html", 200, "Content-Disposition: attachment\r\n", NULL},
        {"200 OK\r\nContent-Type: text/html\r\nContent-Disposition: inline", 200,
         "Content-Disposition: attachment\r\n", "inline"},
        {"200 OK\r\nContent-Type: text/html\r\nContent-Disposition: attachments", 200,
         "Content-Disposition: attachment\r\n", "attachments"},
        {"200 OK\r\nContent-Type: application/json", 200,
         "Content-Security-Policy: sandbox; default-src 'none'", "Content-Disposition"},
        {"200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b", 200,
         "Content-Type: application/octet-stream\r\n", "multipart"},
        {"200 OK\r\nContent-Type: text", 200, "Content-Type: application/octet-stream\r\n", NULL},
        {"200 OK\r\nContent-Type: text/html\x01", 200, "Content-Type: application/octet-stream\r\n",
         "\x01"},
        {"200 OK\r\nSet-Cookie: a=b\r\nX-Other: 1", 200, "nosniff", "a=b"},
        {"404 Not Found\r\nContent-Type: text/html", 404, "Content-Security-Policy: sandbox;",
         NULL},
        {"302 Found\r\nLocation: /x", 502, "application/json", "/x"},
        {"101 Switching Protocols\r\nUpgrade: x", 502, "application/json", "Upgrade"},
        {"600 High", 502, "application/json", NULL},
        {"599 Odd", 599, "nosniff", NULL},
        {"400 Bad Request", 400, "nosniff", NULL},
        {"399 Odd", 502, "application/json", NULL},
        {"299 Odd", 299, "nosniff", NULL},
        {"300 Multiple Choices", 502, "application/json", NULL},
        {"304 Not Modified", 304, "nosniff", NULL},
        {"305 Use Proxy", 502, "application/json", NULL},
        {"200 OK\r\nContent-Type: /html", 200, "Content-Type: application/octet-stream\r\n", NULL},
        {"200 OK\r\nContent-Type: text/", 200, "Content-Type: application/octet-stream\r\n", NULL},
        {"200 OK\r\nContent-Type: text/html,x", 200, "Content-Type: application/octet-stream\r\n",
         NULL},
        {"200 OK\r\nContent-Type: text/html x", 200, "Content-Type: text/html x\r\n", NULL},
        {"200 OK\r\nContent-Type: text/html;a=\x7f", 200,
         "Content-Type: application/octet-stream\r\n", NULL},
        {"200 OK\r\nContent-Type: text/html;a=~", 200, "Content-Type: text/html;a=~\r\n", NULL},
        {"200 OK\r\nContent-Type: Multipart/mixed", 200,
         "Content-Type: application/octet-stream\r\n", NULL},
        {"200 OK\r\nContent-Type: text/html\r\nContent-Disposition: ATTACHMENT", 200,
         "Content-Disposition: ATTACHMENT\r\n", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char bytes[300];
        struct test_reply reply = {.bytes = bytes, .ending = TEST_CLOSE};
        struct test_server *server = NULL;

        (void)snprintf(bytes, sizeof(bytes), "HTTP/1.1 %s\r\nContent-Length: 2\r\n\r\n{}",
                       rows[i].head);
        server = test_start_sandbox(*state, &reply, 1);
        {
            DISPATCH(answer, ALICE, "GET", "/api/file/download?path=/x", NULL);

            assert_int_equal(answer.status, rows[i].status);
            if (strstr(answer.head.text, rows[i].has) == NULL)
                fail_msg("%s lacks %s: %s", rows[i].head, rows[i].has, answer.head.text);
            if (rows[i].lacks != NULL && strstr(answer.head.text, rows[i].lacks) != NULL)
                fail_msg("%s: %s passed: %s", rows[i].head, rows[i].lacks, answer.head.text);
        }
        test_server_stop(server);
    }
}

static void sandbox_that_cannot_be_had_is_said_in_words(void **state)
{
    test_remove_sandbox(*state);
    {
        DISPATCH(answer, ALICE, "GET", "/api/bash/bash_events/search", NULL);
        assert_answer(&answer, 502, "the sandbox service does not answer");
    }
}

static void sandbox_is_started_when_there_is_none(void **state)
{
    const struct test_reply pages[] = {{.bytes = page}};
    struct test_server *sandbox = test_server_start(pages, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf started = STRBUF_INIT;
    struct test_server *runtime = NULL;

    test_remove_sandbox(*state);
    strbuf_appendf(&body,
                   "{\"runtime_id\":\"abcdefghijklmnop\",\"status\":\"running\",\"url\":\"%s\","
                   "\"session_api_key\":\"owners-key\",\"call_key\":\"fresh-key\"}",
                   test_server_url(sandbox, ""));
    strbuf_appendf(&started, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", body.len,
                   body.text);
    {
        const struct test_reply replies[] = {{.bytes = started.text}};

        runtime = test_start_runtime_api(*state, replies, 1);
        {
            DISPATCH(answer, ALICE, "GET", "/api/bash/bash_events/search", NULL);
            assert_answer(&answer, 200, "items");
        }
        assert_asked(runtime, 0, "POST /start ");
        assert_asked(runtime, 0, "\"session_id\":\"u-");
        assert_asked(sandbox, 0, "fresh-key");
        test_stop_runtime_api(*state, runtime);
    }
    test_server_stop(sandbox);
}

static void failed_start_says_why(void **state)
{
    static const char failed[] = "HTTP/1.1 200 OK\r\nContent-Length: 80\r\n\r\n"
                                 "{\"runtime_id\":\"abcdefghijklmnop\",\"status\":\"error\","
                                 "\"status_detail\":\"no image x\"}";
    const struct test_reply replies[] = {{.bytes = failed, .ending = TEST_CLOSE}};
    struct test_server *runtime = test_start_runtime_api(*state, replies, 1);
    struct test_path path = test_conversation(*state);

    test_remove_sandbox(*state);
    {
        DISPATCH(answer, ALICE, "POST", test_under(&path, "/runtime/reprovision"), NULL);
        assert_answer(&answer, 502, "502: ");
    }
    test_stop_runtime_api(*state, runtime);
}

static void shared_sandbox_has_no_key_to_give_and_is_not_released(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(info, ALICE, "GET", test_under(&path, "/runtime"), NULL);
    DISPATCH(key, ALICE, "POST", test_under(&path, "/runtime/credentials"), NULL);
    DISPATCH(release, ALICE, "DELETE", test_under(&path, "/runtime"), NULL);
    DISPATCH(foreign, BOB, "GET", test_under(&path, "/runtime"), NULL);

    assert_answer_member(&info, 200, "runtime_status", "available");
    assert_answer(&key, 404, "Not Found");
    assert_answer(&release, 405, "Method Not Allowed");
    assert_answer(&foreign, 404, "Not Found");
}

/* A place of requests that wait is given back, whatever the sandbox answers. */
static void requests_to_a_sandbox_keep_no_place(void **state)
{
    static const char credentials[] =
        "{\"url\":\"https://git.example/a/b\",\"credentials\":{\"token\":\"the-token\"}}";
    const struct test_reply replies[] = {{.bytes = alive}};
    struct test_path path = test_conversation(*state);
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    size_t n_free = test_take_waits(*state);

    test_give_waits(*state, n_free);
    for (size_t i = 0; i < 4; i++) {
        DISPATCH(answer, ALICE, "POST", test_under(&path, "/git/credentials"), credentials);
        assert_answer(&answer, 200, "true");
    }
    assert_int_equal(test_take_waits(*state), n_free);
    test_give_waits(*state, n_free);
    test_server_stop(server);
    test_remove_sandbox(*state);
}

static void own_sandbox_gives_its_key_to_its_user(void **state)
{
    char session[80];
    struct test_path path = test_docker_conversation(*state, session);

    test_add_sandbox(*state, session, "http://127.0.0.1:9");
    {
        DISPATCH(key, ALICE, "POST", test_under(&path, "/runtime/credentials"), NULL);

        assert_answer_json(&key, 200, "{\"session_api_key\":\"sandbox-key\"}");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_are_passed_on_with_the_sandboxs_key),
        cmocka_unit_test(scoped_command_runs_in_the_workspace),
        cmocka_unit_test(scoped_calls_say_where_they_must_stay),
        cmocka_unit_test(bad_commands_never_reach_a_sandbox),
        cmocka_unit_test(sandboxes_leave_threads_to_other_requests),
        cmocka_unit_test(paths_outside_the_workspace_are_refused),
        cmocka_unit_test(scoped_routes_name_what_they_do_not_know),
        cmocka_unit_test(upload_goes_through_as_it_is),
        cmocka_unit_test(upload_is_whole_or_cut_off),
        cmocka_unit_test(old_upload_has_the_path_in_the_address),
        cmocka_unit_test(download_streams_and_keeps_its_headers),
        cmocka_unit_test(files_keep_what_is_said_of_them),
        cmocka_unit_test(long_headers_of_a_sandbox_do_not_pass),
        cmocka_unit_test(what_a_sandbox_chooses_is_taken_from_tables),
        cmocka_unit_test(sandbox_that_cannot_be_had_is_said_in_words),
        cmocka_unit_test(sandbox_is_started_when_there_is_none),
        cmocka_unit_test(failed_start_says_why),
        cmocka_unit_test(shared_sandbox_has_no_key_to_give_and_is_not_released),
        cmocka_unit_test(own_sandbox_gives_its_key_to_its_user),
        cmocka_unit_test(requests_to_a_sandbox_keep_no_place),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

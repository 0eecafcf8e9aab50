#include <setjmp.h>
#include <stdarg.h>
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

#define SHA_64 "0123456789abcdefABCDEF0123456789abcdefABCDEF01234567890123456789"
#define NO_SCOPE "X-Deft-Scope"
#define NO_INSIDE "X-Deft-Inside"

static const struct test_reply says_done[] = {TEST_SAYS("200 OK", "{\"done\":1}")};

/* A call of a client and the line of the request that the sandbox gets. */
struct call {
    const char *method;
    const char *path;
    const char *body;
    const char *line;
};

/* Calls that change something are sent after a question whether the sandbox is alive. */
static size_t place_of_call(const struct call *call)
{
    return strcmp(call->method, "GET") == 0 ? 0 : 1;
}

static void shared_calls_reach_the_shared_sandbox(void **state)
{
    static const struct call calls[] = {
        {"GET", "/api/bash/bash_events/search?limit=7&kind__eq=x", NULL,
         "GET /api/bash/bash_events/search?limit=7&kind__eq=x HTTP"},
        {"GET", "/api/bash/bash_events/?ids=e%201", NULL,
         "GET /api/bash/bash_events/?ids=e%201 HTTP"},
        {"GET", "/api/bash/bash_events/e%201", NULL, "GET /api/bash/bash_events/e%201 HTTP"},
        {"DELETE", "/api/bash/bash_events", NULL, "DELETE /api/bash/bash_events HTTP"},
        {"POST", "/api/bash/bash_commands/c1/stop", NULL,
         "POST /api/bash/bash_commands/c1/stop HTTP"},
        {"POST", "/api/bash/start_bash_command", "{\"command\":\"ls\"}",
         "POST /api/bash/start_bash_command HTTP"},
        {"POST", "/api/bash/execute_bash_command", "{\"command\":\"ls\"}",
         "POST /api/bash/execute_bash_command HTTP"},
        {"POST", "/api/file/upload?path=/a%20b", "x", "POST /api/file/upload?path=%2Fa%20b HTTP"},
        {"POST", "/api/file/upload/a/b", "x", "POST /api/file/upload?path=%2Fa%2Fb HTTP"},
        {"GET", "/api/file/download?path=/a&x=1", NULL, "GET /api/file/download?path=%2Fa HTTP"},
        {"GET", "/api/file/download/a/b", NULL, "GET /api/file/download?path=%2Fa%2Fb HTTP"},
        {"GET", "/api/file/download//a/b", NULL, "GET /api/file/download?path=%2Fa%2Fb HTTP"},
        {"POST", "/api/file/create_directory?path=/a", NULL,
         "POST /api/file/create_directory?path=%2Fa HTTP"},
        {"GET",
         "/api/file/archive?exclude=x&path=/a&format=tar.gz&base_ref=main&use_default_excludes=no"
         "&exclude=y%26z&other=1",
         NULL,
         "GET /api/file/archive?path=%2Fa&format=tar.gz&base_ref=main&use_default_excludes=no"
         "&exclude=x&exclude=y%26z HTTP"},
        {"GET", "/api/file/archive?path=/a&format=git-delta", NULL,
         "GET /api/file/archive?path=%2Fa&format=git-delta HTTP"},
        {"GET", "/api/file/home?include_hidden=true", NULL, "GET /api/file/home HTTP"},
        {"GET", "/api/file/search_subdirs?path=/a&limit=100&page_id=p&include_hidden=true&x=1",
         NULL,
         "GET /api/file/search_subdirs?path=%2Fa&include_hidden=true&page_id=p&limit=100 HTTP"},
        {"GET", "/api/git/changes?path=/r&ref=main&commit=1", NULL,
         "GET /api/git/changes?path=%2Fr&ref=main HTTP"},
        {"GET", "/api/git/changes/r", NULL, "GET /api/git/changes?path=%2Fr HTTP"},
        {"GET", "/api/git/diff?path=/r&ref=a&commit=abcd&limit=3", NULL,
         "GET /api/git/diff?path=%2Fr&ref=a&commit=abcd HTTP"},
        {"GET", "/api/git/diff?path=/r&commit=" SHA_64, NULL,
         "GET /api/git/diff?path=%2Fr&commit=" SHA_64 " HTTP"},
        {"GET", "/api/git/diff/r", NULL, "GET /api/git/diff?path=%2Fr HTTP"},
        {"GET", "/api/git/commits?path=/r&limit=200&ref=x", NULL,
         "GET /api/git/commits?path=%2Fr&limit=200 HTTP"},
        {"GET", "/api/git/commits?path=/r&limit=1", NULL,
         "GET /api/git/commits?path=%2Fr&limit=1 HTTP"},
        {"GET", "/api/git/commits/aBcD/changes?path=/r", NULL,
         "GET /api/git/commits/aBcD/changes?path=%2Fr HTTP"},
        {"POST", "/execute_action?x=1", "{\"action\":{}}", "POST /execute_action?x=1 HTTP"},
        {"POST", "/list_files", "{\"path\":\"/\"}", "POST /list_files HTTP"},
        {"POST", "/upload_file?destination=/x", "x", "POST /upload_file?destination=/x HTTP"},
        {"GET", "/download_files?path=/x", NULL, "GET /download_files?path=/x HTTP"},
        {"GET", "/vscode/connection_token", NULL, "GET /vscode/connection_token HTTP"},
        {"POST", "/update_mcp_server", "{}", "POST /update_mcp_server HTTP"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        struct test_server *server = test_start_sandbox(*state, says_done, 1);
        size_t at = place_of_call(&calls[i]);

        {
            DISPATCH(answer, ALICE, calls[i].method, calls[i].path, calls[i].body);

            if (answer.status != 200)
                fail_msg("%s: %d %s", calls[i].path, answer.status, answer.body.text);
            assert_answer_json(&answer, 200, "{\"done\":1}");
        }
        assert_int_equal(test_server_n_requests(server), at + 1);
        assert_asked(server, at, calls[i].line);
        assert_not_asked(server, at, NO_SCOPE);
        assert_not_asked(server, at, NO_INSIDE);
        if (calls[i].body != NULL)
            assert_asked(server, at, calls[i].body);
        test_server_stop(server);
    }
}

/* Sends it and gives the request that the sandbox got last. */
static void assert_scoped(void **state, const struct call *call, size_t n_before,
                          const char *is_inside)
{
    struct test_path path = test_conversation(*state);
    struct test_server *server = test_start_sandbox(*state, says_done, 1);
    char scope[80];

    (void)snprintf(scope, sizeof(scope), "X-Deft-Scope: %s\r\n", path.id.text);
    {
        DISPATCH(answer, ALICE, call->method, test_under(&path, call->path), call->body);

        if (answer.status != 200)
            fail_msg("%s: %d %s", call->path, answer.status, answer.body.text);
    }
    assert_int_equal(test_server_n_requests(server), n_before + 1);
    assert_asked(server, n_before, call->line);
    assert_asked(server, n_before, scope);
    if (is_inside != NULL)
        assert_asked(server, n_before, is_inside);
    else
        assert_not_asked(server, n_before, NO_INSIDE);
    test_server_stop(server);
}

#define INSIDE "X-Deft-Inside: %2Fworkspace%2Fproject\r\n"
#define IN_PROJECT "%2Fworkspace%2Fproject%2Fa"

static void scoped_calls_name_their_conversation(void **state)
{
    static const struct call events[] = {
        {"GET", "/bash/bash_events/search?limit=100", NULL,
         "GET /api/bash/bash_events/search?limit=100 HTTP"},
        {"GET", "/bash/bash_events/?x=1", NULL, "GET /api/bash/bash_events/?x=1 HTTP"},
        {"GET", "/bash/bash_events/e1", NULL, "GET /api/bash/bash_events/e1 HTTP"},
        {"DELETE", "/bash/bash_events", NULL, "DELETE /api/bash/bash_events HTTP"},
        {"POST", "/bash/bash_commands/c1/stop", NULL, "POST /api/bash/bash_commands/c1/stop HTTP"},
    };
    static const struct call files[] = {
        {"POST", "/file/upload?path=/workspace/project/a", "x",
         "POST /api/file/upload?path=" IN_PROJECT " HTTP"},
        {"GET", "/file/download?path=/workspace/project/a", NULL,
         "GET /api/file/download?path=" IN_PROJECT " HTTP"},
        {"POST", "/file/create_directory?path=/workspace/project/a", NULL,
         "POST /api/file/create_directory?path=" IN_PROJECT " HTTP"},
        {"GET", "/file/archive?path=/workspace/project/a&format=tar.gz", NULL,
         "GET /api/file/archive?path=" IN_PROJECT "&format=tar.gz HTTP"},
        {"GET", "/git/changes?path=/workspace/project/a&ref=m", NULL,
         "GET /api/git/changes?path=" IN_PROJECT "&ref=m HTTP"},
        {"GET", "/git/diff?path=/workspace/project/a&commit=abcd", NULL,
         "GET /api/git/diff?path=" IN_PROJECT "&commit=abcd HTTP"},
        {"GET", "/git/commits?path=/workspace/project/a&limit=2", NULL,
         "GET /api/git/commits?path=" IN_PROJECT "&limit=2 HTTP"},
        {"GET", "/git/commits/abcd/changes?path=/workspace/project/a", NULL,
         "GET /api/git/commits/abcd/changes?path=" IN_PROJECT " HTTP"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        assert_scoped(state, &events[i], place_of_call(&events[i]), NULL);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        assert_scoped(state, &files[i], place_of_call(&files[i]), INSIDE);
}

static void scoped_commands_run_inside_the_workspace(void **state)
{
    static const struct {
        const char *body;
        const char *cwd;
    } rows[] = {
        {"{\"command\":\"ls\"}", "\"/workspace/project\""},
        {"{\"command\":\"ls\",\"cwd\":null}", "\"/workspace/project\""},
        {"{\"command\":\"ls\",\"cwd\":\"/workspace/project/sub\"}", "\"/workspace/project/sub\""},
    };
    static const char *const paths[] = {"start_bash_command", "execute_bash_command"};

    for (size_t i = 0; i < ARRAY_SIZE(rows) * 2; i++) {
        struct test_path path = test_conversation(*state);
        struct test_server *server = test_start_sandbox(*state, says_done, 1);
        char under[60];
        char line[80];

        (void)snprintf(under, sizeof(under), "/bash/%s", paths[i % 2]);
        (void)snprintf(line, sizeof(line), "POST /api/bash/%s HTTP", paths[i % 2]);
        {
            DISPATCH(answer, ALICE, "POST", test_under(&path, under), rows[i / 2].body);
            assert_answer_json(&answer, 200, "{\"done\":1}");
        }
        assert_int_equal(test_server_n_requests(server), 2);
        assert_asked(server, 0, "POST /api/file/create_directory?path=%2Fworkspace%2Fproject HTTP");
        assert_asked(server, 1, line);
        assert_asked(server, 1, INSIDE);
        assert_asked(server, 1, path.id.text);
        assert_asked_json(server, 1, "cwd", rows[i / 2].cwd);
        assert_asked_json(server, 1, "command", "\"ls\"");
        test_server_stop(server);
    }
}

static void shared_commands_keep_their_folder_and_timeout(void **state)
{
    static const char *const bodies[] = {
        "{\"command\":\"ls\"}",
        "{\"command\":\"\",\"cwd\":\"/etc\",\"timeout\":1}",
        "{\"command\":\"ls\",\"timeout\":3600}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct test_server *server = test_start_sandbox(*state, says_done, 1);
        DISPATCH(answer, ALICE, "POST", "/api/bash/execute_bash_command", bodies[i]);

        assert_answer_json(&answer, 200, "{\"done\":1}");
        assert_asked(server, 0, "GET /alive HTTP");
        assert_asked_json(server, 1, "", bodies[i]);
        test_server_stop(server);
    }
}

/* A refused call and its first problem. */
struct refusal {
    const char *method;
    const char *path;
    const char *body;
    const char *type;
    const char *where;
    const char *message;
};

static void assert_refused(void **state, const struct refusal *row)
{
    DISPATCH(answer, ALICE, row->method, row->path, row->body);

    if (answer.status != 422)
        fail_msg("%s: %d %s", row->path, answer.status, answer.body.text);
    assert_json_at(answer.body.text, "detail[0].type", row->type);
    assert_json_at(answer.body.text, "detail[0].loc", row->where);
    assert_json_at(answer.body.text, "detail[0].msg", row->message);
    assert_json_at(answer.body.text, "detail[1]", NULL);
}

#define BAD_BOOL "\"Input should be a valid boolean, unable to interpret input\""
#define NO_SHA "\"String should match pattern '^[0-9a-fA-F]{4,64}$'\""
#define PROVIDERS "\"Input should be 'github', 'gitlab', 'bitbucket' or 'azure_devops'\""
#define REPOSITORIES "/api/git/repositories/search"
#define EXECUTE "/api/bash/execute_bash_command"

static void wrong_parameters_are_named_and_start_no_sandbox(void **state)
{
    static const char missing[] = "\"Field required\"";
    static const struct refusal rows[] = {
        {"GET", "/api/file/home?include_hidden=maybe", NULL, "\"bool_parsing\"",
         "[\"query\",\"include_hidden\"]", BAD_BOOL},
        {"GET", "/api/file/search_subdirs?path=/a&include_hidden=maybe", NULL, "\"bool_parsing\"",
         "[\"query\",\"include_hidden\"]", BAD_BOOL},
        {"GET", "/api/file/search_subdirs?path=/a&limit=101", NULL, "\"less_than_equal\"",
         "[\"query\",\"limit\"]", "\"Input should be less than or equal to 100\""},
        {"GET", "/api/bash/bash_events/search?limit=101", NULL, "\"less_than_equal\"",
         "[\"query\",\"limit\"]", "\"Input should be less than or equal to 100\""},
        {"GET", "/api/file/archive?path=/a&format=zip", NULL, "\"enum\"", "[\"query\",\"format\"]",
         "\"Input should be 'git-delta' or 'tar.gz'\""},
        {"GET", "/api/file/archive?path=/a&use_default_excludes=maybe", NULL, "\"bool_parsing\"",
         "[\"query\",\"use_default_excludes\"]", BAD_BOOL},
        {"GET", "/api/git/diff?path=/r&commit=abc", NULL, "\"string_pattern_mismatch\"",
         "[\"query\",\"commit\"]", NO_SHA},
        {"GET", "/api/git/diff?path=/r&commit=abcg", NULL, "\"string_pattern_mismatch\"",
         "[\"query\",\"commit\"]", NO_SHA},
        {"GET", "/api/git/diff?path=/r&commit=" SHA_64 "0", NULL, "\"string_pattern_mismatch\"",
         "[\"query\",\"commit\"]", NO_SHA},
        {"GET", "/api/git/commits/abc/changes?path=/r", NULL, "\"string_pattern_mismatch\"",
         "[\"path\",\"sha\"]", NO_SHA},
        {"GET", "/api/git/commits?path=/r&limit=0", NULL, "\"greater_than_equal\"",
         "[\"query\",\"limit\"]", "\"Input should be greater than or equal to 1\""},
        {"GET", "/api/git/commits?path=/r&limit=201", NULL, "\"less_than_equal\"",
         "[\"query\",\"limit\"]", "\"Input should be less than or equal to 200\""},
        {"GET", "/api/git/commits", NULL, "\"missing\"", "[\"query\",\"path\"]", missing},
        {"GET", "/api/file/download", NULL, "\"missing\"", "[\"query\",\"path\"]", missing},
        {"GET", REPOSITORIES, NULL, "\"missing\"", "[\"query\",\"provider\"]", missing},
        {"GET", REPOSITORIES "?provider=x", NULL, "\"enum\"", "[\"query\",\"provider\"]",
         PROVIDERS},
        {"GET", REPOSITORIES "?provider=github&limit=0", NULL, "\"greater_than_equal\"",
         "[\"query\",\"limit\"]", "\"Input should be greater than or equal to 1\""},
        {"GET", REPOSITORIES "?provider=github&limit=101", NULL, "\"less_than_equal\"",
         "[\"query\",\"limit\"]", "\"Input should be less than or equal to 100\""},
        {"POST", EXECUTE, "{}", "\"missing\"", "[\"body\",\"command\"]", missing},
        {"POST", EXECUTE, "{\"command\":1}", "\"string_type\"", "[\"body\",\"command\"]",
         "\"Input should be a valid string\""},
        {"POST", EXECUTE, "{\"command\":\"a\",\"cwd\":1}", "\"string_type\"", "[\"body\",\"cwd\"]",
         "\"Input should be a valid string\""},
        {"POST", EXECUTE, "{\"command\":\"a\",\"timeout\":\"1\"}", "\"int_type\"",
         "[\"body\",\"timeout\"]", "\"Input should be a valid integer\""},
        {"POST", EXECUTE, "{\"command\":\"a\",\"timeout\":0}", "\"less_than_equal\"",
         "[\"body\",\"timeout\"]", "\"Input should be from 1 to 3600 seconds\""},
        {"POST", EXECUTE, "{\"command\":\"a\",\"timeout\":3601}", "\"less_than_equal\"",
         "[\"body\",\"timeout\"]", "\"Input should be from 1 to 3600 seconds\""},
    };

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_refused(state, &rows[i]);
}

static void refused_values_are_shown(void **state)
{
    DISPATCH(sha, ALICE, "GET", "/api/git/commits/xyz/changes?path=/r", NULL);
    DISPATCH(format, ALICE, "GET", "/api/file/archive?path=/a&format=zip", NULL);
    DISPATCH(limit, ALICE, "GET", "/api/git/commits?path=/r&limit=201", NULL);
    DISPATCH(low, ALICE, "GET", "/api/bash/bash_events/search?limit=0", NULL);

    assert_json_at(sha.body.text, "detail[0].input", "\"xyz\"");
    assert_json_at(format.body.text, "detail[0].input", "\"zip\"");
    assert_json_at(format.body.text, "detail[0].ctx", "{\"expected\":\"'git-delta' or 'tar.gz'\"}");
    assert_json_at(limit.body.text, "detail[0].input", "\"201\"");
    assert_json_at(limit.body.text, "detail[0].ctx", "{\"le\":200}");
    assert_json_at(low.body.text, "detail[0].msg", "\"Input should be greater than 0\"");
    assert_json_at(low.body.text, "detail[0].ctx", "{\"gt\":0}");
}

static void repositories_are_none_without_a_token(void **state)
{
    static const char *const paths[] = {
        REPOSITORIES "?provider=github",
        REPOSITORIES "?provider=gitlab&limit=1",
        REPOSITORIES "?provider=bitbucket&limit=100",
        REPOSITORIES "?provider=azure_devops",
    };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        DISPATCH(answer, ALICE, "GET", paths[i], NULL);
        assert_answer_json(&answer, 200,
                           "{\"items\":[],\"next_page_id\":null,\"missing_token\":true}");
    }
}

static void relative_and_outer_paths_are_refused(void **state)
{
    struct test_path path = test_conversation(*state);
    static const char *const shared[] = {
        "/api/file/download?path=a",
        "/api/file/archive?path=",
        "/api/git/changes?path=./x",
        "/api/git/commits/abcd/changes?path=x",
    };
    static const char *const scoped[] = {
        "/file/download?path=/workspace",      "/file/archive?path=/workspace/projects",
        "/git/changes?path=workspace/project", "/git/diff?path=/workspace/project/../x",
        "/git/commits/abcd/changes?path=/",
    };

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(shared); i++) {
        DISPATCH(answer, ALICE, "GET", shared[i], NULL);
        assert_answer_json(&answer, 400, "{\"detail\":\"Path must be absolute\"}");
    }
    for (size_t i = 0; i < ARRAY_SIZE(scoped); i++) {
        DISPATCH(answer, ALICE, "GET", test_under(&path, scoped[i]), NULL);
        assert_answer_json(&answer, 422,
                           "{\"detail\":\"path must be inside the conversation workspace\"}");
    }
}

static void files_of_the_workspace_are_shown_as_strangers(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>", .ending = TEST_CLOSE}};
    static const struct {
        const char *path;
        const char *line;
    } rows[] = {
        {"/workspace", "GET /files/shown?file=%2Fworkspace%2Fproject%2F HTTP"},
        {"/workspace/a/b%20c.html?x=1",
         "GET /files/shown?file=%2Fworkspace%2Fproject%2Fa%2Fb%20c.html HTTP"},
    };
    struct test_path path = test_conversation(*state);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, replies, 1);
        DISPATCH(answer, ALICE, "GET", test_under(&path, rows[i].path), NULL);

        assert_answer(&answer, 200, "<p>");
        assert_non_null(strstr(answer.head.text,
                               "Content-Security-Policy: sandbox allow-scripts allow-forms "
                               "allow-popups allow-downloads; object-src 'none'; base-uri 'self'; "
                               "form-action 'none'; frame-ancestors 'self'\r\n"));
        assert_null(strstr(answer.head.text, "Content-Disposition"));
        assert_asked(server, 0, rows[i].line);
        assert_asked(server, 0, INSIDE);
        assert_not_asked(server, 0, NO_SCOPE);
        test_server_stop(server);
    }
}

static void files_outside_the_workspace_are_not_shown(void **state)
{
    struct test_path path = test_conversation(*state);

    test_remove_sandbox(*state);
    {
        DISPATCH(outside, ALICE, "GET", test_under(&path, "/workspace/a%2F..%2F..%2Fx"), NULL);
        DISPATCH(foreign, BOB, "GET", test_under(&path, "/workspace/a"), NULL);

        assert_answer_json(&outside, 400, "{\"detail\":\"Path is outside the workspace\"}");
        assert_answer_json(&foreign, 404, "{\"detail\":\"Not Found\"}");
    }
}

static void file_of_the_workspace_is_open_to_the_cookie_of_its_links(void **state)
{
    struct fixture *fixture = *state;
    struct test_path path = test_conversation(*state);
    struct test_server *server = test_start_sandbox(*state, says_done, 1);
    char cookie[160];
    const char *params[] = {"DEFT_ORIGIN=agent", cookie, NULL};

    (void)snprintf(cookie, sizeof(cookie), "HTTP_COOKIE=oh_workspace_session_key=%s",
                   fixture->alice_key);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "GET", test_under(&path, "/workspace/a.json"), NULL);

        assert_answer_json(&answer, 200, "{\"done\":1}");
    }
    test_server_stop(server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_calls_reach_the_shared_sandbox),
        cmocka_unit_test(scoped_calls_name_their_conversation),
        cmocka_unit_test(scoped_commands_run_inside_the_workspace),
        cmocka_unit_test(shared_commands_keep_their_folder_and_timeout),
        cmocka_unit_test(wrong_parameters_are_named_and_start_no_sandbox),
        cmocka_unit_test(refused_values_are_shown),
        cmocka_unit_test(repositories_are_none_without_a_token),
        cmocka_unit_test(relative_and_outer_paths_are_refused),
        cmocka_unit_test(files_of_the_workspace_are_shown_as_strangers),
        cmocka_unit_test(files_outside_the_workspace_are_not_shown),
        cmocka_unit_test(file_of_the_workspace_is_open_to_the_cookie_of_its_links),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

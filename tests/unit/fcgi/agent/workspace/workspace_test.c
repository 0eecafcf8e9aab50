#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "model/conversation/preview.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

/* --- hooks --- */

#define HOOKS "/api/hooks"

static void hooks_are_read_at_the_user_and_in_the_project(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS(
        "200 OK",
        "{\"files\":[{\"place\":0,\"path\":\"/root/.openhands/"
        "hooks.json\",\"text\":\"{\\\"Stop\\\":"
        "[{\\\"matcher\\\":\\\"user\\\"}]}\"},{\"place\":1,\"path\":\"/w/.openhands/hooks.json\","
        "\"text\":\"{\\\"PreToolUse\\\":[{\\\"matcher\\\":\\\"project\\\"}]}\"}]}")};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    DISPATCH(answer, ALICE, "POST", HOOKS, "{\"project_dir\":\"/w\"}");

    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, "hook_config.pre_tool_use[0].matcher", "\"project\"");
    assert_json_at(answer.body.text, "hook_config.stop", "[]");
    assert_asked(server, 0, "POST /files/collect HTTP");
    assert_asked_json(server, 0, "",
                      "{\"places\":[{\"folder\":\"~\",\"sub\":\".openhands\",\"names\":["
                      "\"hooks.json\"],\"depth\":1,\"with_root\":true},{\"folder\":\"/w\","
                      "\"sub\":\".openhands\",\"names\":[\"hooks.json\"],\"depth\":1,"
                      "\"with_root\":true}]}");
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
}

static void without_a_project_no_hooks_are_looked_for(void **state)
{
    static const char *const bodies[] = {"", "{}", "{\"project_dir\":null}"};

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        DISPATCH(answer, ALICE, "POST", HOOKS, bodies[i]);
        assert_answer_json(&answer, 200, "{\"hook_config\":null}");
    }
    {
        DISPATCH(typed, ALICE, "POST", HOOKS, "{\"project_dir\":1}");
        assert_int_equal(typed.status, 422);
        assert_json_at(typed.body.text, "detail[0].loc", "[\"body\",\"project_dir\"]");
    }
}

/* An answer of the sandbox, and what becomes of it. */
struct files_row {
    struct test_reply reply;
    int status;
    const char *answer;
};

static void answers_with_hooks_are_checked(void **state)
{
    static const struct files_row rows[] = {
        {TEST_SAYS("200 OK", "{\"files\":[]}"), 200, "{\"hook_config\":null}"},
        {TEST_SAYS("200 OK", "{\"files\":[{\"place\":2,\"path\":\"/a\",\"text\":\"{\"}]}"), 200,
         "{\"hook_config\":null}"},
        {TEST_SAYS("200 OK", "{\"files\":[{\"place\":-1,\"path\":\"/a\",\"text\":\"{\"}]}"), 200,
         "{\"hook_config\":null}"},
        {TEST_SAYS("200 OK", "{\"files\":[{\"path\":\"/a\",\"text\":\"{\"}]}"), 200,
         "{\"hook_config\":null}"},
        {TEST_SAYS("200 OK", "{\"files\":[{\"place\":0,\"path\":\"/a\",\"text\":\"[]\"}]}"), 422,
         "{\"detail\":\"/a: hooks must be an object\"}"},
        {TEST_SAYS("200 OK", "{}"), 502,
         "{\"detail\":\"Internal Server Error\","
         "\"exception\":\"502: the sandbox's reply is not valid\"}"},
        {TEST_SAYS("400 Bad Request", "{\"detail\":\"no such folder\"}"), 422,
         "{\"detail\":\"no such folder\"}"},
        {TEST_SAYS("499 Odd", "{}"), 422, "{\"detail\":\"the sandbox refused the request\"}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, &rows[i].reply, 1);
        DISPATCH(answer, ALICE, "POST", HOOKS, "{\"project_dir\":\"/w\"}");

        assert_answer_json(&answer, rows[i].status, rows[i].answer);
        test_server_stop(server);
    }
}

static void sandbox_that_fails_is_started_again(void **state)
{
    static const struct test_reply failing[] = {
        TEST_SAYS("500 Internal Server Error", "{\"detail\":\"no room\"}")};
    struct test_server *server = test_start_sandbox(*state, failing, 1);
    DISPATCH(answer, ALICE, "POST", HOOKS, "{\"project_dir\":\"/w\"}");

    assert_answer(&answer, 502, "502: the sandbox service does not answer: ");
    test_server_stop(server);
}

/* --- previews --- */

static void add_entry(struct strbuf *out, const char *name, const char *url, int port)
{
    strbuf_appendf(out, "%s{\"name\":\"%s\",\"url\":\"%s\",\"port\":%d}",
                   out->text[out->len - 1] == '[' ? "" : ",", name, url, port);
}

static void add_port(const struct fixture *fixture, struct strbuf *out, const char *name, int port)
{
    char url[100];

    (void)snprintf(url, sizeof(url), "http://%d-%s.sandbox.localhost:3000", port,
                   fixture->sandbox_id);
    add_entry(out, name, url, port);
}

/* The entries that every sandbox has. */
static void add_named(const struct fixture *fixture, struct strbuf *out)
{
    char token[PREVIEW_EDITOR_TOKEN_BYTES];
    char url[200];

    preview_editor_token("sandbox-key", token);
    (void)snprintf(url, sizeof(url),
                   "http://60001-%s.sandbox.localhost:3000/?tkn=%s&folder=%%2Fworkspace%%2Fproject",
                   fixture->sandbox_id, token);
    add_entry(out, "AGENT_SERVER", "http://localhost:8000", 8000);
    add_entry(out, "VSCODE", url, 60001);
    add_port(fixture, out, "WORKER_1", 12000);
    add_port(fixture, out, "WORKER_2", 12001);
}

static void previews_are_the_named_ports_and_those_with_a_server(void **state)
{
    static const struct test_reply replies[] = {
        TEST_SAYS("200 OK", "{\"ports\":[1,5173,8000,12000,65535,0,65536,-1,\"9\"]}")};
    struct test_path path = test_conversation(*state);
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    DISPATCH(answer, ALICE, "GET", test_under(&path, "/previews"), NULL);

    strbuf_append(&expected, "[");
    add_named(*state, &expected);
    add_port(*state, &expected, "PORT_1", 1);
    add_port(*state, &expected, "PORT_5173", 5173);
    add_port(*state, &expected, "PORT_65535", 65535);
    strbuf_append(&expected, "]");
    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, "exposed_urls", expected.text);
    assert_json_at(answer.body.text, "listening", "[1,5173,8000,12000,65535]");
    assert_asked(server, 0, "POST /ports/listening HTTP");
    assert_asked_json(server, 0, "", "{}");
    test_server_stop(server);
}

static void named_ports_are_shown_when_the_sandbox_lists_none(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("404 Not Found", "{}")};
    struct test_path path = test_conversation(*state);
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    DISPATCH(answer, ALICE, "GET", test_under(&path, "/previews"), NULL);

    strbuf_append(&expected, "[");
    add_named(*state, &expected);
    strbuf_append(&expected, "]");
    assert_json_at(answer.body.text, "exposed_urls", expected.text);
    assert_json_at(answer.body.text, "listening", "[]");
    test_server_stop(server);
}

static void a_sandbox_that_does_not_run_has_no_previews(void **state)
{
    static const char none[] = "{\"exposed_urls\":null,\"listening\":[]}";
    static const char *const changes[] = {"status = 'paused'", "desired = 'paused'"};
    struct fixture *fixture = *state;
    struct test_path path = test_conversation(*state);

    test_remove_sandbox(*state);
    {
        DISPATCH(never, ALICE, "GET", test_under(&path, "/previews"), NULL);
        DISPATCH(foreign, BOB, "GET", test_under(&path, "/previews"), NULL);

        assert_answer_json(&never, 200, none);
        assert_answer_json(&foreign, 404, "{\"detail\":\"Not Found\"}");
    }
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        static const struct test_reply replies[] = {TEST_SAYS("200 OK", "{\"ports\":[5173]}")};
        struct test_server *server = test_start_sandbox(*state, replies, 1);
        char sql[100];

        (void)snprintf(sql, sizeof(sql), "UPDATE runtimes SET %s WHERE id = '%s'", changes[i],
                       fixture->sandbox_id);
        test_sql(sql);
        {
            DISPATCH(answer, ALICE, "GET", test_under(&path, "/previews"), NULL);
            assert_answer_json(&answer, 200, none);
        }
        assert_int_equal(test_server_n_requests(server), 0);
        test_server_stop(server);
    }
}

/* --- the editor --- */

#define EDITOR "{\"program\":\"code\",\"token\":\"a/b\",\"running\":true}"

static void assert_editor(void **state, struct test_path *path, const char *rest, const char *where)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", EDITOR)};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    const struct fixture *fixture = *state;
    char url[200];
    DISPATCH(answer, ALICE, "GET", path != NULL ? test_under(path, rest) : rest, NULL);

    (void)snprintf(url, sizeof(url),
                   "{\"url\":\"http://60001-%s.sandbox.localhost:3000/?tkn=a%%2Fb&folder=%s\"}",
                   fixture->sandbox_id, where);
    assert_answer_json(&answer, 200, url);
    assert_asked(server, 0, "POST /editor/start HTTP");
    assert_asked_json(server, 0, "", "{}");
    test_server_stop(server);
}

static void editor_opens_the_folder_that_is_asked_for(void **state)
{
    struct test_path path = test_conversation(*state);

    assert_editor(state, NULL, "/api/vscode/url", "%2Fworkspace%2Fproject");
    assert_editor(state, NULL, "/api/vscode/url?workspace_dir=/etc", "%2Fetc");
    assert_editor(state, NULL, "/api/vscode/url?workspace_dir=etc", "%2Fworkspace%2Fproject");
    assert_editor(state, &path, "/vscode/url", "%2Fworkspace%2Fproject");
    assert_editor(state, &path, "/vscode/url?workspace_dir=/workspace/project/a",
                  "%2Fworkspace%2Fproject%2Fa");
}

static void editor_of_a_conversation_stays_in_its_workspace(void **state)
{
    static const char *const paths[] = {"/vscode/url?workspace_dir=/workspace",
                                        "/vscode/status?workspace_dir=/workspace"};
    struct test_path path = test_conversation(*state);

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        DISPATCH(outside, ALICE, "GET", test_under(&path, paths[i]), NULL);
        DISPATCH(foreign, BOB, "GET", test_under(&path, paths[i]), NULL);

        assert_answer_json(
            &outside, 422,
            "{\"detail\":\"workspace_dir must be inside the conversation workspace\"}");
        assert_answer(&foreign, 404, "Conversation not found: ");
    }
}

static void an_image_without_an_editor_is_named(void **state)
{
    static const struct test_reply none[] = {
        TEST_SAYS("200 OK", "{\"program\":null,\"running\":false}")};
    static const struct test_reply stopped[] = {
        TEST_SAYS("200 OK", "{\"program\":\"code\",\"running\":false}")};
    static const struct test_reply running[] = {TEST_SAYS("200 OK", EDITOR)};
    struct test_server *server = test_start_sandbox(*state, none, 1);

    {
        DISPATCH(url, ALICE, "GET", "/api/vscode/url", NULL);
        DISPATCH(status, ALICE, "GET", "/api/vscode/status", NULL);

        assert_answer_json(&url, 503,
                           "{\"detail\":\"Internal Server Error\","
                           "\"exception\":\"503: The sandbox's image has no editor\"}");
        assert_answer_json(&status, 200,
                           "{\"running\":false,\"enabled\":false,"
                           "\"message\":\"The sandbox's image has no editor\"}");
        assert_asked(server, 1, "POST /editor/status HTTP");
    }
    test_server_stop(server);
    server = test_start_sandbox(*state, stopped, 1);
    {
        DISPATCH(status, ALICE, "GET", "/api/vscode/status", NULL);
        assert_answer_json(&status, 200, "{\"running\":false,\"enabled\":true}");
    }
    test_server_stop(server);
    server = test_start_sandbox(*state, running, 1);
    {
        DISPATCH(status, ALICE, "GET", "/api/vscode/status", NULL);
        assert_answer_json(&status, 200, "{\"running\":true,\"enabled\":true}");
    }
    test_server_stop(server);
}

static void editor_without_a_sandbox_says_why(void **state)
{
    static const struct test_reply full[] = {
        TEST_SAYS("429 Too Many Requests", "{\"detail\":\"too many sandboxes\"}")};
    struct test_path path = test_conversation(*state);
    struct test_server *runtime = NULL;

    test_remove_sandbox(*state);
    {
        DISPATCH(url, ALICE, "GET", "/api/vscode/url", NULL);
        DISPATCH(status, ALICE, "GET", test_under(&path, "/vscode/status"), NULL);

        assert_int_equal(url.status, 502);
        assert_json_at(url.body.text, "detail", "\"Internal Server Error\"");
        assert_answer_json(&status, 200,
                           "{\"running\":false,\"enabled\":false,"
                           "\"message\":\"no runtime has that session\"}");
    }
    runtime = test_start_runtime_api(*state, full, 1);
    {
        DISPATCH(url, ALICE, "GET", "/api/vscode/url", NULL);
        assert_int_equal(url.status, 429);
        assert_non_null(strstr(url.head.text, "Retry-After: 5\r\n"));
    }
    test_stop_runtime_api(*state, runtime);
}

/* --- what a sandbox is told --- */

static void sandbox_is_told_of_a_deleted_conversation(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", "{}")};
    char session[80];
    struct test_path shared = test_conversation(*state);
    struct test_path own = test_docker_conversation(*state, session);
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    struct test_server *other = test_start_sandbox_of(*state, session, replies, 1);
    char line[100];

    (void)snprintf(line, sizeof(line), "DELETE /conversations/%s HTTP", shared.id.text);
    {
        DISPATCH(deleted, ALICE, "DELETE", test_under(&shared, ""), NULL);
        DISPATCH(also, ALICE, "DELETE", test_under(&own, ""), NULL);

        assert_int_equal(deleted.status / 100, 2);
        assert_int_equal(also.status / 100, 2);
    }
    assert_int_equal(test_server_n_requests(server), 1);
    assert_asked(server, 0, line);
    assert_asked(server, 0, "sandbox-key");
    assert_int_equal(test_server_n_requests(other), 0);
    test_server_stop(server);
    test_server_stop(other);
}

static void sandbox_is_told_of_an_interrupt(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", "{}")};
    struct test_path path = test_conversation(*state);
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    char line[100];

    (void)snprintf(line, sizeof(line), "POST /conversations/%s/interrupt HTTP", path.id.text);
    {
        DISPATCH(answer, ALICE, "POST", test_under(&path, "/interrupt"), NULL);
        assert_answer_json(&answer, 200, SUCCESS);
    }
    assert_int_equal(test_server_n_requests(server), 1);
    assert_asked(server, 0, line);
    test_server_stop(server);
}

/* --- tools --- */

#define CHOICE(name, usable, text, is_default)                                                     \
    "{\"name\":\"" name "\",\"user_selectable\":true,\"usable\":" usable                           \
    ",\"description\":\"" text "\",\"in_default_set\":" is_default "}"

static void tools_are_listed_with_what_users_may_choose(void **state)
{
    static const char *const expected[] = {
        CHOICE("terminal", "true", "Runs shell commands in the sandbox", "true"),
        CHOICE("file_editor", "true", "Views, creates and edits files", "true"),
        CHOICE("task_tracker", "true", "Keeps a task list", "true"),
        CHOICE("browser_tool_set", "false", "Uses a web browser", "true"),
        CHOICE("switch_llm", "false", "Lets the agent switch its model", "true"),
        CHOICE("task_tool_set", "true", "Delegates parts of the work to other agents", "false"),
        CHOICE("glob", "true", "Finds files by name", "false"),
        CHOICE("grep", "true", "Finds text in files", "false"),
    };
    DISPATCH(catalog, ALICE, "GET", "/api/tools/catalog", NULL);

    assert_int_equal(catalog.status, 200);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        char path[20];

        (void)snprintf(path, sizeof(path), "tools[%zu]", i);
        assert_json_at(catalog.body.text, path, expected[i]);
    }
}

static void browser_is_usable_where_sandboxes_have_one(void **state)
{
    struct fixture *fixture = *state;

    fixture->settings.sandbox_browser = 1;
    {
        DISPATCH(catalog, ALICE, "GET", "/api/tools/catalog", NULL);
        DISPATCH(names, ALICE, "GET", "/api/tools/", NULL);

        assert_json_at(catalog.body.text, "tools[3].usable", "true");
        assert_json_at(names.body.text, "[14]", "\"browser_tool_set\"");
    }
    fixture->settings.sandbox_browser = 0;
    {
        DISPATCH(names, ALICE, "GET", "/api/tools/", NULL);
        assert_null(strstr(names.body.text, "browser"));
    }
}

static void tools_that_are_no_choice_are_listed_after_the_choices(void **state)
{
    DISPATCH(names, ALICE, "GET", "/api/tools/", NULL);
    DISPATCH(catalog, ALICE, "GET", "/api/tools/catalog", NULL);
    json_auto_t *all = answer_json(&names);
    json_auto_t *listed = answer_json(&catalog);
    json_t *tools = json_object_get(listed, "tools");
    size_t n_found = 0;

    assert_true(json_array_size(tools) > 8);
    for (size_t i = 8; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);

        assert_true(json_is_false(json_object_get(tool, "user_selectable")));
        assert_true(json_is_true(json_object_get(tool, "usable")));
        assert_true(json_is_false(json_object_get(tool, "in_default_set")));
        assert_string_equal(json_string_value(json_object_get(tool, "description")), "");
    }
    for (size_t i = 0; i < json_array_size(all); i++) {
        size_t n = 0;

        for (size_t at = 0; at < json_array_size(tools); at++)
            n += json_equal(json_array_get(all, i),
                            json_object_get(json_array_get(tools, at), "name"));
        assert_int_equal(n, 1);
        n_found += n;
    }
    /* Two of the choices do not run here. */
    assert_int_equal(json_array_size(tools), n_found + 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_are_read_at_the_user_and_in_the_project),
        cmocka_unit_test(without_a_project_no_hooks_are_looked_for),
        cmocka_unit_test(answers_with_hooks_are_checked),
        cmocka_unit_test(sandbox_that_fails_is_started_again),
        cmocka_unit_test(previews_are_the_named_ports_and_those_with_a_server),
        cmocka_unit_test(named_ports_are_shown_when_the_sandbox_lists_none),
        cmocka_unit_test(a_sandbox_that_does_not_run_has_no_previews),
        cmocka_unit_test(editor_opens_the_folder_that_is_asked_for),
        cmocka_unit_test(editor_of_a_conversation_stays_in_its_workspace),
        cmocka_unit_test(an_image_without_an_editor_is_named),
        cmocka_unit_test(editor_without_a_sandbox_says_why),
        cmocka_unit_test(sandbox_is_told_of_a_deleted_conversation),
        cmocka_unit_test(sandbox_is_told_of_an_interrupt),
        cmocka_unit_test(tools_are_listed_with_what_users_may_choose),
        cmocka_unit_test(browser_is_usable_where_sandboxes_have_one),
        cmocka_unit_test(tools_that_are_no_choice_are_listed_after_the_choices),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

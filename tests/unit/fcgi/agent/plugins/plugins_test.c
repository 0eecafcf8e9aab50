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
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define FILE_AT(place, path, text)                                                                 \
    "{\"place\":" place ",\"path\":\"" path "\",\"text\":\"" text "\"}"
#define COLLECTED(files) TEST_SAYS("200 OK", "{\"files\":[" files "]}")
#define FILE_OF(path, text) "{\"path\":\"" path "\",\"text\":\"" text "\"}"
#define FETCHED(files)                                                                             \
    TEST_SAYS("200 OK", "{\"path\":\"/f/box\",\"resolved_ref\":\"c0ffee\",\"files\":[" files "]}")
#define MANIFEST(name)                                                                             \
    "{\\\"name\\\":\\\"" name "\\\",\\\"version\\\":\\\"2\\\",\\\"description\\\":\\\"Tools\\\"}"
#define PLACE(folder, sub, names, depth)                                                           \
    "{\"folder\":\"" folder "\",\"sub\":\"" sub "\",\"names\":[\"" names "\"],\"depth\":" depth    \
    ",\"with_root\":true}"

/* --- plugins of files --- */

#define PLUGINS "/api/plugins"
#define PLUGIN_PLACES(folder)                                                                      \
    PLACE(folder, ".openhands/plugins", "*", "4") "," PLACE(folder, ".agents/plugins", "*", "4")

static void forget_installed(void)
{
    test_sql("DELETE FROM documents WHERE collection IN ('installed_skills', 'installed_plugins')");
}

static void folders_with_a_manifest_are_plugins(void **state)
{
    static const struct test_reply replies[] = {COLLECTED(
        FILE_AT("0", "/root/.openhands/plugins/box/plugin.json", MANIFEST("box")) "," FILE_AT("0", "/root/.openhands/plugins/box/skills/saw.md", "---\\ndescription: Cuts\\n---\\nSaw.") "," FILE_AT(
            "0", "/root/.openhands/plugins/loose.md",
            "in no folder") "," FILE_AT("1", "/root/.agents/plugins/none/README.md",
                                        "no manifest") "," FILE_AT("4",
                                                                   "/root/.agents/plugins/odd/"
                                                                   "plugin.json",
                                                                   MANIFEST(
                                                                       "odd")) "," FILE_AT("3",
                                                                                           "/w/"
                                                                                           ".agents"
                                                                                           "/plugin"
                                                                                           "s/"
                                                                                           "other/"
                                                                                           "plugin."
                                                                                           "json",
                                                                                           MANIFEST(
                                                                                               "oth"
                                                                                               "e"
                                                                                               "r")))};
    struct test_server *server = test_start_sandbox(*state, replies, 1);

    forget_installed();
    {
        DISPATCH(answer, ALICE, "POST", PLUGINS, "{\"project_dir\":\"/w\"}");

        assert_answer_json(
            &answer, 200,
            "{\"plugins\":[{\"name\":\"box\",\"version\":\"2\",\"description\":\"Tools\","
            "\"path\":\"/root/.openhands/plugins/box\",\"skills\":[{\"name\":\"saw\","
            "\"description\":\"Cuts\"}],\"files\":[\"plugin.json\",\"skills/saw.md\"]},"
            "{\"name\":\"other\",\"version\":\"2\",\"description\":\"Tools\","
            "\"path\":\"/w/.agents/plugins/other\",\"skills\":[],\"files\":[\"plugin.json\"]}]}");
    }
    assert_asked_json(server, 0, "places", "[" PLUGIN_PLACES("~") "," PLUGIN_PLACES("/w") "]");
    test_server_stop(server);
}

static void installed_plugins_are_listed_unless_switched_off(void **state)
{
    static const struct test_reply replies[] = {
        COLLECTED(FILE_AT("0", "/root/.openhands/plugins/b/plugin.json", MANIFEST("b")))};
    const struct fixture *fixture = *state;
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    char sql[700];

    forget_installed();
    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO documents (user_id, collection, name, id, body)"
        " SELECT '%s', 'installed_plugins', n, gen_random_uuid(), b FROM (VALUES"
        " ('a', '{\"version\":\"1\",\"description\":\"A\",\"install_path\":\"/f/a\","
        "\"skills\":[{\"name\":\"s\",\"description\":\"S\",\"content\":\"c\"}],\"files\":"
        "[\"f\"]}'), ('b', '{\"version\":\"1\",\"files\":[]}'),"
        " ('off', '{\"enabled\":false,\"files\":[]}')) AS t(n, b)",
        fixture->alice.text);
    test_sql(sql);
    {
        DISPATCH(answer, ALICE, "POST", PLUGINS, "{}");
        DISPATCH(without, ALICE, "POST", PLUGINS, "{\"load_user\":false}");

        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "plugins[0]",
                       "{\"name\":\"a\",\"version\":\"1\",\"description\":\"A\",\"path\":\"/f/a\","
                       "\"skills\":[{\"name\":\"s\",\"description\":\"S\"}],\"files\":[\"f\"]}");
        assert_json_at(answer.body.text, "plugins[1].name", "\"b\"");
        assert_json_at(answer.body.text, "plugins[1].version", "\"2\"");
        assert_json_at(answer.body.text, "plugins[2]", NULL);
        assert_answer_json(&without, 200, "{\"plugins\":[]}");
    }
    assert_asked_json(server, 0, "places", "[" PLUGIN_PLACES("~") "]");
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
    forget_installed();
}

static void plugins_need_a_sandbox_and_a_right_body(void **state)
{
    static const struct {
        const char *body;
        const char *where;
    } rows[] = {
        {"{\"load_user\":\"x\"}", "[\"body\",\"load_user\"]"},
        {"{\"load_project\":\"x\"}", "[\"body\",\"load_project\"]"},
        {"{\"load_builtin\":\"x\"}", "[\"body\",\"load_builtin\"]"},
        {"{\"project_dir\":1}", "[\"body\",\"project_dir\"]"},
    };
    static const char *const paths[] = {PLUGINS, "/api/sub-agents"};

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        DISPATCH(failed, ALICE, "POST", paths[i], "{}");

        assert_int_equal(failed.status, 502);
        for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
            DISPATCH(answer, ALICE, "POST", paths[i], rows[row].body);

            assert_int_equal(answer.status, 422);
            assert_json_at(answer.body.text, "detail[0].loc", rows[row].where);
        }
    }
    {
        DISPATCH(market, ALICE, "GET", PLUGINS "/marketplace", NULL);
        assert_answer_json(&market, 200, "{\"plugins\":[]}");
    }
}

/* --- sub-agents --- */

#define SUB_AGENTS "/api/sub-agents"
#define AGENT_PLACES(folder)                                                                       \
    PLACE(folder, ".openhands/agents", "*.md", "1") "," PLACE(folder, ".agents/agents", "*.md", "1")

static void sub_agents_of_files_replace_those_of_the_server(void **state)
{
    static const struct test_reply replies[] = {
        COLLECTED(FILE_AT("0", "/root/.openhands/agents/bash-runner.md", "The user's.") "," FILE_AT(
            "1", "/root/.agents/agents/two.md",
            "The user's two.") "," FILE_AT("3", "/w/.agents/agents/two.md",
                                           "The project's two.") "," FILE_AT("4",
                                                                             "/w/.agents/agents/"
                                                                             "no.md",
                                                                             "no place"))};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    DISPATCH(answer, ALICE, "POST", SUB_AGENTS, "{\"project_dir\":\"/w\"}");
    DISPATCH(files, ALICE, "POST", SUB_AGENTS, "{\"load_builtin\":false}");

    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, "agents[0].name", "\"general-purpose\"");
    assert_json_at(answer.body.text, "agents[0].is_builtin", "true");
    assert_json_at(answer.body.text, "agents[1].name", "\"code-explorer\"");
    assert_json_at(answer.body.text, "agents[2].name", "\"bash-runner\"");
    assert_json_at(answer.body.text, "agents[2].system_prompt", "\"The user's.\"");
    assert_json_at(answer.body.text, "agents[2].level", "\"user\"");
    assert_json_at(answer.body.text, "agents[3].name", "\"two\"");
    assert_json_at(answer.body.text, "agents[3].system_prompt", "\"The project's two.\"");
    assert_json_at(answer.body.text, "agents[3].level", "\"project\"");
    assert_json_at(answer.body.text, "agents[4]", NULL);
    assert_json_at(files.body.text, "agents[0].name", "\"bash-runner\"");
    assert_asked_json(server, 0, "places", "[" AGENT_PLACES("~") "," AGENT_PLACES("/w") "]");
    assert_asked_json(server, 1, "places", "[" AGENT_PLACES("~") "]");
    test_server_stop(server);
}

static void web_researcher_needs_a_browser(void **state)
{
    struct fixture *fixture = *state;
    static const char body[] =
        "{\"load_user\":false,\"load_project\":false,\"project_dir\":\"/w\"}";

    fixture->settings.sandbox_browser = 1;
    {
        DISPATCH(with, ALICE, "POST", SUB_AGENTS, body);
        assert_json_at(with.body.text, "agents[3].name", "\"web-researcher\"");
    }
    fixture->settings.sandbox_browser = 0;
    {
        DISPATCH(without, ALICE, "POST", SUB_AGENTS, body);

        assert_json_at(without.body.text, "agents[2].name", "\"bash-runner\"");
        assert_json_at(without.body.text, "agents[3]", NULL);
    }
}

/* --- a look into a plugin's repository --- */

#define FETCH "/api/plugins/fetch"

static void plugin_is_looked_into_without_installing_it(void **state)
{
    static const struct test_reply replies[] = {
        FETCHED(FILE_OF("plugin.json", MANIFEST("box")) "," FILE_OF(
            "skills/saw.md", "Saw.") "," FILE_OF("commands/cut.md", "Cut."))};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    DISPATCH(answer, ALICE, "POST", FETCH,
             "{\"source\":\"https://${TOKEN}@git.example/o/r\",\"ref\":\"main\","
             "\"repo_path\":\"a\",\"secrets\":{\"TOKEN\":\"p/w\"},\"timeout\":600}");
    DISPATCH(installed, ALICE, "GET", "/api/plugins/installed", NULL);

    assert_answer_json(&answer, 200,
                       "{\"path\":\"/f/box\",\"resolved_ref\":\"c0ffee\","
                       "\"source\":\"https://git.example/o/r\",\"repo_path\":\"a\","
                       "\"manifest\":{\"name\":\"box\",\"version\":\"2\",\"description\":"
                       "\"Tools\"},\"skills\":[\"saw\"],\"commands\":[\"cut\"]}");
    assert_answer_json(&installed, 200, "{\"plugins\":[]}");
    assert_asked(server, 0, "POST /repositories/fetch HTTP");
    assert_asked_json(server, 0, "credentials", "{\"password\":\"p/w\"}");
    assert_asked_json(server, 0, "ref", "\"main\"");
    assert_asked_json(server, 0, "repo_path", "\"a\"");
    assert_asked_json(server, 0, "timeout_ms", "600000");
    test_server_stop(server);
}

/* The member of the request that the sandbox gets for such a body. */
static void assert_fetch_asks(void **state, const char *body, const char *path,
                              const char *expected)
{
    static const struct test_reply replies[] = {FETCHED("")};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    DISPATCH(answer, ALICE, "POST", FETCH, body);

    assert_asked_json(server, 0, path, expected);
    test_server_stop(server);
}

static void tokens_of_forges_are_used_at_their_forge(void **state)
{
    static const struct {
        const char *body;
        const char *credentials;
    } rows[] = {
        {"{\"source\":\"github:o/r\",\"secrets\":{\"GITHUB_TOKEN\":\"t\"}}",
         "{\"username\":\"x-access-token\",\"password\":\"t\"}"},
        {"{\"source\":\"https://gitlab.com/o/r\",\"secrets\":{\"GITLAB_TOKEN\":\"t\"}}",
         "{\"username\":\"oauth2\",\"password\":\"t\"}"},
        {"{\"source\":\"https://bitbucket.org/o/r\",\"secrets\":{\"BITBUCKET_TOKEN\":\"t\"}}",
         "{\"username\":\"x-token-auth\",\"password\":\"t\"}"},
        {"{\"source\":\"https://bitbucket.org/o/r\",\"secrets\":{\"GITHUB_TOKEN\":\"t\"}}", "{}"},
        {"{\"source\":\"https://git.example/o/r\",\"secrets\":{\"GITHUB_TOKEN\":\"t\"}}", "{}"},
        {"{\"source\":\"https://u:p@github.com/o/r\",\"secrets\":{\"GITHUB_TOKEN\":\"t\"}}",
         "{\"username\":\"u\",\"password\":\"p\"}"},
        {"{\"source\":\"https://a${U}b:${P}c@g.example/o\",\"secrets\":{\"U\":\"@\",\"P\":\"/\"}}",
         "{\"username\":\"a@b\",\"password\":\"/c\"}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_fetch_asks(state, rows[i].body, "credentials", rows[i].credentials);
    assert_fetch_asks(state, "{\"source\":\"github:o/r\"}", "timeout_ms", "60000");
    assert_fetch_asks(state, "{\"source\":\"github:o/r\",\"timeout\":1}", "timeout_ms", "1000");
}

/* sha256("https://github.com/o/r.git\n") and with "main" after it. */
static void each_address_and_ref_has_a_folder_of_its_own(void **state)
{
    assert_fetch_asks(state, "{\"source\":\"github:o/r\"}", "folder",
                      "\"/workspace/.openhands/fetched/4921fb6dc216ef10122a2bb4e1a5f656\"");
    assert_fetch_asks(state, "{\"source\":\"github:o/r\",\"ref\":\"main\"}", "folder",
                      "\"/workspace/.openhands/fetched/9d923e3713b3b1a1b316feb8eed48683\"");
}

static void stored_secrets_are_looked_up(void **state)
{
    static const char body[] = "{\"source\":\"https://${A}:${B}@g.example/o\",\"secrets\":{"
                               "\"A\":{\"kind\":\"StaticSecret\",\"value\":\"plain\"},"
                               "\"B\":{\"kind\":\"LookupSecret\",\"url\":"
                               "\"/api/settings/secrets/STORED\"}}}";
    DISPATCH(put, ALICE, "PUT", "/api/settings/secrets",
             "{\"name\":\"STORED\",\"value\":\"the-stored-one\"}");

    assert_int_equal(put.status, 200);
    assert_fetch_asks(state, body, "credentials",
                      "{\"username\":\"plain\",\"password\":\"the-stored-one\"}");
    {
        DISPATCH(gone, ALICE, "DELETE", "/api/settings/secrets/STORED", NULL);
        DISPATCH(answer, ALICE, "POST", FETCH, body);

        assert_int_equal(gone.status, 200);
        assert_answer_json(&answer, 422, "{\"detail\":\"There is no secret STORED\"}");
    }
}

static void refusals_of_a_fetch_have_a_code(void **state)
{
#define REFUSED(code, message) "{\"detail\":{\"code\":\"" code "\",\"message\":\"" message "\"}}"
    static const struct {
        struct test_reply reply;
        int status;
        const char *answer;
    } rows[] = {
        {TEST_SAYS("400 Bad Request", "{\"detail\":\"bad\"}"), 422,
         REFUSED("invalid_plugin", "bad")},
        {TEST_SAYS("200 OK", "{\"unreachable\":\"no such host\"}"), 502,
         REFUSED("fetch_failed", "no such host")},
        {TEST_SAYS("504 Gateway Timeout", "{\"detail\":\"too long\"}"), 504,
         REFUSED("timeout", "too long")},
        {TEST_SAYS("200 OK", "{}"), 502, REFUSED("no_sandbox", "the sandbox's reply is not valid")},
        {FETCHED(""), 422,
         REFUSED("invalid_plugin", "There is no plugin manifest (.plugin/plugin.json)")},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, &rows[i].reply, 1);
        DISPATCH(answer, ALICE, "POST", FETCH, "{\"source\":\"github:o/r\"}");

        assert_answer_json(&answer, rows[i].status, rows[i].answer);
        test_server_stop(server);
    }
}

static void a_fetch_without_a_slot_is_refused_with_a_code(void **state)
{
    size_t n = test_take_waits(*state);
    DISPATCH(answer, ALICE, "POST", FETCH, "{\"source\":\"github:o/r\"}");

    assert_answer_json(&answer, 502,
                       REFUSED("no_sandbox", "too many requests are already waiting"));
    test_give_waits(*state, n);
}

static void wrong_fetches_are_named(void **state)
{
    static const struct {
        const char *body;
        const char *path;
        const char *value;
    } rows[] = {
        {"{}", "detail[0].loc", "[\"body\",\"source\"]"},
        {"{\"source\":\"github:o/r\",\"ref\":1}", "detail[0].loc", "[\"body\",\"ref\"]"},
        {"{\"source\":\"github:o/r\",\"repo_path\":1}", "detail[0].loc",
         "[\"body\",\"repo_path\"]"},
        {"{\"source\":\"github:o/r\",\"secrets\":1}", "detail[0].loc", "[\"body\",\"secrets\"]"},
        {"{\"source\":\"github:o/r\",\"timeout\":0}", "detail[0].loc", "[\"body\",\"timeout\"]"},
        {"{\"source\":\"github:o/r\",\"timeout\":601}", "detail[0]",
         "{\"type\":\"less_than_equal\",\"loc\":[\"body\",\"timeout\"],\"msg\":\"Input should be "
         "less than or equal to 600\",\"input\":601}"},
        {"{\"source\":\"x\"}", "detail.code", "\"invalid_plugin\""},
        {"{\"source\":\"https://${T}@g/o\",\"secrets\":{\"T\":{}}}", "detail.message",
         "\"The source refers to a secret that was not given: T\""},
        {"{\"source\":\"https://${T@g/o\",\"secrets\":{\"T@g/o\":\"x\"}}", "detail.code",
         "\"invalid_plugin\""},
    };

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, ALICE, "POST", FETCH, rows[i].body);

        if (answer.status != 422)
            fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
        assert_json_at(answer.body.text, rows[i].path, rows[i].value);
    }
}

/* --- parts that deft does not have --- */

#define NOT_SUPPORTED "{\"detail\":\"Canvas extensions are not supported by this server\"}"
#define ONE "/api/canvas-extensions/installed/x"

static void parts_that_are_missing_answer_in_their_form(void **state)
{
    static const struct {
        const char *method;
        const char *path;
        int status;
        const char *answer;
    } rows[] = {
        {"GET", "/api/canvas-extensions/installed", 200, "{\"canvas_extensions\":[]}"},
        {"POST", "/api/canvas-extensions/install", 501, NOT_SUPPORTED},
        {"GET", ONE, 501, NOT_SUPPORTED},
        {"PATCH", ONE, 501, NOT_SUPPORTED},
        {"DELETE", ONE, 501, NOT_SUPPORTED},
        {"GET", ONE "/backend", 501, NOT_SUPPORTED},
        {"POST", ONE "/backend/prepare", 501, NOT_SUPPORTED},
        {"POST", ONE "/backend/start", 501, NOT_SUPPORTED},
        {"POST", ONE "/backend/stop", 501, NOT_SUPPORTED},
        {"GET", ONE "/backend/logs", 501, NOT_SUPPORTED},
        {"DELETE", ONE "/backend/data", 501, NOT_SUPPORTED},
        {"GET", ONE "/bundle", 501, NOT_SUPPORTED},
        {"GET", ONE "/icon", 501, NOT_SUPPORTED},
        {"POST", "/app-backends/x/session", 501, NOT_SUPPORTED},
        {"DELETE", "/app-backends/x/session", 501, NOT_SUPPORTED},
        {"GET", "/api/automation/health", 200, "{\"status\":\"ok\"}"},
        {"GET", "/api/automation/sdk-version", 200,
         "{\"version\":\"1.58.0\",\"sdk_version\":\"1.58.0\"}"},
        {"GET", "/api/automation/v1", 200,
         "{\"automations\":[],\"items\":[],\"runs\":[],\"total\":0}"},
        {"POST", "/api/automation/v1/telemetry/consent", 200, SUCCESS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, ALICE, rows[i].method, rows[i].path, NULL);

        if (answer.status != rows[i].status)
            fail_msg("%s: %d %s", rows[i].path, answer.status, answer.body.text);
        assert_answer_json(&answer, rows[i].status, rows[i].answer);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_with_a_manifest_are_plugins),
        cmocka_unit_test(installed_plugins_are_listed_unless_switched_off),
        cmocka_unit_test(plugins_need_a_sandbox_and_a_right_body),
        cmocka_unit_test(sub_agents_of_files_replace_those_of_the_server),
        cmocka_unit_test(web_researcher_needs_a_browser),
        cmocka_unit_test(plugin_is_looked_into_without_installing_it),
        cmocka_unit_test(tokens_of_forges_are_used_at_their_forge),
        cmocka_unit_test(each_address_and_ref_has_a_folder_of_its_own),
        cmocka_unit_test(stored_secrets_are_looked_up),
        cmocka_unit_test(refusals_of_a_fetch_have_a_code),
        cmocka_unit_test(a_fetch_without_a_slot_is_refused_with_a_code),
        cmocka_unit_test(wrong_fetches_are_named),
        cmocka_unit_test(parts_that_are_missing_answer_in_their_form),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

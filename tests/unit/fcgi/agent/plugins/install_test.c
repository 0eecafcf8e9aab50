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

#define COPY "/workspace/.openhands/fetched/x"
#define FETCHED(files)                                                                             \
    TEST_SAYS("200 OK", "{\"path\":\"" COPY "\",\"resolved_ref\":\"c0ffee\",\"files\":[" files "]" \
                        "}")
#define FILE_OF(path, text) "{\"path\":\"" path "\",\"text\":\"" text "\"}"
#define SKILL(name)                                                                                \
    FILE_OF("SKILL.md", "---\\nname: " name "\\ndescription: Helps\\nversion: v1\\n---\\nDo it.")
#define PLUGIN                                                                                     \
    FILE_OF(".plugin/plugin.json",                                                                 \
            "{\\\"name\\\":\\\"tool-box\\\",\\\"version\\\":\\\"2\\\",\\\"description\\\":"        \
            "\\\"Tools\\\"}")                                                                      \
    "," FILE_OF("skills/saw.md", "---\\ndescription: Cuts\\n---\\nSaw.")

#define SKILL_SOURCE "https://me:pass@git.example/o/r"
#define SKILL_ADDRESS "https://git.example/o/r"

/* The same for both kinds. */
struct kind {
    const char *install;
    const char *installed;
    const char *one;
    const char *refresh;
    const char *name;
    const char *list;
    const char *single;
    const char *word;
    struct test_reply fetched;
    const char *description;
    const char *version;
};

static const struct kind skills = {"/api/skills/install",
                                   "/api/skills/installed",
                                   "/api/skills/installed/my-skill",
                                   "/api/skills/installed/my-skill/refresh",
                                   "my-skill",
                                   "skills",
                                   "skill",
                                   "Skill",
                                   FETCHED(SKILL("my-skill")),
                                   "\"Helps\"",
                                   "\"v1\""};
static const struct kind plugins = {"/api/plugins/install",
                                    "/api/plugins/installed",
                                    "/api/plugins/installed/tool-box",
                                    "/api/plugins/installed/tool-box/refresh",
                                    "tool-box",
                                    "plugins",
                                    "plugin",
                                    "Plugin",
                                    FETCHED(PLUGIN),
                                    "\"Tools\"",
                                    "\"2\""};

static const struct kind *const both[] = {&skills, &plugins};

static void forget_all(void)
{
    test_sql("DELETE FROM documents WHERE collection IN ('installed_skills', 'installed_plugins')");
}

/* Sends the request to a sandbox that gives that answer; fails unless it is answered so. */
static void assert_installs(void **state, const struct test_reply *reply, const char *path,
                            const char *body, int status)
{
    struct test_server *server = test_start_sandbox(*state, reply, 1);
    DISPATCH(answer, ALICE, "POST", path, body);

    if (answer.status != status)
        fail_msg("%s: %d %s", path, answer.status, answer.body.text);
    test_server_stop(server);
}

static void put_quoted(char *out, size_t size, const char *text)
{
    (void)snprintf(out, size, "\"%s\"", text);
}

static void package_is_fetched_stored_and_shown_without_its_password(void **state)
{
    static const char body[] = "{\"source\":\"" SKILL_SOURCE "\",\"ref\":\"main\","
                               "\"repo_path\":\"a/b\"}";

    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        const struct kind *kind = both[i];
        struct test_server *server = test_start_sandbox(*state, &kind->fetched, 1);
        char name[80];
        DISPATCH(answer, ALICE, "POST", kind->install, body);
        DISPATCH(got, ALICE, "GET", kind->one, NULL);

        put_quoted(name, sizeof(name), kind->name);
        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "name", name);
        assert_json_at(answer.body.text, "version", kind->version);
        assert_json_at(answer.body.text, "description", kind->description);
        assert_json_at(answer.body.text, "enabled", "true");
        assert_json_at(answer.body.text, "source", "\"" SKILL_ADDRESS "\"");
        assert_json_at(answer.body.text, "resolved_ref", "\"c0ffee\"");
        assert_json_at(answer.body.text, "repo_path", "\"a/b\"");
        assert_json_at(answer.body.text, "install_path", "\"" COPY "\"");
        assert_json_at(answer.body.text, "ref", NULL);
        assert_non_null(strstr(answer.body.text, "\"installed_at\":\"20"));
        assert_answer_json(&got, 200, answer.body.text);
        assert_null(strstr(got.body.text, "pass"));
        assert_asked(server, 0, "POST /repositories/fetch HTTP");
        assert_asked_json(server, 0, "source", "\"" SKILL_ADDRESS "\"");
        assert_asked_json(server, 0, "ref", "\"main\"");
        assert_asked_json(server, 0, "repo_path", "\"a/b\"");
        assert_asked_json(server, 0, "credentials", "{\"username\":\"me\",\"password\":\"pass\"}");
        assert_asked_json(server, 0, "timeout_ms", "60000");
        test_server_stop(server);
    }
}

static void only_plugins_list_their_parts(void **state)
{
    forget_all();
    assert_installs(state, &skills.fetched, skills.install, "{\"source\":\"github:o/r\"}", 200);
    assert_installs(state, &plugins.fetched, plugins.install, "{\"source\":\"github:o/r\"}", 200);
    {
        DISPATCH(skill, ALICE, "GET", skills.one, NULL);
        DISPATCH(plugin, ALICE, "GET", plugins.one, NULL);

        assert_json_at(skill.body.text, "skills", NULL);
        assert_json_at(skill.body.text, "files", NULL);
        assert_json_at(plugin.body.text, "skills", "[{\"name\":\"saw\",\"description\":\"Cuts\"}]");
        assert_json_at(plugin.body.text, "files", "[\".plugin/plugin.json\",\"skills/saw.md\"]");
        assert_json_at(plugin.body.text, "source", "\"github:o/r\"");
        assert_json_at(plugin.body.text, "repo_path", "null");
    }
}

static void installed_package_is_replaced_only_by_force(void **state)
{
    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        const struct kind *kind = both[i];
        struct test_server *server = test_start_sandbox(*state, &kind->fetched, 1);
        char expected[100];
        DISPATCH(first, ALICE, "POST", kind->install, "{\"source\":\"github:o/one\"}");
        DISPATCH(second, ALICE, "POST", kind->install, "{\"source\":\"github:o/two\"}");
        DISPATCH(kept, ALICE, "GET", kind->one, NULL);
        DISPATCH(forced, ALICE, "POST", kind->install,
                 "{\"source\":\"github:o/two\",\"force\":true}");
        DISPATCH(replaced, ALICE, "GET", kind->one, NULL);

        (void)snprintf(expected, sizeof(expected), "{\"detail\":\"%s '%s' is already installed\"}",
                       kind->word, kind->name);
        assert_int_equal(first.status, 200);
        assert_answer_json(&second, 409, expected);
        assert_answer_member(&kept, 200, "source", "github:o/one");
        assert_int_equal(forced.status, 200);
        assert_answer_member(&replaced, 200, "source", "github:o/two");
        test_server_stop(server);
    }
}

static void packages_are_listed_switched_and_uninstalled_by_their_user(void **state)
{
    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        const struct kind *kind = both[i];
        char path[40];
        char name[80];
        char text[120];

        assert_installs(state, &kind->fetched, kind->install, "{\"source\":\"github:o/r\"}", 200);
        (void)snprintf(path, sizeof(path), "%s[0].name", kind->list);
        put_quoted(name, sizeof(name), kind->name);
        {
            DISPATCH(listed, ALICE, "GET", kind->installed, NULL);
            DISPATCH(foreign, BOB, "GET", kind->installed, NULL);
            DISPATCH(off, ALICE, "PATCH", kind->one, "{\"enabled\":false}");
            DISPATCH(got, ALICE, "GET", kind->one, NULL);

            assert_json_at(listed.body.text, path, name);
            (void)snprintf(text, sizeof(text), "{\"%s\":[]}", kind->list);
            assert_answer_json(&foreign, 200, text);
            (void)snprintf(text, sizeof(text), "{\"name\":\"%s\",\"enabled\":false}", kind->name);
            assert_answer_json(&off, 200, text);
            assert_json_at(got.body.text, "enabled", "false");
        }
        {
            DISPATCH(gone, ALICE, "DELETE", kind->one, NULL);
            DISPATCH(again, ALICE, "DELETE", kind->one, NULL);
            DISPATCH(got, ALICE, "GET", kind->one, NULL);
            DISPATCH(off, ALICE, "PATCH", kind->one, "{\"enabled\":false}");
            DISPATCH(refreshed, ALICE, "POST", kind->refresh, NULL);

            (void)snprintf(text, sizeof(text), "{\"message\":\"%s '%s' is uninstalled\"}",
                           kind->word, kind->name);
            assert_answer_json(&gone, 200, text);
            (void)snprintf(text, sizeof(text), "{\"detail\":\"%s '%s' is not installed\"}",
                           kind->word, kind->name);
            assert_answer_json(&again, 404, text);
            assert_answer_json(&got, 404, text);
            assert_answer_json(&off, 404, text);
            assert_answer_json(&refreshed, 404, text);
        }
    }
}

static void refresh_keeps_source_credentials_and_switch(void **state)
{
    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        const struct kind *kind = both[i];
        struct test_server *server = test_start_sandbox(*state, &kind->fetched, 1);
        char path[40];
        char text[120];
        DISPATCH(installed, ALICE, "POST", kind->install,
                 "{\"source\":\"" SKILL_SOURCE "\",\"ref\":\"main\",\"repo_path\":\"a\"}");
        DISPATCH(off, ALICE, "PATCH", kind->one, "{\"enabled\":false}");
        DISPATCH(refreshed, ALICE, "POST", kind->refresh, NULL);
        DISPATCH(got, ALICE, "GET", kind->one, NULL);

        assert_int_equal(installed.status, 200);
        assert_int_equal(off.status, 200);
        (void)snprintf(text, sizeof(text), "\"%s '%s' is refreshed\"", kind->word, kind->name);
        assert_int_equal(refreshed.status, 200);
        assert_json_at(refreshed.body.text, "message", text);
        assert_json_at(refreshed.body.text, kind->single, got.body.text);
        (void)snprintf(path, sizeof(path), "%s.enabled", kind->single);
        assert_json_at(refreshed.body.text, path, "false");
        for (size_t at = 0; at < 2; at++) {
            assert_asked_json(server, at, "source", "\"" SKILL_ADDRESS "\"");
            assert_asked_json(server, at, "ref", "\"main\"");
            assert_asked_json(server, at, "repo_path", "\"a\"");
            assert_asked_json(server, at, "credentials",
                              "{\"username\":\"me\",\"password\":\"pass\"}");
        }
        test_server_stop(server);
    }
}

static void refresh_that_brings_another_package_changes_nothing(void **state)
{
    static const struct test_reply other = FETCHED(SKILL("other"));
    struct test_server *server = NULL;

    forget_all();
    assert_installs(state, &skills.fetched, skills.install, "{\"source\":\"github:o/r\"}", 200);
    server = test_start_sandbox(*state, &other, 1);
    {
        DISPATCH(refreshed, ALICE, "POST", skills.refresh, NULL);
        DISPATCH(listed, ALICE, "GET", skills.installed, NULL);

        assert_answer_json(&refreshed, 422,
                           "{\"detail\":\"The source now contains a different one, 'other'\"}");
        assert_json_at(listed.body.text, "skills[0].name", "\"my-skill\"");
        assert_json_at(listed.body.text, "skills[1]", NULL);
    }
    test_server_stop(server);
}

/* An answer of the sandbox to a fetch, and the answer to the client. */
struct failure {
    struct test_reply reply;
    int status;
    const char *answer;
};

static void sources_that_cannot_be_fetched_are_told(void **state)
{
#define FAILED_502(text) "{\"detail\":\"Internal Server Error\",\"exception\":\"502: " text "\"}"
    static const struct failure rows[] = {
        {TEST_SAYS("200 OK", "{\"unreachable\":\"no such host\"}"), 400,
         "{\"detail\":\"no such host\"}"},
        {TEST_SAYS("400 Bad Request", "{\"detail\":\"bad folder\"}"), 400,
         "{\"detail\":\"bad folder\"}"},
        {TEST_SAYS("200 OK", "{\"path\":\"x\",\"files\":[]}"), 502,
         FAILED_502("the sandbox's reply is not valid")},
        {TEST_SAYS("200 OK", "{\"files\":[]}"), 502,
         FAILED_502("the sandbox's reply is not valid")},
        {TEST_SAYS("200 OK", "{\"path\":\"/x\",\"files\":{}}"), 502,
         FAILED_502("the sandbox's reply is not valid")},
        {TEST_SAYS("504 Gateway Timeout", "{\"detail\":\"too long\"}"), 502,
         FAILED_502("too long")},
        {FETCHED(""), 422, "{\"detail\":\"There is no SKILL.md with a valid skill\"}"},
    };

    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, &rows[i].reply, 1);
        DISPATCH(answer, ALICE, "POST", skills.install, "{\"source\":\"github:o/r\"}");
        DISPATCH(listed, ALICE, "GET", skills.installed, NULL);

        assert_answer_json(&answer, rows[i].status, rows[i].answer);
        assert_answer_json(&listed, 200, "{\"skills\":[]}");
        test_server_stop(server);
    }
}

static void wrong_requests_fetch_nothing(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *path;
        const char *value;
    } rows[] = {
        {"{}", 422, "detail[0].loc", "[\"body\",\"source\"]"},
        {"{\"source\":1}", 422, "detail[0].loc", "[\"body\",\"source\"]"},
        {"{\"source\":\"github:o/r\",\"ref\":1}", 422, "detail[0].loc", "[\"body\",\"ref\"]"},
        {"{\"source\":\"github:o/r\",\"repo_path\":1}", 422, "detail[0].loc",
         "[\"body\",\"repo_path\"]"},
        {"{\"source\":\"github:o/r\",\"force\":\"x\"}", 422, "detail[0].loc",
         "[\"body\",\"force\"]"},
        {"{\"source\":\"github:o/r\",\"repo_path\":\"../x\"}", 400, "detail",
         "\"repo_path must be a path within the repository\""},
        {"{\"source\":\"https://${TOKEN}@git.example/r\"}", 400, "detail",
         "\"The source refers to a secret that was not given: TOKEN\""},
    };

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, ALICE, "POST", skills.install, rows[i].body);

        if (answer.status != rows[i].status)
            fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
        assert_json_at(answer.body.text, rows[i].path, rows[i].value);
    }
}

static void members_have_a_greatest_length(void **state)
{
    static const struct {
        const char *before;
        size_t max;
        const char *where;
    } rows[] = {
        {"\"source\":\"", 4096, "[\"body\",\"source\"]"},
        {"\"source\":\"github:o/r\",\"ref\":\"", 255, "[\"body\",\"ref\"]"},
        {"\"source\":\"github:o/r\",\"repo_path\":\"", 1024, "[\"body\",\"repo_path\"]"},
    };
    char text[4200];
    char body[4300];

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        memset(text, 'a', sizeof(text));
        text[rows[i].max + 1] = '\0';
        (void)snprintf(body, sizeof(body), "{%s%s\"}", rows[i].before, text);
        {
            DISPATCH(answer, ALICE, "POST", skills.install, body);

            assert_json_at(answer.body.text, "detail[0].type", "\"string_too_long\"");
            assert_json_at(answer.body.text, "detail[0].loc", rows[i].where);
        }
        text[rows[i].max] = '\0';
        (void)snprintf(body, sizeof(body), "{%s%s\"}", rows[i].before, text);
        {
            DISPATCH(answer, ALICE, "POST", skills.install, body);
            assert_null(strstr(answer.body.text, "string_too_long"));
        }
    }
}

/* A skill whose stored text has about that many KiB. */
static void assert_sized(void **state, size_t n_kib, int status, const char *answer_text)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *server = NULL;

    strbuf_append(&bytes, "HTTP/1.1 200 OK\r\n\r\n{\"path\":\"" COPY
                          "\",\"files\":[{\"path\":\"SKILL.md\",\"text\":\"---\\nname: my-skill\\n"
                          "---\\n");
    for (size_t i = 0; i < n_kib; i++)
        strbuf_appendf(&bytes, "%01024d", 0);
    strbuf_append(&bytes, "\"}]}");
    reply.bytes = bytes.text;
    server = test_start_sandbox(*state, &reply, 1);
    {
        DISPATCH(answer, ALICE, "POST", skills.install, "{\"source\":\"github:o/r\"}");
        assert_answer(&answer, status, answer_text);
    }
    test_server_stop(server);
}

static void packages_have_a_greatest_size(void **state)
{
    forget_all();
    assert_sized(state, 1024, 422, "the texts of a Skill may have at most 1024 KiB");
    assert_sized(state, 1022, 200, "my-skill");
}

static void names_in_addresses_are_checked(void **state)
{
    static const struct {
        const char *path;
        const char *where;
    } rows[] = {
        {"/api/skills/installed/My_Skill", "[\"path\",\"skill_name\"]"},
        {"/api/plugins/installed/a--b", "[\"path\",\"plugin_name\"]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(got, ALICE, "GET", rows[i].path, NULL);
        DISPATCH(gone, ALICE, "DELETE", rows[i].path, NULL);
        DISPATCH(off, ALICE, "PATCH", rows[i].path, "{\"enabled\":false}");

        assert_int_equal(got.status, 422);
        assert_json_at(got.body.text, "detail[0].type", "\"string_pattern_mismatch\"");
        assert_json_at(got.body.text, "detail[0].loc", rows[i].where);
        assert_answer_json(&gone, 422, got.body.text);
        assert_answer_json(&off, 422, got.body.text);
    }
    {
        DISPATCH(name, ALICE, "GET", rows[0].path, NULL);
        DISPATCH(missing, ALICE, "PATCH", skills.one, "{}");

        assert_json_at(name.body.text, "detail[0].input", "\"My_Skill\"");
        assert_json_at(name.body.text, "detail[0].msg",
                       "\"String should match pattern '^[a-z0-9]+(-[a-z0-9]+)*$'\"");
        assert_int_equal(missing.status, 422);
        assert_json_at(missing.body.text, "detail[0].loc", "[\"body\",\"enabled\"]");
    }
}

static void a_user_has_fifty_packages_at_most(void **state)
{
    const struct fixture *fixture = *state;
    char sql[300];

    forget_all();
    assert_installs(state, &skills.fetched, skills.install, "{\"source\":\"github:o/r\"}", 200);
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO documents (user_id, collection, name, id, body) SELECT '%s',"
                   " 'installed_skills', 's' || i, gen_random_uuid(), '{\"skills\":[]}'"
                   " FROM generate_series(1, 48) i",
                   fixture->alice.text);
    test_sql(sql);
    {
        static const struct test_reply fiftieth = FETCHED(SKILL("fiftieth"));
        static const struct test_reply next = FETCHED(SKILL("next"));

        assert_installs(state, &fiftieth, skills.install, "{\"source\":\"github:o/r\"}", 200);
        assert_installs(state, &next, skills.install, "{\"source\":\"github:o/r\"}", 409);
        assert_installs(state, &fiftieth, skills.install,
                        "{\"source\":\"github:o/r\",\"force\":true}", 200);
    }
    forget_all();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(package_is_fetched_stored_and_shown_without_its_password),
        cmocka_unit_test(only_plugins_list_their_parts),
        cmocka_unit_test(installed_package_is_replaced_only_by_force),
        cmocka_unit_test(packages_are_listed_switched_and_uninstalled_by_their_user),
        cmocka_unit_test(refresh_keeps_source_credentials_and_switch),
        cmocka_unit_test(refresh_that_brings_another_package_changes_nothing),
        cmocka_unit_test(sources_that_cannot_be_fetched_are_told),
        cmocka_unit_test(wrong_requests_fetch_nothing),
        cmocka_unit_test(members_have_a_greatest_length),
        cmocka_unit_test(packages_have_a_greatest_size),
        cmocka_unit_test(names_in_addresses_are_checked),
        cmocka_unit_test(a_user_has_fifty_packages_at_most),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

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
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define SKILLS "/api/skills"
#define FILE_AT(place, path, text)                                                                 \
    "{\"place\":" place ",\"path\":\"" path "\",\"text\":\"" text "\"}"
#define COLLECTED(files) TEST_SAYS("200 OK", "{\"files\":[" files "]}")
#define FETCHED(files)                                                                             \
    TEST_SAYS("200 OK", "{\"path\":\"/f\",\"resolved_ref\":\"c0ffee\",\"files\":[" files "]}")
#define FILE_OF(path, text) "{\"path\":\"" path "\",\"text\":\"" text "\"}"
#define COUNTS(sandbox, market, user, organisation, project)                                       \
    "{\"sandbox\":" sandbox ",\"registered_marketplaces\":" market ",\"sdk_base\":" user           \
    ",\"org\":" organisation ",\"project\":" project "}"

/* The folders and names that are read, below each of the user's home and the project. */
#define PLACE(folder, sub, names, depth)                                                           \
    "{\"folder\":\"" folder "\",\"sub\":\"" sub "\",\"names\":[" names "],\"depth\":" depth        \
    ",\"with_root\":true}"
#define PLACES(folder)                                                                             \
    PLACE(folder, ".openhands/microagents", "\"*.md\"", "1")                                       \
    "," PLACE(folder, ".openhands/skills", "\"*.md\"", "1") "," PLACE(                             \
        folder, ".openhands/skills", "\"SKILL.md\"",                                               \
        "2") "," PLACE(folder, ".agents/skills", "\"*.md\"",                                       \
                       "1") "," PLACE(folder, ".agents/skills", "\"SKILL.md\"",                    \
                                      "2") "," PLACE(folder, "",                                   \
                                                     "\"AGENTS.md\",\"AGENT.md\",\"CLAUDE.md\","   \
                                                     "\"GEMINI.md\",\".cursorrules\"",             \
                                                     "1")

static void files_of_the_user_and_the_project_become_skills(void **state)
{
    static const struct test_reply replies[] = {COLLECTED(
        FILE_AT("0", "/root/.openhands/microagents/a.md", "of the user") "," FILE_AT("2", "/root/.openhands/skills/b/SKILL.md", "---\\ndescription: B\\n---\\nUser's b.") "," FILE_AT(
            "5", "/root/AGENTS.md",
            "for other programs") "," FILE_AT("8", "/w/.openhands/skills/b/SKILL.md",
                                              "Project's b.") "," FILE_AT("11", "/w/AGENTS.md",
                                                                          "Memory.") "," FILE_AT("1"
                                                                                                 "2",
                                                                                                 "/"
                                                                                                 "w"
                                                                                                 "/"
                                                                                                 "x"
                                                                                                 "."
                                                                                                 "m"
                                                                                                 "d",
                                                                                                 "n"
                                                                                                 "o"
                                                                                                 "n"
                                                                                                 "e"))};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    DISPATCH(answer, ALICE, "POST", SKILLS, "{\"project_dir\":\"/w\"}");

    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, "skills[0].name", "\"a\"");
    assert_json_at(answer.body.text, "skills[0].content", "\"of the user\"");
    assert_json_at(answer.body.text, "skills[1].name", "\"b\"");
    assert_json_at(answer.body.text, "skills[1].content", "\"Project's b.\"");
    assert_json_at(answer.body.text, "skills[1].is_agentskills_format", "true");
    assert_json_at(answer.body.text, "skills[2].name", "\"agents\"");
    assert_json_at(answer.body.text, "skills[3]", NULL);
    assert_json_at(answer.body.text, "sources", COUNTS("0", "0", "1", "0", "2"));
    assert_asked(server, 0, "POST /files/collect HTTP");
    assert_asked_json(server, 0, "places", "[" PLACES("~") "," PLACES("/w") "]");
    test_server_stop(server);
}

static void what_is_read_follows_the_switches(void **state)
{
    static const struct test_reply replies[] = {COLLECTED("")};
    static const struct {
        const char *body;
        const char *places; /* NULL: the sandbox is not asked */
    } rows[] = {
        {"", "[" PLACES("~") "]"},
        {"{\"load_project\":false,\"project_dir\":\"/w\"}", "[" PLACES("~") "]"},
        {"{\"load_user\":false,\"project_dir\":\"/w\"}", "[" PLACES("") "," PLACES("/w") "]"},
        {"{\"load_user\":false}", NULL},
        {"{\"load_user\":false,\"load_project\":false,\"project_dir\":\"/w\"}", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, replies, 1);
        DISPATCH(answer, ALICE, "POST", SKILLS, rows[i].body);

        assert_answer_json(&answer, 200,
                           "{\"skills\":[],\"sources\":" COUNTS("0", "0", "0", "0", "0") "}");
        if (rows[i].places != NULL)
            assert_asked_json(server, 0, "places", rows[i].places);
        else
            assert_int_equal(test_server_n_requests(server), 0);
        test_server_stop(server);
    }
}

static void installed_skills_are_among_the_users(void **state)
{
    static const struct test_reply replies[] = {COLLECTED("")};
    const struct fixture *fixture = *state;
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    char sql[500];

    test_sql("DELETE FROM documents WHERE collection IN ('installed_skills', 'installed_plugins')");
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO documents (user_id, collection, name, id, body)"
                   " SELECT '%s', c, n, gen_random_uuid(), b FROM (VALUES"
                   " ('installed_plugins', 'p', '{\"skills\":[{\"name\":\"of-plugin\"}]}'),"
                   " ('installed_skills', 's', '{\"skills\":[{\"name\":\"own\"}]}'),"
                   " ('installed_skills', 'off', '{\"enabled\":false,\"skills\":[{\"name\":"
                   "\"off\"}]}')) AS t(c, n, b)",
                   fixture->alice.text);
    test_sql(sql);
    {
        DISPATCH(answer, ALICE, "POST", SKILLS, "{}");
        DISPATCH(catalog, ALICE, "GET", SKILLS "/catalog", NULL);
        DISPATCH(without, ALICE, "POST", SKILLS, "{\"load_user\":false}");
        DISPATCH(foreign, BOB, "POST", SKILLS, "{\"load_user\":false}");

        assert_json_at(answer.body.text, "skills", "[{\"name\":\"of-plugin\"},{\"name\":\"own\"}]");
        assert_json_at(answer.body.text, "sources", COUNTS("0", "0", "2", "0", "0"));
        assert_answer_json(&catalog, 200,
                           "{\"skills\":[{\"name\":\"of-plugin\",\"origin\":\"user\"},"
                           "{\"name\":\"own\",\"origin\":\"user\"}]}");
        assert_json_at(without.body.text, "skills", "[]");
        assert_json_at(foreign.body.text, "skills", "[]");
    }
    assert_asked_json(server, 1, "places", "[" PLACES("~") "]");
    test_server_stop(server);
    test_sql("DELETE FROM documents WHERE collection IN ('installed_skills', 'installed_plugins')");
}

static void a_sandbox_that_fails_is_told(void **state)
{
    test_remove_sandbox(*state);
    {
        DISPATCH(list, ALICE, "POST", SKILLS, "{}");
        DISPATCH(catalog, ALICE, "GET", SKILLS "/catalog", NULL);

        assert_int_equal(list.status, 502);
        assert_json_at(list.body.text, "detail", "\"Internal Server Error\"");
        assert_int_equal(catalog.status, 502);
    }
}

/* --- sources that the client names --- */

#define MARKET(name, auto_load)                                                                    \
    "{\"name\":\"" name "\",\"source\":\"github:o/" name "\",\"ref\":\"main\","                    \
    "\"repo_path\":\"sub\",\"auto_load\":" auto_load "}"
#define OFFERS(offers) FILE_OF("marketplace.json", "{\\\"plugins\\\":[" offers "]}")
#define OFFER(name, source) "{\\\"name\\\":\\\"" name "\\\",\\\"source\\\":" source "}"
#define QUOTED(text) "\\\"" text "\\\""

static void offers_of_a_market_are_loaded_by_name(void **state)
{
    static const struct test_reply replies[] = {
        FETCHED(OFFERS(OFFER("one", QUOTED("./one")) "," OFFER("two", QUOTED("two"))) "," FILE_OF(
            "one/skills/x.md", "X") "," FILE_OF("two/skills/y.md", "Y"))};
    static const struct {
        const char *auto_load;
        const char *first;
        const char *second;
    } rows[] = {
        {"true", "\"x\"", "\"y\""},
        {"[\"one\"]", "\"x\"", NULL},
        {"[\"two\",1]", "\"y\"", NULL},
        {"[\"three\"]", NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, replies, 1);
        char body[300];

        (void)snprintf(body, sizeof(body),
                       "{\"load_user\":false,\"registered_marketplaces\":[" MARKET("m", "%s") "]}",
                       rows[i].auto_load);
        {
            DISPATCH(answer, ALICE, "POST", SKILLS, body);

            assert_json_at(answer.body.text, "skills[0].name", rows[i].first);
            assert_json_at(answer.body.text, "skills[1].name", rows[i].second);
            assert_json_at(answer.body.text, "sources.registered_marketplaces",
                           rows[i].second != NULL  ? "2"
                           : rows[i].first != NULL ? "1"
                                                   : "0");
        }
        assert_int_equal(test_server_n_requests(server), 1);
        assert_asked_json(server, 0, "source", "\"https://github.com/o/m.git\"");
        assert_asked_json(server, 0, "ref", "\"main\"");
        assert_asked_json(server, 0, "repo_path", "\"sub\"");
        assert_asked_json(server, 0, "timeout_ms", "20000");
        test_server_stop(server);
    }
}

static void a_market_of_which_nothing_is_wanted_is_not_fetched(void **state)
{
    static const struct test_reply replies[] = {FETCHED("")};
    static const char *const wanted[] = {"false", "[]", "null", "1"};

    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        struct test_server *server = test_start_sandbox(*state, replies, 1);
        char body[300];

        (void)snprintf(body, sizeof(body),
                       "{\"load_user\":false,\"registered_marketplaces\":[" MARKET("m", "%s") "]}",
                       wanted[i]);
        {
            DISPATCH(answer, ALICE, "POST", SKILLS, body);
            assert_json_at(answer.body.text, "skills", "[]");
        }
        assert_int_equal(test_server_n_requests(server), 0);
        test_server_stop(server);
    }
}

static void offers_may_be_in_repositories_of_their_own(void **state)
{
    static const struct test_reply replies[] = {
        FETCHED(OFFERS(OFFER(
            "a",
            "{\\\"source\\\":\\\"github\\\",\\\"repo\\\":\\\"o/a\\\","
            "\\\"ref\\\":\\\"v1\\\",\\\"path\\\":\\\"p\\\"}") "," OFFER("b",
                                                                        "{\\\"source\\\":"
                                                                        "\\\"url\\\",\\\"url\\\":"
                                                                        "\\\"https://g.example/"
                                                                        "b\\\"}") "," OFFER("c",
                                                                                            QUOTED(
                                                                                                "/l"
                                                                                                "oc"
                                                                                                "al"
                                                                                                "/"
                                                                                                "c")) "," OFFER("d",
                                                                                                                QUOTED(
                                                                                                                    "."))) "," FILE_OF("skills/d.md",
                                                                                                                                       "D")),
        FETCHED(FILE_OF("skills/a.md", "A")), FETCHED(FILE_OF("skills/b.md", "B")),
        FETCHED(FILE_OF("skills/c.md", "C"))};
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));
    DISPATCH(answer, ALICE, "POST", SKILLS,
             "{\"load_user\":false,\"registered_marketplaces\":[" MARKET("m", "true") "]}");

    assert_json_at(answer.body.text, "skills[0].name", "\"a\"");
    assert_json_at(answer.body.text, "skills[1].name", "\"b\"");
    assert_json_at(answer.body.text, "skills[2].name", "\"c\"");
    assert_json_at(answer.body.text, "skills[3].name", "\"d\"");
    assert_json_at(answer.body.text, "sources", COUNTS("0", "4", "0", "0", "0"));
    assert_int_equal(test_server_n_requests(server), 4);
    assert_asked_json(server, 1, "source", "\"https://github.com/o/a.git\"");
    assert_asked_json(server, 1, "ref", "\"v1\"");
    assert_asked_json(server, 1, "repo_path", "\"p\"");
    assert_asked_json(server, 1, "timeout_ms", "20000");
    assert_asked_json(server, 2, "source", "\"https://g.example/b\"");
    assert_asked_json(server, 2, "ref", NULL);
    assert_asked_json(server, 3, "source", "\"/local/c\"");
    test_server_stop(server);
}

#define ORGANISATION(url)                                                                          \
    "{\"repository\":\"r\",\"provider\":\"github\",\"org_repo_url\":\"" url "\",\"org_name\":"     \
    "\"o\"}"

static void skills_of_an_organisation_come_from_its_repository(void **state)
{
    static const struct test_reply replies[] = {FETCHED(FILE_OF("skills/x.md", "X"))};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    DISPATCH(answer, ALICE, "POST", SKILLS,
             "{\"load_user\":false,\"org_configs\":[" ORGANISATION("https://g.example/o") "]}");
    DISPATCH(off, ALICE, "POST", SKILLS,
             "{\"load_user\":false,\"load_org\":false,\"org_configs\":[" ORGANISATION(
                 "https://g.example/o") "]}");

    assert_json_at(answer.body.text, "skills[0].name", "\"x\"");
    assert_json_at(answer.body.text, "sources", COUNTS("0", "0", "0", "1", "0"));
    assert_json_at(off.body.text, "skills", "[]");
    assert_int_equal(test_server_n_requests(server), 1);
    assert_asked_json(server, 0, "source", "\"https://g.example/o\"");
    assert_asked_json(server, 0, "timeout_ms", "20000");
    test_server_stop(server);
}

static void sources_that_fail_are_left_out_and_ten_are_fetched(void **state)
{
    static const struct test_reply replies[] = {
        TEST_SAYS("200 OK", "{\"unreachable\":\"no such host\"}"),
        FETCHED(FILE_OF("skills/x.md", "X"))};
    struct test_server *server = test_start_sandbox(*state, replies, ARRAY_SIZE(replies));
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_append(&body, "{\"load_user\":false,\"org_configs\":[" ORGANISATION("https://g.example/"
                                                                               "o"));
    for (int i = 0; i < 10; i++)
        strbuf_append(&body, "," ORGANISATION("https://g.example/o"));
    strbuf_append(&body, "]}");
    {
        DISPATCH(answer, ALICE, "POST", SKILLS, body.text);

        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "skills[0].name", "\"x\"");
    }
    assert_int_equal(test_server_n_requests(server), 10);
    test_server_stop(server);
}

static void addresses_of_the_sandbox_become_a_skill(void **state)
{
    DISPATCH(answer, ALICE, "POST", SKILLS,
             "{\"load_user\":false,\"sandbox_config\":{\"exposed_urls\":[{\"name\":\"WORKER_1\","
             "\"url\":\"http://one\",\"port\":12000},{\"name\":\"B\",\"url\":\"http://two\","
             "\"port\":1}]}}");
    DISPATCH(none, ALICE, "POST", SKILLS,
             "{\"load_user\":false,\"sandbox_config\":{\"exposed_urls\":[]}}");

    assert_answer_json(
        &answer, 200,
        "{\"skills\":[{\"name\":\"sandbox_addresses\",\"type\":\"repo\",\"content\":"
        "\"The user reaches servers in this sandbox from outside at these addresses. A server must "
        "listen on the port, on all interfaces:\\n\\n- WORKER_1: http://one (port 12000)\\n- B: "
        "http://two (port 1)\",\"triggers\":[],\"source\":null,\"description\":\"Addresses of "
        "servers in this sandbox\",\"is_agentskills_format\":false,"
        "\"disable_model_invocation\":false}],\"sources\":" COUNTS("1", "0", "0", "0", "0") "}");
    assert_json_at(none.body.text, "skills", "[]");
}

static void wrong_members_are_named(void **state)
{
    static const struct {
        const char *body;
        const char *where;
    } rows[] = {
        {"{\"load_public\":\"x\"}", "[\"body\",\"load_public\"]"},
        {"{\"load_user\":\"x\"}", "[\"body\",\"load_user\"]"},
        {"{\"load_project\":\"x\"}", "[\"body\",\"load_project\"]"},
        {"{\"load_org\":\"x\"}", "[\"body\",\"load_org\"]"},
        {"{\"marketplace_path\":1}", "[\"body\",\"marketplace_path\"]"},
        {"{\"project_dir\":1}", "[\"body\",\"project_dir\"]"},
        {"{\"registered_marketplaces\":[{\"name\":\"m\"}]}",
         "[\"body\",\"registered_marketplaces\",0,\"source\"]"},
        {"{\"registered_marketplaces\":[{\"source\":\"m\"}]}",
         "[\"body\",\"registered_marketplaces\",0,\"name\"]"},
        {"{\"registered_marketplaces\":[{\"name\":\"m\",\"source\":\"m\",\"ref\":1}]}",
         "[\"body\",\"registered_marketplaces\",0,\"ref\"]"},
        {"{\"registered_marketplaces\":[{\"name\":\"m\",\"source\":\"m\",\"repo_path\":1}]}",
         "[\"body\",\"registered_marketplaces\",0,\"repo_path\"]"},
        {"{\"org_configs\":[{\"provider\":\"\",\"org_repo_url\":\"\",\"org_name\":\"\"}]}",
         "[\"body\",\"org_configs\",0,\"repository\"]"},
        {"{\"org_configs\":[{\"repository\":\"\",\"org_repo_url\":\"\",\"org_name\":\"\"}]}",
         "[\"body\",\"org_configs\",0,\"provider\"]"},
        {"{\"org_configs\":[{\"provider\":\"\",\"repository\":\"\",\"org_name\":\"\"}]}",
         "[\"body\",\"org_configs\",0,\"org_repo_url\"]"},
        {"{\"org_configs\":[{\"provider\":\"\",\"org_repo_url\":\"\",\"repository\":\"\"}]}",
         "[\"body\",\"org_configs\",0,\"org_name\"]"},
        {"{\"sandbox_config\":{\"exposed_urls\":[{\"url\":\"\",\"port\":1}]}}",
         "[\"body\",\"sandbox_config\",\"exposed_urls\",0,\"name\"]"},
        {"{\"sandbox_config\":{\"exposed_urls\":[{\"name\":\"\",\"port\":1}]}}",
         "[\"body\",\"sandbox_config\",\"exposed_urls\",0,\"url\"]"},
        {"{\"sandbox_config\":{\"exposed_urls\":[{\"url\":\"\",\"name\":\"\"}]}}",
         "[\"body\",\"sandbox_config\",\"exposed_urls\",0,\"port\"]"},
    };

    test_remove_sandbox(*state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, ALICE, "POST", SKILLS, rows[i].body);

        if (answer.status != 422)
            fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
        assert_json_at(answer.body.text, "detail[0].loc", rows[i].where);
        assert_json_at(answer.body.text, "detail[1]", NULL);
    }
}

static void there_are_no_public_skills(void **state)
{
    DISPATCH(synced, ALICE, "POST", SKILLS "/sync", NULL);
    DISPATCH(market, ALICE, "GET", SKILLS "/marketplace", NULL);

    assert_answer_json(&synced, 200,
                       "{\"status\":\"success\",\"message\":\"There is nothing to fetch: this "
                       "server has no public skills\"}");
    assert_answer_json(&market, 200, "{\"skills\":[]}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_the_user_and_the_project_become_skills),
        cmocka_unit_test(what_is_read_follows_the_switches),
        cmocka_unit_test(installed_skills_are_among_the_users),
        cmocka_unit_test(a_sandbox_that_fails_is_told),
        cmocka_unit_test(offers_of_a_market_are_loaded_by_name),
        cmocka_unit_test(a_market_of_which_nothing_is_wanted_is_not_fetched),
        cmocka_unit_test(offers_may_be_in_repositories_of_their_own),
        cmocka_unit_test(skills_of_an_organisation_come_from_its_repository),
        cmocka_unit_test(sources_that_fail_are_left_out_and_ten_are_fetched),
        cmocka_unit_test(addresses_of_the_sandbox_become_a_skill),
        cmocka_unit_test(wrong_members_are_named),
        cmocka_unit_test(there_are_no_public_skills),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

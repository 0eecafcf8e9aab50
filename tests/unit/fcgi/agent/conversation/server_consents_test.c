/*
 * The user's consent to MCP servers that the workspace of a conversation names: who gives it, to
 * what, and what is stored and told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)
#define SERVERS "/project_mcp_servers"
#define CONSENT(digest) "{\"name\":\"a\",\"digest\":\"" digest "\"}"

static int64_t count(const struct test_path *path, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations AS c, LATERAL (SELECT count(*) AS n,"
                   " max(body) AS newest FROM events WHERE conversation_id = c.id AND body LIKE"
                   " '%%project_mcp_servers%%') AS told WHERE c.id = '%s' AND %s",
                   path->id.text, condition);
    return test_sql_count(sql.text);
}

/* A conversation whose workspace names the server "a", with the digest "d1". */
static struct test_path conversation_with_server(void *state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_path path = test_conversation(state);

    strbuf_appendf(&sql,
                   "UPDATE conversations SET spec = (spec::jsonb || '{\"project_servers\":"
                   " {\"found\": {\"a\": {\"server\": {\"command\": \"x\"}, \"digest\": \"d1\","
                   " \"shown\": {\"name\": \"a\", \"digest\": \"d1\", \"command\": [\"x\"]}}},"
                   " \"consents\": {}}}')::text WHERE id = '%s'",
                   path.id.text);
    test_sql(sql.text);
    return path;
}

static void servers_are_shown_to_the_owner(void **state)
{
    struct test_path path = conversation_with_server(*state);
    struct test_path bare = test_conversation(*state);
    DISPATCH(own, ALICE, "GET", test_under(&path, SERVERS), NULL);
    DISPATCH(none, ALICE, "GET", test_under(&bare, SERVERS), NULL);
    DISPATCH(foreign, BOB, "GET", test_under(&path, SERVERS), NULL);
    DISPATCH(nobody, NOBODY, "GET", test_under(&path, SERVERS), NULL);

    assert_answer_json(&own, 200,
                       "{\"project_mcp_servers\":[{\"name\":\"a\",\"digest\":\"d1\","
                       "\"command\":[\"x\"],\"is_consented\":false}]}");
    assert_answer_json(&none, 200, "{\"project_mcp_servers\":[]}");
    assert_int_equal(foreign.status, 404);
    assert_int_equal(nobody.status, 401);
}

static void consent_is_stored_and_told_once(void **state)
{
    struct test_path path = conversation_with_server(*state);
    DISPATCH(first, ALICE, "POST", test_under(&path, SERVERS "/consent"), CONSENT("d1"));
    DISPATCH(again, ALICE, "POST", test_under(&path, SERVERS "/consent"), CONSENT("d1"));

    assert_answer_json(&first, 200, SUCCESS);
    assert_answer_json(&again, 200, SUCCESS);
    assert_int_equal(count(&path, "spec::jsonb #>> '{project_servers,consents,a}' = 'd1'"), 1);
    assert_int_equal(count(&path, "told.n = 1 AND told.newest::jsonb #>>"
                                  " '{value,project_mcp_servers,0,is_consented}' = 'true'"
                                  " AND told.newest::jsonb ->> 'key' = 'agent_state'"),
                     1);
}

static void consent_is_taken_back(void **state)
{
    struct test_path path = conversation_with_server(*state);
    DISPATCH(early, ALICE, "POST", test_under(&path, SERVERS "/withdraw"), "{\"name\":\"a\"}");
    DISPATCH(given, ALICE, "POST", test_under(&path, SERVERS "/consent"), CONSENT("d1"));
    DISPATCH(taken, ALICE, "POST", test_under(&path, SERVERS "/withdraw"), "{\"name\":\"a\"}");

    assert_answer_json(&early, 200, SUCCESS);
    assert_answer_json(&given, 200, SUCCESS);
    assert_answer_json(&taken, 200, SUCCESS);
    assert_int_equal(count(&path, "spec::jsonb #>> '{project_servers,consents}' = '{}'"
                                  " AND told.n = 2"),
                     1);
}

static void wrong_consents_change_nothing(void **state)
{
    static const struct {
        enum caller caller;
        const char *rest;
        const char *body;
        int status;
    } rows[] = {
        {ALICE, SERVERS "/consent", CONSENT("d2"), 409},
        {ALICE, SERVERS "/consent", CONSENT(""), 409},
        {ALICE, SERVERS "/consent", "{\"name\":\"b\",\"digest\":\"d1\"}", 404},
        {ALICE, SERVERS "/consent", "{\"name\":\"a\"}", 422},
        {ALICE, SERVERS "/consent", "{\"name\":\"a\",\"digest\":null}", 422},
        {ALICE, SERVERS "/consent", "[]", 422},
        {ALICE, SERVERS "/withdraw", "{}", 422},
        {BOB, SERVERS "/consent", CONSENT("d1"), 404},
        {BOB, SERVERS "/withdraw", "{\"name\":\"a\"}", 404},
        {NOBODY, SERVERS "/consent", CONSENT("d1"), 401},
    };
    struct test_path path = conversation_with_server(*state);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(answer, rows[i].caller, "POST", test_under(&path, rows[i].rest), rows[i].body);

        if (answer.status != rows[i].status)
            fail_msg("%zu: %d %s", i, answer.status, answer.body.text);
    }
    assert_int_equal(count(&path, "spec::jsonb #>> '{project_servers,consents}' = '{}'"
                                  " AND told.n = 0"),
                     1);
}

/* A copy of the conversation asks again; Info does not tell what is hidden. */
static void copy_asks_again(void **state)
{
    struct test_path path = conversation_with_server(*state);
    DISPATCH(given, ALICE, "POST", test_under(&path, SERVERS "/consent"), CONSENT("d1"));
    DISPATCH(copied, ALICE, "POST", test_under(&path, "/fork"), "{}");

    assert_int_equal(copied.status, 201);
    assert_json_at(copied.body.text, "project_servers", NULL);
    assert_int_equal(count(&path, "EXISTS (SELECT FROM conversations AS copy WHERE"
                                  " copy.spec::jsonb #>> '{project_servers,consents}' = '{}'"
                                  " AND copy.spec::jsonb #>> '{forked_from,conversation_id}'"
                                  " = c.id::text)"),
                     1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_are_shown_to_the_owner),
        cmocka_unit_test(consent_is_stored_and_told_once),
        cmocka_unit_test(consent_is_taken_back),
        cmocka_unit_test(wrong_consents_change_nothing),
        cmocka_unit_test(copy_asks_again),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

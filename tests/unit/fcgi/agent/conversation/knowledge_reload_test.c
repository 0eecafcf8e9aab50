/*
 * A client's request that a run reads its workspace anew: who makes it, and what is stored and
 * told.
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
#define RELOAD "/reload_knowledge"

static int64_t count(const struct test_path *path, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations AS c, LATERAL (SELECT count(*) AS n FROM"
                   " events WHERE conversation_id = c.id AND body::jsonb ->> 'key' = 'agent_state'"
                   " AND body::jsonb -> 'value' = '{\"project_knowledge_requested\": true}')"
                   " AS told WHERE c.id = '%s' AND %s",
                   path->id.text, condition);
    return test_sql_count(sql.text);
}

static void request_is_stored_and_told(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(first, ALICE, "POST", test_under(&path, RELOAD), NULL);
    DISPATCH(again, ALICE, "POST", test_under(&path, RELOAD), "{}");

    assert_answer_json(&first, 200, SUCCESS);
    assert_answer_json(&again, 200, SUCCESS);
    assert_int_equal(count(&path, "spec::jsonb -> 'knowledge_requests' = '2' AND told.n = 2"), 1);
}

static void only_the_owner_may_ask(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(foreign, BOB, "POST", test_under(&path, RELOAD), NULL);
    DISPATCH(nobody, NOBODY, "POST", test_under(&path, RELOAD), NULL);

    assert_int_equal(foreign.status, 404);
    assert_int_equal(nobody.status, 401);
    assert_int_equal(count(&path, "spec::jsonb -> 'knowledge_requests' IS NULL AND told.n = 0"), 1);
}

/* A request is for one conversation; Info does not show it. */
static void copy_has_no_request(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(asked, ALICE, "POST", test_under(&path, RELOAD), NULL);
    DISPATCH(copied, ALICE, "POST", test_under(&path, "/fork"), "{}");

    assert_int_equal(asked.status, 200);
    assert_int_equal(copied.status, 201);
    assert_json_at(copied.body.text, "knowledge_requests", NULL);
    assert_int_equal(count(&path, "EXISTS (SELECT FROM conversations AS copy WHERE"
                                  " copy.spec::jsonb -> 'knowledge_requests' IS NULL"
                                  " AND copy.spec::jsonb #>> '{forked_from,conversation_id}'"
                                  " = c.id::text)"),
                     1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_is_stored_and_told),
        cmocka_unit_test(only_the_owner_may_ask),
        cmocka_unit_test(copy_has_no_request),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

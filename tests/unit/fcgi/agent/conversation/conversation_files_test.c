/*
 * Checkpoints in the API: their list, and forks and steps back with the files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)
#define NOBODYS "/api/conversations/00000000-0000-4000-8000-000000000000"

/* Events of the log below: a call, and the answer of the next turn. */
#define MESSAGE_ID "00000000-0000-4000-8000-00000000000a"
#define CALL_ID "00000000-0000-4000-8000-00000000000b"
#define ANSWER_ID "00000000-0000-4000-8000-00000000000c"
#define AGAIN_ID "00000000-0000-4000-8000-00000000000d"

static void expect(void **state, struct test_path *path, const char *rest, const char *body,
                   int status, const char *where, const char *value)
{
    DISPATCH(answer, ALICE, body != NULL ? "POST" : "GET", test_under(path, rest), body);

    if (answer.status != status)
        fail_msg("%s %s: %d %s", rest, body != NULL ? body : "", answer.status, answer.body.text);
    assert_json_at(answer.body.text, where, value);
}

/* A log of two turns that changed files; tree: of the checkpoint of the second one, as SQL. */
static struct test_path with_turns(void **state, const char *tree)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_path path = test_conversation(*state);

    strbuf_appendf(
        &sql,
        "DELETE FROM events WHERE conversation_id = '%s';"
        " INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
        "  SELECT '%s', n, id::uuid, kind, 'user', '2026-01-15T10:30:0' || n || '.000000',"
        "   json_build_object('id', id, 'kind', kind, 'tool_name', 'terminal')::text"
        "  FROM (VALUES (1, '" MESSAGE_ID "', 'MessageEvent'), (2, '" CALL_ID "', 'ActionEvent'),"
        "   (3, '" ANSWER_ID "', 'MessageEvent'), (4, '" AGAIN_ID "', 'ActionEvent')) AS e (n, id,"
        "   kind);"
        " INSERT INTO checkpoints (conversation_id, seq, runtime_session, runtime_id, tree, "
        "details)"
        "  VALUES ('%s', 2, 's', 'r', 't1', '{}'),"
        "  ('%s', 4, 's', 'r', %s, '{\"reason\": \"It took too long\"}')",
        path.id.text, path.id.text, path.id.text, path.id.text, tree);
    test_sql(sql.text);
    return path;
}

/* Whether the row of a conversation is so. */
static bool is_row(const char *id, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s' AND %s", id,
                   condition);
    return test_sql_count(sql.text) == 1;
}

#define ORDER "agent_state::json -> 'restore_files'"

static void checkpoints_are_listed(void **state)
{
    struct test_path path = with_turns(state, "NULL");

    expect(state, &path, "/checkpoints", NULL, 200, "items[0].checkpoint_id", "\"t1\"");
    expect(state, &path, "/checkpoints", NULL, 200, "items[0].before_event_id", "\"" CALL_ID "\"");
    expect(state, &path, "/checkpoints", NULL, 200, "items[0].skipped", "[]");
    expect(state, &path, "/checkpoints", NULL, 200, "items[1].checkpoint_id", "null");
    expect(state, &path, "/checkpoints", NULL, 200, "items[1].reason", "\"It took too long\"");
    expect(state, &path, "/checkpoints", NULL, 200, "items[2]", NULL);
    {
        DISPATCH(unknown, ALICE, "GET", NOBODYS "/checkpoints", NULL);
        DISPATCH(foreign, BOB, "GET", test_under(&path, "/checkpoints"), NULL);

        assert_answer_json(&unknown, 404, "{\"detail\":\"Not Found\"}");
        assert_answer_json(&foreign, 404, "{\"detail\":\"Not Found\"}");
    }
}

static void step_back_with_files_is_ordered(void **state)
{
    struct test_path path = with_turns(state, "'t2'");

    expect(state, &path, "/navigate", "{\"event_id\":\"" ANSWER_ID "\",\"restore_files\":true}",
           200, "agent_state", "{}");
    assert_true(is_row(path.id.text, ORDER " ->> 'tree' = 't2'"));
    assert_true(is_row(path.id.text, ORDER " ->> 'is_required' = 'true'"));
    assert_true(is_row(path.id.text, ORDER " ->> 'runtime_id' = 'r'"));
    expect(state, &path, "/navigate", "{\"event_id\":null,\"restore_files\":true}", 200, "title",
           "null");
    assert_true(is_row(path.id.text, ORDER " ->> 'tree' = 't1'"));
    expect(state, &path, "/navigate", "{\"event_id\":\"" ANSWER_ID "\"}", 200, "title", "null");
    assert_true(is_row(path.id.text, ORDER " IS NULL"));
}

/* Nothing has changed since then. */
static void files_that_are_as_they_were_need_no_order(void **state)
{
    struct test_path path = with_turns(state, "'t2'");

    expect(state, &path, "/navigate", "{\"event_id\":\"" AGAIN_ID "\",\"restore_files\":true}", 200,
           "title", "null");
    assert_true(is_row(path.id.text, ORDER " IS NULL"));
}

static void files_without_a_checkpoint_are_refused(void **state)
{
    static const char words[] =
        "\"There is no checkpoint of the files at that event: It took too long\"";
    struct test_path path = with_turns(state, "NULL");

    expect(state, &path, "/navigate", "{\"event_id\":\"" ANSWER_ID "\",\"restore_files\":true}",
           409, "detail", words);
    expect(state, &path, "/fork", "{\"from_event_id\":\"" ANSWER_ID "\",\"restore_files\":true}",
           409, "detail", words);
    expect(state, &path, "/navigate",
           "{\"event_id\":\"00000000-0000-4000-8000-0000000000ff\",\"restore_files\":true}", 404,
           "detail", "\"Unknown event_id: 00000000-0000-4000-8000-0000000000ff\"");
    expect(state, &path, "/fork", "{\"from_event_id\":\"x\",\"restore_files\":true}", 404, "detail",
           "\"Unknown from_event_id: x\"");
    expect(state, &path, "/fork", "{\"restore_files\":1}", 422, "detail[0].loc",
           "[\"body\",\"restore_files\"]");
    expect(state, &path, "/navigate", "{\"event_id\":null,\"restore_files\":\"perhaps\"}", 422,
           "detail[0].loc", "[\"body\",\"restore_files\"]");
    assert_true(is_row(path.id.text, ORDER " IS NULL"));
}

/* Which files an event has is told before anything is done. */
static void files_at_an_event_are_looked_up(void **state)
{
    struct test_path stored = with_turns(state, "'t2'");
    struct test_path missing = with_turns(state, "NULL");
#define AT "/checkpoints/at?event_id="

    expect(state, &stored, AT ANSWER_ID, NULL, 200, "state", "\"stored\"");
    expect(state, &stored, AT ANSWER_ID, NULL, 200, "reason", "null");
    expect(state, &stored, "/checkpoints/at", NULL, 200, "state", "\"stored\"");
    expect(state, &missing, AT ANSWER_ID, NULL, 200, "state", "\"missing\"");
    expect(state, &missing, AT ANSWER_ID, NULL, 200, "reason", "\"It took too long\"");
    expect(state, &missing, "/checkpoints/at", NULL, 200, "state", "\"stored\"");
    expect(state, &missing, AT AGAIN_ID, NULL, 200, "state", "\"unchanged\"");
    expect(state, &missing, AT AGAIN_ID, NULL, 200, "reason", "null");
    expect(state, &stored, AT "00000000-0000-4000-8000-0000000000ff", NULL, 404, "detail",
           "\"Unknown event_id: 00000000-0000-4000-8000-0000000000ff\"");
    expect(state, &stored, AT "x", NULL, 404, "detail", "\"Unknown event_id: x\"");
    {
        DISPATCH(unknown, ALICE, "GET", NOBODYS "/checkpoints/at", NULL);
        DISPATCH(foreign, BOB, "GET", test_under(&stored, "/checkpoints/at"), NULL);

        assert_answer_json(&unknown, 404, "{\"detail\":\"Not Found\"}");
        assert_answer_json(&foreign, 404, "{\"detail\":\"Not Found\"}");
    }
#undef AT
}

/* The events of a branch that was left are in the log, and not on the path. */
static void path_and_branches_are_read(void **state)
{
    struct test_path path = with_turns(state, "'t2'");
#define SEARCH "/events/search"

    expect(state, &path, "/branches", NULL, 200, "items", "[]");
    expect(state, &path, SEARCH "?on_path=true", NULL, 200, "items[3].id", "\"" AGAIN_ID "\"");
    expect(state, &path, "/navigate", "{\"event_id\":\"" CALL_ID "\"}", 200, "title", "null");
    expect(state, &path, "/branches", NULL, 200, "items",
           "[{\"parent_event_id\":\"" CALL_ID "\",\"first_event_id\":null}]");
    expect(state, &path, SEARCH "?on_path=true", NULL, 200, "items[1].id", "\"" CALL_ID "\"");
    expect(state, &path, SEARCH "?on_path=true", NULL, 200, "items[2]", NULL);
    expect(state, &path, SEARCH "?on_path=false", NULL, 200, "items[3].id", "\"" AGAIN_ID "\"");
    expect(state, &path, SEARCH, NULL, 200, "items[3].id", "\"" AGAIN_ID "\"");
    expect(state, &path, SEARCH "?on_path=maybe", NULL, 422, "detail[0].loc",
           "[\"query\",\"on_path\"]");
    {
        DISPATCH(unknown, ALICE, "GET", NOBODYS "/branches", NULL);
        DISPATCH(foreign, BOB, "GET", test_under(&path, "/branches"), NULL);
        DISPATCH(search, BOB, "GET", test_under(&path, SEARCH "?on_path=true"), NULL);

        assert_answer_json(&unknown, 404, "{\"detail\":\"Not Found\"}");
        assert_answer_json(&foreign, 404, "{\"detail\":\"Not Found\"}");
        assert_int_equal(search.status, 404);
    }
#undef SEARCH
}

static void place(const struct test_path *path, const char *kind)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET runtime_kind = '%s', leaf_event_id = '" AGAIN_ID "',"
                   " is_leaf_known = true, agent_state = '{\"restore_files\": {\"id\": \"mine\"}}'"
                   " WHERE id = '%s'",
                   kind, path->id.text);
    test_sql(sql.text);
}

/* Which sandbox a fork gets, and whether with files, by what its source has and what is asked. */
static void forks_have_files_by_their_sandbox(void **state)
{
    static const struct {
        const char *source;
        const char *body;
        const char *kind;
        const char *order; /* a condition */
    } rows[] = {
        {"local", "{}", "local", ORDER " IS NULL"},
        {"local", "{\"restore_files\":false}", "local", ORDER " IS NULL"},
        {"local", "{\"restore_files\":null}", "local", ORDER " IS NULL"},
        {"local", "{\"restore_files\":true}", "docker", ORDER " ->> 'is_required' = 'true'"},
        {"docker", "{}", "docker", ORDER " ->> 'is_required' = 'false'"},
        {"docker", "{\"restore_files\":false}", "docker", ORDER " IS NULL"},
        {"docker", "{\"restore_files\":true}", "docker", ORDER " ->> 'is_required' = 'true'"},
        {"local", "{\"restore_files\":true,\"from_event_id\":\"" ANSWER_ID "\"}", "docker",
         ORDER " ->> 'event_id' = '" ANSWER_ID "'"},
        {"local", "{\"restore_files\":true}", "docker", ORDER " ->> 'event_id' = '" AGAIN_ID "'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_path path = with_turns(state, "'t2'");
        CLEANUP(strbuf_done) struct strbuf condition = STRBUF_INIT;

        place(&path, rows[i].source);
        {
            DISPATCH(answer, ALICE, "POST", test_under(&path, "/fork"), rows[i].body);
            json_auto_t *info = answer_json(&answer);

            assert_int_equal(answer.status, 201);
            strbuf_appendf(&condition, "runtime_kind = '%s' AND %s", rows[i].kind, rows[i].order);
            if (!is_row(json_text_or(info, "id", ""), condition.text))
                fail_msg("row %zu", i);
            strbuf_reset(&condition);
            strbuf_appendf(&condition, "(" ORDER " IS NULL OR " ORDER " ->> 'source_id' = '%s')",
                           path.id.text);
            assert_true(is_row(json_text_or(info, "id", ""), condition.text));
        }
        assert_true(is_row(path.id.text, ORDER " ->> 'id' = 'mine'"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoints_are_listed),
        cmocka_unit_test(step_back_with_files_is_ordered),
        cmocka_unit_test(files_that_are_as_they_were_need_no_order),
        cmocka_unit_test(files_without_a_checkpoint_are_refused),
        cmocka_unit_test(files_at_an_event_are_looked_up),
        cmocka_unit_test(path_and_branches_are_read),
        cmocka_unit_test(forks_have_files_by_their_sandbox),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

/*
 * What requests about a conversation are refused for: each wrong member with its place and message,
 * the limits on both sides, and the limit of runs.
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
#include "base/text.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define MESSAGE(members) "{\"content\":[{\"type\":\"text\",\"text\":\"Say hello\"}]" members "}"
#define RESPOND "/events/respond_to_confirmation"
#define NOBODYS "/api/conversations/00000000-0000-4000-8000-000000000000"

static void set_row(const struct test_path *path, const char *assignments)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", assignments, path->id.text);
    test_sql(sql.text);
}

static int64_t count_rows(const struct test_path *path, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM conversations WHERE id = '%s' AND %s", path->id.text,
                   condition);
    return test_sql_count(sql.text);
}

static int64_t count_events(const struct test_path *path, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM events WHERE conversation_id = '%s' AND %s",
                   path->id.text, condition);
    return test_sql_count(sql.text);
}

/* A refusal of one member; msg NULL: any. */
struct refusal {
    const char *method;
    const char *rest;
    const char *body;
    const char *type;
    const char *loc;
    const char *msg;
};

static void assert_refused(void **state, struct test_path *path, const struct refusal *row)
{
    DISPATCH(answer, ALICE, row->method, test_under(path, row->rest), row->body);

    if (answer.status != 422)
        fail_msg("%s %.100s: %d %s", row->rest, row->body != NULL ? row->body : "", answer.status,
                 answer.body.text);
    assert_json_at(answer.body.text, "detail[0].type", row->type);
    assert_json_at(answer.body.text, "detail[0].loc", row->loc);
    if (row->msg != NULL)
        assert_json_at(answer.body.text, "detail[0].msg", row->msg);
    assert_json_at(answer.body.text, "detail[1]", NULL);
}

#define TEXT "\"Input should be a valid string\""
#define REQUIRED "\"Field required\""
#define DICTIONARY "\"Input should be a valid dictionary\""
#define AMOUNT "\"Input should be a number of at least 0, or null\""
#define ACTION_IDS "\"Input should be a list of at most 1000 action ids\""
#define EVENT_IDS "\"Input should be a list of at most 100 event ids\""
#define DATE "\"Input should be a valid datetime or date\""

static void wrong_members_are_named(void **state)
{
    static const struct refusal rows[] = {
        {"PATCH", "", "{\"title\":\" \\t\"}", "\"value_error\"", "[\"body\",\"title\"]",
         "\"Value error, title cannot be blank\""},
        {"PATCH", "", "{\"title\":\"\"}", "\"string_too_short\"", "[\"body\",\"title\"]", NULL},
        {"PATCH", "", "{\"title\":7}", "\"string_type\"", "[\"body\",\"title\"]", TEXT},
        {"PATCH", "", "{\"tags\":[]}", "\"dict_type\"", "[\"body\",\"tags\"]", DICTIONARY},
        {"PATCH", "", "{\"tags\":{\"a\":1}}", "\"string_type\"", "[\"body\",\"tags\",\"a\"]", TEXT},
        {"PATCH", "", "{\"max_budget_per_run\":\"1\"}", "\"greater_than_equal\"",
         "[\"body\",\"max_budget_per_run\"]", AMOUNT},
        {"PATCH", "", "{\"max_budget_per_run\":-0.01}", "\"greater_than_equal\"",
         "[\"body\",\"max_budget_per_run\"]", AMOUNT},
        {"PATCH", "", "{\"max_budget_per_run\":true}", "\"greater_than_equal\"",
         "[\"body\",\"max_budget_per_run\"]", AMOUNT},
        {"POST", "/confirmation_policy", "{}", "\"missing\"", "[\"body\",\"policy\"]", REQUIRED},
        {"POST", "/confirmation_policy", "{\"policy\":{\"kind\":\"Sometimes\"}}", "\"value_error\"",
         "[\"body\",\"policy\"]", NULL},
        {"POST", "/security_analyzer", "{}", "\"missing\"", "[\"body\",\"security_analyzer\"]",
         REQUIRED},
        {"POST", "/security_analyzer", "{\"security_analyzer\":{\"kind\":\"Sometimes\"}}",
         "\"value_error\"", "[\"body\",\"security_analyzer\"]", NULL},
        {"POST", "/secrets", "{}", "\"missing\"", "[\"body\",\"secrets\"]", REQUIRED},
        {"POST", "/secrets", "{\"secrets\":[]}", "\"dict_type\"", "[\"body\",\"secrets\"]",
         DICTIONARY},
        {"POST", "/events", MESSAGE(",\"role\":\"system\""), "\"literal_error\"",
         "[\"body\",\"role\"]", "\"Input should be 'user'\""},
        {"POST", "/events", MESSAGE(",\"role\":1"), "\"literal_error\"", "[\"body\",\"role\"]",
         "\"Input should be 'user'\""},
        {"POST", "/events", MESSAGE(",\"sender\":1"), "\"string_type\"", "[\"body\",\"sender\"]",
         TEXT},
        {"POST", "/events", MESSAGE(",\"run\":1"), "\"bool_type\"", "[\"body\",\"run\"]", NULL},
        {"POST", "/events", MESSAGE(",\"action_ids\":\"x\""), "\"list_type\"",
         "[\"body\",\"action_ids\"]", ACTION_IDS},
        {"POST", "/events", MESSAGE(",\"action_ids\":[\"x\",1]"), "\"string_type\"",
         "[\"body\",\"action_ids\",1]", TEXT},
        {"POST", "/events", "{\"content\":1}", "\"list_type\"", "[\"body\",\"content\"]", NULL},
        {"POST", "/run", "{\"action_ids\":{}}", "\"list_type\"", "[\"body\",\"action_ids\"]",
         ACTION_IDS},
        {"POST", RESPOND, "{}", "\"missing\"", "[\"body\",\"accept\"]", REQUIRED},
        {"POST", RESPOND, "{\"accept\":1}", "\"bool_type\"", "[\"body\",\"accept\"]", NULL},
        {"POST", RESPOND, "{\"accept\":true,\"reason\":1}", "\"string_type\"",
         "[\"body\",\"reason\"]", TEXT},
        {"POST", RESPOND, "{\"accept\":true,\"run\":1}", "\"bool_type\"", "[\"body\",\"run\"]",
         NULL},
        {"POST", RESPOND, "{\"accept\":true,\"action_ids\":1}", "\"list_type\"",
         "[\"body\",\"action_ids\"]", ACTION_IDS},
        {"GET", "/events", "{}", "\"list_type\"", "[\"body\"]", EVENT_IDS},
        {"GET", "/events", "[\"a\",1]", "\"string_type\"", "[\"body\",1]", TEXT},
        {"GET", "/events/search?timestamp__gte=soon", NULL, "\"datetime_from_date_parsing\"",
         "[\"query\",\"timestamp__gte\"]", DATE},
        {"GET", "/events/count?timestamp__lt=2026-13-01", NULL, "\"datetime_from_date_parsing\"",
         "[\"query\",\"timestamp__lt\"]", DATE},
        {"GET", "/events/count?source=nobody", NULL, "\"enum\"", "[\"query\",\"source\"]", NULL},
        {"GET", "?include_skills=x", NULL, "\"bool_parsing\"", "[\"query\",\"include_skills\"]",
         NULL},
    };
    struct test_path path = test_conversation(*state);
    char row[400];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_refused(state, &path, &rows[i]);
    assert_int_equal(count_events(&path, "true"), 0);
    (void)snprintf(row, sizeof(row),
                   "title IS NULL AND snapshot_version = 0 AND wanted_at IS NULL"
                   " AND execution_status = 'idle'");
    assert_int_equal(count_rows(&path, row), 1);
}

static void role_names_what_is_expected(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(wrong, ALICE, "POST", test_under(&path, "/events"), MESSAGE(",\"role\":\"system\""));
    DISPATCH(right, ALICE, "POST", test_under(&path, "/events"), MESSAGE(",\"role\":\"user\""));

    assert_json_at(wrong.body.text, "detail[0].ctx", "{\"expected\":\"'user'\"}");
    assert_json_at(wrong.body.text, "detail[0].input", "\"system\"");
    assert_answer_json(&right, 200, SUCCESS);
}

/* --- limits --- */

/* A body with a text of n letters, and the status of its answer. */
static void assert_long(void **state, struct test_path *path, const struct refusal *row, int n,
                        int status)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    const char *at = strchr(row->body, '@');

    assert_non_null(at);
    strbuf_append_bytes(&body, row->body, (size_t)(at - row->body));
    for (int i = 0; i < n; i++)
        strbuf_append_char(&body, 'x');
    strbuf_append(&body, at + 1);
    {
        DISPATCH(answer, ALICE, row->method, test_under(path, row->rest), body.text);

        if (answer.status != status)
            fail_msg("%s %s with %d: %d %.300s", row->rest, row->body, n, answer.status,
                     answer.body.text);
        if (status == 422) {
            assert_json_at(answer.body.text, "detail[0].type", "\"string_too_long\"");
            assert_json_at(answer.body.text, "detail[0].loc", row->loc);
        }
    }
}

static void texts_have_greatest_lengths(void **state)
{
    static const struct {
        struct refusal row;
        int most;
        int status; /* of the longest that may be */
    } rows[] = {
        {{"PATCH", "", "{\"title\":\"@\"}", NULL, "[\"body\",\"title\"]", NULL}, 200, 200},
        {{"POST", "/events", MESSAGE(",\"sender\":\"@\""), NULL, "[\"body\",\"sender\"]", NULL},
         256,
         200},
        {{"POST", RESPOND, "{\"accept\":false,\"reason\":\"@\"}", NULL, "[\"body\",\"reason\"]",
          NULL},
         10000,
         200},
        {{"POST", "/fork", "{\"title\":\"@\"}", NULL, "[\"body\",\"title\"]", NULL}, 200, 201},
        {{"POST", "/fork", "{\"from_event_id\":\"@\"}", NULL, "[\"body\",\"from_event_id\"]", NULL},
         100,
         404},
        {{"POST", "/navigate", "{\"event_id\":\"@\"}", NULL, "[\"body\",\"event_id\"]", NULL},
         100,
         404},
        {{"POST", "/ask_agent", "{\"question\":\"@\"}", NULL, "[\"body\",\"question\"]", NULL},
         100000,
         503},
        {{"POST", "/goal", "{\"objective\":\"@\"}", NULL, "[\"body\",\"objective\"]", NULL},
         100000,
         200},
        {{"POST", "/switch_profile", "{\"profile_name\":\"@\"}", NULL,
          "[\"body\",\"profile_name\"]", NULL},
         1000,
         404},
        {{"POST", "/switch_acp_model", "{\"model\":\"@\"}", NULL, "[\"body\",\"model\"]", NULL},
         1000,
         400},
        {{"POST", "/load_plugin", "{\"plugin_ref\":\"@\"}", NULL, "[\"body\",\"plugin_ref\"]",
          NULL},
         1000,
         400},
    };
    struct test_path path = test_conversation(*state);
    size_t n = test_take_waits(*state); /* a question is not waited for */

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_long(state, &path, &rows[i].row, rows[i].most + 1, 422);
        assert_long(state, &path, &rows[i].row, rows[i].most, rows[i].status);
    }
    test_give_waits(*state, n);
    set_row(&path, "wanted_at = NULL, execution_status = 'idle'");
}

/* A list of so many texts, in a body or alone. */
static void append_list(struct strbuf *out, const char *before, int n, const char *behind)
{
    strbuf_append(out, before);
    for (int i = 0; i < n; i++)
        strbuf_append(out, i > 0 ? ",\"x\"" : "\"x\"");
    strbuf_append(out, behind);
}

static void lists_have_greatest_lengths(void **state)
{
    static const struct {
        struct refusal row;
        const char *before;
        const char *behind;
        int most;
        int status;
    } rows[] = {
        {{"GET", "/events", NULL, "\"list_type\"", "[\"body\"]", EVENT_IDS}, "[", "]", 100, 200},
        {{"POST", "/events", NULL, "\"list_type\"", "[\"body\",\"action_ids\"]", ACTION_IDS},
         "{\"content\":[],\"action_ids\":[",
         "]}",
         1000,
         200},
    };
    struct test_path path = test_conversation(*state);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf most = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
        struct refusal row = rows[i].row;

        append_list(&most, rows[i].before, rows[i].most, rows[i].behind);
        append_list(&more, rows[i].before, rows[i].most + 1, rows[i].behind);
        row.body = more.text;
        assert_refused(state, &path, &row);
        {
            DISPATCH(answer, ALICE, row.method, test_under(&path, row.rest), most.text);
            assert_int_equal(answer.status, rows[i].status);
        }
    }
}

static void ids_of_a_batch_are_checked(void **state)
{
    static const struct {
        int n;
        const char *more;
        const char *type;
        const char *loc;
        const char *msg;
    } rows[] = {
        {0, "", "\"missing\"", "[\"query\",\"ids\"]", REQUIRED},
        {1, "&ids=x", "\"uuid_parsing\"", "[\"query\",\"ids\",1]",
         "\"Input should be a valid UUID\""},
        {100, "", "\"too_long\"", "[\"query\",\"ids\"]", "\"List should have at most 99 items\""},
        {99, "", NULL, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf query = STRBUF_INIT;

        strbuf_append(&query, "/api/conversations?x=1");
        for (int j = 0; j < rows[i].n; j++)
            strbuf_append(&query, "&ids=11111111222243338444555555555555");
        strbuf_append(&query, rows[i].more);
        {
            DISPATCH(answer, ALICE, "GET", query.text, NULL);

            assert_int_equal(answer.status, rows[i].type != NULL ? 422 : 200);
            assert_json_at(answer.body.text, "detail[0].type", rows[i].type);
            assert_json_at(answer.body.text, "detail[0].loc", rows[i].loc);
            assert_json_at(answer.body.text, "detail[0].msg", rows[i].msg);
            assert_json_at(answer.body.text, "[98]", rows[i].type == NULL ? "null" : NULL);
            assert_json_at(answer.body.text, "[99]", NULL);
        }
    }
}

/* --- changes --- */

/* A change is answered; it adds so many events. */
static void assert_change(void **state, struct test_path *path, const char *const change[3], int n)
{
    int64_t before = count_events(path, "true");
    DISPATCH(answer, ALICE, change[0], test_under(path, change[1]), change[2]);

    if (answer.status != 200 || count_events(path, "true") - before != n)
        fail_msg("%s %s: %d, not %d events but %d", change[1], change[2], answer.status, n,
                 (int)(count_events(path, "true") - before));
}

static void equal_values_are_no_change(void **state)
{
    static const char *const changes[][3] = {
        {"PATCH", "", "{\"max_budget_per_run\":1.5}"},
        {"PATCH", "", "{\"max_budget_per_run\":0}"},
        {"PATCH", "", "{\"max_budget_per_run\":null}"},
        {"POST", "/confirmation_policy", "{\"policy\":{\"kind\":\"AlwaysConfirm\"}}"},
        {"POST", "/confirmation_policy", "{\"policy\":{\"kind\":\"NeverConfirm\"}}"},
        {"POST", "/security_analyzer",
         "{\"security_analyzer\":{\"kind\":\"LLMSecurityAnalyzer\"}}"},
        {"POST", "/security_analyzer", "{\"security_analyzer\":null}"},
    };
    static const char *const none[] = {"PATCH", "", "{\"tags\":null,\"title\":null}"};
    struct test_path path = test_conversation(*state);

    assert_change(state, &path, none, 0);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        assert_change(state, &path, changes[i], 1);
        assert_change(state, &path, changes[i], 0);
    }
}

static void budget_is_stored_and_told(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(set, ALICE, "PATCH", test_under(&path, ""), "{\"max_budget_per_run\":1.5}");
    DISPATCH(events, ALICE, "GET", test_under(&path, "/events/search"), NULL);

    assert_answer_json(&set, 200, SUCCESS);
    assert_json_at(events.body.text, "items[0].key", "\"max_budget_per_run\"");
    assert_json_at(events.body.text, "items[0].value", "1.5");
    assert_int_equal(count_rows(&path, "(spec::jsonb)->>'max_budget_per_run' = '1.5'"), 1);
}

static void title_is_trimmed_on_both_sides(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(set, ALICE, "PATCH", test_under(&path, ""),
             "{\"title\":\" \\t\\r\\n\\f\\u000bFix  CI\\u000b\\f\\n\\r\\t \"}");
    DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);

    assert_answer_json(&set, 200, SUCCESS);
    assert_answer_member(&info, 200, "title", "Fix  CI");
}

/* A run under way learns of new secrets from an event; at rest there is nobody to tell. */
static void secrets_are_told_to_a_run_under_way(void **state)
{
    static const char condition[] = "body LIKE '%\"key\":\"secret_registry\"%'"
                                    " AND body LIKE '%\"LATE\"%' AND body NOT LIKE '%hush-hush%'";
    struct test_path path = test_conversation(*state);
    DISPATCH(early, ALICE, "POST", test_under(&path, "/secrets"),
             "{\"secrets\":{\"EARLY\":\"hush-hush\"}}");

    assert_answer_json(&early, 200, SUCCESS);
    assert_int_equal(count_events(&path, "true"), 0);
    set_row(&path, "wanted_at = now(), execution_status = 'running'");
    {
        DISPATCH(late, ALICE, "POST", test_under(&path, "/secrets"),
                 "{\"secrets\":{\"LATE\":\"hush-hush\"}}");
        assert_answer_json(&late, 200, SUCCESS);
    }
    assert_int_equal(count_events(&path, condition), 1);
    set_row(&path, "wanted_at = NULL, execution_status = 'idle'");
}

/* --- calls that wait --- */

/* An action that has no result, and waits for the user. */
static void add_open_call(const struct test_path *path)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(
        &sql,
        "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
        " VALUES ('%s', 5, '5d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10', 'ActionEvent', 'agent',"
        " '2999-01-01T00:00:00.000000', '{\"kind\":\"ActionEvent\","
        "\"source\":\"agent\",\"id\":\"5d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10\","
        "\"timestamp\":\"2999-01-01T00:00:00.000000\",\"tool_name\":\"terminal\","
        "\"tool_call_id\":\"call_1\",\"action\":{}}')",
        path->id.text);
    test_sql(sql.text);
    set_row(path, "execution_status = 'waiting_for_confirmation', wanted_at = NULL");
}

static void rejection_tells_of_the_call_and_why(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE());

    assert_answer_json(&sent, 200, SUCCESS);
    add_open_call(&path);
    {
        DISPATCH(rejected, ALICE, "POST", test_under(&path, RESPOND), "{\"accept\":false}");
        DISPATCH(events, ALICE, "GET",
                 test_under(&path, "/events/search?kind=UserRejectObservation"), NULL);

        assert_answer_json(&rejected, 200, SUCCESS);
        assert_json_at(events.body.text, "items[0].rejection_reason",
                       "\"User rejected the action.\"");
        assert_json_at(events.body.text, "items[0].tool_name", "\"terminal\"");
        assert_json_at(events.body.text, "items[0].tool_call_id", "\"call_1\"");
        assert_json_at(events.body.text, "items[0].action_id",
                       "\"5d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10\"");
        assert_json_at(events.body.text, "items[1]", NULL);
    }
    assert_int_equal(count_rows(&path, "execution_status = 'idle' AND wanted_at IS NULL"), 1);
}

/* --- the limit of runs --- */

static void no_more_runs(struct fixture *fixture)
{
    fixture->settings.run_limits = (struct run_limits){0, 0};
}

static void runs_again(struct fixture *fixture)
{
    fixture->settings.run_limits = (struct run_limits){10, 100};
}

static void limit_of_runs_refuses_each_way_to_run(void **state)
{
    static const char *const ways[][2] = {
        {"/run", NULL},
        {"/goal", "{\"objective\":\"Win\"}"},
        {RESPOND, "{\"accept\":true}"},
    };
    struct test_path path = test_conversation(*state);

    no_more_runs(*state);
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        char unknown_path[160];

        (void)snprintf(unknown_path, sizeof(unknown_path), NOBODYS "%s", ways[i][0]);
        {
            DISPATCH(refused, ALICE, "POST", test_under(&path, ways[i][0]), ways[i][1]);
            DISPATCH(unknown, ALICE, "POST", unknown_path, ways[i][1]);

            if (refused.status != 429 || unknown.status != 404)
                fail_msg("%s: %d, %d", ways[i][0], refused.status, unknown.status);
        }
    }
    assert_int_equal(count_rows(&path, "wanted_at IS NULL AND execution_status = 'idle'"), 1);
    assert_int_equal(count_events(&path, "true"), 0);
    runs_again(*state);
}

static void message_is_stored_without_its_run(void **state)
{
    struct test_path path = test_conversation(*state);

    no_more_runs(*state);
    {
        DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE(",\"run\":true"));
        DISPATCH(alone, ALICE, "POST", test_under(&path, "/events"), MESSAGE());
        DISPATCH(unknown, ALICE, "POST", NOBODYS "/events", MESSAGE(",\"run\":true"));

        assert_answer_member(&sent, 429, "detail",
                             "Conversation run limit reached. The message is stored; request the "
                             "run again later.");
        assert_answer_json(&alone, 200, SUCCESS);
        assert_int_equal(unknown.status, 404);
    }
    assert_int_equal(count_events(&path, "kind = 'MessageEvent'"), 2);
    assert_int_equal(count_rows(&path, "wanted_at IS NULL AND execution_status = 'idle'"), 1);
    runs_again(*state);
}

static void rejection_is_stored_without_its_run(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE());

    assert_answer_json(&sent, 200, SUCCESS);
    add_open_call(&path);
    no_more_runs(*state);
    {
        DISPATCH(rejected, ALICE, "POST", test_under(&path, RESPOND),
                 "{\"accept\":false,\"run\":true}");

        assert_answer_member(&rejected, 429, "detail",
                             "Conversation run limit reached. The actions are rejected; request "
                             "the run again later.");
    }
    assert_int_equal(count_events(&path, "kind = 'UserRejectObservation'"), 1);
    assert_int_equal(count_rows(&path, "wanted_at IS NULL AND execution_status = 'idle'"), 1);
    runs_again(*state);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_members_are_named),
        cmocka_unit_test(role_names_what_is_expected),
        cmocka_unit_test(texts_have_greatest_lengths),
        cmocka_unit_test(lists_have_greatest_lengths),
        cmocka_unit_test(ids_of_a_batch_are_checked),
        cmocka_unit_test(equal_values_are_no_change),
        cmocka_unit_test(budget_is_stored_and_told),
        cmocka_unit_test(title_is_trimmed_on_both_sides),
        cmocka_unit_test(secrets_are_told_to_a_run_under_way),
        cmocka_unit_test(rejection_tells_of_the_call_and_why),
        cmocka_unit_test(limit_of_runs_refuses_each_way_to_run),
        cmocka_unit_test(message_is_stored_without_its_run),
        cmocka_unit_test(rejection_is_stored_without_its_run),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

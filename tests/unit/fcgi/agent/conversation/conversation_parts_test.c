/*
 * Goals, questions beside the log, other models, copies, children and archives of conversations.
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
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)
#define MESSAGE "{\"content\":[{\"type\":\"text\",\"text\":\"Say hello\"}]}"
#define NOBODYS "/api/conversations/00000000-0000-4000-8000-000000000000"

/* A request of Alice under a conversation, and a member of its answer. */
static void expect(void **state, struct test_path *path, const char *rest, const char *body,
                   int status, const char *where, const char *value)
{
    DISPATCH(answer, ALICE, "POST", test_under(path, rest), body);

    if (answer.status != status)
        fail_msg("%s %s: %d %s", rest, body != NULL ? body : "", answer.status, answer.body.text);
    assert_json_at(answer.body.text, where, value);
}

/* A member of the conversation's Info. */
static void expect_info(void **state, struct test_path *path, const char *where, const char *value)
{
    DISPATCH(answer, ALICE, "GET", test_under(path, ""), NULL);

    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, where, value);
}

/* How many rows of the table are the conversation's, by the column of its id, and of that sort. */
static int64_t count(const char *table, const char *column, const struct test_path *path,
                     const char *condition)
{
    char sql[400];

    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE %s = '%s' AND %s", table,
                   column, path->id.text, condition);
    return test_sql_count(sql);
}

static int64_t count_events(const struct test_path *path, const char *condition)
{
    return count("events", "conversation_id", path, condition);
}

static bool is_wanted(const struct test_path *path)
{
    return count("conversations", "id", path, "wanted_at IS NOT NULL") == 1;
}

static void set_row(const struct test_path *path, const char *assignments)
{
    char sql[400];

    (void)snprintf(sql, sizeof(sql), "UPDATE conversations SET %s WHERE id = '%s'", assignments,
                   path->id.text);
    test_sql(sql);
}

/* --- goals --- */

/* The last event that tells of a goal. */
static void expect_goal(void **state, struct test_path *path, const char *value)
{
    DISPATCH(answer, ALICE, "GET",
             test_under(path, "/events/search?kind=ConversationStateUpdateEvent&sort_order="
                              "TIMESTAMP_DESC"),
             NULL);
    json_auto_t *page = answer_json(&answer);
    const json_t *items = json_object_get(page, "items");
    json_auto_t *wanted = json_loads(value, 0, NULL);

    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *event = json_array_get(items, i);

        if (strcmp(json_text_or(event, "key", ""), "goal") != 0)
            continue;
        if (!json_equal(json_object_get(event, "value"), wanted))
            fail_msg("expected %s in %.2000s", value, answer.body.text);
        return;
    }
    fail_msg("no goal in %.2000s", answer.body.text);
}

#define GOAL(active, status, max)                                                                  \
    "{\"active\":" active ",\"status\":\"" status "\",\"iteration\":1,\"max_iterations\":" max     \
    ",\"objective\":\"Win\",\"verdict\":null}"

static void goal_is_started_stopped_and_resumed(void **state)
{
    struct test_path path = test_conversation(*state);

    expect(state, &path, "/goal/resume", NULL, 400, "detail", "\"no_resumable_goal\"");
    expect(state, &path, "/goal/stop", NULL, 200, "success", "true");
    expect(state, &path, "/goal", "{\"objective\":\"Win\",\"max_iterations\":1}", 200, "success",
           "true");
    expect_goal(state, &path, GOAL("true", "running", "1"));
    assert_true(is_wanted(&path));
    assert_int_equal(count_events(&path, "kind = 'MessageEvent' AND body LIKE '%Win%'"), 1);
    expect(state, &path, "/goal", "{\"objective\":\"Win\"}", 409, "detail",
           "\"Conversation run or goal loop already running.\"");
    expect(state, &path, "/goal/resume", NULL, 409, "detail",
           "\"Conversation run or goal loop already running.\"");
    expect(state, &path, "/goal/stop", NULL, 200, "success", "true");
    expect_goal(state, &path, GOAL("false", "interrupted", "1"));
    set_row(&path, "wanted_at = NULL, execution_status = 'idle'");
    expect(state, &path, "/goal/resume", NULL, 200, "success", "true");
    expect_goal(state, &path, GOAL("true", "running", "1"));
    assert_true(is_wanted(&path));
    assert_int_equal(count_events(&path, "kind = 'MessageEvent' AND body LIKE '%Continue with the "
                                         "goal that you were working on.%'"),
                     1);
}

static void wrong_goals_are_told(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *where;
        const char *value;
    } rows[] = {
        {"{}", 422, "detail[0].loc", "[\"body\",\"objective\"]"},
        {"{\"objective\":\" \"}", 400, "detail", "\"Goal objective must not be empty.\""},
        {"{\"objective\":\"x\",\"max_iterations\":\"1\"}", 422, "detail[0].type", "\"int_type\""},
        {"{\"objective\":\"x\",\"max_iterations\":0}", 422, "detail[0].type",
         "\"greater_than_equal\""},
        {"{\"objective\":\"x\",\"max_iterations\":0}", 422, "detail[0].loc",
         "[\"body\",\"max_iterations\"]"},
        {"{\"objective\":\"x\",\"max_iterations\":0}", 422, "detail[0].msg",
         "\"Input should be greater than or equal to 1\""},
    };
    struct test_path path = test_conversation(*state);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect(state, &path, "/goal", rows[i].body, rows[i].status, rows[i].where, rows[i].value);
    assert_false(is_wanted(&path));
    {
        DISPATCH(started, ALICE, "POST", NOBODYS "/goal", "{\"objective\":\"x\"}");
        DISPATCH(stopped, ALICE, "POST", NOBODYS "/goal/stop", NULL);
        DISPATCH(resumed, ALICE, "POST", NOBODYS "/goal/resume", NULL);

        assert_answer_json(&started, 404, "{\"detail\":\"Not Found\"}");
        assert_answer_json(&stopped, 404, "{\"detail\":\"Not Found\"}");
        assert_answer_json(&resumed, 404, "{\"detail\":\"Not Found\"}");
    }
}

static void goal_has_a_greatest_length_and_a_default(void **state)
{
    struct test_path path = test_conversation(*state);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body, "{\"objective\":\"%0100001d\"}", 0);
    expect(state, &path, "/goal", body.text, 422, "detail[0].type", "\"string_too_long\"");
    expect(state, &path, "/goal", "{\"objective\":\"Win\"}", 200, "success", "true");
    expect_goal(state, &path, GOAL("true", "running", "10"));
}

/* --- questions beside the log --- */

/* From now on jobs of clients end as they are added, with that result. */
static void answer_jobs(const char *result)
{
    char sql[600];

    (void)snprintf(sql, sizeof(sql),
                   "CREATE OR REPLACE FUNCTION settle() RETURNS trigger LANGUAGE plpgsql AS $$"
                   " BEGIN NEW.done_at := now(); NEW.result := '%s'; INSERT INTO seen VALUES"
                   " (NEW.kind, NEW.payload::text); RETURN NEW; END $$;"
                   " CREATE TABLE IF NOT EXISTS seen (kind text, payload text);"
                   " DELETE FROM seen; CREATE OR REPLACE TRIGGER settle BEFORE INSERT ON jobs FOR"
                   " EACH ROW EXECUTE FUNCTION settle()",
                   result);
    test_sql(sql);
}

static void leave_jobs_alone(void)
{
    test_sql("DROP TRIGGER settle ON jobs; DROP FUNCTION settle(); DROP TABLE seen");
}

static void question_is_answered_by_a_job(void **state)
{
    struct test_path path = test_conversation(*state);
    size_t n = 0;

    answer_jobs("{\"response\":\"Because.\"}");
    expect(state, &path, "/ask_agent", "{\"question\":\"Why?\"}", 200, "",
           "{\"response\":\"Because.\"}");
    assert_int_equal(test_sql_count("SELECT count(*) FROM seen WHERE kind = 'ask' AND"
                                    " payload::jsonb = '{\"question\":\"Why?\"}'"),
                     1);
    answer_jobs("{\"error\":\"The model is away\"}");
    expect(state, &path, "/ask_agent", "{\"question\":\"Why?\"}", 502, "exception",
           "\"502: The model is away\"");
    expect(state, &path, "/ask_agent", "{}", 422, "detail[0].loc", "[\"body\",\"question\"]");
    {
        DISPATCH(unknown, ALICE, "POST", NOBODYS "/ask_agent", "{\"question\":\"x\"}");
        assert_answer_json(&unknown, 404, "{\"detail\":\"Conversation not found\"}");
    }
    n = test_take_waits(*state);
    expect(state, &path, "/ask_agent", "{\"question\":\"Why?\"}", 503, "exception",
           "\"503: Service Unavailable\"");
    test_give_waits(*state, n);
    expect(state, &path, "/ask_agent", "{\"question\":\"Why?\"}", 502, "detail",
           "\"Internal Server Error\"");
    assert_int_equal(test_take_waits(*state), n);
    test_give_waits(*state, n);
    leave_jobs_alone();
}

static void title_is_made_by_a_job(void **state)
{
    struct test_path path = test_conversation(*state);

    answer_jobs("{\"title\":\"A title\"}");
    expect(state, &path, "/generate_title", NULL, 200, "", "{\"title\":\"A title\"}");
    expect(state, &path, "/generate_title", "{\"max_length\":5}", 200, "",
           "{\"title\":\"A title\"}");
    expect(state, &path, "/generate_title", "[]", 422, "detail[0].type",
           "\"model_attributes_type\"");
    assert_int_equal(test_sql_count("SELECT count(*) FROM seen WHERE kind = 'title' AND"
                                    " payload::jsonb = '{\"answer\":true}'"),
                     2);
    answer_jobs("{\"error\":\"away\"}");
    expect(state, &path, "/generate_title", NULL, 502, "exception", "\"502: away\"");
    {
        DISPATCH(unknown, ALICE, "POST", NOBODYS "/generate_title", NULL);
        assert_answer_json(&unknown, 404, "{\"detail\":\"Conversation not found\"}");
    }
    leave_jobs_alone();
}

static void condensation_is_requested_and_waited_for(void **state)
{
    struct test_path path = test_conversation(*state);

    answer_jobs("{}");
    set_row(&path, "spec = jsonb_set(spec::jsonb, '{agent,condenser}',"
                   " '{\"kind\":\"LLMSummarizingCondenser\"}')::text");
    expect(state, &path, "/condense", NULL, 200, "success", "true");
    assert_int_equal(test_sql_count("SELECT count(*) FROM seen WHERE kind = 'condense'"), 1);
    assert_int_equal(count_events(&path, "kind = 'CondensationRequest'"), 1);
    answer_jobs("{\"error\":\"away\"}");
    expect(state, &path, "/condense", NULL, 502, "exception", "\"502: away\"");
    leave_jobs_alone();
    set_row(&path, "spec = jsonb_set(spec::jsonb, '{agent,condenser}', 'null')::text");
    expect(state, &path, "/condense", NULL, 409, "detail",
           "\"Cannot condense conversation: No condenser configured\"");
    {
        DISPATCH(unknown, ALICE, "POST", NOBODYS "/condense", NULL);
        assert_answer_json(&unknown, 404, "{\"detail\":\"Conversation not found\"}");
    }
}

/* --- other models --- */

static void model_is_switched_in_the_agent_and_told(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(profile, ALICE, "POST", "/api/profiles/fast",
             "{\"llm\":{\"model\":\"openai/fast\",\"api_key\":\"sk-fast-4711\"}}");

    assert_int_equal(profile.status, 201);
    expect(state, &path, "/switch_llm",
           "{\"llm\":{\"model\":\"openai/next\",\"api_key\":\"sk-next-4711\"}}", 200, "success",
           "true");
    expect_info(state, &path, "agent.llm.model", "\"openai/next\"");
    expect_info(state, &path, "agent.llm.api_key", "null");
    expect(state, &path, "/switch_profile", "{\"profile_name\":\"fast\"}", 200, "success", "true");
    expect_info(state, &path, "agent.llm.model", "\"openai/fast\"");
    expect_info(state, &path, "agent.llm.usage_id", "\"profile:fast\"");
    assert_int_equal(count_events(&path, "kind = 'ConversationStateUpdateEvent' AND body LIKE "
                                         "'%\"key\":\"agent\"%' AND body NOT LIKE '%4711%'"),
                     2);
    assert_int_equal(count("conversations", "id", &path, "spec::text LIKE '%4711%'"), 0);
}

static void wrong_switches_change_nothing(void **state)
{
    static const struct {
        const char *rest;
        const char *body;
        int status;
        const char *where;
        const char *value;
    } rows[] = {
        {"/switch_llm", "{}", 422, "detail[0].loc", "[\"body\",\"llm\"]"},
        {"/switch_llm", "{\"llm\":1}", 422, "detail[0].type", "\"model_attributes_type\""},
        {"/switch_llm", "{\"llm\":{\"model\":1}}", 422, "detail[0].loc",
         "[\"body\",\"llm\",\"model\"]"},
        {"/switch_profile", "{}", 422, "detail[0].loc", "[\"body\",\"profile_name\"]"},
        {"/switch_profile", "{\"profile_name\":\"\"}", 422, "detail[0].type",
         "\"string_too_short\""},
        {"/load_plugin", "{}", 422, "detail[0].loc", "[\"body\",\"plugin_ref\"]"},
        {"/load_plugin", "{\"plugin_ref\":\"p\"}", 400, "detail",
         "\"No plugin can be loaded into this conversation: its agent has no registered "
         "marketplace that this server could fetch it from.\""},
        {"/switch_acp_model", "{}", 422, "detail[0].loc", "[\"body\",\"model\"]"},
        {"/switch_acp_model", "{\"model\":\"m\"}", 400, "detail",
         "\"This conversation's agent is not an ACP agent: use switch_llm to change its model.\""},
    };
    static const char *const paths[] = {NOBODYS "/switch_llm", NOBODYS "/load_plugin",
                                        NOBODYS "/switch_acp_model"};
    struct test_path path = test_conversation(*state);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect(state, &path, rows[i].rest, rows[i].body, rows[i].status, rows[i].where,
               rows[i].value);
    expect_info(state, &path, "agent.llm.model", "\"scripted/hello\"");
    {
        DISPATCH(none, ALICE, "POST", test_under(&path, "/switch_profile"),
                 "{\"profile_name\":\"none\"}");
        assert_int_equal(none.status, 404);
    }
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        DISPATCH(unknown, ALICE, "POST", paths[i], "{\"llm\":{},\"plugin_ref\":\"p\"}");
        assert_answer_json(&unknown, 404, "{\"detail\":\"Not Found\"}");
    }
}

/* --- copies --- */

/* The ids of the events in their order. */
static void first_and_last_event(void **state, struct test_path *path, char first[80],
                                 char last[80])
{
    DISPATCH(answer, ALICE, "GET", test_under(path, "/events/search"), NULL);
    json_auto_t *page = answer_json(&answer);
    const json_t *items = json_object_get(page, "items");

    assert_true(json_array_size(items) > 1);
    (void)snprintf(first, 80, "%s", json_text_or(json_array_get(items, 0), "id", ""));
    (void)snprintf(last, 80, "%s",
                   json_text_or(json_array_get(items, json_array_size(items) - 1), "id", ""));
}

static void copy_is_made_as_asked(void **state)
{
    struct test_path path = test_conversation(*state);
    struct test_path copy = {.text = "", .id = uuid_random()};
    char id[60];
    char first[80];
    char last[80];
    char body[300];

    expect(state, &path, "/events", MESSAGE, 200, "success", "true");
    first_and_last_event(state, &path, first, last);
    (void)snprintf(body, sizeof(body),
                   "{\"id\":\"%s\",\"title\":\"Copy\",\"tags\":{\"a\":\"b\"},"
                   "\"from_event_id\":\"%s\"}",
                   copy.id.text, first);
    (void)snprintf(id, sizeof(id), "\"%s\"", copy.id.text);
    {
        DISPATCH(answer, ALICE, "POST", test_under(&path, "/fork?include_skills=true"), body);
        DISPATCH(again, ALICE, "POST", test_under(&path, "/fork"), body);

        assert_int_equal(answer.status, 201);
        assert_json_at(answer.body.text, "id", id);
        assert_json_at(answer.body.text, "title", "\"Copy\"");
        assert_json_at(answer.body.text, "tags", "{\"a\":\"b\"}");
        assert_int_equal(again.status, 409);
    }
    assert_true(count_events(&copy, "true") < count_events(&path, "true"));
    {
        DISPATCH(whole, ALICE, "POST", test_under(&path, "/fork"), NULL);
        json_auto_t *json = answer_json(&whole);

        assert_int_equal(whole.status, 201);
        assert_true(uuid_parse(json_text_or(json, "id", ""), &copy.id));
        assert_true(count_events(&copy, "true") >= count_events(&path, "true"));
    }
}

static void wrong_copies_are_told(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *where;
        const char *value;
    } rows[] = {
        {"[]", 422, "detail[0].type", "\"model_attributes_type\""},
        {"{\"id\":\"x\"}", 422, "detail[0].type", "\"uuid_parsing\""},
        {"{\"id\":1}", 422, "detail[0].loc", "[\"body\",\"id\"]"},
        {"{\"tags\":[]}", 422, "detail[0].type", "\"dict_type\""},
        {"{\"tags\":{\"a\":1}}", 422, "detail[0].loc", "[\"body\",\"tags\",\"a\"]"},
        {"{\"title\":1}", 422, "detail[0].loc", "[\"body\",\"title\"]"},
        {"{\"from_event_id\":1}", 422, "detail[0].loc", "[\"body\",\"from_event_id\"]"},
        {"{\"reset_metrics\":1}", 422, "detail[0].loc", "[\"body\",\"reset_metrics\"]"},
        {"{\"from_event_id\":\"none\"}", 404, "detail", "\"Unknown from_event_id: none\""},
    };
    struct test_path path = test_conversation(*state);
    DISPATCH(unknown, ALICE, "POST", NOBODYS "/fork", NULL);
    DISPATCH(foreign, BOB, "POST", test_under(&path, "/fork"), NULL);
    DISPATCH(query, ALICE, "POST", test_under(&path, "/fork?include_skills=x"), NULL);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect(state, &path, "/fork", rows[i].body, rows[i].status, rows[i].where, rows[i].value);
    assert_answer_json(&unknown, 404, "{\"detail\":\"Source conversation not found\"}");
    assert_answer_json(&foreign, 404, "{\"detail\":\"Source conversation not found\"}");
    assert_int_equal(query.status, 422);
    assert_json_at(query.body.text, "detail[0].loc", "[\"query\",\"include_skills\"]");
}

static void log_goes_on_from_an_earlier_event(void **state)
{
    struct test_path path = test_conversation(*state);
    char first[80];
    char last[80];
    char body[200];

    expect(state, &path, "/events", MESSAGE, 200, "success", "true");
    first_and_last_event(state, &path, first, last);
    (void)snprintf(body, sizeof(body), "{\"event_id\":\"%s\"}", first);
    {
        DISPATCH(answer, ALICE, "POST", test_under(&path, "/navigate"), body);
        char id[80];

        (void)snprintf(id, sizeof(id), "\"%s\"", path.id.text);
        assert_int_equal(answer.status, 200);
        assert_json_at(answer.body.text, "id", id);
    }
    assert_int_equal(count("branches", "conversation_id", &path, "true"), 1);
    expect(state, &path, "/navigate", "{}", 422, "detail[0].loc", "[\"body\",\"event_id\"]");
    expect(state, &path, "/navigate", "{\"event_id\":1}", 422, "detail[0].type", "\"string_type\"");
    expect(state, &path, "/navigate", "{\"event_id\":\"none\"}", 404, "detail",
           "\"Unknown event_id: none\"");
    expect(state, &path, "/navigate?include_skills=x", body, 422, "detail[0].loc",
           "[\"query\",\"include_skills\"]");
    {
        DISPATCH(unknown, ALICE, "POST", NOBODYS "/navigate", body);
        assert_answer_json(&unknown, 404, "{\"detail\":\"Not Found\"}");
    }
}

/* --- children --- */

static void child_starts_with_a_task_of_its_own(void **state)
{
    struct test_path path = test_conversation(*state);
    struct test_path child = {.text = ""};
    char parent[80];
    DISPATCH(answer, ALICE, "POST", test_under(&path, "/children"),
             "{\"task\":\"Do a part\",\"title\":\"Part\",\"isolation\":\"shared\"}");
    json_auto_t *json = answer_json(&answer);

    (void)snprintf(parent, sizeof(parent), "\"%s\"", path.id.text);
    assert_int_equal(answer.status, 201);
    assert_json_at(answer.body.text, "parent_conversation_id", parent);
    assert_json_at(answer.body.text, "status", "\"idle\"");
    assert_json_at(answer.body.text, "title", "\"Part\"");
    assert_json_at(answer.body.text, "url", "null");
    assert_json_at(answer.body.text, "workspace", "\"/workspace/project\"");
    assert_json_at(answer.body.text, "isolation", "\"shared\"");
    assert_true(uuid_parse(json_text_or(json, "conversation_id", ""), &child.id));
    assert_int_equal(count_events(&child, "kind = 'MessageEvent' AND body LIKE '%Do a part%'"), 1);
}

static void wrong_children_are_told(void **state)
{
    static const char either[] = "\"Input should be 'worktree' or 'shared'\"";
    struct test_path path = test_conversation(*state);

    expect(state, &path, "/children", "{}", 422, "detail[0].loc", "[\"body\",\"task\"]");
    expect(state, &path, "/children", "{\"task\":\"\"}", 422, "detail[0].type",
           "\"string_too_short\"");
    expect(state, &path, "/children", "{\"task\":\"x\",\"title\":1}", 422, "detail[0].loc",
           "[\"body\",\"title\"]");
    expect(state, &path, "/children", "{\"task\":\"x\",\"isolation\":\"none\"}", 422,
           "detail[0].msg", either);
    expect(state, &path, "/children", "{\"task\":\"x\",\"isolation\":null}", 422, "detail[0].ctx",
           "{\"expected\":\"'worktree' or 'shared'\"}");
    expect(state, &path, "/children", "{\"task\":\"x\",\"isolation\":1}", 422, "detail[0].type",
           "\"string_type\"");
    {
        DISPATCH(unknown, ALICE, "POST", NOBODYS "/children", "{\"task\":\"x\"}");
        assert_answer_json(&unknown, 404, "{\"detail\":\"Parent conversation not found\"}");
    }
}

/* --- archives --- */

static bool has_bytes(const struct test_answer *answer, const char *text)
{
    return memmem(answer->body.text, answer->body.len, text, strlen(text)) != NULL;
}

static void archive_holds_the_state_and_every_event(void **state)
{
    struct test_path path = test_conversation(*state);
    char sql[700];
    char name[120];
    char rest[120];
    char hex[UUID_HEX_BYTES];

    (void)snprintf(sql, sizeof(sql),
                   "DELETE FROM events WHERE conversation_id = '%s';"
                   " INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
                   " SELECT '%s', i, gen_random_uuid(), 'MessageEvent', 'user',"
                   " '2999-01-01T00:00:00.000000', '{\"id\":\"e' || i || '\"}'"
                   " FROM generate_series(0, 204) i",
                   path.id.text, path.id.text);
    test_sql(sql);
    (void)snprintf(rest, sizeof(rest), "/api/file/download-trajectory/%s", path.id.text);
    uuid_to_hex(&path.id, hex);
    (void)snprintf(name, sizeof(name), "Content-Disposition: attachment; filename=\"%s.zip\"\r\n",
                   hex);
    {
        DISPATCH(answer, ALICE, "GET", rest, NULL);

        assert_int_equal(answer.status, 200);
        assert_non_null(strstr(answer.head.text, name));
        assert_non_null(strstr(answer.head.text, "Content-Type: application/octet-stream\r\n"));
        assert_true(has_bytes(&answer, "base_state.json"));
        assert_true(has_bytes(&answer, "events/event-00000-e0.json"));
        assert_true(has_bytes(&answer, "events/event-00100-e100.json"));
        assert_true(has_bytes(&answer, "events/event-00204-e204.json"));
        assert_false(has_bytes(&answer, "events/event-00205"));
        assert_true(has_bytes(&answer, "PK\x05\x06"));
    }
    (void)snprintf(rest, sizeof(rest), "/file/download-trajectory/%s", path.id.text);
    {
        DISPATCH(scoped, ALICE, "GET", test_under(&path, rest), NULL);

        assert_int_equal(scoped.status, 200);
        assert_true(has_bytes(&scoped, "events/event-00204-e204.json"));
    }
}

static void archive_is_of_the_selected_conversation(void **state)
{
    struct test_path path = test_conversation(*state);
    struct test_path other = test_conversation(*state);
    char rest[120];
    char text[120];
    DISPATCH(malformed, ALICE, "GET", "/api/file/download-trajectory/x", NULL);

    (void)snprintf(rest, sizeof(rest), "/file/download-trajectory/%s", other.id.text);
    {
        DISPATCH(answer, ALICE, "GET", test_under(&path, rest), NULL);
        assert_answer_json(&answer, 422,
                           "{\"detail\":\"Trajectory must belong to the selected conversation\"}");
    }
    (void)snprintf(rest, sizeof(rest), "/api/file/download-trajectory/%s", path.id.text);
    (void)snprintf(text, sizeof(text), "{\"detail\":\"Conversation not found: %s\"}", path.id.text);
    {
        DISPATCH(foreign, BOB, "GET", rest, NULL);
        assert_answer_json(&foreign, 404, text);
    }
    assert_int_equal(malformed.status, 422);
    assert_json_at(malformed.body.text, "detail[0].loc", "[\"path\",\"conversation_id\"]");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goal_is_started_stopped_and_resumed),
        cmocka_unit_test(wrong_goals_are_told),
        cmocka_unit_test(goal_has_a_greatest_length_and_a_default),
        cmocka_unit_test(question_is_answered_by_a_job),
        cmocka_unit_test(title_is_made_by_a_job),
        cmocka_unit_test(condensation_is_requested_and_waited_for),
        cmocka_unit_test(model_is_switched_in_the_agent_and_told),
        cmocka_unit_test(wrong_switches_change_nothing),
        cmocka_unit_test(copy_is_made_as_asked),
        cmocka_unit_test(wrong_copies_are_told),
        cmocka_unit_test(log_goes_on_from_an_earlier_event),
        cmocka_unit_test(child_starts_with_a_task_of_its_own),
        cmocka_unit_test(wrong_children_are_told),
        cmocka_unit_test(archive_holds_the_state_and_every_event),
        cmocka_unit_test(archive_is_of_the_selected_conversation),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

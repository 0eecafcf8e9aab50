#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define MESSAGE "{\"content\":[{\"type\":\"text\",\"text\":\"Say hello\"}]}"
#define MESSAGE_AND_RUN "{\"content\":[{\"type\":\"text\",\"text\":\"Say hello\"}],\"run\":true}"

static int64_t count_events(const struct test_path *path)
{
    char sql[160];

    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM events WHERE conversation_id = '%s'",
                   path->id.text);
    return test_sql_count(sql);
}

static void set_row(const struct test_path *path, const char *assignments)
{
    char sql[300];

    (void)snprintf(sql, sizeof(sql), "UPDATE conversations SET %s WHERE id = '%s'", assignments,
                   path->id.text);
    test_sql(sql);
}

/* The kinds and state keys of all events, in order. */
static void assert_kinds(void **state, struct test_path *path, const char *expected)
{
    DISPATCH(answer, ALICE, "GET", test_under(path, "/events/search"), NULL);
    CLEANUP(strbuf_done) struct strbuf kinds = STRBUF_INIT;
    json_auto_t *page = answer_json(&answer);
    json_t *event = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(page, "items"), i, event) {
        const char *key = json_text_or(event, "key", NULL);

        strbuf_append(&kinds, i > 0 ? " " : "");
        strbuf_append(&kinds, key != NULL ? key : json_text_or(event, "kind", ""));
        if (key != NULL && strcmp(key, "execution_status") == 0)
            strbuf_appendf(&kinds, "=%s", json_text_or(event, "value", ""));
    }
    assert_string_equal(kinds.text, expected);
}

static void message_is_stored_with_the_system_prompt_before_it(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE);

    assert_answer_json(&sent, 200, SUCCESS);
    assert_kinds(state, &path, "SystemPromptEvent MessageEvent last_user_message_id");
}

static void message_with_run_is_running_when_answered(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE_AND_RUN);
    DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);

    assert_answer_json(&sent, 200, SUCCESS);
    assert_answer_member(&info, 200, "execution_status", "running");
    assert_kinds(state, &path,
                 "SystemPromptEvent MessageEvent last_user_message_id execution_status=running");
}

static void bad_messages_store_nothing(void **state)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "{\"content\":\"hello\"}",
        "{\"content\":[{\"type\":\"video\"}]}",
        "{\"content\":[5]}",
        "{\"role\":\"system\",\"content\":[]}",
        "{\"role\":7}",
        "{\"content\":[],\"run\":\"yes\"}",
        "{\"content\":[{\"type\":\"text\",\"text\":null}]}",
    };
    struct test_path path = test_conversation(*state);

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        DISPATCH(answer, ALICE, "POST", test_under(&path, "/events"), bodies[i]);
        assert_answer(&answer, 422, "detail");
    }
    assert_int_equal(count_events(&path), 0);
}

static void huge_message_is_too_large(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct test_path path = test_conversation(*state);

    strbuf_append(&body, "{\"content\":[{\"type\":\"text\",\"text\":\"");
    for (int i = 0; i < 1100; i++)
        strbuf_appendf(&body, "%01000d", i);
    strbuf_append(&body, "\"}]}");
    {
        DISPATCH(answer, ALICE, "POST", test_under(&path, "/events"), body.text);
        assert_answer(&answer, 413, "detail");
    }
    assert_int_equal(count_events(&path), 0);
}

static void unknown_conversation_is_named(void **state)
{
    static const char *const rests[] = {"/search", "/count", "/x", ""};

    for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
        char path[160];

        (void)snprintf(path, sizeof(path),
                       "/api/conversations/11111111222243338444555555555555/events%s", rests[i]);
        {
            DISPATCH(answer, ALICE, "GET", path, "[]");
            assert_answer(&answer, 404,
                          "Conversation not found: 11111111-2222-4333-8444-555555555555");
        }
    }
}

static void search_filters_and_pages(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE);
    DISPATCH(by_kind, ALICE, "GET",
             test_under(&path, "/events/search?kind=openhands.sdk.event.llm_convertible.message."
                               "MessageEvent"),
             NULL);
    DISPATCH(by_short_kind, ALICE, "GET", test_under(&path, "/events/count?kind=MessageEvent"),
             NULL);
    DISPATCH(unknown_kind, ALICE, "GET", test_under(&path, "/events/search?kind=Nothing"), NULL);
    DISPATCH(by_body, ALICE, "GET", test_under(&path, "/events/count?body=SAY%20hel"), NULL);
    DISPATCH(by_source, ALICE, "GET", test_under(&path, "/events/count?source=agent"), NULL);
    DISPATCH(later, ALICE, "GET",
             test_under(&path, "/events/count?timestamp__gte=2999-01-01T00:00:00Z"), NULL);
    DISPATCH(newest, ALICE, "GET",
             test_under(&path, "/events/search?sort_order=TIMESTAMP_DESC&limit=1"), NULL);

    assert_answer_json(&sent, 200, SUCCESS);
    assert_answer(&by_kind, 200, "Say hello");
    assert_answer_json(&by_short_kind, 200, "1");
    assert_answer_json(&unknown_kind, 200, "{\"items\":[],\"next_page_id\":null}");
    assert_answer_json(&by_body, 200, "1");
    assert_answer_json(&by_source, 200, "1");
    assert_answer_json(&later, 200, "0");
    assert_answer(&newest, 200, "last_user_message_id");
}

static void bad_search_parameters_are_named(void **state)
{
    static const char *const queries[] = {
        "?limit=0",
        "?limit=101",
        "?limit=x",
        "?limit=",
        "?sort_order=SIDEWAYS",
        "?source=nobody",
        "?timestamp__gte=soon",
        "?timestamp__lt=2026",
    };
    static const char *const places[] = {
        "[\"query\",\"limit\"]",          "[\"query\",\"limit\"]",         "[\"query\",\"limit\"]",
        "[\"query\",\"limit\"]",          "[\"query\",\"sort_order\"]",    "[\"query\",\"source\"]",
        "[\"query\",\"timestamp__gte\"]", "[\"query\",\"timestamp__lt\"]",
    };
    struct test_path path = test_conversation(*state);

    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        char rest[80];

        (void)snprintf(rest, sizeof(rest), "/events/search%s", queries[i]);
        {
            DISPATCH(answer, ALICE, "GET", test_under(&path, rest), NULL);
            assert_int_equal(answer.status, 422);
            assert_json_at(answer.body.text, "detail[0].loc", places[i]);
        }
    }
}

static void one_event_and_many_are_read_by_id(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE);
    DISPATCH(page, ALICE, "GET", test_under(&path, "/events/search?limit=1"), NULL);
    json_auto_t *json = answer_json(&page);
    const char *id = json_text_or(json_array_get(json_object_get(json, "items"), 0), "id", "");
    char rest[80];
    char body[160];

    assert_answer_json(&sent, 200, SUCCESS);
    (void)snprintf(rest, sizeof(rest), "/events/%s", id);
    (void)snprintf(body, sizeof(body), "[\"no-such\",\"%s\"]", id);
    {
        DISPATCH(one, ALICE, "GET", test_under(&path, rest), NULL);
        assert_int_equal(one.status, 200);
        assert_json_at(one.body.text, "parent_id", "null");
        assert_json_at(page.body.text, "items[0].parent_id", NULL);
        DISPATCH(none, ALICE, "GET", test_under(&path, "/events/no-such"), NULL);
        DISPATCH(many, ALICE, "GET", test_under(&path, "/events"), body);
        DISPATCH(bad, ALICE, "GET", test_under(&path, "/events"), "[1]");

        assert_answer_member(&one, 200, "kind", "SystemPromptEvent");
        assert_answer_json(&none, 404, "{\"detail\":\"Not Found\"}");
        assert_int_equal(many.status, 200);
        assert_json_at(many.body.text, "[0]", "null");
        assert_json_at(many.body.text, "[1].kind", "\"SystemPromptEvent\"");
        assert_json_at(many.body.text, "[2]", NULL);
        assert_answer(&bad, 422, "string_type");
    }
}

static void run_twice_is_a_conflict(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE);
    DISPATCH(run, ALICE, "POST", test_under(&path, "/run"), NULL);
    DISPATCH(again, ALICE, "POST", test_under(&path, "/run"), "{}");
    DISPATCH(foreign, BOB, "POST", test_under(&path, "/run"), NULL);

    assert_answer_json(&sent, 200, SUCCESS);
    assert_answer_json(&run, 200, SUCCESS);
    assert_answer(&again, 409, "Conversation already running. Wait for completion or pause first.");
    assert_answer(&foreign, 404, "Not Found");
}

static void pause_of_an_idle_conversation_is_written_at_once(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(paused, ALICE, "POST", test_under(&path, "/pause"), NULL);
    DISPATCH(again, ALICE, "POST", test_under(&path, "/pause"), "{}");

    assert_answer_json(&paused, 200, SUCCESS);
    assert_answer_json(&again, 200, SUCCESS);
    assert_kinds(state, &path, "execution_status=paused PauseEvent");
}

static void pause_of_a_waiting_run_takes_the_wish_back(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE_AND_RUN);
    DISPATCH(paused, ALICE, "POST", test_under(&path, "/pause"), NULL);
    char sql[200];

    assert_answer_json(&sent, 200, SUCCESS);
    assert_answer_json(&paused, 200, SUCCESS);
    assert_kinds(state, &path,
                 "SystemPromptEvent MessageEvent last_user_message_id execution_status=running"
                 " execution_status=paused PauseEvent");
    (void)snprintf(sql, sizeof(sql),
                   "SELECT count(*) FROM conversations WHERE id = '%s' AND wanted_at IS NULL"
                   " AND snapshot_version = 1",
                   path.id.text);
    assert_int_equal(test_sql_count(sql), 1);
}

static void pause_does_not_wait_when_too_many_wait_already(void **state)
{
    enum { DEADLINE_OF_A_PAUSE_MS = 30000 };
    struct fixture *fixture = *state;
    struct test_path path = test_conversation(*state);
    int64_t start_ms = clock_monotonic_ms();
    size_t n = 0;
    char sql[160];

    n = test_take_waits(fixture);
    set_row(&path, "wanted_at = now(), execution_status = 'running',"
                   " lease_owner = gen_random_uuid(), lease_expires_at = now() + interval '1 day'");
    {
        DISPATCH(paused, ALICE, "POST", test_under(&path, "/pause"), NULL);
        assert_answer_json(&paused, 200, SUCCESS);
    }
    test_give_waits(fixture, n);
    assert_true(clock_monotonic_ms() - start_ms < DEADLINE_OF_A_PAUSE_MS);
    (void)snprintf(
        sql, sizeof(sql),
        "SELECT count(*) FROM conversations WHERE id = '%s' AND stop_requested = 'pause'",
        path.id.text);
    assert_int_equal(test_sql_count(sql), 1);
}

/* An action that has no result, as event 5. */
static void add_open_call(const struct test_path *path)
{
    char sql[800];

    (void)snprintf(
        sql, sizeof(sql),
        "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
        " VALUES ('%s', 5, '5d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10', 'ActionEvent', 'agent',"
        " '2999-01-01T00:00:00.000000', '{\"kind\":\"ActionEvent\",\"source\":\"agent\","
        "\"id\":\"5d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10\","
        "\"timestamp\":\"2999-01-01T00:00:00.000000\","
        "\"tool_name\":\"terminal\",\"tool_call_id\":\"call_1\",\"action\":{}}')",
        path->id.text);
    test_sql(sql);
}

static void interrupt_ends_open_calls(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE_AND_RUN);

    assert_answer_json(&sent, 200, SUCCESS);
    add_open_call(&path);
    {
        DISPATCH(stopped, ALICE, "POST", test_under(&path, "/interrupt"), NULL);
        DISPATCH(events, ALICE, "GET", test_under(&path, "/events/search?kind=AgentErrorEvent"),
                 NULL);

        assert_answer_json(&stopped, 200, SUCCESS);
        assert_answer(&events, 200, "call_1");
    }
    assert_kinds(state, &path,
                 "SystemPromptEvent MessageEvent last_user_message_id execution_status=running"
                 " ActionEvent AgentErrorEvent execution_status=paused InterruptEvent");
}

static void rejected_calls_end_and_nothing_runs(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE_AND_RUN);

    assert_answer_json(&sent, 200, SUCCESS);
    add_open_call(&path);
    set_row(&path, "execution_status = 'waiting_for_confirmation', wanted_at = NULL");
    {
        DISPATCH(rejected, ALICE, "POST", test_under(&path, "/events/respond_to_confirmation"),
                 "{\"accept\":false,\"reason\":\"Too risky\"}");
        DISPATCH(events, ALICE, "GET",
                 test_under(&path, "/events/search?kind=UserRejectObservation"), NULL);
        DISPATCH(again, ALICE, "POST", test_under(&path, "/events/respond_to_confirmation"),
                 "{\"accept\":false}");
        DISPATCH(bad, ALICE, "POST", test_under(&path, "/events/respond_to_confirmation"), "{}");
        DISPATCH(foreign, BOB, "POST", test_under(&path, "/events/respond_to_confirmation"),
                 "{\"accept\":true}");

        assert_answer_json(&rejected, 200, SUCCESS);
        assert_answer(&events, 200, "Too risky");
        assert_answer_json(&again, 200, SUCCESS);
        assert_answer(&bad, 422, "missing");
        assert_answer(&foreign, 404, "Conversation not found: ");
    }
    assert_kinds(state, &path,
                 "SystemPromptEvent MessageEvent last_user_message_id execution_status=running"
                 " ActionEvent execution_status=idle UserRejectObservation");
}

#define OPEN_CALL "5d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10"
#define RESPOND "/events/respond_to_confirmation"

/* Requests that would run the open call, or reject it, and name another one or none. */
static void unseen_calls_are_not_decided_about(void **state)
{
    static const char *const requests[][2] = {
        {"/events", "{\"content\":[],\"run\":true,\"action_ids\":[]}"},
        {"/run", "{\"action_ids\":[\"x\"]}"},
        {RESPOND, "{\"accept\":true,\"action_ids\":[\"1d3f1c52-3f0b-4f0e-8a55-2b1f0e6f9a10\"]}"},
        {RESPOND, "{\"accept\":false,\"action_ids\":[]}"},
    };
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE_AND_RUN);
    int64_t n_events = 0;

    assert_answer_json(&sent, 200, SUCCESS);
    add_open_call(&path);
    set_row(&path, "execution_status = 'waiting_for_confirmation', wanted_at = NULL");
    n_events = count_events(&path);
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        DISPATCH(answer, ALICE, "POST", test_under(&path, requests[i][0]), requests[i][1]);
        assert_answer(&answer, 409, "a call of terminal (action " OPEN_CALL ")");
    }
    assert_int_equal(count_events(&path), n_events);
}

static void a_decision_is_made_once(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE_AND_RUN);

    assert_answer_json(&sent, 200, SUCCESS);
    add_open_call(&path);
    set_row(&path, "execution_status = 'waiting_for_confirmation', wanted_at = NULL");
    {
        DISPATCH(accepted, ALICE, "POST", test_under(&path, RESPOND),
                 "{\"accept\":true,\"action_ids\":[\"" OPEN_CALL "\"]}");
        DISPATCH(rejected, ALICE, "POST", test_under(&path, RESPOND),
                 "{\"accept\":false,\"action_ids\":[\"" OPEN_CALL "\"]}");
        DISPATCH(again, ALICE, "POST", test_under(&path, RESPOND),
                 "{\"accept\":true,\"action_ids\":[\"" OPEN_CALL "\"]}");

        assert_answer_json(&accepted, 200, SUCCESS);
        assert_answer(&rejected, 409, "no longer wait");
        assert_answer(&again, 409, "no longer wait");
    }
}

static void a_rejection_may_go_on_with_its_reason(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(sent, ALICE, "POST", test_under(&path, "/events"), MESSAGE_AND_RUN);

    assert_answer_json(&sent, 200, SUCCESS);
    add_open_call(&path);
    set_row(&path, "execution_status = 'paused', wanted_at = NULL");
    {
        DISPATCH(rejected, ALICE, "POST", test_under(&path, RESPOND),
                 "{\"accept\":false,\"run\":true,\"action_ids\":[\"" OPEN_CALL "\"]}");
        DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);

        assert_answer_json(&rejected, 200, SUCCESS);
        assert_answer_member(&info, 200, "execution_status", "running");
    }
    assert_kinds(state, &path,
                 "SystemPromptEvent MessageEvent last_user_message_id execution_status=running"
                 " ActionEvent execution_status=idle UserRejectObservation"
                 " execution_status=running");
}

static void accepted_calls_start_a_run(void **state)
{
    struct test_path path = test_conversation(*state);

    set_row(&path, "execution_status = 'waiting_for_confirmation'");
    {
        DISPATCH(accepted, ALICE, "POST", test_under(&path, "/events/respond_to_confirmation"),
                 "{\"accept\":true}");
        DISPATCH(again, ALICE, "POST", test_under(&path, "/events/respond_to_confirmation"),
                 "{\"accept\":true}");
        DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);

        assert_answer_json(&accepted, 200, SUCCESS);
        assert_answer_json(&again, 200, SUCCESS);
        assert_answer_member(&info, 200, "execution_status", "running");
    }
}

static void stops_leave_other_states_alone(void **state)
{
    struct test_path path = test_conversation(*state);

    set_row(&path, "execution_status = 'finished'");
    {
        DISPATCH(paused, ALICE, "POST", test_under(&path, "/pause"), NULL);
        DISPATCH(stopped, ALICE, "POST", test_under(&path, "/interrupt"), NULL);
        DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);
        DISPATCH(foreign, BOB, "POST", test_under(&path, "/interrupt"), NULL);

        assert_answer_json(&paused, 200, SUCCESS);
        assert_answer_json(&stopped, 200, SUCCESS);
        assert_answer_member(&info, 200, "execution_status", "finished");
        assert_answer(&foreign, 404, "Not Found");
    }
    assert_int_equal(count_events(&path), 0);
}

static void run_of_a_finished_conversation_stays_finished(void **state)
{
    struct test_path path = test_conversation(*state);

    set_row(&path, "execution_status = 'finished'");
    {
        DISPATCH(run, ALICE, "POST", test_under(&path, "/run"), NULL);
        DISPATCH(info, ALICE, "GET", test_under(&path, ""), NULL);

        assert_answer_json(&run, 200, SUCCESS);
        assert_answer_member(&info, 200, "execution_status", "finished");
    }
}

static void final_response_is_the_last_answer(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(none, ALICE, "GET", test_under(&path, "/agent_final_response"), NULL);
    char sql[700];

    assert_answer_json(&none, 200, "{\"response\":\"\"}");
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
                   " VALUES ('%s', 1, gen_random_uuid(), 'ActionEvent', 'agent',"
                   " '2026-01-01T00:00:00.000000', '{\"kind\":\"ActionEvent\",\"source\":\"agent\","
                   "\"action\":{\"kind\":\"FinishAction\",\"message\":\"Done.\"}}')",
                   path.id.text);
    test_sql(sql);
    {
        DISPATCH(answer, ALICE, "GET", test_under(&path, "/agent_final_response"), NULL);
        assert_answer_json(&answer, 200, "{\"response\":\"Done.\"}");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_is_stored_with_the_system_prompt_before_it),
        cmocka_unit_test(message_with_run_is_running_when_answered),
        cmocka_unit_test(bad_messages_store_nothing),
        cmocka_unit_test(huge_message_is_too_large),
        cmocka_unit_test(unknown_conversation_is_named),
        cmocka_unit_test(search_filters_and_pages),
        cmocka_unit_test(bad_search_parameters_are_named),
        cmocka_unit_test(one_event_and_many_are_read_by_id),
        cmocka_unit_test(run_twice_is_a_conflict),
        cmocka_unit_test(pause_of_an_idle_conversation_is_written_at_once),
        cmocka_unit_test(pause_of_a_waiting_run_takes_the_wish_back),
        cmocka_unit_test(pause_does_not_wait_when_too_many_wait_already),
        cmocka_unit_test(interrupt_ends_open_calls),
        cmocka_unit_test(rejected_calls_end_and_nothing_runs),
        cmocka_unit_test(unseen_calls_are_not_decided_about),
        cmocka_unit_test(a_decision_is_made_once),
        cmocka_unit_test(a_rejection_may_go_on_with_its_reason),
        cmocka_unit_test(accepted_calls_start_a_run),
        cmocka_unit_test(stops_leave_other_states_alone),
        cmocka_unit_test(run_of_a_finished_conversation_stays_finished),
        cmocka_unit_test(final_response_is_the_last_answer),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

/*
 * Lists of conversations with and without skills, their places in the queue, headers of a start,
 * and the last answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define SEARCH "/api/conversations/search"

static void set_row(const struct test_path *path, const char *assignments)
{
    char sql[400];

    (void)snprintf(sql, sizeof(sql), "UPDATE conversations SET %s WHERE id = '%s'", assignments,
                   path->id.text);
    test_sql(sql);
}

static void quote(char out[60], const struct uuid *id)
{
    (void)snprintf(out, 60, "\"%s\"", id->text);
}

/* Without skills the text is made of parts, with them of whole objects: clients see the same. */
static void lists_with_skills_are_the_same_but_for_them(void **state)
{
    static const char *const queries[] = {"limit=2", "limit=2&include_skills=true",
                                          "limit=2&include_skills=false"};
    struct test_path first = test_conversation(*state);
    struct test_path second = test_conversation(*state);
    struct test_path third = test_conversation(*state);
    char first_id[60];
    char second_id[60];
    char third_id[60];
    char hex[UUID_HEX_BYTES];
    char next[60];

    quote(first_id, &first.id);
    quote(second_id, &second.id);
    quote(third_id, &third.id);
    uuid_to_hex(&first.id, hex);
    (void)snprintf(next, sizeof(next), "\"%s\"", hex);
    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        char path[160];

        (void)snprintf(path, sizeof(path), SEARCH "?%s", queries[i]);
        {
            DISPATCH(page, ALICE, "GET", path, NULL);

            assert_int_equal(page.status, 200);
            assert_json_at(page.body.text, "items[0].id", third_id);
            assert_json_at(page.body.text, "items[1].id", second_id);
            assert_json_at(page.body.text, "items[2]", NULL);
            assert_json_at(page.body.text, "items[0].runtime_info.runtime_status", "\"available\"");
            assert_json_at(page.body.text, "next_page_id", next);
        }
        (void)snprintf(path, sizeof(path), SEARCH "?%s&page_id=%s", queries[i], hex);
        {
            DISPATCH(rest, ALICE, "GET", path, NULL);
            assert_json_at(rest.body.text, "items[0].id", first_id);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        char path[300];

        (void)snprintf(path, sizeof(path),
                       "/api/conversations?ids=%s&ids=00000000-0000-4000-8000-000000000000&ids=%s"
                       "&include_skills=%s",
                       second.id.text, first.id.text, i == 0 ? "true" : "false");
        {
            DISPATCH(batch, ALICE, "GET", path, NULL);
            DISPATCH(foreign, BOB, "GET", path, NULL);

            assert_int_equal(batch.status, 200);
            assert_json_at(batch.body.text, "[0].id", second_id);
            assert_json_at(batch.body.text, "[1]", "null");
            assert_json_at(batch.body.text, "[2].id", first_id);
            assert_json_at(batch.body.text, "[0].runtime_info.can_resume", "true");
            assert_json_at(batch.body.text, "[3]", NULL);
            assert_answer_json(&foreign, 200, "[null,null,null]");
        }
    }
}

static void pages_end_and_statuses_are_told_apart(void **state)
{
    static const char *const others[] = {"running", "paused", "finished", "error", "stuck"};
    struct test_path path = test_conversation(*state);
    char id[60];

    quote(id, &path.id);
    test_sql("UPDATE conversations SET execution_status = 'idle'");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        char change[60];
        char query[80];
        char number[100];

        (void)snprintf(change, sizeof(change), "execution_status = '%s'", others[i]);
        set_row(&path, change);
        (void)snprintf(query, sizeof(query), SEARCH "?status=%s", others[i]);
        (void)snprintf(number, sizeof(number), "/api/conversations/count?status=%s", others[i]);
        {
            DISPATCH(page, ALICE, "GET", query, NULL);
            DISPATCH(count, ALICE, "GET", number, NULL);
            DISPATCH(skills, ALICE, "GET", SEARCH "?status=idle&include_skills=1", NULL);

            assert_json_at(page.body.text, "items[0].id", id);
            assert_json_at(page.body.text, "items[1]", NULL);
            assert_json_at(page.body.text, "next_page_id", "null");
            assert_answer_json(&count, 200, "1");
            assert_json_at(skills.body.text, "next_page_id", "null");
            assert_null(strstr(skills.body.text, path.id.text));
        }
    }
}

static void runs_that_wait_show_their_place(void **state)
{
    struct fixture *fixture = *state;
    struct test_path first = test_conversation(*state);
    struct test_path second = test_conversation(*state);

    test_sql("UPDATE conversations SET wanted_at = NULL");
    fixture->settings.run_limits.n_slots = 1;
    set_row(&first,
            "wanted_at = now() - interval '1 minute', execution_status = 'running',"
            " lease_owner = gen_random_uuid(), lease_expires_at = now() + interval '1 hour'");
    set_row(&second, "wanted_at = now(), execution_status = 'running'");
    for (size_t i = 0; i < 2; i++) {
        DISPATCH(running, ALICE, "GET", test_under(&first, i == 0 ? "" : "?include_skills=true"),
                 NULL);
        DISPATCH(waiting, ALICE, "GET", test_under(&second, i == 0 ? "" : "?include_skills=true"),
                 NULL);

        assert_json_at(running.body.text, "agent_state.run_queue", NULL);
        assert_json_at(waiting.body.text, "agent_state.run_queue", "{\"position\":1}");
        assert_json_at(waiting.body.text, "execution_status", "\"running\"");
    }
    fixture->settings.run_limits.n_slots = 10;
    test_sql("UPDATE conversations SET wanted_at = NULL, execution_status = 'idle',"
             " lease_owner = NULL, lease_expires_at = NULL");
}

static void runs_that_wait_for_their_model_show_since_when(void **state)
{
    struct test_path waits = test_conversation(*state);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    set_row(&waits, "wanted_at = now(), execution_status = 'running'");
    strbuf_appendf(&sql,
                   "INSERT INTO model_outages SELECT id, wanted_at, '2026-01-02 03:04:05+00',"
                   " '2026-01-02 03:05:00+00', 2, 1000, 'down' FROM conversations WHERE id = '%s'",
                   waits.id.text);
    test_sql(sql.text);
    {
        DISPATCH(waiting, ALICE, "GET", test_under(&waits, ""), NULL);

        assert_json_at(waiting.body.text, "agent_state.model_outage",
                       "{\"since\":\"2026-01-02T03:04:05.000000Z\","
                       "\"next_attempt_at\":\"2026-01-02T03:05:00.000000Z\","
                       "\"waits\":2,\"reason\":\"down\"}");
        assert_json_at(waiting.body.text, "execution_status", "\"running\"");
    }
    set_row(&waits,
            "lease_owner = gen_random_uuid(), lease_expires_at = now() + interval '1 hour'");
    {
        DISPATCH(asking, ALICE, "GET", test_under(&waits, ""), NULL);

        assert_json_at(asking.body.text, "agent_state.model_outage", NULL);
    }
    test_sql("UPDATE conversations SET wanted_at = NULL, execution_status = 'idle',"
             " lease_owner = NULL, lease_expires_at = NULL");
}

/* --- sandboxes --- */

#define SANDBOX(status, error)                                                                     \
    "{\"runtime_status\":\"" status "\",\"can_resume\":true,\"runtime_error\":" error "}"
#define FAILED(message) SANDBOX("error", "{\"code\":\"start_failed\",\"message\":\"" message "\"}")

/* Each way to read a conversation shows the same of its sandbox. */
static void assert_sandbox(void **state, struct test_path *path, const char *expected)
{
    char batch[160];
    char whole_batch[200];

    (void)snprintf(batch, sizeof(batch), "/api/conversations?ids=%s", path->id.text);
    (void)snprintf(whole_batch, sizeof(whole_batch), "%s&include_skills=true", batch);
    DISPATCH(one, ALICE, "GET", test_under(path, ""), NULL);
    DISPATCH(whole, ALICE, "GET", test_under(path, "?include_skills=true"), NULL);
    DISPATCH(alone, ALICE, "GET", test_under(path, "/runtime"), NULL);
    DISPATCH(foreign, BOB, "GET", test_under(path, "/runtime"), NULL);
    DISPATCH(list, ALICE, "GET", batch, NULL);
    DISPATCH(whole_list, ALICE, "GET", whole_batch, NULL);

    assert_json_at(one.body.text, "runtime_info", expected);
    assert_json_at(whole.body.text, "runtime_info", expected);
    assert_answer_json(&alone, 200, expected);
    assert_answer_json(&foreign, 404, "{\"detail\":\"Not Found\"}");
    assert_json_at(list.body.text, "[0].runtime_info", expected);
    assert_json_at(whole_list.body.text, "[0].runtime_info", expected);
}

static void sandboxes_have_a_status_for_clients(void **state)
{
    static const struct {
        const char *row; /* status, desired and detail */
        const char *expected;
    } rows[] = {
        {"'starting', 'running', 'pulling'", SANDBOX("starting", "null")},
        {"'running', 'running', NULL", SANDBOX("available", "null")},
        {"'running', 'paused', NULL", SANDBOX("available", "null")},
        {"'running', 'stopped', NULL", SANDBOX("missing", "null")},
        {"'paused', 'paused', NULL", SANDBOX("available", "null")},
        {"'stopped', 'stopped', NULL", SANDBOX("missing", "null")},
        {"'error', 'running', 'no room'", FAILED("no room")},
        {"'error', 'running', NULL", FAILED("the start failed")},
    };
    const struct fixture *fixture = *state;
    struct test_path path = test_conversation(*state);

    set_row(&path, "runtime_session = 's-seen'");
    assert_sandbox(state, &path, SANDBOX("available", "null"));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char sql[500];

        (void)snprintf(sql, sizeof(sql),
                       "DELETE FROM runtimes WHERE session_id = 's-seen';"
                       "INSERT INTO runtimes (id, session_id, owner_id, status, desired,"
                       " status_detail, image, spec, session_key, session_key_hash) VALUES"
                       " ('seenseenseenseen', 's-seen', '%s', %s, 'i', '{}', 'k', 'seen')",
                       fixture->alice.text, rows[i].row);
        test_sql(sql);
        assert_sandbox(state, &path, rows[i].expected);
    }
    test_sql("DELETE FROM runtimes WHERE session_id = 's-seen'");
}

/* A sandbox that was never needed has refused no connection. */
static void refusals_without_a_sandbox_are_none(void **state)
{
    struct test_path path = test_conversation(*state);
    DISPATCH(none, ALICE, "GET", test_under(&path, "/egress_refusals"), NULL);
    DISPATCH(foreign, BOB, "GET", test_under(&path, "/egress_refusals"), NULL);

    assert_answer_json(&none, 200,
                       "{\"logged\":false,\"detail\":\"the conversation has no sandbox yet\","
                       "\"refusals\":[]}");
    assert_answer_json(&foreign, 404, "{\"detail\":\"Not Found\"}");
}

/* --- headers of a start --- */

#define HEADER "HTTP_X_OPENHANDS_OBSERVABILITY_"

/* They are checked as members of the body, and stored nowhere: deft traces nothing. */
static void headers_of_a_trace_are_members_of_the_body(void **state)
{
    static const struct {
        const char *header;
        const char *members;
        const char *where; /* NULL: it starts */
    } rows[] = {
        {HEADER "SPAN_NAME=a.span", "", NULL},
        {HEADER "SPAN_NAME=a span", "", "[\"body\",\"observability_span_name\"]"},
        {HEADER "SPAN_NAME=a span", "\"observability_span_name\":\"body\",", NULL},
        {HEADER "TAGS= a, b c ,,d", "", NULL},
        {HEADER "METADATA=x", "", "[\"header\",\"x-openhands-observability-metadata\"]"},
        {HEADER "METADATA={\"a\":1}", "", NULL},
        {HEADER "METADATA=x", "\"observability_metadata\":{},", NULL},
        {HEADER "PARENT_SPAN_CONTEXT=ctx", "", NULL},
    };
    const struct fixture *fixture = *state;
    char key[128];

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *params[] = {"DEFT_ORIGIN=agent", key, rows[i].header, NULL};
        char body[400];

        (void)snprintf(body, sizeof(body),
                       "{%s\"agent\":{\"kind\":\"Agent\",\"llm\":{\"model\":"
                       "\"scripted/hello\"},\"tools\":[]},\"workspace\":{\"working_dir\":"
                       "\"/w\"}}",
                       rows[i].members);
        {
            CLEANUP(test_answer_done) struct test_answer answer =
                test_dispatch_with(*state, params, "POST", "/api/conversations", body);

            if (answer.status != (rows[i].where == NULL ? 201 : 422))
                fail_msg("%s: %d %s", rows[i].header, answer.status, answer.body.text);
            if (rows[i].where != NULL)
                assert_json_at(answer.body.text, "detail[0].loc", rows[i].where);
        }
    }
}

static void header_that_is_no_object_is_refused(void **state)
{
    static const char *const values[] = {HEADER "METADATA=[]", HEADER "METADATA={"};
    const struct fixture *fixture = *state;
    char key[128];

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        const char *params[] = {"DEFT_ORIGIN=agent", key, values[i], NULL};
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "POST", "/api/conversations", START_BODY(""));

        assert_int_equal(answer.status, 422);
        assert_json_at(answer.body.text, "detail[0]",
                       "{\"type\":\"json_invalid\",\"loc\":[\"header\","
                       "\"x-openhands-observability-metadata\"],\"msg\":\"Input should be a JSON "
                       "object\",\"input\":null}");
    }
}

/* --- the last answer --- */

static void add_event(const struct test_path *path, int seq, const char *kind, const char *source,
                      const char *members)
{
    char sql[900];

    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
                   " VALUES ('%s', %d, gen_random_uuid(), '%s', '%s',"
                   " '2999-01-01T00:00:00.%06d', '{\"kind\":\"%s\",\"source\":\"%s\",%s}')",
                   path->id.text, seq, kind, source, seq, kind, source, members);
    test_sql(sql);
}

static void assert_response(void **state, struct test_path *path, const char *expected)
{
    DISPATCH(answer, ALICE, "GET", test_under(path, "/agent_final_response"), NULL);

    assert_answer_member(&answer, 200, "response", expected);
}

static void last_answer_is_a_message_or_an_end(void **state)
{
    struct test_path path = test_conversation(*state);

    assert_response(state, &path, "");
    add_event(&path, 100, "MessageEvent", "agent",
              "\"llm_message\":{\"content\":[{\"type\":\"text\",\"text\":\"Hel\"},{\"type\":"
              "\"image\"},{\"type\":\"text\",\"text\":\"lo\"}]}");
    assert_response(state, &path, "Hello");
    add_event(&path, 101, "MessageEvent", "user",
              "\"llm_message\":{\"content\":[{\"type\":\"text\",\"text\":\"Thanks\"}]}");
    add_event(&path, 102, "ActionEvent", "agent",
              "\"action\":{\"kind\":\"TerminalAction\",\"message\":\"no\"}");
    assert_response(state, &path, "Hello");
    add_event(&path, 103, "ActionEvent", "agent",
              "\"action\":{\"kind\":\"FinishAction\",\"message\":\"Done.\"}");
    assert_response(state, &path, "Done.");
    /* More than a page of other events of the agent after it. */
    for (int i = 0; i < 105; i++)
        add_event(&path, 104 + i, "ActionEvent", "agent", "\"action\":{\"kind\":\"Other\"}");
    assert_response(state, &path, "Done.");
    {
        DISPATCH(foreign, BOB, "GET", test_under(&path, "/agent_final_response"), NULL);
        assert_answer_json(&foreign, 404, "{\"detail\":\"Not Found\"}");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_with_skills_are_the_same_but_for_them),
        cmocka_unit_test(pages_end_and_statuses_are_told_apart),
        cmocka_unit_test(runs_that_wait_show_their_place),
        cmocka_unit_test(runs_that_wait_for_their_model_show_since_when),
        cmocka_unit_test(sandboxes_have_a_status_for_clients),
        cmocka_unit_test(refusals_without_a_sandbox_are_none),
        cmocka_unit_test(headers_of_a_trace_are_members_of_the_body),
        cmocka_unit_test(header_that_is_no_object_is_refused),
        cmocka_unit_test(last_answer_is_a_message_or_an_end),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

/*
 * Profiles that are asked like models: the deadline and the threads that may wait where no worker
 * answers, and the streams of runs that have ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define ASK "{\"model\":\"openhands_p\",\"input\":\"hi\"}"

static void expect(void *state, const char *method, const char *path, const char *body, int status)
{
    CLEANUP(test_answer_done) struct test_answer answer =
        test_dispatch(state, ALICE, method, path, body);

    assert_answer(&answer, status, "");
}

/* Alice's profile p, and an agent profile that is active. */
static void prepare(void *state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *json = NULL;

    expect(state, "POST", "/api/profiles/p", "{\"llm\":{\"model\":\"scripted/hello\"}}", 201);
    expect(state, "POST", "/api/agent-profiles/a", "{\"llm_profile_ref\":\"p\"}", 201);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(state, ALICE, "GET", "/api/agent-profiles/a", NULL);

        json = answer_json(&answer);
    }
    strbuf_appendf(&path, "/api/agent-profiles/%s/activate",
                   json_text_or(json_object_get(json, "profile"), "id", "none"));
    expect(state, "POST", path.text, NULL, 200);
}

static void deadline_is_a_504_that_names_the_conversation(void **state)
{
    struct fixture *fixture = *state;

    prepare(*state);
    fixture->settings.answer_wait_ms = 0;
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "POST", "/v1/responses", ASK);

        assert_answer(&answer, 504, "504: Gateway Timeout");
        assert_non_null(strstr(answer.head.text, "X-OpenHands-ServerConversation-ID: "));
    }
    assert_int_equal(test_take_waits(fixture), 2);
    test_give_waits(fixture, 2);
}

static void deadline_of_a_stream_is_its_last_event(void **state)
{
    struct fixture *fixture = *state;

    prepare(*state);
    fixture->settings.answer_wait_ms = 0;
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "POST", "/v1/responses",
                          "{\"model\":\"openhands_p\",\"input\":\"hi\",\"stream\":true}");

        assert_answer(&answer, 200, "event: response.created\n");
        assert_non_null(strstr(answer.head.text, "X-OpenHands-ServerConversation-ID: "));
        assert_non_null(strstr(answer.head.text, "Content-Type: text/event-stream"));
        assert_null(strstr(answer.head.text, "Content-Length: "));
        assert_non_null(strstr(answer.body.text, "event: response.failed\n"));
        assert_non_null(strstr(answer.body.text, "did not come in time"));
        assert_null(strstr(answer.body.text, "response.completed"));
    }
    assert_int_equal(test_take_waits(fixture), 2);
    test_give_waits(fixture, 2);
}

/* --- streams of whole runs --- */

#define SAID(text)                                                                                 \
    "{\"kind\": \"MessageEvent\", \"llm_message\": {\"content\": [{\"text\": \"" text "\"}]}}"
#define FINISHED_WITH(text)                                                                        \
    "{\"kind\": \"ActionEvent\", \"thought\": [{\"text\": \"done\"}],"                             \
    " \"action\": {\"kind\": \"FinishAction\", \"message\": \"" text "\"}}"
#define USAGE                                                                                      \
    "{\"usage_to_metrics\":{\"agent\":{\"accumulated_token_usage\":"                               \
    "{\"prompt_tokens\":7,\"completion_tokens\":2}}}}"

/*
 * From now on a run has ended like this, with these events of the agent, when its conversation is
 * stored.
 */
static void set_run(const char *status, const char *events)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "CREATE OR REPLACE FUNCTION test_run() RETURNS trigger AS $$ BEGIN"
                   " INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)"
                   " SELECT NEW.id, n + (SELECT max(seq) FROM events WHERE conversation_id = "
                   "NEW.id), md5(n::text)::uuid, body ->> 'kind',"
                   " 'agent', '2999-01-01T00:00:00.000000', body || jsonb_build_object('source', "
                   "'agent', 'id',"
                   " md5(n::text)::uuid) FROM jsonb_array_elements('[%s]')"
                   " WITH ORDINALITY e (body, n);"
                   " UPDATE conversations SET execution_status = '%s', wanted_at = NULL, stats ="
                   " '" USAGE "' WHERE id = NEW.id; RETURN NULL; END $$ LANGUAGE plpgsql;"
                   "CREATE CONSTRAINT TRIGGER test_run AFTER INSERT ON conversations DEFERRABLE"
                   " INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION test_run()",
                   events, status);
    test_sql(sql.text);
}

static struct test_answer stream(void *state, const char *path, const char *ask)
{
    struct test_answer answer = test_dispatch(state, ALICE, "POST", path, ask);

    test_sql("DROP TRIGGER test_run ON conversations");
    return answer;
}

/* The data of the last event. */
static void last_data(const struct test_answer *answer, struct strbuf *out)
{
    const char *last = NULL;

    for (const char *at = answer->body.text; (at = strstr(at, "data: {")) != NULL; at++)
        last = at + strlen("data: ");
    assert_non_null(last);
    strbuf_append_bytes(out, last, strcspn(last, "\n"));
}

/* The pieces of a chat's stream, one after the other. */
static void said(const struct test_answer *answer, struct strbuf *out)
{
    for (const char *at = answer->body.text; (at = strstr(at, "data: {")) != NULL; at++) {
        const char *json = at + strlen("data: ");
        struct error err = ERROR_INIT;
        json_auto_t *event = NULL;

        assert_int_equal(json_parse(json, strcspn(json, "\n"), &event, &err), 0);
        strbuf_append(
            out, json_text_or(
                     json_object_get(json_array_get(json_object_get(event, "choices"), 0), "delta"),
                     "content", ""));
    }
}

static void chat_has_all_that_the_agent_said(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    prepare(*state);
    set_run("finished", SAID("one") "," SAID(" two") "," FINISHED_WITH("three"));
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            stream(*state, "/v1/chat/completions",
                   "{\"model\":\"openhands_p\",\"stream\":true,"
                   "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");

        assert_answer(&answer, 200, "data: [DONE]\n");
        said(&answer, &text);
        assert_non_null(strstr(answer.body.text, "\"finish_reason\":\"stop\""));
    }
    assert_string_equal(text.text, "one\n\ntwo\n\ndone\n\nthree");
}

static void response_is_complete_with_the_run(void **state)
{
    CLEANUP(strbuf_done) struct strbuf last = STRBUF_INIT;

    prepare(*state);
    set_run("finished", SAID("one"));
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            stream(*state, "/v1/responses",
                   "{\"model\":\"openhands_p\",\"input\":\"hi\",\"stream\":true,"
                   "\"metadata\":{\"of\":\"the test\"}}");

        assert_answer(&answer, 200, "event: response.completed\n");
        last_data(&answer, &last);
    }
    assert_json_at(last.text, "response.status", "\"completed\"");
    assert_json_at(last.text, "response.output[0].content[0].text", "\"one\"");
    assert_json_at(last.text, "response.metadata", "{\"of\":\"the test\"}");
    assert_json_at(last.text, "response.usage.input_tokens", "7");
    assert_json_at(last.text, "response.usage.output_tokens", "2");
}

static void run_that_ends_otherwise_is_a_failure(void **state)
{
    CLEANUP(strbuf_done) struct strbuf last = STRBUF_INIT;

    prepare(*state);
    set_run("stuck", SAID("one"));
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            stream(*state, "/v1/responses",
                   "{\"model\":\"openhands_p\",\"input\":\"hi\",\"stream\":true}");

        assert_answer(&answer, 200, "event: response.failed\n");
        last_data(&answer, &last);
    }
    assert_json_at(last.text, "response.status", "\"failed\"");
    assert_json_at(last.text, "response.error.message",
                   "\"The conversation ended as 'stuck', not as 'finished'\"");
}

static void only_half_of_the_threads_wait(void **state)
{
    struct fixture *fixture = *state;
    size_t n = 0;

    prepare(*state);
    n = test_take_waits(fixture);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "POST", "/v1/responses", ASK);

        assert_answer(&answer, 503, "503: Service Unavailable");
        assert_null(strstr(answer.head.text, "X-OpenHands-ServerConversation-ID: "));
    }
    test_give_waits(fixture, n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadline_is_a_504_that_names_the_conversation),
        cmocka_unit_test(deadline_of_a_stream_is_its_last_event),
        cmocka_unit_test(chat_has_all_that_the_agent_said),
        cmocka_unit_test(response_is_complete_with_the_run),
        cmocka_unit_test(run_that_ends_otherwise_is_a_failure),
        cmocka_unit_test(only_half_of_the_threads_wait),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

#include "worker/jobs/job_fixture.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "support/sql.h"
#include "worker/events.h"
#include "worker/jobs/job.h"

enum { RESULT_MS = 10000 };

#define UNUSED_SCRIPT "{\"turns\": []}"

static void check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s: %s", err->where, err->message);
}

void job_test_change(struct job_test *test, const char *assignments)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE conversations SET %s WHERE id = '%s'", assignments, test->id.text);
    test_sql(sql.text);
}

int64_t job_test_row(struct job_test *test, const char *expression)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT (%s)::bigint FROM conversations WHERE id = '%s'", expression,
                   test->id.text);
    return test_sql_count(sql.text);
}

void job_test_begin(struct job_test *test, struct run_fixture *fixture, const char *answer,
                    const char *more)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *start = NULL;
    json_auto_t *added = test_json(more);

    *test = (struct job_test){.fixture = fixture,
                              .reply = {.bytes = answer, .ending = TEST_CLOSE},
                              .result = STRBUF_INIT};
    test->server = test_server_start(&test->reply, 1, NULL);
    strbuf_appendf(&text,
                   "{\"agent\": {\"llm\": {\"model\": \"openai/test\", \"api_key\": \"sk-agent\","
                   " \"base_url\": \"%s\"}}, \"secrets\": {\"TOKEN\": \"hush-hush-71\"}}",
                   test_server_url(test->server, "/v1"));
    start = test_json(text.text);
    assert_int_equal(json_object_update_recursive(start, added), 0);
    strbuf_reset(&text);
    json_append_text(&text, start);
    test->id = run_new_conversation(fixture, UNUSED_SCRIPT, text.text);
    job_test_change(test, "wanted_at = NULL");
    run_control_init(&test->control, 0);
}

void job_test_end(struct job_test *test)
{
    const struct conversation_scope scope = {.user_id = test->fixture->user_id};
    struct error err = ERROR_INIT;

    if (conversation_store_delete(test->fixture->context.db, &scope, &test->id, &err) < 0)
        assert_int_equal(err.code, ERROR_NOT_FOUND);
    test_server_stop(test->server);
    run_control_done(&test->control);
    strbuf_done(&test->result);
}

struct job job_test_claim(struct job_test *test, const char *kind, const char *payload)
{
    struct db *db = test->fixture->context.db;
    json_auto_t *content = test_json(payload);
    struct job_request request = {.kind = kind, .payload = content, .key = uuid_random()};
    struct job job = {.kind = NULL};
    struct error err = ERROR_INIT;
    bool is_claimed = false;

    test_sql("DELETE FROM jobs");
    test->key = request.key;
    check(job_store_add(db, &test->id, &request, &err), &err);
    check(job_store_claim(db, &test->fixture->context.owner, &is_claimed, &job, &err), &err);
    assert_true(is_claimed);
    assert_string_equal(job.kind, kind);
    return job;
}

void job_test_take_result(struct job_test *test)
{
    json_auto_t *result = NULL;
    struct error err = ERROR_INIT;

    strbuf_reset(&test->result);
    if (job_store_wait(test->fixture->context.db, &test->key, clock_monotonic_ms() + RESULT_MS,
                       &result, &err) == 0)
        json_append_text(&test->result, result);
    else
        assert_int_equal(err.code, ERROR_NOT_FOUND);
}

void job_test_run(struct job_test *test, const char *kind, const char *payload)
{
    struct job job = job_test_claim(test, kind, payload);

    job_run(&test->fixture->context, &test->control, &job);
    job_done(&job);
    job_test_take_result(test);
}

void job_test_append(struct job_test *test, struct event_list *events)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct db *db = test->fixture->context.db;
    struct error err = ERROR_INIT;

    check(conversation_store_load_any(db, &test->id, &row, &err), &err);
    check(conversation_store_write(db, &row, events, &write, &err), &err);
}

size_t job_test_n_asked(struct job_test *test)
{
    return test_server_n_requests(test->server);
}

const char *job_test_asked(struct job_test *test, size_t i)
{
    const char *body = NULL;

    assert_true(i < job_test_n_asked(test));
    body = strstr(test_server_request(test->server, i), "\r\n\r\n");
    assert_non_null(body);
    return body + 4;
}

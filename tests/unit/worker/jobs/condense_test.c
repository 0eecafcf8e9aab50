/* Condensations that a client requests. */
#include <string.h>

#include "base/error.h"
#include "model/event/event.h"
#include "store/conversation/job_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/jobs/job.h"
#include "worker/jobs/job_conversation.h"
#include "worker/jobs/jobs_test.h"

#define NOTHING "{\"error\": \"There is nothing in this conversation to condense.\"}"
#define N_PROMPT_TOKENS                                                                            \
    "coalesce((stats::jsonb #>> '{usage_to_metrics,condenser,accumulated_token_usage,"             \
    "prompt_tokens}')::int, 0)"
#define REQUESTED FIRST_MESSAGE " Message(user) S(last_user_message_id) CondensationRequest"

/* A conversation with two messages, whose condenser's model is the test server. */
static void begin(struct job_test *test, struct run_fixture *fixture, const char *answer)
{
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;

    job_test_begin(test, fixture, answer, "{}");
    strbuf_appendf(&spec,
                   "spec = jsonb_set(spec::jsonb, '{agent,condenser}', '{\"kind\":"
                   " \"LLMSummarizingCondenser\", \"keep_first\": 2, \"max_size\": 100, \"llm\":"
                   " {\"model\": \"openai/condenser\", \"usage_id\": \"condenser\","
                   " \"num_retries\": 1, \"base_url\": \"%s\"}}')::text",
                   test_server_url(test->server, "/c"));
    job_test_change(test, spec.text);
    run_say(fixture, &test->id, "second");
    job_test_change(test, "wanted_at = NULL");
}

static void request(struct job_test *test)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

    event_add_condensation_request(&events);
    job_test_append(test, &events);
}

static void summary_replaces_the_middle(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct job_test test;

    begin(&test, *state, MODEL_ANSWER("the hush-hush-71 summary"));
    request(&test);
    job_test_run(&test, "condense", "{}");
    assert_json_at(test.result.text, "", "{}");
    assert_job_log(&test, REQUESTED " S(stats) Condensation");
    run_last_event(test.fixture, &test.id, "Condensation", &event);
    assert_json_at(event.text, "summary", "\"the <secret-hidden> summary\"");
    assert_json_at(event.text, "llm_response_id", "\"r1\"");
    assert_json_at(job_test_asked(&test, 0), "model", "\"condenser\"");
    assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 11);
    job_test_end(&test);
}

static void nothing_happens_without_a_request(void **state)
{
    struct job_test test;

    begin(&test, *state, MODEL_ANSWER("summary"));
    job_test_run(&test, "condense", "{}");
    assert_json_at(test.result.text, "", "{}");
    assert_int_equal(job_test_n_asked(&test), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM events WHERE kind = 'Condensation'"), 0);
    job_test_end(&test);
}

static void conversation_without_a_condenser_refuses(void **state)
{
    struct job_test test;

    begin(&test, *state, MODEL_ANSWER("summary"));
    job_test_change(&test, "spec = (spec::jsonb #- '{agent,condenser}')::text");
    request(&test);
    job_test_run(&test, "condense", "{}");
    assert_json_at(test.result.text, "", NOTHING);
    assert_int_equal(job_test_n_asked(&test), 0);
    assert_job_log(&test, REQUESTED);
    job_test_end(&test);
}

static void conversation_with_only_its_system_prompt_refuses(void **state)
{
    struct job_test test;

    begin(&test, *state, MODEL_ANSWER("summary"));
    request(&test);
    test_sql("DELETE FROM events WHERE kind = 'MessageEvent'");
    job_test_run(&test, "condense", "{}");
    assert_json_at(test.result.text, "", NOTHING);
    assert_int_equal(job_test_n_asked(&test), 0);
    job_test_end(&test);
}

static void failure_is_told_without_secrets(void **state)
{
    struct job_test test;

    begin(&test, *state, MODEL_REFUSAL("hush-hush-71 is too long"));
    request(&test);
    job_test_run(&test, "condense", "{}");
    assert_non_null(strstr(test.result.text, "\"error\""));
    assert_non_null(strstr(test.result.text, "<secret-hidden> is too long"));
    assert_job_log(&test, REQUESTED);
    job_test_end(&test);
}

static void stopping_worker_leaves_it_to_another(void **state)
{
    struct job_test test;
    struct job job;

    begin(&test, *state, MODEL_ANSWER("summary"));
    request(&test);
    run_control_request(&test.control, STOP_INTERRUPT);
    job = job_test_claim(&test, "condense", "{}");
    job_run(&test.fixture->context, &test.control, &job);
    job_done(&job);
    assert_int_equal(job_test_n_asked(&test), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NULL"
                                    " AND lease_owner IS NULL AND due_at <= now()"),
                     1);
    assert_job_log(&test, REQUESTED);
    job_test_end(&test);
}

/* A run condensed while the model was writing the job's summary. */
static void second_summary_is_dropped_but_paid_for(void **state)
{
    CLEANUP(event_list_done) struct event_list others = EVENT_LIST_INIT;
    CLEANUP(job_conversation_done) struct job_conversation target = {.agent = {.context = NULL}};
    json_auto_t *forgotten = json_array();
    json_auto_t *result = NULL;
    struct job_test test;
    struct job job;
    struct error err = ERROR_INIT;

    begin(&test, *state, MODEL_ANSWER("second"));
    request(&test);
    job = job_test_claim(&test, "condense", "{}");
    assert_int_equal(
        job_conversation_open(&target, &test.fixture->context, &test.control, &job, &err), 0);
    event_add_condensation(&others, &(struct condensation_parts){.forgotten = forgotten,
                                                                 .summary = "first",
                                                                 .offset = 1,
                                                                 .llm_response_id = "r0"});
    job_test_append(&test, &others);
    assert_int_equal(job_condense(&target, &job, &result, &err), 0);
    assert_job_log(&test, REQUESTED " Condensation S(stats)");
    assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 11);
    job_done(&job);
    job_test_end(&test);
}

int condense_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summary_replaces_the_middle),
        cmocka_unit_test(nothing_happens_without_a_request),
        cmocka_unit_test(conversation_without_a_condenser_refuses),
        cmocka_unit_test(conversation_with_only_its_system_prompt_refuses),
        cmocka_unit_test(failure_is_told_without_secrets),
        cmocka_unit_test(stopping_worker_leaves_it_to_another),
        cmocka_unit_test(second_summary_is_dropped_but_paid_for),
    };

    return cmocka_run_group_tests_name("condense", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

/* Side questions: what the model is shown, and what the client gets. */
#include <string.h>

#include "store/conversation/job_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/jobs/job.h"
#include "worker/jobs/jobs_test.h"

#define WHY "{\"question\": \"why {{question}}?\"}"
#define N_PROMPT_TOKENS                                                                            \
    "coalesce((stats::jsonb #>> '{usage_to_metrics,ask-agent-llm,accumulated_token_usage,"         \
    "prompt_tokens}')::int, 0)"

/* The question, after the conversation's first message in the same message of the user. */
static void assert_asked(struct job_test *test, size_t i)
{
    const char *asked = job_test_asked(test, i);

    assert_json_at(asked, "messages[0].role", "\"system\"");
    assert_json_at(asked, "messages[1].role", "\"user\"");
    assert_json_at(asked, "messages[1].content[0].text", "\"go\"");
    assert_json_at(asked, "messages[2]", NULL);
    assert_non_null(strstr(asked, "A question beside your task"));
    assert_non_null(strstr(asked, "why {{question}}?"));
    assert_json_at(asked, "tools[0].function.name", "\"terminal\"");
}

static void answer_is_returned_and_only_its_cost_is_stored(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_ANSWER("because of hush-hush-71"), "{}");
    job_test_run(&test, "ask", WHY);
    assert_json_at(test.result.text, "", "{\"response\": \"because of <secret-hidden>\"}");
    assert_asked(&test, 0);
    assert_int_equal(job_test_n_asked(&test), 1);
    assert_job_log(&test, FIRST_MESSAGE);
    assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 11);
    job_test_end(&test);
}

static void conversation_without_a_message_is_shown_its_system_prompt(void **state)
{
    struct job_test test;
    const char *asked = NULL;

    job_test_begin(&test, *state, MODEL_ANSWER("because"), "{}");
    job_test_run(&test, "ask", WHY);
    test_sql("DELETE FROM events");
    job_test_run(&test, "ask", WHY);
    assert_json_at(test.result.text, "", "{\"response\": \"because\"}");
    asked = job_test_asked(&test, 1);
    assert_json_at(asked, "messages[0].role", "\"system\"");
    assert_json_at(asked, "messages[1].role", "\"user\"");
    assert_json_at(asked, "messages[1].content[1]", NULL);
    assert_json_at(asked, "messages[2]", NULL);
    assert_int_equal(test_sql_count("SELECT count(*) FROM events"), 0);
    job_test_end(&test);
}

static void failure_is_told_without_secrets(void **state)
{
    struct job_test test;

    job_test_begin(&test, *state, MODEL_REFUSAL("hush-hush-71 is no question"), "{}");
    job_test_run(&test, "ask", WHY);
    assert_json_at(test.result.text, "response", NULL);
    assert_non_null(strstr(test.result.text, "<secret-hidden> is no question"));
    assert_null(strstr(test.result.text, "hush-hush-71"));
    assert_job_log(&test, FIRST_MESSAGE);
    assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 0);
    job_test_end(&test);
}

static void stopping_worker_leaves_the_question_to_another(void **state)
{
    struct job_test test;
    struct job job;

    job_test_begin(&test, *state, MODEL_ANSWER("because"), "{}");
    run_control_request(&test.control, STOP_INTERRUPT);
    job = job_test_claim(&test, "ask", WHY);
    job_run(&test.fixture->context, &test.control, &job);
    job_done(&job);
    assert_int_equal(job_test_n_asked(&test), 0);
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NULL"
                                    " AND lease_owner IS NULL AND due_at <= now()"),
                     1);
    job_test_end(&test);
}

int ask_agent_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_is_returned_and_only_its_cost_is_stored),
        cmocka_unit_test(conversation_without_a_message_is_shown_its_system_prompt),
        cmocka_unit_test(failure_is_told_without_secrets),
        cmocka_unit_test(stopping_worker_leaves_the_question_to_another),
    };

    return cmocka_run_group_tests_name("ask_agent", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

/* Goals: what the judge is shown, and what becomes of its verdict. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/jobs/job.h"
#include "worker/jobs/job_conversation.h"
#include "worker/jobs/jobs_test.h"

#define N_PROMPT_TOKENS                                                                            \
    "coalesce((stats::jsonb #>> '{usage_to_metrics,goal-judge,accumulated_token_usage,"            \
    "prompt_tokens}')::int, 0)"
#define VERDICT(complete)                                                                          \
    "{\\\"score\\\": 0.5, \\\"complete\\\": " complete ", \\\"missing\\\": \\\"the tests\\\"}"

/* A conversation in the first of n rounds for a goal, in that state. */
static void begin(struct job_test *test, struct run_fixture *fixture, const char *answer, int n,
                  const char *status)
{
    CLEANUP(strbuf_done) struct strbuf change = STRBUF_INIT;

    job_test_begin(test, fixture, answer, "{}");
    strbuf_appendf(&change,
                   "execution_status = '%s', title = 'x', spec = jsonb_set(spec::jsonb, '{goal}',"
                   " '{\"active\": true, \"status\": \"running\", \"iteration\": 1,"
                   " \"max_iterations\": %d, \"objective\": \"green tests\", \"verdict\": null}')"
                   "::text",
                   status, n);
    job_test_change(test, change.text);
}

/* A member of the stored goal, as JSON. */
static void assert_goal(struct job_test *test, const char *path, const char *expected)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load_any(test->fixture->context.db, &test->id, &row, &err),
                     0);
    json_append_text(&spec, row.spec);
    assert_json_at(spec.text, path, expected);
}

static void met_goal_is_complete(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct job_test test;

    begin(&test, *state, MODEL_ANSWER("so: " VERDICT("true") " hush"), 3, "finished");
    job_test_run(&test, "goal", "{}");
    assert_string_equal(test.result.text, "");
    assert_job_log(&test, FIRST_MESSAGE " S(stats) S(goal)");
    assert_goal(&test, "goal.active", "false");
    assert_goal(&test, "goal.status", "\"complete\"");
    assert_goal(&test, "goal.iteration", "1");
    assert_goal(&test, "goal.verdict",
                "{\"score\": 0.5, \"complete\": true, \"missing\": \"the tests\"}");
    run_last_event(test.fixture, &test.id, "ConversationStateUpdateEvent", &event);
    assert_json_at(event.text, "value.status", "\"complete\"");
    assert_row(test.fixture, &test.id, "finished/-/-");
    assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 11);
    job_test_end(&test);
}

static void judge_is_shown_the_goal_and_what_happened(void **state)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct job_test test;
    const char *asked = NULL;

    begin(&test, *state, MODEL_ANSWER(VERDICT("true")), 3, "finished");
    (void)event_add_agent_message(&events, "tested twice", NULL, "r0");
    job_test_append(&test, &events);
    job_test_run(&test, "goal", "{}");
    asked = job_test_asked(&test, 0);
    assert_int_equal(job_test_n_asked(&test), 1);
    assert_json_at(asked, "tools", NULL);
    assert_json_at(asked, "messages[0].role", "\"system\"");
    assert_json_at(asked, "messages[1].role", "\"user\"");
    assert_json_at(asked, "messages[2]", NULL);
    assert_json_at(asked, "messages[1].content[1]", NULL);
    assert_non_null(strstr(asked, "You judge whether a coding agent has reached a goal."));
    assert_non_null(strstr(asked, "The goal:\\ngreen tests\\n\\nWhat happened:\\n{"));
    assert_non_null(strstr(asked, "tested twice"));
    assert_non_null(strstr(asked, "}\\n{")); /* a message per line */
    assert_null(strstr(asked, "\\\"system\\\""));
    job_test_end(&test);
}

static void missed_goal_begins_the_next_round(void **state)
{
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    struct job_test test;

    begin(&test, *state, MODEL_ANSWER(VERDICT("false")), 2, "finished");
    job_test_run(&test, "goal", "{}");
    assert_job_log(&test, FIRST_MESSAGE " S(stats) S(goal) S(idle) Message(user)"
                                        " S(last_user_message_id) S(running)");
    assert_goal(&test, "goal.active", "true");
    assert_goal(&test, "goal.status", "\"running\"");
    assert_goal(&test, "goal.iteration", "2");
    assert_goal(&test, "goal.verdict.complete", "false");
    run_last_event(test.fixture, &test.id, "MessageEvent", &message);
    assert_json_at(message.text, "llm_message.content[0].text",
                   "\"The goal is not reached yet. What is missing: the tests\\nGo on.\"");
    assert_row(test.fixture, &test.id, "running/wanted/-");
    assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 11);
    assert_int_equal(job_test_row(&test, "(title = 'x')::int"), 1);
    job_test_change(&test, "wanted_at = NULL");
    job_test_end(&test);
}

static void last_round_caps_the_goal(void **state)
{
    struct job_test test;

    begin(&test, *state, MODEL_ANSWER(VERDICT("false")), 1, "finished");
    job_test_run(&test, "goal", "{}");
    assert_job_log(&test, FIRST_MESSAGE " S(stats) S(goal)");
    assert_goal(&test, "goal.active", "false");
    assert_goal(&test, "goal.status", "\"capped\"");
    assert_goal(&test, "goal.verdict.missing", "\"the tests\"");
    assert_row(test.fixture, &test.id, "finished/-/-");
    job_test_end(&test);
}

/* What cannot be read counts as not complete. */
static void odd_verdicts_do_not_complete_a_goal(void **state)
{
    static const struct {
        const char *answer;
        const char *verdict;
    } cases[] = {
        {MODEL_ANSWER("yes"),
         "{\"score\": 0.0, \"complete\": false, \"missing\": \"The verdict was not JSON.\"}"},
        {MODEL_ANSWER("} {"),
         "{\"score\": 0.0, \"complete\": false, \"missing\": \"The verdict was not JSON.\"}"},
        {MODEL_ANSWER("{complete: true}"),
         "{\"score\": 0.0, \"complete\": false, \"missing\": \"The verdict was not JSON.\"}"},
        {MODEL_ANSWER("{}"), "{\"score\": 0.0, \"complete\": false, \"missing\": \"\"}"},
        {MODEL_ANSWER("{\\\"complete\\\": \\\"yes\\\", \\\"score\\\": 1}"),
         "{\"score\": 1.0, \"complete\": false, \"missing\": \"\"}"},
        {MODEL_ANSWER("{\\\"missing\\\": \\\"hush-hush-71\\\"}"),
         "{\"score\": 0.0, \"complete\": false, \"missing\": \"<secret-hidden>\"}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_test test;

        begin(&test, *state, cases[i].answer, 1, "finished");
        job_test_run(&test, "goal", "{}");
        assert_goal(&test, "goal.verdict", cases[i].verdict);
        assert_goal(&test, "goal.status", "\"capped\"");
        job_test_end(&test);
    }
}

static void failed_judge_interrupts_the_goal(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct job_test test;

    begin(&test, *state, MODEL_REFUSAL("hush-hush-71 cannot judge"), 3, "finished");
    job_test_run(&test, "goal", "{}");
    assert_job_log(&test, FIRST_MESSAGE " ConversationError S(goal)");
    run_last_event(test.fixture, &test.id, "ConversationErrorEvent", &event);
    assert_json_at(event.text, "code", "\"LLMBadRequestError\"");
    assert_non_null(strstr(event.text, "<secret-hidden> cannot judge"));
    assert_goal(&test, "goal.active", "false");
    assert_goal(&test, "goal.status", "\"interrupted\"");
    assert_goal(&test, "goal.verdict", "null");
    assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 0);
    job_test_end(&test);
}

/* A run that did not finish has nothing to judge. */
static void run_that_ended_otherwise_interrupts_the_goal(void **state)
{
    static const char *const ends[] = {"paused", "error", "stuck", "idle"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct job_test test;

        begin(&test, *state, MODEL_ANSWER(VERDICT("true")), 3, ends[i]);
        job_test_run(&test, "goal", "{}");
        assert_int_equal(job_test_n_asked(&test), 0);
        assert_job_log(&test, FIRST_MESSAGE " S(goal)");
        assert_goal(&test, "goal.status", "\"interrupted\"");
        assert_goal(&test, "goal.verdict", "null");
        job_test_end(&test);
    }
}

static void goal_that_is_not_due_is_left_alone(void **state)
{
    static const char *const reasons[] = {
        "wanted_at = now()",
        "execution_status = 'waiting_for_confirmation'",
        "spec = jsonb_set(spec::jsonb, '{goal,active}', 'false')::text",
        "spec = (spec::jsonb - 'goal')::text",
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        struct job_test test;

        begin(&test, *state, MODEL_ANSWER(VERDICT("true")), 3, "finished");
        job_test_change(&test, reasons[i]);
        job_test_run(&test, "goal", "{}");
        assert_int_equal(job_test_n_asked(&test), 0);
        assert_string_equal(test.result.text, "");
        assert_job_log(&test, FIRST_MESSAGE);
        job_test_change(&test, "wanted_at = NULL");
        job_test_end(&test);
    }
}

/* The user acted while the judge was asked: its verdict counts no more, its cost does. */
static void verdict_after_the_user_acted_is_dropped(void **state)
{
    static const char *const acts[] = {
        "wanted_at = now()",
        "spec = jsonb_set(spec::jsonb, '{goal,active}', 'false')::text",
    };

    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        CLEANUP(job_conversation_done) struct job_conversation target = {
            .agent = {.context = NULL}};
        json_auto_t *result = NULL;
        struct job_test test;
        struct job job;
        struct error err = ERROR_INIT;

        begin(&test, *state, MODEL_ANSWER(VERDICT("false")), 3, "finished");
        job = job_test_claim(&test, "goal", "{}");
        assert_int_equal(
            job_conversation_open(&target, &test.fixture->context, &test.control, &job, &err), 0);
        job_test_change(&test, acts[i]);
        assert_int_equal(job_goal(&target, &job, &result, &err), 0);
        assert_job_log(&test, FIRST_MESSAGE " S(stats)");
        assert_goal(&test, "goal.iteration", "1");
        assert_int_equal(job_test_row(&test, N_PROMPT_TOKENS), 11);
        job_test_change(&test, "wanted_at = NULL");
        job_done(&job);
        job_test_end(&test);
    }
}

static void stopping_worker_leaves_the_judgement_to_another(void **state)
{
    struct job_test test;
    struct job job;

    begin(&test, *state, MODEL_ANSWER(VERDICT("true")), 3, "finished");
    run_control_request(&test.control, STOP_INTERRUPT);
    job = job_test_claim(&test, "goal", "{}");
    job_run(&test.fixture->context, &test.control, &job);
    job_done(&job);
    assert_int_equal(job_test_n_asked(&test), 0);
    assert_job_log(&test, FIRST_MESSAGE);
    assert_goal(&test, "goal.active", "true");
    assert_int_equal(test_sql_count("SELECT count(*) FROM jobs WHERE done_at IS NULL"
                                    " AND lease_owner IS NULL AND due_at <= now()"),
                     1);
    job_test_end(&test);
}

int goal_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(met_goal_is_complete),
        cmocka_unit_test(judge_is_shown_the_goal_and_what_happened),
        cmocka_unit_test(missed_goal_begins_the_next_round),
        cmocka_unit_test(last_round_caps_the_goal),
        cmocka_unit_test(odd_verdicts_do_not_complete_a_goal),
        cmocka_unit_test(failed_judge_interrupts_the_goal),
        cmocka_unit_test(run_that_ended_otherwise_interrupts_the_goal),
        cmocka_unit_test(goal_that_is_not_due_is_left_alone),
        cmocka_unit_test(verdict_after_the_user_acted_is_dropped),
        cmocka_unit_test(stopping_worker_leaves_the_judgement_to_another),
    };

    return cmocka_run_group_tests_name("goal", tests, run_fixture_set_up, run_fixture_tear_down);
}

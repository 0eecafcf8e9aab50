/* Writes of jobs, between those of others. */

#include "base/error.h"
#include "llm/llm.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/jobs/job_conversation.h"
#include "worker/jobs/jobs_test.h"

/* What another writer does before each of the first n tries. */
struct meddling {
    struct job_test *test;
    void (*meddle)(struct job_test *test);
    int n_left;
    int n_plans;
};

static void plan_error(struct conversation *now, const void *what, struct event_list *events,
                       struct conversation_write *change)
{
    struct meddling *meddling = *(struct meddling *const *)what;

    (void)now;
    (void)change;
    event_add_conversation_error(events, "Planned", "with hush-hush-71");
    meddling->n_plans++;
    if (meddling->n_left-- > 0)
        meddling->meddle(meddling->test);
}

static void pause_it(struct job_test *test)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;

    event_add_pause(&events);
    job_test_append(test, &events);
}

static void take_the_job(struct job_test *test)
{
    (void)test;
    test_sql("UPDATE jobs SET lease_owner = gen_random_uuid()");
}

static void delete_it(struct job_test *test)
{
    const struct conversation_scope scope = {.user_id = test->fixture->user_id};
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_delete(test->fixture->context.db, &scope, &test->id, &err),
                     0);
}

/* Writes once, and gives what the write said. */
static int write_amid(struct job_test *test, struct meddling *meddling, struct error *err)
{
    CLEANUP(job_conversation_done) struct job_conversation target = {.agent = {.context = NULL}};
    const struct job_note note = {.plan = plan_error, .what = &meddling};
    struct job job = job_test_claim(test, "title", "{}");
    struct error opening = ERROR_INIT;
    int rc = 0;

    assert_int_equal(
        job_conversation_open(&target, &test->fixture->context, &test->control, &job, &opening), 0);
    assert_int_equal(target.hold.id, job.id);
    job_done(&job);
    rc = job_conversation_write(&target, &note, err);
    return rc;
}

static void write_comes_after_those_of_others(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct job_test test;
    struct meddling meddling = {.test = &test, .meddle = pause_it, .n_left = 2};
    struct error err = ERROR_INIT;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    assert_int_equal(write_amid(&test, &meddling, &err), 0);
    assert_int_equal(meddling.n_plans, 3);
    assert_job_log(&test, FIRST_MESSAGE " Pause Pause ConversationError");
    run_last_event(test.fixture, &test.id, "ConversationErrorEvent", &event);
    assert_json_at(event.text, "detail", "\"with <secret-hidden>\"");
    job_test_end(&test);
}

static void tries_are_limited(void **state)
{
    struct job_test test;
    struct meddling meddling = {.test = &test, .meddle = pause_it, .n_left = 1000};
    struct error err = ERROR_INIT;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    assert_int_equal(write_amid(&test, &meddling, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(meddling.n_plans, 100);
    job_test_end(&test);
}

static void job_of_another_worker_writes_nothing(void **state)
{
    struct job_test test;
    struct meddling meddling = {.test = &test, .meddle = take_the_job, .n_left = 1};
    struct error err = ERROR_INIT;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    assert_int_equal(write_amid(&test, &meddling, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_int_equal(meddling.n_plans, 1);
    assert_job_log(&test, FIRST_MESSAGE);
    job_test_end(&test);
}

static void deleted_conversation_ends_the_write(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct job_test test;
    struct meddling meddling = {.test = &test, .meddle = delete_it, .n_left = 1};
    struct error err = ERROR_INIT;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    assert_int_equal(write_amid(&test, &meddling, &err), -1);
    assert_true(err.code == ERROR_STALE || err.code == ERROR_NOT_FOUND);
    assert_int_equal(meddling.n_plans, 1);
    strbuf_appendf(&sql, "SELECT count(*) FROM events WHERE conversation_id = '%s'", test.id.text);
    assert_int_equal(test_sql_count(sql.text), 0);
    job_test_end(&test);
}

static void deleted_conversation_is_not_opened(void **state)
{
    CLEANUP(job_conversation_done) struct job_conversation target = {.agent = {.context = NULL}};
    struct job_test test;
    struct job job;
    struct error err = ERROR_INIT;

    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    job = job_test_claim(&test, "title", "{}");
    delete_it(&test);
    assert_int_equal(
        job_conversation_open(&target, &test.fixture->context, &test.control, &job, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    job_done(&job);
    job_test_end(&test);
}

/* The cost of the reply is added to what the row has by then. */
static void cost_is_added_to_the_others(void **state)
{
    static const char SQL_SUM[] = "(stats::jsonb #>> '{usage_to_metrics,u,accumulated_token_usage,"
                                  "prompt_tokens}')::int";
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct llm_reply reply = LLM_REPLY_INIT;
    struct job_test test;
    struct error err = ERROR_INIT;

    reply.usage = (struct llm_usage){
        .usage_id = "u", .model = "m", .response_id = "r", .prompt_tokens = 7, .cost = 0.5};
    job_test_begin(&test, *state, MODEL_ANSWER("x"), "{}");
    for (int i = 0; i < 2; i++) {
        CLEANUP(job_conversation_done) struct job_conversation target = {
            .agent = {.context = NULL}};
        struct job job = job_test_claim(&test, "title", "{}");

        assert_int_equal(
            job_conversation_open(&target, &test.fixture->context, &test.control, &job, &err), 0);
        assert_int_equal(
            job_conversation_write(&target,
                                   &(struct job_note){.reply = &reply, .tells_cost = i > 0}, &err),
            0);
        assert_int_equal(job_test_row(&test, SQL_SUM), 7 * (i + 1));
        job_done(&job);
    }
    assert_job_log(&test, FIRST_MESSAGE " S(stats)");
    run_last_event(test.fixture, &test.id, "ConversationStateUpdateEvent", &event);
    assert_json_at(event.text, "value.usage_to_metrics.u.accumulated_token_usage.prompt_tokens",
                   "14");
    assert_json_at(event.text, "value.usage_to_metrics.u.accumulated_cost", "1.0");
    job_test_end(&test);
}

int job_conversation_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_comes_after_those_of_others),
        cmocka_unit_test(tries_are_limited),
        cmocka_unit_test(job_of_another_worker_writes_nothing),
        cmocka_unit_test(deleted_conversation_ends_the_write),
        cmocka_unit_test(deleted_conversation_is_not_opened),
        cmocka_unit_test(cost_is_added_to_the_others),
    };

    return cmocka_run_group_tests_name("job_conversation", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

/*
 * Runs whose model's server is out of order: how long they wait, and what is left of them then.
 */
#include "worker/agent/llm/outage.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "llm/llm.h"
#include "support/sql.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/llm/llm_step.h"
#include "worker/step_test.h"

#define DOWN                                                                                       \
    "{\"turns\": [{\"steps\": [{\"status\": 503, \"error\": \"no opensesame\"}]}],"                \
    " \"later\": [{\"steps\": [{\"status\": 503, \"error\": \"no opensesame\"}]}]}"
#define SECRET "{\"secrets\": {\"TOKEN\": {\"kind\": \"StaticSecret\", \"value\": \"opensesame\"}}}"

enum { LIMIT_MS = 600000 };

static void waits_are_random_up_to_a_minute_and_end_at_the_limit(void **state)
{
    static const struct {
        int64_t lasted_ms;
        int64_t limit_ms;
        int64_t retry_after_ms;
        uint32_t random;
        int64_t expected_ms;
    } cases[] = {
        {0, LIMIT_MS, -1, 0, 0},
        {0, LIMIT_MS, -1, UINT32_MAX, 64000},
        {0, LIMIT_MS, -1, UINT32_MAX / 2, 32000},
        {LIMIT_MS - 5000, LIMIT_MS, -1, UINT32_MAX, 5000},
        {LIMIT_MS - 1, LIMIT_MS, -1, UINT32_MAX, 1},
        {LIMIT_MS, LIMIT_MS, -1, 0, -1},
        {LIMIT_MS + 1, LIMIT_MS, 0, 0, -1},
        {0, 0, -1, 0, -1},
        {0, LIMIT_MS, 90000, UINT32_MAX, 90000},
        {0, LIMIT_MS, 10000, UINT32_MAX, 64000},
        {LIMIT_MS - 5000, LIMIT_MS, 90000, 0, 5000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct outage_times times = {cases[i].lasted_ms, cases[i].limit_ms,
                                           cases[i].retry_after_ms};
        int64_t next_ms = outage_next_ms(&times, cases[i].random);

        if (next_ms > cases[i].expected_ms || next_ms < cases[i].expected_ms - 1)
            fail_msg("case %zu: %lld", i, (long long)next_ms);
    }
}

/* A claimed conversation in an outage, so that its model is asked once. */
static void begin(struct claimed_agent *claimed, void **state, const char *more)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, DOWN, more);

    fixture->context.settings.model_outage_ms = LIMIT_MS;
    claimed_agent_begin(claimed, fixture, &id);
    (void)json_object_del(claimed->agent.llm_spec, "num_retries");
    (void)json_object_del(claimed->agent.llm_spec, "retry_multiplier");
    (void)json_object_del(claimed->agent.llm_spec, "retry_min_wait");
    (void)json_object_del(claimed->agent.llm_spec, "retry_max_wait");
    claimed->agent.n_model_waits = 3;
    claimed->agent.model_out_since_ms = clock_monotonic_ms() - 60000;
}

static void end(struct claimed_agent *claimed)
{
    claimed->fixture->context.settings.model_outage_ms = 0;
    claimed_agent_end(claimed);
}

static void ask(struct claimed_agent *claimed)
{
    struct error err = ERROR_INIT;

    step_check(llm_step_run(&claimed->agent, &err), &err);
}

static int64_t count_outages(struct claimed_agent *claimed, const char *condition)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM model_outages WHERE conversation_id = '%s' AND %s",
                   claimed->agent.lease.conversation_id.text, condition);
    return test_sql_count(sql.text);
}

static void run_waits_without_a_lease_and_tells_why(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, SECRET);
    ask(&claimed);
    assert_true(claimed.agent.is_over);
    assert_step_log(&claimed, BEGINNING);
    assert_step_row(&claimed, "running/wanted/-");
    assert_int_equal(count_outages(&claimed, "n_waits = 4 AND reason LIKE '%no <secret-hidden>%'"),
                     1);
    assert_int_equal(count_outages(&claimed, "began_at BETWEEN now() - interval '120 seconds' AND "
                                             "now() - interval '60 seconds'"),
                     1);
    assert_int_equal(count_outages(&claimed,
                                   "next_at BETWEEN now() - interval '60 seconds' AND now() + "
                                   "interval '64 seconds'"),
                     1);
    assert_int_equal(count_outages(&claimed, "asked_seq = (SELECT max(seq) FROM events e WHERE "
                                             "e.conversation_id = model_outages.conversation_id)"),
                     1);
    end(&claimed);
}

static void outage_that_lasts_too_long_ends_the_run(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{}");
    claimed.agent.n_model_waits = 1;
    claimed.agent.model_out_since_ms -= LIMIT_MS;
    assert_true(outage_lasts(&claimed.agent));
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " S(error) ConversationError");
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"LLMServiceUnavailableError\"");
    assert_int_equal(count_outages(&claimed, "true"), 0);
    end(&claimed);
}

/* Whoever sets a limit of their own keeps it. */
static void client_with_retries_of_its_own_does_not_wait(void **state)
{
    static const char *const members[] = {"num_retries", "retry_multiplier", "retry_min_wait",
                                          "retry_max_wait"};

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        struct claimed_agent claimed;

        begin(&claimed, state, "{}");
        json_put(claimed.agent.llm_spec, members[i], json_integer(1));
        ask(&claimed);
        assert_step_log(&claimed, BEGINNING " S(error) ConversationError");
        end(&claimed);
    }
}

static void only_outages_are_waited_out(void **state)
{
    struct claimed_agent claimed;
    struct llm_failure failure = {LLM_FAILURE_SERVICE_UNAVAILABLE, true, -1, ""};

    begin(&claimed, state, "{}");
    assert_true(outage_may_wait(&claimed.agent, &failure));
    failure.is_outage = false;
    assert_false(outage_may_wait(&claimed.agent, &failure));
    failure.is_outage = true;
    claimed.agent.context->settings.model_outage_ms = 0;
    assert_false(outage_may_wait(&claimed.agent, &failure));
    end(&claimed);
}

/* The first wait begins the outage. */
static void outage_begins_with_its_first_wait(void **state)
{
    struct claimed_agent claimed;
    const struct llm_failure failure = {LLM_FAILURE_SERVICE_UNAVAILABLE, true, -1, "down"};
    struct error err = ERROR_INIT;

    begin(&claimed, state, "{}");
    claimed.agent.n_model_waits = 0;
    claimed.agent.model_out_since_ms = 0;
    assert_false(outage_lasts(&claimed.agent));
    step_check(outage_wait(&claimed.agent, &failure, &err), &err);
    assert_int_equal(count_outages(&claimed, "n_waits = 1 AND began_at > now() - interval '1 hour'"
                                             " AND began_at = (SELECT c.updated_at FROM"
                                             " conversations c WHERE c.id = conversation_id)"),
                     1);
    end(&claimed);
}

static void answer_ends_the_outage(void **state)
{
    struct claimed_agent claimed;

    step_begin(&claimed, state, "{}");
    claimed.agent.n_model_waits = 2;
    ask(&claimed);
    assert_false(outage_lasts(&claimed.agent));
    claimed_agent_end(&claimed);
}

static void stop_that_came_before_is_taken_up(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct error err = ERROR_INIT;

    begin(&claimed, state, "{}");
    strbuf_appendf(&sql, "UPDATE conversations SET stop_requested = 'interrupt' WHERE id = '%s'",
                   claimed.agent.lease.conversation_id.text);
    test_sql(sql.text);
    assert_int_equal(llm_step_run(&claimed.agent, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(run_control_stop(claimed.agent.control), STOP_INTERRUPT);
    assert_false(claimed.agent.is_over);
    end(&claimed);
}

int outage_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_random_up_to_a_minute_and_end_at_the_limit),
        cmocka_unit_test(run_waits_without_a_lease_and_tells_why),
        cmocka_unit_test(outage_that_lasts_too_long_ends_the_run),
        cmocka_unit_test(client_with_retries_of_its_own_does_not_wait),
        cmocka_unit_test(only_outages_are_waited_out),
        cmocka_unit_test(outage_begins_with_its_first_wait),
        cmocka_unit_test(answer_ends_the_outage),
        cmocka_unit_test(stop_that_came_before_is_taken_up),
    };

    return cmocka_run_group_tests_name("worker/outage", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

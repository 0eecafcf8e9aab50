/*
 * A run's calls of its sandbox.
 */
#include "worker/agent/sandbox/sandbox.h"

#include <string.h>

#include "base/json.h"
#include "worker/agent/core/agent.h"
#include "worker/agent_test.h"

#define UNUSED_SCRIPT "{\"turns\": [{\"steps\": [{\"text\": \"unused\"}]}]}"
#define TIMEOUT_MS 10000

static void begin(struct claimed_agent *claimed, void **state)
{
    struct uuid id = run_new_conversation(*state, UNUSED_SCRIPT, "{}");
    struct error err = ERROR_INIT;

    claimed_agent_begin(claimed, *state, &id);
    if (sandbox_ready(claimed->agent.sandbox, &err) < 0)
        fail_msg("%s", err.message);
}

/* A command for that sandbox; args are borrowed. */
static struct action_request order_for(const char *runtime_id, json_t *args)
{
    struct action_request order = {.action_id = uuid_random(),
                                   .tool = "terminal",
                                   .observation_kind = "TerminalObservation",
                                   .args = args,
                                   .timeout_ms = TIMEOUT_MS};

    memcpy(order.runtime_id, runtime_id, strnlen(runtime_id, SANDBOX_ID_BYTES - 1));
    return order;
}

static int run_action(struct sandbox *sandbox, const struct action_request *order,
                      struct action_result *result_out, struct error *err)
{
    struct sandbox_action *action = sandbox_begin_action(sandbox, order);
    size_t index = 0;
    int rc = 0;

    if (sandbox_action_is_sent(action))
        rc = sandbox_wait_action(sandbox, &action, 1, &index, err);
    if (rc == 0)
        rc = sandbox_end_action(action, result_out, err);
    sandbox_action_free(action);
    return rc;
}

static void action_for_another_sandbox_is_not_sent(void **state)
{
    CLEANUP(action_result_done) struct action_result result = ACTION_RESULT_INIT;
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    json_auto_t *args = json_object();
    const struct action_request order = order_for("zzzzzzzzzzzzzzzz", args);
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    assert_int_equal(run_action(claimed.agent.sandbox, &order, &result, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(sandbox_query_action(claimed.agent.sandbox, &order, &result, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    claimed_agent_end(&claimed);
}

static void action_runs_in_the_sandbox_that_it_is_for(void **state)
{
    CLEANUP(action_result_done) struct action_result result = ACTION_RESULT_INIT;
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    json_auto_t *args = json_object();
    struct action_request order = {.args = NULL};
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    order = order_for(sandbox_runtime_id(claimed.agent.sandbox), args);
    if (run_action(claimed.agent.sandbox, &order, &result, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(result.state, SANDBOX_FINISHED);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    claimed_agent_end(&claimed);
}

int sandbox_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(action_for_another_sandbox_is_not_sent),
        cmocka_unit_test(action_runs_in_the_sandbox_that_it_is_for),
    };

    return cmocka_run_group_tests_name("worker/sandbox", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

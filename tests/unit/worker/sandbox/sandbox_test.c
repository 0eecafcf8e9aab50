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

static void state_of_an_action_is_asked_for_without_running_it(void **state)
{
    CLEANUP(action_result_done) struct action_result before = ACTION_RESULT_INIT;
    CLEANUP(action_result_done) struct action_result ran = ACTION_RESULT_INIT;
    CLEANUP(action_result_done) struct action_result after = ACTION_RESULT_INIT;
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    json_auto_t *args = json_object();
    struct action_request order = {.args = NULL};
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    order = order_for(sandbox_runtime_id(claimed.agent.sandbox), args);
    json_put_text(args, "command", "x");
    assert_int_equal(sandbox_query_action(claimed.agent.sandbox, &order, &before, &err), 0);
    assert_int_equal(before.state, SANDBOX_UNKNOWN);
    assert_null(before.observation);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_int_equal(run_action(claimed.agent.sandbox, &order, &ran, &err), 0);
    assert_int_equal(sandbox_query_action(claimed.agent.sandbox, &order, &after, &err), 0);
    assert_int_equal(after.state, SANDBOX_FINISHED);
    assert_string_equal(json_text_or(after.observation, "command", ""), "x");
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    claimed_agent_end(&claimed);
}

/* The sandbox keeps its result: the same action is not run again. */
static void repeated_action_gives_the_kept_result(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    json_auto_t *args = json_object();
    struct action_request order = {.args = NULL};
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    order = order_for(sandbox_runtime_id(claimed.agent.sandbox), args);
    for (int i = 0; i < 2; i++) {
        CLEANUP(action_result_done) struct action_result result = ACTION_RESULT_INIT;

        assert_int_equal(run_action(claimed.agent.sandbox, &order, &result, &err), 0);
        assert_int_equal(result.state, SANDBOX_FINISHED);
        assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    }
    claimed_agent_end(&claimed);
}

static void own_command_gives_its_answer(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_commands = stub_n_commands(fixture->stub);
    struct claimed_agent claimed;
    json_auto_t *answer = NULL;
    struct error err = ERROR_INIT;

    begin(&claimed, state);
    stub_set_command(fixture->stub, 3, "words");
    assert_int_equal(sandbox_execute(claimed.agent.sandbox, "ls", 5, &answer, &err), 0);
    assert_int_equal(json_int_or(answer, "exit_code", 0), 3);
    assert_string_equal(json_text_or(answer, "stderr", ""), "words");
    assert_int_equal(stub_n_commands(fixture->stub), n_commands + 1);
    claimed_agent_end(&claimed);
}

static void acknowledge(struct sandbox *sandbox, int n)
{
    for (int i = 0; i < n; i++) {
        struct uuid id = uuid_random();

        sandbox_acknowledge(sandbox, &id);
    }
}

static void acknowledgements_are_sent_in_batches(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_before = stub_n_acknowledged(fixture->stub);
    struct claimed_agent claimed;
    struct sandbox *sandbox = NULL;

    begin(&claimed, state);
    sandbox = claimed.agent.sandbox;
    sandbox_send_acknowledged(sandbox);
    acknowledge(sandbox, 15);
    sandbox_settle(sandbox);
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_before);
    acknowledge(sandbox, 1);
    sandbox_settle(sandbox);
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_before + 16);
    acknowledge(sandbox, 2);
    sandbox_send_acknowledged(sandbox);
    sandbox_settle(sandbox);
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_before + 18);
    claimed_agent_end(&claimed);
}

static void interrupt_and_end_of_a_conversation_reach_the_sandbox(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_interrupts = stub_n_interrupts(fixture->stub);
    size_t n_forgotten = stub_n_forgotten(fixture->stub);
    struct claimed_agent claimed;

    begin(&claimed, state);
    sandbox_interrupt(claimed.agent.sandbox);
    assert_int_equal(stub_n_interrupts(fixture->stub), n_interrupts + 1);
    assert_int_equal(stub_n_forgotten(fixture->stub), n_forgotten);
    sandbox_forget(claimed.agent.sandbox);
    assert_int_equal(stub_n_forgotten(fixture->stub), n_forgotten + 1);
    claimed_agent_end(&claimed);
}

static void working_directory_is_made_once(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_before = stub_n_directories(fixture->stub);
    struct claimed_agent claimed;
    char path[200] = "";

    begin(&claimed, state);
    sandbox_make_working_dir(claimed.agent.sandbox);
    assert_int_equal(stub_n_directories(fixture->stub), n_before + 1);
    stub_last_directory(fixture->stub, path);
    assert_string_equal(path, "/api/file/create_directory?path=%2Fworkspace%2Fproject");
    sandbox_make_working_dir(claimed.agent.sandbox);
    assert_int_equal(stub_n_directories(fixture->stub), n_before + 1);
    claimed_agent_end(&claimed);
}

/* While the model is asked; then it is waited for, not asked for again. */
static void sandbox_is_started_before_it_is_needed(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, UNUSED_SCRIPT, "{}");
    size_t n_starts = stub_n_starts(fixture->stub);
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    claimed_agent_begin(&claimed, fixture, &id);
    assert_int_equal(stub_n_starts(fixture->stub), n_starts);
    sandbox_begin(claimed.agent.sandbox);
    sandbox_begin(claimed.agent.sandbox);
    assert_true(stub_wait_for_starts(fixture->stub, n_starts + 1));
    assert_int_equal(sandbox_ready(claimed.agent.sandbox, &err), 0);
    sandbox_begin(claimed.agent.sandbox);
    assert_int_equal(sandbox_ready(claimed.agent.sandbox, &err), 0);
    assert_int_equal(stub_n_starts(fixture->stub), n_starts + 1);
    claimed_agent_end(&claimed);
}

/* A run whose tools and hooks need none has no sandbox. */
static void sandbox_is_for_what_needs_it(void **state)
{
    static const struct {
        const char *more;
        bool has_sandbox;
    } rows[] = {
        {"{}", true},
        {"{\"agent\": {\"tools\": []}}", false},
        {"{\"agent\": {\"tools\": [{\"name\": \"task_tracker\"}]}}", false},
        {"{\"agent\": {\"tools\": []},"
         " \"hook_config\": {\"stop\": [{\"hooks\": [{\"command\": \"x\"}]}]}}",
         true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct uuid id = run_new_conversation(*state, UNUSED_SCRIPT, rows[i].more);
        struct claimed_agent claimed;

        claimed_agent_begin(&claimed, *state, &id);
        assert_int_equal(claimed.agent.sandbox != NULL, rows[i].has_sandbox);
        claimed_agent_end(&claimed);
    }
}

static void no_sandbox_may_be_freed(void **state)
{
    (void)state;
    sandbox_free(NULL);
}

int sandbox_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(action_for_another_sandbox_is_not_sent),
        cmocka_unit_test(action_runs_in_the_sandbox_that_it_is_for),
        cmocka_unit_test(state_of_an_action_is_asked_for_without_running_it),
        cmocka_unit_test(repeated_action_gives_the_kept_result),
        cmocka_unit_test(own_command_gives_its_answer),
        cmocka_unit_test(acknowledgements_are_sent_in_batches),
        cmocka_unit_test(interrupt_and_end_of_a_conversation_reach_the_sandbox),
        cmocka_unit_test(working_directory_is_made_once),
        cmocka_unit_test(sandbox_is_started_before_it_is_needed),
        cmocka_unit_test(sandbox_is_for_what_needs_it),
        cmocka_unit_test(no_sandbox_may_be_freed),
    };

    return cmocka_run_group_tests_name("worker/sandbox", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

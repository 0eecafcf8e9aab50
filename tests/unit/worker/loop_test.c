/*
 * What the steps of a run do about an agent that repeats itself, and about a stop.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "model/conversation/conversation.h"
#include "support/sql.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/llm/condense.h"
#include "worker/step_test.h"

enum { LOG_MAX_BYTES = 4096 };

#define BAD CALL("nosuch", "{}")
#define STEP(calls) "{\"calls\": [" calls "]}"
#define STEPS(steps) "{\"turns\": [{\"steps\": [" steps "]}]}"
#define BAD_ROUND " S(stats) Action(nosuch) AgentError(nosuch)"
#define THOUGHT CALL("think", "{\"thought\": \"hm\"}")
#define THOUGHT_ROUND " S(stats) Action(think) Observation(think)"
#define END " S(stats) Action(finish) Observation(finish) S(finished)"

static void failing_call_gets_one_nudge_and_then_ends_the_run(void **state)
{
    struct uuid id = run_new_conversation(
        *state,
        "{\"turns\": [{\"steps\": [" STEP(BAD) ", " STEP(BAD) ", " STEP(
            BAD) "]}], \"later\": [{\"steps\": [" STEP(BAD) ", " STEP(FINISH) "]}]}",
        "{}");

    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING BAD_ROUND BAD_ROUND BAD_ROUND " Message(environment)" BAD_ROUND
                                                       " S(stuck)");
    assert_row(*state, &id, "stuck/-/-");
}

static void repeated_call_ends_the_run(void **state)
{
    struct uuid id = run_new_conversation(*state,
                                          STEPS(STEP(THOUGHT) ", " STEP(THOUGHT) ", " STEP(
                                              THOUGHT) ", " STEP(THOUGHT) ", " STEP(FINISH)),
                                          "{}");

    run_to_end(*state, &id);
    assert_log(*state, &id,
               BEGINNING THOUGHT_ROUND THOUGHT_ROUND THOUGHT_ROUND THOUGHT_ROUND " S(stuck)");
}

static void repetition_is_let_be_where_no_one_looks(void **state)
{
    struct uuid id = run_new_conversation(*state,
                                          STEPS(STEP(THOUGHT) ", " STEP(THOUGHT) ", " STEP(
                                              THOUGHT) ", " STEP(THOUGHT) ", " STEP(FINISH)),
                                          "{\"stuck_detection\": false}");

    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING THOUGHT_ROUND THOUGHT_ROUND THOUGHT_ROUND THOUGHT_ROUND END);
}

/* A run with that stop requested before its first step. */
static void run_with(struct claimed_agent *claimed, void **state, enum stop_kind stop)
{
    step_begin(claimed, state, "{}");
    run_control_request(&claimed->control, stop);
    agent_run(&claimed->agent);
    assert_true(claimed->agent.is_over);
}

static void each_stop_ends_the_run_in_its_way(void **state)
{
    static const struct {
        enum stop_kind stop;
        const char *log;
        const char *row;
    } cases[] = {
        {STOP_HAND_OVER, BEGINNING, "running/wanted/-"},
        {STOP_PAUSE, BEGINNING " S(paused) Pause", "paused/-/-"},
        {STOP_INTERRUPT, BEGINNING " S(paused) Interrupt", "paused/-/-"},
        {STOP_LOST, BEGINNING, "running/wanted/leased"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct claimed_agent claimed;

        run_with(&claimed, state, cases[i].stop);
        assert_step_log(&claimed, cases[i].log);
        assert_step_row(&claimed, cases[i].row);
        claimed_agent_end(&claimed);
    }
}

/* The sandbox forgets only what is deleted. */
static void lost_lease_of_a_conversation_that_exists_forgets_nothing(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_forgotten = stub_n_forgotten(fixture->stub);
    struct claimed_agent claimed;

    run_with(&claimed, state, STOP_LOST);
    assert_int_equal(stub_n_forgotten(fixture->stub), n_forgotten);
    claimed_agent_end(&claimed);
}

static void limit_of_iterations_is_told(void **state)
{
    struct uuid id = run_new_conversation(*state, STEPS(STEP(THOUGHT) ", " STEP(FINISH)),
                                          "{\"max_iterations\": 1}");
    struct claimed_agent claimed = {.fixture = *state};

    run_to_end(*state, &id);
    claimed.agent.lease.conversation_id = id;
    assert_step_log(&claimed, BEGINNING THOUGHT_ROUND " S(error) ConversationError");
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"MaxIterationsReached\"");
    assert_step_event(&claimed, "ConversationErrorEvent", "detail",
                      "\"The agent reached the limit of 1 iterations of one run without finishing."
                      " Run the conversation again to let it go on.\"");
}

/* What the run knows at its beginning is that of the log. */
static void run_begins_where_the_log_ends(void **state)
{
    struct claimed_agent claimed;
    int64_t last_seq = 0;

    step_begin(&claimed, state, "{}");
    last_seq = claimed.agent.history.last_seq;
    agent_run(&claimed.agent);
    assert_int_equal(claimed.agent.claimed_seq, last_seq);
    assert_int_equal(claimed.agent.n_iterations, 1);
    assert_step_log(&claimed, BEGINNING " S(stats) Message(agent) S(finished)");
    claimed_agent_end(&claimed);
}

/* A row whose status says otherwise, such as after a message that began no run. */
static void status_is_set_where_the_request_has_not(void **state)
{
    struct claimed_agent claimed;

    step_begin(&claimed, state, "{}");
    claimed.agent.conversation.status = STATUS_IDLE;
    agent_run(&claimed.agent);
    assert_step_log(&claimed, BEGINNING " S(running) S(stats) Message(agent) S(finished)");
    claimed_agent_end(&claimed);
}

/* Events get times that do not go back, whoever wrote the one before. */
static void time_of_the_newest_event_is_known(void **state)
{
    struct claimed_agent claimed;
    struct agent *agent = &claimed.agent;
    struct error err = ERROR_INIT;
    int64_t before_us = 0;

    step_begin(&claimed, state, "{}");
    before_us = agent->conversation.last_timestamp_us;
    run_say(*state, &agent->lease.conversation_id, "and this");
    step_check(event_writer_load(agent, &err), &err);
    assert_true(agent->history.last_timestamp_us > before_us);
    assert_int_equal(agent->conversation.last_timestamp_us, agent->history.last_timestamp_us);
    assert_int_equal(agent->conversation.last_seq, agent->history.last_seq);
    agent->conversation.last_timestamp_us += 1000;
    step_check(event_writer_load(agent, &err), &err);
    assert_int_equal(agent->conversation.last_timestamp_us,
                     agent->history.last_timestamp_us + 1000);
    claimed_agent_end(&claimed);
}

static void condensed_view_is_kept_for_the_next_claim(void **state)
{
    struct claimed_agent claimed;
    struct conversation *conversation = &claimed.agent.conversation;
    json_t *condenser = json_object();
    struct error err = ERROR_INIT;

    step_begin(&claimed, state, "{}");
    json_put_text(condenser, "kind", "LLMSummarizingCondenser");
    json_put(condenser, "max_size", json_integer(240));
    json_put(condenser, "llm", json_deep_copy(conversation_llm(conversation)));
    json_put(conversation_agent(conversation), "condenser", condenser);
    step_check(condense_request(&claimed.agent, &err), &err);
    agent_run(&claimed.agent);
    assert_step_log(&claimed, BEGINNING " CondensationRequest S(stats) Condensation S(stats)"
                                        " Message(agent) S(finished)");
    assert_int_equal(step_number(&claimed, "(SELECT count(*) FROM condensed_views v"
                                           " WHERE v.conversation_id = conversations.id)"),
                     1);
    assert_int_not_equal(claimed.agent.history.gap.seq, 0);
    claimed_agent_end(&claimed);
}

static void give_to_another_worker(const struct uuid *id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_owner = gen_random_uuid(),"
                   " lease_fence = lease_fence + 1 WHERE id = '%s'",
                   id->text);
    test_sql(sql.text);
}

/* The end of a finished conversation is a write like others. */
static void lost_lease_ends_the_end_of_a_run(void **state)
{
    struct claimed_agent claimed;

    step_begin(&claimed, state, "{}");
    claimed.agent.conversation.status = STATUS_FINISHED;
    give_to_another_worker(&claimed.agent.lease.conversation_id);
    agent_run(&claimed.agent);
    assert_true(claimed.agent.is_over);
    assert_step_log(&claimed, BEGINNING);
    assert_step_row(&claimed, "running/wanted/leased");
    claimed_agent_end(&claimed);
}

static void hooks_are_asked_before_the_model(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture, UNUSED_SCRIPT,
        "{\"hook_config\": {\"user_prompt_submit\": [{\"hooks\": [{\"command\": \"x\"}]}]}}");

    run_to_end(fixture, &id);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_log(fixture, &id, BEGINNING " HookExecution S(stats) Message(agent) S(finished)");
}

/* A thread's next run may log what was a secret of this one. */
static void secrets_are_hidden_in_log_lines_of_their_run_only(void **state)
{
    CLEANUP(fd_close) int file = memfd_create("log", MFD_CLOEXEC);
    CLEANUP(fd_close) int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    char lines[LOG_MAX_BYTES] = "";
    struct claimed_agent claimed;

    step_begin(&claimed, state, "{\"secrets\": {\"TOKEN\": \"opensesame\"}}");
    assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
    log_info("model.failed", LOG_STR("error", "within: opensesame"));
    claimed_agent_end(&claimed);
    log_info("model.failed", LOG_STR("error", "after: opensesame"));
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    assert_true(pread(file, lines, sizeof(lines) - 1, 0) > 0);
    assert_non_null(strstr(lines, "within: <secret-hidden>"));
    assert_non_null(strstr(lines, "after: opensesame"));
}

int loop_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_call_gets_one_nudge_and_then_ends_the_run),
        cmocka_unit_test(repeated_call_ends_the_run),
        cmocka_unit_test(repetition_is_let_be_where_no_one_looks),
        cmocka_unit_test(each_stop_ends_the_run_in_its_way),
        cmocka_unit_test(lost_lease_of_a_conversation_that_exists_forgets_nothing),
        cmocka_unit_test(limit_of_iterations_is_told),
        cmocka_unit_test(run_begins_where_the_log_ends),
        cmocka_unit_test(time_of_the_newest_event_is_known),
        cmocka_unit_test(condensed_view_is_kept_for_the_next_claim),
        cmocka_unit_test(status_is_set_where_the_request_has_not),
        cmocka_unit_test(lost_lease_ends_the_end_of_a_run),
        cmocka_unit_test(hooks_are_asked_before_the_model),
        cmocka_unit_test(secrets_are_hidden_in_log_lines_of_their_run_only),
    };

    return cmocka_run_group_tests_name("worker/loop", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

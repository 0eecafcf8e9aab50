/*
 * Calls that a sub-agent answers: each step of the caller's run by itself.
 */
#include "worker/agent/calls/task_call.h"

#include <string.h>

#include "base/json.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/calls/call_batch.h"
#include "worker/agent/calls/sub_agent_work.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/step_test.h"

#define TASK(more) CALL("task", "{\"prompt\": \"the part\"" more "}")

static size_t last_call(const struct agent *agent)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;

    history_find_pending(&agent->history, &pending);
    return pending.items[pending.n - 1];
}

/* An agent whose last calls are those; an earlier one waits for a sandbox. */
static void begin_in(struct claimed_agent *claimed, void **state, const char *calls,
                     const char *more)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;

    strbuf_appendf(&script, CALLS(COMMAND("x") ", %s"), calls);
    claimed_agent_begin_pending_in(claimed, *state, script.text, more);
}

static void begin(struct claimed_agent *claimed, void **state, const char *call)
{
    begin_in(claimed, state, call, "{}");
}

/* The run is over: its conversation is claimed anew. */
static void claim_again(struct claimed_agent *claimed)
{
    struct run_fixture *fixture = claimed->fixture;
    struct uuid id = claimed->agent.lease.conversation_id;

    agent_done(&claimed->agent);
    run_control_done(&claimed->control);
    run_put_first(&id);
    claimed_agent_begin(claimed, fixture, &id);
}

static void load(struct run_fixture *fixture, const struct uuid *id, struct conversation *out)
{
    struct error err = ERROR_INIT;

    step_check(conversation_store_load_any(fixture->context.db, id, out, &err), &err);
}

static struct uuid child_of(struct claimed_agent *claimed)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    struct uuid id = UUID_INIT;

    load(claimed->fixture, &claimed->agent.lease.conversation_id, &row);
    assert_non_null(row.children);
    assert_true(uuid_parse(row.children, &id));
    return id;
}

/* Writes the sub-agent's row as if its run had ended so. */
static void set_status(const struct uuid *id, const char *status)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET execution_status = '%s', wanted_at = NULL"
                   " WHERE id = '%s'",
                   status, id->text);
    test_sql(sql.text);
}

/* A step of the call; the run waits for its sub-agent, if that runs. */
static int try_call(struct claimed_agent *claimed, size_t action, struct error *err)
{
    struct sub_agent_waits waits = {.n = 0};

    if (task_call_run(&claimed->agent, action, &waits, err) < 0)
        return -1;
    return waits.n > 0 || waits.is_paused ? sub_agent_work_wait(&claimed->agent, &waits, err) : 0;
}

static void run_call(struct claimed_agent *claimed, size_t action)
{
    struct error err = ERROR_INIT;

    step_check(try_call(claimed, action, &err), &err);
}

/* Number of sub-agents that the run waits for. */
static int64_t count_waits(struct claimed_agent *claimed)
{
    return step_number(claimed, "(SELECT count(*) FROM task_waits t WHERE t.conversation_id = id)");
}

static void assert_seen(struct claimed_agent *claimed, const char *path, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;

    strbuf_appendf(&whole, "observation.%s", path);
    assert_step_event(claimed, "ObservationEvent", whole.text, expected);
}

static void sub_agent_is_stored_and_waited_for(void **state)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf tasks = STRBUF_INIT;
    struct claimed_agent claimed;
    struct uuid action = UUID_INIT;
    struct uuid expected = UUID_INIT;
    struct uuid id = UUID_INIT;

    begin(&claimed, state, TASK(", \"description\": \"Look for it\""));
    action = claimed.agent.history.items[last_call(&claimed.agent)].id;
    expected = child_conversation_id(&claimed.agent.conversation.id, &action);
    run_call(&claimed, last_call(&claimed.agent));
    assert_true(claimed.agent.is_over);
    assert_step_row(&claimed, "running/wanted/-");
    id = child_of(&claimed);
    assert_string_equal(id.text, expected.text);
    load(*state, &id, &child);
    assert_string_equal(child.title, "Look for it");
    assert_true(child.is_sub_agent);
    assert_true(child.is_wanted);
    assert_string_equal(child.parent_id.text, claimed.agent.conversation.id.text);
    assert_string_equal(child.runtime_session, "u-test");
    load(*state, &claimed.agent.lease.conversation_id, &parent);
    assert_int_equal(count_waits(&claimed), 1);
    assert_int_equal(step_number(&claimed, "is_suspended::int"), 1);
    json_append_text(&tasks, json_object_get(parent.agent_state, AGENT_STATE_TASKS));
    assert_json_at(tasks.text, "[0].task_id", "\"task_00000001\"");
    assert_json_at(tasks.text, "[1]", NULL);
    assert_non_null(json_object_get(claimed.agent.conversation.agent_state, AGENT_STATE_TASKS));
    claimed_agent_end(&claimed);
}

static void title_of_a_sub_agent_is_its_description_or_prompt(void **state)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    struct claimed_agent claimed;
    struct uuid id = UUID_INIT;

    begin(&claimed, state, TASK(""));
    run_call(&claimed, last_call(&claimed.agent));
    id = child_of(&claimed);
    load(*state, &id, &child);
    assert_string_equal(child.title, "the part");
    claimed_agent_end(&claimed);
}

/* Lets the call begin, and its sub-agent end in that status; its run is claimed again. */
static void begin_ended(struct claimed_agent *claimed, void **state, const char *status)
{
    struct uuid child = UUID_INIT;

    begin(claimed, state, TASK(""));
    run_call(claimed, last_call(&claimed->agent));
    child = child_of(claimed);
    set_status(&child, status);
    claim_again(claimed);
}

static void each_end_of_a_sub_agent_has_its_words(void **state)
{
    static const struct {
        const char *status;
        const char *text;
        const char *told;
        const char *is_error;
    } cases[] = {
        {"finished", "\"The sub-agent finished without a message.\"", "\"completed\"", "false"},
        {"error", "\"The sub-agent's run ended with an error.\"", "\"error\"", "true"},
        {"stuck", "\"The sub-agent repeated itself and was stopped.\"", "\"error\"", "true"},
        {"waiting_for_confirmation", "\"The sub-agent waits for a user to confirm an action.\"",
         "\"error\"", "true"},
        {"idle", "\"The sub-agent was stopped before it finished.\"", "\"error\"", "true"},
        {"paused", "\"The sub-agent was stopped before it finished.\"", "\"error\"", "true"},
        {"running", "\"The sub-agent did not finish.\"", "\"error\"", "true"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct claimed_agent claimed;
        size_t action = 0;

        begin_ended(&claimed, state, cases[i].status);
        action = last_call(&claimed.agent);
        assert_int_not_equal(step_number(&claimed, "claim_count"), 0);
        run_call(&claimed, action);
        assert_false(claimed.agent.is_over);
        assert_non_null(history_find_result(&claimed.agent.history, action));
        /* That was progress. */
        assert_int_equal(step_number(&claimed, "claim_count"), 0);
        assert_int_equal(count_waits(&claimed), 0);
        assert_seen(&claimed, "content[0].text", cases[i].text);
        assert_seen(&claimed, "status", cases[i].told);
        assert_seen(&claimed, "is_error", cases[i].is_error);
        assert_seen(&claimed, "task_id", "\"task_00000001\"");
        assert_seen(&claimed, "subagent", "\"general-purpose\"");
        assert_seen(&claimed, "kind", "\"TaskObservation\"");
        claimed_agent_end(&claimed);
    }
}

/* A sub-agent's cost is that of its task, and is counted once. */
static void cost_of_a_sub_agent_is_shown_with_its_result(void **state)
{
    static const char usage[] = "value.usage_to_metrics.task:task_00000001.accumulated_cost";
    struct claimed_agent claimed;
    struct uuid child = UUID_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    begin(&claimed, state, TASK(""));
    run_call(&claimed, last_call(&claimed.agent));
    child = child_of(&claimed);
    set_status(&child, "finished");
    strbuf_appendf(&sql,
                   "UPDATE conversations SET stats = '{\"usage_to_metrics\":{\"agent\":"
                   "{\"accumulated_cost\":0.5},\"condenser\":{\"accumulated_cost\":0.25}}}'"
                   " WHERE id = '%s'",
                   child.text);
    test_sql(sql.text);
    claim_again(&claimed);
    run_call(&claimed, last_call(&claimed.agent));
    assert_step_event(&claimed, "ConversationStateUpdateEvent", "key", "\"stats\"");
    assert_step_event(&claimed, "ConversationStateUpdateEvent", usage, "0.75");
    claimed_agent_end(&claimed);
}

/* The run was stopped together with its sub-agent, and goes on: so does the sub-agent. */
static void sub_agent_that_was_stopped_with_its_caller_runs_again(void **state)
{
    static const char *const statuses[] = {"paused", "idle"};

    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
        struct claimed_agent claimed;
        struct uuid child = UUID_INIT;

        begin_ended(&claimed, state, statuses[i]);
        child = child_of(&claimed);
        /* As the end of its caller's run does. */
        test_sql("DELETE FROM task_waits");
        run_call(&claimed, last_call(&claimed.agent));
        assert_true(claimed.agent.is_over);
        load(*state, &child, &row);
        assert_int_equal(row.status, STATUS_RUNNING);
        assert_true(row.is_wanted);
        assert_step_row(&claimed, "running/wanted/-");
        claimed_agent_end(&claimed);
    }
}

static void pause_of_both_stores_no_result(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin_ended(&claimed, state, "paused");
    run_control_request(&claimed.control, STOP_PAUSE);
    assert_int_equal(try_call(&claimed, last_call(&claimed.agent), &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_false(claimed.agent.is_over);
    claimed_agent_end(&claimed);
}

static void sub_agent_under_way_is_waited_for_again(void **state)
{
    struct claimed_agent claimed;
    struct uuid child = UUID_INIT;

    begin_ended(&claimed, state, "running");
    child = child_of(&claimed);
    {
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

        strbuf_appendf(&sql, "UPDATE conversations SET wanted_at = now() WHERE id = '%s'",
                       child.text);
        test_sql(sql.text);
    }
    run_call(&claimed, last_call(&claimed.agent));
    assert_true(claimed.agent.is_over);
    assert_step_row(&claimed, "running/wanted/-");
    assert_int_equal(count_waits(&claimed), 1);
    claimed_agent_end(&claimed);
}

static void stop_requested_in_the_meantime_is_taken_up(void **state)
{
    static const struct {
        const char *word;
        enum stop_kind stop;
    } cases[] = {{"pause", STOP_PAUSE}, {"interrupt", STOP_INTERRUPT}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
        struct claimed_agent claimed;
        struct error err = ERROR_INIT;

        begin(&claimed, state, TASK(""));
        strbuf_appendf(&sql, "UPDATE conversations SET stop_requested = '%s' WHERE id = '%s'",
                       cases[i].word, claimed.agent.lease.conversation_id.text);
        test_sql(sql.text);
        assert_int_equal(try_call(&claimed, last_call(&claimed.agent), &err), -1);
        assert_int_equal(err.code, ERROR_CANCELLED);
        assert_int_equal(run_control_stop(&claimed.control), cases[i].stop);
        assert_false(claimed.agent.is_over);
        claimed_agent_end(&claimed);
    }
}

static void wait_needs_the_lease(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state, TASK(""));
    run_expire_lease(&claimed.agent.lease.conversation_id);
    /* It is still ours: the step is decided again. */
    assert_int_equal(try_call(&claimed, last_call(&claimed.agent), &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_step_row(&claimed, "running/wanted/leased");
    run_call(&claimed, last_call(&claimed.agent));
    assert_true(claimed.agent.is_over);
    claimed_agent_end(&claimed);
}

static void assert_refused(void **state, const char *call, const char *text, const char *task_id,
                           const char *subagent)
{
    struct claimed_agent claimed;
    size_t action = 0;

    begin(&claimed, state, call);
    action = last_call(&claimed.agent);
    run_call(&claimed, action);
    assert_false(claimed.agent.is_over);
    assert_non_null(history_find_result(&claimed.agent.history, action));
    if (text != NULL)
        assert_seen(&claimed, "content[0].text", text);
    assert_seen(&claimed, "task_id", task_id);
    assert_seen(&claimed, "subagent", subagent);
    assert_seen(&claimed, "status", "\"error\"");
    assert_seen(&claimed, "is_error", "true");
    claimed_agent_end(&claimed);
}

static void calls_that_start_nothing_are_refused(void **state)
{
    assert_refused(state, CALL("task", "{\"prompt\": \" \"}"), "\"The prompt is empty.\"",
                   "\"unknown\"", "\"general-purpose\"");
    assert_refused(state, TASK(", \"resume\": \"task_00000007\""),
                   "\"There is no task with that id to resume.\"", "\"task_00000007\"",
                   "\"general-purpose\"");
    assert_refused(state, TASK(", \"subagent_type\": \"wizard\""), NULL, "\"unknown\"",
                   "\"wizard\"");
}

/* Two calls of one answer: the first task's sub-agent ends so, and the second resumes it. */
static void begin_resume(struct claimed_agent *claimed, void **state, const char *status)
{
    struct uuid child = UUID_INIT;
    size_t last = 0;

    begin(claimed, state, TASK("") ", " TASK(", \"resume\": \"task_00000001\""));
    last = last_call(&claimed->agent);
    run_call(claimed, last - 1);
    child = child_of(claimed);
    set_status(&child, status);
    claim_again(claimed);
}

static void task_is_resumed_by_another_call(void **state)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf tasks = STRBUF_INIT;
    struct claimed_agent claimed;
    struct uuid child = UUID_INIT;

    begin_resume(&claimed, state, "finished");
    child = child_of(&claimed);
    run_call(&claimed, last_call(&claimed.agent));
    assert_true(claimed.agent.is_over);
    assert_log(*state, &child,
               BEGINNING " S(idle) Message(user) S(last_user_message_id) S(running)");
    load(*state, &child, &row);
    assert_true(row.is_wanted);
    load(*state, &claimed.agent.lease.conversation_id, &parent);
    json_append_text(&tasks, json_object_get(parent.agent_state, AGENT_STATE_TASKS));
    assert_json_at(tasks.text, "[1]", NULL);
    claimed_agent_end(&claimed);
}

static void task_that_cannot_go_on_is_refused(void **state)
{
    struct claimed_agent claimed;
    struct uuid child = UUID_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    begin_resume(&claimed, state, "running");
    child = child_of(&claimed);
    strbuf_appendf(&sql, "UPDATE conversations SET wanted_at = now() WHERE id = '%s'", child.text);
    test_sql(sql.text);
    run_call(&claimed, last_call(&claimed.agent));
    assert_seen(&claimed, "content[0].text", "\"The sub-agent of that task is still running.\"");
    assert_seen(&claimed, "task_id", "\"task_00000001\"");
    claimed_agent_end(&claimed);
}

static void task_of_another_conversation_is_not_resumed(void **state)
{
    struct claimed_agent claimed;
    struct uuid child = UUID_INIT;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    begin_resume(&claimed, state, "finished");
    child = child_of(&claimed);
    strbuf_appendf(&sql, "UPDATE conversations SET parent_id = NULL WHERE id = '%s'", child.text);
    test_sql(sql.text);
    run_call(&claimed, last_call(&claimed.agent));
    assert_seen(&claimed, "content[0].text", "\"That task belongs to another conversation.\"");
    claimed_agent_end(&claimed);
}

static void task_whose_conversation_was_deleted_is_not_resumed(void **state)
{
    struct claimed_agent claimed;
    const struct conversation_scope scope = {.user_id = ((struct run_fixture *)*state)->user_id};
    struct uuid child = UUID_INIT;
    struct error err = ERROR_INIT;

    begin_resume(&claimed, state, "finished");
    child = child_of(&claimed);
    step_check(conversation_store_delete(claimed.fixture->context.db, &scope, &child, &err), &err);
    run_call(&claimed, last_call(&claimed.agent));
    assert_seen(&claimed, "content[0].text", "\"The conversation of that task was deleted.\"");
    claimed_agent_end(&claimed);
}

/* --- several at once --- */

/* The children of the run, in the order in which they were started. */
static void children_of(struct claimed_agent *claimed, struct uuid ids[2])
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;

    load(claimed->fixture, &claimed->agent.lease.conversation_id, &row);
    assert_non_null(row.children);
    assert_int_equal(strlen(row.children), 2 * 36 + 1);
    row.children[36] = '\0';
    assert_true(uuid_parse(row.children, &ids[0]));
    assert_true(uuid_parse(&row.children[37], &ids[1]));
}

/* Two calls whose sub-agents run, and the run waits for both. */
static void begin_two(struct claimed_agent *claimed, void **state, const char *overrides)
{
    struct sub_agent_waits waits = {.n = 0};
    struct error err = ERROR_INIT;

    begin_in(claimed, state, TASK("") ", " TASK(""), overrides);
    for (size_t i = 1; i <= 2; i++) {
        size_t action = last_call(&claimed->agent) - 2 + i;

        step_check(task_call_run(&claimed->agent, action, &waits, &err), &err);
        assert_int_equal(waits.n, i);
        assert_step_row(claimed, "running/wanted/leased");
    }
    step_check(sub_agent_work_wait(&claimed->agent, &waits, &err), &err);
}

static void run_waits_for_two_and_stores_each_result_once(void **state)
{
    struct claimed_agent claimed;
    struct uuid ids[2];

    begin_two(&claimed, state, "{}");
    assert_true(claimed.agent.is_over);
    assert_int_equal(count_waits(&claimed), 2);
    children_of(&claimed, ids);
    set_status(&ids[1], "finished");
    claim_again(&claimed);
    run_call(&claimed, last_call(&claimed.agent));
    assert_false(claimed.agent.is_over);
    assert_seen(&claimed, "task_id", "\"task_00000002\"");
    assert_int_equal(count_waits(&claimed), 1);
    run_call(&claimed, last_call(&claimed.agent));
    assert_true(claimed.agent.is_over);
    assert_int_equal(count_waits(&claimed), 1);
    set_status(&ids[0], "finished");
    claim_again(&claimed);
    run_call(&claimed, last_call(&claimed.agent));
    assert_seen(&claimed, "task_id", "\"task_00000001\"");
    assert_int_equal(count_waits(&claimed), 0);
    claimed_agent_end(&claimed);
}

#define BUDGET(more)                                                                               \
    "{\"agent\": {" more "\"llm\": {\"input_cost_per_token\": 0, \"output_cost_per_token\": 0}},"  \
    " \"max_budget_per_run\": 6.0}"

/* What is left is shared by those that run at once. */
static void sub_agents_at_once_share_the_budget(void **state)
{
    static const struct {
        const char *overrides;
        const char *budgets[2];
    } cases[] = {
        {BUDGET("\"tool_concurrency_limit\": 2, "), {"3.0", "3.0"}},
        {BUDGET("\"tool_concurrency_limit\": 5, "), {"3.0", "3.0"}},
        {BUDGET(""), {"6.0", "0.0"}},
        {"{}", {"null", "null"}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct claimed_agent claimed;
        struct uuid ids[2];

        begin_two(&claimed, state, cases[i].overrides);
        children_of(&claimed, ids);
        for (size_t k = 0; k < 2; k++) {
            CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
            CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;

            load(*state, &ids[k], &child);
            json_append_text(&spec, child.spec);
            assert_json_at(spec.text, "max_budget_per_run", cases[i].budgets[k]);
        }
        claimed_agent_end(&claimed);
    }
}

/* One is paused, the other is still in its step: the run waits for that one. */
static void pause_waits_for_the_sub_agent_that_still_runs(void **state)
{
    struct claimed_agent claimed;
    struct sub_agent_waits waits = {.n = 0};
    struct uuid ids[2];
    struct error err = ERROR_INIT;

    begin_two(&claimed, state, "{}");
    children_of(&claimed, ids);
    set_status(&ids[0], "paused");
    claim_again(&claimed);
    run_control_request(&claimed.control, STOP_PAUSE);
    for (size_t i = 0; i < 2; i++)
        step_check(task_call_run(&claimed.agent, last_call(&claimed.agent) - i, &waits, &err),
                   &err);
    assert_int_equal(waits.n, 1);
    assert_string_equal(waits.ids[0].text, ids[1].text);
    assert_true(waits.is_paused);
    claimed_agent_end(&claimed);
}

/* The run that is to stop at once ends its calls itself. */
static void interrupted_run_does_not_wait(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(index_list_done) struct index_list tasks = INDEX_LIST_INIT;
    struct error err = ERROR_INIT;

    begin_in(&claimed, state, TASK("") ", " TASK(""),
             "{\"agent\": {\"tool_concurrency_limit\": 2}}");
    index_list_add(&tasks, last_call(&claimed.agent) - 1);
    index_list_add(&tasks, last_call(&claimed.agent));
    /* The turn has its checkpoint, which the request would stop. */
    claimed.agent.knows_checkpoint = true;
    claimed.agent.checkpoint_seq = claimed.agent.history.last_seq;
    run_control_request(&claimed.control, STOP_INTERRUPT);
    step_check(call_batch_run(&claimed.agent, &tasks, &err), &err);
    assert_false(claimed.agent.is_over);
    assert_step_row(&claimed, "running/wanted/leased");
    assert_int_equal(count_waits(&claimed), 1);
    claimed_agent_end(&claimed);
}

/* A call that has no sub-agent yet gets none while the run is to pause. */
static void pause_begins_no_sub_agent(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state, TASK(""));
    run_control_request(&claimed.control, STOP_PAUSE);
    assert_int_equal(try_call(&claimed, last_call(&claimed.agent), &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(step_number(&claimed, "(SELECT count(*) FROM conversations k WHERE"
                                           " k.parent_id = conversations.id)"),
                     0);
    claimed_agent_end(&claimed);
}

int task_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sub_agent_is_stored_and_waited_for),
        cmocka_unit_test(title_of_a_sub_agent_is_its_description_or_prompt),
        cmocka_unit_test(each_end_of_a_sub_agent_has_its_words),
        cmocka_unit_test(cost_of_a_sub_agent_is_shown_with_its_result),
        cmocka_unit_test(sub_agent_that_was_stopped_with_its_caller_runs_again),
        cmocka_unit_test(pause_of_both_stores_no_result),
        cmocka_unit_test(sub_agent_under_way_is_waited_for_again),
        cmocka_unit_test(stop_requested_in_the_meantime_is_taken_up),
        cmocka_unit_test(wait_needs_the_lease),
        cmocka_unit_test(calls_that_start_nothing_are_refused),
        cmocka_unit_test(task_is_resumed_by_another_call),
        cmocka_unit_test(task_that_cannot_go_on_is_refused),
        cmocka_unit_test(task_of_another_conversation_is_not_resumed),
        cmocka_unit_test(task_whose_conversation_was_deleted_is_not_resumed),
        cmocka_unit_test(run_waits_for_two_and_stores_each_result_once),
        cmocka_unit_test(sub_agents_at_once_share_the_budget),
        cmocka_unit_test(pause_waits_for_the_sub_agent_that_still_runs),
        cmocka_unit_test(interrupted_run_does_not_wait),
        cmocka_unit_test(pause_begins_no_sub_agent),
    };

    return cmocka_run_group_tests_name("worker/task_call", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

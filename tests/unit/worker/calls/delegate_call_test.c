/*
 * The tool delegate: each step of the caller's run by itself.
 */
#include "worker/agent/calls/delegate_call.h"

#include "base/json.h"
#include "model/conversation/conversation.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/calls/sub_agent_work.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/step_test.h"

#define DELEGATE(arguments) CALL("delegate", "{" arguments "}")
#define SPAWN(more) DELEGATE("\"command\": \"spawn\", " more)
#define GIVE(tasks) DELEGATE("\"command\": \"delegate\", \"tasks\": {" tasks "}")
#define TWO SPAWN("\"ids\": [\"docs\", \"tests\"], \"agent_types\": [\"bash-runner\"]")
#define WORK GIVE("\"tests\": \"the part\", \"docs\": \"the part\"")
#define LONGEST_NAME "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BUDGET                                                                                     \
    "{\"agent\": {\"llm\": {\"input_cost_per_token\": 0, \"output_cost_per_token\": 0}},"          \
    " \"max_budget_per_run\": 6.0}"
#define TWO_CALLS TWO ", " WORK

/* An agent whose last calls are those; an earlier one waits for a sandbox. */
static void begin(struct claimed_agent *claimed, void **state, const char *calls, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;

    strbuf_appendf(&script, CALLS(COMMAND("x") ", %s"), calls);
    claimed_agent_begin_pending_in(claimed, *state, script.text, more);
}

static void claim_again(struct claimed_agent *claimed)
{
    struct run_fixture *fixture = claimed->fixture;
    struct uuid id = claimed->agent.lease.conversation_id;

    agent_done(&claimed->agent);
    run_control_done(&claimed->control);
    run_put_first(&id);
    claimed_agent_begin(claimed, fixture, &id);
}

/* Runs the next call but the first, which needs a sandbox; *waits_out: what it waits for. */
static int try_next(struct claimed_agent *claimed, struct sub_agent_waits *waits_out,
                    struct error *err)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;

    *waits_out = (struct sub_agent_waits){.n = 0};
    history_find_pending(&claimed->agent.history, &pending);
    assert_true(pending.n > 1);
    return delegate_call_run(&claimed->agent, pending.items[1], waits_out, err);
}

static struct sub_agent_waits run_next(struct claimed_agent *claimed)
{
    struct sub_agent_waits waits = {.n = 0};
    struct error err = ERROR_INIT;

    step_check(try_next(claimed, &waits, &err), &err);
    return waits;
}

static void suspend(struct claimed_agent *claimed, struct sub_agent_waits *waits)
{
    struct error err = ERROR_INIT;

    step_check(sub_agent_work_wait(&claimed->agent, waits, &err), &err);
}

static void assert_seen(struct claimed_agent *claimed, const char *path, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;

    strbuf_appendf(&whole, "observation.%s", path);
    assert_step_event(claimed, "ObservationEvent", whole.text, expected);
}

static void assert_result(struct claimed_agent *claimed, const char *text, const char *is_error)
{
    assert_seen(claimed, "kind", "\"DelegateObservation\"");
    assert_seen(claimed, "content[0].text", text);
    assert_seen(claimed, "is_error", is_error);
}

static void set_end(const struct uuid *id, const char *status)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET execution_status = '%s', wanted_at = NULL, stats ="
                   " '{\"usage_to_metrics\":{\"agent\":{\"accumulated_cost\":0.5}}}'"
                   " WHERE id = '%s'",
                   status, id->text);
    test_sql(sql.text);
}

static int64_t count_children(struct claimed_agent *claimed)
{
    return step_number(claimed, "(SELECT count(*) FROM conversations k WHERE k.parent_id ="
                                " conversations.id)");
}

static void load(struct claimed_agent *claimed, const struct uuid *id, struct conversation *out)
{
    struct error err = ERROR_INIT;

    step_check(conversation_store_load_any(claimed->fixture->context.db, id, out, &err), &err);
}

static void sub_agents_are_named_and_start_with_their_work(void **state)
{
    CLEANUP(conversation_done) struct conversation first = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation second = CONVERSATION_INIT;
    struct claimed_agent claimed;
    struct sub_agent_waits waits;

    begin(&claimed, state, TWO_CALLS, "{}");
    assert_int_equal(run_next(&claimed).n, 0);
    assert_result(&claimed,
                  "\"These sub-agents are ready for work:\\n- docs (bash-runner)\\n- tests"
                  " (general-purpose)\"",
                  "false");
    assert_seen(&claimed, "command", "\"spawn\"");
    assert_int_equal(step_number(&claimed, "(agent_state::jsonb #>> '{delegates,1,subagent}' ="
                                           " 'general-purpose')::int"),
                     1);
    assert_int_equal(count_children(&claimed), 0);
    waits = run_next(&claimed);
    assert_int_equal(waits.n, 2);
    assert_int_equal(count_children(&claimed), 2);
    load(&claimed, &waits.ids[0], &first);
    load(&claimed, &waits.ids[1], &second);
    assert_string_equal(first.title, "tests");
    assert_string_equal(second.title, "docs");
    assert_true(first.is_wanted && second.is_wanted && first.is_sub_agent);
    claimed_agent_end(&claimed);
}

/* In the order of the tasks, each with its cost; the first end does not yet give a result. */
static void answers_of_all_are_one_result(void **state)
{
    struct claimed_agent claimed;
    struct sub_agent_waits waits;
    struct sub_agent_waits left;

    begin(&claimed, state, TWO_CALLS, "{}");
    (void)run_next(&claimed);
    waits = run_next(&claimed);
    suspend(&claimed, &waits);
    set_end(&waits.ids[1], "finished");
    claim_again(&claimed);
    left = run_next(&claimed);
    assert_int_equal(left.n, 1);
    assert_string_equal(left.ids[0].text, waits.ids[0].text);
    assert_seen(&claimed, "command", "\"spawn\"");
    suspend(&claimed, &left);
    set_end(&waits.ids[0], "stuck");
    claim_again(&claimed);
    assert_int_equal(run_next(&claimed).n, 0);
    assert_result(&claimed,
                  "\"[Sub-agent: tests, status: error]\\nThe sub-agent repeated itself and was"
                  " stopped.\\n\\n[Sub-agent: docs, status: completed]\\nThe sub-agent finished"
                  " without a message.\"",
                  "true");
    assert_seen(&claimed, "command", "\"delegate\"");
    for (size_t i = 0; i < 2; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_appendf(&path, "value.usage_to_metrics.delegate:%s.accumulated_cost",
                       i == 0 ? "docs" : "tests");
        assert_step_event(&claimed, "ConversationStateUpdateEvent", path.text, "0.5");
    }
    assert_int_equal(
        step_number(&claimed, "(SELECT count(*) FROM task_waits t WHERE t.conversation_id = id)"),
        0);
    claimed_agent_end(&claimed);
}

/* Its user stopped it; the call has no result until the other one has ended. */
static void stopped_sub_agent_is_not_run_again(void **state)
{
    struct claimed_agent claimed;
    struct sub_agent_waits waits;
    struct sub_agent_waits left;

    begin(&claimed, state, TWO_CALLS, "{}");
    (void)run_next(&claimed);
    waits = run_next(&claimed);
    suspend(&claimed, &waits);
    set_end(&waits.ids[0], "paused");
    claim_again(&claimed);
    left = run_next(&claimed);
    assert_int_equal(left.n, 1);
    assert_string_equal(left.ids[0].text, waits.ids[1].text);
    suspend(&claimed, &left);
    set_end(&waits.ids[1], "finished");
    claim_again(&claimed);
    assert_int_equal(run_next(&claimed).n, 0);
    assert_result(&claimed,
                  "\"[Sub-agent: tests, status: error]\\nThe sub-agent was stopped before it"
                  " finished.\\n\\n[Sub-agent: docs, status: completed]\\nThe sub-agent finished"
                  " without a message.\"",
                  "true");
    assert_int_equal(
        step_number(&claimed, "(SELECT count(*) FROM task_waits t WHERE t.conversation_id = id)"),
        0);
    claimed_agent_end(&claimed);
}

static void later_call_gives_the_same_sub_agent_more(void **state)
{
    struct claimed_agent claimed;
    struct sub_agent_waits first;
    struct sub_agent_waits second;

    begin(&claimed, state,
          TWO ", " GIVE("\"docs\": \"the part\"") ", " GIVE("\"docs\": \"the rest\""), "{}");
    (void)run_next(&claimed);
    first = run_next(&claimed);
    set_end(&first.ids[0], "finished");
    assert_int_equal(run_next(&claimed).n, 0);
    second = run_next(&claimed);
    assert_int_equal(second.n, 1);
    assert_string_equal(second.ids[0].text, first.ids[0].text);
    assert_int_equal(count_children(&claimed), 1);
    claimed_agent_end(&claimed);
}

static void budget_is_shared_by_the_calls_sub_agents(void **state)
{
    struct claimed_agent claimed;
    struct sub_agent_waits waits;

    begin(&claimed, state, TWO_CALLS, BUDGET);
    (void)run_next(&claimed);
    waits = run_next(&claimed);
    for (size_t i = 0; i < 2; i++) {
        CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
        CLEANUP(strbuf_done) struct strbuf spec = STRBUF_INIT;

        load(&claimed, &waits.ids[i], &child);
        json_append_text(&spec, child.spec);
        assert_json_at(spec.text, "max_budget_per_run", "3.0");
    }
    claimed_agent_end(&claimed);
}

/* One that was deleted, and one that cannot go on, do not keep the others from answering. */
static void sub_agent_that_is_gone_is_told_with_the_others(void **state)
{
    const struct run_fixture *fixture = *state;
    const struct conversation_scope scope = {.user_id = fixture->user_id};
    struct claimed_agent claimed;
    struct sub_agent_waits waits;
    struct error err = ERROR_INIT;

    begin(&claimed, state, TWO_CALLS ", " WORK, "{}");
    (void)run_next(&claimed);
    waits = run_next(&claimed);
    step_check(conversation_store_delete(claimed.fixture->context.db, &scope, &waits.ids[0], &err),
               &err);
    set_end(&waits.ids[1], "finished");
    assert_int_equal(run_next(&claimed).n, 0);
    assert_result(
        &claimed,
        "\"[Sub-agent: tests, status: error]\\nThe sub-agent's conversation was deleted"
        " before it had a result.\\n\\n[Sub-agent: docs, status: completed]\\nThe sub-agent"
        " finished without a message.\"",
        "true");
    waits = run_next(&claimed);
    assert_int_equal(waits.n, 1);
    set_end(&waits.ids[0], "finished");
    assert_int_equal(run_next(&claimed).n, 0);
    assert_result(&claimed,
                  "\"[Sub-agent: tests, status: error]\\nThe conversation of that task was"
                  " deleted.\\n\\n[Sub-agent: docs, status: completed]\\nThe sub-agent finished"
                  " without a message.\"",
                  "true");
    claimed_agent_end(&claimed);
}

static void pause_begins_no_sub_agent(void **state)
{
    struct claimed_agent claimed;
    struct sub_agent_waits waits;

    begin(&claimed, state, TWO_CALLS, "{}");
    (void)run_next(&claimed);
    run_control_request(&claimed.control, STOP_PAUSE);
    waits = run_next(&claimed);
    assert_int_equal(waits.n, 0);
    assert_true(waits.is_paused);
    assert_int_equal(count_children(&claimed), 0);
    claimed_agent_end(&claimed);
}

static void calls_that_cannot_be_done_are_refused(void **state)
{
    static const struct {
        const char *calls;
        const char *text;
    } cases[] = {
        {SPAWN("\"ids\": []"), "\"spawn needs ids: the names of the new sub-agents.\""},
        {SPAWN("\"ids\": [\" \"]"), "\"Each id must have 1 to 64 characters.\""},
        {SPAWN("\"ids\": [\"" LONGEST_NAME "x\"]"), "\"Each id must have 1 to 64 characters.\""},
        {SPAWN("\"ids\": [\"a\", \"a\"]"),
         "\"There is a sub-agent with the id \\\"a\\\" already.\""},
        {SPAWN("\"ids\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]"),
         "\"A conversation has at most 5 of these sub-agents.\""},
        {GIVE(""), "\"delegate needs tasks: an object of tasks by the sub-agents' ids.\""},
        {GIVE("\"a\": \"b\""), "\"There is no sub-agent with the id \\\"a\\\": spawn it first.\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct claimed_agent claimed;

        begin(&claimed, state, cases[i].calls, "{}");
        assert_int_equal(run_next(&claimed).n, 0);
        assert_result(&claimed, cases[i].text, "true");
        /* Nothing of a refused call is kept. */
        assert_int_equal(
            step_number(&claimed, "(agent_state::jsonb -> 'delegates' IS NOT NULL)::int"), 0);
        claimed_agent_end(&claimed);
    }
}

static void name_may_have_64_characters(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, SPAWN("\"ids\": [\"" LONGEST_NAME "\"]"), "{}");
    assert_int_equal(run_next(&claimed).n, 0);
    assert_seen(&claimed, "is_error", "false");
    claimed_agent_end(&claimed);
}

static void empty_task_and_unknown_kind_are_refused(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state,
          TWO ", " GIVE("\"docs\": \" \"") ", " SPAWN(
              "\"ids\": [\"y\", \"z\"], \"agent_types\": [\"bash-runner\", \"wizard\"]"),
          "{}");
    (void)run_next(&claimed);
    assert_int_equal(run_next(&claimed).n, 0);
    assert_result(&claimed, "\"The task for \\\"docs\\\" is empty.\"", "true");
    assert_int_equal(run_next(&claimed).n, 0);
    assert_seen(&claimed, "is_error", "true");
    assert_int_equal(count_children(&claimed), 0);
    claimed_agent_end(&claimed);
}

int delegate_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sub_agents_are_named_and_start_with_their_work),
        cmocka_unit_test(answers_of_all_are_one_result),
        cmocka_unit_test(stopped_sub_agent_is_not_run_again),
        cmocka_unit_test(later_call_gives_the_same_sub_agent_more),
        cmocka_unit_test(budget_is_shared_by_the_calls_sub_agents),
        cmocka_unit_test(sub_agent_that_is_gone_is_told_with_the_others),
        cmocka_unit_test(pause_begins_no_sub_agent),
        cmocka_unit_test(calls_that_cannot_be_done_are_refused),
        cmocka_unit_test(name_may_have_64_characters),
        cmocka_unit_test(empty_task_and_unknown_kind_are_refused),
    };

    return cmocka_run_group_tests_name("worker/delegate_call", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

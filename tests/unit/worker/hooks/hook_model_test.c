/*
 * Hooks that ask a model, in whole runs.
 */
#include "worker/agent/hooks/hook_model.h"

#include <string.h>

#include "support/sql.h"
#include "worker/hooks/hooks_test.h"

/* The hook's model plays the first steps, the agent's the second. */
#define SCRIPT(hook_steps, steps)                                                                  \
    "{\"turns\": [], \"later\": [{\"match\": [\"RULE\"], \"steps\": [" hook_steps "]},"            \
    " {\"steps\": [" steps "]}]}"
#define ANSWERS(json) "{\"text\": \"" json "\"}"
#define ALLOWS ANSWERS("{\\\"decision\\\": \\\"allow\\\"}")
#define DENIES ANSWERS("{\\\"decision\\\": \\\"deny\\\", \\\"reason\\\": \\\"no rm\\\"}")
#define ASKS(more) "{\"name\": \"guard\", \"prompt\": \"RULE: no rm\", " more "}"
#define PROMPT ASKS("\"type\": \"prompt\"")
#define AGENT(more) ASKS("\"type\": \"agent\", " more)
#define BEFORE(hook) HOOKS(ON("pre_tool_use", hook))
#define GREP CALL("grep", "{\"pattern\": \"x\"}")
#define RUNS_ONCE CALLS(COMMAND("rm")) ", " SAYS
#define REJECTED "HookExecution(terminal) Action(terminal) UserRejectObservation(terminal) " SAID
#define PASSED "HookExecution(terminal) Action(terminal) Observation(terminal) " SAID

static struct uuid run(struct run_fixture *fixture, const char *script, const char *more)
{
    struct uuid id = run_new_conversation(fixture, script, more);

    run_to_end(fixture, &id);
    assert_row(fixture, &id, "finished/-/-");
    return id;
}

static void assert_hook(void **state, const struct uuid *id, const char *path, const char *expected)
{
    assert_event_at(*state, id, "HookExecutionEvent", 0, path, expected);
}

/* Answers that are counted under a usage id. */
static void assert_asked(const struct uuid *id, const char *usage_id, int n)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "SELECT count(*) FROM conversations c, json_array_elements(c.stats::json #>"
                   " '{usage_to_metrics,%s,token_usages}') WHERE c.id = '%s'",
                   usage_id, id->text);
    assert_int_equal(test_sql_count(sql.text), n);
}

static void model_rejects_a_call(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id = run(fixture, SCRIPT(DENIES, RUNS_ONCE), BEFORE(PROMPT));

    /* What the hook's model cost is stored first. */
    assert_log(fixture, &id, BEGINNING "S(stats) S(stats) " REJECTED);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_hook(state, &id, "hook_command", "\"guard\"");
    assert_hook(state, &id, "blocked", "true");
    assert_hook(state, &id, "success", "true");
    assert_hook(state, &id, "exit_code", "0");
    assert_hook(state, &id, "reason", "\"no rm\"");
    assert_hook(state, &id, "stdout",
                "\"{\\\"decision\\\": \\\"deny\\\", \\\"reason\\\": \\\"no rm\\\"}\"");
    assert_asked(&id, "prompt-hook:guard", 1);
    assert_asked(&id, "agent", 2);
}

static void model_that_allows_lets_the_call_run(void **state)
{
    struct uuid id = run(*state, SCRIPT(ALLOWS, RUNS_ONCE), BEFORE(PROMPT));

    assert_log(*state, &id, BEGINNING "S(stats) S(stats) " PASSED);
    assert_hook(state, &id, "blocked", "false");
    assert_hook(state, &id, "success", "true");
}

/* What is no verdict blocks nothing, and the event says why. */
static void hook_without_a_verdict_fails_open(void **state)
{
    static const struct {
        const char *script;
        const char *hook;
        const char *error;
        const char *costs;
    } cases[] = {
        {SCRIPT(ANSWERS("never"), RUNS_ONCE), PROMPT, "\"The model's answer is no verdict.\"",
         "S(stats) "},
        {SCRIPT("{\"status\": 401, \"error\": \"no key\"}", RUNS_ONCE), PROMPT, NULL, ""},
        {SCRIPT(DENIES, RUNS_ONCE), "{\"type\": \"prompt\", \"name\": \"guard\"}",
         "\"The hook has no prompt.\"", ""},
        {SCRIPT(CALLS(GREP) ", " CALLS(GREP) ", " CALLS(GREP) ", " DENIES, RUNS_ONCE),
         AGENT("\"tools\": [\"grep\"]"), "\"The hook's agent gave no verdict in 3 iterations.\"",
         "S(stats) S(stats) S(stats) "},
        {SCRIPT(CALLS(GREP) ", " DENIES, RUNS_ONCE), AGENT("\"tools\": [\"terminal\"]"),
         "\"The model's answer is no verdict.\"", "S(stats) "},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf log = STRBUF_INIT;
        struct uuid id = UUID_INIT;

        strbuf_appendf(&config, BEFORE("%s"), cases[i].hook);
        strbuf_appendf(&log, BEGINNING "%sS(stats) " PASSED, cases[i].costs);
        id = run(*state, cases[i].script, config.text);
        assert_log(*state, &id, log.text);
        assert_hook(state, &id, "blocked", "false");
        assert_hook(state, &id, "success", "false");
        assert_hook(state, &id, "exit_code", "-1");
        if (cases[i].error != NULL)
            assert_hook(state, &id, "error", cases[i].error);
    }
}

/* The hook's model is shown the event, with secrets masked, as it would be stored. */
static void model_reads_the_rule_and_the_masked_event(void **state)
{
    static const char script[] =
        "{\"turns\": [], \"later\": [{\"match\": [\"opensesame\"], \"steps\": [" DENIES "]},"
        " {\"match\": [\"RULE: no rm\\n\"], \"steps\": [" ANSWERS(
            "{{message}}") "]},"
                           " {\"steps\": [" RUNS_ONCE "]}]}";
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id = run(*state, script, BEFORE(PROMPT));

    hooks_event(*state, &id, "HookExecutionEvent", 0, &event);
    assert_non_null(strstr(event.text, "PreToolUse"));
    assert_non_null(strstr(event.text, "\\\"tool_name\\\":\\\"terminal\\\""));
    id = run(*state,
             "{\"turns\": [], \"later\": [{\"match\": [\"opensesame\"], \"steps\": [" DENIES
             "]}, {\"match\": [\"RULE\"], \"steps\": [" ALLOWS
             "]}, {\"steps\": [" CALLS(COMMAND("echo $TOKEN")) ", " SAYS "]}]}",
             "{\"secrets\": {\"TOKEN\": \"opensesame\"}, \"hook_config\": {" ON("post_tool_use",
                                                                                PROMPT) "}}");
    assert_hook(state, &id, "stdout", "\"{\\\"decision\\\": \\\"allow\\\"}\"");
}

static void agent_reads_files_before_its_verdict(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id = run(fixture, SCRIPT(CALLS(GREP) ", " DENIES, RUNS_ONCE),
                         BEFORE(AGENT("\"tools\": [\"grep\", \"terminal\"]")));

    assert_log(fixture, &id, BEGINNING "S(stats) S(stats) S(stats) " REJECTED);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs + 1);
    assert_asked(&id, "agent-hook:guard", 2);
}

/* A tool that changes something is not run, though the hook names it. */
static void agent_runs_no_other_tools(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct uuid id = run(fixture, SCRIPT(CALLS(COMMAND("x")) ", " DENIES, RUNS_ONCE),
                         BEFORE(AGENT("\"tools\": [\"grep\", \"terminal\"]")));

    assert_log(fixture, &id, BEGINNING "S(stats) S(stats) S(stats) " REJECTED);
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
}

static void agent_has_the_iterations_of_its_hook(void **state)
{
    struct uuid id = run(*state, SCRIPT(CALLS(GREP) ", " DENIES, RUNS_ONCE),
                         BEFORE(AGENT("\"tools\": [\"grep\"], \"max_iterations\": 1")));

    assert_hook(state, &id, "error", "\"The hook's agent gave no verdict in 1 iterations.\"");
    assert_asked(&id, "agent-hook:guard", 1);
}

/* However many it wants. */
static void agent_has_ten_iterations_at_most(void **state)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    struct uuid id = UUID_INIT;

    strbuf_append(&script, "{\"turns\": [], \"later\": [{\"match\": [\"RULE\"], \"steps\": [");
    for (int i = 0; i < 11; i++)
        strbuf_append(&script, CALLS(GREP) ", ");
    strbuf_append(&script, DENIES "]}, {\"steps\": [" RUNS_ONCE "]}]}");
    id = run(*state, script.text, BEFORE(AGENT("\"tools\": [\"grep\"], \"max_iterations\": 50")));
    assert_hook(state, &id, "error", "\"The hook's agent gave no verdict in 10 iterations.\"");
    assert_asked(&id, "agent-hook:guard", 10);
}

/* A hook's model is not asked beyond the budget, which the agent's answer has spent. */
static void spent_budget_asks_no_model(void **state)
{
    struct uuid id = run_new_conversation(
        *state, SCRIPT(DENIES, RUNS_ONCE),
        "{\"max_budget_per_run\": 0.000001, \"agent\": {\"llm\": {\"input_cost_per_token\": 0,"
        " \"output_cost_per_token\": 0}}, \"hook_config\": {" ON("user_prompt_submit",
                                                                 PROMPT) "}}");
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "UPDATE conversations SET stats = '{\"usage_to_metrics\":{\"agent\":"
                   "{\"accumulated_cost\":1.0}}}' WHERE id = '%s'",
                   id.text);
    test_sql(sql.text);
    run_to_end(*state, &id);
    assert_row(*state, &id, "error/-/-");
    assert_asked(&id, "prompt-hook:guard", 0);
}

int hook_model_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_rejects_a_call),
        cmocka_unit_test(model_that_allows_lets_the_call_run),
        cmocka_unit_test(hook_without_a_verdict_fails_open),
        cmocka_unit_test(model_reads_the_rule_and_the_masked_event),
        cmocka_unit_test(agent_reads_files_before_its_verdict),
        cmocka_unit_test(agent_runs_no_other_tools),
        cmocka_unit_test(agent_has_the_iterations_of_its_hook),
        cmocka_unit_test(agent_has_ten_iterations_at_most),
        cmocka_unit_test(spent_budget_asks_no_model),
    };

    return cmocka_run_group_tests_name("worker/hook_model", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

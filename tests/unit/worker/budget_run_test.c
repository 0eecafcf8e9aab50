/*
 * Runs of conversations that have a budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"
#include "worker/agent/query/budget.h"
#include "worker/run_fixture.h"

#define DOLLAR INT64_C(1000000000)
#define BEGINNING "SystemPrompt Message(user) S(last_user_message_id) S(running) "
#define CALL(name, arguments) "{\"name\": \"" name "\", \"arguments\": " arguments "}"
#define CALLS(calls) "{\"calls\": [" calls "]}"
#define FINISH CALL("finish", "{\"message\": \"done\"}")
#define SAYS(text) "{\"text\": \"" text "\"}"
#define TURN(steps) "{\"turns\": [{\"steps\": [" steps "]}]}"
/* The sub-agent's part is the first, its parent's the second. */
#define TASK                                                                                       \
    "{\"turns\": [], \"later\": [{\"match\": [\"the part\"], \"steps\": [" SAYS(                   \
        "found it") "]}, {\"steps\": [" CALLS(CALL("task",                                         \
                                                   "{\"prompt\": \"the part\"}")) ", " CALLS(FINISH) "]}]}"

static void model_without_a_price_is_not_called_with_a_budget(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id =
        run_new_conversation(*state, TURN(SAYS("hello")), "{\"max_budget_per_run\": 1}");

    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(error) ConversationError");
    run_last_event(*state, &id, "ConversationErrorEvent", &event);
    assert_json_at(event.text, "code", "\"MaxBudgetReached\"");
    assert_non_null(strstr(event.text, "is unknown, so the budget of $1.0000 cannot be kept"));
}

static void spent_budget_ends_the_run_before_its_call(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct uuid id =
        run_new_conversation(*state, TURN(SAYS("hello")), "{\"max_budget_per_run\": 0}");

    run_to_end(*state, &id);
    assert_log(*state, &id, BEGINNING "S(error) ConversationError");
    run_last_event(*state, &id, "ConversationErrorEvent", &event);
    assert_non_null(strstr(event.text, "the budget of $0.0000: the conversation has cost $0.0000"));
}

/* The only child of that conversation. */
static struct uuid child_of(const struct run_fixture *fixture, const struct uuid *id)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct uuid child = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(conversation_store_load_any(fixture->context.db, id, &conversation, &err), 0);
    assert_non_null(conversation.children);
    assert_true(uuid_parse(conversation.children, &child));
    return child;
}

/* The budget of the sub-agent that such a conversation calls; its model is free. */
static double budget_of_sub_agent(struct run_fixture *fixture, const char *more)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    struct uuid id = UUID_INIT;
    struct uuid child_id = UUID_INIT;
    struct error err = ERROR_INIT;

    fixture->context.settings.budget_unpriced = 1;
    id = run_new_conversation(fixture, TASK, more);
    run_to_end(fixture, &id);
    child_id = child_of(fixture, &id);
    assert_int_equal(conversation_store_load_any(fixture->context.db, &child_id, &child, &err), 0);
    run_to_end(fixture, &child_id);
    run_to_end(fixture, &id);
    fixture->context.settings.budget_unpriced = 0;
    return conversation_budget(&child);
}

static void sub_agent_gets_at_most_what_its_parent_has_left(void **state)
{
    assert_true(budget_of_sub_agent(*state, "{}") == -1);
    assert_true(budget_of_sub_agent(*state, "{\"max_budget_per_run\": 1.5}") == 1.5);
    assert_true(budget_of_sub_agent(*state, "{\"max_budget_per_run\": 1.5, \"agent_definitions\":"
                                            " [{\"name\": \"general-purpose\","
                                            "   \"max_budget_per_run\": 0.5}]}") == 0.5);
    assert_true(budget_of_sub_agent(*state, "{\"max_budget_per_run\": 1.5, \"agent_definitions\":"
                                            " [{\"name\": \"general-purpose\","
                                            "   \"max_budget_per_run\": 2}]}") == 1.5);
}

/* --- of users --- */

/* As if the user of that conversation had spent so much, on a day relative to today. */
static void spend(const struct uuid *id, int64_t nanos, int day)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql,
                   "INSERT INTO spending SELECT user_id, (now() AT TIME ZONE 'UTC')::date + %d,"
                   " gen_random_uuid(), %lld FROM conversations WHERE id = '%s'",
                   day, (long long)nanos, id->text);
    test_sql(sql.text);
}

static void set_budgets(struct run_fixture *fixture, int64_t per_user_cents, int64_t per_day_cents)
{
    test_sql("DELETE FROM spending; DELETE FROM budget_extensions;"
             " UPDATE users SET budget_cents = NULL, daily_budget_cents = NULL");
    fixture->context.settings.budget_unpriced = 1;
    fixture->context.settings.budget_per_user_cents = per_user_cents;
    fixture->context.settings.budget_per_day_cents = per_day_cents;
}

/* Runs a new conversation whose user has spent a dollar on that day; what it says at its end. */
static void run_after_a_dollar(struct run_fixture *fixture, int day, struct strbuf *event_out)
{
    struct uuid id = run_new_conversation(fixture, TURN(SAYS("hello")), "{}");

    spend(&id, DOLLAR, day);
    run_to_end(fixture, &id);
    run_last_event(fixture, &id, "ConversationErrorEvent", event_out);
}

static void assert_refused(struct run_fixture *fixture, int day, const char *words)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    run_after_a_dollar(fixture, day, &event);
    assert_json_at(event.text, "code", "\"MaxBudgetReached\"");
    assert_non_null(strstr(event.text, words));
}

static void budget_of_a_user_is_of_all_days(void **state)
{
    set_budgets(*state, 100, 0);
    assert_refused(*state, -30,
                   "the budget of $1.0000 per user: they cost $1.0000. Only the administrator");
    set_budgets(*state, 0, 0);
    test_sql("UPDATE users SET budget_cents = 50");
    assert_refused(*state, -30, "the budget of $0.5000 per user");
    set_budgets(*state, 0, 0);
}

static void budget_of_a_day_is_of_today(void **state)
{
    set_budgets(*state, 0, 100);
    assert_refused(*state, 0, "the budget of $1.0000 per day: they cost $1.0000. Raise it");
    set_budgets(*state, 0, 0);
}

static void assert_runs(struct run_fixture *fixture, int day)
{
    struct uuid id = run_new_conversation(fixture, TURN(SAYS("hello")), "{}");

    spend(&id, DOLLAR, day);
    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING "S(stats) Message(agent) S(finished)");
}

static void within_the_budgets_a_run_goes_on(void **state)
{
    set_budgets(*state, 101, 101);
    assert_runs(*state, 0);
    set_budgets(*state, 0, 100);
    assert_runs(*state, -1);
    set_budgets(*state, 0, 100);
    test_sql("INSERT INTO budget_extensions SELECT id, (now() AT TIME ZONE 'UTC')::date, 1"
             " FROM users");
    assert_runs(*state, 0);
    set_budgets(*state, 100, 100);
    test_sql("UPDATE users SET budget_cents = 0, daily_budget_cents = 0");
    assert_runs(*state, 0);
    test_sql("UPDATE users SET budget_cents = 9223372036854775807,"
             " daily_budget_cents = 9223372036854775807");
    assert_runs(*state, 0);
    set_budgets(*state, 0, 0);
}

static size_t words_of_a_check(struct agent *agent)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(budget_check_call(agent, &detail, &err), 0);
    return detail.len;
}

static void budget_of_a_user_who_had_none_is_seen_after_a_while(void **state)
{
    struct run_fixture *fixture = *state;
    struct claimed_agent claimed;
    struct agent *agent = &claimed.agent;
    struct uuid id = run_new_conversation(fixture, TURN(SAYS("hello")), "{}");
    int64_t begun_ms = clock_monotonic_ms();

    set_budgets(fixture, 0, 0);
    claimed_agent_begin(&claimed, fixture, &id);
    spend(&agent->conversation.id, DOLLAR, 0);
    assert_int_equal(words_of_a_check(agent), 0);
    assert_true(agent->unlimited_until_ms >= begun_ms + BUDGET_UNLIMITED_MS);
    assert_true(agent->unlimited_until_ms <= clock_monotonic_ms() + BUDGET_UNLIMITED_MS);
    test_sql("UPDATE users SET daily_budget_cents = 50");
    assert_int_equal(words_of_a_check(agent), 0);
    agent->unlimited_until_ms = begun_ms;
    assert_int_not_equal(words_of_a_check(agent), 0);
    assert_int_equal(agent->unlimited_until_ms, begun_ms);
    claimed_agent_end(&claimed);
    set_budgets(fixture, 0, 0);
}

static void model_without_a_price_keeps_no_budget_of_a_day(void **state)
{
    struct run_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    set_budgets(fixture, 0, 500);
    fixture->context.settings.budget_unpriced = 0;
    run_after_a_dollar(fixture, 0, &event);
    assert_non_null(strstr(event.text, "so the budget of $5.0000 per day cannot be kept"));
    set_budgets(fixture, 0, 0);
    fixture->context.settings.budget_unpriced = 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_without_a_price_is_not_called_with_a_budget),
        cmocka_unit_test(spent_budget_ends_the_run_before_its_call),
        cmocka_unit_test(sub_agent_gets_at_most_what_its_parent_has_left),
        cmocka_unit_test(budget_of_a_user_is_of_all_days),
        cmocka_unit_test(budget_of_a_day_is_of_today),
        cmocka_unit_test(within_the_budgets_a_run_goes_on),
        cmocka_unit_test(model_without_a_price_keeps_no_budget_of_a_day),
        cmocka_unit_test(budget_of_a_user_who_had_none_is_seen_after_a_while),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}

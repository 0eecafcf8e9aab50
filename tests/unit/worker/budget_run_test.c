/*
 * Runs of conversations that have a budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "worker/run_fixture.h"

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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_without_a_price_is_not_called_with_a_budget),
        cmocka_unit_test(spent_budget_ends_the_run_before_its_call),
        cmocka_unit_test(sub_agent_gets_at_most_what_its_parent_has_left),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}

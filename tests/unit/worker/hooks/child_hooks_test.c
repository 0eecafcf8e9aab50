/*
 * Hooks after calls that start other conversations.
 */
#include "base/error.h"
#include "base/uuid.h"
#include "store/conversation/conversation_store.h"
#include "worker/hooks/hooks_test.h"

/* The child's part is the first, the parent's the second. */
#define SCRIPT(steps)                                                                              \
    "{\"turns\": [], \"later\": [{\"match\": [\"the part\"], \"steps\": [" CALLS(                  \
        FINISH) "]},"                                                                              \
                " {\"steps\": [" steps "]}]}"
#define AFTER(tool) HOOKS(ON_TOOL("post_tool_use", tool, RUNS("add-child")))

static void add(struct run_fixture *fixture)
{
    stub_answer_hook_text(fixture->stub, "add-child", 0, "{\"additionalContext\": \"more\"}");
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

static void result_of_a_task_has_its_hook(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture, SCRIPT(CALLS(CALL("task", "{\"prompt\": \"the part\"}")) ", " SAYS),
        AFTER("task"));
    struct uuid child = UUID_INIT;

    add(fixture);
    run_to_end(fixture, &id);
    child = child_of(fixture, &id);
    run_to_end(fixture, &child);
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING
               "S(stats) Action(task) S(stats) HookExecution(task) Observation(task) " SAID);
    assert_event_at(fixture, &id, "ObservationEvent", 0, "extended_content[0].text", "\"more\"");
    assert_event_at(fixture, &id, "HookExecutionEvent", 0, "hook_input.tool_response.kind",
                    "\"TaskObservation\"");
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 1);
}

static void start_of_a_child_has_its_hook(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_acknowledged = stub_n_acknowledged(fixture->stub);
    struct uuid id = run_new_conversation(
        fixture,
        SCRIPT(CALLS(CALL("start_child_conversation",
                          "{\"task\": \"the part\", \"isolation\": \"shared\"}")) ", " SAYS),
        AFTER("start_child.*"));
    struct uuid child = UUID_INIT;

    add(fixture);
    run_to_end(fixture, &id);
    assert_log(fixture, &id,
               BEGINNING "S(stats) Action(start_child_conversation)"
                         " HookExecution(start_child_conversation)"
                         " Observation(start_child_conversation) " SAID);
    assert_event_at(fixture, &id, "ObservationEvent", 0, "extended_content[0].text", "\"more\"");
    assert_int_equal(stub_n_acknowledged(fixture->stub), n_acknowledged + 1);
    child = child_of(fixture, &id);
    run_to_end(fixture, &child);
}

static void result_without_a_hook_is_as_it_was(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(
        fixture, SCRIPT(CALLS(CALL("task", "{\"prompt\": \" \"}")) ", " SAYS), AFTER("terminal"));

    run_to_end(fixture, &id);
    assert_log(fixture, &id, BEGINNING "S(stats) Action(task) Observation(task) " SAID);
    assert_event_at(fixture, &id, "ObservationEvent", 0, "extended_content", NULL);
}

int child_hooks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_of_a_task_has_its_hook),
        cmocka_unit_test(start_of_a_child_has_its_hook),
        cmocka_unit_test(result_without_a_hook_is_as_it_was),
    };

    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}

#include "model/conversation/task.h"

#include "base/json.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "unit/model/model_test.h"

static struct uuid uuid_of(const char *text)
{
    struct uuid id = UUID_INIT;

    assert_true(uuid_parse(text, &id));
    return id;
}

#define CHILD_A "00000000-0000-4000-8000-00000000000a"
#define CHILD_B "00000000-0000-4000-8000-00000000000b"
#define CALL_A "00000000-0000-4000-8000-0000000000aa"
#define CALL_B "00000000-0000-4000-8000-0000000000bb"

static void tasks_are_numbered_and_keep_their_conversation(void **state)
{
    const struct uuid first = uuid_of(CHILD_A);
    const struct uuid second = uuid_of(CHILD_B);
    json_auto_t *agent_state = json_object();
    json_t *task = NULL;

    (void)state;
    task = task_add(agent_state, &first, "explorer");
    assert_json_is(task, "{'task_id': 'task_00000001', 'conversation_id': '" CHILD_A
                         "', 'subagent': 'explorer'}");
    assert_string_equal(task_id(task), "task_00000001");
    assert_string_equal(task_subagent(task), "explorer");
    assert_string_equal(task_conversation_id(task).text, CHILD_A);
    task = task_add(agent_state, &second, "");
    assert_string_equal(task_id(task), "task_00000002");
    assert_string_equal(task_conversation_id(task).text, CHILD_B);
    assert_int_equal(json_array_size(json_object_get(agent_state, AGENT_STATE_TASKS)), 2);
}

static void numbers_of_tasks_are_hexadecimal(void **state)
{
    const struct uuid id = uuid_of(CHILD_A);
    json_auto_t *agent_state = json_object();
    json_t *task = NULL;

    (void)state;
    for (int i = 0; i < 16; i++)
        task = task_add(agent_state, &id, "x");
    assert_string_equal(task_id(task), "task_00000010");
}

static void delegates_are_apart_from_tasks(void **state)
{
    const struct uuid first = uuid_of(CHILD_A);
    const struct uuid second = uuid_of(CHILD_B);
    const struct uuid call = uuid_of(CALL_A);
    json_auto_t *agent_state = json_object();
    json_t *delegate = NULL;

    (void)state;
    assert_int_equal(delegate_count(agent_state), 0);
    assert_null(delegate_find(agent_state, "docs"));
    delegate_add(agent_state, "docs", &first, "explorer");
    delegate_add(agent_state, "tests", &second, "tester");
    assert_int_equal(delegate_count(agent_state), 2);
    delegate = delegate_find(agent_state, "tests");
    assert_string_equal(task_id(delegate), "tests");
    assert_string_equal(task_subagent(delegate), "tester");
    assert_string_equal(task_conversation_id(delegate).text, CHILD_B);
    assert_string_equal(task_call(delegate), "");
    task_set_call(delegate, &call);
    assert_string_equal(task_call(delegate), CALL_A);
    assert_true(task_allowance(delegate) == 0);
    task_set_allowance(delegate, 1.5);
    assert_true(task_allowance(delegate) == 1.5);
    assert_null(task_find(agent_state, "tests"));
    assert_null(task_of_call(agent_state, &call));
}

static void tasks_are_found_by_name_and_by_their_last_call(void **state)
{
    const struct uuid first = uuid_of(CHILD_A);
    const struct uuid second = uuid_of(CHILD_B);
    const struct uuid call = uuid_of(CALL_A);
    const struct uuid later = uuid_of(CALL_B);
    json_auto_t *agent_state = json_object();
    json_t *task = NULL;

    (void)state;
    assert_null(task_find(agent_state, "task_00000001"));
    assert_null(task_of_call(agent_state, &call));
    task = task_add(agent_state, &first, "a");
    assert_non_null(task);
    task = task_add(agent_state, &second, "b");
    task_set_call(task, &call);
    assert_ptr_equal(task_find(agent_state, "task_00000002"), task);
    assert_null(task_find(agent_state, "task_00000003"));
    assert_ptr_equal(task_of_call(agent_state, &call), task);
    assert_null(task_of_call(agent_state, &later));
    task_set_call(task, &later);
    assert_null(task_of_call(agent_state, &call));
    assert_ptr_equal(task_of_call(agent_state, &later), task);
}

static void a_damaged_task_has_no_members(void **state)
{
    json_auto_t *task = json_of("{'conversation_id': 'none'}");
    const struct uuid id = task_conversation_id(task);

    (void)state;
    assert_string_equal(task_id(task), "");
    assert_string_equal(task_subagent(task), "");
    assert_false(uuid_is_set(&id));
}

int task_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_numbered_and_keep_their_conversation),
        cmocka_unit_test(numbers_of_tasks_are_hexadecimal),
        cmocka_unit_test(delegates_are_apart_from_tasks),
        cmocka_unit_test(tasks_are_found_by_name_and_by_their_last_call),
        cmocka_unit_test(a_damaged_task_has_no_members),
    };

    return cmocka_run_group_tests_name("model/task", tests, NULL, NULL);
}

#include "worker/worker_test.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/text.h"
#include "worker/events.h"
#include "worker/tools/worker_tool.h"

static void task_list_is_kept_and_shown(void **state)
{
    json_auto_t *agent_state = json_object();
    json_auto_t *plan = test_json("{\"command\": \"plan\", \"task_list\": [{\"title\": \"Parse\","
                                  " \"notes\": \"edges\", \"status\": \"in_progress\"}]}");
    json_auto_t *view = test_json("{\"command\": \"view\"}");
    json_auto_t *none = NULL;
    json_auto_t *planned = NULL;
    json_auto_t *viewed = NULL;
    bool is_changed = true;

    (void)state;
    none = worker_tool_task_tracker(view, agent_state, &is_changed);
    assert_false(is_changed);
    planned = worker_tool_task_tracker(plan, agent_state, &is_changed);
    assert_true(is_changed);
    viewed = worker_tool_task_tracker(view, agent_state, &is_changed);
    assert_int_equal(json_array_size(json_object_get(none, "task_list")), 0);
    assert_string_equal(
        json_text_or(json_array_get(json_object_get(planned, "content"), 0), "text", ""),
        "Task list has been updated with 1 item(s).");
    assert_non_null(
        strstr(json_text_or(json_array_get(json_object_get(viewed, "content"), 0), "text", ""),
               "1. 🔄 Parse\n   edges"));
}

int task_tracker_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_list_is_kept_and_shown),
    };

    return cmocka_run_group_tests_name("task_tracker", tests, NULL, NULL);
}

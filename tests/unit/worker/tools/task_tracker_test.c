#include "worker/worker_test.h"

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "support/json_path.h"
#include "worker/events.h"
#include "worker/tools/worker_tool.h"

#define NO_LIST "There is no task list yet. Make one with the command \"plan\"."

/* Runs the tool; text: of its observation, which is JSON. */
static bool run(json_t *agent_state, const char *action, struct strbuf *text)
{
    json_auto_t *input = test_json(action);
    bool is_changed = true;
    json_auto_t *observation = worker_tool_task_tracker(input, agent_state, &is_changed);

    strbuf_reset(text);
    json_append_text(text, observation);
    return is_changed;
}

static void assert_text(const struct strbuf *observation, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    json_auto_t *value = json_text_of(expected);

    json_append_text(&json, value);
    assert_json_at(observation->text, "content[0].text", json.text);
    assert_json_at(observation->text, "content[1]", NULL);
    assert_json_at(observation->text, "kind", "\"TaskTrackerObservation\"");
    assert_json_at(observation->text, "is_error", "false");
}

static void without_a_plan_there_is_no_list(void **state)
{
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;
    json_auto_t *agent_state = json_object();

    (void)state;
    assert_false(run(agent_state, "{\"command\": \"view\"}", &seen));
    assert_text(&seen, NO_LIST);
    assert_json_at(seen.text, "command", "\"view\"");
    assert_json_at(seen.text, "task_list", "[]");
    assert_int_equal(json_object_size(agent_state), 0);
    assert_false(run(agent_state, "{}", &seen));
    assert_text(&seen, NO_LIST);
    assert_json_at(seen.text, "command", "\"view\"");
}

static void task_list_is_kept_and_shown(void **state)
{
    static const char PLAN[] =
        "{\"command\": \"plan\", \"task_list\": ["
        "{\"title\": \"Parse\", \"notes\": \"edges\", \"status\": \"in_progress\"},"
        "{\"title\": \"Write\", \"notes\": \"\", \"status\": \"todo\"},"
        "{\"title\": \"Read\", \"status\": \"done\"},"
        "{\"title\": \"Odd\", \"status\": \"odd\"}, {}]}";
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;
    json_auto_t *agent_state = json_object();

    (void)state;
    assert_true(run(agent_state, PLAN, &seen));
    assert_text(&seen, "Task list has been updated with 5 item(s).");
    assert_json_at(seen.text, "command", "\"plan\"");
    assert_json_at(seen.text, "task_list[0].title", "\"Parse\"");
    assert_int_equal(json_array_size(json_object_get(agent_state, "task_list")), 5);
    assert_false(run(agent_state, "{\"command\": \"view\"}", &seen));
    assert_text(&seen, "# Task List\n"
                       "\n1. 🔄 Parse\n   edges"
                       "\n2. ⏳ Write"
                       "\n3. ✅ Read"
                       "\n4. ⏳ Odd"
                       "\n5. ⏳ ");
    assert_json_at(seen.text, "task_list[4]", "{}");
}

/* The event keeps the list of its time, and later plans replace the whole. */
static void list_of_an_event_does_not_change(void **state)
{
    json_auto_t *agent_state = json_object();
    json_auto_t *first = test_json("{\"command\": \"plan\", \"task_list\": [{\"title\": \"a\"}]}");
    json_auto_t *seen = NULL;
    CLEANUP(strbuf_done) struct strbuf second = STRBUF_INIT;
    bool is_changed = false;

    (void)state;
    seen = worker_tool_task_tracker(first, agent_state, &is_changed);
    json_put_text(json_array_get(json_object_get(agent_state, "task_list"), 0), "title", "b");
    assert_string_equal(
        json_text_or(json_array_get(json_object_get(seen, "task_list"), 0), "title", ""), "a");
    assert_string_equal(
        json_text_or(json_array_get(json_object_get(first, "task_list"), 0), "title", ""), "a");
    assert_true(run(agent_state, "{\"command\": \"plan\", \"task_list\": 7}", &second));
    assert_json_at(second.text, "task_list", "[]");
    assert_text(&second, "Task list has been updated with 0 item(s).");
    assert_false(run(agent_state, "{\"command\": \"view\"}", &second));
    assert_text(&second, NO_LIST);
}

int task_tracker_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_plan_there_is_no_list),
        cmocka_unit_test(task_list_is_kept_and_shown),
        cmocka_unit_test(list_of_an_event_does_not_change),
    };

    return cmocka_run_group_tests_name("task_tracker", tests, NULL, NULL);
}

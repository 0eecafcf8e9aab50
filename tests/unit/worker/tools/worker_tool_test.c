#include "worker/worker_test.h"

#include "worker/tools/worker_tool.h"

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "support/json_path.h"
#include "support/test_catalogue.h"
#include "worker/events.h"

/* The observation of a tool as text; mem_free() it. */
static char *run(const char *name, const char *action, json_t *agent_state, bool *is_changed_out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *input = test_json(action);
    const struct conversation conversation = {.agent_state = agent_state};
    json_auto_t *observation =
        worker_tool_run(test_catalogue(), &conversation, name, input, is_changed_out);

    if (observation == NULL)
        return NULL;
    json_append_text(&text, observation);
    return strbuf_take(&text);
}

static void thought_is_only_logged(void **state)
{
    json_auto_t *agent_state = json_object();
    bool is_changed = true;
    CLEANUP(mem_freep) char *seen = run("think", "{\"thought\": \"x\"}", agent_state, &is_changed);

    (void)state;
    assert_json_at(seen, "",
                   "{\"kind\": \"ThinkObservation\", \"is_error\": false, \"content\": [{\"type\":"
                   " \"text\", \"text\": \"Your thought has been logged.\","
                   " \"cache_prompt\": false}]}");
    assert_false(is_changed);
    assert_int_equal(json_object_size(agent_state), 0);
}

static void plan_of_tasks_is_kept(void **state)
{
    json_auto_t *agent_state = json_object();
    bool is_changed = false;
    CLEANUP(mem_freep) char *seen =
        run("task_tracker", "{\"command\": \"plan\", \"task_list\": [{\"title\": \"a\"}]}",
            agent_state, &is_changed);

    (void)state;
    assert_json_at(seen, "kind", "\"TaskTrackerObservation\"");
    assert_true(is_changed);
    assert_int_equal(json_array_size(json_object_get(agent_state, "task_list")), 1);
}

/* Tools of the sandbox, and finish, which ends the run. */
static void other_tools_are_not_the_workers(void **state)
{
    static const char *const names[] = {"terminal", "finish", "", "thin", "thinks"};
    json_auto_t *agent_state = json_object();

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool is_changed = true;

        assert_null(run(names[i], "{}", agent_state, &is_changed));
        assert_false(is_changed);
    }
}

static void finish_repeats_its_message(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *action = test_json("{\"message\": \"all done\"}");
    json_auto_t *seen = worker_tool_finish(action);

    (void)state;
    json_append_text(&text, seen);
    assert_json_at(text.text, "kind", "\"FinishObservation\"");
    assert_json_at(text.text, "is_error", "false");
    assert_json_at(text.text, "content[0].text", "\"all done\"");
    assert_json_at(text.text, "content[1]", NULL);
}

int worker_tool_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thought_is_only_logged),
        cmocka_unit_test(plan_of_tasks_is_kept),
        cmocka_unit_test(other_tools_are_not_the_workers),
        cmocka_unit_test(finish_repeats_its_message),
    };

    return cmocka_run_group_tests_name("worker_tool", tests, NULL, NULL);
}

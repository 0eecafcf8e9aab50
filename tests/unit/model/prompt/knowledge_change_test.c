#include "model/prompt/knowledge_change.h"

#include "base/json.h"
#include "model/conversation/conversation.h"
#include "model/prompt/knowledge_request.h"
#include "unit/model/model_test.h"

static void changed_and_missing_skills_are_forgotten(void **state)
{
    json_auto_t *before = json_of("[{'name': 'same', 'content': 'a'}, {'name': 'other',"
                                  " 'content': 'a'}, {'name': 'gone', 'content': 'a'}]");
    json_auto_t *found = json_of("[{'name': 'same', 'content': 'a', 'source': '/new'},"
                                 " {'name': 'other', 'content': 'b'}, {'name': 'given',"
                                 " 'content': 'c'}]");
    json_auto_t *names = json_of("['same', 'other', 5, 'gone', 'given', 'unknown']");
    json_auto_t *expected = json_of("['same', 5, 'given', 'unknown']");

    (void)state;
    knowledge_change_forget(names, before, found);
    assert_true(json_equal(names, expected));
    knowledge_change_forget(names, NULL, found);
    assert_true(json_equal(names, expected));
    knowledge_change_forget(NULL, before, found);
}

static void hooks_of_the_workspace_follow_its_file(void **state)
{
    json_auto_t *spec = json_object();
    json_auto_t *hooks = json_of("{'stop': []}");
    json_auto_t *others = json_of("{'pre_tool_use': []}");

    (void)state;
    assert_false(knowledge_change_hooks(spec, NULL));
    assert_true(knowledge_change_hooks(spec, hooks));
    assert_true(json_equal(json_object_get(spec, "hook_config"), hooks));
    assert_false(knowledge_change_hooks(spec, hooks));
    assert_true(knowledge_change_hooks(spec, others));
    assert_true(json_equal(json_object_get(spec, "hook_config"), others));
    assert_true(knowledge_change_hooks(spec, NULL));
    assert_true(json_is_null(json_object_get(spec, "hook_config")));
    assert_false(knowledge_change_hooks(spec, NULL));
}

static void given_hooks_stay(void **state)
{
    json_auto_t *spec = json_of("{'hook_config': {'stop': []}}");
    json_auto_t *before = json_deep_copy(spec);

    (void)state;
    assert_false(knowledge_change_hooks(spec, NULL));
    assert_true(json_equal(spec, before));
}

static void reading_ends_the_requests_before_it(void **state)
{
    json_auto_t *spec = json_object();

    (void)state;
    assert_int_equal(knowledge_request_count(spec), 0);
    knowledge_request_add(spec);
    knowledge_request_add(spec);
    knowledge_request_add(spec);
    assert_int_equal(knowledge_request_count(spec), 3);
    knowledge_request_end(spec, 2);
    assert_int_equal(knowledge_request_count(spec), 1);
    knowledge_request_end(spec, 2);
    assert_int_equal(knowledge_request_count(spec), 0);
    assert_null(json_object_get(spec, KNOWLEDGE_REQUESTS));
}

static void event_tells_of_a_request(void **state)
{
    json_auto_t *asked = json_object();
    json_auto_t *settled = json_object();
    json_auto_t *other = json_of("{'key': 'tags', 'value': {'project_knowledge_requested': true}}");

    (void)state;
    json_put_text(asked, "key", "agent_state");
    json_put(asked, "value", knowledge_request_event_value(true));
    json_put_text(settled, "key", "agent_state");
    json_put(settled, "value", knowledge_request_event_value(false));
    assert_true(knowledge_request_is_told_by(asked));
    assert_false(knowledge_request_is_told_by(settled));
    assert_false(knowledge_request_is_told_by(other));
}

int knowledge_change_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_and_missing_skills_are_forgotten),
        cmocka_unit_test(hooks_of_the_workspace_follow_its_file),
        cmocka_unit_test(given_hooks_stay),
        cmocka_unit_test(reading_ends_the_requests_before_it),
        cmocka_unit_test(event_tells_of_a_request),
    };

    return cmocka_run_group_tests_name("model/knowledge_change", tests, NULL, NULL);
}

/*
 * Agent profiles and meta-profiles: all that reading gives, and each refusal.
 */
#include "model/agent/agent_profile.h"

#include "base/attr.h"
#include "base/json.h"
#include "model/agent/agent_settings.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

static const struct json_path place = {NULL, "p", 0};

#define CONDENSER                                                                                  \
    "'condenser': {'condenser_kind': 'llm_summarizing', 'enabled': true, 'max_size': 240,"         \
    " 'max_tokens': null, 'keep_first': 2, 'minimum_progress': 0.1,"                               \
    " 'hard_context_reset_max_retries': 5, 'hard_context_reset_context_scaling': 0.8}"

#define VERIFICATION                                                                               \
    "'verification': {'critic_enabled': false, 'critic_mode': 'finish_and_message',"               \
    " 'enable_iterative_refinement': false, 'critic_threshold': 0.6,"                              \
    " 'max_refinement_iterations': 3, 'critic_server_url': null, 'critic_model_name': null}"

static void profiles_get_all_defaults(void **state)
{
    static const struct {
        const char *input;
        const char *profile;
    } cases[] = {
        {"{'llm_profile_ref': 'fast', 'agent_kind': 'openhands', 'schema_version': 1, 'name': 'n',"
         " 'revision': 3}",
         "{'schema_version': 4, 'mcp_server_refs': null, 'secret_refs': null,"
         " 'agent_kind': 'openhands', 'llm_profile_ref': 'fast', 'agent': 'CodeActAgent',"
         " 'tools': null, 'persona': null, 'system_message_suffix': null,"
         " 'disabled_skills': [], 'public_skills': null, " CONDENSER ", " VERIFICATION ","
         " 'enable_classify_and_switch_llm_tool': false, 'meta_profile_ref': null,"
         " 'tool_concurrency_limit': 1}"},
        {"{'agent_kind': 'acp', 'mcp_server_refs': ['a'], 'secret_refs': ['S']}",
         "{'schema_version': 4, 'mcp_server_refs': ['a'], 'secret_refs': ['S'],"
         " 'agent_kind': 'acp', 'acp_server': 'claude-code', 'acp_model': null,"
         " 'acp_session_mode': null, 'acp_prompt_timeout': 1800.0,"
         " 'acp_startup_timeout': 90.0, 'acp_command': null, 'acp_args': null}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *profile = agent_profile_read(input, &place, problems);

        assert_json_is(problems, "[]");
        assert_json_is(profile, cases[i].profile);
    }
}

/* Each has one problem, of this type at this place. */
struct refusal {
    const char *input;
    const char *path;
    const char *type;
};

static void assert_refused(json_t *(*read)(json_t *, const struct json_path *, json_t *),
                           const struct refusal *refusals, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_auto_t *input = json_of(refusals[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *output = read(input, &place, problems);

        assert_non_null(output);
        if (json_array_size(problems) != 1)
            fail_msg("%s: %s", refusals[i].input, json_dumps(problems, 0));
        assert_string_equal(problem_at(problems, refusals[i].path), refusals[i].type);
    }
}

static void wrong_profiles_are_refused(void **state)
{
    static const struct refusal refusals[] = {
        {"{}", "p.llm_profile_ref", "missing"},
        {"{'llm_profile_ref': ''}", "p.llm_profile_ref", "string_too_short"},
        {"{'llm_profile_ref': 'f', 'persona': ''}", "p.persona", "string_too_short"},
        {"{'llm_profile_ref': 'f', 'meta_profile_ref': ''}", "p.meta_profile_ref",
         "string_too_short"},
        {"{'llm_profile_ref': 'f', 'other': 1}", "p.other", "extra_forbidden"},
        {"{'llm_profile_ref': 'f', 'tools': [{}]}", "p.tools.0.name", "missing"},
        {"{'llm_profile_ref': 'f', 'tool_concurrency_limit': 0}", "p.tool_concurrency_limit",
         "greater_than_equal"},
        {"{'llm_profile_ref': 'f', 'condenser': {'max_size': 19}}", "p.condenser.max_size",
         "greater_than_equal"},
        {"{'llm_profile_ref': 'f', 'verification': {'critic_threshold': 1.1}}",
         "p.verification.critic_threshold", "less_than_equal"},
        {"{'llm_profile_ref': 'f', 'agent_kind': 'other'}", "p.agent_kind", "literal_error"},
        {"{'agent_kind': 'acp', 'llm_profile_ref': 'f'}", "p.llm_profile_ref", "extra_forbidden"},
        {"{'agent_kind': 'acp', 'condenser': {}}", "p.condenser", "extra_forbidden"},
        {"5", "p", "model_attributes_type"},
    };

    (void)state;
    assert_refused(agent_profile_read, refusals, ARRAY_SIZE(refusals));
}

static void a_refusal_of_an_empty_text_tells_the_least_length(void **state)
{
    json_auto_t *input = json_of("{'llm_profile_ref': ''}");
    json_auto_t *problems = json_array();
    json_auto_t *profile = agent_profile_read(input, &place, problems);

    (void)state;
    assert_non_null(profile);
    assert_json_is(problems, "[{'type': 'string_too_short', 'loc': ['p', 'llm_profile_ref'],"
                             " 'msg': 'String should have at least 1 character', 'input': '',"
                             " 'ctx': {'min_length': 1}}]");
}

static void meta_profiles_have_classes_or_a_template(void **state)
{
    static const struct {
        const char *input;
        const char *profile;
    } cases[] = {
        {"{'classifier_model': 'c', 'classes': [{'description': 'd', 'model': 'm'}]}",
         "{'classifier_model': 'c', 'classes': [{'description': 'd', 'model': 'm'}],"
         " 'prompt_template': null, 'model_table': null}"},
        {"{'classifier_model': 'c', 'prompt_template': 'x {{ instance_text }}',"
         " 'model_table': 't'}",
         "{'classifier_model': 'c', 'classes': [], 'prompt_template': 'x {{ instance_text }}',"
         " 'model_table': 't'}"},
        {"{'classifier_model': 'c', 'prompt_template': '{{instance_text}}'}",
         "{'classifier_model': 'c', 'classes': [], 'prompt_template': '{{instance_text}}',"
         " 'model_table': null}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *profile = meta_profile_read(input, &place, problems);

        assert_json_is(problems, "[]");
        assert_json_is(profile, cases[i].profile);
    }
}

static void wrong_meta_profiles_are_refused(void **state)
{
    static const struct refusal refusals[] = {
        {"{'classifier_model': 'c'}", "p", "value_error"},
        {"{'classifier_model': 'c', 'classes': []}", "p", "value_error"},
        {"{'classifier_model': 'c', 'prompt_template': 'x'}", "p", "value_error"},
        {"{'classifier_model': 'c', 'prompt_template': '{{ instance_text }}',"
         " 'classes': [{'description': 'd', 'model': 'm'}]}",
         "p", "value_error"},
        {"{'classifier_model': '', 'prompt_template': '{{ instance_text }}'}", "p.classifier_model",
         "string_too_short"},
        {"{'prompt_template': '{{ instance_text }}'}", "p.classifier_model", "missing"},
        {"{'classifier_model': 'c', 'classes': [{'model': 'm'}]}", "p.classes.0.description",
         "missing"},
        {"{'classifier_model': 'c', 'classes': [{'description': 'd'}]}", "p.classes.0.model",
         "missing"},
    };

    (void)state;
    assert_refused(meta_profile_read, refusals, ARRAY_SIZE(refusals));
}

static void references_allow_names(void **state)
{
    json_auto_t *refs = json_of("['A', 'C']");
    json_auto_t *none = json_of("[]");
    json_auto_t *all = json_null();

    (void)state;
    assert_true(refs_allow(NULL, "A"));
    assert_true(refs_allow(all, "A"));
    assert_false(refs_allow(none, "A"));
    assert_true(refs_allow(refs, "A"));
    assert_true(refs_allow(refs, "C"));
    assert_false(refs_allow(refs, "B"));
}

#define TOOL(name) "{'name': '" name "', 'params': {}}"
#define STANDARD TOOL("terminal") ", " TOOL("file_editor") ", " TOOL("task_tracker")

static void retired_switches_become_tools(void **state)
{
    static const struct {
        const char *settings;
        const char *folded;
        bool has_children;
    } cases[] = {
        {"{}", "{}", false},
        {"{'enable_sub_agents': true}", "{'tools': [" STANDARD ", " TOOL("task_tool_set") "]}",
         true},
        {"{'enable_sub_agents': true, 'tools': null}",
         "{'tools': [" STANDARD ", " TOOL("task_tool_set") "]}", true},
        {"{'enable_sub_agents': true, 'tools': [" TOOL("task_tool_set") "]}",
         "{'tools': [" TOOL("task_tool_set") "]}", true},
        {"{'enable_sub_agents': false, 'tools': [" TOOL("a") ", " TOOL("task_tool_set") "]}",
         "{'tools': [" TOOL("a") "]}", false},
        {"{'enable_sub_agents': false, 'tools': [" TOOL("a") "]}", "{'tools': [" TOOL("a") "]}",
         false},
        {"{'enable_sub_agents': false}", "{}", false},
        {"{'enable_switch_llm_tool': false, 'tools': [" TOOL("switch_llm") ", " TOOL(
             "task_tool_set") "]}",
         "{'tools': [" TOOL("task_tool_set") "]}", true},
        {"{'enable_switch_llm_tool': true, 'tools': [" TOOL("switch_llm") "]}",
         "{'tools': [" TOOL("switch_llm") "]}", false},
        {"{'enable_switch_llm_tool': false, 'tools': [" TOOL("a") "]}",
         "{'tools': [" TOOL("a") "]}", false},
        {"{'agent_kind': 'acp', 'enable_sub_agents': true, 'enable_switch_llm_tool': true,"
         " 'llm': {}}",
         "{'agent_kind': 'acp'}", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *settings = json_of(cases[i].settings);

        retired_switches_fold(settings);
        assert_json_is(settings, cases[i].folded);
        assert_int_equal(agent_has_children(settings), cases[i].has_children);
    }
}

int agent_profile_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_get_all_defaults),
        cmocka_unit_test(wrong_profiles_are_refused),
        cmocka_unit_test(a_refusal_of_an_empty_text_tells_the_least_length),
        cmocka_unit_test(meta_profiles_have_classes_or_a_template),
        cmocka_unit_test(wrong_meta_profiles_are_refused),
        cmocka_unit_test(references_allow_names),
        cmocka_unit_test(retired_switches_become_tools),
    };

    return cmocka_run_group_tests_name("model/agent profile", tests, NULL, NULL);
}

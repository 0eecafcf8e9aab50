/*
 * The form of settings: its sections, which members they show, and what is said of each.
 */
#include "model/agent/settings_schema.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "unit/model/model_test.h"

/* The field of that key in either form. Borrowed from the schemas. */
static json_t *field_of(json_t *schema, const char *key)
{
    json_t *section = NULL;
    json_t *field = NULL;
    size_t i = 0;
    size_t j = 0;

    json_array_foreach (json_object_get(schema, "sections"), i, section) {
        json_array_foreach (json_object_get(section, "fields"), j, field) {
            if (text_equal(json_text_or(field, "key", ""), key))
                return field;
        }
    }
    fail_msg("no field %s", key);
    return NULL;
}

static void a_field_says_all_of_its_member(void **state)
{
    static const struct {
        const char *key;
        const char *field;
    } cases[] = {
        {"agent", "{'key': 'agent', 'label': 'Agent', 'description': 'The agent that works in the"
                  " conversation.', 'section': 'general', 'section_label': 'General',"
                  " 'value_type': 'string', 'default': 'CodeActAgent', 'prominence': 'major',"
                  " 'depends_on': [], 'secret': false, 'choices': [], 'variant': null}"},
        {"llm.model",
         "{'key': 'llm.model', 'label': 'Model', 'description': 'Model name with the provider as"
         " prefix, such as openai/gpt-5.5.', 'section': 'llm', 'section_label': 'LLM',"
         " 'value_type': 'string', 'default': 'm', 'prominence': 'critical', 'depends_on': [],"
         " 'secret': false, 'choices': [], 'variant': 'openhands'}"},
        {"llm.api_key",
         "{'key': 'llm.api_key', 'label': 'API key', 'description': 'The provider\\u0027s key for"
         " this model.', 'section': 'llm', 'section_label': 'LLM', 'value_type': 'string',"
         " 'default': null, 'prominence': 'critical', 'depends_on': [], 'secret': true,"
         " 'choices': [], 'variant': 'openhands'}"},
        {"llm.stream_idle_timeout",
         "{'key': 'llm.stream_idle_timeout', 'label': 'Stream idle timeout', 'description': null,"
         " 'section': 'llm', 'section_label': 'LLM', 'value_type': 'number', 'default': 300,"
         " 'prominence': 'minor', 'depends_on': [], 'secret': false, 'choices': [],"
         " 'variant': 'openhands'}"},
        {"llm.reasoning_effort",
         "{'key': 'llm.reasoning_effort', 'label': 'Reasoning effort', 'description': 'How long the"
         " model thinks before it answers.', 'section': 'llm', 'section_label': 'LLM',"
         " 'value_type': 'string', 'default': 'high', 'prominence': 'minor', 'depends_on': [],"
         " 'secret': false, 'choices': [{'value': 'low', 'label': 'low'},"
         " {'value': 'medium', 'label': 'medium'}, {'value': 'high', 'label': 'high'},"
         " {'value': 'xhigh', 'label': 'xhigh'}, {'value': 'none', 'label': 'none'}],"
         " 'variant': 'openhands'}"},
        {"verification.critic_threshold",
         "{'key': 'verification.critic_threshold', 'label': 'Threshold', 'description': 'Minimum"
         " score, from 0 to 1.', 'section': 'verification', 'section_label': 'Verification',"
         " 'value_type': 'number', 'default': 0.6, 'prominence': 'minor', 'depends_on':"
         " ['verification.critic_enabled', 'verification.enable_iterative_refinement'],"
         " 'secret': false, 'choices': [], 'variant': 'openhands'}"},
        {"llm.auth_type",
         "{'key': 'llm.auth_type', 'label': 'Authentication', 'description': 'How deft"
         " authenticates to the provider.', 'section': 'llm', 'section_label': 'LLM',"
         " 'value_type': 'string', 'default': 'api_key', 'prominence': 'critical',"
         " 'depends_on': [], 'secret': false, 'choices': [{'value': 'api_key',"
         " 'label': 'api_key'}, {'value': 'subscription', 'label': 'subscription'}],"
         " 'variant': 'openhands'}"},
    };
    json_auto_t *schema = settings_schema_of_agent("m");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_json_is(field_of(schema, cases[i].key), cases[i].field);
}

static void types_of_the_form_follow_the_kinds(void **state)
{
    static const struct {
        const char *key;
        const char *type;
    } cases[] = {
        {"agent", "string"},
        {"tools", "array"},
        {"tool_concurrency_limit", "integer"},
        {"mcp_config", "object"},
        {"llm.stream", "boolean"},
        {"llm.temperature", "number"},
        {"llm.extra_headers", "object"},
        {"acp_args", "array"},
    };
    json_auto_t *schema = settings_schema_of_agent("m");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(json_text_or(field_of(schema, cases[i].key), "value_type", ""),
                            cases[i].type);
}

static void keys_are_masked(void **state)
{
    static const char *const keys[] = {"llm.api_key", "llm.aws_access_key_id",
                                       "llm.aws_secret_access_key", "llm.aws_session_token",
                                       "verification.critic_api_key"};
    json_auto_t *schema = settings_schema_of_agent("m");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        assert_true(json_is_true(json_object_get(field_of(schema, keys[i]), "secret")));
}

/* "section key: label, prominence", the description in brackets, and what it depends on. */
static void append_field(const json_t *section, const json_t *field, struct strbuf *out)
{
    json_t *depends_on = json_object_get(field, "depends_on");

    strbuf_appendf(out, "%s %s: %s, %s (%s)", json_text_or(section, "key", "?"),
                   json_text_or(field, "key", "?"), json_text_or(field, "label", "?"),
                   json_text_or(field, "prominence", "?"), json_text_or(field, "description", ""));
    if (json_array_size(depends_on) > 0)
        json_append_text(out, depends_on);
    strbuf_append_char(out, '\n');
}

static void append_form(const json_t *schema, struct strbuf *out)
{
    json_t *section = NULL;
    json_t *field = NULL;
    size_t i = 0;
    size_t j = 0;

    strbuf_appendf(out, "%s\n", json_text_or(schema, "model_name", "?"));
    json_array_foreach (json_object_get(schema, "sections"), i, section) {
        strbuf_appendf(out, "%s: %s (%s)\n", json_text_or(section, "key", "?"),
                       json_text_or(section, "label", "?"), json_text_or(section, "variant", ""));
        json_array_foreach (json_object_get(section, "fields"), j, field)
            append_field(section, field, out);
    }
}

static void fields_are_those_of_the_list(void **state)
{
    CLEANUP(strbuf_done) struct strbuf ours = STRBUF_INIT;
    json_auto_t *of_agent = settings_schema_of_agent("m");
    json_auto_t *of_conversation = settings_schema_of_conversation();

    (void)state;
    append_form(of_agent, &ours);
    append_form(of_conversation, &ours);
    assert_is_listed(ours.text, "settings_form.txt");
}

int settings_schema_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_says_all_of_its_member),
        cmocka_unit_test(types_of_the_form_follow_the_kinds),
        cmocka_unit_test(keys_are_masked),
        cmocka_unit_test(fields_are_those_of_the_list),
    };

    return cmocka_run_group_tests_name("model/settings form", tests, NULL, NULL);
}

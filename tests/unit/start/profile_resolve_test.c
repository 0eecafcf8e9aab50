/*
 * What an agent profile resolves to, and what is told of references that lead nowhere.
 */
#include "start/profile_resolve.h"

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/user/document_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "unit/start/start_fixture.h"

/* Stores a document of the context's user; secrets: NULL for none. */
static void keep(const struct start_context *context, enum collection collection, const char *name,
                 const char *body, const char *secrets)
{
    const struct document_scope scope = start_document_scope(context);
    CLEANUP(document_done) struct document document = document_new(collection, name);
    struct error err = ERROR_INIT;

    json_decref(document.body);
    document.body = start_json(body);
    if (secrets != NULL)
        document.secrets = start_json(secrets);
    assert_done(document_store_put(&scope, &document, 0, &err), &err);
}

static void resolve(const struct start_context *context, const char *profile, const char *llm_ref,
                    struct resolution *resolution_out)
{
    json_auto_t *body = start_json(profile);
    struct error err = ERROR_INIT;

    assert_done(profile_resolve(context, body, llm_ref, resolution_out, &err), &err);
}

static void assert_is(const json_t *value, const char *expected)
{
    json_auto_t *wanted = start_json(expected);

    if (!json_equal(value, wanted))
        fail_msg("%s is not %s", value == NULL ? "nothing" : json_dumps(value, JSON_ENCODE_ANY),
                 expected);
}

/* A diagnostic, or a member of the settings. */
static void assert_told(const struct resolution *resolution, const char *name, const char *expected)
{
    assert_is(json_object_get(resolution->diagnostics, name), expected);
}

static void assert_set(const struct resolution *resolution, const char *name, const char *expected)
{
    assert_is(json_object_get(resolution->settings, name), expected);
}

static void members_of_the_profile_are_used_and_told(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;

    keep(&context, COLLECTION_PROFILES, "fast", "{'model': 'openai/fast', 'api_key': '**********'}",
         "{'api_key': 'sk-fast'}");
    resolve(&context,
            "{'agent_kind': 'openhands', 'llm_profile_ref': 'fast', 'agent': 'Other',"
            " 'tools': [{'name': 'terminal', 'params': {}}], 'persona': 'p',"
            " 'condenser': {'max_size': 100}, 'enable_classify_and_switch_llm_tool': true,"
            " 'verification': {'critic_enabled': true}, 'tool_concurrency_limit': 3,"
            " 'system_message_suffix': 'be brief', 'disabled_skills': ['s'],"
            " 'public_skills': ['q'], 'secret_refs': ['A'], 'mcp_server_refs': []}",
            NULL, &resolution);
    assert_told(&resolution, "valid", "true");
    assert_told(&resolution, "errors", "[]");
    assert_told(&resolution, "agent_kind", "'openhands'");
    assert_told(&resolution, "mcp_server_refs", "[]");
    assert_told(&resolution, "disabled_skills", "['s']");
    assert_told(&resolution, "public_skills", "['q']");
    assert_told(&resolution, "secret_refs", "['A']");
    assert_told(&resolution, "meta_profile_ref", "null");
    assert_told(&resolution, "acp_api_key_secret_name", "null");
    assert_told(&resolution, "acp_base_url_secret_name", "null");
    assert_told(&resolution, "acp_file_secret_names", "[]");
    assert_told(&resolution, "llm_profile_ref", "'fast'");
    assert_told(&resolution, "llm_profile_resolved", "true");
    assert_told(&resolution, "llm_api_key_set", "true");
    assert_told(&resolution, "unusable_tools", "[]");
    assert_told(&resolution, "dangling_meta_profile_ref", "null");
    assert_told(&resolution, "dangling_meta_profile_llm_refs", "[]");
    assert_set(&resolution, "agent_kind", "'openhands'");
    assert_set(&resolution, "agent", "'Other'");
    assert_set(&resolution, "tools", "[{'name': 'terminal', 'params': {}}]");
    assert_set(&resolution, "persona", "'p'");
    assert_set(&resolution, "enable_classify_and_switch_llm_tool", "true");
    assert_set(&resolution, "tool_concurrency_limit", "3");
    assert_is(json_object_get(json_object_get(resolution.settings, "condenser"), "max_size"),
              "100");
    assert_is(
        json_object_get(json_object_get(resolution.settings, "verification"), "critic_enabled"),
        "true");
    assert_is(json_object_get(json_object_get(resolution.settings, "agent_context"),
                              "system_message_suffix"),
              "'be brief'");
    assert_is(
        json_object_get(json_object_get(resolution.settings, "agent_context"), "disabled_skills"),
        "['s']");
    assert_is(json_object_get(json_object_get(resolution.settings, "llm"), "model"),
              "'openai/fast'");
    assert_is(json_object_get(json_object_get(resolution.settings, "llm"), "api_key"), "'sk-fast'");
    test_sql("DELETE FROM documents");
}

/* Diagnostics are shown to clients. */
static void shown_settings_have_no_secrets(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;
    const json_t *shown = NULL;

    keep(&context, COLLECTION_PROFILES, "fast", "{'model': 'm', 'api_key': '**********'}",
         "{'api_key': 'sk-fast'}");
    resolve(&context, "{'llm_profile_ref': 'fast'}", NULL, &resolution);
    shown = json_object_get(resolution.diagnostics, "resolved_settings");
    assert_is(json_object_get(json_object_get(shown, "llm"), "api_key"), "'**********'");
    assert_is(json_object_get(json_object_get(shown, "llm"), "model"), "'m'");
    test_sql("DELETE FROM documents");
}

static void keep_settings(const struct start_context *context, const char *agent)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body, "{'agent_settings': %s}", agent);
    keep(context, COLLECTION_SETTINGS, "settings", body.text, NULL);
}

static void the_default_is_the_settings_own_model(void **state)
{
    static const struct {
        const char *profile;
        const char *llm_ref;
        const char *name;
        bool is_found;
    } cases[] = {
        {"{'llm_profile_ref': 'default'}", NULL, "default", true},
        {"{'llm_profile_ref': 'other'}", NULL, "other", false},
        {"{'llm_profile_ref': 'other'}", "default", "default", true},
        {"{'llm_profile_ref': 'default'}", "other", "other", false},
    };
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;

        resolve(&context, cases[i].profile, cases[i].llm_ref, &resolution);
        assert_string_equal(json_text_or(resolution.diagnostics, "llm_profile_ref", ""),
                            cases[i].name);
        assert_told(&resolution, "llm_profile_resolved", cases[i].is_found ? "true" : "false");
        assert_told(&resolution, "valid", cases[i].is_found ? "true" : "false");
        assert_told(&resolution, "llm_api_key_set", "false");
        assert_told(&resolution, "errors",
                    cases[i].is_found ? "[]" : "['LLM profile \\u0027other\\u0027 not found']");
    }
}

/* The server's own key counts for its own model. */
static void the_servers_key_is_told(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;

    context.llm = (struct start_llm){"scripted/hello", "", "server-key"};
    resolve(&context, "{'llm_profile_ref': 'default'}", NULL, &resolution);
    assert_told(&resolution, "llm_api_key_set", "true");
}

/* Of a profile, and of the settings' own model. */
static void a_missing_connection_is_a_missing_model(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(resolution_done) struct resolution stored = RESOLUTION_INIT;
    CLEANUP(resolution_done) struct resolution own = RESOLUTION_INIT;

    keep(&context, COLLECTION_PROFILES, "fast", "{'model': 'm', 'provider_connection_id': 'gone'}",
         NULL);
    keep_settings(&context, "{'llm': {'model': 'm', 'provider_connection_id': 'gone'}}");
    resolve(&context, "{'llm_profile_ref': 'fast'}", NULL, &stored);
    resolve(&context, "{'llm_profile_ref': 'default'}", NULL, &own);
    assert_told(&stored, "llm_profile_resolved", "false");
    assert_told(&stored, "valid", "false");
    assert_told(&own, "llm_profile_resolved", "false");
    assert_told(&own, "valid", "false");
    test_sql("DELETE FROM documents");
}

static void a_connection_gives_its_key(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;

    keep(&context, COLLECTION_CONNECTIONS, "mine", "{'base_url': 'http://x'}",
         "{'api_key': 'sk-connection'}");
    keep_settings(&context, "{'llm': {'model': 'm', 'provider_connection_id': 'mine'}}");
    resolve(&context, "{'llm_profile_ref': 'default'}", NULL, &resolution);
    assert_is(json_object_get(json_object_get(resolution.settings, "llm"), "api_key"),
              "'sk-connection'");
    assert_is(json_object_get(json_object_get(resolution.settings, "llm"), "base_url"),
              "'http://x'");
    test_sql("DELETE FROM documents");
}

static void a_profile_selects_from_the_settings(void **state)
{
    static const char settings[] =
        "{'mcp_config': {'a': {'url': 'http://a'}, 'b': {'url': 'http://b'}},"
        " 'agent_context': {'system_message_suffix': 'own', 'skills': [{'name': 's'},"
        "  {'name': 't'}], 'secrets': {'A': {'kind': 'StaticSecret', 'value': null},"
        "  'B': {'kind': 'StaticSecret', 'value': null}}}}";
    static const struct {
        const char *profile;
        const char *servers;
        const char *dangling;
        const char *skills;
        const char *secrets; /* the names, as a list */
        const char *errors;
    } cases[] = {
        {"{'llm_profile_ref': 'default'}", "['a', 'b']", "[]", "['s', 't']", "['A', 'B']", "[]"},
        {"{'llm_profile_ref': 'default', 'mcp_server_refs': [], 'disabled_skills': [],"
         " 'secret_refs': []}",
         "[]", "[]", "['s', 't']", "[]", "[]"},
        {"{'llm_profile_ref': 'default', 'mcp_server_refs': ['b', 'c'], 'disabled_skills': ['s'],"
         " 'secret_refs': ['B', 'C']}",
         "['b']", "['c']", "['t']", "['B']",
         "['The profile refers to MCP servers that are not in the settings']"},
    };
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);

    keep_settings(&context, settings);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;
        const json_t *agent_context = NULL;
        json_auto_t *names = json_array();
        const char *name = NULL;
        json_t *secret = NULL;

        resolve(&context, cases[i].profile, NULL, &resolution);
        assert_told(&resolution, "resolved_mcp_config_keys", cases[i].servers);
        assert_told(&resolution, "dangling_mcp_server_refs", cases[i].dangling);
        assert_told(&resolution, "resolved_skills", cases[i].skills);
        assert_told(&resolution, "errors", cases[i].errors);
        agent_context = json_object_get(resolution.settings, "agent_context");
        assert_is(json_object_get(agent_context, "system_message_suffix"), "'own'");
        json_object_foreach (json_object_get(agent_context, "secrets"), name, secret)
            json_push(names, json_text_of(name));
        assert_is(names, cases[i].secrets);
        assert_int_equal(
            json_object_size(json_object_get(resolution.settings, "mcp_config")),
            json_array_size(json_object_get(resolution.diagnostics, "resolved_mcp_config_keys")));
    }
    test_sql("DELETE FROM documents");
}

static void tools_that_sandboxes_lack_are_told(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);

    for (int i = 0; i < 2; i++) {
        CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;

        context.defaults.has_browser = i > 0;
        resolve(&context,
                "{'llm_profile_ref': 'default', 'tools': [{'name': 'terminal'},"
                " {'name': 'browser_tool_set'}, {'name': 'ask_oracle'}]}",
                NULL, &resolution);
        assert_told(&resolution, "unusable_tools",
                    i > 0 ? "['ask_oracle']" : "['browser_tool_set', 'ask_oracle']");
        assert_told(&resolution, "valid", "true");
    }
}

static void a_meta_profile_brings_its_models(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;
    static const char meta[] =
        "{'classifier_model': 'fast', 'classes': [{'description': 'd', 'model': 'slow'},"
        " {'description': 'e', 'model': 'fast'}, {'description': 'f', 'model': 'gone'}],"
        " 'prompt_template': null, 'model_table': null}";

    keep(&context, COLLECTION_PROFILES, "fast", "{'model': 'm/fast'}", NULL);
    keep(&context, COLLECTION_PROFILES, "slow", "{'model': 'm/slow'}", NULL);
    keep(&context, COLLECTION_META_PROFILES, "meta", meta, NULL);
    resolve(&context, "{'llm_profile_ref': 'fast', 'meta_profile_ref': 'meta'}", NULL, &resolution);
    assert_told(&resolution, "dangling_meta_profile_ref", "null");
    assert_told(&resolution, "dangling_meta_profile_llm_refs", "['gone']");
    assert_told(&resolution, "meta_profile_ref", "'meta'");
    assert_told(&resolution, "valid", "true");
    assert_set(&resolution, "active_meta_profile", "'meta'");
    assert_set(&resolution, "meta_profile", meta);
    assert_int_equal(json_object_size(json_object_get(resolution.settings, "meta_profile_llms")),
                     2);
    assert_string_equal(
        json_text_or(
            json_object_get(json_object_get(resolution.settings, "meta_profile_llms"), "slow"),
            "model", ""),
        "m/slow");
    test_sql("DELETE FROM documents");
}

static void a_missing_meta_profile_is_told(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;

    resolve(&context, "{'llm_profile_ref': 'default', 'meta_profile_ref': 'gone'}", NULL,
            &resolution);
    assert_told(&resolution, "dangling_meta_profile_ref", "'gone'");
    assert_told(&resolution, "valid", "true");
    assert_set(&resolution, "active_meta_profile", "null");
}

static void profiles_of_other_programs_are_not_valid(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(resolution_done) struct resolution resolution = RESOLUTION_INIT;

    resolve(&context, "{'agent_kind': 'acp'}", NULL, &resolution);
    assert_told(&resolution, "valid", "false");
    assert_told(&resolution, "errors",
                "['This server runs agents of kind \\u0027openhands\\u0027 only']");
}

static void a_database_that_fails_is_no_missing_reference(void **state)
{
    static const char *const profiles[] = {
        "{'llm_profile_ref': 'default'}",
        "{'llm_profile_ref': 'default', 'meta_profile_ref': 'x'}",
    };
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);

    for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
        json_auto_t *body = start_json(profiles[i]);
        struct resolution resolution = RESOLUTION_INIT;
        struct error err = ERROR_INIT;
        int rc = 0;

        test_sql("ALTER TABLE documents RENAME TO documents_away");
        rc = profile_resolve(&context, body, NULL, &resolution, &err);
        test_sql("ALTER TABLE documents_away RENAME TO documents");
        assert_int_equal(rc, -1);
        assert_int_not_equal(err.code, ERROR_NOT_FOUND);
        assert_null(resolution.settings);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_the_profile_are_used_and_told),
        cmocka_unit_test(shown_settings_have_no_secrets),
        cmocka_unit_test(the_default_is_the_settings_own_model),
        cmocka_unit_test(the_servers_key_is_told),
        cmocka_unit_test(a_missing_connection_is_a_missing_model),
        cmocka_unit_test(a_connection_gives_its_key),
        cmocka_unit_test(a_profile_selects_from_the_settings),
        cmocka_unit_test(tools_that_sandboxes_lack_are_told),
        cmocka_unit_test(a_meta_profile_brings_its_models),
        cmocka_unit_test(a_missing_meta_profile_is_told),
        cmocka_unit_test(profiles_of_other_programs_are_not_valid),
        cmocka_unit_test(a_database_that_fails_is_no_missing_reference),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, start_set_up_with_db, start_tear_down);
}

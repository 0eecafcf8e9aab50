/*
 * PATCH /api/settings: each diff and each pointer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define SETTINGS "/api/settings"

/* A change by Alice, and a member of the answer. */
static void expect_change(void **state, const char *body, const char *path, const char *value)
{
    DISPATCH(answer, ALICE, "PATCH", SETTINGS, body);

    if (answer.status != 200)
        fail_msg("%s: %d %s", body, answer.status, answer.body.text);
    assert_json_at(answer.body.text, path, value);
}

/* A member of Alice's settings. */
static void expect_kept(void **state, const char *path, const char *value)
{
    DISPATCH(answer, ALICE, "GET", SETTINGS, NULL);

    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, path, value);
}

static void post(void **state, const char *path, const char *body)
{
    DISPATCH(answer, ALICE, "POST", path, body);

    if (answer.status != 201)
        fail_msg("%s: %d %s", path, answer.status, answer.body.text);
}

static void forget_all(void)
{
    test_sql("DELETE FROM documents");
}

#define MODEL "agent_settings.llm.model"

static void profile_brings_its_model_unless_another_is_given(void **state)
{
    forget_all();
    post(state, "/api/profiles/fast", "{\"llm\":{\"model\":\"openai/fast\"}}");
    expect_change(state, "{\"agent_settings_diff\":{\"llm\":{\"model\":\"openai/own\"}}}", MODEL,
                  "\"openai/own\"");
    expect_change(state,
                  "{\"active_profile\":\"fast\",\"agent_settings_diff\":{\"llm\":{\"model\":"
                  "\"openai/given\"}}}",
                  MODEL, "\"openai/given\"");
    expect_kept(state, "active_profile", "\"fast\"");
    expect_change(state, "{\"active_profile\":\"fast\",\"agent_settings_diff\":null}", MODEL,
                  "\"openai/fast\"");
    expect_change(state, "{\"active_profile\":null}", "active_profile", "null");
    expect_kept(state, MODEL, "\"openai/fast\"");
}

static void pointers_are_set_and_cleared(void **state)
{
    char body[120];

    forget_all();
    post(state, "/api/meta-profiles/m",
         "{\"classifier_model\":\"c\",\"classes\":[{\"description\":\"d\",\"model\":\"p\"}]}");
    expect_change(state, "{\"active_meta_profile\":\"m\"}", "active_meta_profile", "\"m\"");
    expect_kept(state, "agent_settings.active_meta_profile", "\"m\"");
    expect_kept(state, "agent_settings.enable_classify_and_switch_llm_tool", "true");
    expect_change(state, "{\"active_meta_profile\":null}", "active_meta_profile", "null");
    expect_kept(state, "agent_settings.active_meta_profile", "null");
    expect_kept(state, "agent_settings.enable_classify_and_switch_llm_tool", "false");
    {
        DISPATCH(got, ALICE, "GET", "/api/agent-profiles/default", NULL);
        json_auto_t *json = answer_json(&got);
        const char *id = json_text_or(json_object_get(json, "profile"), "id", "");
        char value[60];

        (void)snprintf(body, sizeof(body), "{\"active_agent_profile_id\":\"%s\"}", id);
        (void)snprintf(value, sizeof(value), "\"%s\"", id);
        expect_change(state, body, "active_agent_profile_id", value);
        expect_change(state, "{\"active_agent_profile_id\":null}", "active_agent_profile_id",
                      "null");
    }
}

static void wrong_changes_are_told_and_not_stored(void **state)
{
    static const char dict[] = "\"Input should be a valid dictionary\"";
    static const char text[] = "\"Input should be a valid string\"";
    static const struct {
        const char *body;
        int status;
        const char *path;
        const char *value;
    } rows[] = {
        {"{}", 400, "detail", "\"No settings were given\""},
        {"{\"agent_settings_diff\":null,\"conversation_settings_diff\":null,"
         "\"misc_settings_diff\":null}",
         400, "detail", "\"No settings were given\""},
        {"[]", 422, "detail[0].type", "\"model_attributes_type\""},
        {"{\"agent_settings_diff\":1}", 422, "detail[0].msg", dict},
        {"{\"agent_settings_diff\":[]}", 422, "detail[0].loc",
         "[\"body\",\"agent_settings_diff\"]"},
        {"{\"conversation_settings_diff\":[]}", 422, "detail[0].loc",
         "[\"body\",\"conversation_settings_diff\"]"},
        {"{\"misc_settings_diff\":[]}", 422, "detail[0].loc", "[\"body\",\"misc_settings_diff\"]"},
        {"{\"active_profile\":1}", 422, "detail[0].msg", text},
        {"{\"active_agent_profile_id\":1}", 422, "detail[0].loc",
         "[\"body\",\"active_agent_profile_id\"]"},
        {"{\"active_meta_profile\":1}", 422, "detail[0].loc", "[\"body\",\"active_meta_profile\"]"},
        {"{\"active_agent_profile_id\":\"x\"}", 422, "detail[0].type", "\"uuid_parsing\""},
        {"{\"active_agent_profile_id\":\"00000000-0000-4000-8000-000000000000\"}", 404, "detail",
         "\"Agent profile '00000000-0000-4000-8000-000000000000' not found\""},
        {"{\"active_profile\":\"none\"}", 404, "detail", "\"Profile 'none' not found\""},
        {"{\"active_meta_profile\":\"none\"}", 404, "detail", "\"Meta-profile 'none' not found\""},
    };

    forget_all();
    expect_change(state, "{\"misc_settings_diff\":{\"a\":1}}", "misc_settings", "{\"a\":1}");
    {
        DISPATCH(before, ALICE, "GET", SETTINGS, NULL);

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
            DISPATCH(answer, ALICE, "PATCH", SETTINGS, rows[i].body);

            if (answer.status != rows[i].status)
                fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
            assert_json_at(answer.body.text, rows[i].path, rows[i].value);
        }
        expect_kept(state, "", before.body.text);
    }
}

static void conversation_settings_are_merged(void **state)
{
    forget_all();
    expect_change(state, "{\"conversation_settings_diff\":{\"max_iterations\":7}}",
                  "conversation_settings.max_iterations", "7");
    expect_change(state, "{\"conversation_settings_diff\":{\"confirmation_mode\":true}}",
                  "conversation_settings.max_iterations", "7");
    expect_kept(state, "conversation_settings.confirmation_mode", "true");
}

/* A model's profile says nothing about an external agent. */
static void external_agents_have_no_model_of_ours(void **state)
{
    forget_all();
    post(state, "/api/profiles/fast", "{\"llm\":{\"model\":\"openai/fast\"}}");
    post(state, "/api/meta-profiles/m",
         "{\"classifier_model\":\"c\",\"classes\":[{\"description\":\"d\",\"model\":\"p\"}]}");
    expect_change(state,
                  "{\"agent_settings_diff\":{\"agent_kind\":\"acp\",\"acp_server\":"
                  "\"claude-code\"}}",
                  "agent_settings.acp_server", "\"claude-code\"");
    {
        DISPATCH(activated, ALICE, "POST", "/api/profiles/fast/activate", NULL);
        DISPATCH(meta, ALICE, "POST", "/api/meta-profiles/m/activate", NULL);

        assert_json_at(activated.body.text, "llm_applied", "false");
        assert_json_at(meta.body.text, "applied", "false");
    }
    expect_kept(state, "active_profile", "\"fast\"");
    expect_kept(state, "active_meta_profile", "\"m\"");
    expect_kept(state, "agent_settings.agent_kind", "\"acp\"");
    expect_change(state, "{\"active_profile\":\"fast\"}", "agent_settings.acp_server",
                  "\"claude-code\"");
    {
        DISPATCH(profile, ALICE, "GET", "/api/agent-profiles/default", NULL);

        assert_json_at(profile.body.text, "profile.agent_kind", "\"acp\"");
        assert_json_at(profile.body.text, "profile.acp_server", "\"claude-code\"");
        assert_json_at(profile.body.text, "profile.enable_sub_agents", NULL);
    }
    expect_change(state, "{\"agent_settings_diff\":{\"agent_kind\":\"openhands\"}}",
                  "agent_settings.acp_server", NULL);
    expect_kept(state, "agent_settings.agent_kind", "\"openhands\"");
}

static void default_profile_is_made_of_the_settings(void **state)
{
    static const struct {
        const char *path;
        const char *value;
    } rows[] = {
        {"profile.agent_kind", "\"openhands\""},
        {"profile.persona", "\"P\""},
        {"profile.tool_concurrency_limit", "3"},
        {"profile.tools[0].name", "\"terminal\""},
        {"profile.condenser.max_size", "60"},
        {"profile.system_message_suffix", "\"S\""},
        {"profile.llm_profile_ref", "\"fast\""},
        {"profile.meta_profile_ref", "\"m\""},
        {"profile.enable_classify_and_switch_llm_tool", "true"},
    };

    forget_all();
    post(state, "/api/profiles/fast", "{\"llm\":{\"model\":\"openai/fast\"}}");
    post(state, "/api/meta-profiles/m",
         "{\"classifier_model\":\"c\",\"classes\":[{\"description\":\"d\",\"model\":\"p\"}]}");
    expect_change(state,
                  "{\"active_profile\":\"fast\",\"active_meta_profile\":\"m\","
                  "\"agent_settings_diff\":{\"persona\":\"P\",\"tool_concurrency_limit\":3,"
                  "\"tools\":[{\"name\":\"terminal\"}],\"condenser\":{\"max_size\":60},"
                  "\"agent_context\":{\"system_message_suffix\":\"S\"}}}",
                  "active_profile", "\"fast\"");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH(profile, ALICE, "GET", "/api/agent-profiles/default", NULL);
        assert_json_at(profile.body.text, rows[i].path, rows[i].value);
    }
}

/* --- servers of tools --- */

#define SERVER "{\"transport\":\"http\",\"url\":\"https://a.test\"}"
#define MCP SETTINGS "/mcp/"

static void servers_are_added_changed_and_removed(void **state)
{
    forget_all();
    {
        DISPATCH(added, ALICE, "POST", MCP "one", SERVER);
        DISPATCH(again, ALICE, "POST", MCP "one", SERVER);
        DISPATCH(changed, ALICE, "PATCH", MCP "one",
                 "{\"headers\":{\"A\":\"1\"},\"auth\":{\"strategy\":\"bearer\",\"value\":\"v\"}}");
        DISPATCH(other, ALICE, "PATCH", MCP "one",
                 "{\"auth\":{\"strategy\":\"api_key\",\"value\":\"w\"}}");
        DISPATCH(missing, ALICE, "PATCH", MCP "two", "{}");

        assert_int_equal(added.status, 201);
        assert_json_at(added.body.text, "agent_settings.mcp_config.one.url", "\"https://a.test\"");
        assert_answer_json(&again, 409, "{\"detail\":\"MCP server 'one' already exists\"}");
        assert_int_equal(changed.status, 200);
        assert_json_at(changed.body.text, "agent_settings.mcp_config.one.url",
                       "\"https://a.test\"");
        assert_json_at(changed.body.text, "agent_settings.mcp_config.one.headers.A",
                       "\"**********\"");
        assert_json_at(changed.body.text, "agent_settings.mcp_config.one.auth.value",
                       "\"**********\"");
        assert_int_equal(other.status, 200);
        assert_json_at(other.body.text, "agent_settings.mcp_config.one.auth.strategy",
                       "\"api_key\"");
        assert_answer_json(&missing, 404, "{\"detail\":\"MCP server 'two' not found\"}");
    }
    {
        DISPATCH(wrong, ALICE, "POST", MCP "two", "{\"transport\":\"http\",\"url\":1}");
        DISPATCH(unknown, ALICE, "PATCH", MCP "one", "{\"stranger\":1}");
        DISPATCH(typed, ALICE, "POST", MCP "two", "[]");
        DISPATCH(gone, ALICE, "DELETE", MCP "one", NULL);
        DISPATCH(again, ALICE, "DELETE", MCP "one", NULL);

        assert_int_equal(wrong.status, 422);
        assert_json_at(wrong.body.text, "detail[0].loc[0]", "\"body\"");
        assert_int_equal(unknown.status, 422);
        assert_json_at(unknown.body.text, "detail[0].type", "\"extra_forbidden\"");
        assert_int_equal(typed.status, 422);
        assert_int_equal(gone.status, 200);
        assert_json_at(gone.body.text, "agent_settings.mcp_config", "{}");
        assert_answer_json(&again, 404, "{\"detail\":\"MCP server 'one' not found\"}");
    }
}

static void names_of_servers_are_checked(void **state)
{
    char path[400];

    forget_all();
    for (int len = 256; len <= 257; len++) {
        (void)snprintf(path, sizeof(path), MCP "%0*d", len, 0);
        {
            DISPATCH(answer, ALICE, "POST", path, SERVER);

            assert_int_equal(answer.status, len == 256 ? 201 : 422);
            if (len == 257)
                assert_answer_json(
                    &answer, 422,
                    "{\"detail\":\"The name of an MCP server must have 1 to 256 characters\"}");
        }
    }
    {
        DISPATCH(slash, ALICE, "POST", MCP "a%2Fb", SERVER);
        assert_int_equal(slash.status, 422);
    }
    forget_all();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile_brings_its_model_unless_another_is_given),
        cmocka_unit_test(pointers_are_set_and_cleared),
        cmocka_unit_test(wrong_changes_are_told_and_not_stored),
        cmocka_unit_test(conversation_settings_are_merged),
        cmocka_unit_test(external_agents_have_no_model_of_ours),
        cmocka_unit_test(default_profile_is_made_of_the_settings),
        cmocka_unit_test(servers_are_added_changed_and_removed),
        cmocka_unit_test(names_of_servers_are_checked),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

/*
 * A user's documents, through the dispatcher: settings, secrets, profiles, connections.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fixture.h"
#include "llm/llm_error.h"
#include "llm/route.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define KEY "sk-kept-4711"
#define LLM_BODY "{\"llm\":{\"model\":\"openai/gpt-5.5\",\"api_key\":\"" KEY "\"}}"

/* One request of Alice that must be answered so. */
static void expect(void *state, const char *method, const char *path, const char *body, int status,
                   const char *text)
{
    CLEANUP(test_answer_done) struct test_answer answer =
        test_dispatch(state, ALICE, method, path, body);

    assert_answer(&answer, status, text);
}

/* GET of Alice with the header; the answer's JSON. */
static json_t *get_exposed(void *state, const char *path, const char *exposure)
{
    struct fixture *fixture = state;
    CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
    const char *params[] = {"DEFT_ORIGIN=agent", NULL, NULL, NULL};

    strbuf_appendf(&key, "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    strbuf_appendf(&header, "HTTP_X_EXPOSE_SECRETS=%s", exposure);
    params[1] = key.text;
    params[2] = header.text;
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(state, params, "GET", path, NULL);

        return answer_json(&answer);
    }
}

static const char *key_of(const json_t *json, const char *member)
{
    return json_text_or(json_object_get(json, member), "api_key", "(null)");
}

static void settings_begin_with_defaults(void **state)
{
    CLEANUP(test_answer_done) struct test_answer answer =
        test_dispatch(*state, BOB, "GET", "/api/settings", NULL);
    json_auto_t *json = answer_json(&answer);
    json_t *agent = json_object_get(json, "agent_settings");

    assert_int_equal(answer.status, 200);
    assert_int_equal(json_int_or(agent, "schema_version", 0), 9);
    assert_int_equal(json_int_or(json_object_get(agent, "condenser"), "max_size", 0), 240);
    assert_true(json_is_null(json_object_get(agent, "tools")));
    assert_false(json_is_true(json_object_get(json, "llm_api_key_is_set")));
    assert_true(json_is_null(json_object_get(json, "active_profile")));
}

static void change_merges_and_hides_the_key(void **state)
{
    json_auto_t *plain = NULL;
    json_auto_t *sealed = NULL;
    const char *token = NULL;

    expect(*state, "PATCH", "/api/settings",
           "{\"agent_settings_diff\":{\"llm\":{\"model\":\"openai/a\",\"api_key\":\"" KEY "\"}}}",
           200, "\"api_key\":\"**********\"");
    expect(*state, "PATCH", "/api/settings",
           "{\"agent_settings_diff\":{\"llm\":{\"temperature\":0.5,\"api_key\":\"**********\"}}}",
           200, "\"model\":\"openai/a\"");
    plain = get_exposed(*state, "/api/settings", "plaintext");
    assert_string_equal(key_of(json_object_get(plain, "agent_settings"), "llm"), KEY);
    sealed = get_exposed(*state, "/api/settings", "encrypted");
    token = key_of(json_object_get(sealed, "agent_settings"), "llm");
    assert_true(text_starts_with(token, "gAAAA"));
    assert_int_equal(test_sql_count("SELECT count(*) FROM documents"
                                    " WHERE documents::text LIKE '%kept-4711%'"),
                     0);
}

static void sealed_key_comes_back_as_it_was(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *sealed = NULL;
    json_auto_t *plain = NULL;

    expect(*state, "POST", "/api/profiles/first", LLM_BODY, 201, "\"name\":\"first\"");
    sealed = get_exposed(*state, "/api/profiles/first", "encrypted");
    strbuf_appendf(&body, "{\"llm\":{\"model\":\"openai/b\",\"api_key\":\"%s\"}}",
                   key_of(sealed, "config"));
    expect(*state, "POST", "/api/profiles/second", body.text, 201, "second");
    plain = get_exposed(*state, "/api/profiles/second", "plaintext");
    assert_string_equal(key_of(plain, "config"), KEY);
}

static void token_of_another_server_is_refused(void **state)
{
    expect(*state, "POST", "/api/profiles/foreign",
           "{\"llm\":{\"model\":\"m\",\"api_key\":\"gAAAAABnotours\"}}", 422, "cannot open");
    expect(*state, "GET", "/api/profiles/foreign", NULL, 404, "Profile 'foreign' not found");
}

static void wrong_settings_change_nothing(void **state)
{
    expect(*state, "PATCH", "/api/settings", "{}", 400, "detail");
    expect(*state, "PATCH", "/api/settings",
           "{\"misc_settings_diff\":{\"half\":1},\"agent_settings_diff\":{\"llm\":{\"timeout\":"
           "\"x\"}}}",
           422, "Settings validation failed");
    expect(*state, "PATCH", "/api/settings", "{\"agent_settings_diff\":[]}", 422, "dict_type");
    expect(*state, "PATCH", "/api/settings", "{\"active_profile\":\"nobody\"}", 404, "not found");
    expect(*state, "PATCH", "/api/settings", "{\"active_meta_profile\":\"nobody\"}", 404,
           "not found");
    expect(*state, "PATCH", "/api/settings",
           "{\"active_agent_profile_id\":\"00000000-0000-4000-8000-000000000000\"}", 404,
           "not found");
    expect(*state, "PATCH", "/api/settings",
           "{\"conversation_settings_diff\":{\"worktree_base\":\"ref\"}}", 422,
           "worktree_base_ref");
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "GET", "/api/settings", NULL);

        assert_json_at(answer.body.text, "misc_settings.half", NULL);
    }
}

static void retired_switches_become_tools(void **state)
{
    expect(*state, "PATCH", "/api/settings",
           "{\"agent_settings_diff\":{\"enable_sub_agents\":true}}", 200, "task_tool_set");
    expect(*state, "PATCH", "/api/settings", "{\"agent_settings_diff\":{\"tools\":null}}", 200,
           "\"tools\":null");
}

static void servers_own_model_has_the_servers_key(void **state)
{
    struct fixture *fixture = *state;

    fixture->settings.model = "openai/own";
    secret_set(&fixture->settings.model_key, "sk-server");
    expect(*state, "PATCH", "/api/settings",
           "{\"agent_settings_diff\":{\"llm\":{\"model\":\"openai/own\",\"api_key\":null}}}", 200,
           "\"llm_api_key_is_set\":true");
    expect(*state, "PATCH", "/api/settings",
           "{\"agent_settings_diff\":{\"llm\":{\"model\":\"openai/else\"}}}", 200,
           "\"llm_api_key_is_set\":false");
    fixture->settings.model = "";
    secret_done(&fixture->settings.model_key);
}

static void null_inside_a_map_removes(void **state)
{
    expect(*state, "PATCH", "/api/settings",
           "{\"misc_settings_diff\":{\"app\":{\"a\":1,\"list\":[1,2]}}}", 200,
           "\"misc_settings\":{\"app\":{\"a\":1,\"list\":[1,2]}}");
    expect(*state, "PATCH", "/api/settings",
           "{\"misc_settings_diff\":{\"app\":{\"a\":null,\"list\":[3]}}}", 200,
           "\"misc_settings\":{\"app\":{\"list\":[3]}}");
}

static void active_profile_brings_its_model(void **state)
{
    json_auto_t *plain = NULL;

    expect(*state, "POST", "/api/profiles/active", LLM_BODY, 201, "active");
    expect(*state, "POST", "/api/profiles/active/activate", NULL, 200, "\"llm_applied\":true");
    plain = get_exposed(*state, "/api/settings", "plaintext");
    assert_string_equal(json_text_or(plain, "active_profile", ""), "active");
    assert_string_equal(key_of(json_object_get(plain, "agent_settings"), "llm"), KEY);
    expect(*state, "POST", "/api/profiles/active/rename", "{\"new_name\":\"moved\"}", 200, "moved");
    expect(*state, "GET", "/api/profiles", NULL, 200, "\"active_profile\":\"moved\"");
    expect(*state, "DELETE", "/api/profiles/moved", NULL, 200, "deleted");
    expect(*state, "DELETE", "/api/profiles/moved", NULL, 200, "deleted");
    expect(*state, "GET", "/api/settings", NULL, 200, "\"active_profile\":null");
}

static void profile_names_and_limits_are_checked(void **state)
{
    expect(*state, "POST", "/api/profiles/-bad", LLM_BODY, 422, "string_pattern_mismatch");
    expect(*state, "POST", "/api/profiles/x", "{}", 422, "missing");
    expect(*state, "POST", "/api/profiles/x", "{\"llm\":3}", 422, "detail");
    expect(*state, "POST", "/api/profiles/one", LLM_BODY, 201, "one");
    expect(*state, "POST", "/api/profiles/two", LLM_BODY, 201, "two");
    expect(*state, "POST", "/api/profiles/one/rename", "{\"new_name\":\"two\"}", 409,
           "already exists");
    expect(*state, "POST", "/api/profiles/none/rename", "{\"new_name\":\"three\"}", 404,
           "not found");
    expect(*state, "POST", "/api/profiles/bare",
           "{\"include_secrets\":false,\"llm\":{\"model\":\"m\","
           "\"api_key\":\"" KEY "\"}}",
           201, "bare");
    expect(*state, "GET", "/api/profiles/bare", NULL, 200, "\"api_key_set\":false");
}

static void connection_lends_its_key(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(test_answer_done) struct test_answer answer =
        test_dispatch(*state, ALICE, "POST", "/api/llm/provider-connections",
                      "{\"display_name\":\"Work\",\"api_key\":\"" KEY "\","
                      "\"base_url\":\"https://llm.example.test/v1\"}");
    json_auto_t *made = answer_json(&answer);
    json_auto_t *plain = NULL;

    assert_int_equal(answer.status, 201);
    assert_json_at(answer.body.text, "api_key_set", "true");
    assert_null(strstr(answer.body.text, KEY));
    strbuf_appendf(&body, "{\"llm\":{\"model\":\"m\",\"provider_connection_id\":\"%s\"}}",
                   json_text_or(made, "id", ""));
    expect(*state, "POST", "/api/profiles/linked", body.text, 201, "linked");
    plain = get_exposed(*state, "/api/profiles/linked", "plaintext");
    assert_string_equal(key_of(plain, "config"), KEY);
    assert_string_equal(json_text_or(json_object_get(plain, "config"), "base_url", ""),
                        "https://llm.example.test/v1");
    strbuf_appendf(&path, "/api/llm/provider-connections/%s", json_text_or(made, "id", ""));
    expect(*state, "PATCH", path.text, "{\"display_name\":\"Home\"}", 200, "Home");
    expect(*state, "PATCH", path.text, "{\"stranger\":1}", 422, "extra_forbidden");
    expect(*state, "DELETE", path.text, NULL, 200, "Home");
    expect(*state, "DELETE", path.text, NULL, 404, "not found");
    expect(*state, "GET", "/api/profiles", NULL, 200, "\"provider_connection_broken\":true");
    expect(*state, "POST", "/api/llm/provider-connections",
           "{\"display_name\":\"\",\"api_key\":\"x\"}", 422, "detail");
}

static void secret_is_kept_and_listed_without_its_value(void **state)
{
    expect(*state, "PUT", "/api/settings/secrets",
           "{\"name\":\"TOKEN\",\"value\":\"v-81\",\"description\":\"d\"}", 200, "\"TOKEN\"");
    expect(*state, "GET", "/api/settings/secrets", NULL, 200, "\"description\":\"d\"");
    expect(*state, "GET", "/api/settings/secrets/TOKEN", NULL, 200, "v-81");
    expect(*state, "DELETE", "/api/settings/secrets/TOKEN", NULL, 200, "{\"deleted\":true}");
    expect(*state, "GET", "/api/settings/secrets/TOKEN", NULL, 404, "Secret not found");
    expect(*state, "PUT", "/api/settings/secrets", "{\"name\":\"1BAD\",\"value\":\"v\"}", 422,
           "pattern");
    expect(*state, "PUT", "/api/settings/secrets", "{\"name\":\"A\",\"value\":\"  \"}", 422,
           "must not be empty or redacted");
    expect(*state, "PUT", "/api/settings/secrets", "{\"name\":\"A\",\"value\":\"**********\"}", 422,
           "must not be empty or redacted");
}

static void value_that_is_too_short_to_be_hidden_is_kept_with_a_warning(void **state)
{
    expect(*state, "PUT", "/api/settings/secrets", "{\"name\":\"PIN\",\"value\":\" 12345\\n\"}",
           200,
           "not masked in events and outputs, because their values have fewer than 6 characters: "
           "PIN.");
    expect(*state, "PUT", "/api/settings/secrets", "{\"name\":\"PIN\",\"value\":\"123456\"}", 200,
           "{\"name\":\"PIN\",\"description\":null}");
}

static void mcp_server_is_added_changed_and_removed(void **state)
{
    json_auto_t *plain = NULL;
    json_t *server = NULL;

    expect(*state, "POST", "/api/settings/mcp/docs",
           "{\"transport\":\"http\",\"url\":\"https://mcp.example.test\","
           "\"headers\":{\"Authorization\":\"Bearer t\"}}",
           201, "\"Authorization\":\"**********\"");
    expect(*state, "POST", "/api/settings/mcp/docs", "{\"url\":\"https://x.test\"}", 409, "exists");
    expect(*state, "POST", "/api/settings/mcp/bad", "{\"stranger\":1}", 422, "extra_forbidden");
    expect(*state, "PATCH", "/api/settings/mcp/docs", "{\"timeout\":5}", 200, "\"timeout\":5");
    plain = get_exposed(*state, "/api/settings", "plaintext");
    server = json_object_get(
        json_object_get(json_object_get(plain, "agent_settings"), "mcp_config"), "docs");
    assert_string_equal(json_text_or(json_object_get(server, "headers"), "Authorization", ""),
                        "Bearer t");
    expect(*state, "DELETE", "/api/settings/mcp/docs", NULL, 200, "\"mcp_config\":{}");
    expect(*state, "DELETE", "/api/settings/mcp/docs", NULL, 404, "not found");
}

static void header_of_unknown_words_is_refused(void **state)
{
    json_auto_t *settings = get_exposed(*state, "/api/settings", "please");

    assert_non_null(strstr(json_text_or(settings, "detail", ""), "X-Expose-Secrets"));
}

static void nobody_sees_what_another_user_keeps(void **state)
{
    CLEANUP(test_answer_done) struct test_answer answer = {.head = STRBUF_INIT,
                                                           .body = STRBUF_INIT};

    expect(*state, "POST", "/api/profiles/mine", LLM_BODY, 201, "mine");
    answer = test_dispatch(*state, BOB, "GET", "/api/profiles/mine", NULL);
    assert_answer(&answer, 404, "not found");
}

static void default_agent_profile_is_always_there(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *first = NULL;
    json_auto_t *second = NULL;
    json_t *profile = NULL;

    expect(*state, "GET", "/api/agent-profiles/default", NULL, 200, "\"agent_kind\":\"openhands\"");
    expect(*state, "GET", "/api/agent-profiles", NULL, 200, "\"name\":\"default\"");
    first = get_exposed(*state, "/api/agent-profiles/default", "plaintext");
    profile = json_object_get(first, "profile");
    expect(*state, "GET", "/api/settings", NULL, 200, json_text_or(profile, "id", "?"));
    expect(*state, "DELETE", "/api/agent-profiles/default", NULL, 200, "deleted");
    second = get_exposed(*state, "/api/agent-profiles", "plaintext");
    assert_string_not_equal(json_text_or(second, "active_agent_profile_id", ""),
                            json_text_or(profile, "id", ""));
    strbuf_appendf(&path, "/api/agent-profiles/%s/activate",
                   json_text_or(second, "active_agent_profile_id", ""));
    expect(*state, "POST", path.text, NULL, 200, "\"agent_settings_applied\":false");
    expect(*state, "POST", "/api/agent-profiles/xyz/activate", NULL, 422, "uuid_parsing");
    expect(*state, "POST", "/api/agent-profiles/00000000-0000-4000-8000-000000000000/activate",
           NULL, 404, "not found");
}

static void default_agent_profile_is_made_of_the_settings(void **state)
{
    CLEANUP(test_answer_done) struct test_answer changed = test_dispatch(
        *state, BOB, "PATCH", "/api/settings",
        "{\"agent_settings_diff\":{\"persona\":\"A poet.\",\"condenser\":{\"max_size\":60},"
        "\"agent_context\":{\"system_message_suffix\":\"Rhyme.\"}}}");
    CLEANUP(test_answer_done) struct test_answer made =
        test_dispatch(*state, BOB, "GET", "/api/agent-profiles/default", NULL);

    assert_answer(&changed, 200, "A poet.");
    assert_int_equal(made.status, 200);
    assert_json_at(made.body.text, "profile.persona", "\"A poet.\"");
    assert_json_at(made.body.text, "profile.system_message_suffix", "\"Rhyme.\"");
    assert_json_at(made.body.text, "profile.condenser.max_size", "60");
    assert_null(strstr(made.body.text, "critic_api_key"));
}

static void agent_profile_counts_its_revisions(void **state)
{
    expect(*state, "POST", "/api/agent-profiles/coder", "{\"llm_profile_ref\":\"fast\"}", 201,
           "coder");
    expect(*state, "POST", "/api/agent-profiles/coder",
           "{\"llm_profile_ref\":\"fast\",\"secret_refs\":[\"A\"]}", 201, "coder");
    expect(*state, "GET", "/api/agent-profiles/coder", NULL, 200, "\"revision\":2");
    expect(*state, "POST", "/api/agent-profiles/coder",
           "{\"llm_profile_ref\":\"fast\",\"stranger\":true}", 422, "extra_forbidden");
    expect(*state, "POST", "/api/agent-profiles/coder", "{}", 422, "missing");
    expect(*state, "POST", "/api/agent-profiles/coder/rename", "{\"new_name\":\"writer\"}", 200,
           "writer");
    expect(*state, "GET", "/api/agent-profiles/coder", NULL, 404, "not found");
}

static void materialize_tells_what_is_dangling(void **state)
{
    expect(*state, "POST", "/api/agent-profiles/default/materialize", NULL, 200, "\"valid\":true");
    expect(*state, "POST", "/api/agent-profiles/none/materialize", NULL, 404, "not found");
    expect(*state, "POST", "/api/agent-profiles/x/materialize",
           "{\"profile\":{\"llm_profile_ref\":\"nowhere\",\"name\":\"x\","
           "\"mcp_server_refs\":[\"gone\"],\"tools\":[{\"name\":\"teleport\"}],"
           "\"meta_profile_ref\":\"lost\"}}",
           200, "\"dangling_mcp_server_refs\":[\"gone\"]");
    expect(*state, "POST", "/api/agent-profiles/x/materialize",
           "{\"profile\":{\"llm_profile_ref\":\"nowhere\",\"tools\":[{\"name\":\"teleport\"}]}}",
           200, "\"unusable_tools\":[\"teleport\"]");
    expect(*state, "POST", "/api/agent-profiles/x/materialize", "{\"profile\":{\"x\":1}}", 422,
           "extra_forbidden");
}

static void meta_profile_leads_the_settings(void **state)
{
    expect(*state, "POST", "/api/meta-profiles/m", "{\"classifier_model\":\"c\"}", 422, "classes");
    expect(*state, "POST", "/api/meta-profiles/m",
           "{\"classifier_model\":\"c\",\"classes\":[{\"description\":\"d\",\"model\":\"p\"}]}",
           201, "\"name\":\"m\"");
    expect(*state, "GET", "/api/meta-profiles/m", NULL, 200, "\"classifier_model\":\"c\"");
    expect(*state, "GET", "/api/meta-profiles", NULL, 200, "\"num_classes\":1");
    expect(*state, "POST", "/api/meta-profiles/m/activate", NULL, 200, "\"applied\":true");
    expect(*state, "GET", "/api/settings", NULL, 200, "\"active_meta_profile\":\"m\"");
    expect(*state, "GET", "/api/settings", NULL, 200,
           "\"enable_classify_and_switch_llm_tool\":true");
    expect(*state, "DELETE", "/api/meta-profiles/m", NULL, 200, "deleted");
    expect(*state, "DELETE", "/api/meta-profiles/m", NULL, 200, "deleted");
    expect(*state, "GET", "/api/settings", NULL, 200,
           "\"enable_classify_and_switch_llm_tool\":false");
    expect(*state, "GET", "/api/meta-profiles/m", NULL, 404, "Meta-profile 'm' not found");
    expect(*state, "POST", "/api/meta-profiles/m/activate", NULL, 404, "not found");
}

/* A profile of Alice that allows the secret A alone; its id. */
static void make_launchable(void *state, struct strbuf *id)
{
    json_auto_t *json = NULL;

    expect(state, "POST", "/api/profiles/fast", LLM_BODY, 201, "fast");
    expect(state, "POST", "/api/agent-profiles/only-a",
           "{\"llm_profile_ref\":\"fast\",\"secret_refs\":[\"A\"]}", 201, "only-a");
    json = get_exposed(state, "/api/agent-profiles/only-a", "plaintext");
    strbuf_append(id, json_text_or(json_object_get(json, "profile"), "id", ""));
}

static void launched_profile_decides_model_and_secrets(void **state)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(test_answer_done) struct test_answer answer = {.head = STRBUF_INIT,
                                                           .body = STRBUF_INIT};
    json_auto_t *info = NULL;

    make_launchable(*state, &id);
    strbuf_appendf(&body,
                   "{\"agent_profile_id\":\"%s\",\"workspace\":{\"working_dir\":\"/w\"},"
                   "\"agent_launch_additions\":{\"system_message_suffix_append\":\"Be kind.\"},"
                   "\"secrets\":{\"A\":{\"kind\":\"StaticSecret\",\"value\":\"1\"},"
                   "\"B\":{\"kind\":\"StaticSecret\",\"value\":\"2\"}}}",
                   id.text);
    answer = test_dispatch(*state, ALICE, "POST", "/api/conversations", body.text);
    assert_int_equal(answer.status, 201);
    assert_json_at(answer.body.text, "launched_agent_profile.llm_profile_ref", "\"fast\"");
    assert_non_null(strstr(answer.body.text, "Be kind."));
    assert_json_at(answer.body.text, "agent.llm.model", "\"openai/gpt-5.5\"");
    assert_json_at(answer.body.text, "secret_registry.secret_sources.A.kind", "\"StaticSecret\"");
    assert_json_at(answer.body.text, "secret_registry.secret_sources.B", NULL);
    info = answer_json(&answer);
    strbuf_appendf(&path, "/api/conversations/%s/secrets", json_text_or(info, "id", ""));
    expect(*state, "POST", path.text, "{\"secrets\":{\"B\":\"3\"}}", 200, "success");
    strbuf_truncate(&path, path.len - strlen("/secrets"));
    {
        CLEANUP(test_answer_done) struct test_answer later =
            test_dispatch(*state, ALICE, "GET", path.text, NULL);
        char quoted[60];

        (void)snprintf(quoted, sizeof(quoted), "\"%s\"", id.text);
        assert_int_equal(later.status, 200);
        assert_json_at(later.body.text, "launched_agent_profile.agent_profile_id", quoted);
        assert_json_at(later.body.text, "secret_registry.secret_sources.B", NULL);
    }
}

static void launches_that_cannot_be_are_refused(void **state)
{
#define WORKSPACE "\"workspace\":{\"working_dir\":\"/w\"}"
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    expect(*state, "POST", "/api/conversations",
           "{" WORKSPACE ",\"agent_profile_id\":\"00000000-0000-4000-8000-000000000000\"}", 404,
           "not found");
    expect(*state, "POST", "/api/conversations", "{" WORKSPACE ",\"agent_profile_id\":\"x\"}", 422,
           "uuid_parsing");
    expect(*state, "POST", "/api/conversations",
           "{" WORKSPACE ",\"agent_settings\":{},"
           "\"agent_launch_additions\":{\"llm_profile_ref\":\"fast\"}}",
           422, "needs an agent_profile_id");
    expect(*state, "POST", "/api/conversations",
           "{" WORKSPACE ",\"agent_settings\":{},\"agent_launch_additions\":{\"x\":1}}", 422,
           "extra_forbidden");
    expect(*state, "POST", "/api/conversations",
           "{" WORKSPACE ",\"agent_settings\":{\"llm\":{\"model\":\"m\","
           "\"provider_connection_id\":\"gone\"}}}",
           422, "Provider connection 'gone' not found");
    make_launchable(*state, &id);
    strbuf_appendf(&body, "{" WORKSPACE ",\"agent_settings\":{},\"agent_profile_id\":\"%s\"}",
                   id.text);
    expect(*state, "POST", "/api/conversations", body.text, 422, "excludes");
    expect(*state, "POST", "/api/agent-profiles/only-a",
           "{\"llm_profile_ref\":\"fast\",\"mcp_server_refs\":[\"gone\"]}", 201, "only-a");
    strbuf_reset(&body);
    strbuf_appendf(&body, "{" WORKSPACE ",\"agent_profile_id\":\"%s\"}", id.text);
    expect(*state, "POST", "/api/conversations", body.text, 422,
           "\"dangling_mcp_server_refs\":[\"gone\"]");
}

static void sealed_secrets_start_a_conversation(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    json_auto_t *sealed = NULL;

    expect(*state, "POST", "/api/profiles/sealed", LLM_BODY, 201, "sealed");
    sealed = get_exposed(*state, "/api/profiles/sealed", "encrypted");
    strbuf_appendf(&body,
                   "{" WORKSPACE ",\"secrets_encrypted\":true,\"agent_settings\":{\"llm\":"
                   "{\"model\":\"openai/b\",\"api_key\":\"%s\"}}}",
                   key_of(sealed, "config"));
    expect(*state, "POST", "/api/conversations", body.text, 201, "openai/b");
    expect(*state, "POST", "/api/conversations",
           "{" WORKSPACE ",\"secrets_encrypted\":true,\"agent_settings\":{\"llm\":"
           "{\"model\":\"m\",\"api_key\":\"gAAAAABforeign\"}}}",
           422, "cannot open");
}

static void schemas_describe_real_fields(void **state)
{
    expect(*state, "GET", "/api/settings/agent-schema", NULL, 200, "{\"key\":\"llm.model\"");
    expect(*state, "GET", "/api/settings/agent-schema", NULL, 200,
           "\"default\":null,\"prominence\":\"critical\",\"depends_on\":[],\"secret\":true");
    expect(*state, "GET", "/api/settings/conversation-schema", NULL, 200,
           "\"depends_on\":[\"confirmation_mode\"]");
}

static void every_provider_of_the_catalogue_can_be_called(void **state)
{
    json_auto_t *json = get_exposed(*state, "/api/llm/models", "plaintext");
    json_t *models = json_object_get(json, "models");
    json_t *model = NULL;
    size_t i = 0;

    assert_true(json_array_size(models) > 50);
    json_array_foreach (models, i, model) {
        CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
        struct llm_error trouble = {0};

        if (llm_route_find(json_string_value(model), NULL, &route, &trouble) < 0)
            fail_msg("%s cannot be called", json_string_value(model));
    }
    expect(*state, "GET", "/api/llm/providers", NULL, 200, "\"openai\"");
    expect(*state, "GET", "/api/llm/models/verified", NULL, 200, "{\"openai\":[\"gpt-5.5\"");
    expect(*state, "GET", "/api/llm/models?provider=nobody", NULL, 200, "{\"models\":[]}");
}

static void what_deft_has_not_is_said_plainly(void **state)
{
    expect(*state, "GET", "/api/llm/subscription/openai/status", NULL, 200, "\"connected\":false");
    expect(*state, "POST", "/api/llm/subscription/openai/device/start", NULL, 501, "subscriptions");
    expect(*state, "POST", "/api/acp/models", "{\"agent_settings\":{\"agent_kind\":\"acp\"}}", 200,
           "ACPSpawnError");
    expect(*state, "POST", "/api/acp/models", "{\"agent_settings\":{}}", 422, "value_error");
}

static void workspaces_are_kept_by_their_path(void **state)
{
    expect(*state, "POST", "/api/workspaces",
           "{\"workspaces\":[{\"id\":\"1\",\"name\":\"a\",\"path\":\"/w/a\"}]}", 200, "/w/a");
    expect(*state, "POST", "/api/workspaces",
           "{\"workspaces\":[{\"id\":\"2\",\"name\":\"b\",\"path\":\"/w/a\"}]}", 200,
           "{\"workspaces\":[{\"id\":\"2\",\"name\":\"b\",\"path\":\"/w/a\",\"parentPath\":null}]");
    expect(*state, "POST", "/api/workspaces/parents",
           "{\"parents\":[{\"id\":\"3\",\"name\":\"w\",\"path\":\"/w\"}]}", 200,
           "\"workspaceParents\":[{\"id\":\"3\",\"name\":\"w\",\"path\":\"/w\"}]");
    expect(*state, "POST", "/api/workspaces", "{\"workspaces\":[{\"id\":\"\"}]}", 422, "missing");
    expect(*state, "DELETE", "/api/workspaces", NULL, 422, "missing");
    expect(*state, "DELETE", "/api/workspaces?path=/w/a", NULL, 200, "{\"deleted\":true}");
    expect(*state, "DELETE", "/api/workspaces?path=/w/a", NULL, 404, "not found");
    expect(*state, "DELETE", "/api/workspaces/parents?path=%2Fw", NULL, 200, "{\"deleted\":true}");
}

struct saver {
    void *state;
    struct test_answer answer;
};

static void *save_raced(void *argument)
{
    struct saver *saver = argument;

    saver->answer = test_dispatch(saver->state, ALICE, "POST", "/api/profiles/raced", LLM_BODY);
    return NULL;
}

/* Another writer changes the profile between the reading and the writing of it. */
static void profile_that_changes_meanwhile_is_saved_nevertheless(void **state)
{
    struct saver saver = {.state = *state};
    struct test_tx *writer = NULL;
    pthread_t thread = 0;

    expect(*state, "POST", "/api/profiles/raced", LLM_BODY, 201, "raced");
    writer = test_tx_begin();
    test_tx_sql(writer, "UPDATE documents SET revision = revision + 1 WHERE name = 'raced'");
    assert_int_equal(pthread_create(&thread, NULL, save_raced, &saver), 0);
    test_wait_blocked();
    test_tx_commit(writer);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_answer(&saver.answer, 201, "raced");
    test_answer_done(&saver.answer);
    expect(*state, "DELETE", "/api/profiles/raced", NULL, 200, "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_begin_with_defaults),
        cmocka_unit_test(change_merges_and_hides_the_key),
        cmocka_unit_test(sealed_key_comes_back_as_it_was),
        cmocka_unit_test(token_of_another_server_is_refused),
        cmocka_unit_test(wrong_settings_change_nothing),
        cmocka_unit_test(retired_switches_become_tools),
        cmocka_unit_test(servers_own_model_has_the_servers_key),
        cmocka_unit_test(null_inside_a_map_removes),
        cmocka_unit_test(active_profile_brings_its_model),
        cmocka_unit_test(profile_names_and_limits_are_checked),
        cmocka_unit_test(connection_lends_its_key),
        cmocka_unit_test(secret_is_kept_and_listed_without_its_value),
        cmocka_unit_test(value_that_is_too_short_to_be_hidden_is_kept_with_a_warning),
        cmocka_unit_test(mcp_server_is_added_changed_and_removed),
        cmocka_unit_test(default_agent_profile_is_always_there),
        cmocka_unit_test(default_agent_profile_is_made_of_the_settings),
        cmocka_unit_test(agent_profile_counts_its_revisions),
        cmocka_unit_test(materialize_tells_what_is_dangling),
        cmocka_unit_test(meta_profile_leads_the_settings),
        cmocka_unit_test(launched_profile_decides_model_and_secrets),
        cmocka_unit_test(launches_that_cannot_be_are_refused),
        cmocka_unit_test(sealed_secrets_start_a_conversation),
        cmocka_unit_test(schemas_describe_real_fields),
        cmocka_unit_test(every_provider_of_the_catalogue_can_be_called),
        cmocka_unit_test(what_deft_has_not_is_said_plainly),
        cmocka_unit_test(workspaces_are_kept_by_their_path),
        cmocka_unit_test(header_of_unknown_words_is_refused),
        cmocka_unit_test(nobody_sees_what_another_user_keeps),
        cmocka_unit_test(profile_that_changes_meanwhile_is_saved_nevertheless),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

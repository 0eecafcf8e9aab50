/*
 * The answers of the routes for profiles, connections and secrets, whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define KEY "sk-kept-4711"
#define LLM(members) "{\"llm\":{\"model\":\"openai/a\"" members "}}"
#define WITH_KEY LLM(",\"api_key\":\"" KEY "\"")

/* A request of Alice and its whole answer. */
static void expect(void **state, const char *method, const char *path, const char *body, int status,
                   const char *answer_text)
{
    DISPATCH(answer, ALICE, method, path, body);

    assert_answer_json(&answer, status, answer_text);
}

/* A request of Alice and a member of its answer. */
static void expect_at(void **state, const char *method, const char *path, const char *body,
                      int status, const char *where, const char *value)
{
    DISPATCH(answer, ALICE, method, path, body);

    if (answer.status != status)
        fail_msg("%s %s: %d %s", method, path, answer.status, answer.body.text);
    assert_json_at(answer.body.text, where, value);
}

static struct test_answer get_exposed(void **state, const char *path, const char *exposure)
{
    const struct fixture *fixture = *state;
    char key[128];
    char header[80];
    const char *params[] = {"DEFT_ORIGIN=agent", key, header, NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    (void)snprintf(header, sizeof(header), "HTTP_X_EXPOSE_SECRETS=%s", exposure);
    return test_dispatch_with(*state, params, "GET", path, NULL);
}

static void forget_all(void)
{
    test_sql("DELETE FROM documents");
}

#define MESSAGE(name, message) "{\"name\":\"" name "\",\"message\":\"" message "\"}"
#define DETAIL(text) "{\"detail\":\"" text "\"}"

/* --- profiles of models --- */

static void profile_is_saved_listed_moved_and_deleted(void **state)
{
    forget_all();
    expect(state, "POST", "/api/profiles/one", WITH_KEY, 201,
           MESSAGE("one", "Profile 'one' saved"));
    expect(state, "POST", "/api/profiles/two", LLM(",\"base_url\":\"http://b\""), 201,
           MESSAGE("two", "Profile 'two' saved"));
    expect(state, "GET", "/api/profiles", NULL, 200,
           "{\"profiles\":[{\"name\":\"one\",\"model\":\"openai/a\",\"base_url\":null,"
           "\"provider_connection_id\":null,\"provider_connection_broken\":false,"
           "\"api_key_set\":true},{\"name\":\"two\",\"model\":\"openai/a\",\"base_url\":"
           "\"http://b\",\"provider_connection_id\":null,\"provider_connection_broken\":false,"
           "\"api_key_set\":false}],\"active_profile\":null}");
    expect(state, "POST", "/api/profiles/one/activate", NULL, 200,
           "{\"name\":\"one\",\"message\":\"Profile 'one' activated\",\"llm_applied\":true}");
    expect(state, "POST", "/api/profiles/one/rename", "{\"new_name\":\"three\"}", 200,
           MESSAGE("three", "Profile 'one' renamed to 'three'"));
    expect(state, "POST", "/api/profiles/three/rename", "{\"new_name\":\"two\"}", 409,
           DETAIL("Profile 'two' already exists"));
    expect(state, "POST", "/api/profiles/one/rename", "{\"new_name\":\"x\"}", 404,
           DETAIL("Profile 'one' not found"));
    expect_at(state, "GET", "/api/profiles", NULL, 200, "active_profile", "\"three\"");
    expect(state, "DELETE", "/api/profiles/two", NULL, 200,
           MESSAGE("two", "Profile 'two' deleted"));
    expect_at(state, "GET", "/api/profiles", NULL, 200, "active_profile", "\"three\"");
    expect(state, "DELETE", "/api/profiles/three", NULL, 200,
           MESSAGE("three", "Profile 'three' deleted"));
    expect(state, "DELETE", "/api/profiles/three", NULL, 200,
           MESSAGE("three", "Profile 'three' deleted"));
    expect(state, "GET", "/api/profiles", NULL, 200, "{\"profiles\":[],\"active_profile\":null}");
    expect(state, "GET", "/api/profiles/three", NULL, 404, DETAIL("Profile 'three' not found"));
    expect(state, "POST", "/api/profiles/three/activate", NULL, 404,
           DETAIL("Profile 'three' not found"));
}

static void names_of_profiles_are_checked_everywhere(void **state)
{
    static const char *const calls[][2] = {
        {"GET", "/api/profiles/-x"},           {"POST", "/api/profiles/-x"},
        {"DELETE", "/api/profiles/-x"},        {"POST", "/api/profiles/-x/validate"},
        {"POST", "/api/profiles/-x/activate"}, {"GET", "/api/agent-profiles/-x"},
        {"POST", "/api/agent-profiles/-x"},    {"DELETE", "/api/agent-profiles/-x"},
        {"GET", "/api/meta-profiles/-x"},      {"POST", "/api/meta-profiles/-x"},
        {"DELETE", "/api/meta-profiles/-x"},   {"POST", "/api/meta-profiles/-x/activate"},
    };
    static const char problem[] =
        "{\"type\":\"string_pattern_mismatch\",\"loc\":[\"path\",\"name\"],\"msg\":\"String should "
        "match pattern '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'\",\"input\":\"-x\",\"ctx\":{\"pattern\":"
        "\"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$\"}}";
    char path[120];

    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        expect_at(state, calls[i][0], calls[i][1], "{}", 422, "detail[0]", problem);
    for (int len = 64; len <= 65; len++) {
        (void)snprintf(path, sizeof(path), "/api/profiles/a._-%0*d", len - 4, 0);
        expect_at(state, "POST", path, WITH_KEY, len == 64 ? 201 : 422, "name",
                  len == 64 ? "\"a._-000000000000000000000000000000000000000000000000000000000000\""
                            : NULL);
    }
    expect_at(state, "POST", "/api/profiles/x/rename", "{\"new_name\":\"-x\"}", 422,
              "detail[0].loc", "[\"body\",\"new_name\"]");
    expect_at(state, "POST", "/api/profiles/x/rename", "{\"new_name\":\"\"}", 422, "detail[0].type",
              "\"string_too_short\"");
    expect_at(state, "POST", "/api/profiles/x/rename", "{}", 422, "detail[0].type", "\"missing\"");
    expect_at(state, "POST", "/api/agent-profiles/x/rename", "{\"new_name\":\"-x\"}", 422,
              "detail[0].loc", "[\"body\",\"new_name\"]");
}

static void members_of_a_profile_are_checked(void **state)
{
    forget_all();
    expect_at(state, "POST", "/api/profiles/x", "{}", 422, "detail[0].loc", "[\"body\",\"llm\"]");
    expect_at(state, "POST", "/api/profiles/x", "{\"llm\":{\"model\":1}}", 422, "detail[0].loc",
              "[\"body\",\"llm\",\"model\"]");
    expect_at(state, "POST", "/api/profiles/x",
              "{\"include_secrets\":\"x\",\"llm\":{\"model\":\"m\"}}", 422, "detail[0].loc",
              "[\"body\",\"include_secrets\"]");
    expect_at(state, "POST", "/api/profiles/x/validate", "{}", 422, "detail[0].loc",
              "[\"body\",\"llm\"]");
    expect(state, "GET", "/api/profiles/x", NULL, 404, DETAIL("Profile 'x' not found"));
}

static void keys_of_profiles_are_shown_as_asked_for(void **state)
{
    forget_all();
    expect(state, "POST", "/api/profiles/p", WITH_KEY, 201, MESSAGE("p", "Profile 'p' saved"));
    expect_at(state, "GET", "/api/profiles/p", NULL, 200, "config.api_key", "\"**********\"");
    expect_at(state, "GET", "/api/profiles/p", NULL, 200, "name", "\"p\"");
    expect_at(state, "GET", "/api/profiles/p", NULL, 200, "api_key_set", "true");
    {
        CLEANUP(test_answer_done) struct test_answer plain =
            get_exposed(state, "/api/profiles/p", "PlainText");
        CLEANUP(test_answer_done) struct test_answer sealed =
            get_exposed(state, "/api/profiles/p", "true");
        CLEANUP(test_answer_done) struct test_answer wrong =
            get_exposed(state, "/api/profiles/p", "yes");
        json_auto_t *profile = answer_json(&sealed);

        assert_json_at(plain.body.text, "config.api_key", "\"" KEY "\"");
        assert_true(text_starts_with(
            json_text_or(json_object_get(profile, "config"), "api_key", ""), "gAAAA"));
        assert_answer_json(&wrong, 400,
                           DETAIL("X-Expose-Secrets must be 'encrypted' or 'plaintext'"));
    }
    /* A masked key stands for the stored one. */
    expect(state, "POST", "/api/profiles/p", LLM(",\"api_key\":\"**********\",\"temperature\":1"),
           201, MESSAGE("p", "Profile 'p' saved"));
    expect_at(state, "GET", "/api/profiles/p", NULL, 200, "config.temperature", "1");
    {
        CLEANUP(test_answer_done) struct test_answer plain =
            get_exposed(state, "/api/profiles/p", "plaintext");
        assert_json_at(plain.body.text, "config.api_key", "\"" KEY "\"");
    }
    expect(state, "POST", "/api/profiles/p",
           "{\"include_secrets\":false,\"llm\":{\"model\":\"m\",\"api_key\":\"" KEY "\"}}", 201,
           MESSAGE("p", "Profile 'p' saved"));
    expect_at(state, "GET", "/api/profiles/p", NULL, 200, "config.api_key", "null");
    expect_at(state, "GET", "/api/profiles/p", NULL, 200, "api_key_set", "false");
}

/* Fills a collection of Alice so that it has that many documents. */
static void fill(void **state, const char *collection, int n)
{
    const struct fixture *fixture = *state;
    char sql[300];

    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO documents (user_id, collection, name, id, body) SELECT '%s', '%s',"
                   " 'f' || i, gen_random_uuid(), '{}' FROM generate_series(1, %d) i",
                   fixture->alice.text, collection, n);
    test_sql(sql);
}

static void each_collection_has_a_limit(void **state)
{
    static const struct {
        const char *collection;
        int max;
        const char *method;
        const char *path;
        const char *body;
    } rows[] = {
        {"profiles", 50, "POST", "/api/profiles", WITH_KEY},
        {"agent_profiles", 50, "POST", "/api/agent-profiles", "{\"llm_profile_ref\":\"x\"}"},
        {"meta_profiles", 50, "POST", "/api/meta-profiles",
         "{\"classifier_model\":\"c\",\"classes\":[{\"description\":\"d\",\"model\":\"p\"}]}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char path[60];

        forget_all();
        fill(state, rows[i].collection, rows[i].max - 1);
        for (int at = 0; at < 3; at++) {
            (void)snprintf(path, sizeof(path), "%s/%s", rows[i].path, at == 1 ? "more" : "last");
            {
                DISPATCH(answer, ALICE, rows[i].method, path, rows[i].body);

                if (answer.status != (at == 1 ? 409 : 201))
                    fail_msg("%s: %d %s", path, answer.status, answer.body.text);
            }
        }
    }
    forget_all();
}

/* --- connections --- */

#define CONNECTIONS "/api/llm/provider-connections"

static void add_connection(void **state, const char *body, char path_out[100])
{
    DISPATCH(answer, ALICE, "POST", CONNECTIONS, body);
    json_auto_t *json = answer_json(&answer);

    assert_int_equal(answer.status, 201);
    (void)snprintf(path_out, 100, CONNECTIONS "/%s", json_text_or(json, "id", ""));
}

static void connection_keeps_what_a_change_does_not_name(void **state)
{
    char path[100];

    forget_all();
    add_connection(
        state, "{\"display_name\":\"A\",\"api_key\":\"" KEY "\",\"base_url\":\"http://b\"}", path);
    expect_at(state, "GET", CONNECTIONS, NULL, 200, "[0].provider", "\"custom\"");
    expect_at(state, "GET", CONNECTIONS, NULL, 200, "[0].display_name", "\"A\"");
    expect_at(state, "GET", CONNECTIONS, NULL, 200, "[0].api_key", NULL);
    expect_at(state, "GET", CONNECTIONS, NULL, 200, "[0].api_key_set", "true");
    expect_at(state, "PATCH", path, "{\"provider\":\"openai\",\"display_name\":null}", 200,
              "provider", "\"openai\"");
    expect_at(state, "PATCH", path, "{\"api_key\":\"**********\"}", 200, "display_name", "\"A\"");
    expect_at(state, "PATCH", path, "{\"api_key\":\" \"}", 200, "base_url", "\"http://b\"");
    expect_at(state, "PATCH", path, "{\"base_url\":null,\"provider\":null}", 200, "base_url",
              "null");
    expect_at(state, "PATCH", path, "{\"display_name\":\"B\"}", 200, "provider", "\"openai\"");
    expect_at(state, "GET", CONNECTIONS, NULL, 200, "[0].display_name", "\"B\"");
    expect_at(state, "GET", CONNECTIONS, NULL, 200, "[1]", NULL);
    assert_int_equal(test_sql_count("SELECT count(*) FROM documents WHERE body LIKE '%4711%'"), 0);
    expect_at(state, "DELETE", path, NULL, 200, "display_name", "\"B\"");
    expect(state, "GET", CONNECTIONS, NULL, 200, "[]");
}

static void connection_that_is_gone_is_named(void **state)
{
    static const char text[] = DETAIL("Provider connection 'none' not found");

    forget_all();
    expect(state, "PATCH", CONNECTIONS "/none", "{}", 404, text);
    expect(state, "DELETE", CONNECTIONS "/none", NULL, 404, text);
}

static void wrong_connections_are_named(void **state)
{
    static const struct {
        const char *body;
        const char *where;
    } rows[] = {
        {"{\"api_key\":\"k\"}", "[\"body\",\"display_name\"]"},
        {"{\"display_name\":\"a\"}", "[\"body\",\"api_key\"]"},
        {"{\"display_name\":\" \",\"api_key\":\"k\"}", "[\"body\",\"display_name\"]"},
        {"{\"display_name\":\"a\",\"provider\":\" \",\"api_key\":\"k\"}",
         "[\"body\",\"provider\"]"},
        {"{\"display_name\":\"a\",\"api_key\":\" \"}", "[\"body\",\"api_key\"]"},
        {"{\"display_name\":\"a\",\"api_key\":\"**********\"}", "[\"body\",\"api_key\"]"},
        {"{\"display_name\":\"a\",\"api_key\":\"k\",\"base_url\":1}", "[\"body\",\"base_url\"]"},
        {"{\"display_name\":\"a\",\"api_key\":\"k\",\"x\":1}", "[\"body\",\"x\"]"},
    };
    char path[100];

    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_at(state, "POST", CONNECTIONS, rows[i].body, 422, "detail[0].loc", rows[i].where);
    expect(state, "GET", CONNECTIONS, NULL, 200, "[]");
    add_connection(state, "{\"display_name\":\"A\",\"api_key\":\"" KEY "\"}", path);
    expect_at(state, "PATCH", path, "{\"display_name\":\"\"}", 422, "detail[0].loc",
              "[\"body\",\"display_name\"]");
    expect_at(state, "PATCH", path, "{\"api_key\":1}", 422, "detail[0].loc",
              "[\"body\",\"api_key\"]");
    expect_at(state, "GET", CONNECTIONS, NULL, 200, "[0].display_name", "\"A\"");
}

static void profile_of_a_connection_has_its_key(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    char path[100];

    forget_all();
    add_connection(state, "{\"display_name\":\"A\",\"api_key\":\"" KEY "\"}", path);
    strbuf_appendf(&body, "{\"llm\":{\"model\":\"m\",\"provider_connection_id\":\"%s\"}}",
                   path + strlen(CONNECTIONS "/"));
    expect(state, "POST", "/api/profiles/p", body.text, 201, MESSAGE("p", "Profile 'p' saved"));
    expect_at(state, "GET", "/api/profiles", NULL, 200, "profiles[0].api_key_set", "true");
    expect_at(state, "GET", "/api/profiles", NULL, 200, "profiles[0].provider_connection_broken",
              "false");
    expect_at(state, "GET", "/api/profiles/p", NULL, 200, "api_key_set", "true");
    expect_at(state, "DELETE", path, NULL, 200, "display_name", "\"A\"");
    expect_at(state, "GET", "/api/profiles", NULL, 200, "profiles[0].api_key_set", "false");
    expect_at(state, "GET", "/api/profiles", NULL, 200, "profiles[0].provider_connection_broken",
              "true");
    expect_at(state, "GET", "/api/profiles/p", NULL, 200, "api_key_set", "false");
}

/* --- meta-profiles --- */

#define META "{\"classifier_model\":\"c\",\"classes\":[{\"description\":\"d\",\"model\":\"p\"}]}"

static void meta_profile_is_saved_listed_activated_and_deleted(void **state)
{
    static const char deleted[] = MESSAGE("m", "Meta-profile 'm' deleted");

    forget_all();
    expect(state, "POST", "/api/meta-profiles/m", META, 201,
           MESSAGE("m", "Meta-profile 'm' saved"));
    expect(state, "POST", "/api/meta-profiles/n", META, 201,
           MESSAGE("n", "Meta-profile 'n' saved"));
    expect_at(state, "GET", "/api/meta-profiles/m", NULL, 200, "name", "\"m\"");
    expect_at(state, "GET", "/api/meta-profiles/m", NULL, 200, "config.classes[0].model", "\"p\"");
    expect(state, "POST", "/api/meta-profiles/m/activate", NULL, 200,
           "{\"name\":\"m\",\"message\":\"Meta-profile 'm' activated\",\"applied\":true}");
    expect(state, "GET", "/api/meta-profiles", NULL, 200,
           "{\"meta_profiles\":[{\"name\":\"m\",\"classifier_model\":\"c\",\"num_classes\":1},"
           "{\"name\":\"n\",\"classifier_model\":\"c\",\"num_classes\":1}],"
           "\"active_meta_profile\":\"m\"}");
    expect(state, "DELETE", "/api/meta-profiles/n", NULL, 200,
           MESSAGE("n", "Meta-profile 'n' deleted"));
    expect_at(state, "GET", "/api/settings", NULL, 200, "active_meta_profile", "\"m\"");
    expect_at(state, "GET", "/api/settings", NULL, 200, "agent_settings.active_meta_profile",
              "\"m\"");
    expect(state, "DELETE", "/api/meta-profiles/m", NULL, 200, deleted);
    expect(state, "DELETE", "/api/meta-profiles/m", NULL, 200, deleted);
    expect_at(state, "GET", "/api/settings", NULL, 200, "active_meta_profile", "null");
    expect(state, "GET", "/api/meta-profiles", NULL, 200,
           "{\"meta_profiles\":[],\"active_meta_profile\":null}");
    expect(state, "GET", "/api/meta-profiles/m", NULL, 404, DETAIL("Meta-profile 'm' not found"));
    expect(state, "POST", "/api/meta-profiles/m/activate", NULL, 404,
           DETAIL("Meta-profile 'm' not found"));
}

/* --- profiles of agents --- */

#define CODER "{\"llm_profile_ref\":\"fast\",\"mcp_server_refs\":[\"a\"]}"

static void agent_profile_is_saved_listed_moved_and_deleted(void **state)
{
    char activate[100];
    char text[200];

    forget_all();
    expect(state, "POST", "/api/agent-profiles/coder", CODER, 201,
           MESSAGE("coder", "Agent profile 'coder' saved"));
    expect(state, "POST", "/api/agent-profiles/coder/rename", "{\"new_name\":\"writer\"}", 200,
           MESSAGE("writer", "Agent profile 'coder' renamed to 'writer'"));
    expect(state, "POST", "/api/agent-profiles/coder", CODER, 201,
           MESSAGE("coder", "Agent profile 'coder' saved"));
    expect(state, "POST", "/api/agent-profiles/coder/rename", "{\"new_name\":\"writer\"}", 409,
           DETAIL("Agent profile 'writer' already exists"));
    {
        DISPATCH(got, ALICE, "GET", "/api/agent-profiles/writer", NULL);
        DISPATCH(listed, ALICE, "GET", "/api/agent-profiles", NULL);
        json_auto_t *json = answer_json(&got);
        const char *id = json_text_or(json_object_get(json, "profile"), "id", "");

        assert_json_at(got.body.text, "name", "\"writer\"");
        assert_json_at(got.body.text, "profile.name", "\"writer\"");
        assert_json_at(got.body.text, "profile.llm_profile_ref", "\"fast\"");
        assert_json_at(got.body.text, "profile.enable_sub_agents", "false");
        assert_json_at(listed.body.text, "profiles[0].name", "\"coder\"");
        assert_json_at(listed.body.text, "profiles[1].name", "\"default\"");
        assert_json_at(listed.body.text, "profiles[2].name", "\"writer\"");
        assert_json_at(listed.body.text, "profiles[2].llm_profile_ref", "\"fast\"");
        assert_json_at(listed.body.text, "profiles[2].agent_kind", "\"openhands\"");
        assert_json_at(listed.body.text, "profiles[2].mcp_server_refs", "[\"a\"]");
        (void)snprintf(text, sizeof(text), "\"%s\"", id);
        assert_json_at(listed.body.text, "profiles[2].id", text);
        (void)snprintf(activate, sizeof(activate), "/api/agent-profiles/%s/activate", id);
        (void)snprintf(text, sizeof(text),
                       "{\"id\":\"%s\",\"message\":\"Agent profile 'writer' activated\","
                       "\"agent_settings_applied\":false}",
                       id);
        expect(state, "POST", activate, NULL, 200, text);
        (void)snprintf(text, sizeof(text), "\"%s\"", id);
        expect_at(state, "GET", "/api/agent-profiles", NULL, 200, "active_agent_profile_id", text);
    }
    expect(state, "DELETE", "/api/agent-profiles/writer", NULL, 200,
           MESSAGE("writer", "Agent profile 'writer' deleted"));
    expect(state, "DELETE", "/api/agent-profiles/writer", NULL, 200,
           MESSAGE("writer", "Agent profile 'writer' deleted"));
    expect(state, "GET", "/api/agent-profiles/writer", NULL, 404,
           DETAIL("Agent profile 'writer' not found"));
    expect(state, "POST", "/api/agent-profiles/00000000-0000-4000-8000-000000000000/activate", NULL,
           404, DETAIL("Agent profile '00000000-0000-4000-8000-000000000000' not found"));
    expect_at(state, "POST", "/api/agent-profiles/x/activate", NULL, 422, "detail[0].loc",
              "[\"path\",\"profile_id\"]");
}

static void drafts_are_resolved_and_checked(void **state)
{
#define MATERIALIZE "/api/agent-profiles/default/materialize"
    static const char *const empty[] = {NULL, " ", "null", "{}", "{\"profile\":null}"};
    static const char *const wrong[] = {"[]", "{\"x\":1}", "1"};

    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
        expect_at(state, "POST", MATERIALIZE, empty[i], 200, "valid", "true");
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        expect_at(state, "POST", MATERIALIZE, wrong[i], 422, "detail[0].type",
                  "\"extra_forbidden\"");
    expect_at(state, "POST", MATERIALIZE, "{", 422, "detail[0].type", "\"json_invalid\"");
    expect_at(state, "POST", MATERIALIZE, "{\"profile\":{\"x\":1}}", 422, "detail[0].loc[1]",
              "\"profile\"");
    expect_at(state, "POST", MATERIALIZE, "{\"profile\":{\"llm_profile_ref\":\"none\"}}", 200,
              "valid", "false");
}

/* --- secrets --- */

#define SECRETS "/api/settings/secrets"

static void secret_is_kept_listed_and_deleted(void **state)
{
    forget_all();
    expect(state, "PUT", SECRETS, "{\"name\":\"A_1\",\"value\":\"value-1\"}", 200,
           "{\"name\":\"A_1\",\"description\":null}");
    expect(state, "PUT", SECRETS, "{\"name\":\"B\",\"value\":\"value-2\",\"description\":\"d\"}",
           200, "{\"name\":\"B\",\"description\":\"d\"}");
    expect(state, "GET", SECRETS, NULL, 200,
           "{\"secrets\":[{\"name\":\"A_1\",\"description\":null},{\"name\":\"B\","
           "\"description\":\"d\"}]}");
    expect(state, "GET", SECRETS "?agent_profile_id=x", NULL, 404,
           DETAIL("Agent profile not found"));
    expect(state, "GET", SECRETS "?agent_profile_id=00000000-0000-4000-8000-000000000000", NULL,
           404, DETAIL("Agent profile not found"));
    {
        DISPATCH(value, ALICE, "GET", SECRETS "/A_1", NULL);

        assert_answer(&value, 200, "value-1");
        assert_int_equal(value.body.len, 7);
        assert_non_null(strstr(value.head.text, "Content-Type: text/plain; charset=utf-8\r\n"));
    }
    expect(state, "PUT", SECRETS, "{\"name\":\"PIN\",\"value\":\"12345\"}", 200,
           "{\"name\":\"PIN\",\"description\":null,\"warning\":\"These secrets are stored but not "
           "masked in events and outputs, because their values have fewer than 6 characters: PIN. "
           "Use longer values.\"}");
    expect(state, "DELETE", SECRETS "/A_1", NULL, 200, "{\"deleted\":true}");
    expect(state, "DELETE", SECRETS "/A_1", NULL, 404, DETAIL("Secret not found"));
    expect(state, "GET", SECRETS "/A_1", NULL, 404, DETAIL("Secret not found"));
}

static void secrets_of_a_profile_are_those_that_it_names(void **state)
{
    char path[120];

    forget_all();
    expect_at(state, "PUT", SECRETS, "{\"name\":\"A\",\"value\":\"value-1\"}", 200, "name",
              "\"A\"");
    expect_at(state, "PUT", SECRETS, "{\"name\":\"B\",\"value\":\"value-2\"}", 200, "name",
              "\"B\"");
    expect_at(state, "POST", "/api/agent-profiles/p",
              "{\"llm_profile_ref\":\"x\",\"secret_refs\":[\"B\"]}", 201, "name", "\"p\"");
    {
        DISPATCH(got, ALICE, "GET", "/api/agent-profiles/p", NULL);
        json_auto_t *json = answer_json(&got);

        (void)snprintf(path, sizeof(path), SECRETS "?agent_profile_id=%s",
                       json_text_or(json_object_get(json, "profile"), "id", ""));
    }
    expect(state, "GET", path, NULL, 200, "{\"secrets\":[{\"name\":\"B\",\"description\":null}]}");
}

static void wrong_secrets_are_named(void **state)
{
    static const struct {
        const char *body;
        const char *path;
        const char *value;
    } rows[] = {
        {"{\"value\":\"v\"}", "detail[0].loc", "[\"body\",\"name\"]"},
        {"{\"name\":\"A\"}", "detail[0].loc", "[\"body\",\"value\"]"},
        {"{\"name\":\"A\",\"value\":\"v\",\"description\":1}", "detail[0].loc",
         "[\"body\",\"description\"]"},
        {"{\"name\":\"\",\"value\":\"v\"}", "detail[0].type", "\"string_pattern_mismatch\""},
        {"{\"name\":\"1A\",\"value\":\"v\"}", "detail[0].type", "\"string_pattern_mismatch\""},
        {"{\"name\":\"A-B\",\"value\":\"v\"}", "detail[0].loc", "[\"body\",\"name\"]"},
        {"{\"name\":\"A\",\"value\":\"\"}", "detail",
         "\"Secret value must not be empty or redacted\""},
        {"{\"name\":\"A\",\"value\":\"**********\"}", "detail",
         "\"Secret value must not be empty or redacted\""},
    };

    forget_all();
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_at(state, "PUT", SECRETS, rows[i].body, 422, rows[i].path, rows[i].value);
    expect(state, "GET", SECRETS, NULL, 200, "{\"secrets\":[]}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile_is_saved_listed_moved_and_deleted),
        cmocka_unit_test(names_of_profiles_are_checked_everywhere),
        cmocka_unit_test(members_of_a_profile_are_checked),
        cmocka_unit_test(keys_of_profiles_are_shown_as_asked_for),
        cmocka_unit_test(each_collection_has_a_limit),
        cmocka_unit_test(connection_keeps_what_a_change_does_not_name),
        cmocka_unit_test(connection_that_is_gone_is_named),
        cmocka_unit_test(wrong_connections_are_named),
        cmocka_unit_test(profile_of_a_connection_has_its_key),
        cmocka_unit_test(meta_profile_is_saved_listed_activated_and_deleted),
        cmocka_unit_test(agent_profile_is_saved_listed_moved_and_deleted),
        cmocka_unit_test(drafts_are_resolved_and_checked),
        cmocka_unit_test(secret_is_kept_listed_and_deleted),
        cmocka_unit_test(secrets_of_a_profile_are_those_that_it_names),
        cmocka_unit_test(wrong_secrets_are_named),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

/*
 * Each place of a secret: it leaves the object, is shown as a marker or null, and returns.
 */
#include "model/secrets/secret_places.h"

#include <string.h>

#include "base/attr.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_length.h"
#include "model/secrets/secret_registry.h"
#include "unit/model/model_test.h"

/* "a/b/c" as {"a": {"b": {"c": value}}}. A new reference; value is taken over. */
static json_t *nested(const char *path, json_t *value)
{
    CLEANUP(mem_freep) char *rest = mem_dup_text(path);
    json_t *inner = value;
    char *slash = strrchr(rest, '/');

    while (slash != NULL) {
        json_t *outer = json_object();

        json_put(outer, slash + 1, inner);
        inner = outer;
        *slash = '\0';
        slash = strrchr(rest, '/');
    }
    value = json_object();
    json_put(value, rest, inner);
    return value;
}

struct place_case {
    const char *path;
    bool is_blanked;
};

#define OF_A_MODEL(prefix)                                                                         \
    {prefix "api_key", true}, {prefix "aws_access_key_id", true},                                  \
        {prefix "aws_secret_access_key", true}, {prefix "aws_session_token", true},                \
    {                                                                                              \
        prefix "extra_headers/X-Any", false                                                        \
    }

#define OF_A_SERVER(prefix)                                                                        \
    {prefix "env/E", false}, {prefix "headers/H", false}, {prefix "auth/value", false},            \
        {prefix "auth/password", false}, {prefix "auth/headers/H", false},                         \
        {prefix "auth/authentication/client_secret", false},                                       \
        {prefix "auth/state/tokens/access_token", false},                                          \
        {prefix "auth/state/tokens/refresh_token", false},                                         \
        {prefix "auth/state/tokens/id_token", false},                                              \
        {prefix "auth/state/client_info/client_secret", false},                                    \
    {                                                                                              \
        prefix "auth/state/client_info/registration_access_token", false                           \
    }

#define OF_A_CONTEXT(prefix)                                                                       \
    {prefix "secrets/S", false}, {prefix "secrets/S/value", true},                                 \
    {                                                                                              \
        prefix "secrets/S/headers/H", false                                                        \
    }

static const struct place_case spec_cases[] = {
    OF_A_MODEL("agent/llm/"),
    OF_A_MODEL("agent/condenser/llm/"),
    {"agent/critic/api_key", true},
    {"agent/critic/llm/api_key", true},
    OF_A_SERVER("agent/mcp_config/server/"),
    OF_A_CONTEXT("agent/agent_context/"),
    {"security_analyzer/api_key", true},
    {"secret_registry/secret_sources/S/value", true},
    {"secret_registry/secret_sources/S/headers/H", false},
};

static const struct place_case settings_cases[] = {
    OF_A_MODEL("llm/"),
    OF_A_MODEL("meta_profile_llms/any/"),
    OF_A_SERVER("mcp_config/server/"),
    OF_A_CONTEXT("agent_context/"),
    {"verification/critic_api_key", true},
};

static const struct place_case llm_cases[] = {OF_A_MODEL("")};
static const struct place_case server_cases[] = {OF_A_SERVER("")};

static const struct place_case request_cases[] = {
    OF_A_MODEL("agent/llm/"),
    OF_A_MODEL("agent/condenser/llm/"),
    {"agent/critic/api_key", true},
    {"agent/critic/llm/api_key", true},
    OF_A_SERVER("agent/mcp_config/server/"),
    OF_A_SERVER("agent/mcp_config/mcpServers/server/"),
    OF_A_CONTEXT("agent/agent_context/"),
    OF_A_MODEL("agent_settings/llm/"),
    OF_A_MODEL("agent_settings/meta_profile_llms/any/"),
    OF_A_SERVER("agent_settings/mcp_config/server/"),
    OF_A_SERVER("agent_settings/mcp_config/mcpServers/server/"),
    OF_A_CONTEXT("agent_settings/agent_context/"),
    {"agent_settings/verification/critic_api_key", true},
    {"security_analyzer/api_key", true},
    OF_A_CONTEXT(""),
};

static void assert_nested(json_t *object, const char *path, json_t *value)
{
    json_auto_t *expected = nested(path, value);

    assert_json_equal(object, expected);
}

static void places_of_a_specification_are_taken_shown_and_restored(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(spec_cases); i++) {
        const struct place_case *place = &spec_cases[i];
        json_auto_t *spec = nested(place->path, json_string("hush"));
        json_auto_t *shown = NULL;
        json_auto_t *members = json_object();
        json_auto_t *expected = json_object();

        secret_places_take(spec, members);
        json_put(expected, place->path, json_string("hush"));
        assert_json_equal(members, expected);
        assert_nested(spec, place->path, json_string(secret_marker));
        shown = json_deep_copy(spec);
        secret_places_blank(shown);
        assert_nested(shown, place->path,
                      place->is_blanked ? json_null() : json_string(secret_marker));
        secret_places_restore(spec, members);
        assert_nested(spec, place->path, json_string("hush"));
    }
}

static void each_condenser_of_a_pipeline_has_its_secrets(void **state)
{
    static const struct place_case members_of_a_model[] = {OF_A_MODEL("llm/")};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(members_of_a_model); i++) {
        const char *path = members_of_a_model[i].path;
        CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf second = STRBUF_INIT;
        json_t *list = json_array();
        json_auto_t *spec = NULL;
        json_auto_t *whole = NULL;
        json_auto_t *members = json_object();

        json_push(list, nested(path, json_string("one")));
        json_push(list, nested(path, json_string("two")));
        spec = nested("agent/condenser/condensers", list);
        whole = json_deep_copy(spec);
        secret_places_take(spec, members);
        strbuf_appendf(&first, "agent/condenser/condensers/0/%s", path);
        strbuf_appendf(&second, "agent/condenser/condensers/1/%s", path);
        assert_string_equal(json_text_or(members, first.text, ""), "one");
        assert_string_equal(json_text_or(members, second.text, ""), "two");
        assert_int_equal(json_object_size(members), 2);
        secret_places_restore(spec, members);
        assert_json_equal(spec, whole);
    }
}

static void assert_places(const struct secret_table *table, const struct place_case *cases,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_auto_t *object = nested(cases[i].path, json_string("hush"));
        json_auto_t *empty = nested(cases[i].path, json_string(""));
        json_auto_t *members = json_object();
        json_auto_t *none = json_object();
        json_auto_t *expected = json_object();

        secrets_take(table, object, members);
        json_put(expected, cases[i].path, json_string("hush"));
        assert_json_equal(members, expected);
        assert_nested(object, cases[i].path, json_string(secret_marker));
        secrets_restore(table, object, members);
        assert_nested(object, cases[i].path, json_string("hush"));
        /* nothing is lost if the marker comes back without its secret */
        secrets_take(table, object, members);
        secrets_restore(table, object, none);
        assert_nested(object, cases[i].path, cases[i].is_blanked ? json_null() : json_string(""));
        secrets_take(table, empty, none);
        assert_nested(empty, cases[i].path,
                      cases[i].is_blanked ? json_null() : json_string(secret_marker));
    }
}

static void places_of_other_objects_are_taken_and_restored(void **state)
{
    (void)state;
    assert_places(&settings_secrets, settings_cases, ARRAY_SIZE(settings_cases));
    assert_places(&llm_secrets, llm_cases, ARRAY_SIZE(llm_cases));
    assert_places(&mcp_server_secrets, server_cases, ARRAY_SIZE(server_cases));
    assert_places(&start_request_secrets, request_cases, ARRAY_SIZE(request_cases));
}

static void other_members_are_left_alone(void **state)
{
    json_auto_t *llm = json_of("{'model': 'm', 'api_key': 5, 'extra_headers': ['x']}");
    json_auto_t *before = json_deep_copy(llm);
    json_auto_t *members = json_object();

    (void)state;
    secrets_take(&llm_secrets, llm, members);
    assert_json_equal(llm, before);
    assert_json_is(members, "{}");
}

static void text_that_is_no_marker_stays(void **state)
{
    json_auto_t *llm = json_of("{'api_key': 'new'}");
    json_auto_t *members = json_of("{'api_key': 'stored'}");

    (void)state;
    secrets_restore(&llm_secrets, llm, members);
    assert_json_is(llm, "{'api_key': 'new'}");
}

static void a_marker_is_no_secret(void **state)
{
    json_auto_t *llm = json_of("{'api_key': '**********'}");
    json_auto_t *members = json_of("{'api_key': 'stored'}");

    (void)state;
    secrets_take(&llm_secrets, llm, members);
    assert_json_is(members, "{'api_key': 'stored'}");
    assert_json_is(llm, "{'api_key': '**********'}");
}

static void a_token_that_cannot_be_opened_is_told(void **state)
{
    unsigned char key[CRYPTO_KEY_BYTES];
    json_auto_t *llm = json_of("{'api_key': 'gAAAAABforeign', 'extra_headers': {'A': 'plain'}}");
    json_auto_t *problems = json_array();

    (void)state;
    crypto_random(key, sizeof(key));
    secrets_open(&llm_secrets, llm, key, problems);
    assert_int_equal(json_array_size(problems), 1);
    assert_json_is(json_object_get(json_array_get(problems, 0), "loc"), "['body', 'api_key']");
    assert_json_is(json_object_get(json_array_get(problems, 0), "msg"),
                   "'Value error, this server cannot open the sealed secret'");
    assert_json_is(llm, "{'api_key': 'gAAAAABforeign', 'extra_headers': {'A': 'plain'}}");
}

/* --- the registry --- */

static void sources_and_values_are_merged(void **state)
{
    static const struct json_path place = {NULL, "secrets", 0};
    static const struct {
        const char *update;
        const char *source;
        const char *value; /* NULL: none; before it was "old" */
    } cases[] = {
        {"{'A': 'new'}", "{'kind': 'StaticSecret', 'value': '**********', 'description': null}",
         "'new'"},
        {"{'A': '**********'}",
         "{'kind': 'StaticSecret', 'value': '**********', 'description': null}", "'old'"},
        {"{'A': ''}", "{'kind': 'StaticSecret', 'value': null, 'description': null}", NULL},
        {"{'A': ' '}", "{'kind': 'StaticSecret', 'value': null, 'description': null}", NULL},
        {"{'A': null}", "{'kind': 'StaticSecret', 'value': null, 'description': null}", NULL},
        {"{'A': {'kind': 'StaticSecret', 'value': 'new', 'description': 'd'}}",
         "{'kind': 'StaticSecret', 'value': '**********', 'description': 'd'}", "'new'"},
        {"{'A': {'kind': 'StaticSecret', 'value': null}}",
         "{'kind': 'StaticSecret', 'value': null, 'description': null}", NULL},
        {"{'A': {'kind': 'LookupSecret', 'url': 'u', 'value': 'v'}}",
         "{'kind': 'LookupSecret', 'url': 'u', 'headers': {}, 'description': null}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *sources = json_of("{'B': 1}");
        json_auto_t *values = json_of("{'A': 'old', 'B': 'b'}");
        json_auto_t *update = json_of(cases[i].update);
        json_auto_t *problems = json_array();

        secret_registry_update(sources, values, update, &place, problems);
        assert_json_is(problems, "[]");
        assert_json_is(json_object_get(sources, "A"), cases[i].source);
        assert_json_is(json_object_get(sources, "B"), "1");
        assert_json_is(json_object_get(values, "B"), "'b'");
        if (cases[i].value == NULL)
            assert_null(json_object_get(values, "A"));
        else
            assert_json_is(json_object_get(values, "A"), cases[i].value);
    }
}

static void a_marker_without_a_value_is_null(void **state)
{
    static const struct json_path place = {NULL, "secrets", 0};
    json_auto_t *sources = json_object();
    json_auto_t *values = json_object();
    json_auto_t *update = json_of("{'A': '**********'}");
    json_auto_t *problems = json_array();

    (void)state;
    secret_registry_update(sources, values, update, &place, problems);
    assert_json_is(json_object_get(json_object_get(sources, "A"), "value"), "null");
    assert_json_is(values, "{}");
}

static void wrong_sources_are_told(void **state)
{
    static const struct json_path place = {NULL, "secrets", 0};
    static const struct {
        const char *update;
        const char *path;
        const char *type;
    } cases[] = {
        {"{'A': {'kind': 'LookupSecret'}}", "secrets.A", "value_error"},
        {"{'A': {'kind': 'Other'}}", "secrets.A.kind", "literal_error"},
        {"{'A': {}}", "secrets.A.kind", "missing"},
        {"{'A': 5}", "secrets.A", "model_attributes_type"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *sources = json_object();
        json_auto_t *values = json_object();
        json_auto_t *update = json_of(cases[i].update);
        json_auto_t *problems = json_array();

        secret_registry_update(sources, values, update, &place, problems);
        assert_int_equal(json_array_size(problems), 1);
        assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void nulls_are_refused_where_they_are_no_secrets(void **state)
{
    static const struct json_path place = {NULL, "s", 0};
    json_auto_t *update = json_of("{'A': 'a', 'B': null, 'C': {}, 'D': null}");
    json_auto_t *problems = json_array();

    (void)state;
    secret_registry_refuse_nulls(NULL, &place, problems);
    assert_json_is(problems, "[]");
    secret_registry_refuse_nulls(update, &place, problems);
    assert_int_equal(json_array_size(problems), 2);
    assert_string_equal(problem_at(problems, "s.B"), "model_attributes_type");
    assert_string_equal(problem_at(problems, "s.D"), "model_attributes_type");
}

static void values_are_hidden_from_six_characters_on(void **state)
{
    static const struct {
        const char *value;
        bool is_masked;
    } cases[] = {
        {"", false},
        {"12345", false},
        {"123456", true},
        {" 12345 ", false},
        {"\t\r\n123456\n", true},
        {"12 456", true},
        {"1     ", false},
        {"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", false},
        {"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (secret_is_masked(cases[i].value) != cases[i].is_masked)
            fail_msg("'%s'", cases[i].value);
    }
}

static void names_of_short_values_are_told(void **state)
{
    static const struct {
        const char *update;
        const char *names;
    } cases[] = {
        {"{}", ""},
        {"{'A': '123456', 'B': ' ', 'C': ''}", ""},
        {"{'A': '12345', 'B': '123456', 'C': {'value': '1'}, 'D': {'value': '123456'},"
         " 'E': {'url': 'u'}, 'F': null}",
         "A, C"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        json_auto_t *update = json_of(cases[i].update);

        strbuf_append(&out, "said: ");
        secret_registry_append_unmasked(update, &out);
        assert_string_equal(out.text + strlen("said: "), cases[i].names);
    }
}

int secret_place_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_of_a_specification_are_taken_shown_and_restored),
        cmocka_unit_test(each_condenser_of_a_pipeline_has_its_secrets),
        cmocka_unit_test(places_of_other_objects_are_taken_and_restored),
        cmocka_unit_test(other_members_are_left_alone),
        cmocka_unit_test(text_that_is_no_marker_stays),
        cmocka_unit_test(a_marker_is_no_secret),
        cmocka_unit_test(a_token_that_cannot_be_opened_is_told),
        cmocka_unit_test(sources_and_values_are_merged),
        cmocka_unit_test(a_marker_without_a_value_is_null),
        cmocka_unit_test(wrong_sources_are_told),
        cmocka_unit_test(nulls_are_refused_where_they_are_no_secrets),
        cmocka_unit_test(values_are_hidden_from_six_characters_on),
        cmocka_unit_test(names_of_short_values_are_told),
    };

    return cmocka_run_group_tests_name("model/secret places", tests, NULL, NULL);
}

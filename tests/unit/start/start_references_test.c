/*
 * What a start refers to: its user's profiles, connections and secrets, and skills of plugins.
 */
#include "base/json.h"
#include "base/strbuf.h"
#include "start/start_expand.h"
#include "start/start_parse.h"
#include "store/user/document_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "unit/start/start_fixture.h"

/* Stores a document of the context's user, and returns its id. secrets: NULL for none. */
static struct uuid keep(const struct start_context *context, enum collection collection,
                        const char *name, const char *body, const char *secrets)
{
    const struct document_scope scope = start_document_scope(context);
    CLEANUP(document_done) struct document document = document_new(collection, name);
    struct error err = ERROR_INIT;

    json_decref(document.body);
    document.body = start_json(body);
    if (secrets != NULL)
        document.secrets = start_json(secrets);
    assert_done(document_store_put(&scope, &document, 0, &err), &err);
    return document.id;
}

static void assert_is(const json_t *value, const char *expected)
{
    json_auto_t *wanted = start_json(expected);

    if (!json_equal(value, wanted))
        fail_msg("%s is not %s", value == NULL ? "nothing" : json_dumps(value, JSON_ENCODE_ANY),
                 expected);
}

static enum error_code expand(const struct start_context *context, json_t *body,
                              struct start_request *request_out, struct error *err)
{
    assert_done(start_parse(context, body, NULL, request_out, err), err);
    return start_expand(context, request_out, err) == 0 ? ERROR_NONE : err->code;
}

static void connections_give_their_keys(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json(
        "{'agent': {'llm': {'model': 'm', 'provider_connection_id': 'mine'}, 'condenser':"
        " {'llm': {'model': 'c', 'provider_connection_id': 'mine', 'base_url': 'http://own'}}}}");
    struct error err = ERROR_INIT;

    (void)keep(&context, COLLECTION_CONNECTIONS, "mine", "{'base_url': 'http://x'}",
               "{'api_key': 'sk-connection'}");
    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    assert_is(request.agent,
              "{'llm': {'model': 'm', 'provider_connection_id': 'mine', 'base_url': 'http://x',"
              " 'api_key': 'sk-connection'}, 'condenser': {'llm': {'model': 'c',"
              " 'provider_connection_id': 'mine', 'base_url': 'http://own',"
              " 'api_key': 'sk-connection'}}}");
    test_sql("DELETE FROM documents");
}

static void connections_of_guards_give_their_keys(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json(
        "{'agent': {'llm': {'model': 'm'}}, 'security_analyzer': {'kind':"
        " 'EnsembleSecurityAnalyzer', 'analyzers': [{'kind': 'ToolShieldLLMSecurityAnalyzer',"
        " 'llm': {'model': 'g', 'provider_connection_id': 'mine'}}]}}");
    struct error err = ERROR_INIT;

    (void)keep(&context, COLLECTION_CONNECTIONS, "mine", "{}", "{'api_key': 'sk-connection'}");
    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    assert_is(json_object_get(request.body, "security_analyzer"),
              "{'kind': 'EnsembleSecurityAnalyzer', 'analyzers':"
              " [{'kind': 'ToolShieldLLMSecurityAnalyzer', 'llm': {'model': 'g',"
              " 'provider_connection_id': 'mine', 'api_key': 'sk-connection'}}]}");
    test_sql("DELETE FROM documents");
}

static void a_missing_connection_of_a_condenser_is_invalid(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json("{'agent': {'llm': {'model': 'm'}, 'condenser':"
                                   " {'llm': {'provider_connection_id': 'gone'}}}}");
    struct error err = ERROR_INIT;

    assert_int_equal(expand(&context, body, &request, &err), ERROR_INVALID);
}

static void an_agent_without_references_stays(void **state)
{
    static const char agent[] = "{'llm': {'model': 'm'}, 'condenser': {'kind': 'NoOpCondenser'}}";
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = json_object();
    struct error err = ERROR_INIT;

    json_put(body, "agent", start_json(agent));
    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    assert_is(request.agent, agent);
    assert_null(request.launched_profile);
}

static void foreign_sealed_secrets_are_invalid(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_body(", 'secrets_encrypted': true, 'secrets': {'A': 'gAAAAABx'}");
    struct error err = ERROR_INIT;

    assert_int_equal(expand(&context, body, &request, &err), ERROR_INVALID);
    assert_int_equal(json_array_size(context.problems), 1);
    assert_problem(&context, "secrets/A");
}

static void sealed_secrets_stay_unless_said_to_be(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_body(", 'secrets': {'A': 'gAAAAABx'}");
    struct error err = ERROR_INIT;

    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    assert_is(request.secrets, "{'A': 'gAAAAABx'}");
}

static void a_foreign_sealed_key_of_a_model_is_invalid(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    json_auto_t *llm = start_json("{'model': 'm', 'api_key': 'gAAAAABx'}");
    struct error err = ERROR_INIT;

    assert_int_equal(start_expand_llm(&context, llm, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_problem(&context, "api_key");
}

static void a_model_gets_the_key_of_its_connection(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_context_end) struct start_context sandbox = start_context_of_sandbox(state);
    json_auto_t *llm = start_json("{'model': 'm', 'provider_connection_id': 'mine'}");
    struct error err = ERROR_INIT;

    (void)keep(&context, COLLECTION_CONNECTIONS, "mine", "{}", "{'api_key': 'sk-connection'}");
    assert_int_equal(start_expand_llm(&sandbox, llm, &err), -1);
    assert_int_equal(err.code, ERROR_FORBIDDEN);
    assert_done(start_expand_llm(&context, llm, &err), &err);
    assert_is(llm, "{'model': 'm', 'provider_connection_id': 'mine', 'api_key': 'sk-connection'}");
    test_sql("DELETE FROM documents");
}

static void a_launched_profile_is_noted(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    json_auto_t *body =
        start_json("{'secrets': {'A': 'a', 'B': 'b'}, 'agent_launch_additions':"
                   " {'llm_profile_ref': 'fast', 'system_message_suffix_append': 'more'}}");
    struct uuid id = keep(&context, COLLECTION_AGENT_PROFILES, "p",
                          "{'agent_kind': 'openhands', 'llm_profile_ref': 'gone',"
                          " 'secret_refs': ['B'], 'system_message_suffix': 'own'}",
                          NULL);
    struct error err = ERROR_INIT;

    (void)keep(&context, COLLECTION_PROFILES, "fast", "{'model': 'm/fast'}", NULL);
    json_put_text(body, "agent_profile_id", id.text);
    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    strbuf_appendf(&expected,
                   "{'agent_profile_id': '%s', 'revision': 1, 'secret_refs': ['B'],"
                   " 'llm_profile_ref': 'fast'}",
                   id.text);
    assert_is(request.launched_profile, expected.text);
    assert_is(request.secrets, "{'B': 'b'}");
    assert_ptr_equal(request.agent, json_object_get(body, "agent_settings"));
    assert_null(json_object_get(body, "agent_profile_id"));
    assert_is(json_object_get(json_object_get(request.agent, "llm"), "model"), "'m/fast'");
    assert_is(
        json_object_get(json_object_get(request.agent, "agent_context"), "system_message_suffix"),
        "'own\\n\\nmore'");
    test_sql("DELETE FROM documents");
}

static void a_profile_that_cannot_be_launched_is_refused(void **state)
{
    static const struct {
        const char *profile;
        const char *message;
        const char *refusal; /* NULL: none */
    } cases[] = {
        {"{'llm_profile_ref': 'gone'}", "LLM profile 'gone' not found", NULL},
        {"{'llm_profile_ref': 'default', 'mcp_server_refs': ['x']}",
         "the agent profile has dangling references",
         "{'detail': {'message': 'The agent profile refers to MCP servers that do not exist',"
         " 'dangling_mcp_server_refs': ['x']}}"},
        {"{'agent_kind': 'acp'}", "This server runs agents of kind 'openhands' only", NULL},
    };
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        json_auto_t *body = json_object();
        struct uuid id = keep(&context, COLLECTION_AGENT_PROFILES, "p", cases[i].profile, NULL);
        struct error err = ERROR_INIT;

        json_put_text(body, "agent_profile_id", id.text);
        assert_int_equal(expand(&context, body, &request, &err), ERROR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        if (cases[i].refusal == NULL)
            assert_null(request.refusal);
        else
            assert_is(request.refusal, cases[i].refusal);
        assert_null(request.launched_profile);
        test_sql("DELETE FROM documents");
    }
}

#define SECRETS_URL "https://any.host/api/v1/sandboxes/abcdef0123456789/settings/secrets/"

static void a_sandbox_gets_the_values_that_it_may_read(void **state)
{
    static const struct {
        const char *secrets;
        enum error_code code;
        const char *message; /* of the error; else what the secrets become */
    } cases[] = {
        {"{'A': 'a', 'B': {'kind': 'LookupSecret', 'url': '" SECRETS_URL "TOKEN'}}", ERROR_NONE,
         "{'A': 'a', 'B': {'kind': 'StaticSecret', 'value': 'stored', 'description': 'd'}}"},
        {"{'B': {'url': '" SECRETS_URL "TOKEN'}}", ERROR_NONE,
         "{'B': {'kind': 'StaticSecret', 'value': 'stored', 'description': 'd'}}"},
        {"{'B': {'kind': 'StaticSecret', 'value': 'v'}}", ERROR_NONE,
         "{'B': {'kind': 'StaticSecret', 'value': 'v'}}"},
        {"{'B': {'kind': 'LookupSecret', 'url': '" SECRETS_URL "GONE'}}", ERROR_INVALID,
         "There is no secret GONE"},
        {"{'B': {'kind': 'LookupSecret', 'url': 'http://else/TOKEN'}}", ERROR_FORBIDDEN,
         "A sandbox's key may not use lookup secrets: give B as a value"},
        {"{'B': {'kind': 'LookupSecret'}}", ERROR_FORBIDDEN,
         "A sandbox's key may not use lookup secrets: give B as a value"},
        {"{'B': {'url': 5}}", ERROR_FORBIDDEN,
         "A sandbox's key may not use lookup secrets: give B as a value"},
    };
    CLEANUP(start_context_end) struct start_context context = start_context_of_sandbox(state);

    context.caller.secrets = START_SECRETS_READABLE;
    (void)keep(&context, COLLECTION_SECRETS, "TOKEN", "{'description': 'd'}",
               "{'value': 'stored'}");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *secrets = start_json(cases[i].secrets);
        struct error err = ERROR_INIT;
        int rc = start_expand_lookups(&context, secrets, &err);

        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(rc, cases[i].code == ERROR_NONE ? 0 : -1);
        if (rc == 0)
            assert_is(secrets, cases[i].message);
        else
            assert_string_equal(err.message, cases[i].message);
    }
    test_sql("DELETE FROM documents");
}

static void values_come_for_the_agents_context_too(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_of_sandbox(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json("{'agent': {'agent_context': {'secrets': {'A': {'kind':"
                                   " 'LookupSecret', 'url': '" SECRETS_URL "TOKEN'}}}}}");
    struct error err = ERROR_INIT;

    context.caller.secrets = START_SECRETS_READABLE;
    (void)keep(&context, COLLECTION_SECRETS, "TOKEN", "{}", "{'value': 'stored'}");
    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    assert_is(json_object_get(request.agent, "agent_context"),
              "{'secrets': {'A': {'kind': 'StaticSecret', 'value': 'stored'}}}");
    test_sql("DELETE FROM documents");
}

/* A plugin with one skill of each kind. */
static void keep_plugin(const struct start_context *context)
{
    (void)keep(context, COLLECTION_INSTALLED_PLUGINS, "plugin",
               "{'enabled': true, 'skills': [{'name': 'words', 'content': 'c', 'source': 's',"
               " 'description': 'd', 'is_agentskills_format': true, 'triggers': ['a', 'b'],"
               " 'type': 'knowledge'}, {'name': 'plain', 'content': 'c', 'triggers': []},"
               " {'name': 'mine', 'content': 'theirs'},"
               " {'name': 'off', 'content': 'c'}]}",
               NULL);
}

static void skills_of_plugins_take_the_contexts_form(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json("{'agent': {'agent_context': {'disabled_skills': ['off'],"
                                   " 'skills': [{'name': 'mine', 'content': 'own'}]}}}");
    struct error err = ERROR_INIT;

    keep_plugin(&context);
    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    assert_is(json_object_get(json_object_get(request.agent, "agent_context"), "skills"),
              "[{'name': 'mine', 'content': 'own'},"
              " {'name': 'words', 'content': 'c', 'source': 's', 'description': 'd',"
              "  'is_agentskills_format': true,"
              "  'trigger': {'type': 'keyword', 'keywords': ['a', 'b']}},"
              " {'name': 'plain', 'content': 'c'}]");
    test_sql("DELETE FROM documents");
}

static void plugins_are_not_for_sandboxes(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_of_sandbox(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json("{'agent': {}}");
    struct error err = ERROR_INIT;

    keep_plugin(&context);
    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    assert_is(request.agent, "{}");
    test_sql("DELETE FROM documents");
}

static void without_an_agent_nothing_is_added(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body =
        start_json("{'agent_launch_additions': {'system_message_suffix_append': 'more'}}");
    struct error err = ERROR_INIT;

    keep_plugin(&context);
    assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
    assert_null(request.agent);
    test_sql("DELETE FROM documents");
}

static void additions_make_a_context(void **state)
{
    static const struct {
        const char *additions;
        const char *agent;
    } cases[] = {
        {"{'system_message_suffix_append': 'more'}",
         "{'agent_context': {'system_message_suffix': 'more', 'skills': []}}"},
        {"{'skills': [{'name': 'a', 'content': 'b'}]}",
         "{'agent_context': {'skills': [{'name': 'a', 'content': 'b'}]}}"},
        {"{'system_message_suffix_append': '', 'skills': []}", "{}"},
        {"{}", "{}"},
        {"null", "{}"},
    };
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        json_auto_t *body = start_json("{'agent': {}}");
        struct error err = ERROR_INIT;

        json_put(body, "agent_launch_additions", start_json(cases[i].additions));
        assert_int_equal(expand(&context, body, &request, &err), ERROR_NONE);
        assert_is(request.agent, cases[i].agent);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_give_their_keys),
        cmocka_unit_test(connections_of_guards_give_their_keys),
        cmocka_unit_test(a_missing_connection_of_a_condenser_is_invalid),
        cmocka_unit_test(an_agent_without_references_stays),
        cmocka_unit_test(foreign_sealed_secrets_are_invalid),
        cmocka_unit_test(sealed_secrets_stay_unless_said_to_be),
        cmocka_unit_test(a_foreign_sealed_key_of_a_model_is_invalid),
        cmocka_unit_test(a_model_gets_the_key_of_its_connection),
        cmocka_unit_test(a_launched_profile_is_noted),
        cmocka_unit_test(a_profile_that_cannot_be_launched_is_refused),
        cmocka_unit_test(a_sandbox_gets_the_values_that_it_may_read),
        cmocka_unit_test(values_come_for_the_agents_context_too),
        cmocka_unit_test(skills_of_plugins_take_the_contexts_form),
        cmocka_unit_test(plugins_are_not_for_sandboxes),
        cmocka_unit_test(without_an_agent_nothing_is_added),
        cmocka_unit_test(additions_make_a_context),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, start_set_up_with_db, start_tear_down);
}

#include "base/crypto.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/secrets/secret_registry.h"
#include "model/secrets/secret_walk.h"
#include "start/sandbox_secret.h"
#include "start/start_context.h"
#include "start/start_expand.h"
#include "start/start_parse.h"
#include "store/user/document_store.h"
#include "support/pg.h"
#include "support/sql.h"
#include "unit/start/start_fixture.h"

static json_t *agent_context(const struct start_request *request)
{
    return json_object_get(request->agent, "agent_context");
}

static int expand(const struct start_context *context, json_t *body,
                  struct start_request *request_out, struct error *err)
{
    assert_done(start_parse(context, body, NULL, request_out, err), err);
    return start_expand(context, request_out, err);
}

static void sealed_secrets_are_opened(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_body(", 'secrets_encrypted': true");
    json_t *llm = json_object_get(json_object_get(body, "agent"), "llm");
    struct error err = ERROR_INIT;

    json_put_text(llm, "api_key", "sk-plain");
    secrets_seal(&llm_secrets, llm, context.keyring->fernet);
    assert_string_not_equal(json_text_or(llm, "api_key", ""), "sk-plain");
    assert_done(expand(&context, body, &request, &err), &err);
    assert_string_equal(json_text_or(json_object_get(request.agent, "llm"), "api_key", ""),
                        "sk-plain");
}

static void additions_yield_to_the_agents_own_skills(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json(
        "{'agent': {'agent_context': {'system_message_suffix': 'own', 'disabled_skills': ['off'],"
        "   'skills': [{'name': 'a', 'content': 'mine'}]}},"
        " 'agent_launch_additions': {'system_message_suffix_append': 'more', 'skills': ["
        "   {'name': 'a', 'content': 'theirs'}, {'name': 'b', 'content': 'b'},"
        "   {'name': 'off', 'content': 'off'}]}}");
    const json_t *skills = NULL;
    struct error err = ERROR_INIT;

    assert_done(expand(&context, body, &request, &err), &err);
    assert_string_equal(json_text_or(agent_context(&request), "system_message_suffix", ""),
                        "own\n\nmore");
    skills = json_object_get(agent_context(&request), "skills");
    assert_int_equal(json_array_size(skills), 2);
    assert_string_equal(json_text_or(json_array_get(skills, 0), "content", ""), "mine");
    assert_string_equal(json_text_or(json_array_get(skills, 1), "name", ""), "b");
}

static void an_unknown_profile_is_not_found(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json("{'agent_profile_id': '11111111-2222-4333-8444-555555555555'}");
    struct error err = ERROR_INIT;

    assert_int_equal(expand(&context, body, &request, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_null(request.refusal);
}

static void an_unknown_connection_is_invalid(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json("{'agent': {'llm': {'provider_connection_id': 'none'}}}");
    struct error err = ERROR_INIT;

    assert_int_equal(expand(&context, body, &request, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

/* Each body refers to what a user keeps. */
static void a_sandbox_may_not_refer_to_its_users_data(void **state)
{
    static const char *const bodies[] = {
        "{'title_llm_profile': 'small'}",
        "{'secrets_encrypted': true}",
        "{'agent_profile_id': '11111111-2222-4333-8444-555555555555'}",
        "{'agent': {'llm': {'provider_connection_id': 'x'}}}",
        "{'agent': {}, 'secrets': {'A': {'kind': 'LookupSecret', 'url': 'http://h/x'}}}",
        "{'agent': {'agent_context': {'secrets': {'A': {'url': 'http://h/x'}}}}}",
    };

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_of_sandbox(state);
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        json_auto_t *body = start_json(bodies[i]);
        struct error err = ERROR_INIT;

        assert_int_equal(expand(&context, body, &request, &err), -1);
        assert_int_equal(err.code, ERROR_FORBIDDEN);
    }
}

static void a_users_lookups_stay(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body =
        start_body(", 'secrets': {'A': {'kind': 'LookupSecret', 'url': 'http://h/x'}}");
    struct error err = ERROR_INIT;

    assert_done(expand(&context, body, &request, &err), &err);
    assert_string_equal(json_text_or(json_object_get(request.secrets, "A"), "url", ""),
                        "http://h/x");
}

/* Stores a document of the context's user, and returns its id. */
static struct uuid keep(const struct start_context *context, enum collection collection,
                        const char *name, const char *body)
{
    const struct document_scope scope = start_document_scope(context);
    CLEANUP(document_done) struct document document = document_new(collection, name);
    struct error err = ERROR_INIT;

    json_decref(document.body);
    document.body = start_json(body);
    assert_done(document_store_put(&scope, &document, 0, &err), &err);
    return document.id;
}

static void a_profile_lets_through_the_secrets_that_it_names(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    struct uuid id =
        keep(&context, COLLECTION_AGENT_PROFILES, "only-a",
             "{'agent_kind': 'openhands', 'llm_profile_ref': 'default', 'secret_refs': ['A']}");
    json_auto_t *body = start_json("{'secrets': {'A': 'a-value', 'B': 'b-value'}}");
    struct error err = ERROR_INIT;

    json_put_text(body, "agent_profile_id", id.text);
    assert_done(expand(&context, body, &request, &err), &err);
    assert_string_equal(json_text_or(request.secrets, "A", ""), "a-value");
    assert_null(json_object_get(request.secrets, "B"));
    assert_null(json_object_get(body, "agent_profile_id"));
    assert_string_equal(json_text_or(request.launched_profile, "agent_profile_id", ""), id.text);
    test_sql("DELETE FROM documents");
}

/* A skill with this name, and so much text that two of them are more than there is room for. */
static json_t *large_skill(const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *skill = json_object();

    while (text.len < 300000)
        strbuf_append(&text, "0123456789abcdef");
    json_put_text(skill, "name", name);
    json_put_text(skill, "content", text.text);
    return skill;
}

static void plugins_give_what_they_may_and_what_fits(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    const struct document_scope scope = start_document_scope(&context);
    CLEANUP(document_done) struct document plugin =
        document_new(COLLECTION_INSTALLED_PLUGINS, "a-plugin");
    json_t *given = json_array();
    json_auto_t *body = start_body("");
    const json_t *skills = NULL;
    struct error err = ERROR_INIT;

    json_push(given, start_json("{'name': 'users', 'content': 'u',"
                                " 'disable_model_invocation': true}"));
    json_push(given, large_skill("first"));
    json_push(given, large_skill("second"));
    json_push(given, start_json("{'name': 'small', 'content': 's', 'triggers': ['word']}"));
    json_put(plugin.body, "skills", given);
    assert_done(document_store_put(&scope, &plugin, 0, &err), &err);
    (void)keep(&context, COLLECTION_INSTALLED_PLUGINS, "b-plugin",
               "{'enabled': false, 'skills': [{'name': 'off', 'content': 'x'}]}");
    assert_done(expand(&context, body, &request, &err), &err);
    skills = json_object_get(agent_context(&request), "skills");
    assert_int_equal(json_array_size(skills), 2);
    assert_string_equal(json_text_or(json_array_get(skills, 0), "name", ""), "first");
    assert_string_equal(json_text_or(json_array_get(skills, 1), "name", ""), "small");
    assert_string_equal(
        json_text_or(json_object_get(json_array_get(skills, 1), "trigger"), "type", ""), "keyword");
    test_sql("DELETE FROM documents");
}

#define OWN_PATH "/api/v1/sandboxes/abcdef0123456789/settings/secrets/"

static void url_of_a_stored_secret_is_that_sandboxs_alone(void **state)
{
    static const struct {
        const char *url;
        const char *name; /* NULL: refers to none */
    } cases[] = {
        {"https://any.host:8000" OWN_PATH "TOKEN", "TOKEN"},
        {OWN_PATH "TOKEN", "TOKEN"},
        {"https://any.host" OWN_PATH, NULL},
        {"https://any.host" OWN_PATH "a/b", NULL},
        {"https://any.host" OWN_PATH "a?b", NULL},
        {"https://any.host" OWN_PATH "a%2Fb", NULL},
        {"https://any.host/x" OWN_PATH "TOKEN", NULL},
        {"https://any.host/api/v1/sandboxes/0000000000000000/settings/secrets/TOKEN", NULL},
        {"https://any.host", NULL},
        {"", NULL},
    };
    CLEANUP(start_context_end) struct start_context context = start_context_of_sandbox(state);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *name = NULL;

        context.caller.secrets = START_SECRETS_REFUSED;
        assert_null(sandbox_secret_name(&context, cases[i].url));
        context.caller.secrets = START_SECRETS_READABLE;
        name = sandbox_secret_name(&context, cases[i].url);
        if (cases[i].name == NULL)
            assert_null(name);
        else
            assert_string_equal(name, cases[i].name);
    }
}

static void servers_key_goes_to_the_servers_model_at_its_address_only(void **state)
{
    static const struct start_llm own = {"openai/m", "http://srv/v1", "server-key"};
    static const struct {
        const char *llm;
        const char *key;
    } cases[] = {
        {"{}", "server-key"},
        {"{'model': 'openai/m'}", "server-key"},
        {"{'model': 'openai/m', 'base_url': 'http://srv/v1'}", "server-key"},
        {"{'api_key': ' '}", "server-key"},
        {"{'model': 'openai/other'}", ""},
        {"{'aws_bedrock_runtime_endpoint': 'http://thief'}", ""},
        {"{'model': 'openai/m', 'aws_region_name': 'us-east-1'}", "server-key"},
        {"{'base_url': 'http://thief/v1'}", ""},
        {"{'model': 'openai/m', 'base_url': 'http://thief/v1'}", ""},
        {"{'base_url': 'http://thief/v1', 'api_key': 'own-key'}", "own-key"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *llm = start_json(cases[i].llm);

        assert_string_equal(start_llm_key(&own, llm), cases[i].key);
    }
}

static void each_read_of_a_stored_secret_is_recorded(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_of_sandbox(state);
    CLEANUP(document_done) struct document secret = DOCUMENT_INIT;
    CLEANUP(document_done) struct document none = DOCUMENT_INIT;
    struct error err = ERROR_INIT;

    (void)keep(&context, COLLECTION_SECRETS, "TOKEN", "{}");
    assert_done(sandbox_secret_read(&context, "TOKEN", &secret, &err), &err);
    assert_string_equal(secret.name, "TOKEN");
    assert_int_equal(test_sql_count("SELECT count(*) FROM secret_reads"), 1);
    assert_int_equal(sandbox_secret_read(&context, "OTHER", &none, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(test_sql_count("SELECT count(*) FROM secret_reads"), 1);
    test_sql("DELETE FROM documents");
}

/* Whoever holds a sandbox's key must not have deft decrypt what it has read elsewhere. */
static void sealed_key_is_opened_for_users_only(void **state)
{
    CLEANUP(start_context_end) struct start_context user = start_context_begin(state);
    CLEANUP(start_context_end) struct start_context sandbox = start_context_of_sandbox(state);
    json_auto_t *llm = start_json("{'model': 'openai/m', 'api_key': 'sk-plain'}");
    struct error err = ERROR_INIT;

    secrets_seal(&llm_secrets, llm, user.keyring->fernet);
    assert_done(start_expand_llm(&sandbox, llm, &err), &err);
    assert_string_not_equal(json_text_or(llm, "api_key", ""), "sk-plain");
    assert_done(start_expand_llm(&user, llm, &err), &err);
    assert_string_equal(json_text_or(llm, "api_key", ""), "sk-plain");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_secrets_are_opened),
        cmocka_unit_test(additions_yield_to_the_agents_own_skills),
        cmocka_unit_test(an_unknown_profile_is_not_found),
        cmocka_unit_test(an_unknown_connection_is_invalid),
        cmocka_unit_test(a_sandbox_may_not_refer_to_its_users_data),
        cmocka_unit_test(a_users_lookups_stay),
        cmocka_unit_test(a_profile_lets_through_the_secrets_that_it_names),
        cmocka_unit_test(plugins_give_what_they_may_and_what_fits),
        cmocka_unit_test(url_of_a_stored_secret_is_that_sandboxs_alone),
        cmocka_unit_test(servers_key_goes_to_the_servers_model_at_its_address_only),
        cmocka_unit_test(each_read_of_a_stored_secret_is_recorded),
        cmocka_unit_test(sealed_key_is_opened_for_users_only),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, start_set_up_with_db, start_tear_down);
}

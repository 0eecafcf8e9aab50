#include "base/crypto.h"
#include "base/json.h"
#include "base/text.h"
#include "model/secrets/secret_registry.h"
#include "model/secrets/secret_walk.h"
#include "start/start_expand.h"
#include "start/start_parse.h"
#include "support/pg.h"
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_secrets_are_opened),
        cmocka_unit_test(additions_yield_to_the_agents_own_skills),
        cmocka_unit_test(an_unknown_profile_is_not_found),
        cmocka_unit_test(an_unknown_connection_is_invalid),
        cmocka_unit_test(a_sandbox_may_not_refer_to_its_users_data),
        cmocka_unit_test(a_users_lookups_stay),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, start_set_up_with_db, start_tear_down);
}

#include "model/conversation/llm_switch.h"

#include "base/json.h"
#include "model/conversation/conversation.h"
#include "unit/model/model_test.h"

/* A conversation of an agent as the specification holds it, and its secrets. */
static void make(const char *agent, struct conversation *conversation_out)
{
    json_t *spec = json_object();

    json_put(spec, "agent", json_of(agent));
    conversation_out->spec = spec;
}

static json_t *agent_of(const struct conversation *conversation)
{
    return json_object_get(conversation->spec, "agent");
}

static void the_new_model_replaces_the_old_ones_secrets(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *llm =
        json_of("{'model': 'new', 'api_key': 'new key', 'extra_headers': {'X': 'new header'}}");
    json_auto_t *secrets =
        json_of("{'llm_api_key': 'old key', 'secrets': {'A': 'a'}, 'members': {"
                "'agent/llm/api_key': 'old key', 'agent/llm/aws_session_token': 'old token',"
                " 'agent/critic/api_key': 'critic'}}");

    (void)state;
    make("{'llm': {'model': 'old', 'api_key': '**********', 'aws_session_token': '**********'}}",
         &conversation);
    conversation_switch_llm(&conversation, secrets, llm);
    assert_json_is(agent_of(&conversation), "{'llm': {'model': 'new', 'api_key': '**********',"
                                            " 'extra_headers': {'X': '**********'}}}");
    assert_json_is(secrets,
                   "{'llm_api_key': 'new key', 'secrets': {'A': 'a'}, 'members': {"
                   "'agent/llm/api_key': 'new key', 'agent/llm/extra_headers/X': 'new header',"
                   " 'agent/critic/api_key': 'critic'}}");
    /* the caller's object is not shared */
    assert_json_is(llm, "{'model': 'new', 'api_key': 'new key',"
                        " 'extra_headers': {'X': 'new header'}}");
}

static void secrets_without_members_get_them(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *llm = json_of("{'model': 'new', 'api_key': 'k'}");
    json_auto_t *secrets = json_object();

    (void)state;
    make("{'llm': {'model': 'old'}}", &conversation);
    conversation_switch_llm(&conversation, secrets, llm);
    assert_json_is(secrets, "{'llm_api_key': 'k', 'members': {'agent/llm/api_key': 'k'}}");
}

#define SAME_MEMBERS "{'members': {'agent/llm/api_key': 'k', 'agent/condenser/llm/api_key': 'k'}}"

/* A condenser follows if it had the agent's model, with the same secrets. */
static void a_condenser_of_the_same_model_follows(void **state)
{
    static const struct {
        const char *agent;
        const char *secrets;
        const char *condenser; /* after the switch */
    } cases[] = {
        {"{'llm': {'model': 'old', 'api_key': '*', 'usage_id': 'agent', 'stream': true},"
         " 'condenser': {'llm': {'model': 'old', 'api_key': '*', 'usage_id': 'mine',"
         "  'stream': false}}}",
         SAME_MEMBERS,
         "{'llm': {'model': 'new', 'stream': false, 'usage_id': 'mine', 'api_key': '**********'}}"},
        {"{'llm': {'model': 'old'}, 'condenser': {'llm': {'model': 'old'}}}", "{}",
         "{'llm': {'model': 'new', 'stream': false, 'usage_id': 'condenser',"
         "  'api_key': '**********'}}"},
        {"{'llm': {'model': 'old'}, 'condenser': {'llm': {'model': 'other'}}}", "{}",
         "{'llm': {'model': 'other'}}"},
        {"{'llm': {'model': 'old'}, 'condenser': {'llm': {'model': 'old', 'top_p': 1}}}", "{}",
         "{'llm': {'model': 'old', 'top_p': 1}}"},
        {"{'llm': {'model': 'old', 'api_key': '**********'},"
         " 'condenser': {'llm': {'model': 'old', 'api_key': '**********'}}}",
         "{'members': {'agent/llm/api_key': 'k', 'agent/condenser/llm/api_key': 'other'}}",
         "{'llm': {'model': 'old', 'api_key': '**********'}}"},
        {"{'llm': {'model': 'old'}, 'condenser': {'kind': 'NoOpCondenser'}}", "{}",
         "{'kind': 'NoOpCondenser'}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        json_auto_t *llm =
            json_of("{'model': 'new', 'api_key': 'n', 'usage_id': 'agent', 'stream': true}");
        json_auto_t *secrets = json_of(cases[i].secrets);

        make(cases[i].agent, &conversation);
        conversation_switch_llm(&conversation, secrets, llm);
        assert_json_is(json_object_get(agent_of(&conversation), "condenser"), cases[i].condenser);
        assert_string_equal(
            json_text_or(json_object_get(agent_of(&conversation), "llm"), "model", ""), "new");
    }
}

static void a_following_condensers_secrets_follow(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *llm = json_of("{'model': 'new', 'aws_session_token': 't'}");
    json_auto_t *secrets = json_of(SAME_MEMBERS);

    (void)state;
    make("{'llm': {'model': 'old', 'api_key': '**********'},"
         " 'condenser': {'llm': {'model': 'old', 'api_key': '**********'}}}",
         &conversation);
    conversation_switch_llm(&conversation, secrets, llm);
    assert_json_is(json_object_get(secrets, "members"),
                   "{'agent/llm/aws_session_token': 't',"
                   " 'agent/condenser/llm/aws_session_token': 't'}");
}

static void another_condensers_secrets_stay(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *llm = json_of("{'model': 'new'}");
    json_auto_t *secrets = json_of(SAME_MEMBERS);

    (void)state;
    make("{'llm': {'model': 'old', 'api_key': '**********'},"
         " 'condenser': {'llm': {'model': 'other', 'api_key': '**********'}}}",
         &conversation);
    conversation_switch_llm(&conversation, secrets, llm);
    assert_json_is(json_object_get(secrets, "members"), "{'agent/condenser/llm/api_key': 'k'}");
}

/* The secrets of the new analyzer replace those of the old one, at every depth of ensembles. */
static void the_new_analyzer_replaces_the_old_ones_secrets(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *secrets =
        json_of("{'members': {'agent/llm/api_key': 'a', 'security_analyzer/api_key': 'old'}}");
    json_auto_t *analyzer =
        json_of("{'analyzers': [{'llm': {'api_key': 'k0'}}, {'api_key': 'k1'}, {'analyzers':"
                " [{'analyzers': [{'analyzers': [{'llm': {'extra_headers': {'X': 'k2'}}}]}]}]}]}");
    json_auto_t *none = json_null();

    (void)state;
    make("{'llm': {'api_key': '**********'}}", &conversation);
    json_put(conversation.spec, "security_analyzer", json_of("{'api_key': '**********'}"));
    assert_true(conversation_switch_analyzer(&conversation, secrets, analyzer));
    assert_json_is(
        json_object_get(conversation.spec, "security_analyzer"),
        "{'analyzers': [{'llm': {'api_key': '**********'}}, {'api_key': '**********'}, "
        "{'analyzers':"
        " [{'analyzers': [{'analyzers': [{'llm': {'extra_headers': {'X': '**********'}}}]}]}]}]}");
    assert_json_is(
        secrets,
        "{'members': {'agent/llm/api_key': 'a', 'security_analyzer/analyzers/0/llm/api_key': 'k0',"
        " 'security_analyzer/analyzers/1/api_key': 'k1', 'security_analyzer/analyzers/2/analyzers/0"
        "/analyzers/0/analyzers/0/llm/extra_headers/X': 'k2'}}");
    assert_false(conversation_switch_analyzer(&conversation, secrets, analyzer));
    json_put_text(json_object_get(json_array_get(json_object_get(analyzer, "analyzers"), 0), "llm"),
                  "api_key", "another");
    assert_true(conversation_switch_analyzer(&conversation, secrets, analyzer));
    assert_true(conversation_switch_analyzer(&conversation, secrets, none));
    assert_json_is(secrets, "{'members': {'agent/llm/api_key': 'a'}}");
}

int llm_switch_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_new_model_replaces_the_old_ones_secrets),
        cmocka_unit_test(secrets_without_members_get_them),
        cmocka_unit_test(a_condenser_of_the_same_model_follows),
        cmocka_unit_test(the_new_analyzer_replaces_the_old_ones_secrets),
        cmocka_unit_test(a_following_condensers_secrets_follow),
        cmocka_unit_test(another_condensers_secrets_stay),
    };

    return cmocka_run_group_tests_name("model/llm switch", tests, NULL, NULL);
}

#include "worker/worker_test.h"

#include <stdint.h>

#include <jansson.h>

#include "base/secret.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "worker/agent/core/model.h"
#include "worker/context.h"
#include "worker/events.h"

static const char session_of_user[] = "u-1";
static const char session_of_client[] = "s-1";
static const char session_of_tenant[] = "5f";
static const char session_of_conversation[] = "c-1";

static void an_address_is_the_servers_the_users_or_the_sandboxs(void **state)
{
    struct secret none = SECRET_INIT;
    struct secret own = SECRET_INIT;
    const struct {
        const char *session;
        const char *spec;
        const struct secret *key;
        bool allows_private;
        enum address_owner expected;
    } cases[] = {
        {session_of_user, "{\"base_url\": \"http://10.0.0.1\"}", &own, false, ADDRESS_OF_USER},
        {session_of_conversation, "{\"base_url\": \"http://10.0.0.1\"}", &own, false,
         ADDRESS_OF_USER},
        {session_of_client, "{\"base_url\": \"http://10.0.0.1\"}", &own, false, ADDRESS_OF_SANDBOX},
        {session_of_tenant, "{\"base_url\": \"http://10.0.0.1\"}", &own, false, ADDRESS_OF_SANDBOX},
        {session_of_user, "{\"base_url\": \"http://10.0.0.1\"}", &own, true,
         ADDRESS_OF_ADMINISTRATOR},
        {session_of_client, "{\"base_url\": \"http://10.0.0.1\"}", &own, true, ADDRESS_OF_SANDBOX},
        {session_of_client, "{\"base_url\": \"http://srv/v1\"}", &own, false,
         ADDRESS_OF_ADMINISTRATOR},
        {session_of_client, "{}", &none, false, ADDRESS_OF_ADMINISTRATOR},
        {session_of_client, "{\"model\": \"ollama/x\"}", &own, false, ADDRESS_OF_SANDBOX},
    };

    (void)state;
    secret_set(&own, "own-key");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
        struct worker_context context = {
            .settings = {.llm_model = "openai/m",
                         .llm_base_url = "http://srv/v1",
                         .llm_allow_private = cases[i].allows_private}};
        const struct conversation conversation = {.runtime_session =
                                                      (char *)(uintptr_t)cases[i].session};
        json_auto_t *spec = test_json(cases[i].spec);

        model_choose(&context, &conversation, spec, cases[i].key, &choice);
        assert_int_equal(choice.address_of, cases[i].expected);
    }
    secret_done(&own);
}

static void servers_key_serves_only_the_servers_model(void **state)
{
    struct worker_context context = {
        .settings = {.llm_model = "openai/m", .llm_base_url = "http://srv/v1"}};
    struct worker_settings *settings = &context.settings;
    const struct conversation conversation = {.runtime_session =
                                                  (char *)(uintptr_t)session_of_user};
    struct secret none = SECRET_INIT;
    struct secret own = SECRET_INIT;
    const struct {
        const char *spec;
        const struct secret *key;
        const struct secret *expected;
    } cases[] = {
        {"{}", &none, &settings->llm_key},
        {"{\"model\": \"openai/m\", \"base_url\": \"http://srv/v1\"}", &none, &settings->llm_key},
        {"{\"model\": \"openai/m\", \"base_url\": \"http://thief/v1\"}", &none, NULL},
        {"{\"model\": \"openai/other\"}", &none, NULL},
        {"{\"model\": \"openai/m\"}", &own, &own},
    };

    (void)state;
    secret_set(&settings->llm_key, "server-key");
    secret_set(&own, "own-key");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
        json_auto_t *spec = test_json(cases[i].spec);

        model_choose(&context, &conversation, spec, cases[i].key, &choice);
        assert_ptr_equal(choice.key, cases[i].expected);
    }
    secret_done(&settings->llm_key);
    secret_done(&own);
}

/* Bedrock's address has other members than base_url. */
static void servers_key_does_not_leave_for_a_users_endpoint(void **state)
{
    struct worker_context context = {
        .settings = {.llm_model = "bedrock/us-east-1/m", .llm_base_url = ""}};
    const struct conversation conversation = {.runtime_session =
                                                  (char *)(uintptr_t)session_of_user};
    struct secret none = SECRET_INIT;
    static const struct {
        const char *spec;
        bool is_servers;
    } cases[] = {
        {"{\"model\": \"bedrock/us-east-1/m\"}", true},
        {"{\"model\": \"bedrock/us-east-1/m\", \"aws_access_key_id\": \" \"}", true},
        {"{\"model\": \"bedrock/us-east-1/m\", \"aws_bedrock_runtime_endpoint\": \"http://thief\"}",
         false},
        {"{\"aws_bedrock_runtime_endpoint\": \"http://thief\"}", false},
        {"{\"model\": \"bedrock/us-east-1/m\", \"aws_region_name\": \"eu-west-1\"}", false},
        {"{\"model\": \"bedrock/us-east-1/m\", \"aws_access_key_id\": \"a\"}", false},
        {"{\"model\": \"bedrock/us-east-1/m\", \"aws_secret_access_key\": \"a\"}", false},
        {"{\"model\": \"bedrock/us-east-1/m\", \"aws_session_token\": \"a\"}", false},
    };

    (void)state;
    secret_set(&context.settings.llm_key, "server-key");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
        json_auto_t *spec = test_json(cases[i].spec);

        model_choose(&context, &conversation, spec, &none, &choice);
        if ((choice.key != NULL) != cases[i].is_servers ||
            (choice.address_of == ADDRESS_OF_ADMINISTRATOR) != cases[i].is_servers)
            fail_msg("%s", cases[i].spec);
    }
    secret_done(&context.settings.llm_key);
}

int model_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_key_serves_only_the_servers_model),
        cmocka_unit_test(servers_key_does_not_leave_for_a_users_endpoint),
        cmocka_unit_test(an_address_is_the_servers_the_users_or_the_sandboxs),
    };

    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}

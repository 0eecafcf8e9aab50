#include "worker/worker_test.h"

#include <jansson.h>

#include "base/secret.h"
#include "base/text.h"
#include "worker/agent/model.h"
#include "worker/context.h"
#include "worker/events.h"

static void servers_key_serves_only_the_servers_model(void **state)
{
    struct worker_settings settings = {.llm_model = "openai/m", .llm_base_url = "http://srv/v1"};
    struct secret none = SECRET_INIT;
    struct secret own = SECRET_INIT;
    const struct {
        const char *spec;
        const struct secret *key;
        const struct secret *expected;
    } cases[] = {
        {"{}", &none, &settings.llm_key},
        {"{\"model\": \"openai/m\", \"base_url\": \"http://srv/v1\"}", &none, &settings.llm_key},
        {"{\"model\": \"openai/m\", \"base_url\": \"http://thief/v1\"}", &none, NULL},
        {"{\"model\": \"openai/other\"}", &none, NULL},
        {"{\"model\": \"openai/m\"}", &own, &own},
    };

    (void)state;
    secret_set(&settings.llm_key, "server-key");
    secret_set(&own, "own-key");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
        json_auto_t *spec = test_json(cases[i].spec);

        model_choose(&settings, spec, cases[i].key, &choice);
        assert_ptr_equal(choice.key, cases[i].expected);
    }
    secret_done(&settings.llm_key);
    secret_done(&own);
}

int model_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_key_serves_only_the_servers_model),
    };

    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}

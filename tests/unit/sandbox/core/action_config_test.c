/*
 * The server's settings: which are refused, and what follows from the others.
 */
#include "sandbox/core/action_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "unit/sandbox/sandbox_test.h"
#include "unit/sandbox/tools_tests.h"

static const char users[] = "DEFT_ACTION_SERVER_UID, DEFT_ACTION_COMMAND_UID and DEFT_ACTION_GID: "
                            "must be two different users and their group, none of them 0";

static void settings_are_checked(void **state)
{
    static const struct {
        struct action_config config;
        const char *message; /* NULL: they are right */
    } cases[] = {
        {{.open = 1}, NULL},
        {{.open = 1, .port = 65535}, NULL},
        {{.open = 1, .port = 65536}, "DEFT_ACTION_PORT: not a valid port"},
        {{.open = 0}, "SESSION_API_KEY is not set; DEFT_ACTION_OPEN=1 serves without a key"},
        {{.open = 1, .server_uid = 1, .command_uid = 2, .gid = 1}, NULL},
        {{.open = 1, .server_uid = 1, .command_uid = 0x7ffffffe, .gid = 1}, NULL},
        {{.open = 1, .server_uid = 1, .command_uid = 0x7fffffff, .gid = 1}, users},
        {{.open = 1, .server_uid = 1, .command_uid = 1, .gid = 1}, users},
        {{.open = 1, .server_uid = 1, .command_uid = 2}, users},
        {{.open = 1, .server_uid = 1, .gid = 1}, users},
        {{.open = 1, .command_uid = 1, .gid = 1}, users},
        {{.open = 1, .server_uid = -1, .command_uid = 2, .gid = 1}, users},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct action_config config = cases[i].config;
        struct error err = ERROR_INIT;
        int rc = action_config_check(&config, &err);

        assert_int_equal(rc, cases[i].message == NULL ? 0 : -1);
        if (cases[i].message != NULL) {
            assert_int_equal(err.code, ERROR_INVALID);
            assert_string_equal(err.message, cases[i].message);
        } else {
            assert_true(strlen(config.command_key) > 20);
            assert_false(secret_is_set(&config.proof_key));
        }
    }
}

static void assert_proof_key(const struct action_config *config, const char *key)
{
    struct secret derived = {0};

    sandbox_key_derive(key, SANDBOX_KEY_PROOF, &derived);
    assert_string_equal(secret_reveal(&config->proof_key), secret_reveal(&derived));
    secret_done(&derived);
}

static void server_is_dormant_until_it_has_its_key(void **state)
{
    struct action_config config = {.open = 0};
    struct error err = ERROR_INIT;

    (void)state;
    secret_set(&config.init_key, "init");
    assert_int_equal(action_config_check(&config, &err), 0);
    assert_true(action_config_is_dormant(&config));
    assert_proof_key(&config, "init");
    action_config_take_keys(&config, "key", NULL);
    assert_false(action_config_is_dormant(&config));
    assert_string_equal(secret_reveal(&config.api_key), "key");
    assert_false(secret_is_set(&config.init_key));
    assert_proof_key(&config, "key");
    action_config_take_keys(&config, "key", "proof");
    assert_string_equal(secret_reveal(&config.proof_key), "proof");
    secret_set(&config.init_key, "init");
    assert_int_equal(action_config_check(&config, &err), 0);
    assert_proof_key(&config, "key");
    action_config_done(&config);
    config.open = 1;
    assert_false(action_config_is_dormant(&config));
}

static void numbers_of_seconds_are_read(void **state)
{
    static const struct {
        const char *text;
        double cap_s;
        int64_t silence_ms;
    } cases[] = {
        {"", 0, 10000},
        {"0", 0, 10000},
        {"-1", 0, 10000},
        {"x", 0, 10000},
        {"10s", 0, 10000},
        {"inf", 0, 10000},
        {"nan", 0, 10000},
        {"0.5", 0.45, 500},
        {"86400", 77760, 86400000},
        {"86401", 77760.9, 86400000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct action_config config = {.idle_timeout = cases[i].text,
                                             .run_silence = cases[i].text};
        double difference = action_config_foreground_cap_s(&config) - cases[i].cap_s;

        assert_true(difference < 1e-6 && difference > -1e-6);
        assert_int_equal(action_config_run_silence_ms(&config), cases[i].silence_ms);
    }
}

static void environment_is_for_all_programs(void **state)
{
    struct action_config config = {.open = 1};
    struct error err = ERROR_INIT;
    json_auto_t *environment =
        json_build(&err, "{s:s, s:s, s:s}", "DEFT_TEST_X", "x", "OH_RUNTIME_IDLE_TIMEOUT_SECONDS",
                   "100", "NO_CHANGE_TIMEOUT_SECONDS", "3");

    (void)state;
    assert_non_null(environment);
    action_config_take_environment(&config, NULL);
    assert_null(config.idle_timeout);
    action_config_take_environment(&config, environment);
    assert_string_equal(getenv("DEFT_TEST_X"), "x");
    assert_string_equal(config.idle_timeout, "100");
    assert_string_equal(config.run_silence, "3");
    action_config_done(&config);
    assert_null(config.idle_timeout);
    action_config_done(NULL);
    (void)unsetenv("DEFT_TEST_X");
    (void)unsetenv("OH_RUNTIME_IDLE_TIMEOUT_SECONDS");
    (void)unsetenv("NO_CHANGE_TIMEOUT_SECONDS");
}

int action_config_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_checked),
        cmocka_unit_test(server_is_dormant_until_it_has_its_key),
        cmocka_unit_test(numbers_of_seconds_are_read),
        cmocka_unit_test(environment_is_for_all_programs),
    };

    return cmocka_run_group_tests_name("sandbox/action_config", tests, NULL, NULL);
}

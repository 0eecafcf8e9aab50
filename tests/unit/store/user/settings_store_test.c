/*
 * A user's settings: the defaults of a user without any, members added since they were stored, and
 * secrets apart from the rest.
 */
#include "store/user/settings_store.h"

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "model/agent/conversation_defaults.h"
#include "model/schema/validation_error.h"
#include "store/store_fixture.h"
#include "store/user/document_store.h"
#include "support/json_path.h"
#include "support/pg.h"

static const struct conversation_defaults defaults = {.model = "scripted/hello"};
static const struct json_path place = {NULL, "changed", 0};

static struct document load(const struct test_document_scope *test)
{
    struct document settings = DOCUMENT_INIT;
    struct error err = ERROR_INIT;

    assert_done(settings_store_load(&test->scope, &defaults, &settings, &err), &err);
    return settings;
}

/* Frees the object. */
static void assert_member(json_t *object, const char *path, const char *expected)
{
    CLEANUP(mem_freep) char *text = json_to_text(object);

    assert_json_at(text, path, expected);
    json_decref(object);
}

static void assert_body(const struct document *settings, const char *path, const char *expected)
{
    assert_member(json_incref(settings->body), path, expected);
}

/* Returns the number of problems. */
static size_t set_agent(struct document *settings, const char *text)
{
    json_auto_t *agent = json_loads(text, 0, NULL);
    json_auto_t *problems = json_array();

    assert_non_null(agent);
    settings_store_set_agent(settings, &defaults, agent, &place, problems);
    if (json_array_size(problems) > 0)
        assert_member(json_incref(problems), "[0].loc[0]", "\"changed\"");
    return json_array_size(problems);
}

static void user_without_settings_has_the_defaults(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document settings = load(&test);

        assert_int_equal(settings.revision, 0);
        assert_int_equal(settings.collection, COLLECTION_SETTINGS);
        assert_string_equal(settings.name, "settings");
        assert_body(&settings, "agent_settings.agent_kind", "\"openhands\"");
        assert_body(&settings, "agent_settings.condenser.enabled", "true");
        assert_body(&settings, "conversation_settings.confirmation_mode", "false");
        assert_body(&settings, "misc_settings", "{}");
    }
}

static void stored_settings_get_the_members_added_since(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document old = document_new(COLLECTION_SETTINGS, "settings");

        json_decref(old.body);
        old.body = json_loads("{\"agent_settings\": {\"llm\": {\"model\": \"mine\"}},"
                              " \"conversation_settings\": {\"confirmation_mode\": true},"
                              " \"misc_settings\": {\"theme\": \"dark\"},"
                              " \"active_profile\": \"fast\"}",
                              0, NULL);
        assert_done(document_store_put(&test.scope, &old, 0, &err), &err);
    }
    {
        CLEANUP(document_done) struct document settings = load(&test);

        assert_int_equal(settings.revision, 1);
        assert_body(&settings, "agent_settings.llm.model", "\"mine\"");
        assert_body(&settings, "agent_settings.condenser.enabled", "true");
        assert_body(&settings, "conversation_settings.confirmation_mode", "true");
        assert_body(&settings, "conversation_settings.max_iterations", "500");
        assert_body(&settings, "misc_settings.theme", "\"dark\"");
        assert_body(&settings, "active_profile", "\"fast\"");
    }
}

static void secrets_of_the_agent_are_kept_apart(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document settings = load(&test);

        assert_int_equal(
            set_agent(&settings, "{\"llm\": {\"model\": \"m\", \"api_key\": \"sk-1\"}}"), 0);
        assert_body(&settings, "agent_settings.llm.api_key", "\"**********\"");
        assert_done(document_store_put(&test.scope, &settings, 0, &err), &err);
    }
    {
        CLEANUP(document_done) struct document settings = load(&test);

        assert_body(&settings, "agent_settings.llm.api_key", "\"**********\"");
        assert_member(settings_store_agent(&settings), "llm.api_key", "\"sk-1\"");
        assert_body(&settings, "agent_settings.llm.api_key", "\"**********\"");
    }
}

/* The marker in a change means the secret that is stored. */
static void marker_keeps_a_secret_and_another_text_replaces_it(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document settings = load(&test);

        assert_int_equal(set_agent(&settings, "{\"llm\": {\"api_key\": \"sk-1\"}}"), 0);
        assert_int_equal(
            set_agent(&settings, "{\"llm\": {\"model\": \"new\", \"api_key\": \"**********\"}}"),
            0);
        assert_member(settings_store_agent(&settings), "llm.model", "\"new\"");
        assert_member(settings_store_agent(&settings), "llm.api_key", "\"sk-1\"");
        assert_int_equal(set_agent(&settings, "{\"llm\": {\"api_key\": \"sk-2\"}}"), 0);
        assert_member(settings_store_agent(&settings), "llm.api_key", "\"sk-2\"");
        assert_int_equal(set_agent(&settings, "{\"llm\": {\"api_key\": null}}"), 0);
        assert_member(settings_store_agent(&settings), "llm.api_key", "null");
        assert_int_equal(json_object_size(settings.secrets), 0);
    }
}

static void agent_that_cannot_be_changes_nothing(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document settings = load(&test);

        assert_int_equal(
            set_agent(&settings, "{\"llm\": {\"model\": \"kept\", \"api_key\": \"sk-1\"}}"), 0);
        assert_int_equal(set_agent(&settings, "{\"llm\": {\"model\": \"bad\", \"api_key\":"
                                              " \"sk-2\"}, \"condenser\": {\"max_size\": 1}}"),
                         1);
        assert_member(settings_store_agent(&settings), "llm.model", "\"kept\"");
        assert_member(settings_store_agent(&settings), "llm.api_key", "\"sk-1\"");
    }
}

static void earlier_problems_do_not_refuse_an_agent(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document settings = load(&test);
        json_auto_t *agent = json_loads("{\"llm\": {\"model\": \"mine\"}}", 0, NULL);
        json_auto_t *problems = json_array();

        validation_error_add_value(problems, &place, "another one", NULL);
        settings_store_set_agent(&settings, &defaults, agent, &place, problems);
        assert_int_equal(json_array_size(problems), 1);
        assert_member(settings_store_agent(&settings), "llm.model", "\"mine\"");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_without_settings_has_the_defaults),
        cmocka_unit_test(stored_settings_get_the_members_added_since),
        cmocka_unit_test(secrets_of_the_agent_are_kept_apart),
        cmocka_unit_test(marker_keeps_a_secret_and_another_text_replaces_it),
        cmocka_unit_test(agent_that_cannot_be_changes_nothing),
        cmocka_unit_test(earlier_problems_do_not_refuse_an_agent),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

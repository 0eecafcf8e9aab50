/*
 * LLM profiles as they are called: with their secrets in clear and their provider connection
 * resolved.
 */
#include "store/user/profile_store.h"

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "store/store_fixture.h"
#include "store/user/document_store.h"
#include "support/json_path.h"
#include "support/pg.h"

#define MARKER "\"**********\""

static void put(const struct test_document_scope *test, enum collection collection,
                const char *name, const char *body, const char *secrets)
{
    CLEANUP(document_done) struct document document = document_new(collection, name);
    struct error err = ERROR_INIT;

    json_decref(document.body);
    document.body = json_loads(body, 0, NULL);
    document.secrets = json_loads(secrets, 0, NULL);
    assert_done(document_store_put(&test->scope, &document, 0, &err), &err);
}

static void open_scope(const struct store_fixture *fixture, struct test_document_scope *test)
{
    store_open_document_scope(fixture, test);
    put(test, COLLECTION_CONNECTIONS, "c-1",
        "{\"provider\": \"openai\", \"base_url\": \"https://connection\"}",
        "{\"api_key\": \"sk-connection\"}");
}

static void assert_llm(const json_t *llm, const char *api_key, const char *base_url)
{
    CLEANUP(mem_freep) char *text = json_to_text(llm);

    assert_json_at(text, "api_key", api_key);
    assert_json_at(text, "base_url", base_url);
}

static void profile_is_loaded_with_its_secrets_and_its_connection(void **state)
{
    static const struct {
        const char *name;
        const char *body;
        const char *secrets;
        const char *api_key;
        const char *base_url;
    } cases[] = {
        {"own key", "{\"model\": \"m\", \"api_key\": " MARKER "}", "{\"api_key\": \"sk-own\"}",
         "\"sk-own\"", NULL},
        {"own key first", "{\"api_key\": " MARKER ", \"provider_connection_id\": \"c-1\"}",
         "{\"api_key\": \"sk-own\"}", "\"sk-own\"", NULL},
        {"connection", "{\"provider_connection_id\": \"c-1\"}", "{}", "\"sk-connection\"",
         "\"https://connection\""},
        {"blank key", "{\"api_key\": \" \", \"provider_connection_id\": \"c-1\"}", "{}",
         "\"sk-connection\"", "\"https://connection\""},
        {"own address", "{\"base_url\": \"https://own\", \"provider_connection_id\": \"c-1\"}",
         "{}", "\"sk-connection\"", "\"https://own\""},
        {"no connection", "{\"provider_connection_id\": \"\"}", "{}", NULL, NULL},
    };
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    open_scope(*state, &test);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_auto_t *llm = NULL;

        put(&test, COLLECTION_PROFILES, cases[i].name, cases[i].body, cases[i].secrets);
        assert_done(profile_store_load_llm(&test.scope, cases[i].name, &llm, &err), &err);
        assert_llm(llm, cases[i].api_key, cases[i].base_url);
    }
}

static void profile_of_a_connection_without_a_key_has_an_empty_one(void **state)
{
    struct test_document_scope test;
    json_auto_t *llm = json_loads("{\"provider_connection_id\": \"c-2\"}", 0, NULL);
    struct error err = ERROR_INIT;

    open_scope(*state, &test);
    put(&test, COLLECTION_CONNECTIONS, "c-2", "{\"provider\": \"openai\"}", "{}");
    assert_done(profile_store_resolve_llm(&test.scope, llm, &err), &err);
    assert_string_equal(json_text_or(llm, "api_key", "none"), "");
    assert_null(json_text_or(llm, "base_url", NULL));
}

static void missing_profile_and_missing_connection_are_told_apart(void **state)
{
    struct test_document_scope test;
    json_auto_t *llm = NULL;
    json_auto_t *unresolved = json_loads("{\"provider_connection_id\": \"gone\"}", 0, NULL);
    struct error err = ERROR_INIT;

    open_scope(*state, &test);
    assert_int_equal(profile_store_load_llm(&test.scope, "none", &llm, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_string_equal(err.message, "Profile 'none' not found");
    put(&test, COLLECTION_PROFILES, "lost", "{\"provider_connection_id\": \"gone\"}", "{}");
    assert_int_equal(profile_store_load_llm(&test.scope, "lost", &llm, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message, "Provider connection 'gone' not found");
    assert_null(llm);
    assert_int_equal(profile_store_resolve_llm(&test.scope, unresolved, &err), -1);
    assert_int_equal(json_object_size(unresolved), 1);
}

/* Another failure than a missing document keeps its code. */
static void connection_that_cannot_be_read_is_not_a_missing_one(void **state)
{
    struct test_document_scope test;
    struct test_document_scope other;
    json_auto_t *llm = json_loads("{\"provider_connection_id\": \"c-1\"}", 0, NULL);
    struct error err = ERROR_INIT;

    open_scope(*state, &test);
    other = test;
    other.scope.keyring = &other.keyring;
    other.keyring.seal[0] = (unsigned char)~other.keyring.seal[0];
    assert_int_equal(profile_store_resolve_llm(&other.scope, llm, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
}

static void clear_copy_leaves_the_document_as_it_is(void **state)
{
    CLEANUP(document_done) struct document document = document_new(COLLECTION_PROFILES, "p");
    json_auto_t *llm = NULL;

    (void)state;
    json_put_text(document.body, "api_key", "**********");
    document.secrets = json_loads("{\"api_key\": \"sk-1\"}", 0, NULL);
    llm = profile_document_llm(&document);
    assert_string_equal(json_text_or(llm, "api_key", ""), "sk-1");
    assert_string_equal(json_text_or(document.body, "api_key", ""), "**********");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile_is_loaded_with_its_secrets_and_its_connection),
        cmocka_unit_test(profile_of_a_connection_without_a_key_has_an_empty_one),
        cmocka_unit_test(missing_profile_and_missing_connection_are_told_apart),
        cmocka_unit_test(connection_that_cannot_be_read_is_not_a_missing_one),
        cmocka_unit_test(clear_copy_leaves_the_document_as_it_is),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

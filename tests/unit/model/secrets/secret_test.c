#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "unit/model/model_test.h"

/* Every value that begins with "hush" is a secret. */
static const char request_text[] =
    "{'workspace': {'working_dir': '/w'}, 'agent': {"
    " 'llm': {'model': 'm', 'api_key': 'hush-1', 'aws_secret_access_key': 'hush-2',"
    "  'extra_headers': {'X-Key': 'hush-3'}},"
    " 'condenser': {'kind': 'LLMSummarizingCondenser', 'llm': {'api_key': 'hush-4'}},"
    " 'mcp_config': {'mcpServers': {'s': {'url': 'http://x', 'headers': {'A': 'hush-5'},"
    "  'env': {'B': 'hush-6'}, 'auth': {'strategy': 'bearer', 'value': 'hush-7'}},"
    "  't': {'url': 'http://z', 'auth': {'strategy': 'oauth2', 'authentication':"
    "   {'type': 'oauth', 'client_id': 'me', 'client_secret': 'hush-13'}, 'state':"
    "   {'tokens': {'access_token': 'hush-14', 'refresh_token': 'hush-15', 'scope': 's'},"
    "    'client_info': {'client_id': 'me', 'client_secret': 'hush-16'}}}}}},"
    " 'agent_context': {'secrets': {'C': 'hush-8',"
    "  'D': {'kind': 'StaticSecret', 'value': 'hush-9'}}}},"
    " 'security_analyzer': {'kind': 'GraySwanAnalyzer', 'api_key': 'hush-10'},"
    " 'secrets': {'E': {'kind': 'StaticSecret', 'value': 'hush-11', 'description': 'd'},"
    "  'F': {'kind': 'LookupSecret', 'url': 'http://y', 'headers': {'G': 'hush-12'}}}}";

static void start_with_secrets(struct conversation *conversation, json_t **secrets_out)
{
    json_auto_t *request = json_of(request_text);

    start_conversation(request, conversation, secrets_out);
}

static void assert_hushed(json_t *json)
{
    CLEANUP(mem_freep) char *text = json_to_text(json);

    assert_null(strstr(text, "hush"));
}

static void no_secret_stays_in_what_is_shown_or_stored(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *secrets = NULL;
    json_auto_t *info = NULL;
    json_auto_t *snapshot = NULL;

    (void)state;
    start_with_secrets(&conversation, &secrets);
    info = conversation_info(&conversation);
    snapshot = conversation_full_state(&conversation);
    assert_hushed(conversation.spec);
    assert_hushed(info);
    assert_hushed(snapshot);
}

static void every_secret_can_be_put_back(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *secrets = NULL;
    json_auto_t *spec = NULL;

    (void)state;
    start_with_secrets(&conversation, &secrets);
    spec = conversation_spec_with_secrets(&conversation, secrets);
    text = json_to_text(spec);
    for (int i = 1; i <= 16; i++) {
        char value[16];

        (void)snprintf(value, sizeof(value), "\"hush-%d\"", i);
        /* Registered texts live in the map of their names. */
        if (strstr(text, value) == NULL)
            assert_true(i == 11);
    }
    assert_string_equal(json_text_or(secrets, "llm_api_key", ""), "hush-1");
    assert_string_equal(json_text_or(json_object_get(secrets, "secrets"), "C", ""), "hush-8");
    assert_string_equal(json_text_or(json_object_get(secrets, "secrets"), "D", ""), "hush-9");
    assert_string_equal(json_text_or(json_object_get(secrets, "secrets"), "E", ""), "hush-11");
}

static void replies_say_null_and_snapshots_stars(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *info = NULL;
    json_auto_t *snapshot = NULL;
    json_t *llm = NULL;

    (void)state;
    start_with_secrets(&conversation, NULL);
    info = conversation_info(&conversation);
    snapshot = conversation_full_state(&conversation);
    llm = json_object_get(json_object_get(info, "agent"), "llm");
    assert_true(json_is_null(json_object_get(llm, "api_key")));
    llm = json_object_get(json_object_get(snapshot, "agent"), "llm");
    assert_string_equal(json_text_or(llm, "api_key", ""), "**********");
}

static void key_that_was_not_given_is_null_everywhere(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request = json_of(
        "{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {'api_key': '**********'}}}");
    json_auto_t *secrets = NULL;
    json_auto_t *snapshot = NULL;

    (void)state;
    start_conversation(request, &conversation, &secrets);
    snapshot = conversation_full_state(&conversation);
    assert_null(json_object_get(secrets, "llm_api_key"));
    assert_null(
        json_object_get(json_object_get(json_object_get(snapshot, "agent"), "llm"), "api_key"));
}

static void secrets_are_added_kept_and_removed(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *secrets = NULL;
    json_auto_t *problems = NULL;
    json_auto_t *update =
        json_of("{'NEW': 'hush-20', 'E': {'kind': 'StaticSecret', 'value': '**********'}, 'C': '',"
                " 'SHORT': {'value': 'hush-22'},"
                " 'F': {'kind': 'LookupSecret', 'url': 'http://z', 'headers': {'H': 'hush-21'}}}");
    json_t *texts = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    start_with_secrets(&conversation, &secrets);
    assert_int_equal(conversation_update_secrets(&conversation, secrets, update, &problems, &err),
                     0);
    texts = json_object_get(secrets, "secrets");
    assert_string_equal(json_text_or(texts, "NEW", ""), "hush-20");
    assert_string_equal(json_text_or(texts, "E", ""), "hush-11");
    assert_string_equal(json_text_or(texts, "SHORT", ""), "hush-22");
    assert_null(json_object_get(texts, "C"));
    assert_string_equal(json_text_or(json_object_get(secrets, "members"),
                                     "secret_registry/secret_sources/F/headers/H", ""),
                        "hush-21");
    assert_hushed(conversation.spec);
}

static void refused_update_changes_nothing(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *secrets = NULL;
    json_auto_t *problems = NULL;
    json_auto_t *update = json_of("{'GOOD': 'x', 'BAD': {'value': 'y', 'description': 'd'}}");
    json_auto_t *before = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    start_with_secrets(&conversation, &secrets);
    before = json_deep_copy(secrets);
    assert_int_equal(conversation_update_secrets(&conversation, secrets, update, &problems, &err),
                     -1);
    assert_string_equal(problem_at(problems, "secrets.BAD.kind"), "missing");
    assert_json_equal(secrets, before);
}

int secret_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_secret_stays_in_what_is_shown_or_stored),
        cmocka_unit_test(every_secret_can_be_put_back),
        cmocka_unit_test(replies_say_null_and_snapshots_stars),
        cmocka_unit_test(key_that_was_not_given_is_null_everywhere),
        cmocka_unit_test(secrets_are_added_kept_and_removed),
        cmocka_unit_test(refused_update_changes_nothing),
    };

    return cmocka_run_group_tests_name("model/secrets", tests, NULL, NULL);
}

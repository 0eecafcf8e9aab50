/*
 * Parts of a specification, with their defaults; updates of secrets.
 */
#include "model/conversation/conversation.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/limits.h"
#include "unit/model/model_test.h"

#define ID_A "00000000-0000-4000-8000-00000000000a"
#define ID_B "00000000-0000-4000-8000-00000000000b"

static void make(const char *spec, struct conversation *conversation_out)
{
    conversation_out->spec = json_of(spec);
}

static void an_own_session_is_of_the_user_and_the_conversation(void **state)
{
    const struct uuid a = {ID_A};
    const struct uuid b = {ID_B};
    CLEANUP(mem_freep) char *session = conversation_own_session(&a, &b);
    CLEANUP(mem_freep) char *again = conversation_own_session(&a, &b);
    CLEANUP(mem_freep) char *other = conversation_own_session(&b, &a);

    (void)state;
    assert_int_equal(strlen(session), 34);
    assert_memory_equal(session, "c-", 2);
    assert_int_equal(strspn(session + 2, "0123456789abcdef"), 32);
    assert_string_equal(session, again);
    assert_string_not_equal(session, other);
}

static void sessions_of_others_are_of_sandbox_clients(void **state)
{
    static const struct {
        const char *session; /* "": none */
        bool is_client;
    } cases[] = {
        {"", false}, {"c-0123", false}, {"u-0123", false}, {"0123", true}, {"x-c-1", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

        if (cases[i].session[0] != '\0')
            conversation.runtime_session = mem_dup_text(cases[i].session);
        assert_int_equal(conversation_is_sandbox_clients(&conversation), cases[i].is_client);
    }
}

static void origin_is_noted_with_the_number_of_events(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct uuid source = {ID_A};

    (void)state;
    make("{}", &conversation);
    assert_int_equal(conversation_n_copied(&conversation), 0);
    conversation_note_origin(&conversation, &source, "e1", 7);
    assert_int_equal(conversation_n_copied(&conversation), 7);
    assert_json_is(conversation.spec, "{'forked_from': {'conversation_id': '" ID_A
                                      "', 'event_id': 'e1', 'n_events': 7}}");
    conversation_note_origin(&conversation, &source, NULL, 0);
    assert_json_is(conversation.spec,
                   "{'forked_from': {'conversation_id': '" ID_A "', 'n_events': 0}}");
}

static void empty_specifications_have_defaults(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    make("{}", &conversation);
    assert_string_equal(conversation_working_dir(&conversation), "/workspace/project");
    assert_int_equal(conversation_max_iterations(&conversation), 500);
    assert_null(conversation_agent(&conversation));
    assert_null(conversation_llm(&conversation));
    assert_int_equal(conversation_tool_concurrency(&conversation), 1);
    assert_false(conversation_has_browser(&conversation));
    assert_false(conversation_has_analyzer(&conversation));
}

static void parts_are_read_from_the_specification(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    make("{'agent': {'llm': {'model': 'm'}}, 'workspace': {'working_dir': '/w'},"
         " 'max_iterations': 3, 'has_browser': true, 'security_analyzer': {'kind': 'k'}}",
         &conversation);
    assert_string_equal(conversation_working_dir(&conversation), "/w");
    assert_int_equal(conversation_max_iterations(&conversation), 3);
    assert_json_is(conversation_agent(&conversation), "{'llm': {'model': 'm'}}");
    assert_json_is(conversation_llm(&conversation), "{'model': 'm'}");
    assert_true(conversation_has_browser(&conversation));
    assert_true(conversation_has_analyzer(&conversation));
    json_put(conversation.spec, "security_analyzer", json_null());
    assert_false(conversation_has_analyzer(&conversation));
}

static void calls_at_once_are_limited(void **state)
{
    static const struct {
        const char *spec;
        size_t expected;
    } cases[] = {
        {"{'agent': {'tool_concurrency_limit': -1}}", 1},
        {"{'agent': {'tool_concurrency_limit': 0}}", 1},
        {"{'agent': {'tool_concurrency_limit': 1}}", 1},
        {"{'agent': {'tool_concurrency_limit': 2}}", 2},
        {"{'agent': {'tool_concurrency_limit': 15}}", 15},
        {"{'agent': {'tool_concurrency_limit': 16}}", 16},
        {"{'agent': {'tool_concurrency_limit': 17}}", 16},
        {"{'agent': {}}", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

        make(cases[i].spec, &conversation);
        assert_int_equal(conversation_tool_concurrency(&conversation), cases[i].expected);
    }
}

static void the_first_summarizing_condenser_takes_requests(void **state)
{
    static const struct {
        const char *condenser;
        const char *found; /* NULL: none */
    } cases[] = {
        {"{'kind': 'LLMSummarizingCondenser', 'n': 1}",
         "{'kind': 'LLMSummarizingCondenser', 'n': 1}"},
        {"{'kind': 'NoOpCondenser'}", NULL},
        {"{'kind': 'PipelineCondenser', 'condensers': [{'kind': 'NoOpCondenser'},"
         " {'kind': 'LLMSummarizingCondenser', 'n': 2},"
         " {'kind': 'LLMSummarizingCondenser', 'n': 3}]}",
         "{'kind': 'LLMSummarizingCondenser', 'n': 2}"},
        {"{'kind': 'PipelineCondenser', 'condensers': []}", NULL},
        {"{}", NULL},
        {"null", NULL},
    };

    (void)state;
    assert_null(conversation_find_condenser(NULL));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *condenser = json_of(cases[i].condenser);
        json_t *found = conversation_find_condenser(condenser);

        if (cases[i].found == NULL)
            assert_null(found);
        else
            assert_json_is(found, cases[i].found);
    }
}

static void a_done_conversation_is_as_new(void **state)
{
    struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    start_default(&conversation);
    conversation.status = STATUS_RUNNING;
    conversation.title = mem_dup_text("t");
    conversation_done(&conversation);
    assert_null(conversation.spec);
    assert_null(conversation.title);
    assert_int_equal(conversation.status, STATUS_IDLE);
    conversation_done(NULL);
}

static void secrets_return_to_their_places_in_a_copy(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *secrets = json_of("{'members': {'agent/llm/api_key': 'k'}}");
    json_auto_t *whole = NULL;
    json_auto_t *bare = NULL;

    (void)state;
    make("{'agent': {'llm': {'api_key': '**********'}}}", &conversation);
    whole = conversation_spec_with_secrets(&conversation, secrets);
    bare = conversation_spec_with_secrets(&conversation, NULL);
    assert_json_is(whole, "{'agent': {'llm': {'api_key': 'k'}}}");
    assert_json_is(bare, "{'agent': {'llm': {'api_key': '**********'}}}");
    assert_json_is(conversation.spec, "{'agent': {'llm': {'api_key': '**********'}}}");
}

/* Returns the code; *problems_out may stay NULL. */
static enum error_code update(struct conversation *conversation, json_t *secrets,
                              const char *update_text, json_t **problems_out)
{
    json_auto_t *update = json_of(update_text);
    struct error err = ERROR_INIT;
    int rc = conversation_update_secrets(conversation, secrets, update, problems_out, &err);

    assert_int_equal(rc, err.code == ERROR_NONE ? 0 : -1);
    return err.code;
}

static void the_first_secrets_make_the_registry(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *secrets = json_object();
    json_t *problems = NULL;

    (void)state;
    make("{}", &conversation);
    assert_int_equal(update(&conversation, secrets, "{'A': {'value': 'a'}, 'B': 'b'}", &problems),
                     ERROR_NONE);
    assert_null(problems);
    assert_json_is(conversation.spec,
                   "{'secret_registry': {'secret_sources': {"
                   "'A': {'kind': 'StaticSecret', 'value': '**********', 'description': null},"
                   " 'B': {'kind': 'StaticSecret', 'value': '**********', 'description': null}}}}");
    assert_json_is(json_object_get(secrets, "secrets"), "{'A': 'a', 'B': 'b'}");
}

static void a_launched_profile_limits_the_secrets(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *secrets = json_object();
    json_t *problems = NULL;

    (void)state;
    make("{'launched_agent_profile': {'secret_refs': ['A']}}", &conversation);
    assert_int_equal(update(&conversation, secrets, "{'A': 'a', 'B': 'b'}", &problems), ERROR_NONE);
    assert_json_is(json_object_get(secrets, "secrets"), "{'A': 'a'}");
    assert_null(json_object_get(
        json_object_get(json_object_get(conversation.spec, "secret_registry"), "secret_sources"),
        "B"));
}

static void wrong_updates_are_refused_and_change_nothing(void **state)
{
    static const struct {
        const char *update;
        const char *path;
        const char *type;
    } cases[] = {
        {"['A']", "secrets", "dict_type"},
        {"'A'", "secrets", "dict_type"},
        {"{'A': 'a', 'B': null}", "secrets.B", "model_attributes_type"},
        {"{'A': 'a', 'B': {'value': 'b', 'description': 'd'}}", "secrets.B.kind", "missing"},
        {"{'A': 'a', 'B': {'value': 5}}", "secrets.B.kind", "missing"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        json_auto_t *secrets = json_object();
        json_auto_t *problems = NULL;

        make("{}", &conversation);
        assert_int_equal(update(&conversation, secrets, cases[i].update, &problems), ERROR_INVALID);
        assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
        assert_json_is(conversation.spec, "{}");
        assert_json_is(secrets, "{}");
    }
}

int conversation_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_own_session_is_of_the_user_and_the_conversation),
        cmocka_unit_test(sessions_of_others_are_of_sandbox_clients),
        cmocka_unit_test(origin_is_noted_with_the_number_of_events),
        cmocka_unit_test(empty_specifications_have_defaults),
        cmocka_unit_test(parts_are_read_from_the_specification),
        cmocka_unit_test(calls_at_once_are_limited),
        cmocka_unit_test(the_first_summarizing_condenser_takes_requests),
        cmocka_unit_test(a_done_conversation_is_as_new),
        cmocka_unit_test(secrets_return_to_their_places_in_a_copy),
        cmocka_unit_test(the_first_secrets_make_the_registry),
        cmocka_unit_test(a_launched_profile_limits_the_secrets),
        cmocka_unit_test(wrong_updates_are_refused_and_change_nothing),
    };

    return cmocka_run_group_tests_name("model/conversation", tests, NULL, NULL);
}

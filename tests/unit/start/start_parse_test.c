#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/limits.h"
#include "start/start_parse.h"
#include "unit/start/start_fixture.h"

static void members_are_read_once(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_body(
        ", 'secrets': {'A': 'b'}, 'secrets_encrypted': true, 'title_llm_profile': 'small',"
        " 'initial_message': {'content': [], 'sender': 'bot'},"
        " 'agent_launch_additions': {'system_message_suffix_append': 'be brief'}");
    struct error err = ERROR_INIT;

    assert_done(start_parse(&context, body, NULL, &request, &err), &err);
    assert_ptr_equal(request.agent, json_object_get(body, "agent"));
    assert_ptr_equal(request.secrets, json_object_get(body, "secrets"));
    assert_int_equal(request.sealing, START_SECRETS_SEALED);
    assert_string_equal(request.title_llm_profile, "small");
    assert_string_equal(request.sender, "bot");
    assert_string_equal(request.additions.suffix, "be brief");
    assert_false(uuid_is_set(&request.agent_profile_id));
}

static void a_profile_is_launched_only_without_an_agent(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request alone = START_REQUEST_INIT;
    CLEANUP(start_request_done) struct start_request both = START_REQUEST_INIT;
    CLEANUP(start_request_done) struct start_request settings = START_REQUEST_INIT;
    CLEANUP(start_request_done) struct start_request malformed = START_REQUEST_INIT;
    json_auto_t *profile = start_json("{'agent_profile_id': '11111111-2222-4333-8444-555555555555',"
                                      " 'agent_launch_additions': {'llm_profile_ref': 'fast'}}");
    json_auto_t *with_agent =
        start_body(", 'agent_profile_id': '11111111-2222-4333-8444-555555555555'");
    json_auto_t *with_settings =
        start_json("{'agent_settings': {'llm': {'model': 'm'}},"
                   " 'agent_profile_id': '11111111-2222-4333-8444-555555555555'}");
    json_auto_t *no_uuid = start_json("{'agent_profile_id': 'x'}");
    struct error err = ERROR_INIT;

    assert_done(start_parse(&context, profile, NULL, &alone, &err), &err);
    assert_string_equal(alone.agent_profile_id.text, "11111111-2222-4333-8444-555555555555");
    assert_string_equal(alone.additions.llm_profile_ref, "fast");
    assert_null(alone.agent);
    assert_done(start_parse(&context, with_agent, NULL, &both, &err), &err);
    assert_false(uuid_is_set(&both.agent_profile_id));
    assert_done(start_parse(&context, with_settings, NULL, &settings, &err), &err);
    assert_false(uuid_is_set(&settings.agent_profile_id));
    assert_ptr_equal(settings.agent, json_object_get(with_settings, "agent_settings"));
    assert_done(start_parse(&context, no_uuid, NULL, &malformed, &err), &err);
    assert_false(uuid_is_set(&malformed.agent_profile_id));
}

static void additions_are_closed_and_need_a_profile(void **state)
{
    static const struct {
        const char *members;
        const char *member;
    } cases[] = {
        {", 'agent_launch_additions': {'llm_profile_ref': 'fast'}", "llm_profile_ref"},
        {", 'agent_launch_additions': {'more': 1}", "more"},
        {", 'agent_launch_additions': {'skills': [{'name': 'x'}]}", "content"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        json_auto_t *body = start_body(cases[i].members);
        struct error err = ERROR_INIT;

        assert_int_equal(start_parse(&context, body, NULL, &request, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_problem(&context, cases[i].member);
        assert_null(request.body);
    }
}

static void the_body_takes_precedence_over_tracing_headers(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_body(", 'observability_span_name': 'mine'");
    json_auto_t *tracing =
        start_json("{'observability_span_name': 'theirs', 'observability_tags': ['a']}");
    struct error err = ERROR_INIT;

    assert_done(start_parse(&context, body, tracing, &request, &err), &err);
    assert_string_equal(json_text_or(request.body, "observability_span_name", ""), "mine");
    assert_int_equal(json_array_size(json_object_get(request.body, "observability_tags")), 1);
}

static void a_span_name_has_few_characters(void **state)
{
    char longest[130] = "";
    const char *const names[] = {"", "a b", "x'y", longest};

    memset(longest, 'x', 129);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        json_auto_t *body = start_body("");
        struct error err = ERROR_INIT;

        json_put_text(body, "observability_span_name", names[i]);
        assert_int_equal(start_parse(&context, body, NULL, &request, &err), -1);
        assert_problem(&context, "observability_span_name");
    }
    longest[128] = '\0';
    {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        json_auto_t *body = start_body("");
        struct error err = ERROR_INIT;

        json_put_text(body, "observability_span_name", longest);
        assert_done(start_parse(&context, body, NULL, &request, &err), &err);
    }
}

static void members_that_are_not_given_are_none(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{'title_llm_profile': null, 'secrets_encrypted': false, 'agent': null,"
        " 'agent_settings': null, 'agent_profile_id': null, 'agent_launch_additions': null,"
        " 'initial_message': null}",
        "{'agent': 5, 'secrets_encrypted': 'true', 'initial_message': {'sender': null}}",
        "{'agent': 5, 'agent_profile_id': '11111111-2222-4333-8444-555555555555'}",
        "{'agent_launch_additions': {'system_message_suffix_append': null, 'skills': null,"
        " 'llm_profile_ref': null}}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        json_auto_t *body = start_json(bodies[i]);
        struct error err = ERROR_INIT;

        assert_done(start_parse(&context, body, NULL, &request, &err), &err);
        assert_null(request.agent);
        assert_null(request.secrets);
        assert_null(request.title_llm_profile);
        assert_null(request.sender);
        assert_int_equal(request.sealing, START_SECRETS_PLAIN);
        assert_false(uuid_is_set(&request.agent_profile_id));
        assert_string_equal(request.additions.suffix, "");
        assert_int_equal(json_array_size(request.additions.skills), 0);
        assert_null(request.additions.llm_profile_ref);
    }
}

/* It is refused later, with its place; a sandbox's key may not name one at all. */
static void a_title_profile_that_is_no_text_counts_as_given(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_json("{'title_llm_profile': 5}");
    struct error err = ERROR_INIT;

    assert_done(start_parse(&context, body, NULL, &request, &err), &err);
    assert_string_equal(request.title_llm_profile, "");
}

static void additions_are_read_up_to_their_limits(void **state)
{
    for (size_t extra = 0; extra < 2; extra++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        CLEANUP(strbuf_done) struct strbuf suffix = STRBUF_INIT;
        json_auto_t *body = start_body(", 'agent_launch_additions': {'skills':"
                                       " [{'name': 'a', 'content': 'b', 'more': 1}]}");
        json_t *additions = json_object_get(body, "agent_launch_additions");
        struct error err = ERROR_INIT;

        for (size_t i = 0; i < SUFFIX_MAX_CHARS + extra; i++)
            strbuf_append(&suffix, "\xc3\xa4");
        json_put_text(additions, "system_message_suffix_append", suffix.text);
        if (extra == 0) {
            assert_done(start_parse(&context, body, NULL, &request, &err), &err);
            assert_ptr_equal(request.additions.skills, json_object_get(additions, "skills"));
            continue;
        }
        assert_int_equal(start_parse(&context, body, NULL, &request, &err), -1);
        assert_problem(&context, "system_message_suffix_append");
    }
}

static void a_problem_of_the_additions_tells_its_place(void **state)
{
    static const struct {
        const char *additions;
        const char *loc;
    } cases[] = {
        {"{'llm_profile_ref': 'x'}", "['body', 'agent_launch_additions', 'llm_profile_ref']"},
        {"{'skills': [{'content': 'x'}]}",
         "['body', 'agent_launch_additions', 'skills', 0, 'name']"},
        {"{'system_message_suffix_append': 5}",
         "['body', 'agent_launch_additions', 'system_message_suffix_append']"},
        {"5", "['body', 'agent_launch_additions']"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
        json_auto_t *body = start_body("");
        json_auto_t *loc = start_json(cases[i].loc);
        struct error err = ERROR_INIT;

        json_put(body, "agent_launch_additions", start_json(cases[i].additions));
        assert_int_equal(start_parse(&context, body, NULL, &request, &err), -1);
        assert_int_equal(json_array_size(context.problems), 1);
        assert_true(json_equal(json_object_get(json_array_get(context.problems, 0), "loc"), loc));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_read_once),
        cmocka_unit_test(a_profile_is_launched_only_without_an_agent),
        cmocka_unit_test(additions_are_closed_and_need_a_profile),
        cmocka_unit_test(the_body_takes_precedence_over_tracing_headers),
        cmocka_unit_test(a_span_name_has_few_characters),
        cmocka_unit_test(members_that_are_not_given_are_none),
        cmocka_unit_test(a_title_profile_that_is_no_text_counts_as_given),
        cmocka_unit_test(additions_are_read_up_to_their_limits),
        cmocka_unit_test(a_problem_of_the_additions_tells_its_place),
    };

    return cmocka_run_group_tests(tests, start_set_up, start_tear_down);
}

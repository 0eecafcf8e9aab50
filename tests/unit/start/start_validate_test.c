#include "base/json.h"
#include "start/start_parse.h"
#include "start/start_validate.h"
#include "unit/start/start_fixture.h"

static int validate(const struct start_context *context, const char *members,
                    struct start_plan *plan_out, struct error *err)
{
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    json_auto_t *body = start_body(members);

    assert_done(start_parse(context, body, NULL, &request, err), err);
    return start_validate(context, &request, plan_out, err);
}

static void a_valid_request_is_a_plan(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_plan_done) struct start_plan plan = START_PLAN_INIT;
    struct error err = ERROR_INIT;

    assert_done(validate(&context,
                         ", 'conversation_id': '11111111-2222-4333-8444-555555555555',"
                         " 'initial_message': {'content': [{'type': 'text', 'text': 'go'}]}",
                         &plan, &err),
                &err);
    assert_string_equal(plan.conversation.id.text, "11111111-2222-4333-8444-555555555555");
    assert_string_equal(conversation_working_dir(&plan.conversation), "/w");
    assert_int_equal(json_array_size(plan.content), 1);
    assert_null(plan.sender);
}

static void a_launched_profile_is_in_the_specification(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    CLEANUP(start_plan_done) struct start_plan plan = START_PLAN_INIT;
    json_auto_t *body = start_body("");
    struct error err = ERROR_INIT;

    assert_done(start_parse(&context, body, NULL, &request, &err), &err);
    request.launched_profile = start_json("{'revision': 3}");
    assert_done(start_validate(&context, &request, &plan, &err), &err);
    assert_int_equal(json_int_or(json_object_get(plan.conversation.spec, "launched_agent_profile"),
                                 "revision", 0),
                     3);
}

static void problems_are_noted_with_their_place(void **state)
{
    static const struct {
        const char *members;
        const char *member;
    } cases[] = {
        {", 'max_iterations': 0", "max_iterations"},
        {", 'container': {'memory': '2g'}", "memory"},
        {", 'container': {'memory': '1m'}", "memory"},
        {", 'container': {'memory': '6291455'}", "memory"},
        {", 'container': {'memory': '1073741825'}", "memory"},
        {", 'container': {'cpus': 2.5}", "cpus"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_plan_done) struct start_plan plan = START_PLAN_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(validate(&context, cases[i].members, &plan, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_int_equal(json_array_size(context.problems), 1);
        assert_problem(&context, cases[i].member);
    }
}

static void the_limits_of_a_container_are_allowed(void **state)
{
    static const char *const members[] = {
        ", 'container': {'memory': '1g', 'cpus': 2}",
        ", 'container': {'memory': '6m', 'cpus': 0.01}",
        ", 'container': {}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_plan_done) struct start_plan plan = START_PLAN_INIT;
        struct error err = ERROR_INIT;

        assert_done(validate(&context, members[i], &plan, &err), &err);
    }
}

static void a_refusal_tells_the_limits(void **state)
{
    static const struct {
        const char *members;
        const char *msg;
    } cases[] = {
        {", 'container': {'memory': '2g'}",
         "Value error, a sandbox's memory must be from 6291456 to 1073741824 bytes"},
        {", 'container': {'cpus': 3}", "Value error, a sandbox may have at most 2 processors"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
        CLEANUP(start_plan_done) struct start_plan plan = START_PLAN_INIT;
        const json_t *problem = NULL;
        json_auto_t *place = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(validate(&context, cases[i].members, &plan, &err), -1);
        problem = json_array_get(context.problems, 0);
        assert_string_equal(json_text_or(problem, "msg", ""), cases[i].msg);
        place = start_json(i == 0 ? "['body', 'container', 'memory']"
                                  : "['body', 'container', 'cpus']");
        assert_true(json_equal(json_object_get(problem, "loc"), place));
    }
}

static void the_sender_of_the_message_is_planned(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_request_done) struct start_request request = START_REQUEST_INIT;
    CLEANUP(start_plan_done) struct start_plan plan = START_PLAN_INIT;
    json_auto_t *body = start_body(", 'initial_message': {'content': [], 'sender': 'bot'}");
    struct error err = ERROR_INIT;

    assert_done(start_parse(&context, body, NULL, &request, &err), &err);
    assert_done(start_validate(&context, &request, &plan, &err), &err);
    assert_string_equal(plan.sender, "bot");
    assert_null(json_object_get(plan.conversation.spec, "launched_agent_profile"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_request_is_a_plan),
        cmocka_unit_test(a_launched_profile_is_in_the_specification),
        cmocka_unit_test(problems_are_noted_with_their_place),
        cmocka_unit_test(the_limits_of_a_container_are_allowed),
        cmocka_unit_test(a_refusal_tells_the_limits),
        cmocka_unit_test(the_sender_of_the_message_is_planned),
    };

    return cmocka_run_group_tests(tests, start_set_up, start_tear_down);
}

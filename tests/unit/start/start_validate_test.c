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

static void the_largest_container_is_allowed(void **state)
{
    CLEANUP(start_context_end) struct start_context context = start_context_begin(state);
    CLEANUP(start_plan_done) struct start_plan plan = START_PLAN_INIT;
    struct error err = ERROR_INIT;

    assert_done(validate(&context, ", 'container': {'memory': '1g', 'cpus': 2}", &plan, &err),
                &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_request_is_a_plan),
        cmocka_unit_test(a_launched_profile_is_in_the_specification),
        cmocka_unit_test(problems_are_noted_with_their_place),
        cmocka_unit_test(the_largest_container_is_allowed),
    };

    return cmocka_run_group_tests(tests, start_set_up, start_tear_down);
}

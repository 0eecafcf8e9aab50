/*
 * Profiles that are asked like models, where no worker answers: the deadline, and the threads that
 * may wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "fixture.h"
#include "support/pg.h"

#define ASK "{\"model\":\"openhands_p\",\"input\":\"hi\"}"

static void expect(void *state, const char *method, const char *path, const char *body, int status)
{
    CLEANUP(test_answer_done) struct test_answer answer =
        test_dispatch(state, ALICE, method, path, body);

    assert_answer(&answer, status, "");
}

/* Alice's profile p, and an agent profile that is active. */
static void prepare(void *state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    json_auto_t *json = NULL;

    expect(state, "POST", "/api/profiles/p", "{\"llm\":{\"model\":\"scripted/hello\"}}", 201);
    expect(state, "POST", "/api/agent-profiles/a", "{\"llm_profile_ref\":\"p\"}", 201);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(state, ALICE, "GET", "/api/agent-profiles/a", NULL);

        json = answer_json(&answer);
    }
    strbuf_appendf(&path, "/api/agent-profiles/%s/activate",
                   json_text_or(json_object_get(json, "profile"), "id", "none"));
    expect(state, "POST", path.text, NULL, 200);
}

static void deadline_is_a_504_that_names_the_conversation(void **state)
{
    struct fixture *fixture = *state;

    prepare(*state);
    fixture->settings.answer_wait_ms = 0;
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "POST", "/v1/responses", ASK);

        assert_answer(&answer, 504, "504: Gateway Timeout");
        assert_non_null(strstr(answer.head.text, "X-OpenHands-ServerConversation-ID: "));
    }
    assert_int_equal(test_take_waits(fixture), 2);
    test_give_waits(fixture, 2);
}

static void deadline_of_a_stream_is_its_last_event(void **state)
{
    struct fixture *fixture = *state;

    prepare(*state);
    fixture->settings.answer_wait_ms = 0;
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "POST", "/v1/responses",
                          "{\"model\":\"openhands_p\",\"input\":\"hi\",\"stream\":true}");

        assert_answer(&answer, 200, "event: response.created\n");
        assert_non_null(strstr(answer.head.text, "X-OpenHands-ServerConversation-ID: "));
        assert_non_null(strstr(answer.head.text, "Content-Type: text/event-stream"));
        assert_null(strstr(answer.head.text, "Content-Length: "));
        assert_non_null(strstr(answer.body.text, "event: response.failed\n"));
        assert_non_null(strstr(answer.body.text, "did not come in time"));
        assert_null(strstr(answer.body.text, "response.completed"));
    }
    assert_int_equal(test_take_waits(fixture), 2);
    test_give_waits(fixture, 2);
}

static void only_half_of_the_threads_wait(void **state)
{
    struct fixture *fixture = *state;
    size_t n = 0;

    prepare(*state);
    n = test_take_waits(fixture);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "POST", "/v1/responses", ASK);

        assert_answer(&answer, 503, "503: Service Unavailable");
        assert_null(strstr(answer.head.text, "X-OpenHands-ServerConversation-ID: "));
    }
    test_give_waits(fixture, n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadline_is_a_504_that_names_the_conversation),
        cmocka_unit_test(deadline_of_a_stream_is_its_last_event),
        cmocka_unit_test(only_half_of_the_threads_wait),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

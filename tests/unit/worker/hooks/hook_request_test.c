/*
 * What a hook's model is sent, with a model behind HTTP.
 */
#include <string.h>

#include "base/error.h"
#include "client/test_server.h"
#include "model/event/stats.h"
#include "worker/agent/hooks/hook_model.h"
#include "worker/hooks/hooks_test.h"

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define REPLY(message)                                                                             \
    HEAD "{\"id\":\"r\",\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"message\":"         \
         "{\"role\":\"assistant\"," message "}}],"                                                 \
         "\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":2}}"
#define ALLOWS {.bytes = REPLY("\"content\":\"allow\""), .ending = TEST_CLOSE}
#define GREP(id)                                                                                   \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"grep\","                    \
    "\"arguments\":\"{\\\"pattern\\\": \\\"x\\\"}\"}}"
#define NO_SCRIPT "{\"turns\": [{\"steps\": [{\"text\": \"\"}]}]}"

/* As hook_model.c has it. */
enum { CALLS_MAX = 16, INPUT_MAX_CHARS = 50000, USAGE_NAME_MAX_CHARS = 64 };

struct asking {
    struct claimed_agent claimed;
    struct test_server *server;
    json_t *json;
    struct uuid id;
    struct model_hook hook;
    struct strbuf answer;
    struct strbuf problem;
    struct error err;
};

/* more: members of the agent's start request, JSON. */
static void begin(struct asking *asking, void **state, const struct test_reply *replies, size_t n,
                  const char *hook, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf start = STRBUF_INIT;
    struct uuid id = UUID_INIT;

    *asking = (struct asking){.answer = STRBUF_INIT,
                              .problem = STRBUF_INIT,
                              .err = ERROR_INIT,
                              .id = uuid_random(),
                              .json = json_loads(hook, 0, NULL)};
    assert_non_null(asking->json);
    asking->server = test_server_start(replies, n, NULL);
    strbuf_appendf(&start,
                   "{\"agent\": {\"llm\": {\"model\": \"openai/test\", \"api_key\": \"k\","
                   " \"base_url\": \"%s\", \"input_cost_per_token\": 1,"
                   " \"output_cost_per_token\": 1}}%s}",
                   test_server_url(asking->server, "/v1"), more);
    id = run_new_conversation(*state, NO_SCRIPT, start.text);
    claimed_agent_begin(&asking->claimed, *state, &id);
    asking->hook = (struct model_hook){.hook = asking->json,
                                       .is_agent = json_object_get(asking->json, "tools") != NULL,
                                       .event_name = "PreToolUse",
                                       .input_text = "{}",
                                       .id = &asking->id,
                                       .timeout_s = 60};
}

static void end(struct asking *asking)
{
    claimed_agent_end(&asking->claimed);
    test_server_stop(asking->server);
    json_decref(asking->json);
    strbuf_done(&asking->answer);
    strbuf_done(&asking->problem);
}

static void ask(struct asking *asking)
{
    if (hook_model_ask(&asking->claimed.agent, &asking->hook, &asking->answer, &asking->problem,
                       &asking->err) < 0)
        fail_msg("%s: %s", asking->err.where, asking->err.message);
}

/* The body of the n-th request, from 0. */
static const char *sent(const struct asking *asking, size_t n)
{
    const char *body = strstr(test_server_request(asking->server, n), "\r\n\r\n");

    assert_non_null(body);
    return body + 4;
}

static void next_request_has_all_calls_and_their_results(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = REPLY("\"content\":\"I look.\",\"tool_calls\":[" GREP("c1") "," GREP("c2") "]"),
         .ending = TEST_CLOSE},
        ALLOWS};
    struct asking asking;
    const char *body = NULL;

    begin(&asking, state, replies, ARRAY_SIZE(replies),
          "{\"prompt\": \"RULE\", \"tools\": [\"grep\", \"terminal\"]}", "");
    ask(&asking);
    assert_string_equal(asking.problem.text, "");
    assert_string_equal(asking.answer.text, "allow");
    body = sent(&asking, 0);
    assert_json_at(body, "tools[0].function.name", "\"grep\"");
    assert_json_at(body, "tools[1]", NULL);
    body = sent(&asking, 1);
    assert_json_at(body, "messages[2].role", "\"assistant\"");
    assert_json_at(body, "messages[2].content[0].text", "\"I look.\"");
    assert_json_at(body, "messages[2].tool_calls[0].id", "\"c1\"");
    assert_json_at(body, "messages[2].tool_calls[1].id", "\"c2\"");
    assert_json_at(body, "messages[2].tool_calls[1].type", "\"function\"");
    assert_json_at(body, "messages[2].tool_calls[1].function",
                   "{\"name\": \"grep\", \"arguments\": \"{\\\"pattern\\\": \\\"x\\\"}\"}");
    assert_json_at(body, "messages[3].role", "\"tool\"");
    assert_json_at(body, "messages[3].tool_call_id", "\"c1\"");
    assert_json_at(body, "messages[4].tool_call_id", "\"c2\"");
    assert_json_at(body, "messages[5]", NULL);
    end(&asking);
}

static void calls_beyond_the_limit_of_an_answer_are_not_run(void **state)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct test_reply replies[] = {{.ending = TEST_CLOSE}, ALLOWS};
    struct asking asking;

    strbuf_append(&answer, HEAD "{\"choices\":[{\"index\":0,\"finish_reason\":\"tool_calls\","
                                "\"message\":{\"role\":\"assistant\",\"tool_calls\":[");
    for (int i = 0; i <= CALLS_MAX; i++)
        strbuf_appendf(&answer,
                       "%s{\"id\":\"c%d\",\"type\":\"function\",\"function\":{\"name\":\"grep\","
                       "\"arguments\":\"{\\\"pattern\\\": \\\"x%d\\\"}\"}}",
                       i > 0 ? "," : "", i, i);
    strbuf_append(&answer, "]}}]}");
    replies[0].bytes = answer.text;
    begin(&asking, state, replies, ARRAY_SIZE(replies),
          "{\"prompt\": \"RULE\", \"tools\": [\"grep\"]}", "");
    ask(&asking);
    assert_int_equal(stub_n_runs(fixture->stub) - n_runs, CALLS_MAX);
    assert_json_at(sent(&asking, 1), "messages[19].tool_call_id", "\"c16\"");
    assert_json_at(sent(&asking, 1), "messages[19].content[0].text",
                   "\"This call was not run: there are too many in one answer.\"");
    assert_json_at(sent(&asking, 1), "messages[20]", NULL);
    end(&asking);
}

static void model_is_told_why_a_call_was_not_run(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = REPLY("\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\","
                        "\"function\":{\"name\":\"terminal\",\"arguments\":\"{}\"}},"
                        "{\"id\":\"c2\",\"type\":\"function\","
                        "\"function\":{\"name\":\"grep\",\"arguments\":\"{}\"}}]"),
         .ending = TEST_CLOSE},
        ALLOWS};
    struct run_fixture *fixture = *state;
    size_t n_runs = stub_n_runs(fixture->stub);
    struct asking asking;

    begin(&asking, state, replies, ARRAY_SIZE(replies),
          "{\"prompt\": \"RULE\", \"tools\": [\"grep\", \"terminal\", 7]}", "");
    ask(&asking);
    assert_string_equal(asking.answer.text, "allow");
    assert_int_equal(stub_n_runs(fixture->stub), n_runs);
    assert_json_at(sent(&asking, 1), "messages[3].content[0].text",
                   "\"There is no tool 'terminal' here.\"");
    assert_json_at(sent(&asking, 1), "messages[4].name", "\"grep\"");
    assert_non_null(strstr(sent(&asking, 1), "\"Error validating tool 'grep': 1 validation"));
    end(&asking);
}

static void hook_without_a_name_counts_for_its_event(void **state)
{
    static const struct test_reply replies[] = {ALLOWS};
    static const struct {
        const char *hook;
        const char *usage_id;
    } cases[] = {
        {"{\"prompt\": \"RULE\"}", "prompt-hook:PreToolUse"},
        {"{\"prompt\": \"RULE\", \"name\": \" \"}", "prompt-hook:PreToolUse"},
        {"{\"prompt\": \"RULE\", \"name\": \"guard\", \"tools\": []}", "agent-hook:guard"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        struct asking asking;

        begin(&asking, state, replies, 1, cases[i].hook, "");
        ask(&asking);
        assert_string_equal(asking.answer.text, "allow");
        stats_append_text(asking.claimed.agent.stats, &stats);
        strbuf_appendf(&path, "usage_to_metrics.%s.token_usages[0].response_id", cases[i].usage_id);
        assert_json_at(stats.text, path.text, "\"r\"");
        end(&asking);
    }
}

/* The model's first answer spends it. */
static void model_is_not_asked_again_beyond_the_budget(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = REPLY("\"content\":\"\",\"tool_calls\":[" GREP("c1") "]"), .ending = TEST_CLOSE},
        ALLOWS};
    struct asking asking;

    begin(&asking, state, replies, ARRAY_SIZE(replies),
          "{\"prompt\": \"RULE\", \"tools\": [\"grep\"]}", ", \"max_budget_per_run\": 5");
    ask(&asking);
    assert_int_equal(test_server_n_requests(asking.server), 1);
    assert_string_equal(asking.answer.text, "");
    assert_non_null(strstr(asking.problem.text, "reached the budget of $5.0000"));
    end(&asking);
}

/* Nor at all where its time is over. */
static void model_is_not_asked_after_the_hooks_time(void **state)
{
    static const struct test_reply replies[] = {ALLOWS};
    struct asking asking;

    begin(&asking, state, replies, ARRAY_SIZE(replies), "{\"prompt\": \"RULE\"}", "");
    asking.hook.timeout_s = 0;
    ask(&asking);
    assert_int_equal(test_server_n_requests(asking.server), 0);
    assert_string_equal(asking.problem.text, "The hook's time is over.");
    end(&asking);
}

/* A tool may have returned megabytes, and a hook may have any name. */
static void question_and_usage_id_are_bounded(void **state)
{
    static const struct test_reply replies[] = {ALLOWS};
    CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf hook = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    struct asking asking;
    const char *shown = NULL;

    for (int i = 0; i < INPUT_MAX_CHARS + 1; i++)
        strbuf_append_char(&input, '~');
    strbuf_append(&hook, "{\"prompt\": \"RULE\", \"name\": \"");
    for (int i = 0; i < USAGE_NAME_MAX_CHARS + 1; i++)
        strbuf_append(&hook, "\u00e9");
    strbuf_append(&hook, "\"}");
    begin(&asking, state, replies, 1, hook.text, "");
    asking.hook.input_text = input.text;
    ask(&asking);
    shown = strchr(sent(&asking, 0), '~');
    assert_non_null(shown);
    assert_int_equal(strspn(shown, "~"), INPUT_MAX_CHARS);
    stats_append_text(asking.claimed.agent.stats, &stats);
    shown = strstr(stats.text, "prompt-hook:");
    assert_non_null(shown);
    shown += strlen("prompt-hook:");
    assert_int_equal(strcspn(shown, "\""), USAGE_NAME_MAX_CHARS * strlen("\u00e9"));
    end(&asking);
}

static void hook_may_have_an_instruction_of_its_own(void **state)
{
    static const struct test_reply replies[] = {ALLOWS};
    static const char *const hooks[] = {"{\"prompt\": \"RULE\", \"system_prompt\": \"OWN\"}",
                                        "{\"prompt\": \"RULE\", \"system_prompt\": \" \"}"};

    for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
        struct asking asking;

        begin(&asking, state, replies, 1, hooks[i], "");
        ask(&asking);
        assert_json_at(sent(&asking, 0), "messages[0].role", "\"system\"");
        if (i == 0)
            assert_non_null(strstr(sent(&asking, 0), "\"OWN\""));
        else
            assert_non_null(strstr(sent(&asking, 0), "\\\"decision\\\""));
        end(&asking);
    }
}

/* The stop is no answer that fails open. */
static void stopped_question_has_no_answer(void **state)
{
    static const struct test_reply replies[] = {ALLOWS};
    struct asking asking;

    begin(&asking, state, replies, 1, "{\"prompt\": \"RULE\"}", "");
    run_control_request(&asking.claimed.control, STOP_INTERRUPT);
    assert_int_equal(hook_model_ask(&asking.claimed.agent, &asking.hook, &asking.answer,
                                    &asking.problem, &asking.err),
                     -1);
    assert_int_equal(asking.err.code, ERROR_CANCELLED);
    assert_string_equal(asking.problem.text, "");
    assert_int_equal(test_server_n_requests(asking.server), 0);
    end(&asking);
}

int hook_request_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_request_has_all_calls_and_their_results),
        cmocka_unit_test(calls_beyond_the_limit_of_an_answer_are_not_run),
        cmocka_unit_test(model_is_told_why_a_call_was_not_run),
        cmocka_unit_test(hook_without_a_name_counts_for_its_event),
        cmocka_unit_test(model_is_not_asked_again_beyond_the_budget),
        cmocka_unit_test(model_is_not_asked_after_the_hooks_time),
        cmocka_unit_test(question_and_usage_id_are_bounded),
        cmocka_unit_test(hook_may_have_an_instruction_of_its_own),
        cmocka_unit_test(stopped_question_has_no_answer),
    };

    return cmocka_run_group_tests_name("worker/hook_request", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

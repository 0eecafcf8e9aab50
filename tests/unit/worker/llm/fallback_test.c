/*
 * Models that are asked instead of a conversation's own.
 */
#include "worker/agent/llm/fallback.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "llm/llm.h"
#include "model/conversation/conversation.h"
#include "store/user/document_store.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/llm/llm_step.h"
#include "worker/step_test.h"

#define DOWN(words)                                                                                \
    "{\"turns\": [{\"steps\": [{\"status\": 503, \"error\": \"" words "\"}]}],"                    \
    " \"later\": [{\"steps\": [{\"status\": 503, \"error\": \"" words "\"}]}]}"
#define SAYS(words)                                                                                \
    "{\"turns\": [{\"steps\": [{\"text\": \"" words "\"}]}],"                                      \
    " \"later\": [{\"steps\": [{\"text\": \"" words "\"}]}]}"
#define REST_MS 60000

/* A profile whose model plays the script. */
static void add_profile(struct run_fixture *fixture, const char *name, const char *script,
                        const char *prices)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(document_done) struct document profile = document_new(COLLECTION_PROFILES, name);
    const struct document_scope scope = {fixture->context.db, &fixture->context.keyring,
                                         fixture->user_id};
    struct error err = ERROR_INIT;
    FILE *out = NULL;

    strbuf_appendf(&path, "%s/%s.json", fixture->scripts, name);
    out = fopen(path.text, "we");
    assert_non_null(out);
    assert_true(fputs(script, out) >= 0);
    assert_int_equal(fclose(out), 0);
    strbuf_appendf(&body, "{\"model\": \"scripted/%s\", \"num_retries\": 1%s}", name, prices);
    json_decref(profile.body);
    assert_int_equal(json_parse(body.text, body.len, &profile.body, &err), 0);
    profile.secrets = json_object();
    step_check(document_store_put(&scope, &profile, 0, &err), &err);
}

/* names: a JSON list. */
static void use_fallbacks(struct agent *agent, const char *names)
{
    json_t *strategy = json_object();
    json_t *list = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(json_parse(names, strlen(names), &list, &err), 0);
    json_put(strategy, "fallback_llms", list);
    json_put(agent->llm_spec, "fallback_strategy", strategy);
}

static void begin(struct claimed_agent *claimed, void **state, const char *script,
                  const char *names)
{
    struct uuid id = run_new_conversation(*state, script, "{}");

    claimed_agent_begin(claimed, *state, &id);
    use_fallbacks(&claimed->agent, names);
}

static void ask(struct claimed_agent *claimed)
{
    struct error err = ERROR_INIT;

    step_check(llm_step_run(&claimed->agent, &err), &err);
}

static void assert_said(struct claimed_agent *claimed, const char *words)
{
    assert_step_event(claimed, "MessageEvent", "llm_message.content[0].text", words);
}

static void the_first_that_answers_counts(void **state)
{
    struct claimed_agent claimed;
    int64_t before_ms = clock_monotonic_ms();

    add_profile(*state, "first", DOWN("first down"), "");
    add_profile(*state, "second", SAYS("from the second"), "");
    add_profile(*state, "third", SAYS("from the third"), "");
    begin(&claimed, state, DOWN("own down"), "[\"missing\", 5, \"first\", \"second\", \"third\"]");
    assert_false(fallback_is_resting(&claimed.agent));
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " S(stats) Message(agent) S(finished)");
    assert_said(&claimed, "\"from the second\"");
    assert_int_equal(claimed.agent.n_iterations, 1);
    assert_true(claimed.agent.own_model_rests_until_ms >= before_ms + REST_MS);
    assert_true(claimed.agent.own_model_rests_until_ms <= clock_monotonic_ms() + REST_MS);
    assert_true(fallback_is_resting(&claimed.agent));
    claimed_agent_end(&claimed);
}

static void a_model_that_rests_is_asked_last(void **state)
{
    struct claimed_agent claimed;
    struct claimed_agent other;

    add_profile(*state, "up", SAYS("from the fallback"), "");
    add_profile(*state, "down", DOWN("fallback down"), "");
    begin(&claimed, state, SAYS("from its own"), "[\"up\"]");
    claimed.agent.own_model_rests_until_ms = clock_monotonic_ms() + REST_MS;
    ask(&claimed);
    assert_said(&claimed, "\"from the fallback\"");
    claimed_agent_end(&claimed);
    begin(&other, state, SAYS("from its own"), "[\"down\"]");
    other.agent.own_model_rests_until_ms = clock_monotonic_ms() + REST_MS;
    ask(&other);
    assert_said(&other, "\"from its own\"");
    claimed_agent_end(&other);
}

static void a_model_that_works_is_asked_first(void **state)
{
    struct claimed_agent claimed;

    add_profile(*state, "ready", SAYS("from the fallback"), "");
    begin(&claimed, state, SAYS("from its own"), "[\"ready\"]");
    ask(&claimed);
    assert_said(&claimed, "\"from its own\"");
    assert_int_equal(claimed.agent.own_model_rests_until_ms, 0);
    claimed_agent_end(&claimed);
}

static void the_own_error_is_told(void **state)
{
    struct claimed_agent claimed;
    struct claimed_agent rested;

    add_profile(*state, "lost", DOWN("fallback down"), "");
    begin(&claimed, state, DOWN("own down"), "[\"lost\"]");
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " S(error) ConversationError");
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"LLMServiceUnavailableError\"");
    {
        CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

        step_last_event(&claimed, "ConversationErrorEvent", &event);
        assert_non_null(strstr(event.text, "own down"));
    }
    assert_false(fallback_is_resting(&claimed.agent));
    claimed_agent_end(&claimed);
    begin(&rested, state, DOWN("own down"), "[\"lost\"]");
    rested.agent.own_model_rests_until_ms = clock_monotonic_ms() + REST_MS;
    ask(&rested);
    assert_step_event(&rested, "ConversationErrorEvent", "code", "\"LLMServiceUnavailableError\"");
    claimed_agent_end(&rested);
}

static void only_what_another_model_may_not_have_counts(void **state)
{
    static const struct {
        enum llm_failure_kind kind;
        const char *detail;
        bool helps;
    } cases[] = {
        {LLM_FAILURE_SERVICE_UNAVAILABLE, "", true},
        {LLM_FAILURE_TIMEOUT, "", true},
        {LLM_FAILURE_NO_RESPONSE, "", true},
        {LLM_FAILURE_BAD_GATEWAY, "", true},
        {LLM_FAILURE_API, "", true},
        {LLM_FAILURE_RATE_LIMIT, "rate limit", true},
        {LLM_FAILURE_RATE_LIMIT, "insufficient_quota", true},
        {LLM_FAILURE_AUTHENTICATION, "", false},
        {LLM_FAILURE_BAD_REQUEST, "", false},
        {LLM_FAILURE_NOT_FOUND, "", false},
        {LLM_FAILURE_CONTENT_POLICY, "", false},
        {LLM_FAILURE_CONTEXT_WINDOW, "", false},
        {LLM_FAILURE_MALFORMED_HISTORY, "", false},
        {LLM_FAILURE_CANCELLED, "connection closed", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct llm_failure failure = {.kind = cases[i].kind};

        (void)snprintf(failure.detail, sizeof(failure.detail), "%s", cases[i].detail);
        if (fallback_may_help(&failure) != cases[i].helps)
            fail_msg("%s: %s", llm_failure_code(&failure), cases[i].detail);
    }
}

static void a_refused_key_ends_the_run(void **state)
{
    struct claimed_agent claimed;

    add_profile(*state, "unasked", SAYS("from the fallback"), "");
    begin(&claimed, state, "{\"turns\": [{\"steps\": [{\"status\": 401, \"error\": \"no\"}]}]}",
          "[\"unasked\"]");
    ask(&claimed);
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"LLMAuthenticationError\"");
    claimed_agent_end(&claimed);
}

static void a_budget_needs_a_price(void **state)
{
    struct claimed_agent claimed;
    struct fallback_model model = FALLBACK_MODEL_INIT;

    add_profile(*state, "free", SAYS("x"), "");
    add_profile(*state, "priced", SAYS("x"),
                ", \"input_cost_per_token\": 0.1, \"output_cost_per_token\": 0.1,"
                " \"api_key\": \"sk-priced\"");
    begin(&claimed, state, DOWN("x"), "[\"free\", \"priced\", \"missing\"]");
    json_put(claimed.agent.conversation.spec, "max_budget_per_run", json_real(1));
    assert_false(fallback_load(&claimed.agent, 0, &model));
    fallback_model_done(&model);
    model = (struct fallback_model)FALLBACK_MODEL_INIT;
    assert_true(fallback_load(&claimed.agent, 1, &model));
    assert_string_equal(json_text_or(model.choice.spec, "model", ""), "scripted/priced");
    assert_non_null(model.choice.key);
    assert_string_equal(secret_reveal(model.choice.key), "sk-priced");
    fallback_model_done(&model);
    model = (struct fallback_model)FALLBACK_MODEL_INIT;
    assert_false(fallback_load(&claimed.agent, 2, &model));
    fallback_model_done(&model);
    json_put(claimed.agent.conversation.spec, "max_budget_per_run", json_null());
    model = (struct fallback_model)FALLBACK_MODEL_INIT;
    assert_true(fallback_load(&claimed.agent, 0, &model));
    fallback_model_done(&model);
    claimed_agent_end(&claimed);
}

static void their_number_is_limited(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, SAYS("x"),
          "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]");
    assert_int_equal(fallback_count(&claimed.agent), 16);
    use_fallbacks(&claimed.agent, "[]");
    assert_int_equal(fallback_count(&claimed.agent), 0);
    claimed.agent.own_model_rests_until_ms = clock_monotonic_ms() + REST_MS;
    assert_false(fallback_is_resting(&claimed.agent));
    claimed_agent_end(&claimed);
}

int fallback_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_answers_counts),
        cmocka_unit_test(a_model_that_rests_is_asked_last),
        cmocka_unit_test(a_model_that_works_is_asked_first),
        cmocka_unit_test(the_own_error_is_told),
        cmocka_unit_test(only_what_another_model_may_not_have_counts),
        cmocka_unit_test(a_refused_key_ends_the_run),
        cmocka_unit_test(a_budget_needs_a_price),
        cmocka_unit_test(their_number_is_limited),
    };

    return cmocka_run_group_tests_name("worker/fallback", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

/*
 * A call of the model and what becomes of its failures.
 */
#include "worker/agent/llm/llm_step.h"

#include <string.h>

#include "base/json.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/step_test.h"

#define FAILS(status, words)                                                                       \
    "{\"turns\": [{\"steps\": [{\"status\": " status ", \"error\": \"" words "\"}]}],"             \
    " \"later\": [{\"steps\": [{\"status\": " status ", \"error\": \"" words "\"}]}]}"
#define REFUSED "{\\\"error\\\": {\\\"code\\\": \\\"content_filter\\\"}}"
#define TOO_LONG "{\\\"error\\\": {\\\"code\\\": \\\"context_length_exceeded\\\"}}"

static void begin(struct claimed_agent *claimed, void **state, const char *script, const char *more)
{
    struct uuid id = run_new_conversation(*state, script, more);

    claimed_agent_begin(claimed, *state, &id);
}

static void ask(struct claimed_agent *claimed)
{
    struct error err = ERROR_INIT;

    step_check(llm_step_run(&claimed->agent, &err), &err);
}

static void answer_is_stored_and_counted(void **state)
{
    struct claimed_agent claimed;
    int64_t seq = 0;

    step_begin(&claimed, state, "{}");
    seq = claimed.agent.history.last_seq;
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " S(stats) Message(agent) S(finished)");
    assert_int_equal(claimed.agent.n_iterations, 1);
    assert_int_equal(claimed.agent.asked_seq, seq);
    assert_true(history_has_event(&claimed.agent.history, &claimed.agent.answer_id));
    assert_true(claimed.agent.transcript.has_tools);
    assert_int_equal(claimed.agent.told_attempt, 0);
    assert_int_equal(step_number(&claimed, "(stats LIKE '%\"agent\"%')::int"), 1);
    claimed_agent_end(&claimed);
}

static void refused_key_is_told_in_plain_words(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, FAILS("401", "invalid x-api-key"), "{}");
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " S(error) ConversationError");
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"LLMAuthenticationError\"");
    assert_step_event(&claimed, "ConversationErrorEvent", "detail",
                      "\"Your LLM API key appears to be invalid or has expired.\"");
    assert_true(claimed.agent.is_over);
    claimed_agent_end(&claimed);
}

static void failure_is_told_without_secrets(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    begin(&claimed, state, FAILS("400", "no opensesame here"),
          "{\"secrets\": {\"TOKEN\": {\"kind\": \"StaticSecret\", \"value\": \"opensesame\"}}}");
    ask(&claimed);
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"LLMBadRequestError\"");
    step_last_event(&claimed, "ConversationErrorEvent", &event);
    assert_non_null(strstr(event.text, "no <secret-hidden> here"));
    claimed_agent_end(&claimed);
}

/* Once: a request that is refused again in other words ends the run. */
static void refused_content_is_said_in_other_words_once(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_auto_t *text = NULL;

    begin(&claimed, state, FAILS("400", REFUSED), "{}");
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " Message(user)");
    assert_false(claimed.agent.is_over);
    text = json_text_of(catalogue_text(claimed.agent.context->catalogue, TEXT_REPHRASE));
    json_append_text(&words, text);
    assert_step_event(&claimed, "MessageEvent", "llm_message.content[0].text", words.text);
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " Message(user) S(error) ConversationError");
    assert_step_event(&claimed, "ConversationErrorEvent", "code",
                      "\"LLMContentPolicyViolationError\"");
    claimed_agent_end(&claimed);
}

static void add_condenser(struct agent *agent)
{
    json_t *condenser = json_object();

    json_put_text(condenser, "kind", "LLMSummarizingCondenser");
    json_put(condenser, "max_size", json_integer(240));
    json_put(condenser, "llm", json_deep_copy(conversation_llm(&agent->conversation)));
    json_put(conversation_agent(&agent->conversation), "condenser", condenser);
}

static void view_that_is_too_long_is_to_be_condensed(void **state)
{
    struct claimed_agent claimed;
    struct claimed_agent bare;

    begin(&claimed, state, FAILS("400", TOO_LONG), "{}");
    add_condenser(&claimed.agent);
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " CondensationRequest");
    assert_true(claimed.agent.must_condense);
    assert_false(claimed.agent.is_over);
    claimed_agent_end(&claimed);
    begin(&bare, state, FAILS("400", TOO_LONG), "{\"agent\": {\"condenser\": null}}");
    ask(&bare);
    assert_step_event(&bare, "ConversationErrorEvent", "code", "\"LLMContextWindowExceedError\"");
    claimed_agent_end(&bare);
}

static void stop_ends_the_wait_for_the_model(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    step_begin(&claimed, state, "{}");
    run_control_request(&claimed.control, STOP_INTERRUPT);
    assert_int_equal(llm_step_run(&claimed.agent, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_step_log(&claimed, BEGINNING);
    claimed_agent_end(&claimed);
}

static void answer_that_no_event_holds_ends_the_run(void **state)
{
    CLEANUP(strbuf_done) struct strbuf script = STRBUF_INIT;
    struct claimed_agent claimed;

    strbuf_append(&script, "{\"turns\": [{\"steps\": [{\"text\": \"");
    for (int i = 0; i < 1000000; i++)
        strbuf_append_char(&script, 'x');
    strbuf_append(&script, "\"}]}]}");
    begin(&claimed, state, script.text, "{}");
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " S(error) ConversationError");
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"RuntimeError\"");
    assert_step_event(&claimed, "ConversationErrorEvent", "detail",
                      "\"The model's answer is larger than a conversation can keep.\"");
    claimed_agent_end(&claimed);
}

#define PICTURE                                                                                    \
    "{\"initial_message\": {\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\":"      \
    " \"look\"}, {\"type\": \"image\", \"image_urls\": [\"data:image/png;base64,aGk=\"]}]},"       \
    " \"agent\": {\"llm\": {\"disable_vision\": true}}}"

static void image_for_a_blind_model_is_refused_in_words(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    step_begin(&claimed, state, PICTURE);
    assert_int_not_equal(step_number(&claimed, "claim_count"), 0);
    ask(&claimed);
    assert_step_log(&claimed, BEGINNING " Message(agent) S(finished)");
    assert_true(claimed.agent.is_over);
    assert_int_equal(claimed.agent.n_iterations, 0);
    step_last_event(&claimed, "MessageEvent", &event);
    assert_non_null(strstr(event.text, "cannot see images"));
    assert_non_null(strstr(event.text, "scripted/"));
    assert_json_at(event.text, "llm_response_id", NULL);
    assert_step_row(&claimed, "finished/-/-");
    claimed_agent_end(&claimed);
}

int llm_step_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_is_stored_and_counted),
        cmocka_unit_test(refused_key_is_told_in_plain_words),
        cmocka_unit_test(failure_is_told_without_secrets),
        cmocka_unit_test(refused_content_is_said_in_other_words_once),
        cmocka_unit_test(view_that_is_too_long_is_to_be_condensed),
        cmocka_unit_test(stop_ends_the_wait_for_the_model),
        cmocka_unit_test(answer_that_no_event_holds_ends_the_run),
        cmocka_unit_test(image_for_a_blind_model_is_refused_in_words),
    };

    return cmocka_run_group_tests_name("worker/llm_step", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

/*
 * Answers of a model as events.
 */
#include "worker/agent/llm/llm_response.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/event/stats.h"
#include "support/json_path.h"
#include "support/sql.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/events.h"
#include "worker/step_test.h"

#define ONE_CALL(id, command)                                                                      \
    "{\"calls\": [{\"id\": \"" id "\", \"name\": \"terminal\", \"arguments\":"                     \
    " \"{\\\"command\\\": \\\"" command "\\\"}\"}]}"
#define TOKEN_SECRET                                                                               \
    "\"secrets\": {\"TOKEN\": {\"kind\": \"StaticSecret\", \"value\": \"opensesame\"}}"

static char *dup_member(const json_t *json, const char *name, const char *fallback)
{
    const char *text = json_text_or(json, name, fallback);

    return text != NULL ? mem_dup_text(text) : NULL;
}

static void fill_calls(const json_t *calls, struct llm_reply *reply)
{
    reply->n_calls = json_array_size(calls);
    reply->calls =
        reply->n_calls > 0 ? mem_alloc_array(reply->n_calls, sizeof(*reply->calls)) : NULL;
    for (size_t i = 0; i < reply->n_calls; i++) {
        const json_t *call = json_array_get(calls, i);

        reply->calls[i] = (struct llm_tool_call){.id = dup_member(call, "id", "c"),
                                                 .item_id = dup_member(call, "item_id", NULL),
                                                 .name = dup_member(call, "name", "terminal"),
                                                 .arguments = dup_member(call, "arguments", "{}")};
    }
}

/* Stores the answer that this JSON describes; it costs a dollar. */
static int store(struct agent *agent, const char *answer, struct error *err)
{
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    json_auto_t *json = test_json(answer);

    reply.response_id = dup_member(json, "response_id", "resp-1");
    reply.model = mem_dup_text("m");
    reply.text = dup_member(json, "text", "");
    reply.reasoning = dup_member(json, "reasoning", NULL);
    reply.thinking = json_incref(json_object_get(json, "thinking"));
    reply.reasoning_item = json_incref(json_object_get(json, "item"));
    reply.finish_reason = dup_member(json, "finish_reason", "stop");
    reply.call_problem = dup_member(json, "problem", NULL);
    fill_calls(json_object_get(json, "calls"), &reply);
    reply.usage = (struct llm_usage){
        .usage_id = "agent", .model = "m", .response_id = reply.response_id, .cost = 1};
    return llm_response_store(agent, &reply, err);
}

/* A claimed agent whose model has just been asked. */
static void begin(struct claimed_agent *claimed, void **state, const char *more)
{
    step_begin(claimed, state, more);
    claimed->agent.asked_seq = claimed->agent.history.last_seq;
    claimed->agent.answer_id = uuid_random();
}

static void take(struct claimed_agent *claimed, const char *answer)
{
    struct error err = ERROR_INIT;

    step_check(store(&claimed->agent, answer, &err), &err);
}

static void assert_text(const char *json, const char *path, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *value = json_text_of(expected);

    json_append_text(&text, value);
    assert_json_at(json, path, text.text);
}

/* --- words --- */

static void words_end_the_run_under_the_announced_id(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{}");
    take(&claimed, "{\"text\": \"hello\", \"reasoning\": \"hm\"}");
    assert_step_log(&claimed, BEGINNING " S(stats) Message(agent) S(finished)");
    assert_step_row(&claimed, "finished/-/-");
    assert_true(claimed.agent.is_over);
    assert_true(history_has_event(&claimed.agent.history, &claimed.agent.answer_id));
    assert_step_event(&claimed, "MessageEvent", "llm_message.content[0].text", "\"hello\"");
    assert_step_event(&claimed, "MessageEvent", "llm_message.reasoning_content", "\"hm\"");
    assert_step_event(&claimed, "MessageEvent", "llm_response_id", "\"resp-1\"");
    assert_true(stats_total_cost(claimed.agent.stats) == 1);
    assert_int_equal(step_number(&claimed, "(stats LIKE '%\"agent\"%')::int"), 1);
    claimed_agent_end(&claimed);
}

static void assert_goes_on(void **state, const char *answer, enum catalogue_text told)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct claimed_agent claimed;

    begin(&claimed, state, "{}");
    assert_int_not_equal(step_number(&claimed, "claim_count"), 0);
    take(&claimed, answer);
    assert_false(claimed.agent.is_over);
    assert_step_row(&claimed, "running/wanted/leased");
    assert_int_equal(step_number(&claimed, "claim_count"), 0);
    assert_step_log(&claimed, BEGINNING " S(stats) Message(agent) Message(environment)");
    step_last_event(&claimed, "MessageEvent", &event);
    assert_text(event.text, "llm_message.content[0].text",
                catalogue_text(claimed.agent.context->catalogue, told));
    claimed_agent_end(&claimed);
}

static void answer_that_is_cut_or_empty_is_told_to_the_model(void **state)
{
    assert_goes_on(state, "{\"text\": \"half of\", \"finish_reason\": \"length\"}",
                   TEXT_CUT_ANSWER);
    assert_goes_on(state, "{\"text\": \"\", \"finish_reason\": \"length\"}", TEXT_CUT_ANSWER);
    assert_goes_on(state, "{\"text\": \" \\n\"}", TEXT_EMPTY_ANSWER);
}

static void words_do_not_end_the_run_of_a_user_who_has_spoken(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{}");
    run_say(*state, &claimed.agent.lease.conversation_id, "and this");
    take(&claimed, "{\"text\": \"hello\"}");
    assert_false(claimed.agent.is_over);
    assert_step_log(&claimed, BEGINNING " " SPOKEN " S(stats) Message(agent)");
    assert_step_row(&claimed, "running/wanted/leased");
    assert_true(stats_total_cost(claimed.agent.stats) == 1);
    claimed_agent_end(&claimed);
}

/* Another's costs were added to the row meanwhile: both count. */
static void costs_of_others_are_kept(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct claimed_agent claimed;

    begin(&claimed, state, "{}");
    strbuf_appendf(&sql,
                   "UPDATE conversations SET stats = '{\"usage_to_metrics\": {\"title\":"
                   " {\"model_name\": \"m\", \"accumulated_cost\": 5}}}' WHERE id = '%s'",
                   claimed.agent.lease.conversation_id.text);
    test_sql(sql.text);
    take(&claimed, "{\"text\": \"hello\"}");
    assert_true(claimed.agent.is_over);
    assert_true(stats_total_cost(claimed.agent.stats) == 6);
    assert_int_equal(step_number(&claimed, "(stats LIKE '%\"title\"%' AND stats LIKE"
                                           " '%\"agent\"%')::int"),
                     1);
    claimed_agent_end(&claimed);
}

/* --- calls --- */

static void calls_are_left_pending(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;

    begin(&claimed, state, "{}");
    take(&claimed,
         "{\"text\": \"so\", \"reasoning\": \"hm\", \"calls\": [{\"id\": \"c1\", \"item_id\": "
         "\"fc1\","
         " \"arguments\": \"{\\\"command\\\": \\\"x\\\", \\\"summary\\\": \\\"Look\\\"}\"},"
         " {\"id\": \"c2\", \"arguments\": \"{\\\"command\\\": \\\"y\\\"}\"}]}");
    assert_step_log(&claimed, BEGINNING " S(stats) Action(terminal) Action(terminal)");
    assert_false(claimed.agent.is_over);
    history_find_pending(&claimed.agent.history, &pending);
    assert_int_equal(pending.n, 2);
    assert_string_equal(claimed.agent.history.items[pending.items[0]].id.text,
                        claimed.agent.answer_id.text);
    json_append_text(&first, stored_event_json(&claimed.agent.history.items[pending.items[0]]));
    assert_json_at(first.text, "thought[0].text", "\"so\"");
    assert_json_at(first.text, "reasoning_content", "\"hm\"");
    assert_json_at(first.text, "tool_call_id", "\"c1\"");
    assert_json_at(first.text, "tool_call.responses_item_id", "\"fc1\"");
    assert_json_at(first.text, "tool_name", "\"terminal\"");
    assert_json_at(first.text, "summary", "\"Look\"");
    assert_json_at(first.text, "action.command", "\"x\"");
    assert_json_at(first.text, "security_risk", "\"UNKNOWN\"");
    assert_json_at(first.text, "llm_response_id", "\"resp-1\"");
    assert_step_event(&claimed, "ActionEvent", "tool_call_id", "\"c2\"");
    assert_step_event(&claimed, "ActionEvent", "thought", "[]");
    assert_step_event(&claimed, "ActionEvent", "reasoning_content", NULL);
    assert_step_event(&claimed, "ActionEvent", "llm_response_id", "\"resp-1\"");
    claimed_agent_end(&claimed);
}

static void call_that_cannot_run_is_answered_at_once(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{}");
    take(&claimed, "{\"calls\": [{\"id\": \"c1\", \"name\": \"wizardry\", \"arguments\": \"{}\"},"
                   " {\"id\": \"c2\", \"arguments\": \"{\\\"order\\\": 1}\"}]}");
    assert_step_log(&claimed, BEGINNING " S(stats) Action(wizardry) AgentError(wizardry)"
                                        " Action(terminal) AgentError(terminal)");
    assert_step_event(&claimed, "AgentErrorEvent", "tool_call_id", "\"c2\"");
    claimed_agent_end(&claimed);
}

static void assert_fresh(const char *id, const char *prefix, size_t n_more)
{
    assert_true(text_starts_with(id, prefix));
    assert_int_equal(strlen(id), strlen(prefix) + n_more);
}

/* Some servers use an id for several answers. */
static void ids_that_were_used_before_are_replaced(void **state)
{
    struct claimed_agent claimed;
    const struct stored_event *last = NULL;

    begin(&claimed, state, "{}");
    take(&claimed, ONE_CALL("c1", "x"));
    claimed.agent.answer_id = uuid_random();
    take(&claimed, ONE_CALL("c1", "y"));
    last = &claimed.agent.history.items[claimed.agent.history.n - 1];
    assert_fresh(json_text_or(stored_event_json(last), "tool_call_id", ""), "call_", 32);
    assert_fresh(json_text_or(stored_event_json(last), "llm_response_id", ""), "chatcmpl-", 32);
    claimed.agent.answer_id = uuid_random();
    take(&claimed, "{\"response_id\": \"resp-2\", \"calls\": [{\"id\": \"c2\", \"arguments\":"
                   " \"{\\\"command\\\": \\\"x\\\"}\"}]}");
    assert_step_event(&claimed, "ActionEvent", "tool_call_id", "\"c2\"");
    assert_step_event(&claimed, "ActionEvent", "llm_response_id", "\"resp-2\"");
    claimed_agent_end(&claimed);
}

static void call_with_a_secret_is_kept_for_this_run(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    begin(&claimed, state, "{" TOKEN_SECRET "}");
    take(&claimed, ONE_CALL("c1", "echo opensesame"));
    assert_step_event(&claimed, "ActionEvent", "action.command", "\"echo <secret-hidden>\"");
    json_append_text(&kept, claimed.agent.withheld);
    strbuf_appendf(&path, "%s.command", claimed.agent.answer_id.text);
    assert_json_at(kept.text, path.text, "\"echo opensesame\"");
    claimed.agent.answer_id = uuid_random();
    take(&claimed, "{\"response_id\": \"resp-2\", \"text\": \"it is opensesame\","
                   " \"reasoning\": \"opensesame?\"}");
    assert_int_equal(json_object_size(claimed.agent.withheld), 0);
    assert_step_event(&claimed, "MessageEvent", "llm_message.content[0].text",
                      "\"it is <secret-hidden>\"");
    assert_step_event(&claimed, "MessageEvent", "llm_message.reasoning_content",
                      "\"<secret-hidden>?\"");
    claimed_agent_end(&claimed);
}

/* --- reasoning --- */

#define THOUGHT(text) "\"thinking\": [{\"type\": \"thinking\", \"thinking\": \"" text "\"}]"
#define ITEM(summary, content)                                                                     \
    "\"item\": {\"id\": \"i\", \"summary\": [\"" summary "\"], \"content\": [\"" content "\"]}"

static void reasoning_is_kept_unless_it_tells_a_secret(void **state)
{
    static const struct {
        const char *answer;
        const char *path;
        const char *expected;
    } cases[] = {
        {"{\"text\": \"a\", " THOUGHT("well") "}", "llm_message.thinking_blocks[0].thinking",
         "\"well\""},
        {"{\"text\": \"a\", " THOUGHT("is opensesame") "}", "llm_message.thinking_blocks", "[]"},
        {"{\"text\": \"a\", " ITEM("s", "c") "}", "llm_message.responses_reasoning_item.id",
         "\"i\""},
        {"{\"text\": \"a\", " ITEM("opensesame", "c") "}", "llm_message.responses_reasoning_item",
         NULL},
        {"{\"text\": \"a\", " ITEM("s", "opensesame") "}", "llm_message.responses_reasoning_item",
         NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct claimed_agent claimed;

        begin(&claimed, state, "{" TOKEN_SECRET "}");
        take(&claimed, cases[i].answer);
        assert_step_event(&claimed, "MessageEvent", cases[i].path, cases[i].expected);
        claimed_agent_end(&claimed);
    }
}

static void reasoning_is_kept_with_the_first_call(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    size_t n = 0;

    begin(&claimed, state, "{}");
    take(&claimed, "{\"calls\": [{\"id\": \"c1\", \"arguments\": \"{\\\"command\\\": \\\"x\\\"}\"},"
                   " {\"id\": \"c2\", \"arguments\": \"{\\\"command\\\": \\\"y\\\"}\"}]," THOUGHT(
                       "well") ", " ITEM("s", "c") "}");
    n = claimed.agent.history.n;
    json_append_text(&first, stored_event_json(&claimed.agent.history.items[n - 2]));
    assert_json_at(first.text, "thinking_blocks[0].thinking", "\"well\"");
    assert_json_at(first.text, "responses_reasoning_item.id", "\"i\"");
    assert_step_event(&claimed, "ActionEvent", "thinking_blocks", "[]");
    assert_step_event(&claimed, "ActionEvent", "responses_reasoning_item", NULL);
    claimed_agent_end(&claimed);
}

/* --- policies --- */

#define ANALYZED                                                                                   \
    "\"security_analyzer\": {\"kind\": \"LLMSecurityAnalyzer\"}, \"confirmation_policy\":"         \
    " {\"kind\": \"ConfirmRisky\", \"threshold\": \"HIGH\"}"
#define RISKY(id, risk)                                                                            \
    "{\"id\": \"" id "\", \"arguments\": \"{\\\"command\\\": \\\"x\\\", \\\"security_risk\\\":"    \
    " \\\"" risk "\\\"}\"}"

static void risky_call_waits_for_a_user(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    begin(&claimed, state, "{" ANALYZED "}");
    take(&claimed, "{\"calls\": [" RISKY("c1", "HIGH") "]}");
    assert_step_log(&claimed, BEGINNING " S(stats) Action(terminal) SecurityAnalysis"
                                        " S(waiting_for_confirmation)");
    assert_step_row(&claimed, "waiting_for_confirmation/-/-");
    assert_true(claimed.agent.is_over);
    assert_step_event(&claimed, "ActionEvent", "security_risk", "\"HIGH\"");
    claimed_agent_end(&claimed);
}

static void harmless_call_runs(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{" ANALYZED "}");
    take(&claimed, "{\"calls\": [" RISKY("c1", "LOW") ", " RISKY("c2", "MEDIUM") "]}");
    assert_step_log(&claimed,
                    BEGINNING " S(stats) Action(terminal) Action(terminal) SecurityAnalysis");
    assert_false(claimed.agent.is_over);
    claimed_agent_end(&claimed);
}

static void analysis_names_each_call(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    begin(&claimed, state, "{" ANALYZED "}");
    take(&claimed, "{\"calls\": [" RISKY("c1", "LOW") ", " RISKY("c2", "MEDIUM") "]}");
    step_last_event(&claimed, "SecurityAnalysisEvent", &event);
    assert_non_null(strstr(event.text, "LLMSecurityAnalyzer"));
    assert_non_null(strstr(event.text, "ConfirmRisky"));
    assert_non_null(strstr(event.text, "\"LOW\""));
    assert_non_null(strstr(event.text, "\"MEDIUM\""));
    assert_non_null(strstr(event.text, claimed.agent.answer_id.text));
    claimed_agent_end(&claimed);
}

static void talk_is_not_analyzed(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{" ANALYZED "}");
    take(&claimed, "{\"calls\": [{\"id\": \"c1\", \"name\": \"think\", \"arguments\":"
                   " \"{\\\"thought\\\": \\\"x\\\"}\"}]}");
    assert_step_log(&claimed, BEGINNING " S(stats) Action(think)");
    claimed_agent_end(&claimed);
}

/* What the model says of a call's risk means nothing where no one asked. */
static void risk_is_unknown_without_an_analyzer(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state,
          "{\"confirmation_policy\": {\"kind\": \"ConfirmRisky\", \"confirm_unknown\": false}}");
    take(&claimed, "{\"calls\": [" RISKY("c1", "HIGH") "]}");
    assert_step_event(&claimed, "ActionEvent", "security_risk", "\"UNKNOWN\"");
    assert_step_row(&claimed, "running/wanted/leased");
    claimed_agent_end(&claimed);
}

static void calls_to_confirm_give_way_to_a_user_who_has_spoken(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{\"confirmation_policy\": {\"kind\": \"AlwaysConfirm\"}}");
    run_say(*state, &claimed.agent.lease.conversation_id, "and this");
    take(&claimed, ONE_CALL("c1", "x"));
    assert_step_log(&claimed, BEGINNING " " SPOKEN " S(stats) Action(terminal)"
                                        " UserRejectObservation(terminal)");
    assert_step_event(&claimed, "UserRejectObservation", "rejection_reason",
                      "\"Superseded by a new user message\"");
    assert_step_row(&claimed, "running/wanted/leased");
    assert_false(claimed.agent.is_over);
    claimed_agent_end(&claimed);
}

/* --- calls that cannot be read --- */

#define PROBLEM "{\"problem\": \"No call ends here, opensesame.\"}"

static void problem_of_a_call_is_told_to_the_model(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{" TOKEN_SECRET "}");
    take(&claimed, PROBLEM);
    assert_step_log(&claimed, BEGINNING " S(stats) Message(user)");
    assert_step_event(&claimed, "MessageEvent", "llm_message.content[0].text",
                      "\"No call ends here, <secret-hidden>.\"");
    assert_int_equal(claimed.agent.n_bad_calls, 1);
    assert_false(claimed.agent.is_over);
    take(&claimed, ONE_CALL("c1", "x"));
    assert_int_equal(claimed.agent.n_bad_calls, 0);
    claimed_agent_end(&claimed);
}

static void fifth_problem_in_a_row_ends_the_run(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{" TOKEN_SECRET "}");
    claimed.agent.n_bad_calls = 3;
    take(&claimed, PROBLEM);
    assert_false(claimed.agent.is_over);
    claimed.agent.asked_seq = claimed.agent.history.last_seq;
    take(&claimed, PROBLEM);
    assert_true(claimed.agent.is_over);
    assert_step_row(&claimed, "error/-/-");
    assert_step_event(&claimed, "ConversationErrorEvent", "code",
                      "\"FunctionCallValidationError\"");
    assert_step_event(&claimed, "ConversationErrorEvent", "detail",
                      "\"No call ends here, <secret-hidden>.\"");
    claimed_agent_end(&claimed);
}

static void fifth_problem_gives_way_to_a_user_who_has_spoken(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, "{}");
    claimed.agent.n_bad_calls = 4;
    run_say(*state, &claimed.agent.lease.conversation_id, "and this");
    take(&claimed, PROBLEM);
    assert_false(claimed.agent.is_over);
    assert_step_row(&claimed, "running/wanted/leased");
    claimed_agent_end(&claimed);
}

static void lost_lease_stores_no_answer(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state, "{}");
    claimed.agent.lease.fence--;
    assert_int_equal(store(&claimed.agent, "{\"text\": \"late\"}", &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    assert_false(claimed.agent.is_over);
    assert_step_log(&claimed, BEGINNING);
    claimed_agent_end(&claimed);
}

int llm_response_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_end_the_run_under_the_announced_id),
        cmocka_unit_test(answer_that_is_cut_or_empty_is_told_to_the_model),
        cmocka_unit_test(words_do_not_end_the_run_of_a_user_who_has_spoken),
        cmocka_unit_test(costs_of_others_are_kept),
        cmocka_unit_test(calls_are_left_pending),
        cmocka_unit_test(call_that_cannot_run_is_answered_at_once),
        cmocka_unit_test(ids_that_were_used_before_are_replaced),
        cmocka_unit_test(call_with_a_secret_is_kept_for_this_run),
        cmocka_unit_test(reasoning_is_kept_unless_it_tells_a_secret),
        cmocka_unit_test(reasoning_is_kept_with_the_first_call),
        cmocka_unit_test(risky_call_waits_for_a_user),
        cmocka_unit_test(harmless_call_runs),
        cmocka_unit_test(analysis_names_each_call),
        cmocka_unit_test(talk_is_not_analyzed),
        cmocka_unit_test(risk_is_unknown_without_an_analyzer),
        cmocka_unit_test(calls_to_confirm_give_way_to_a_user_who_has_spoken),
        cmocka_unit_test(problem_of_a_call_is_told_to_the_model),
        cmocka_unit_test(fifth_problem_in_a_row_ends_the_run),
        cmocka_unit_test(fifth_problem_gives_way_to_a_user_who_has_spoken),
        cmocka_unit_test(lost_lease_stores_no_answer),
    };

    return cmocka_run_group_tests_name("worker/llm_response", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

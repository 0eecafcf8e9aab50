/*
 * Condensations of a run: when they are due, what they store, and what becomes of a run without
 * them.
 */
#include "worker/agent/llm/condense.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "llm/llm.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "store/conversation/conversation_store.h"
#include "support/json_path.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/token_count.h"
#include "worker/agent/llm/agent_prompt.h"
#include "worker/agent/llm/hard_reset.h"
#include "worker/agent/llm/summary.h"
#include "worker/agent/llm/view_tokens.h"
#include "worker/step_test.h"

/* Its summary is the request, shortened. */
#define ECHOES "{\"turns\": [{\"steps\": [{\"text\": \"{{message}}\"}]}]}"
#define FAILS "{\"turns\": [{\"steps\": [{\"status\": 401, \"error\": \"no such key\"}]}]}"
#define DOWN "{\"turns\": [{\"steps\": [{\"status\": 503, \"error\": \"down\"}]}]}"
/* The view of the conversation below: the prompt, the first message, and six more. */
enum { N_MORE = 6, LENGTH = 8, PATIENCE = 10 };
#define SIX                                                                                        \
    " Message(environment) Message(environment) Message(environment) Message(environment)"         \
    " Message(environment) Message(environment)"

/* An agent with a condenser of that size, 0: none, whose model plays the script. */
static void begin(struct claimed_agent *claimed, void **state, const char *script, int max_size)
{
    struct uuid id = run_new_conversation(*state, script, "{}");
    json_t *agent_spec = NULL;

    claimed_agent_begin(claimed, *state, &id);
    for (int i = 0; i < N_MORE; i++) {
        CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
        struct error err = ERROR_INIT;
        char text[8] = "";

        (void)snprintf(text, sizeof(text), "w%d", i);
        (void)event_add_environment_message(&events, text);
        step_check(event_writer_append(&claimed->agent, &events, NULL, &err), &err);
    }
    if (max_size == 0)
        return;
    agent_spec = conversation_agent(&claimed->agent.conversation);
    json_put(agent_spec, "condenser", json_object());
    agent_spec = json_object_get(agent_spec, "condenser");
    json_put_text(agent_spec, "kind", "LLMSummarizingCondenser");
    json_put(agent_spec, "max_size", json_integer(max_size));
    json_put(agent_spec, "keep_first", json_integer(2));
    json_put(agent_spec, "llm", json_deep_copy(conversation_llm(&claimed->agent.conversation)));
}

static void leave_retries_to_the_server(json_t *llm)
{
    static const char *const members[] = {"num_retries", "retry_multiplier", "retry_min_wait",
                                          "retry_max_wait"};

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        (void)json_object_del(llm, members[i]);
}

static bool condense(struct claimed_agent *claimed)
{
    struct error err = ERROR_INIT;
    bool is_settled = true;

    step_check(condense_if_due(&claimed->agent, &is_settled, &err), &err);
    return is_settled;
}

static void assert_nothing_done(struct claimed_agent *claimed)
{
    assert_false(condense(claimed));
    assert_step_log(claimed, BEGINNING SIX);
    assert_false(claimed->agent.is_over);
    assert_int_equal(claimed->agent.unsummed_until, 0);
}

static void short_view_is_left_alone(void **state)
{
    static const int sizes[] = {0, LENGTH, 240};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct claimed_agent claimed;

        begin(&claimed, state, ECHOES, sizes[i]);
        assert_int_equal(model_view_length(&claimed.agent.history), LENGTH);
        assert_nothing_done(&claimed);
        claimed_agent_end(&claimed);
    }
}

static void long_view_is_condensed(void **state)
{
    struct claimed_agent claimed;
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    struct agent *agent = &claimed.agent;

    begin(&claimed, state, ECHOES, LENGTH - 1);
    assert_int_not_equal(step_number(&claimed, "claim_count"), 0);
    assert_true(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX " S(stats) Condensation");
    assert_false(agent->is_over);
    assert_int_equal(step_number(&claimed, "claim_count"), 0);
    assert_int_equal(step_number(&claimed, "(stats LIKE '%\"condenser\"%')::int"), 1);
    stats_append_text(agent->stats, &stats);
    assert_non_null(strstr(stats.text, "\"condenser\""));
    step_last_event(&claimed, "Condensation", &event);
    assert_json_at(event.text, "summary", "\"<user>\\nw0\\nw1\\nw2\\nw3\\nw4\\nw5\\n\"");
    assert_json_at(event.text, "summary_offset", "2");
    assert_json_at(event.text, "forgotten_event_ids[6]", NULL);
    assert_true(model_view_length(&agent->history) < LENGTH);
    assert_true(agent->is_condensed);
    claimed_agent_end(&claimed);
}

static void view_without_a_summary_is_kept_for_a_while(void **state)
{
    struct claimed_agent claimed;
    struct agent *agent = &claimed.agent;

    begin(&claimed, state, FAILS, LENGTH - 1);
    assert_false(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX);
    assert_false(agent->is_over);
    assert_int_equal(agent->unsummed_until, LENGTH + PATIENCE);
    agent->unsummed_until = LENGTH;
    assert_false(condense(&claimed));
    assert_int_equal(agent->unsummed_until, LENGTH);
    agent->unsummed_until = LENGTH - 1;
    assert_false(condense(&claimed));
    assert_int_equal(agent->unsummed_until, LENGTH + PATIENCE);
    claimed_agent_end(&claimed);
}

/* --- a view that the model cannot read --- */

static void request(struct claimed_agent *claimed)
{
    struct error err = ERROR_INIT;

    step_check(condense_request(&claimed->agent, &err), &err);
    assert_true(claimed->agent.must_condense);
}

static void requested_condensation_happens_at_any_length(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, ECHOES, 240);
    request(&claimed);
    assert_true(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX " CondensationRequest S(stats) Condensation");
    assert_false(claimed.agent.must_condense);
    assert_false(condense(&claimed));
    claimed_agent_end(&claimed);
}

static void view_that_cannot_be_condensed_ends_the_run(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, FAILS, 240);
    request(&claimed);
    assert_true(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX " CondensationRequest S(error) ConversationError");
    assert_step_event(&claimed, "ConversationErrorEvent", "code", "\"LLMAuthenticationError\"");
    assert_true(claimed.agent.is_over);
    assert_false(claimed.agent.must_condense);
    claimed_agent_end(&claimed);
}

/* As a step of the run would, where its view cannot be sent; else the run goes on without. */
static void outage_is_waited_for_where_the_run_cannot_go_on(void **state)
{
    struct claimed_agent claimed;
    struct claimed_agent long_one;
    struct run_fixture *fixture = *state;

    fixture->context.settings.model_outage_ms = 600000;
    begin(&claimed, state, DOWN, 240);
    leave_retries_to_the_server(claimed.agent.llm_spec);
    request(&claimed);
    assert_true(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX " CondensationRequest");
    assert_step_row(&claimed, "running/wanted/-");
    assert_true(claimed.agent.is_over);
    claimed_agent_end(&claimed);
    begin(&long_one, state, DOWN, LENGTH - 1);
    leave_retries_to_the_server(long_one.agent.llm_spec);
    assert_false(condense(&long_one));
    assert_false(long_one.agent.is_over);
    claimed_agent_end(&long_one);
    fixture->context.settings.model_outage_ms = 0;
}

/* The summary's model has not answered before: with retries this would take a minute. */
static void summary_is_asked_for_once_in_an_outage(void **state)
{
    struct claimed_agent claimed;
    json_t *condenser = NULL;
    int64_t before_ms = clock_monotonic_ms();

    begin(&claimed, state, DOWN, LENGTH - 1);
    condenser = json_object_get(conversation_agent(&claimed.agent.conversation), "condenser");
    leave_retries_to_the_server(json_object_get(condenser, "llm"));
    claimed.agent.n_model_waits = 1;
    assert_false(condense(&claimed));
    assert_true(clock_monotonic_ms() - before_ms < 15000);
    claimed_agent_end(&claimed);
}

static void view_of_which_nothing_is_left_ends_the_run(void **state)
{
    struct claimed_agent claimed;
    struct history *history = &claimed.agent.history;

    begin(&claimed, state, ECHOES, 240);
    request(&claimed);
    for (size_t i = 1; i < history->n; i++)
        history->items[i].is_forgotten = true;
    assert_true(condense(&claimed));
    assert_step_event(&claimed, "ConversationErrorEvent", "code",
                      "\"LLMContextWindowExceedError\"");
    assert_step_event(&claimed, "ConversationErrorEvent", "detail",
                      "\"The conversation is longer than the model can read, and nothing in it can"
                      " be summarised any more.\"");
    assert_true(claimed.agent.is_over);
    claimed_agent_end(&claimed);
}

static void condensation_of_a_client_serves_the_run_too(void **state)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *ids = json_array();
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;

    begin(&claimed, state, ECHOES, 240);
    request(&claimed);
    event_add_condensation(&events, &(struct condensation_parts){.forgotten = ids,
                                                                 .summary = "theirs",
                                                                 .llm_response_id = "r"});
    step_check(event_writer_append(&claimed.agent, &events, NULL, &err), &err);
    assert_false(condense(&claimed));
    assert_false(claimed.agent.must_condense);
    assert_step_log(&claimed, BEGINNING SIX " CondensationRequest Condensation");
    claimed_agent_end(&claimed);
}

/* Stored while ours was made: it takes precedence, and the cost of ours counts. */
static void condensation_of_a_client_takes_precedence(void **state)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *ids = json_array();
    struct claimed_agent claimed;
    struct db *db = ((struct run_fixture *)*state)->context.db;
    struct error err = ERROR_INIT;

    begin(&claimed, state, ECHOES, LENGTH - 1);
    event_add_condensation(&events, &(struct condensation_parts){.forgotten = ids,
                                                                 .summary = "theirs",
                                                                 .llm_response_id = "r"});
    step_check(conversation_store_load_any(db, &claimed.agent.lease.conversation_id, &now, &err),
               &err);
    step_check(conversation_store_append(db, &claimed.agent.lease, &now, &events, &err), &err);
    assert_true(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX " Condensation S(stats)");
    assert_step_event(&claimed, "Condensation", "summary", "\"theirs\"");
    assert_int_equal(step_number(&claimed, "(stats LIKE '%\"condenser\"%')::int"), 1);
    claimed_agent_end(&claimed);
}

static void stop_ends_the_wait_for_a_summary(void **state)
{
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;
    bool is_settled = true;

    begin(&claimed, state, ECHOES, LENGTH - 1);
    run_control_request(&claimed.control, STOP_INTERRUPT);
    assert_int_equal(condense_if_due(&claimed.agent, &is_settled, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_false(is_settled);
    assert_int_equal(claimed.agent.unsummed_until, 0);
    assert_step_log(&claimed, BEGINNING SIX);
    claimed_agent_end(&claimed);
}

/* --- tokens --- */

static void set_max_tokens(struct claimed_agent *claimed, json_int_t max_tokens)
{
    json_t *agent_spec = conversation_agent(&claimed->agent.conversation);

    json_put(json_object_get(agent_spec, "condenser"), "max_tokens", json_integer(max_tokens));
}

/* The view's length in tokens, which is not counted without a limit. */
static json_int_t count_tokens(struct claimed_agent *claimed)
{
    set_max_tokens(claimed, 1000000);
    return (json_int_t)view_tokens_measure(&claimed->agent).n_tokens;
}

static void view_over_max_tokens_is_condensed(void **state)
{
    struct claimed_agent claimed;
    json_int_t n_tokens = 0;

    begin(&claimed, state, ECHOES, 240);
    n_tokens = count_tokens(&claimed);
    assert_true(n_tokens > 0);
    set_max_tokens(&claimed, n_tokens);
    assert_nothing_done(&claimed);
    set_max_tokens(&claimed, n_tokens - 1);
    assert_true(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX " S(stats) Condensation");
    assert_step_event(&claimed, "Condensation", "summary_offset", "2");
    claimed_agent_end(&claimed);
}

/* Here the summary is as long as what it replaces. */
static void condensation_that_does_not_suffice_is_followed_by_a_hard_reset(void **state)
{
    struct claimed_agent claimed;
    size_t n_system = 0;
    size_t *tokens = NULL;

    begin(&claimed, state, ECHOES, 240);
    (void)count_tokens(&claimed);
    tokens = mem_alloc_array(claimed.agent.history.n, sizeof(*tokens));
    token_count_events(&claimed.agent.history, tokens);
    n_system = tokens[0];
    mem_free(tokens);
    set_max_tokens(&claimed, (json_int_t)((double)n_system * 1.1) + 2);
    assert_true(condense(&claimed));
    assert_step_event(&claimed, "Condensation", "summary_offset", "2");
    assert_true(condense(&claimed));
    assert_step_event(&claimed, "Condensation", "summary_offset", "1");
    assert_false(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX " S(stats) Condensation S(stats) Condensation");
    assert_int_equal(model_view_length(&claimed.agent.history), 2);
    claimed_agent_end(&claimed);
}

/* Its model fails while it is shown what stands after the first 350 of more than 600 characters. */
#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG X50 X50 X50 X50 X50 X50 X50 " MARK " X50 X50 X50 X50 X50
#define SHORT_SIGHTED                                                                              \
    "{\"turns\": [], \"later\": [{\"match\": [\"MARK\"], \"steps\": [{\"status\": 400,"            \
    " \"error\": \"too long\"}]}, {\"steps\": [{\"text\": \"short\"}]}]}"

/* The result of a reset with so many tries, which may show that many characters in the end. */
static int reset(void **state, int n_tries, size_t *n_chars_out)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_failure failure = LLM_FAILURE_INIT;
    struct summary_request request = {NULL, &range, SUMMARY_PREVIEW_CHARS};
    struct claimed_agent claimed;
    struct error err = ERROR_INIT;
    json_t *condenser = NULL;
    int rc = 0;

    begin(&claimed, state, SHORT_SIGHTED, 240);
    (void)event_add_environment_message(&events, LONG);
    step_check(event_writer_append(&claimed.agent, &events, NULL, &err), &err);
    condenser = json_object_get(conversation_agent(&claimed.agent.conversation), "condenser");
    json_put(condenser, "hard_context_reset_max_retries", json_integer(n_tries));
    request.condenser = condenser;
    rc = hard_reset_ask(&claimed.agent, &request, &reply, &failure, &err);
    *n_chars_out = request.preview_chars;
    claimed_agent_end(&claimed);
    return rc;
}

/* Of 500 characters at first, four fifths with each further try. */
static void reset_shows_less_with_each_of_its_tries(void **state)
{
    size_t n_chars = 0;

    assert_int_equal(reset(state, 3, &n_chars), 0);
    assert_int_equal(n_chars, 320);
    assert_int_equal(reset(state, 2, &n_chars), -1);
    assert_int_equal(n_chars, 400);
}

static void estimate_alone_does_not_end_the_run(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, FAILS, 240);
    set_max_tokens(&claimed, count_tokens(&claimed) - 1);
    assert_false(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX);
    assert_int_equal(claimed.agent.unsummed_until, LENGTH + PATIENCE);
    claimed_agent_end(&claimed);
}

/* A window of the model's description, too small for its system prompt. */
static void hopeless_estimate_leaves_the_view_unless_it_must_be_condensed(void **state)
{
    struct claimed_agent claimed;

    begin(&claimed, state, ECHOES, 240);
    json_put(claimed.agent.llm_spec, "max_input_tokens", json_integer(1));
    assert_nothing_done(&claimed);
    request(&claimed);
    assert_true(condense(&claimed));
    assert_step_log(&claimed, BEGINNING SIX " CondensationRequest S(stats) Condensation");
    claimed_agent_end(&claimed);
}

static void limit_below_the_system_prompt_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct claimed_agent claimed;

    begin(&claimed, state, ECHOES, 240);
    set_max_tokens(&claimed, 10);
    assert_true(condense(&claimed));
    step_last_event(&claimed, "ConversationErrorEvent", &event);
    assert_non_null(strstr(event.text, "\"LLMBadRequestError\""));
    assert_non_null(strstr(event.text, "max_tokens of 10 leaves no room"));
    assert_true(claimed.agent.is_over);
    claimed_agent_end(&claimed);
}

static void report(struct claimed_agent *claimed)
{
    const struct llm_usage usage = {.model = json_text_or(claimed->agent.llm_spec, "model", ""),
                                    .prompt_tokens = 2000};

    agent_prompt_write(&claimed->agent, claimed->agent.llm_spec);
    view_tokens_note_usage(&claimed->agent, &usage);
}

/* The count that the server reports stays the same while the conversation grows. */
static void cut_silently(struct claimed_agent *claimed)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;

    report(claimed);
    for (int i = 0; i < 4000; i++)
        strbuf_append(&text, "long and ");
    (void)event_add_environment_message(&events, text.text);
    step_check(event_writer_append(&claimed->agent, &events, NULL, &err), &err);
    report(claimed);
    assert_int_equal(claimed->agent.gauge.window_tokens, 2000);
}

static void server_that_cuts_silently_ends_the_run(void **state)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;
    struct claimed_agent claimed;

    begin(&claimed, state, ECHOES, 0);
    cut_silently(&claimed);
    assert_true(condense(&claimed));
    step_last_event(&claimed, "ConversationErrorEvent", &event);
    assert_non_null(strstr(event.text, "\"LLMContextWindowExceedError\""));
    assert_non_null(strstr(event.text, "reads only about 2000 tokens"));
    claimed_agent_end(&claimed);
}

/* --- whether it may help --- */

static void only_a_shorter_view_may_help_some_failures(void **state)
{
    struct claimed_agent claimed;
    struct claimed_agent bare;

    begin(&claimed, state, ECHOES, 240);
    for (int kind = 0; kind < LLM_N_FAILURES; kind++) {
        const struct llm_failure failure = {.kind = (enum llm_failure_kind)kind};

        assert_int_equal(condense_may_help(&claimed.agent, &failure),
                         kind == LLM_FAILURE_CONTEXT_WINDOW ||
                             kind == LLM_FAILURE_MALFORMED_HISTORY);
    }
    claimed_agent_end(&claimed);
    begin(&bare, state, ECHOES, 0);
    assert_false(
        condense_may_help(&bare.agent, &(struct llm_failure){.kind = LLM_FAILURE_CONTEXT_WINDOW}));
    claimed_agent_end(&bare);
}

/* --- summaries --- */

/* The model reads what it forgot before, long texts in short, and calls with their arguments. */
static void request_shows_what_is_forgotten(void **state)
{
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    struct llm_failure failure = LLM_FAILURE_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *ids = json_array();
    json_auto_t *condenser = NULL;
    struct summary_request request = {NULL, &range, SUMMARY_PREVIEW_CHARS};
    struct claimed_agent claimed;
    struct history *history = &claimed.agent.history;
    struct error err = ERROR_INIT;

    begin(&claimed, state, ECHOES, 240);
    event_add_condensation(
        &events, &(struct condensation_parts){
                     .forgotten = ids, .summary = "before", .offset = 1, .llm_response_id = "r"});
    step_check(event_writer_append(&claimed.agent, &events, NULL, &err), &err);
    condenser = summary_condenser(&claimed.agent);
    assert_non_null(condenser);
    index_list_add(&range.summaries, history->n - 1);
    index_list_add(&range.events, history->n - 2);
    range.offset = 7;
    request.condenser = condenser;
    step_check(summary_ask(&claimed.agent, &request, &reply, &failure, &err), &err);
    assert_string_equal(reply.text, "<summary of what was forgotten before>\nbefore\n<user>\nw5\n");
    {
        CLEANUP(event_list_done) struct event_list made = EVENT_LIST_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

        summary_add(&claimed.agent, &range, &reply, &made);
        assert_int_equal(made.n, 1);
        json_append_text(&text, made.items[0].json);
        strbuf_appendf(&expected, "[\"%s\", \"%s-summary\"]",
                       history->items[history->n - 2].id.text,
                       history->items[history->n - 1].id.text);
        assert_json_at(text.text, "forgotten_event_ids", expected.text);
        assert_json_at(text.text, "summary_offset", "7");
    }
    claimed_agent_end(&claimed);
}

int condense_step_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_view_is_left_alone),
        cmocka_unit_test(long_view_is_condensed),
        cmocka_unit_test(view_without_a_summary_is_kept_for_a_while),
        cmocka_unit_test(requested_condensation_happens_at_any_length),
        cmocka_unit_test(view_that_cannot_be_condensed_ends_the_run),
        cmocka_unit_test(outage_is_waited_for_where_the_run_cannot_go_on),
        cmocka_unit_test(summary_is_asked_for_once_in_an_outage),
        cmocka_unit_test(view_of_which_nothing_is_left_ends_the_run),
        cmocka_unit_test(condensation_of_a_client_serves_the_run_too),
        cmocka_unit_test(condensation_of_a_client_takes_precedence),
        cmocka_unit_test(stop_ends_the_wait_for_a_summary),
        cmocka_unit_test(view_over_max_tokens_is_condensed),
        cmocka_unit_test(condensation_that_does_not_suffice_is_followed_by_a_hard_reset),
        cmocka_unit_test(reset_shows_less_with_each_of_its_tries),
        cmocka_unit_test(estimate_alone_does_not_end_the_run),
        cmocka_unit_test(hopeless_estimate_leaves_the_view_unless_it_must_be_condensed),
        cmocka_unit_test(limit_below_the_system_prompt_is_refused),
        cmocka_unit_test(server_that_cuts_silently_ends_the_run),
        cmocka_unit_test(only_a_shorter_view_may_help_some_failures),
        cmocka_unit_test(request_shows_what_is_forgotten),
    };

    return cmocka_run_group_tests_name("worker/condense", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}

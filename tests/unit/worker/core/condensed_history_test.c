/*
 * A history loaded from a stored view answers every query as the whole log does: random legal logs
 * with batches, late results, rejections, errors, condensations and steps back, compacted at random
 * times. The strictest format of models, Gemini's, takes each of them.
 */
#include "worker/agent/core/condensed_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/gemini_rules.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "model/prompt/knowledge_request.h"
#include "model/prompt/project_knowledge.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/condensed_view_store.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "support/sql.h"
#include "support/test_catalogue.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/core/transcript.h"
#include "worker/agent/stuck.h"
#include "worker/agent_test.h"
#include "worker/events.h"

#define UNUSED_SCRIPT "{\"turns\": [{\"steps\": [{\"text\": \"unused\"}]}]}"
enum { N_LOGS = 25, N_ACTS = 70, CALLS_MAX = 3, IDS_MAX = 400, FORGOTTEN_MAX = 1000 };

struct log {
    struct db *db;
    struct uuid id;
    uint64_t seed;
    int n_answers;
    char used[IDS_MAX][24]; /* call ids */
    size_t n_used;
};

static void check(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s", err->message);
}

/* A number below n (Marsaglia's xorshift). */
static size_t pick(struct log *log, size_t n)
{
    log->seed ^= log->seed << 13;
    log->seed ^= log->seed >> 7;
    log->seed ^= log->seed << 17;
    return (size_t)(log->seed % n);
}

static struct log log_new(struct run_fixture *fixture, uint64_t seed)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct log log = {.db = fixture->context.db,
                      .id = run_new_conversation(fixture, UNUSED_SCRIPT, "{}"),
                      .seed = seed * 0x9E3779B97F4A7C15U + 1};

    /* No other test's worker may claim it. */
    strbuf_appendf(&sql, "UPDATE conversations SET wanted_at = NULL WHERE id = '%s'", log.id.text);
    test_sql(sql.text);
    return log;
}

/* --- both ways to load --- */

static void finish_loading(const struct log *log, struct history *history)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    struct error err = ERROR_INIT;
    bool has_any = false;

    check(conversation_store_load_any(log->db, &log->id, &row, &err), &err);
    check(event_store_load_after(log->db, &log->id, history, &err), &err);
    if (row.is_branched)
        check(branch_store_prune(log->db, &log->id, history, &err), &err);
    history_thin(history, 0);
    has_any = model_view_apply(history, history_index_after(history, history->gap.seq));
    assert_true(has_any || history->gap.seq > 0 || model_view_length(history) <= history->n);
}

static struct history load_whole(const struct log *log)
{
    struct history history = HISTORY_INIT;

    finish_loading(log, &history);
    return history;
}

static struct history load_short(const struct log *log)
{
    struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;

    check(condensed_view_store_load(log->db, &log->id, &history, &err), &err);
    finish_loading(log, &history);
    return history;
}

/* --- acts --- */

static void append(struct log *log, struct event_list *events)
{
    CLEANUP(conversation_done) struct conversation row = CONVERSATION_INIT;
    const struct conversation_write write = {.guard = GUARD_NONE};
    struct error err = ERROR_INIT;

    check(conversation_store_load_any(log->db, &log->id, &row, &err), &err);
    check(conversation_store_write(log->db, &row, events, &write, &err), &err);
}

/* What a run reads of its workspace before the first answer. */
static void learn(struct log *log)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *value = test_json("{\"project_knowledge\": {\"dynamic_context\": \"known\"}}");

    event_add_state(&events, "agent_state", value);
    append(log, &events);
}

/* A later reading; it may add to the last message of the user, if there is no answer to it. */
static void learn_anew(struct log *log, struct event_list *events)
{
    CLEANUP(history_done) struct history history = load_short(log);
    json_auto_t *value = test_json("{\"project_knowledge\": {\"messages\": {}}}");
    json_t *knowledge = json_object_get(value, "project_knowledge");
    bool adds = pick(log, 2) == 0;
    char text[24];

    (void)snprintf(text, sizeof(text), "known %d", ++log->n_answers);
    json_put_text(knowledge, "dynamic_context", text);
    for (size_t i = history.n; adds && i > history_index_after_answer(&history); i--) {
        const struct stored_event *event = &history.items[i - 1];

        if (!stored_event_is_message(event, "user"))
            continue;
        json_put(json_object_get(knowledge, "messages"), event->id.text,
                 test_json("{\"extended_content\": [{\"type\": \"text\", \"text\": \"so\"}]}"));
        break;
    }
    event_add_state(events, "agent_state", value);
    if (log->n_answers % 2 == 0) {
        json_auto_t *request = knowledge_request_hook_value();

        event_add_state(events, "agent_state", request);
    }
}

static void say(struct log *log, struct event_list *events)
{
    json_auto_t *content = json_array();

    switch (pick(log, 4)) {
    case 0:
        (void)event_add_environment_message(events, "a note");
        return;
    case 1:
        event_add_status(events, STATUS_RUNNING);
        return;
    case 2:
        event_add_condensation_request(events);
        return;
    default:
        json_push(content, text_content("words"));
        (void)event_add_user_message(events, content);
    }
}

/* Before the end of a run, or with text for the model. */
static void run_a_hook(struct log *log, struct event_list *events)
{
    bool is_end = pick(log, 2) == 0;

    if (is_end && pick(log, 2) == 0)
        event_add_status(events, STATUS_FINISHED);
    event_add_hook_execution(
        events, &(struct hook_parts){.event_type = is_end ? "Stop" : "UserPromptSubmit",
                                     .command = "check",
                                     .out = "",
                                     .err = "",
                                     .additional_context = is_end ? NULL : "a hook's text"});
}

static void answer_in_words(struct log *log, struct event_list *events)
{
    char response_id[24];

    (void)snprintf(response_id, sizeof(response_id), "r%d", ++log->n_answers);
    (void)event_add_agent_message(events, "an answer", NULL, response_id);
}

static void add_call(struct log *log, const char *response_id, struct event_list *events)
{
    char *call_id = log->used[log->n_used++];
    bool is_bad = pick(log, 5) == 0;
    json_auto_t *action = is_bad ? NULL : test_json("{\"kind\": \"ThinkAction\"}");
    struct call_ref ref = {.tool_name = "think", .tool_call_id = call_id};

    assert_true(log->n_used < IDS_MAX);
    (void)snprintf(call_id, sizeof(log->used[0]), "call%zu", log->n_used);
    ref.action_id = event_add_action(events, &(struct action_parts){.tool_name = "think",
                                                                    .tool_call_id = call_id,
                                                                    .arguments = "{}",
                                                                    .llm_response_id = response_id,
                                                                    .security_risk = "UNKNOWN",
                                                                    .action = action,
                                                                    .thought = "a thought"});
    if (is_bad)
        event_add_agent_error(events, &ref, "no such tool");
}

static void answer_with_calls(struct log *log, struct event_list *events)
{
    char response_id[24];
    size_t n = 1 + pick(log, CALLS_MAX);

    (void)snprintf(response_id, sizeof(response_id), "r%d", ++log->n_answers);
    for (size_t i = 0; i < n; i++)
        add_call(log, response_id, events);
}

static void add_result(struct log *log, const struct call_ref *ref, struct event_list *events)
{
    json_auto_t *seen = test_json("{\"kind\": \"ThinkObservation\", \"is_error\": false,"
                                  " \"content\": [{\"type\": \"text\", \"text\": \"done\"}]}");

    switch (pick(log, 3)) {
    case 0:
        event_add_rejection(events, ref, "no");
        return;
    case 1:
        event_add_agent_error(events, ref, "it failed");
        return;
    default:
        event_add_observation(events, ref, seen);
    }
}

/* A result for one of the open calls, in any order. */
static void end_a_call(struct log *log, struct event_list *events)
{
    CLEANUP(history_done) struct history history = load_short(log);
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    struct call_ref ref;

    history_find_pending(&history, &pending);
    if (pending.n == 0)
        return;
    ref = call_ref_of(&history.items[pending.items[pick(log, pending.n)]]);
    add_result(log, &ref, events);
}

static struct model_view_rule rule_of(struct log *log)
{
    return (struct model_view_rule){.max_size = pick(log, 2) * 12,
                                    .keep_first = 1 + pick(log, 4),
                                    .minimum_progress = 0.1,
                                    .max_events = pick(log, 4) == 0 ? 6 : FORGOTTEN_MAX};
}

static json_t *ids_of(const struct history *history, const struct model_view_range *range)
{
    json_t *ids = json_array();

    for (size_t i = 0; i < range->events.n; i++)
        json_push(ids, json_text_of(history->items[range->events.items[i]].id.text));
    for (size_t i = 0; i < range->summaries.n; i++) {
        CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;

        strbuf_appendf(&id, "%s-summary", history->items[range->summaries.items[i]].id.text);
        json_push(ids, json_text_of(id.text));
    }
    return ids;
}

static void condense(struct log *log, struct event_list *events)
{
    CLEANUP(history_done) struct history history = load_short(log);
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    const struct model_view_rule rule = rule_of(log);
    json_auto_t *ids = NULL;
    char summary[24];

    model_view_choose_range(&history, &rule, &range);
    if (range.events.n == 0)
        return;
    ids = ids_of(&history, &range);
    (void)snprintf(summary, sizeof(summary), "summary %d", ++log->n_answers);
    event_add_condensation(events, &(struct condensation_parts){.forgotten = ids,
                                                                .summary = summary,
                                                                .offset = (int64_t)range.offset,
                                                                .llm_response_id = summary});
}

/* To an event that ends an answer or is none: what a client offers. */
static void go_back(struct log *log)
{
    CLEANUP(history_done) struct history history = load_short(log);
    size_t at = pick(log, history.n);
    struct error err = ERROR_INIT;

    check(branch_store_navigate(log->db, &log->id, history.items[at].id.text, &err), &err);
}

static void compact_and_store(struct log *log)
{
    CLEANUP(history_done) struct history history = load_short(log);
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct stuck_thresholds thresholds = stuck_thresholds_of(NULL);
    const struct lease lease = {.conversation_id = log->id, .owner = uuid_random(), .fence = 1};
    struct error err = ERROR_INIT;

    if (!condensed_history_compact(&history, stuck_events_looked_at(&thresholds)))
        return;
    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_owner = '%s', lease_fence = 1,"
                   " lease_expires_at = now() + interval '1 hour' WHERE id = '%s'",
                   lease.owner.text, log->id.text);
    test_sql(sql.text);
    check(condensed_view_store_save(log->db, &lease, &history, &err), &err);
    strbuf_reset(&sql);
    strbuf_appendf(&sql,
                   "UPDATE conversations SET lease_owner = NULL, lease_expires_at = NULL"
                   " WHERE id = '%s'",
                   log->id.text);
    test_sql(sql.text);
}

static void act(struct log *log)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    size_t what = pick(log, 29);

    if (what < 3)
        say(log, &events);
    else if (what < 5)
        answer_in_words(log, &events);
    else if (what < 11)
        answer_with_calls(log, &events);
    else if (what < 18)
        end_a_call(log, &events);
    else if (what < 21)
        condense(log, &events);
    else if (what < 23)
        compact_and_store(log);
    else if (what < 26)
        run_a_hook(log, &events);
    else if (what < 28)
        learn_anew(log, &events);
    else
        go_back(log);
    if (events.n > 0)
        append(log, &events);
}

/* --- comparison --- */

static char *messages_text(const struct history *history, bool is_as_said)
{
    json_auto_t *messages = json_array();

    if (is_as_said)
        messages_append_as_said(messages, history);
    else
        (void)messages_append(messages, history, 0);
    return json_dumps(messages, JSON_SORT_KEYS | JSON_INDENT(1));
}

static void assert_same_messages(const struct history *whole, const struct history *part,
                                 bool is_as_said)
{
    char *expected = messages_text(whole, is_as_said);
    char *found = messages_text(part, is_as_said);

    assert_string_equal(found, expected);
    free(found);
    free(expected);
}

static void assert_same_knowledge(const struct history *whole, const struct history *part)
{
    const json_t *expected = history_find_knowledge(whole);
    const json_t *found = history_find_knowledge(part);

    /* A step back may leave none. */
    assert_int_equal(found == NULL, expected == NULL);
    assert_true(found == NULL || json_equal(found, expected));
}

static void assert_same_request(const struct history *whole, const struct history *part)
{
    size_t expected = history_find_hook_request(whole);
    size_t found = history_find_hook_request(part);

    assert_int_equal(found == part->n, expected == whole->n);
    if (found < part->n)
        assert_int_equal(part->items[found].seq, whole->items[expected].seq);
}

static void assert_same_pending(const struct history *whole, const struct history *part)
{
    CLEANUP(index_list_done) struct index_list expected = INDEX_LIST_INIT;
    CLEANUP(index_list_done) struct index_list found = INDEX_LIST_INIT;

    history_find_pending(whole, &expected);
    history_find_pending(part, &found);
    assert_int_equal(found.n, expected.n);
    for (size_t i = 0; i < found.n; i++)
        assert_string_equal(part->items[found.items[i]].id.text,
                            whole->items[expected.items[i]].id.text);
}

static void assert_same_range(struct log *log, const struct history *whole,
                              const struct history *part)
{
    CLEANUP(model_view_range_done) struct model_view_range expected = MODEL_VIEW_RANGE_INIT;
    CLEANUP(model_view_range_done) struct model_view_range found = MODEL_VIEW_RANGE_INIT;
    const struct model_view_rule rule = rule_of(log);
    json_auto_t *expected_ids = NULL;
    json_auto_t *found_ids = NULL;

    model_view_choose_range(whole, &rule, &expected);
    model_view_choose_range(part, &rule, &found);
    expected_ids = ids_of(whole, &expected);
    found_ids = ids_of(part, &found);
    assert_int_equal(found.offset, expected.offset);
    assert_true(json_equal(found_ids, expected_ids));
}

static void assert_same_verdict(const struct history *whole, const struct history *part)
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
    struct stuck_thresholds thresholds = stuck_thresholds_of(NULL);

    assert_int_equal(stuck_look(part, &thresholds, &found),
                     stuck_look(whole, &thresholds, &expected));
    assert_string_equal(found.text, expected.text);
}

/* The last status, and the hooks after it. */
static void append_end(const struct history *history, struct strbuf *out)
{
    const struct stored_event *status = history_find_status(history);

    for (size_t i = 0; i < history->n; i++) {
        const struct stored_event *event = &history->items[i];

        if (event == status ||
            (status != NULL && event > status && stored_event_is(event, "HookExecutionEvent")))
            strbuf_appendf(out, "%s ", event->id.text);
    }
}

static void assert_same_end(const struct history *whole, const struct history *part)
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;

    append_end(whole, &expected);
    append_end(part, &found);
    assert_string_equal(found.text, expected.text);
}

static void assert_same_ids(const struct log *log, const struct history *whole,
                            const struct history *part)
{
    char response_id[24];

    for (size_t i = 0; i < log->n_used; i++)
        assert_int_equal(history_has_call_id(part, log->used[i]),
                         history_has_call_id(whole, log->used[i]));
    for (int i = 0; i <= log->n_answers + 1; i++) {
        (void)snprintf(response_id, sizeof(response_id), "r%d", i);
        assert_int_equal(history_has_response_id(part, response_id),
                         history_has_response_id(whole, response_id));
    }
}

/* The strictest format of models takes the history. */
static void assert_is_taken(const struct history *history)
{
    CLEANUP(transcript_done) struct transcript transcript = TRANSCRIPT_INIT;
    json_auto_t *spec = test_json("{\"model\": \"gemini/gemini-3-x\"}");
    json_auto_t *body = NULL;

    transcript_begin(&transcript, test_catalogue(), spec);
    transcript_update(&transcript, history);
    body = gemini_body_of(spec, &transcript.prompt);
    assert_gemini_takes(body);
}

static void assert_same(struct log *log)
{
    CLEANUP(history_done) struct history whole = load_whole(log);
    CLEANUP(history_done) struct history part = load_short(log);
    const struct stored_event *first = history_first_user_message(&whole);
    const struct stored_event *found = history_first_user_message(&part);

    assert_int_equal(part.last_seq, whole.last_seq);
    assert_int_equal(part.last_timestamp_us, whole.last_timestamp_us);
    assert_int_equal(first != NULL, found != NULL);
    if (first != NULL && found != NULL)
        assert_string_equal(found->id.text, first->id.text);
    assert_int_equal(model_view_length(&part), model_view_length(&whole));
    assert_int_equal(model_view_is_condensation_due(&part), model_view_is_condensation_due(&whole));
    assert_int_equal(history_count_iterations(&part), history_count_iterations(&whole));
    assert_is_taken(&part);
    assert_same_messages(&whole, &part, false);
    assert_same_messages(&whole, &part, true);
    assert_same_knowledge(&whole, &part);
    assert_same_request(&whole, &part);
    assert_same_pending(&whole, &part);
    assert_same_end(&whole, &part);
    assert_same_range(log, &whole, &part);
    assert_same_verdict(&whole, &part);
    assert_same_ids(log, &whole, &part);
}

static void short_load_equals_the_whole_log(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    size_t n_short = 0;

    for (uint64_t seed = 1; seed <= N_LOGS; seed++) {
        struct log log = log_new(*state, seed);

        learn(&log);
        for (int i = 0; i < N_ACTS; i++) {
            act(&log);
            if (i % 3 == 0)
                assert_same(&log);
        }
        {
            CLEANUP(history_done) struct history part = load_short(&log);

            n_short += part.gap.n_ids > 0;
        }
        strbuf_reset(&sql);
        strbuf_appendf(&sql, "DELETE FROM conversations WHERE id = '%s'", log.id.text);
        test_sql(sql.text);
    }
    /* Otherwise nothing was compared. */
    assert_true(n_short > N_LOGS / 2);
}

/* A reading, and the message that it adds to. */
#define READ_ID(n) "00000000-0000-4000-8000-00000000000" n
#define READ_MESSAGE(n)                                                                            \
    "{\"id\": \"" READ_ID(n) "\", \"kind\": \"MessageEvent\", \"source\": \"user\"}"
#define READING(n)                                                                                 \
    "{\"id\": \"00000000-0000-4000-9000-00000000000" n                                             \
    "\", \"kind\": \"ConversationStateUpdateEvent\", \"key\": \"agent_state\", \"value\": {"       \
    "\"project_knowledge\": {\"messages\": {\"" READ_ID(n) "\": {\"extended_content\": []}}}}}"

static void readings_for_forgotten_messages_are_left_out(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    size_t n_readings = 0;

    (void)state;
    history_add_text(
        &history,
        "[" READ_MESSAGE("0") "," READING("0") "," READ_MESSAGE("1") "," READING("1") "," READ_MESSAGE(
            "2") "," READING("2") "," READ_MESSAGE("3") "," READING("3") ","
                                                                         "{\"kind\": "
                                                                         "\"Condensation\", "
                                                                         "\"summary\": \"s\", "
                                                                         "\"summary_offset\": 1,"
                                                                         " \"forgotten_event_ids\":"
                                                                         " [\"" READ_ID(
                                                                             "0") "\", \"" READ_ID("1") "\"]}]");
    assert_true(model_view_apply(&history, 0));
    assert_true(condensed_history_compact(&history, 0));
    for (size_t i = 0; i < history.n; i++) {
        const json_t *knowledge = stored_event_knowledge(&history.items[i]);

        if (knowledge == NULL)
            continue;
        /* The first is for workers of the release before. */
        assert_null(project_knowledge_extra(knowledge, READ_ID("1")));
        n_readings++;
    }
    assert_int_equal(n_readings, 3);
}

int condensed_history_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings_for_forgotten_messages_are_left_out),
        cmocka_unit_test_setup_teardown(short_load_equals_the_whole_log, run_fixture_set_up,
                                        run_fixture_tear_down),
    };

    return cmocka_run_group_tests_name("condensed_history", tests, NULL, NULL);
}

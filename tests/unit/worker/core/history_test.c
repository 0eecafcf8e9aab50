#include "worker/worker_test.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "model/event/event.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/history.h"
#include "worker/events.h"

static void only_executable_calls_without_result_are_pending(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;

    (void)state;
    history_add_text(&history,
                     "[" ACTION("1", "x") "," RESULT("1", "y") "," ACTION("2", "x") "," BAD_ACTION(
                         "3") "," FAILURE("3") "," ACTION("4", "z") "]");
    history_find_pending(&history, &pending);
    assert_int_equal(pending.n, 2);
    assert_int_equal(pending.items[0], 2);
    assert_int_equal(pending.items[1], 5);
}

static void iterations_count_from_the_start_of_the_run(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    (void)state;
    history_add_text(&history, "[" AGENT("old") "," RUNNING "," ACTION("1", "x") "," RESULT(
                                   "1", "y") "," ACTION("2", "x") "," RESULT("2", "y") "]");
    assert_int_equal(history_count_iterations(&history), 2);
    assert_false(history_has_user_message_after(&history, 0));
    assert_true(history_has_call_id(&history, "2"));
    assert_false(history_has_call_id(&history, "3"));
    assert_true(history_has_response_id(&history, "r2"));
    assert_false(history_has_response_id(&history, "r3"));
}

/* Answers of several calls count once each, and those before the run not at all. */
static void answers_are_counted_by_their_ids(void **state)
{
    static const struct {
        const char *events;
        int64_t n;
    } cases[] = {
        {"[]", 0},
        {"[" USER("go") "]", 0},
        {"[" RUNNING "]", 0},
        {"[" AGENT("a") "," RUNNING "," AGENT("b") "]", 1},
        {"[" ACTION("1", "x") "," ACTION("1", "y") "," RESULT("1", "z") "]", 1},
        {"[" ACTION("1", "x") "," RESULT("1", "y") "," ACTION("2", "x") "," RESULT("2", "y") "]",
         2},
        {"[" AGENT("a") ",{\"kind\": \"Condensation\", \"llm_response_id\": \"c\"}]", 1},
        /* Only the status `running` begins a run. */
        {"[" AGENT(
             "a") ",{\"kind\": \"ConversationStateUpdateEvent\","
                  " \"key\": \"execution_status\", \"value\": \"paused\"},"
                  " {\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"x\", \"value\": "
                  "\"running\"},"
                  " {\"kind\": \"Odd\", \"key\": \"execution_status\", \"value\": \"running\"}]",
         1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;

        history_add_text(&history, cases[i].events);
        assert_int_equal(history_count_iterations(&history), cases[i].n);
    }
}

static void answers_of_the_gap_are_counted_too(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    (void)state;
    history_add_text(&history, "[" ACTION("1", "x") "," RESULT("1", "y") "," ACTION(
                                   "2", "x") "," RESULT("2", "y") "]");
    assert_int_equal(history_count_iterations_until(&history, 2), 1);
    assert_int_equal(history_count_iterations_until(&history, 0), 0);
    history.gap.seq = 2;
    history.gap.n_iterations = 7;
    assert_int_equal(history_count_iterations(&history), 8);
    history.gap.seq = 3;
    assert_int_equal(history_count_iterations(&history), 7);
}

static void result_is_found_behind_its_call(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    const struct uuid unknown = uuid_random();

    (void)state;
    history_add_text(&history, "[" ACTION("1", "x") "," ACTION("2", "x") "," RESULT(
                                   "2", "y") "," RESULT("1", "z") "," ACTION("3", "x") "]");
    assert_ptr_equal(history_find_result(&history, 0), &history.items[3]);
    assert_ptr_equal(history_find_result(&history, 1), &history.items[2]);
    assert_null(history_find_result(&history, 4));
    assert_true(history_has_result_of(&history, &history.items[0].id));
    assert_true(history_has_result_of(&history, &history.items[1].id));
    assert_false(history_has_result_of(&history, &history.items[4].id));
    assert_false(history_has_result_of(&history, &unknown));
    assert_true(history_has_event(&history, &history.items[0].id));
    assert_true(history_has_event(&history, &history.items[4].id));
    assert_false(history_has_event(&history, &unknown));
}

static void call_is_named_by_its_event(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct call_ref ref = {.tool_name = NULL};

    (void)state;
    history_add_text(&history, "[" ACTION("1", "x") "," USER("go") "]");
    ref = call_ref_of(&history.items[0]);
    assert_string_equal(ref.action_id.text, history.items[0].id.text);
    assert_string_equal(ref.tool_name, "terminal");
    assert_string_equal(ref.tool_call_id, "1");
    ref = call_ref_of(&history.items[1]);
    assert_string_equal(ref.tool_name, "");
    assert_string_equal(ref.tool_call_id, "");
}

/* The kinds of what is left, by their first letters. */
static void assert_kinds(const struct history *history, const char *expected)
{
    assert_int_equal(history->n, strlen(expected));
    for (size_t i = 0; i < history->n; i++)
        assert_int_equal(history->items[i].kind[0], expected[i]);
}

static void open_calls_of_a_forks_source_are_dropped(void **state)
{
    static const char events[] =
        "[" USER("go") "," ACTION("1", "x") "," RESULT("1", "y") "," ACTION("2", "x") "," USER(
            "well") "," ACTION("3", "x") "," ACTION("4", "x") "]";
    static const struct {
        int64_t through_seq;
        const char *kinds;
    } cases[] = {{0, "MAOAMAA"}, {3, "MAOAMAA"}, {4, "MAOMAA"}, {6, "MAOMA"}, {9, "MAOM"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;

        history_add_text(&history, events);
        history_drop_open_calls(&history, cases[i].through_seq);
        assert_kinds(&history, cases[i].kinds);
        assert_int_equal(history.items[0].seq, 1);
        assert_int_equal(history.last_seq, 7);
    }
}

static void messages_of_the_user_are_found(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(history_done) struct history silent = HISTORY_INIT;

    (void)state;
    history_add_text(&history, "[" AGENT("a") "," USER("b") "," AGENT("c") "," USER(
                                   "d") "," ENVIRONMENT("e") "]");
    assert_ptr_equal(history_first_user_message(&history), &history.items[1]);
    assert_true(history_has_user_message_after(&history, 0));
    assert_true(history_has_user_message_after(&history, 3));
    assert_false(history_has_user_message_after(&history, 4));
    assert_int_equal(history_index_after(&history, 0), 0);
    assert_int_equal(history_index_after(&history, 3), 3);
    assert_int_equal(history_index_after(&history, 4), 4);
    assert_int_equal(history_index_after(&history, 5), 5);
    history_add_text(&silent, "[" AGENT("a") "," ENVIRONMENT("e") "]");
    assert_null(history_first_user_message(&silent));
    assert_false(history_has_user_message_after(&silent, 0));
}

static void ids_of_events_left_out_count_as_used(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(history_done) struct history later = HISTORY_INIT;

    (void)state;
    history_add_text(&history,
                     "[" USER("go") "," ACTION("1", "x") "," ACTION("2", "x") "," AGENT("a") "]");
    assert_true(history_has_answer(&history));
    assert_false(history_has_answer(&later));
    for (size_t i = 0; i < history.n; i++)
        history_note_ids(&later.gap, &history.items[i]);
    assert_int_equal(later.gap.n_ids, 5);
    assert_true(history_has_answer(&later));
    assert_true(history_has_call_id(&later, "1"));
    assert_true(history_has_call_id(&later, "2"));
    assert_false(history_has_call_id(&later, "3"));
    assert_true(history_has_response_id(&later, "r1"));
    assert_true(history_has_response_id(&later, "r2"));
    assert_true(history_has_response_id(&later, "r"));
    assert_false(history_has_response_id(&later, "r3"));
}

/* The calls of an answer follow one another: its id is not kept with each of them. */
static void id_of_an_answer_is_not_kept_with_each_call(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct stored_event call = {.response_id = "r"};

    (void)state;
    for (int i = 0; i < 100; i++) {
        char id[8] = "";

        (void)snprintf(id, sizeof(id), "c%d", i);
        call.call_id = id;
        history_note_ids(&history.gap, &call);
    }
    assert_true(history.gap.n_ids > 100);
    assert_true(history.gap.n_ids < 200);
    assert_true(history_has_response_id(&history, "r"));
    assert_true(history_has_call_id(&history, "c0"));
    assert_true(history_has_call_id(&history, "c99"));
    assert_false(history_has_call_id(&history, "c100"));
}

/* Stored with views: 32-bit FNV-1a, with its published values. */
static void hash_of_ids_is_that_of_stored_views(void **state)
{
    static const struct {
        const char *id;
        uint32_t hash;
    } cases[] = {{"", 0x811c9dc5U}, {"a", 0xe40c292cU}, {"foobar", 0xbf9cf968U}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;
        const struct stored_event event = {.call_id = cases[i].id};

        history_note_ids(&history.gap, &event);
        assert_int_equal(history.gap.n_ids, 1);
        assert_int_equal(history.gap.ids[0], cases[i].hash);
    }
}

#define KNOWLEDGE(text)                                                                            \
    "{\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"agent_state\", \"value\":"            \
    " {\"project_knowledge\": {\"dynamic_context\": \"" text "\"}}}"

static void knowledge_is_that_of_the_newest_reading(void **state)
{
    static const struct {
        const char *events;
        const char *expected;
    } cases[] = {
        {"[" USER("go") "," RUNNING "," KNOWLEDGE("a") "," AGENT("b") "]", "a"},
        {"[" KNOWLEDGE("a") "," KNOWLEDGE("b") "]", "b"},
        {"[" KNOWLEDGE("a") "," AGENT("b") "," KNOWLEDGE("c") "," RUNNING "]", "c"},
        {"[" USER("go") "," RUNNING "]", NULL},
        {"[]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;
        const json_t *knowledge = NULL;

        history_add_text(&history, cases[i].events);
        knowledge = history_find_knowledge(&history);
        assert_int_equal(knowledge != NULL, cases[i].expected != NULL);
        if (knowledge != NULL)
            assert_string_equal(json_text_or(knowledge, "dynamic_context", ""), cases[i].expected);
    }
}

#define STATE(value)                                                                               \
    "{\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"agent_state\", \"value\": " value "}"
#define BY_HOOK STATE("{\"project_knowledge_requested\": true, \"requested_by\": \"hook\"}")
#define BY_CLIENT STATE("{\"project_knowledge_requested\": true}")
#define NO_READING STATE("{\"project_knowledge_requested\": false}")
#define READING STATE("{\"project_knowledge\": {}}")

static void request_of_a_hook_lasts_until_a_reading(void **state)
{
    static const struct {
        const char *events;
        size_t index; /* as many as there are: none */
    } cases[] = {
        {"[]", 0},
        {"[" BY_CLIENT "]", 1},
        {"[" BY_HOOK "]", 0},
        {"[" BY_HOOK ", " BY_HOOK ", " BY_CLIENT "]", 1},
        {"[" BY_HOOK ", " STATE("{\"other\": false}") "]", 0},
        {"[" BY_HOOK ", " READING "]", 2},
        {"[" BY_HOOK ", " NO_READING "]", 2},
        {"[" READING ", " BY_HOOK "]", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;

        history_add_text(&history, cases[i].events);
        assert_int_equal(history_find_hook_request(&history), cases[i].index);
    }
}

static void last_answer_is_found(void **state)
{
    static const struct {
        const char *events;
        size_t expected;
    } cases[] = {
        {"[]", 0},
        {"[" USER("go") "," RUNNING "]", 0},
        {"[" USER("go") "," AGENT("a") "]", 2},
        {"[" AGENT("a") "," USER("go") "," AGENT("b") "," USER("on") "," RUNNING "]", 3},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;

        history_add_text(&history, cases[i].events);
        assert_int_equal(history_index_after_answer(&history), cases[i].expected);
    }
}

static void written_events_are_added_as_if_loaded(void **state)
{
    enum { N_EVENTS = 70 };
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    const struct call_ref ref = {
        .action_id = uuid_random(), .tool_name = "terminal", .tool_call_id = "1"};

    (void)state;
    for (int i = 1; i < N_EVENTS; i++)
        event_add_status(&events, STATUS_RUNNING);
    event_add_agent_error(&events, &ref, "no");
    events.items[0].timestamp_us = 5;
    events.items[1].timestamp_us = 9;
    events.items[2].timestamp_us = 7;
    history_add_written(&history, &events, 100);
    assert_int_equal(history.n, N_EVENTS);
    assert_int_equal(history.last_seq, 169);
    assert_int_equal(history.last_timestamp_us, 9);
    for (size_t i = 0; i < history.n; i++) {
        assert_int_equal(history.items[i].seq, 100 + i);
        assert_string_equal(history.items[i].id.text, events.items[i].id.text);
        assert_true(history.items[i].is_of_run);
        assert_false(history.items[i].is_forgotten);
    }
    assert_true(history_event_begins_run(&history.items[0]));
    assert_true(history_has_result_of(&history, &ref.action_id));
}

static void what_only_clients_need_is_dropped(void **state)
{
    static const char events[] =
        "[{\"kind\": \"SystemPromptEvent\", \"tools\": [1], \"system_prompt\": \"x\"},"
        " {\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"stats\", \"value\": 1},"
        " {\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"tags\", \"value\": 1},"
        " {\"kind\": \"MessageEvent\", \"key\": \"stats\", \"tools\": [1]}]";
    static const char *const thin[] = {
        "{\"kind\": \"SystemPromptEvent\", \"system_prompt\": \"x\"}", NULL,
        "{\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"tags\", \"value\": 1}",
        "{\"kind\": \"MessageEvent\", \"key\": \"stats\", \"tools\": [1]}"};
    CLEANUP(history_done) struct history history = HISTORY_INIT;

    (void)state;
    history_add_text(&history, events);
    history_thin(&history, 1);
    assert_non_null(json_object_get(stored_event_json(&history.items[0]), "tools"));
    assert_true(json_is_null(stored_event_json(&history.items[1])));
    history_thin(&history, 0);
    for (size_t i = 0; i < ARRAY_SIZE(thin); i++) {
        json_auto_t *expected = thin[i] != NULL ? test_json(thin[i]) : NULL;
        json_t *body = stored_event_json(&history.items[i]);

        assert_true(expected != NULL ? json_equal(body, expected) : json_is_null(body));
    }
    assert_true(stored_event_is(&history.items[1], "ConversationStateUpdateEvent"));
    assert_null(history.items[1].state_key);
}

static void history_grows_by_a_quarter(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    size_t n_moves = 0;

    (void)state;
    for (int64_t seq = 1; seq <= 1000; seq++) {
        size_t before = history.size;
        struct stored_event *event = history_add(&history);

        assert_int_equal(event->seq, 0);
        event->seq = seq;
        n_moves += history.size != before;
        assert_true(history.size >= history.n && history.size <= history.n + history.n / 4 + 8);
    }
    assert_int_equal(history.items[0].seq, 1);
    assert_true(n_moves < 25);
}

static void list_of_indexes_grows(void **state)
{
    CLEANUP(index_list_done) struct index_list list = INDEX_LIST_INIT;

    (void)state;
    for (size_t i = 0; i < 200; i++)
        index_list_add(&list, 3 * i);
    assert_int_equal(list.n, 200);
    assert_true(list.size >= list.n);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(list.items[i], 3 * i);
    index_list_done(&list);
    assert_int_equal(list.n, 0);
    assert_int_equal(list.size, 0);
    assert_null(list.items);
    index_list_done(NULL);
}

int history_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_executable_calls_without_result_are_pending),
        cmocka_unit_test(iterations_count_from_the_start_of_the_run),
        cmocka_unit_test(answers_are_counted_by_their_ids),
        cmocka_unit_test(answers_of_the_gap_are_counted_too),
        cmocka_unit_test(result_is_found_behind_its_call),
        cmocka_unit_test(call_is_named_by_its_event),
        cmocka_unit_test(open_calls_of_a_forks_source_are_dropped),
        cmocka_unit_test(messages_of_the_user_are_found),
        cmocka_unit_test(ids_of_events_left_out_count_as_used),
        cmocka_unit_test(id_of_an_answer_is_not_kept_with_each_call),
        cmocka_unit_test(hash_of_ids_is_that_of_stored_views),
        cmocka_unit_test(knowledge_is_that_of_the_newest_reading),
        cmocka_unit_test(request_of_a_hook_lasts_until_a_reading),
        cmocka_unit_test(last_answer_is_found),
        cmocka_unit_test(written_events_are_added_as_if_loaded),
        cmocka_unit_test(what_only_clients_need_is_dropped),
        cmocka_unit_test(history_grows_by_a_quarter),
        cmocka_unit_test(list_of_indexes_grows),
    };

    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}

#include "support/test_catalogue.h"
#include "worker/worker_test.h"

#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/core/token_count.h"
#include "worker/agent/core/transcript.h"
#include "worker/agent/llm/summary.h"
#include "worker/events.h"

static void assert_json_equal(const json_t *actual, const json_t *expected)
{
    CLEANUP(mem_freep) char *actual_text = json_to_text(actual);
    CLEANUP(mem_freep) char *expected_text = json_to_text(expected);

    if (!json_equal(actual, expected))
        fail_msg("\n%s\nis not\n%s", actual_text, expected_text);
}

static json_t *messages_of(const struct history *history)
{
    json_t *messages = json_array();

    (void)messages_append(messages, history, 0);
    return messages;
}

/* Formats have their own way to tell that a call has failed; the recorded one has none. */
static void drop_failures(json_t *messages)
{
    json_t *message = NULL;
    size_t i = 0;

    json_array_foreach (messages, i, message)
        (void)json_object_del(message, "is_error");
}

/* The recorded request of a genuine agent, from the events that it was made of. */
static void assert_recorded(const char *file)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *recorded = worker_data(file);
    json_auto_t *messages = NULL;

    history_add_json(&history, json_object_get(recorded, "events"));
    messages = messages_of(&history);
    drop_failures(messages);
    assert_json_equal(messages, json_object_get(recorded, "messages"));
}

static void messages_are_as_recorded(void **state)
{
    (void)state;
    assert_recorded("history-hello.json");
    assert_recorded("history-unknown-tool.json");
    assert_recorded("history-slow-command-interrupt.json");
    assert_recorded("history-hello-confirmation.json");
}

/* Here the recording splits one answer into two messages, which strict models refuse. */
static void an_answer_with_a_bad_call_stays_one_message(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *recorded = worker_data("history-parallel-tool-calls.json");
    json_auto_t *messages = NULL;
    json_t *answer = NULL;

    (void)state;
    history_add_json(&history, json_object_get(recorded, "events"));
    messages = messages_of(&history);
    assert_int_equal(json_array_size(messages), 9);
    answer = json_array_get(messages, 5);
    assert_int_equal(json_array_size(json_object_get(answer, "tool_calls")), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *call = json_array_get(json_object_get(answer, "tool_calls"), i);
        json_t *result = json_array_get(messages, 6 + i);

        assert_string_equal(json_text_or(result, "tool_call_id", ""),
                            json_text_or(call, "id", "?"));
    }
}

/* Written out event by event, the prompt is at each step what it is when written at once. */
static void assert_grows_alike_for(const char *model, const json_t *events, bool has_calls)
{
    CLEANUP(transcript_done) struct transcript grown = TRANSCRIPT_INIT;
    json_auto_t *spec = json_object();
    json_auto_t *so_far = json_array();

    json_put_text(spec, "model", model);
    json_put_text(spec, "base_url", "http://h");
    json_put(spec, "native_tool_calling", json_boolean(has_calls));
    for (size_t i = 0; i < json_array_size(events); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;
        CLEANUP(transcript_done) struct transcript whole = TRANSCRIPT_INIT;

        json_push(so_far, json_incref(json_array_get(events, i)));
        history_add_json(&history, so_far);
        transcript_begin(&grown, test_catalogue(), spec);
        transcript_update(&grown, &history);
        transcript_pack(&grown, &history);
        transcript_begin(&whole, test_catalogue(), spec);
        transcript_update(&whole, &history);
        assert_string_equal(grown.prompt.system.text, whole.prompt.system.text);
        assert_string_equal(grown.prompt.messages.text, whole.prompt.messages.text);
        assert_int_equal(grown.prompt.end.mark_at, whole.prompt.end.mark_at);
        assert_int_equal(grown.prompt.end.role, whole.prompt.end.role);
        assert_int_equal(grown.prompt.end.is_result, whole.prompt.end.is_result);
    }
    assert_true(grown.n_events > 0);
}

static void assert_grows_alike(const json_t *events)
{
    assert_grows_alike_for("openai/x", events, true);
    assert_grows_alike_for("litellm_proxy/claude-sonnet-4-5", events, true);
    assert_grows_alike_for("anthropic/claude-sonnet-4-5", events, true);
    assert_grows_alike_for("gemini/gemini-3-x", events, true);
    assert_grows_alike_for("bedrock/us-east-1/anthropic.claude-sonnet-4-5", events, true);
    assert_grows_alike_for("bedrock/us-east-1/amazon.nova-pro-v1:0", events, true);
    assert_grows_alike_for("openai/x", events, false);
    assert_grows_alike_for("anthropic/claude-sonnet-4-5", events, false);
}

static void a_switched_model_gets_its_own_form(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(transcript_done) struct transcript transcript = TRANSCRIPT_INIT;
    CLEANUP(strbuf_done) struct strbuf chat = STRBUF_INIT;
    json_auto_t *recorded = worker_data("history-hello.json");
    json_auto_t *spec = test_json("{\"model\": \"openai/x\"}");
    json_auto_t *other = test_json("{\"model\": \"anthropic/claude-sonnet-4-5\"}");
    json_auto_t *tools = json_array();

    (void)state;
    history_add_json(&history, json_object_get(recorded, "events"));
    transcript_begin(&transcript, test_catalogue(), spec);
    transcript_update(&transcript, &history);
    transcript_set_tools(&transcript, tools);
    strbuf_append(&chat, transcript.prompt.messages.text);
    transcript_begin(&transcript, test_catalogue(), other);
    transcript_update(&transcript, &history);
    assert_false(transcript.has_tools);
    assert_true(transcript.prompt.system.len > 0);
    assert_null(strstr(transcript.prompt.messages.text, "tool_calls"));
    assert_non_null(strstr(transcript.prompt.messages.text, "tool_result"));
    transcript_begin(&transcript, test_catalogue(), spec);
    transcript_update(&transcript, &history);
    assert_string_equal(transcript.prompt.messages.text, chat.text);
}

static bool is_packed(const struct stored_event *event)
{
    return event->body == NULL;
}

/* Adds an answer's call with that number, and its result. */
static void add_step(struct history *history, size_t i)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *events = NULL;

    strbuf_appendf(&text,
                   "[{\"id\": \"00000000-0000-4000-8000-%012zu\", \"kind\": \"ActionEvent\", "
                   "\"source\": \"agent\", \"thought\": [], \"action\": {\"kind\": "
                   "\"ThinkAction\", \"thought\": \"t%zu\"}, \"tool_name\": \"think\", "
                   "\"tool_call_id\": \"c%zu\", \"tool_call\": {\"id\": \"c%zu\", \"name\": "
                   "\"think\", \"arguments\": \"{}\"}, \"llm_response_id\": \"r%zu\"},",
                   2 * i, i, i, i, i);
    strbuf_appendf(&text,
                   "{\"id\": \"00000000-0000-4000-8000-%012zu\", \"kind\": "
                   "\"ObservationEvent\", \"source\": \"environment\", \"action_id\": "
                   "\"00000000-0000-4000-8000-%012zu\", \"tool_name\": \"think\", "
                   "\"tool_call_id\": \"c%zu\", \"observation\": {\"kind\": "
                   "\"ThinkObservation\", \"content\": []}}]",
                   2 * i + 1, 2 * i, i);
    events = test_json(text.text);
    history_add_json(history, events);
}

/* The newest stay as they are; what is asked in each step unpacks none. */
static void settled_calls_are_packed(void **state)
{
    enum { STEPS = 100, NEWEST = 8 };
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(transcript_done) struct transcript transcript = TRANSCRIPT_INIT;
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
    json_auto_t *spec = test_json("{\"model\": \"openai/x\"}");

    (void)state;
    for (size_t i = 0; i < STEPS; i++) {
        add_step(&history, i);
        transcript_begin(&transcript, test_catalogue(), spec);
        transcript_update(&transcript, &history);
        transcript_pack(&transcript, &history);
        history_find_pending(&history, &pending);
        assert_int_equal(pending.n, 0);
        assert_int_equal(history_count_iterations(&history), i + 1);
        assert_int_equal(model_view_length(&history), 2 * (i + 1));
        assert_null(history_find_status(&history));
        assert_null(history_find_knowledge(&history));
        assert_false(model_view_is_condensation_due(&history));
        assert_false(model_view_is_context(&history.items[0]));
    }
    assert_int_equal(history.n, 2 * STEPS);
    for (size_t i = 0; i < history.n; i++) {
        if (is_packed(&history.items[i]) != (i < history.n - NEWEST))
            fail_msg("event %zu", i);
    }
    assert_string_equal(history.items[0].call_id, "c0");
    assert_string_equal(history.items[100].response_id, "r50");
    assert_true(history_has_call_id(&history, "c7"));
    assert_true(history_has_response_id(&history, "r7"));
    /* Unpacked events of the end are packed again; all of them when the prompt begins anew. */
    assert_non_null(stored_event_json(&history.items[180]));
    transcript_pack(&transcript, &history);
    assert_true(is_packed(&history.items[180]));
    strbuf_append(&before, transcript.prompt.messages.text);
    transcript_restart(&transcript);
    transcript_begin(&transcript, test_catalogue(), spec);
    transcript_update(&transcript, &history);
    assert_string_equal(transcript.prompt.messages.text, before.text);
    assert_false(is_packed(&history.items[0]));
    transcript_pack(&transcript, &history);
    assert_true(is_packed(&history.items[0]));
}

/* What jansson has allocated and not freed. */
/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): no context is passed */
static ptrdiff_t n_blocks;

static void *alloc_counted(size_t size)
{
    n_blocks++;
    return mem_resize(NULL, size);
}

static void free_counted(void *block)
{
    n_blocks -= block != NULL;
    mem_free(block);
}

/* A condenser reads old events, which stay packed, and keeps nothing of them. */
static void packed_events_are_weighed_and_summarised(void **state)
{
    enum { STEPS = 10, NEWEST = 8 };
    struct agent agent = {.context = NULL};
    struct history *history = &agent.history;
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    size_t tokens[2 * STEPS] = {0};
    size_t packed_tokens[2 * STEPS] = {0};
    size_t n_longest = 0;
    ptrdiff_t n_before = 0;

    (void)state;
    json_set_alloc_funcs(alloc_counted, free_counted);
    for (size_t i = 0; i < STEPS; i++)
        add_step(history, i);
    for (size_t i = 0; i < history->n; i++)
        index_list_add(&range.events, i);
    token_count_events(history, tokens);
    n_longest = summary_longest_preview(&agent, &range);
    assert_true(n_longest > 0);
    for (size_t i = 0; i < history->n - NEWEST; i++)
        stored_event_pack(&history->items[i]);
    n_before = n_blocks;
    token_count_events(history, packed_tokens);
    assert_memory_equal(packed_tokens, tokens, sizeof(tokens));
    assert_int_equal(summary_longest_preview(&agent, &range), n_longest);
    assert_int_equal(n_blocks, n_before);
    for (size_t i = 0; i < history->n; i++)
        assert_int_equal(is_packed(&history->items[i]), i < history->n - NEWEST);
    history_done(history);
    assert_int_equal(n_blocks, 0);
    json_setup();
}

static void a_transcript_grows_with_its_history(void **state)
{
    static const char *const files[] = {
        "history-hello.json", "history-unknown-tool.json", "history-slow-command-interrupt.json",
        "history-hello-confirmation.json", "history-parallel-tool-calls.json"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        json_auto_t *recorded = worker_data(files[i]);

        assert_grows_alike(json_object_get(recorded, "events"));
    }
}

static void a_message_between_call_and_result_comes_behind(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = NULL;

    (void)state;
    history_add_text(&history, "[" USER("a") "," ACTION("1", "x") "," USER("b") "," RESULT(
                                   "1", "y") "," USER("c") "]");
    messages = messages_of(&history);
    assert_int_equal(json_array_size(messages), 4);
    assert_string_equal(json_text_or(json_array_get(messages, 2), "role", ""), "tool");
    /* Consecutive messages of a user are merged. */
    assert_int_equal(json_array_size(json_object_get(json_array_get(messages, 3), "content")), 2);
}

static void a_message_that_the_answer_did_not_hear_comes_behind_it(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = NULL;

    (void)state;
    history_add_text(&history, "[" USER("a") "," USER("b") "," AGENT("c") "," RUNNING "]");
    messages = messages_of(&history);
    assert_int_equal(json_array_size(messages), 3);
    assert_string_equal(json_text_or(json_array_get(messages, 1), "role", ""), "assistant");
    assert_string_equal(json_text_or(json_array_get(messages, 2), "role", ""), "user");
}

static void a_transcript_grows_past_what_was_not_heard(void **state)
{
    struct error err = ERROR_INIT;
    json_auto_t *events = NULL;
    static const char text[] =
        "[" USER("a") "," USER("b") "," AGENT("c") "," RUNNING "," ACTION("1", "x") "," USER(
            "d") "," RESULT("1", "y") "," AGENT("e") "," ENVIRONMENT("f") "," USER("g") "]";

    (void)state;
    assert_int_equal(json_parse(text, strlen(text), &events, &err), 0);
    assert_grows_alike(events);
}

static void a_name_that_no_tool_can_have_is_made_one(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = NULL;
    json_t *call = NULL;

    (void)state;
    history_add_text(&history, "[" USER("a") ", {\"kind\": \"ActionEvent\", \"source\": \"agent\","
                                             " \"tool_name\": \"rm -rf ä\", \"tool_call_id\": "
                                             "\"1\", \"llm_response_id\": \"r\","
                                             " \"thought\": [], \"tool_call\": {\"name\": \"rm -rf "
                                             "ä\", \"arguments\": \"{}\"}}," FAILURE("1") "]");
    messages = messages_of(&history);
    call = json_array_get(json_object_get(json_array_get(messages, 1), "tool_calls"), 0);
    assert_string_equal(json_text_or(json_object_get(call, "function"), "name", ""), "rm_-rf___");
}

static void a_call_without_result_is_left_out(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = NULL;

    (void)state;
    history_add_text(&history, "[" USER("a") "," ACTION("1", "x") "]");
    messages = messages_of(&history);
    assert_int_equal(json_array_size(messages), 1);
}

static void a_failed_result_is_announced_once(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = NULL;
    json_t *parts = NULL;

    (void)state;
    history_add_text(
        &history,
        "[" USER("a") "," ACTION("1", "x") ", {\"kind\": \"ObservationEvent\","
                                           " \"tool_name\": \"terminal\", \"tool_call_id\": \"1\","
                                           " \"observation\": {\"kind\": \"FileEditorObservation\","
                                           " \"is_error\": true, \"content\": [{\"type\": \"text\","
                                           " \"text\": \"no\"}]}}]");
    messages = messages_of(&history);
    parts = json_object_get(json_array_get(messages, 2), "content");
    assert_int_equal(json_array_size(parts), 2);
    assert_string_equal(json_text_or(json_array_get(parts, 0), "text", ""),
                        "[An error occurred during execution.]\n");
    assert_string_equal(json_text_or(json_array_get(parts, 1), "text", ""), "no");
}

static void a_screenshot_is_a_picture_for_the_model(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = NULL;
    json_t *parts = NULL;

    (void)state;
    history_add_text(&history, "[" USER("a") "," ACTION(
                                   "1", "x") ", {\"kind\": \"ObservationEvent\","
                                             " \"tool_name\": \"browser_get_state\","
                                             " \"tool_call_id\": \"1\","
                                             " \"observation\": {\"kind\": \"BrowserObservation\","
                                             " \"screenshot_data\": \"aGk=\", \"content\":"
                                             " [{\"type\": \"text\", \"text\": \"{}\"}]}}]");
    messages = messages_of(&history);
    parts = json_object_get(json_array_get(messages, 2), "content");
    assert_int_equal(json_array_size(parts), 2);
    assert_string_equal(json_text_or(json_array_get(parts, 0), "text", ""), "{}");
    assert_string_equal(
        json_text_or(json_object_get(json_array_get(parts, 1), "image_url"), "url", ""),
        "data:image/png;base64,aGk=");
}

static void long_results_lose_their_middle(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;
    json_auto_t *messages = NULL;
    json_t *part = NULL;

    (void)state;
    for (int i = 0; i < 60000; i++)
        strbuf_append(&text, "ä");
    strbuf_appendf(&events,
                   "[" ACTION("1", "x") ", {\"kind\": \"AgentErrorEvent\","
                                        " \"tool_call_id\": \"1\", \"error\": \"%s\"}]",
                   text.text);
    history_add_text(&history, events.text);
    messages = messages_of(&history);
    part = json_array_get(json_object_get(json_array_get(messages, 1), "content"), 0);
    assert_int_equal(
        utf8_length(json_text_or(part, "text", ""), strlen(json_text_or(part, "text", ""))), 50000);
}

/* --- hooks --- */

#define HOOK(type, text)                                                                           \
    "{\"kind\": \"HookExecutionEvent\", \"source\": \"hook\", \"hook_event_type\": \"" type        \
    "\", \"additional_context\": \"" text "\"}"

/* The texts of the last message, which is the user's, as one. */
static void assert_last_words(const char *events, const char *expected)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    json_auto_t *messages = NULL;
    const json_t *last = NULL;
    const json_t *part = NULL;
    size_t i = 0;

    history_add_text(&history, events);
    messages = messages_of(&history);
    last = json_array_get(messages, json_array_size(messages) - 1);
    assert_string_equal(json_text_or(last, "role", ""), "user");
    json_array_foreach (json_object_get(last, "content"), i, part)
        strbuf_appendf(&words, "%s%s", i > 0 ? "|" : "", json_text_or(part, "text", ""));
    assert_string_equal(words.text, expected);
}

static void text_of_a_hook_follows_its_message(void **state)
{
    (void)state;
    assert_last_words("[" USER("a") "," HOOK("UserPromptSubmit", "b") "]", "a|b");
    assert_last_words("[" USER("a") "," HOOK("SessionStart", "b") "," USER("c") "]", "a|b|c");
    assert_last_words("[" USER("a") "," HOOK("UserPromptSubmit", " ") "]", "a");
    assert_last_words("[" USER("a") "," HOOK("PreToolUse", "b") "]", "a");
    assert_last_words("[" USER("a") "," HOOK("PostToolUse", "b") "]", "a");
    assert_last_words("[" USER("a") "," HOOK("Stop", "b") "]", "a");
}

static void text_of_a_hook_follows_a_message_that_was_not_heard(void **state)
{
    (void)state;
    assert_last_words("[" USER("a") "," USER("b") "," AGENT("c") "," HOOK(
                          "UserPromptSubmit", "d") "," HOOK("UserPromptSubmit", "e") "]",
                      "b|d|e");
    assert_last_words("[" USER("a") "," HOOK("UserPromptSubmit", "x") "," USER("b") "," AGENT(
                          "c") "," HOOK("Stop", "y") "," RUNNING "]",
                      "b");
}

static void forgotten_text_of_a_hook_is_not_read(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = NULL;

    (void)state;
    history_add_text(&history, "[" USER("a") "," HOOK("UserPromptSubmit", "b") "]");
    history.items[1].is_forgotten = true;
    messages = messages_of(&history);
    assert_int_equal(json_array_size(json_object_get(json_array_get(messages, 0), "content")), 1);
}

#define CALL_OF_R(id)                                                                              \
    "{\"kind\": \"ActionEvent\", \"source\": \"agent\", \"tool_name\": \"terminal\","              \
    " \"tool_call_id\": \"" id "\", \"llm_response_id\": \"r\", \"thought\": [],"                  \
    " \"action\": {}, \"tool_call\": {\"name\": \"terminal\", \"arguments\": \"{}\"}}"

static void hooks_do_not_part_the_calls_of_an_answer(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = NULL;

    (void)state;
    history_add_text(
        &history,
        "[" USER("a") "," HOOK("PreToolUse", "") "," CALL_OF_R("1") "," HOOK(
            "PreToolUse",
            "") "," CALL_OF_R("2") "," HOOK("PostToolUse",
                                            "x") "," RESULT("1", "y") "," RESULT("2", "z") "]");
    history.items[6].result_of = history.items[2].id;
    history.items[7].result_of = history.items[4].id;
    messages = messages_of(&history);
    assert_int_equal(json_array_size(messages), 4);
    assert_int_equal(json_array_size(json_object_get(json_array_get(messages, 1), "tool_calls")),
                     2);
    assert_string_equal(json_text_or(json_array_get(messages, 2), "tool_call_id", ""), "1");
    assert_string_equal(json_text_or(json_array_get(messages, 3), "tool_call_id", ""), "2");
}

static void a_transcript_grows_past_hooks(void **state)
{
    struct error err = ERROR_INIT;
    json_auto_t *events = NULL;
    static const char text[] =
        "[" HOOK("SessionStart", "s") "," USER("a") "," HOOK("UserPromptSubmit", "h") "," USER("b") "," AGENT("c") "," HOOK(
            "UserPromptSubmit",
            "i") "," HOOK("PreToolUse",
                          "p") "," ACTION("1",
                                          "x") "," HOOK("PostToolUse",
                                                        "q") "," RESULT("1",
                                                                        "y") "," AGENT("e") "," ENVIRONMENT("f") "," USER("g") "," HOOK("UserPromptSubmit",
                                                                                                                                        "j") "]";

    (void)state;
    assert_int_equal(json_parse(text, strlen(text), &events, &err), 0);
    assert_grows_alike(events);
}

int messages_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_as_recorded),
        cmocka_unit_test(a_transcript_grows_with_its_history),
        cmocka_unit_test(settled_calls_are_packed),
        cmocka_unit_test(packed_events_are_weighed_and_summarised),
        cmocka_unit_test(a_switched_model_gets_its_own_form),
        cmocka_unit_test(a_transcript_grows_past_what_was_not_heard),
        cmocka_unit_test(an_answer_with_a_bad_call_stays_one_message),
        cmocka_unit_test(a_message_between_call_and_result_comes_behind),
        cmocka_unit_test(a_message_that_the_answer_did_not_hear_comes_behind_it),
        cmocka_unit_test(a_name_that_no_tool_can_have_is_made_one),
        cmocka_unit_test(a_call_without_result_is_left_out),
        cmocka_unit_test(a_failed_result_is_announced_once),
        cmocka_unit_test(a_screenshot_is_a_picture_for_the_model),
        cmocka_unit_test(long_results_lose_their_middle),
        cmocka_unit_test(text_of_a_hook_follows_its_message),
        cmocka_unit_test(text_of_a_hook_follows_a_message_that_was_not_heard),
        cmocka_unit_test(forgotten_text_of_a_hook_is_not_read),
        cmocka_unit_test(hooks_do_not_part_the_calls_of_an_answer),
        cmocka_unit_test(a_transcript_grows_past_hooks),
    };

    return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}

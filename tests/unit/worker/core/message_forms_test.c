/*
 * The whole messages that events become.
 */
#include "worker/agent/core/messages.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/model_view.h"
#include "worker/events.h"
#include "worker/worker_test.h"

enum { RESULT_MAX_CHARS = 50000 };
#define CLIPPED_NOTE "\n[… the middle of this result is left out …]\n"

#define TEXT(text) "{\"type\": \"text\", \"text\": \"" text "\"}"
#define IMAGE(url) "{\"type\": \"image_url\", \"image_url\": {\"url\": \"" url "\"}}"
#define MESSAGE(role, parts) "{\"role\": \"" role "\", \"content\": [" parts "]}"
#define TOOL_MESSAGE_WITH(id, name, parts, more)                                                   \
    "{\"role\": \"tool\", \"tool_call_id\": \"" id "\", \"name\": \"" name                         \
    "\", \"content\": [" parts "]" more "}"
#define TOOL_MESSAGE(id, name, parts) TOOL_MESSAGE_WITH(id, name, parts, "")
#define IS_ERROR ", \"is_error\": true"
#define FUNCTION(name) "\"function\": {\"name\": \"" name "\", \"arguments\": \"{}\"}"
#define CALLED(id, more)                                                                           \
    "{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"" id                                    \
    "\", \"type\": \"function\"," FUNCTION("terminal") "}]" more "}"
#define KIND(kind, members) "{\"kind\": \"" kind "\", " members "}"
#define STORED_IMAGE(urls) "{\"type\": \"image\", \"image_urls\": [" urls "]}"

/* Fails unless the events become exactly those messages. */
static void assert_becomes(const char *events, const char *expected)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = json_array();
    json_auto_t *wanted = test_json(expected);
    CLEANUP(mem_freep) char *text = NULL;

    history_add_text(&history, events);
    assert_int_equal(model_view_apply(&history, 0), strstr(events, "\"Condensation\"") != NULL);
    (void)messages_append(messages, &history, 0);
    text = json_to_text(messages);
    if (!json_equal(messages, wanted))
        fail_msg("\n%s\nis not\n%s", text, expected);
}

static void system_prompt_has_two_parts(void **state)
{
    (void)state;
    assert_becomes("[" KIND("SystemPromptEvent",
                            "\"system_prompt\": " TEXT("Be good.") ", \"dynamic_context\": " TEXT(
                                "It is noon.")) "]",
                   "[" MESSAGE("system", TEXT("Be good.") ", " TEXT("It is noon.")) "]");
    assert_becomes("[" KIND("SystemPromptEvent", "\"system_prompt\": " TEXT("Be good.")) "]",
                   "[" MESSAGE("system", TEXT("Be good.")) "]");
    assert_becomes("[" KIND("SystemPromptEvent", "\"dynamic_context\": " TEXT("It is noon.")) "]",
                   "[" MESSAGE("system", TEXT("It is noon.")) "]");
}

static void parts_of_a_message_are_its_texts_and_images(void **state)
{
    (void)state;
    assert_becomes(
        "[" KIND("MessageEvent",
                 "\"source\": \"user\", \"llm_message\": {\"role\": \"user\","
                 " \"content\": [" TEXT("look") ", " TEXT(" \\n") ", " STORED_IMAGE(
                     "\"a:1\", \"a:2\"") "]}, \"extended_content\": [" TEXT("a hint") "]") "]",
        "[" MESSAGE("user",
                    TEXT("look") ", " IMAGE("a:1") ", " IMAGE("a:2") ", " TEXT("a hint")) "]");
    assert_becomes("[" USER("a") ", " ENVIRONMENT("b") ", " AGENT("c") ", " USER("d") "]",
                   "[" MESSAGE("user", TEXT("a") ", " TEXT("b")) ", " MESSAGE(
                       "assistant", TEXT("c")) ", " MESSAGE("user", TEXT("d")) "]");
}

#define REASONED                                                                                   \
    "\"reasoning_content\": \"hm\", \"thinking_blocks\": [{\"type\": \"thinking\"}],"              \
    " \"responses_reasoning_item\": {\"id\": \"i\"}"
#define UNREASONED                                                                                 \
    "\"reasoning_content\": null, \"thinking_blocks\": [], \"responses_reasoning_item\": null"

static void reasoning_stays_with_its_message(void **state)
{
    (void)state;
    assert_becomes("[" KIND("MessageEvent",
                            "\"source\": \"agent\", \"llm_message\": {\"role\": \"assistant\","
                            " \"content\": [" TEXT("a") "], " REASONED "}") "]",
                   "[{\"role\": \"assistant\", \"content\": [" TEXT("a") "], " REASONED "}]");
    assert_becomes("[" KIND("MessageEvent",
                            "\"source\": \"agent\", \"llm_message\": {\"role\": \"assistant\","
                            " \"content\": [" TEXT("a") "], " UNREASONED "}") "]",
                   "[" MESSAGE("assistant", TEXT("a")) "]");
    assert_becomes(
        "[{\"kind\": \"ActionEvent\", \"source\": \"agent\", \"tool_name\": \"terminal\","
        " \"tool_call_id\": \"1\", \"llm_response_id\": \"r\", \"thought\": [" TEXT(
            "so") "]," REASONED ", \"action\": {}, \"tool_call\": {\"name\": \"terminal\","
                  " \"responses_item_id\": \"fc_1\", \"arguments\": \"{}\"}}, " RESULT("1",
                                                                                       "y") "]",
        "[{\"role\": \"assistant\", \"content\": [" TEXT(
            "so") "], " REASONED
                  ", \"tool_calls\": [{\"id\": \"1\", \"item_id\": \"fc_1\", \"type\": "
                  "\"function\"," FUNCTION("terminal") "}]}, " TOOL_MESSAGE("1", "terminal",
                                                                            TEXT("y")) "]");
}

#define OBSERVED(members)                                                                          \
    KIND("ObservationEvent", "\"tool_name\": \"terminal\", \"tool_call_id\": \"1\", " members)

static void each_kind_of_result_has_its_form(void **state)
{
    static const struct {
        const char *result;
        const char *parts;
        const char *more;
    } cases[] = {
        {RESULT("1", "y"), TEXT("y"), ""},
        {OBSERVED("\"observation\": {\"kind\": \"ThinkObservation\", \"is_error\": true,"
                  " \"content\": [" TEXT("no") "]}"),
         TEXT("[An error occurred during execution.]\\n") ", " TEXT("no"), IS_ERROR},
        {OBSERVED("\"observation\": {\"kind\": \"ThinkObservation\", \"content\": [" TEXT(
             "y") ", " STORED_IMAGE("\"a:1\"") "]}, \"extended_content\": [" TEXT("a rule") "]"),
         TEXT("y") ", " IMAGE("a:1") ", " TEXT("a rule"), ""},
        {OBSERVED("\"observation\": {\"kind\": \"BrowserObservation\", \"screenshot_data\": \"\","
                  " \"content\": [" TEXT("y") "]}"),
         TEXT("y"), ""},
        {KIND("UserRejectObservation", "\"tool_name\": \"terminal\", \"tool_call_id\": \"1\","
                                       " \"rejection_reason\": \"too risky\""),
         TEXT("Action rejected: too risky"), IS_ERROR},
        {KIND("AgentErrorEvent", "\"tool_name\": \"terminal\", \"tool_call_id\": \"1\","
                                 " \"error\": \"it broke\""),
         TEXT("it broke"), IS_ERROR},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

        strbuf_appendf(&events, "[" ACTION("1", "x") ", %s]", cases[i].result);
        strbuf_appendf(&expected,
                       "[" CALLED("1", "") ", " TOOL_MESSAGE_WITH("1", "terminal", "%s", "%s") "]",
                       cases[i].parts, cases[i].more);
        assert_becomes(events.text, expected.text);
    }
}

#define CALLED_TWICE                                                                               \
    "{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"1\", \"type\": \"function\"," FUNCTION( \
        "terminal") "}, {\"id\": \"2\", \"type\": \"function\", " FUNCTION("terminal") "}]}"
#define IN_ONE_ANSWER(id)                                                                          \
    "{\"kind\": \"ActionEvent\", \"source\": \"agent\", \"tool_name\": \"terminal\","              \
    " \"tool_call_id\": \"" id "\", \"llm_response_id\": \"r\", \"thought\": [],"                  \
    " \"action\": {}, \"tool_call\": {\"name\": \"terminal\", \"arguments\": \"{}\"}}"
#define FAILED(id)                                                                                 \
    "{\"kind\": \"AgentErrorEvent\", \"tool_name\": \"terminal\", \"tool_call_id\": \"" id "\","   \
    " \"error\": \"no\"}"

static void calls_of_one_answer_are_one_message(void **state)
{
    (void)state;
    assert_becomes("[" IN_ONE_ANSWER("1") ", " IN_ONE_ANSWER("2") ", " RESULT("2", "b") ", " RESULT(
                       "1", "a") "]",
                   "[" CALLED_TWICE ", " TOOL_MESSAGE("1", "terminal", TEXT("a")) ", " TOOL_MESSAGE(
                       "2", "terminal", TEXT("b")) "]");
    assert_becomes(
        "[" IN_ONE_ANSWER("1") ", " FAILED("1") ", " IN_ONE_ANSWER("2") ", " RESULT("2", "b") "]",
        "[" CALLED_TWICE
        ", " TOOL_MESSAGE_WITH("1", "terminal", TEXT("no"),
                               IS_ERROR) ", " TOOL_MESSAGE("2", "terminal", TEXT("b")) "]");
    assert_becomes(
        "[" ACTION("1", "x") ", " RESULT("1", "a") ", " ACTION("2", "x") ", " RESULT("2", "b") "]",
        "[" CALLED("1", "") ", " TOOL_MESSAGE("1", "terminal", TEXT("a")) ", " CALLED(
            "2", "") ", " TOOL_MESSAGE("2", "terminal", TEXT("b")) "]");
}

#define ID(n) "00000000-0000-4000-8000-00000000000" n
#define WITH_ID(id, source, text)                                                                  \
    "{\"id\": \"" id "\", \"kind\": \"MessageEvent\", \"source\": \"" source "\","                 \
    " \"llm_message\": {\"role\": \"" source "\", \"content\": [" TEXT(text) "]}}"
#define CONDENSED(ids, offset)                                                                     \
    ", {\"kind\": \"Condensation\", \"forgotten_event_ids\": [" ids                                \
    "], \"summary\": \"in short\","                                                                \
    " \"summary_offset\": " offset "}]"
#define THREE                                                                                      \
    "[" WITH_ID(ID("1"), "assistant",                                                              \
                "a") ", " WITH_ID(ID("2"), "user", "b") ", " WITH_ID(ID("3"), "assistant", "c")

static void summary_takes_the_place_of_what_is_forgotten(void **state)
{
    (void)state;
    assert_becomes(THREE CONDENSED("\"" ID("2") "\"", "1"),
                   "[" MESSAGE("assistant", TEXT("a")) ", " MESSAGE(
                       "user", TEXT("in short")) ", " MESSAGE("assistant", TEXT("c")) "]");
    assert_becomes(THREE CONDENSED("\"" ID("1") "\", \"" ID("2") "\"", "0"),
                   "[" MESSAGE("user", TEXT("in short")) ", " MESSAGE("assistant", TEXT("c")) "]");
    assert_becomes(THREE CONDENSED("\"" ID("2") "\", \"" ID("3") "\"", "1"),
                   "[" MESSAGE("assistant", TEXT("a")) ", " MESSAGE("user", TEXT("in short")) "]");
    assert_becomes(THREE CONDENSED("\"" ID("1") "\"", "9"),
                   "[" MESSAGE("user", TEXT("b")) ", " MESSAGE("assistant", TEXT("c")) ", " MESSAGE(
                       "user", TEXT("in short")) "]");
}

/* The event that a summary stands before may itself be forgotten later. */
static void summary_stays_where_a_later_condensation_forgets(void **state)
{
    (void)state;
    assert_becomes(
        THREE ", " KIND("Condensation",
                        "\"forgotten_event_ids\": [\"" ID(
                            "1") "\"], \"summary\": "
                                 "\"in short\", "
                                 "\"summary_offset\":"
                                 " 0") ", " KIND("Condensation",
                                                 "\"forgotten_event_ids\": [\"" ID("2") "\"]") "]",
        "[" MESSAGE("user", TEXT("in short")) ", " MESSAGE("assistant", TEXT("c")) "]");
}

#define KNOWN_AS(context, id, text)                                                                \
    "{\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"agent_state\", \"value\":"            \
    " {\"project_knowledge\": {\"dynamic_context\": \"" context "\", \"messages\": {\"" id         \
    "\": {\"extended_content\": [" TEXT(text) "]}}}}}"
#define KNOWN KNOWN_AS("It is a shop.", ID("2"), "Go so.")

static void knowledge_of_the_workspace_is_read_in_its_places(void **state)
{
    (void)state;
    assert_becomes("[" KIND("SystemPromptEvent",
                            "\"system_prompt\": " TEXT("Be good.") ", \"dynamic_context\": " TEXT(
                                "It is noon.")) ", " WITH_ID(ID("2"), "user", "go") ", " KNOWN "]",
                   "[" MESSAGE("system", TEXT("Be good.") ", " TEXT("It is a shop.")) ", " MESSAGE(
                       "user", TEXT("go") ", " TEXT("Go so.")) "]");
}

/* A later reading changes the context alone: what the model has read with its messages stays. */
static void newest_knowledge_replaces_the_context_only(void **state)
{
    (void)state;
    assert_becomes(
        "[" KIND("SystemPromptEvent", "\"system_prompt\": " TEXT("Be good.")) ", " WITH_ID(
            ID("2"), "user",
            "go") ", " KNOWN
                  ", " AGENT("gone") ", " WITH_ID(ID("3"), "user", "on") ", " KNOWN_AS(
                      "It is a bank.", ID("3"), "On so.") ", " KNOWN_AS("It is a bar.", ID("3"),
                                                                        "And so.") "]",
        "[" MESSAGE("system", TEXT("Be good.") ", " TEXT("It is a bar.")) ", " MESSAGE(
            "user",
            TEXT("go") ", " TEXT(
                "Go so.")) ", " MESSAGE("assistant",
                                        TEXT(
                                            "gone")) ", " MESSAGE("user",
                                                                  TEXT("on") ", " TEXT(
                                                                      "On so.") ", " TEXT("And "
                                                                                          "so.")) "]");
}

static void names_of_tools_are_made_valid(void **state)
{
    static const struct {
        const char *name;
        const char *expected;
    } cases[] = {
        {"", "_"},
        {"azAZ09_-", "azAZ09_-"},
        {"a.b c/d", "a_b_c_d"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggX",
         "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

        strbuf_appendf(&events,
                       "[{\"kind\": \"ActionEvent\", \"tool_call_id\": \"1\","
                       " \"tool_call\": {\"name\": \"%s\", \"arguments\": \"{}\"}},"
                       " {\"kind\": \"AgentErrorEvent\", \"tool_call_id\": \"1\","
                       " \"tool_name\": \"%s\", \"error\": \"no\"}]",
                       cases[i].name, cases[i].name);
        strbuf_appendf(&expected,
                       "[{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"1\", \"type\":"
                       " \"function\", " FUNCTION("%s") "}]}, " TOOL_MESSAGE_WITH(
                           "1", "%s", TEXT("no"), IS_ERROR) "]",
                       cases[i].expected, cases[i].expected);
        assert_becomes(events.text, expected.text);
    }
}

/* What becomes of an error of so many characters, each two bytes. */
static void clip(size_t n_chars, struct strbuf *out)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;
    json_auto_t *messages = json_array();
    const json_t *parts = NULL;

    for (size_t i = 0; i < n_chars; i++)
        strbuf_append(&text, i < n_chars / 2 ? "ä" : "ö");
    strbuf_appendf(&events,
                   "[" ACTION("1", "x") ", {\"kind\": \"AgentErrorEvent\","
                                        " \"tool_call_id\": \"1\", \"error\": \"%s\"}]",
                   text.text);
    history_add_text(&history, events.text);
    (void)messages_append(messages, &history, 0);
    parts = json_object_get(json_array_get(messages, 1), "content");
    assert_int_equal(json_array_size(parts), 1);
    strbuf_append(out, json_text_or(json_array_get(parts, 0), "text", ""));
}

static size_t count(const char *text, const char *piece)
{
    size_t n = 0;

    for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + strlen(piece), piece))
        n++;
    return n;
}

static void long_result_keeps_head_and_tail(void **state)
{
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
    size_t kept = RESULT_MAX_CHARS - utf8_length(CLIPPED_NOTE, strlen(CLIPPED_NOTE));

    (void)state;
    clip(RESULT_MAX_CHARS, &whole);
    assert_int_equal(whole.len, 2 * RESULT_MAX_CHARS);
    assert_null(strstr(whole.text, CLIPPED_NOTE));
    clip(RESULT_MAX_CHARS + 1, &cut);
    assert_int_equal(utf8_length(cut.text, cut.len), RESULT_MAX_CHARS);
    assert_int_equal(count(cut.text, "ä"), (kept + 1) / 2);
    assert_int_equal(count(cut.text, "ö"), kept / 2);
    assert_int_equal(count(cut.text, CLIPPED_NOTE), 1);
}

static void said_order_is_kept_where_it_is_asked_for(void **state)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *messages = json_array();
    json_auto_t *expected = test_json("[" MESSAGE("system", TEXT("s")) ", " MESSAGE(
        "user", TEXT("a") ", " TEXT(
                    "b")) ", " MESSAGE("assistant", TEXT("c")) ", " MESSAGE("user", TEXT("d")) "]");

    (void)state;
    history_add_text(&history, "[" USER("a") "," USER("b") "," AGENT("c") "]");
    json_push(messages, messages_system("s"));
    messages_append_as_said(messages, &history);
    messages_append_user(messages, "d");
    assert_true(json_equal(messages, expected));
    messages_append_user(messages, "e");
    assert_int_equal(json_array_size(messages), 4);
}

/* How far the messages are final, event by event. */
static void messages_are_final_up_to_what_may_change(void **state)
{
    static const struct {
        const char *events;
        size_t n_events;
        size_t n_messages;
    } cases[] = {
        {"[]", 0, 0},
        {"[" KIND("SystemPromptEvent", "\"system_prompt\": " TEXT("s")) "]", 1, 1},
        {"[" AGENT("a") "," USER("b") "]", 1, 1},
        /* The answer may not have heard it. */
        {"[" USER("a") "," AGENT("b") "]", 0, 0},
        {"[" USER("a") "," AGENT("b") "," ENVIRONMENT("c") "]", 2, 2},
        {"[" USER("a") "," ACTION("1", "x") "]", 0, 0},
        {"[" AGENT("a") "," ACTION("1", "x") "," AGENT("b") "]", 1, 1},
        {"[" ACTION("1", "x") "," RESULT("1", "y") "]", 1, 2},
        {"[" AGENT("a") "," USER("b") "," AGENT("c") "]", 1, 1},
        {"[" AGENT("a") "," RUNNING "]", 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;
        json_auto_t *messages = json_array();
        struct messages_mark mark = {0, 0};

        history_add_text(&history, cases[i].events);
        mark = messages_append(messages, &history, 0);
        if (mark.n_events != cases[i].n_events || mark.n_messages != cases[i].n_messages)
            fail_msg("%zu, %zu after %s", mark.n_events, mark.n_messages, cases[i].events);
    }
}

int message_forms_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_prompt_has_two_parts),
        cmocka_unit_test(parts_of_a_message_are_its_texts_and_images),
        cmocka_unit_test(reasoning_stays_with_its_message),
        cmocka_unit_test(each_kind_of_result_has_its_form),
        cmocka_unit_test(calls_of_one_answer_are_one_message),
        cmocka_unit_test(summary_takes_the_place_of_what_is_forgotten),
        cmocka_unit_test(summary_stays_where_a_later_condensation_forgets),
        cmocka_unit_test(knowledge_of_the_workspace_is_read_in_its_places),
        cmocka_unit_test(newest_knowledge_replaces_the_context_only),
        cmocka_unit_test(names_of_tools_are_made_valid),
        cmocka_unit_test(long_result_keeps_head_and_tail),
        cmocka_unit_test(said_order_is_kept_where_it_is_asked_for),
        cmocka_unit_test(messages_are_final_up_to_what_may_change),
    };

    return cmocka_run_group_tests_name("worker/message_forms", tests, NULL, NULL);
}

/*
 * The worker's pure parts: messages from the history, what is pending, circles, policies, masks,
 * what comes back from a sandbox, who pays for a model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/event_store.h"
#include "worker/agent/control.h"
#include "worker/agent/history.h"
#include "worker/agent/mask.h"
#include "worker/agent/messages.h"
#include "worker/agent/model.h"
#include "worker/agent/observation.h"
#include "worker/agent/policy.h"
#include "worker/agent/stuck.h"
#include "worker/agent/takeover.h"
#include "worker/agent/transcript.h"
#include "worker/context.h"
#include "worker/events.h"
#include "worker/tools/tools.h"

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s", err.message);
    return json;
}

/* --- messages --- */

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

/* The recorded request of a genuine agent, from the events that it was made of. */
static void assert_recorded(const char *file)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    json_auto_t *recorded = worker_data(file);
    json_auto_t *messages = NULL;

    history_add_json(&history, json_object_get(recorded, "events"));
    messages = messages_of(&history);
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

/* Written out event by event, the text is at each step what it is when written at once. */
static void assert_grows_alike(const json_t *events)
{
    CLEANUP(transcript_done) struct transcript grown = TRANSCRIPT_INIT;
    json_auto_t *spec = json_object();
    json_auto_t *so_far = json_array();

    for (size_t i = 0; i < json_array_size(events); i++) {
        CLEANUP(history_done) struct history history = HISTORY_INIT;
        CLEANUP(transcript_done) struct transcript whole = TRANSCRIPT_INIT;

        json_push(so_far, json_incref(json_array_get(events, i)));
        history_add_json(&history, so_far);
        transcript_update(&grown, &history, spec);
        transcript_update(&whole, &history, spec);
        assert_string_equal(grown.text.text, whole.text.text);
    }
    assert_true(grown.n_events > 0);
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

#define USER(text)                                                                                 \
    "{\"kind\": \"MessageEvent\", \"source\": \"user\", \"llm_message\": {\"role\": \"user\","     \
    " \"content\": [{\"type\": \"text\", \"text\": \"" text "\"}]}}"
#define ENVIRONMENT(text)                                                                          \
    "{\"kind\": \"MessageEvent\", \"source\": \"environment\", \"llm_message\": {\"role\":"        \
    " \"user\", \"content\": [{\"type\": \"text\", \"text\": \"" text "\"}]}}"
#define AGENT(text)                                                                                \
    "{\"kind\": \"MessageEvent\", \"source\": \"agent\", \"llm_response_id\": \"r\","              \
    " \"llm_message\": {\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": "    \
    "\"" text "\"}]}}"
#define ACTION(id, command)                                                                        \
    "{\"kind\": \"ActionEvent\", \"source\": \"agent\", \"tool_name\": \"terminal\","              \
    " \"tool_call_id\": \"" id "\", \"llm_response_id\": \"r" id "\", \"thought\": [],"            \
    " \"action\": {\"command\": \"" command "\"},"                                                 \
    " \"tool_call\": {\"name\": \"terminal\", \"arguments\": \"{}\"}}"
#define BAD_ACTION(id)                                                                             \
    "{\"kind\": \"ActionEvent\", \"source\": \"agent\", \"tool_name\": \"nosuch\","                \
    " \"tool_call_id\": \"" id "\", \"llm_response_id\": \"r" id "\", \"thought\": [],"            \
    " \"tool_call\": {\"name\": \"nosuch\", \"arguments\": \"{}\"}}"
#define RESULT(id, text)                                                                           \
    "{\"kind\": \"ObservationEvent\", \"tool_name\": \"terminal\", \"tool_call_id\": \"" id "\","  \
    " \"observation\": {\"kind\": \"ThinkObservation\", \"is_error\": false, \"content\":"         \
    " [{\"type\": \"text\", \"text\": \"" text "\"}]}}"
#define FAILURE(id)                                                                                \
    "{\"kind\": \"AgentErrorEvent\", \"tool_name\": \"nosuch\", \"tool_call_id\": \"" id "\","     \
    " \"error\": \"no such tool\"}"
#define RUNNING                                                                                    \
    "{\"kind\": \"ConversationStateUpdateEvent\", \"key\": \"execution_status\","                  \
    " \"value\": \"running\"}"

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
    /* What a user says in one breath is one message. */
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

/* --- history --- */

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

/* --- stuck --- */

static enum stuck_verdict look(const char *events)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    CLEANUP(strbuf_done) struct strbuf nudge = STRBUF_INIT;

    history_add_text(&history, events);
    return stuck_look(&history, &nudge);
}

#define ROUND(id) ACTION(id, "x") "," RESULT(id, "y")
#define OTHER_ROUND(id) ACTION(id, "a") "," RESULT(id, "b")
#define BAD_ROUND(id) BAD_ACTION(id) "," FAILURE(id)

static void four_equal_rounds_are_stuck(void **state)
{
    (void)state;
    assert_int_equal(look("[" ROUND("1") "," ROUND("2") "," ROUND("3") "]"), STUCK_NO);
    assert_int_equal(look("[" ROUND("1") "," ROUND("2") "," ROUND("3") "," ROUND("4") "]"),
                     STUCK_YES);
    assert_int_equal(
        look("[" ROUND("1") "," ROUND("2") "," USER("go on") "," ROUND("3") "," ROUND("4") "]"),
        STUCK_NO);
}

static void alternating_rounds_are_stuck(void **state)
{
    (void)state;
    assert_int_equal(look("[" ROUND("1") "," OTHER_ROUND("2") "," ROUND("3") "," OTHER_ROUND(
                         "4") "," ROUND("5") "]"),
                     STUCK_NO);
    assert_int_equal(look("[" ROUND("1") "," OTHER_ROUND("2") "," ROUND("3") "," OTHER_ROUND(
                         "4") "," ROUND("5") "," OTHER_ROUND("6") "]"),
                     STUCK_YES);
}

static void failing_calls_get_one_nudge(void **state)
{
    (void)state;
    assert_int_equal(look("[" BAD_ROUND("1") "," BAD_ROUND("2") "]"), STUCK_NO);
    assert_int_equal(look("[" BAD_ROUND("1") "," BAD_ROUND("2") "," BAD_ROUND("3") "]"),
                     STUCK_NUDGE);
    assert_int_equal(look("[" BAD_ROUND("1") "," BAD_ROUND("2") "," BAD_ROUND("3") "," ENVIRONMENT(
                         "try otherwise") "]"),
                     STUCK_NO);
    assert_int_equal(look("[" BAD_ROUND("1") "," BAD_ROUND("2") "," BAD_ROUND("3") "," ENVIRONMENT(
                         "try otherwise") "," BAD_ROUND("4") "]"),
                     STUCK_YES);
}

static void monologues_are_stuck(void **state)
{
    (void)state;
    assert_int_equal(look("[" AGENT("a") "," ENVIRONMENT("use a tool") "," AGENT(
                         "b") "," ENVIRONMENT("use a tool") "]"),
                     STUCK_NO);
    assert_int_equal(look("[" AGENT("a") "," ENVIRONMENT("use a tool") "," AGENT(
                         "b") "," ENVIRONMENT("use a tool") "," AGENT("c") "]"),
                     STUCK_YES);
}

/* --- policy --- */

static bool must_confirm(const char *policy, const char *tool, const char *risk)
{
    json_auto_t *json = parse(policy);
    struct policy_call call = {.tool_name = tool, .risk = policy_risk_from_string(risk)};

    return policy_must_confirm(json, &call, 1);
}

static void policies_ask_for_what_they_say(void **state)
{
    const char *never = "{\"kind\": \"NeverConfirm\"}";
    const char *always = "{\"kind\": \"AlwaysConfirm\"}";
    const char *risky = "{\"kind\": \"ConfirmRisky\", \"threshold\": \"MEDIUM\","
                        " \"confirm_unknown\": false}";

    (void)state;
    assert_false(must_confirm(never, "terminal", "HIGH"));
    assert_true(must_confirm(always, "terminal", "LOW"));
    assert_false(must_confirm(always, "finish", "LOW"));
    assert_false(must_confirm(always, "think", "UNKNOWN"));
    assert_false(must_confirm(risky, "terminal", "LOW"));
    assert_true(must_confirm(risky, "terminal", "MEDIUM"));
    assert_true(must_confirm(risky, "terminal", "HIGH"));
    assert_false(must_confirm(risky, "terminal", "UNKNOWN"));
    assert_true(must_confirm("{\"kind\": \"ConfirmRisky\"}", "terminal", "UNKNOWN"));
    assert_true(must_confirm("{\"kind\": \"Unheard\"}", "terminal", "LOW"));
    assert_false(policy_must_confirm(NULL, &(struct policy_call){"terminal", POLICY_RISK_HIGH}, 1));
}

static void one_risky_call_holds_the_batch(void **state)
{
    json_auto_t *policy = parse("{\"kind\": \"ConfirmRisky\", \"threshold\": \"HIGH\"}");
    const struct policy_call calls[] = {{"terminal", POLICY_RISK_LOW},
                                        {"terminal", POLICY_RISK_HIGH}};

    (void)state;
    assert_true(policy_must_confirm(policy, calls, 2));
    assert_false(policy_must_confirm(policy, calls, 1));
}

/* --- secrets --- */

static void a_growing_text_settles_before_what_may_be_a_value(void **state)
{
    static const struct {
        const char *text;
        size_t settled;
    } cases[] = {
        {"", 0},      {"no value", 8}, {"x ab", 2},     {"x abc", 2},    {"abcd", 0},
        {"abcde", 0}, {"abcdef", 6},   {"abcdefab", 6}, {"abc abc!", 8},
    };
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    json_auto_t *secrets = json_object();

    (void)state;
    json_put_text(secrets, "SHORT", "abc");
    json_put_text(secrets, "LONG", "abcdef");
    secret_list_read(&list, secrets);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(mask_settled_length(&list, cases[i].text), cases[i].settled);
}

static void values_are_hidden_wherever_they_stand(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *secrets = parse("{\"A\": \"abc\", \"LONG\": {\"value\": \"abcdef\"}, \"NO\": {}}");
    json_auto_t *json = parse("{\"x\": [\"an abcdef here\", 1], \"y\": {\"z\": \"abc\"}}");

    (void)state;
    secret_list_read(&list, secrets);
    assert_int_equal(list.n, 2);
    mask_append(&list, "abcdef, abc and ab", &out);
    assert_string_equal(out.text, "<secret-hidden>, <secret-hidden> and ab");
    mask_json(&list, json);
    strbuf_reset(&out);
    json_append_text(&out, json);
    assert_null(strstr(out.text, "abc"));
}

static void commands_get_the_secrets_they_name(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    json_auto_t *secrets = parse("{\"TOKEN\": \"t\", \"OTHER\": \"o\", \"not a name\": \"n\"}");
    json_auto_t *env = NULL;

    (void)state;
    secret_list_read(&list, secrets);
    env = secret_list_env(&list, "echo $token; echo not a name");
    assert_int_equal(json_object_size(env), 1);
    assert_string_equal(json_text_or(env, "TOKEN", ""), "t");
    assert_null(secret_list_env(&list, "ls"));
}

/* --- sandbox replies --- */

static int take(const char *reply, const char *kind, json_t **out)
{
    json_auto_t *json = parse(reply);
    struct error err = ERROR_INIT;

    return observation_from_sandbox(json, kind, out, &err);
}

static void impossible_replies_are_refused(void **state)
{
    json_t *out = NULL;

    (void)state;
    assert_int_equal(take("{}", "TerminalObservation", &out), -1);
    assert_int_equal(take("[]", "TerminalObservation", &out), -1);
    assert_int_equal(
        take("{\"kind\": \"FinishObservation\", \"content\": []}", "TerminalObservation", &out),
        -1);
    assert_int_equal(
        take("{\"kind\": \"TerminalObservation\", \"content\": [1]}", "TerminalObservation", &out),
        -1);
    assert_null(out);
}

static void only_known_members_pass(void **state)
{
    json_t *out = NULL;

    (void)state;
    assert_int_equal(take("{\"kind\": \"TerminalObservation\", \"content\": [], \"exit_code\": 1,"
                          " \"command\": 7, \"more\": 1, \"metadata\": {\"pid\": 3, \"x\": 1}}",
                          "TerminalObservation", &out),
                     0);
    assert_int_equal(json_int_or(out, "exit_code", 0), 1);
    assert_null(json_object_get(out, "command"));
    assert_null(json_object_get(out, "more"));
    assert_int_equal(json_object_size(json_object_get(out, "metadata")), 1);
    json_decref(out);
}

static void edits_too_large_for_an_event_lose_their_contents(void **state)
{
    CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
    json_t *out = NULL;

    (void)state;
    strbuf_append(&reply, "{\"kind\": \"FileEditorObservation\", \"content\": [], \"path\": \"/a\","
                          " \"old_content\": \"");
    for (int i = 0; i < 1200000; i++)
        strbuf_append_char(&reply, 'x');
    strbuf_append(&reply, "\"}");
    assert_int_equal(take(reply.text, "FileEditorObservation", &out), 0);
    assert_null(json_object_get(out, "old_content"));
    assert_string_equal(json_text_or(out, "path", ""), "/a");
    json_decref(out);
}

/* --- take-over --- */

static void calls_in_doubt_are_asked_about(void **state)
{
    (void)state;
    assert_int_equal(takeover_decide(&(struct takeover_facts){"", "b", true}), TAKEOVER_RUN);
    assert_int_equal(takeover_decide(&(struct takeover_facts){"b", "b", true}), TAKEOVER_RUN);
    assert_int_equal(takeover_decide(&(struct takeover_facts){"a", "b", false}), TAKEOVER_RUN);
    assert_int_equal(takeover_decide(&(struct takeover_facts){"a", "b", true}), TAKEOVER_ASK);
}

/* --- model --- */

static void servers_key_serves_only_the_servers_model(void **state)
{
    struct worker_settings settings = {.llm_model = "openai/m", .llm_base_url = "http://srv/v1"};
    struct secret none = SECRET_INIT;
    struct secret own = SECRET_INIT;
    const struct {
        const char *spec;
        const struct secret *key;
        const struct secret *expected;
    } cases[] = {
        {"{}", &none, &settings.llm_key},
        {"{\"model\": \"openai/m\", \"base_url\": \"http://srv/v1\"}", &none, &settings.llm_key},
        {"{\"model\": \"openai/m\", \"base_url\": \"http://thief/v1\"}", &none, NULL},
        {"{\"model\": \"openai/other\"}", &none, NULL},
        {"{\"model\": \"openai/m\"}", &own, &own},
    };

    (void)state;
    secret_set(&settings.llm_key, "server-key");
    secret_set(&own, "own-key");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
        json_auto_t *spec = parse(cases[i].spec);

        model_choose(&settings, spec, cases[i].key, &choice);
        assert_ptr_equal(choice.key, cases[i].expected);
    }
    secret_done(&settings.llm_key);
    secret_done(&own);
}

/* --- tools --- */

static void task_list_is_kept_and_shown(void **state)
{
    json_auto_t *agent_state = json_object();
    json_auto_t *plan = parse("{\"command\": \"plan\", \"task_list\": [{\"title\": \"Parse\","
                              " \"notes\": \"edges\", \"status\": \"in_progress\"}]}");
    json_auto_t *view = parse("{\"command\": \"view\"}");
    json_auto_t *none = NULL;
    json_auto_t *planned = NULL;
    json_auto_t *viewed = NULL;
    bool is_changed = true;

    (void)state;
    none = worker_tool_task_tracker(view, agent_state, &is_changed);
    assert_false(is_changed);
    planned = worker_tool_task_tracker(plan, agent_state, &is_changed);
    assert_true(is_changed);
    viewed = worker_tool_task_tracker(view, agent_state, &is_changed);
    assert_int_equal(json_array_size(json_object_get(none, "task_list")), 0);
    assert_string_equal(
        json_text_or(json_array_get(json_object_get(planned, "content"), 0), "text", ""),
        "Task list has been updated with 1 item(s).");
    assert_non_null(
        strstr(json_text_or(json_array_get(json_object_get(viewed, "content"), 0), "text", ""),
               "1. 🔄 Parse\n   edges"));
}

/* --- control --- */

static void count_cancel(void *what)
{
    (*(int *)what)++;
}

static void stops_cut_what_they_may(void **state)
{
    struct control control;
    struct error err = ERROR_INIT;
    int n_cancelled = 0;

    (void)state;
    control_init(&control, 0);
    assert_int_equal(control_begin_wait(&control, WAIT_TOOL, count_cancel, &n_cancelled, &err), 0);
    control_request(&control, STOP_PAUSE);
    assert_int_equal(n_cancelled, 0);
    control_request(&control, STOP_INTERRUPT);
    assert_int_equal(n_cancelled, 1);
    control_end_wait(&control);
    assert_int_equal(control_begin_wait(&control, WAIT_MODEL, count_cancel, &n_cancelled, &err),
                     -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    control_request(&control, STOP_PAUSE);
    assert_int_equal(control_stop(&control), STOP_INTERRUPT);
    control_request(&control, STOP_LOST);
    assert_int_equal(control_sleep(&control, 1, &err), -1);
    assert_int_equal(err.code, ERROR_STALE);
    control_done(&control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_as_recorded),
        cmocka_unit_test(a_transcript_grows_with_its_history),
        cmocka_unit_test(a_transcript_grows_past_what_was_not_heard),
        cmocka_unit_test(an_answer_with_a_bad_call_stays_one_message),
        cmocka_unit_test(a_message_between_call_and_result_comes_behind),
        cmocka_unit_test(a_message_that_the_answer_did_not_hear_comes_behind_it),
        cmocka_unit_test(a_name_that_no_tool_can_have_is_made_one),
        cmocka_unit_test(a_call_without_result_is_left_out),
        cmocka_unit_test(long_results_lose_their_middle),
        cmocka_unit_test(only_executable_calls_without_result_are_pending),
        cmocka_unit_test(iterations_count_from_the_start_of_the_run),
        cmocka_unit_test(four_equal_rounds_are_stuck),
        cmocka_unit_test(alternating_rounds_are_stuck),
        cmocka_unit_test(failing_calls_get_one_nudge),
        cmocka_unit_test(monologues_are_stuck),
        cmocka_unit_test(policies_ask_for_what_they_say),
        cmocka_unit_test(one_risky_call_holds_the_batch),
        cmocka_unit_test(a_growing_text_settles_before_what_may_be_a_value),
        cmocka_unit_test(values_are_hidden_wherever_they_stand),
        cmocka_unit_test(commands_get_the_secrets_they_name),
        cmocka_unit_test(impossible_replies_are_refused),
        cmocka_unit_test(only_known_members_pass),
        cmocka_unit_test(edits_too_large_for_an_event_lose_their_contents),
        cmocka_unit_test(calls_in_doubt_are_asked_about),
        cmocka_unit_test(servers_key_serves_only_the_servers_model),
        cmocka_unit_test(task_list_is_kept_and_shown),
        cmocka_unit_test(stops_cut_what_they_may),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

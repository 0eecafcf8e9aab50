/*
 * The hooks of one event: what the sandbox is asked for, and what is made of its answers.
 */
#include "worker/agent/hooks/hook_run.h"

#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/event/event.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/hooks/hooks_test.h"

#define SUBJECT "11111111-1111-4111-8111-111111111111"
#define SHOWN_MAX_CHARS 50000
#define INPUT_MAX_BYTES 100000
#define CUT_MAX_CHARS 10000

/* An execution of all hooks of an occasion. */
struct asked {
    struct claimed_agent claimed;
    struct event_list events;
    struct hook_outcome outcome;
    size_t n_before; /* requests for hooks */
};

static const struct hook_occasion prompt = {
    .event = HOOK_USER_PROMPT_SUBMIT, .subject = SUBJECT, .message_id = SUBJECT, .message = "go"};
static const struct hook_occasion before_call = {
    .event = HOOK_PRE_TOOL_USE, .subject = SUBJECT, .action_id = SUBJECT, .tool_name = "terminal"};

static struct run_fixture *fixture_of(const struct asked *asked)
{
    return asked->claimed.fixture;
}

static void ask_again(struct asked *asked, const struct hook_occasion *occasion)
{
    struct error err = ERROR_INIT;

    event_list_done(&asked->events);
    hook_outcome_done(&asked->outcome);
    asked->events = (struct event_list)EVENT_LIST_INIT;
    asked->outcome = (struct hook_outcome)HOOK_OUTCOME_INIT;
    asked->n_before = stub_n_hooks(fixture_of(asked)->stub);
    if (hook_run_all(&asked->claimed.agent, occasion, &asked->events, &asked->outcome, &err) < 0)
        fail_msg("%s", err.message);
}

static void ask(struct asked *asked, void **state, const char *config,
                const struct hook_occasion *occasion)
{
    struct uuid id = run_new_conversation(*state, TURN(SAYS), config);

    asked->events = (struct event_list)EVENT_LIST_INIT;
    asked->outcome = (struct hook_outcome)HOOK_OUTCOME_INIT;
    claimed_agent_begin(&asked->claimed, *state, &id);
    ask_again(asked, occasion);
}

static void asked_done(struct asked *asked)
{
    event_list_done(&asked->events);
    hook_outcome_done(&asked->outcome);
    claimed_agent_end(&asked->claimed);
}

static void assert_event(const struct asked *asked, size_t index, const char *path,
                         const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    assert_true(index < asked->events.n);
    json_append_text(&text, asked->events.items[index].json);
    assert_json_at(text.text, path, expected);
}

static size_t n_asked(const struct asked *asked)
{
    return stub_n_hooks(fixture_of(asked)->stub) - asked->n_before;
}

/* The n-th request of the last ask(). */
static void order_of(const struct asked *asked, size_t n, struct strbuf *out)
{
    stub_hook(fixture_of(asked)->stub, asked->n_before + n, out);
}

static void assert_order(const struct asked *asked, size_t n, const char *path,
                         const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf order = STRBUF_INIT;

    order_of(asked, n, &order);
    assert_json_at(order.text, path, expected);
}

/* The JSON that the n-th hook reads. */
static void input_of(const struct asked *asked, size_t n, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf order = STRBUF_INIT;
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;

    order_of(asked, n, &order);
    if (json_parse(order.text, order.len, &json, &err) < 0)
        fail_msg("%s", err.message);
    strbuf_append(
        out, json_text_or(json_object_get(json_object_get(json, "order"), "args"), "input", ""));
}

/* --- the order --- */

static void hook_of_a_call_learns_all_about_it(void **state)
{
    CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    json_auto_t *action = json_object();
    json_auto_t *result = json_object();
    struct asked asked;
    struct hook_occasion occasion = {.event = HOOK_POST_TOOL_USE,
                                     .subject = SUBJECT,
                                     .action_id = SUBJECT,
                                     .tool_name = "terminal",
                                     .tool_input = action,
                                     .tool_response = result};
    const char *id = asked.claimed.agent.lease.conversation_id.text;

    json_put_text(action, "command", "ls");
    json_put_text(result, "kind", "TerminalObservation");
    ask(&asked, state, HOOKS(ON("post_tool_use", RUNS("note"))), &occasion);
    assert_int_equal(n_asked(&asked), 1);
    assert_order(&asked, 0, "order.tool", "\"hook\"");
    assert_order(&asked, 0, "order.working_dir", "\"/workspace/project\"");
    assert_order(&asked, 0, "order.args.command", "\"note\"");
    assert_order(&asked, 0, "order.args.timeout", "60");
    assert_order(&asked, 0, "order.args.async", "false");
    strbuf_appendf(&expected,
                   "{\"OPENHANDS_PROJECT_DIR\": \"/workspace/project\","
                   " \"OPENHANDS_SESSION_ID\": \"%s\","
                   " \"OPENHANDS_EVENT_TYPE\": \"PostToolUse\","
                   " \"OPENHANDS_TOOL_NAME\": \"terminal\"}",
                   id);
    assert_order(&asked, 0, "order.args.env", expected.text);
    strbuf_reset(&expected);
    strbuf_appendf(&expected,
                   "{\"event_type\": \"PostToolUse\", \"tool_name\": \"terminal\","
                   " \"tool_input\": {\"command\": \"ls\"},"
                   " \"tool_response\": {\"kind\": \"TerminalObservation\"}, \"message\": null,"
                   " \"session_id\": \"%s\", \"working_dir\": \"/workspace/project\","
                   " \"metadata\": {}}",
                   id);
    input_of(&asked, 0, &input);
    assert_json_at(input.text, "", expected.text);
    asked_done(&asked);
}

static void hook_of_a_message_learns_what_was_said(void **state)
{
    CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
    struct asked asked;

    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("note"))), &prompt);
    input_of(&asked, 0, &input);
    assert_json_at(input.text, "event_type", "\"UserPromptSubmit\"");
    assert_json_at(input.text, "message", "\"go\"");
    assert_json_at(input.text, "tool_name", "null");
    assert_json_at(input.text, "tool_input", "null");
    assert_json_at(input.text, "tool_response", "null");
    assert_order(&asked, 0, "order.args.env.OPENHANDS_EVENT_TYPE", "\"UserPromptSubmit\"");
    assert_order(&asked, 0, "order.args.env.OPENHANDS_TOOL_NAME", NULL);
    asked_done(&asked);
}

/* Although the event of the first one is masked before the second one runs. */
static void all_hooks_of_an_event_read_the_same(void **state)
{
    const struct hook_occasion said = {.event = HOOK_USER_PROMPT_SUBMIT,
                                       .subject = SUBJECT,
                                       .message = "the word is hush-hush-4711"};
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf second = STRBUF_INIT;
    struct asked asked;

    ask(&asked, state,
        "{\"secrets\": {\"TOKEN\": {\"kind\": \"StaticSecret\", \"value\": \"hush-hush-4711\"}},"
        " \"hook_config\": {" ON("user_prompt_submit", RUNS("a") ", " RUNS("b")) "}}",
        &said);
    input_of(&asked, 0, &first);
    input_of(&asked, 1, &second);
    assert_json_at(first.text, "message", "\"the word is hush-hush-4711\"");
    assert_string_equal(second.text, first.text);
    for (size_t i = 0; i < 2; i++)
        assert_event(&asked, i, "hook_input.message", "\"the word is <secret-hidden>\"");
    asked_done(&asked);
}

static void hook_has_its_own_limit_of_time(void **state)
{
    static const char *const expected[] = {"1", "5", "3600", "3600"};
    struct asked asked;

    ask(&asked, state,
        HOOKS(ON("stop", "{\"command\": \"a\", \"timeout\": 1}, {\"command\": \"b\", \"timeout\":"
                         " 5, \"async\": true}, {\"command\": \"c\", \"timeout\": 3600},"
                         " {\"command\": \"d\", \"timeout\": 3601}")),
        &(struct hook_occasion){.event = HOOK_STOP, .subject = SUBJECT});
    assert_int_equal(n_asked(&asked), ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_order(&asked, i, "order.args.timeout", expected[i]);
    assert_order(&asked, 1, "order.args.async", "true");
    assert_order(&asked, 2, "order.args.async", "false");
    asked_done(&asked);
}

/* The first one may be the first action of all. */
static void hook_has_its_working_directory(void **state)
{
    struct run_fixture *fixture = *state;
    size_t n_folders = stub_n_directories(fixture->stub);
    struct asked asked;

    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("a") ", " RUNS("b"))), &prompt);
    assert_int_equal(stub_n_directories(fixture->stub), n_folders + 1);
    asked_done(&asked);
}

/* --- ids --- */

static void id_of_order(const struct asked *asked, size_t n, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf order = STRBUF_INIT;
    json_auto_t *json = NULL;
    struct error err = ERROR_INIT;

    order_of(asked, n, &order);
    if (json_parse(order.text, order.len, &json, &err) < 0)
        fail_msg("%s", err.message);
    strbuf_reset(out);
    strbuf_append(out, json_text_or(json, "id", ""));
    assert_int_equal(out->len, 36);
}

static void same_execution_has_the_same_id(void **state)
{
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
    size_t n_runs = stub_n_runs(((struct run_fixture *)*state)->stub);
    struct asked asked;

    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("note"))), &prompt);
    id_of_order(&asked, 0, &first);
    assert_string_equal(asked.events.items[0].id.text, first.text);
    ask_again(&asked, &prompt);
    id_of_order(&asked, 0, &again);
    assert_string_equal(again.text, first.text);
    assert_int_equal(stub_n_runs(fixture_of(&asked)->stub), n_runs + 1);
    asked_done(&asked);
}

/* By its place, its event, its subject and its conversation. */
static void other_execution_has_another_id(void **state)
{
    const char *config =
        HOOKS(ON("stop", RUNS("x")) ", " ON("session_start", RUNS("x") ", " RUNS("x")));
    struct hook_occasion occasion = {.event = HOOK_SESSION_START, .subject = SUBJECT};
    struct uuid ids[5];
    struct asked asked;

    ask(&asked, state, config, &occasion);
    ids[0] = asked.events.items[0].id;
    ids[1] = asked.events.items[1].id;
    occasion.event = HOOK_STOP;
    ask_again(&asked, &occasion);
    ids[2] = asked.events.items[0].id;
    occasion.subject = "22222222-1111-4111-8111-111111111111";
    ask_again(&asked, &occasion);
    ids[3] = asked.events.items[0].id;
    asked_done(&asked);
    ask(&asked, state, config, &occasion);
    ids[4] = asked.events.items[0].id;
    asked_done(&asked);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ids[i].text, ids[j].text);
    }
}

/* --- the event --- */

static void event_tells_all_of_an_execution(void **state)
{
    struct run_fixture *fixture = *state;
    json_auto_t *action = json_object();
    struct hook_occasion occasion = before_call;
    struct asked asked;

    json_put_text(action, "command", "ls");
    occasion.tool_input = action;
    stub_answer_hook(fixture->stub, "full",
                     "{\"exit_code\": 2, \"stdout\": \"{\\\"additionalContext\\\": \\\"more\\\"}\","
                     " \"stderr\": \" why\\n\"}");
    ask(&asked, state, HOOKS(ON("pre_tool_use", RUNS("full"))), &occasion);
    assert_int_equal(asked.events.n, 1);
    assert_string_equal(asked.events.items[0].kind, "HookExecutionEvent");
    assert_event(&asked, 0, "",
                 "{\"source\": \"hook\", \"kind\": \"HookExecutionEvent\","
                 " \"hook_event_type\": \"PreToolUse\", \"hook_command\": \"full\","
                 " \"tool_name\": \"terminal\", \"success\": true, \"blocked\": true,"
                 " \"exit_code\": 2, \"stdout\": \"{\\\"additionalContext\\\": \\\"more\\\"}\","
                 " \"stderr\": \" why\\n\", \"reason\": \"why\", \"additional_context\": \"more\","
                 " \"action_id\": \"" SUBJECT "\","
                 " \"hook_input\": {\"tool_name\": \"terminal\","
                 "  \"tool_input\": {\"command\": \"ls\"}}}");
    assert_true(asked.outcome.is_blocked);
    assert_string_equal(asked.outcome.reason.text, "why");
    assert_string_equal(asked.outcome.context.text, "more");
    asked_done(&asked);
}

static void event_of_a_message_names_it(void **state)
{
    struct asked asked;

    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("quiet"))), &prompt);
    assert_event(&asked, 0, "",
                 "{\"source\": \"hook\", \"kind\": \"HookExecutionEvent\","
                 " \"hook_event_type\": \"UserPromptSubmit\", \"hook_command\": \"quiet\","
                 " \"success\": true, \"blocked\": false, \"exit_code\": 0, \"stdout\": \"\","
                 " \"stderr\": \"\", \"message_id\": \"" SUBJECT "\","
                 " \"hook_input\": {\"message\": \"go\"}}");
    asked_done(&asked);
}

static void append_repeated(struct strbuf *out, const char *piece, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strbuf_append(out, piece);
}

/* The streams of a hook that prints more than is kept. */
static void streams_are_cut_at_their_limit_of_characters(void **state)
{
    static const char *const members[] = {"stdout", "stderr", "error"};
    struct run_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
        struct asked asked;
        const char *kept = NULL;

        strbuf_appendf(&answer, "{\"%s\": \"", members[i]);
        append_repeated(&answer, "\xc3\xa9", SHOWN_MAX_CHARS);
        strbuf_append(&answer, "x\"}");
        stub_answer_hook(fixture->stub, "loud", answer.text);
        ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("loud"))), &prompt);
        kept = json_text_or(asked.events.items[0].json, members[i], "");
        assert_int_equal(strlen(kept), 2 * SHOWN_MAX_CHARS);
        asked_done(&asked);
    }
}

static void input_that_is_too_large_is_left_out_of_the_event(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct hook_occasion occasion = prompt;
    struct asked asked;

    append_repeated(&said, "x", INPUT_MAX_BYTES - strlen("{\"message\":\"\"}"));
    occasion.message = said.text;
    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("note"))), &occasion);
    assert_int_equal(strlen(json_text_or(json_object_get(asked.events.items[0].json, "hook_input"),
                                         "message", "")),
                     said.len);
    strbuf_append(&said, "x");
    occasion.message = said.text;
    ask_again(&asked, &occasion);
    assert_event(&asked, 0, "hook_input", NULL);
    asked_done(&asked);
}

/* A denial with a reason, as much as may be printed on both streams. */
static void answer_at_length(struct run_fixture *fixture, const char *command, const char *piece)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;

    strbuf_append(&answer, "{\"exit_code\": 2, \"stdout\": \"");
    append_repeated(&answer, piece, SHOWN_MAX_CHARS);
    strbuf_append(&answer, "\", \"stderr\": \"");
    append_repeated(&answer, piece, SHOWN_MAX_CHARS);
    strbuf_append(&answer, "\"}");
    stub_answer_hook(fixture->stub, command, answer.text);
}

static size_t length_of(const struct asked *asked, const char *member)
{
    const char *text = json_text_or(asked->events.items[0].json, member, "");

    return utf8_length(text, strlen(text));
}

/* Control characters have six bytes in JSON. */
static void event_that_would_be_too_large_is_cut(void **state)
{
    static const char *const members[] = {"stdout", "stderr", "reason"};
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct hook_occasion occasion = prompt;
    struct asked asked;

    append_repeated(&said, "x", INPUT_MAX_BYTES - 100);
    occasion.message = said.text;
    answer_at_length(*state, "noise", "\\u0001");
    answer_at_length(*state, "words", "\xf0\x9f\x98\x80");
    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("noise"))), &occasion);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        assert_int_equal(length_of(&asked, members[i]), CUT_MAX_CHARS);
    assert_event(&asked, 0, "hook_input", NULL);
    assert_event(&asked, 0, "hook_command", "\"noise\"");
    assert_event(&asked, 0, "blocked", "true");
    asked_done(&asked);
    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("words"))), &occasion);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        assert_int_equal(length_of(&asked, members[i]), SHOWN_MAX_CHARS);
    assert_event(&asked, 0, "hook_command", "\"words\"");
    assert_false(json_object_get(asked.events.items[0].json, "hook_input") == NULL);
    asked_done(&asked);
}

static void name_of_an_event_that_would_be_too_large_is_cut(void **state)
{
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
    struct asked asked;

    strbuf_append(&config, "{\"hook_config\": {\"user_prompt_submit\": [{\"hooks\":"
                           " [{\"type\": \"agent\", \"name\": \"");
    append_repeated(&config, "x", 1000000);
    strbuf_append(&config, "\"}]}]}}");
    ask(&asked, state, config.text, &prompt);
    assert_int_equal(length_of(&asked, "hook_command"), CUT_MAX_CHARS);
    asked_done(&asked);
}

/* --- what can go wrong --- */

struct failure {
    const char *hook;
    const char *name;      /* hook_command */
    const char *exit_code; /* as JSON */
    const char *error;     /* as JSON; NULL: none */
    size_t n_asked;
};

static void hook_that_fails_blocks_nothing_and_says_why(void **state)
{
    static const struct failure failures[] = {
        {RUNS("three"), "\"three\"", "3", NULL, 1},
        {RUNS("late"), "\"late\"", "-1", "\"It took too long.\"", 1},
        {RUNS("late-blocker"), "\"late-blocker\"", "2", "\"It took too long.\"", 1},
        {RUNS("cut"), "\"cut\"", "-1", "\"It was interrupted: out of memory\"", 1},
        {RUNS("odd-kind"), "\"odd-kind\"", "-1", "\"the sandbox's reply is not a HookObservation\"",
         1},
        {RUNS("odd-state"), "\"odd-state\"", "-1",
         "\"the sandbox's reply to a call has no result\"", 1},
        {RUNS("refused"), "\"refused\"", "-1", "\"the sandbox refused the call: other id\"", 1},
        {RUNS("too-much"), "\"too-much\"", "-1", "\"the sandbox refused the call: too much\"", 1},
        {RUNS(""), "\"command\"", "-1", "\"The hook has no command.\"", 0},
        {RUNS(" "), "\"command\"", "-1", "\"The hook has no command.\"", 0},
        {"{\"name\": \"mine\"}", "\"mine\"", "-1", "\"The hook has no command.\"", 0},
        {"{\"type\": \"agent\", \"name\": \"reviewer\"}", "\"reviewer\"", "-1",
         "\"The hook has no prompt.\"", 0},
        {"{\"type\": \"prompt\"}", "\"prompt\"", "-1", "\"The hook has no prompt.\"", 0},
        {"{\"type\": \"prompt\", \"command\": \"three\"}", "\"prompt\"", "-1",
         "\"The hook has no prompt.\"", 0},
    };
    struct run_fixture *fixture = *state;

    stub_answer_hook(fixture->stub, "three", "{\"exit_code\": 3}");
    stub_answer_hook(fixture->stub, "late",
                     "{\"exit_code\": -1, \"error\": \"It took too long.\"}");
    stub_answer_hook(fixture->stub, "late-blocker",
                     "{\"exit_code\": 2, \"error\": \"It took too long.\"}");
    stub_answer_hook(fixture->stub, "cut",
                     "{\"state\": \"interrupted\", \"reason\": \"out of memory\"}");
    stub_answer_hook(fixture->stub, "odd-kind", "{\"kind\": \"TerminalObservation\"}");
    stub_answer_hook(fixture->stub, "refused",
                     "{\"state\": \"\", \"http_status\": 409, \"detail\": \"other id\"}");
    stub_answer_hook(fixture->stub, "too-much",
                     "{\"state\": \"\", \"http_status\": 413, \"detail\": \"too much\"}");
    stub_answer_hook(fixture->stub, "odd-state", "{\"state\": \"running\"}");
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
        const struct failure *failure = &failures[i];
        struct asked asked;

        strbuf_appendf(&config, HOOKS(ON("user_prompt_submit", "%s, " RUNS("next"))),
                       failure->hook);
        ask(&asked, state, config.text, &prompt);
        assert_int_equal(asked.events.n, 2);
        assert_int_equal(n_asked(&asked), failure->n_asked + 1);
        assert_event(&asked, 0, "hook_command", failure->name);
        assert_event(&asked, 0, "success", "false");
        assert_event(&asked, 0, "blocked", "false");
        assert_event(&asked, 0, "exit_code", failure->exit_code);
        assert_event(&asked, 0, "error", failure->error);
        assert_false(asked.outcome.is_blocked);
        asked_done(&asked);
    }
}

/* A sandbox is the project's own: it may answer anything. */
static void members_of_other_types_are_not_taken(void **state)
{
    struct run_fixture *fixture = *state;
    struct asked asked;

    stub_answer_hook(fixture->stub, "odd",
                     "{\"exit_code\": \"2\", \"stdout\": [1], \"stderr\": {\"a\": 1},"
                     " \"error\": 7, \"more\": \"x\"}");
    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("odd"))), &prompt);
    assert_event(&asked, 0, "exit_code", "-1");
    assert_event(&asked, 0, "success", "false");
    assert_event(&asked, 0, "blocked", "false");
    assert_event(&asked, 0, "stdout", "\"\"");
    assert_event(&asked, 0, "stderr", "\"\"");
    assert_event(&asked, 0, "error", NULL);
    assert_event(&asked, 0, "more", NULL);
    asked_done(&asked);
}

/* --- all hooks of an event --- */

struct blocking {
    enum hook_event event;
    const char *member;
    bool may_block;
};

static void only_some_events_can_be_blocked(void **state)
{
    static const struct blocking events[] = {
        {HOOK_PRE_TOOL_USE, "pre_tool_use", true},
        {HOOK_POST_TOOL_USE, "post_tool_use", false},
        {HOOK_USER_PROMPT_SUBMIT, "user_prompt_submit", true},
        {HOOK_SESSION_START, "session_start", false},
        {HOOK_SESSION_END, "session_end", false},
        {HOOK_STOP, "stop", true},
    };
    struct run_fixture *fixture = *state;

    stub_answer_hook(fixture->stub, "deny", "{\"exit_code\": 2, \"stderr\": \"no\"}");
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;
        struct hook_occasion occasion = {.event = events[i].event, .subject = SUBJECT};
        bool may_block = events[i].may_block;
        struct asked asked;

        strbuf_appendf(&config, HOOKS(ON("%s", RUNS("first") ", " RUNS("deny") ", " RUNS("last"))),
                       events[i].member);
        ask(&asked, state, config.text, &occasion);
        assert_int_equal(asked.events.n, may_block ? 2 : 3);
        assert_int_equal(n_asked(&asked), may_block ? 2 : 3);
        assert_event(&asked, 0, "hook_command", "\"first\"");
        assert_event(&asked, 1, "blocked", may_block ? "true" : "false");
        assert_event(&asked, 1, "exit_code", "2");
        assert_int_equal(asked.outcome.is_blocked, may_block);
        assert_string_equal(asked.outcome.reason.text, may_block ? "no" : "");
        asked_done(&asked);
    }
}

static void texts_of_all_hooks_are_collected(void **state)
{
    struct run_fixture *fixture = *state;
    struct asked asked;

    stub_answer_hook_text(fixture->stub, "one", 0, "{\"additionalContext\": \"one\"}");
    stub_answer_hook_text(fixture->stub, "two", 0, "{\"additionalContext\": \"two\"}");
    ask(&asked, state,
        HOOKS(ON("user_prompt_submit", RUNS("one") ", " RUNS("none") ", " RUNS("two"))), &prompt);
    assert_string_equal(asked.outcome.context.text, "one\n\ntwo");
    assert_false(asked.outcome.is_blocked);
    assert_string_equal(asked.outcome.reason.text, "");
    asked_done(&asked);
}

static void texts_of_all_hooks_together_have_a_limit(void **state)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    struct run_fixture *fixture = *state;
    struct asked asked;

    strbuf_append(&answer, "{\"additionalContext\": \"");
    append_repeated(&answer, "\xc3\xa9", SHOWN_MAX_CHARS / 2);
    strbuf_append(&answer, "\"}");
    stub_answer_hook_text(fixture->stub, "half", 0, answer.text);
    ask(&asked, state, HOOKS(ON("post_tool_use", RUNS("half") ", " RUNS("half") ", " RUNS("half"))),
        &(struct hook_occasion){.event = HOOK_POST_TOOL_USE, .subject = SUBJECT});
    assert_int_equal(asked.outcome.context.len, 2 * SHOWN_MAX_CHARS - 2);
    asked_done(&asked);
}

static void only_hooks_that_match_the_call_are_asked(void **state)
{
    const char *config =
        HOOKS("\"pre_tool_use\": [{\"matcher\": \"file_editor\", \"hooks\": [" RUNS(
            "editor") "]}, {\"matcher\": \"/term.*/\", \"hooks\": [" RUNS("shell") "]}]");
    struct hook_occasion occasion = before_call;
    struct asked asked;

    ask(&asked, state, config, &occasion);
    assert_int_equal(n_asked(&asked), 1);
    assert_order(&asked, 0, "order.args.command", "\"shell\"");
    occasion.tool_name = "think";
    ask_again(&asked, &occasion);
    assert_int_equal(n_asked(&asked), 0);
    assert_int_equal(asked.events.n, 0);
    asked_done(&asked);
}

static void hooks_of_other_events_are_not_asked(void **state)
{
    struct asked asked;

    ask(&asked, state, HOOKS(ON("stop", RUNS("x"))), &prompt);
    assert_int_equal(asked.events.n, 0);
    assert_true(hook_run_has(&asked.claimed.agent, HOOK_STOP));
    assert_false(hook_run_has(&asked.claimed.agent, HOOK_USER_PROMPT_SUBMIT));
    asked_done(&asked);
}

/* As of an agent that was made before a client gave the conversation its hooks. */
static void without_a_sandbox_there_are_no_hooks(void **state)
{
    struct asked asked;
    struct sandbox *sandbox = NULL;

    ask(&asked, state, HOOKS(ON("user_prompt_submit", RUNS("x"))), &prompt);
    sandbox = asked.claimed.agent.sandbox;
    asked.claimed.agent.sandbox = NULL;
    ask_again(&asked, &prompt);
    assert_int_equal(asked.events.n, 0);
    assert_false(hook_run_has(&asked.claimed.agent, HOOK_USER_PROMPT_SUBMIT));
    asked.claimed.agent.sandbox = sandbox;
    asked_done(&asked);
}

/* --- when it cannot be asked --- */

static void assert_fails(struct asked *asked, enum error_code code, const char *words)
{
    struct error err = ERROR_INIT;

    event_list_done(&asked->events);
    asked->events = (struct event_list)EVENT_LIST_INIT;
    assert_int_equal(
        hook_run_all(&asked->claimed.agent, &prompt, &asked->events, &asked->outcome, &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.message, words));
    assert_int_equal(asked->events.n, 0);
}

static void conversation_without_a_sandbox_cannot_ask(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id =
        run_new_conversation(fixture, TURN(SAYS), HOOKS(ON("user_prompt_submit", RUNS("x"))));
    struct asked asked = {.events = EVENT_LIST_INIT, .outcome = HOOK_OUTCOME_INIT};
    size_t n_hooks = stub_n_hooks(fixture->stub);

    claimed_agent_begin(&asked.claimed, fixture, &id);
    stub_refuse_start(fixture->stub, "no room");
    assert_fails(&asked, ERROR_UNAVAILABLE, "no room");
    stub_refuse_start(fixture->stub, NULL);
    assert_int_equal(stub_n_hooks(fixture->stub), n_hooks);
    asked_done(&asked);
}

static void stop_ends_the_wait_for_a_hook(void **state)
{
    struct run_fixture *fixture = *state;
    struct uuid id = run_new_conversation(fixture, TURN(SAYS),
                                          HOOKS(ON("user_prompt_submit", RUNS("hold-stop"))));
    struct asked asked = {.events = EVENT_LIST_INIT, .outcome = HOOK_OUTCOME_INIT};

    claimed_agent_begin(&asked.claimed, fixture, &id);
    run_control_request(&asked.claimed.control, STOP_INTERRUPT);
    assert_fails(&asked, ERROR_CANCELLED, "");
    asked_done(&asked);
    stub_release(fixture->stub);
}

int hook_run_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hook_of_a_call_learns_all_about_it),
        cmocka_unit_test(hook_of_a_message_learns_what_was_said),
        cmocka_unit_test(all_hooks_of_an_event_read_the_same),
        cmocka_unit_test(hook_has_its_own_limit_of_time),
        cmocka_unit_test(hook_has_its_working_directory),
        cmocka_unit_test(same_execution_has_the_same_id),
        cmocka_unit_test(other_execution_has_another_id),
        cmocka_unit_test(event_tells_all_of_an_execution),
        cmocka_unit_test(event_of_a_message_names_it),
        cmocka_unit_test(streams_are_cut_at_their_limit_of_characters),
        cmocka_unit_test(input_that_is_too_large_is_left_out_of_the_event),
        cmocka_unit_test(event_that_would_be_too_large_is_cut),
        cmocka_unit_test(name_of_an_event_that_would_be_too_large_is_cut),
        cmocka_unit_test(texts_of_all_hooks_together_have_a_limit),
        cmocka_unit_test(hook_that_fails_blocks_nothing_and_says_why),
        cmocka_unit_test(members_of_other_types_are_not_taken),
        cmocka_unit_test(only_some_events_can_be_blocked),
        cmocka_unit_test(texts_of_all_hooks_are_collected),
        cmocka_unit_test(only_hooks_that_match_the_call_are_asked),
        cmocka_unit_test(hooks_of_other_events_are_not_asked),
        cmocka_unit_test(without_a_sandbox_there_are_no_hooks),
        cmocka_unit_test(conversation_without_a_sandbox_cannot_ask),
        cmocka_unit_test(stop_ends_the_wait_for_a_hook),
    };

    return cmocka_run_group_tests(tests, run_fixture_set_up, run_fixture_tear_down);
}

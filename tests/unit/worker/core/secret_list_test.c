#include "worker/worker_test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/tools/tool_call.h"
#include "model/tools/tool_check.h"
#include "model/tools/toolset.h"
#include "support/test_catalogue.h"
#include "worker/agent/core/secret_list.h"
#include "worker/events.h"

/* Values that are words of the contract itself. */
static const char words_of_the_wire[] =
    "{\"A\": \"x\", \"B\": \"text\", \"C\": \"Terminal\", \"D\": \"agent\", \"E\": "
    "\"MessageEvent\","
    " \"F\": \"ObservationEvent\", \"G\": \"/workspace/project\", \"H\": \"terminal\","
    " \"I\": \"environment\", \"J\": \"call_1\", \"K\": \"create\"}";

static void only_free_text_of_events_is_changed(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *secrets = test_json(words_of_the_wire);
    json_auto_t *seen = test_json(
        "{\"kind\": \"TerminalObservation\", \"is_error\": false, \"command\": \"create Terminal\","
        " \"content\": [{\"type\": \"text\", \"text\": \"x text agent Terminal MessageEvent\"}],"
        " \"metadata\": {\"working_dir\": \"/workspace/project\", \"suffix\": \"[create]\"}}");
    json_auto_t *expected =
        test_json("{\"kind\": \"TerminalObservation\", \"is_error\": false,"
                  " \"command\": \"<secret-hidden> <secret-hidden>\","
                  " \"content\": [{\"type\": \"text\","
                  "   \"text\": \"x text agent <secret-hidden> <secret-hidden>\"}],"
                  " \"metadata\": {\"working_dir\": \"/workspace/project\","
                  "   \"suffix\": \"[<secret-hidden>]\"}}");
    const struct call_ref ref = {.tool_name = "terminal", .tool_call_id = "call_1"};
    const json_t *event = NULL;

    (void)state;
    secret_list_read(&list, secrets);
    event_add_observation(&events, &ref, seen);
    (void)event_add_agent_message(&events, "I am a MessageEvent", "of Terminal",
                                  "chatcmpl-Terminal");
    secret_list_mask_events(&list, &events);
    event = events.items[0].json;
    assert_string_equal(json_text_or(event, "kind", ""), "ObservationEvent");
    assert_string_equal(json_text_or(event, "source", ""), "environment");
    assert_string_equal(json_text_or(event, "tool_name", ""), "terminal");
    assert_string_equal(json_text_or(event, "tool_call_id", ""), "call_1");
    assert_true(json_equal(json_object_get(event, "observation"), expected));
    event = events.items[1].json;
    assert_string_equal(json_text_or(event, "kind", ""), "MessageEvent");
    assert_string_equal(json_text_or(event, "llm_response_id", ""), "chatcmpl-Terminal");
    event = json_object_get(event, "llm_message");
    assert_string_equal(json_text_or(event, "role", ""), "assistant");
    assert_string_equal(json_text_or(event, "reasoning_content", ""), "of <secret-hidden>");
    event = json_array_get(json_object_get(event, "content"), 0);
    assert_string_equal(json_text_or(event, "type", ""), "text");
    assert_string_equal(json_text_or(event, "text", ""), "I am a <secret-hidden>");
}

static void values_are_hidden_in_text(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *secrets = test_json("{\"A\": \"abcdef\", \"LONG\": {\"value\": \"abcdefghi\"}, "
                                     "\"NO\": {}, \"PIN\": \"12345\"}");

    (void)state;
    secret_list_read(&list, secrets);
    assert_int_equal(list.n, 3);
    secret_list_mask_text(&list, "abcdefghi, abcdef, 12345 and abcde", &out);
    assert_string_equal(out.text, "<secret-hidden>, <secret-hidden>, 12345 and abcde");
}

static void values_that_were_replaced_stay_hidden(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *before = test_json("{\"A\": \"abcdef\", \"B\": \"uvwxyz\"}");
    json_auto_t *after = test_json("{\"A\": \"ghijkl\", \"C\": \"uvwxyz\"}");
    json_auto_t *env = NULL;

    (void)state;
    secret_list_read(&list, before);
    secret_list_retire(&list);
    secret_list_read(&list, after);
    secret_list_mask_text(&list, "abcdef ghijkl uvwxyz", &out);
    assert_string_equal(out.text, "<secret-hidden> <secret-hidden> <secret-hidden>");
    env = secret_list_env(&list, "echo $A $B $C");
    assert_int_equal(json_object_size(env), 2);
    assert_string_equal(json_text_or(env, "A", ""), "ghijkl");
    assert_string_equal(json_text_or(env, "C", ""), "uvwxyz");
    assert_int_equal(list.n, 3);
}

enum { LINES_MAX_BYTES = 4096 };

/* The standard error of two lines: one under the mask, one after it. */
static void log_two_lines(const struct secret_list *list, struct strbuf *out)
{
    CLEANUP(fd_close) int file = memfd_create("log", MFD_CLOEXEC);
    CLEANUP(fd_close) int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    char lines[LINES_MAX_BYTES];
    ssize_t n = 0;

    assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
    secret_list_mask_log(list);
    log_info("model.failed", LOG_STR("error", "it said YWJjZGVmZ2hp, abcdefghi"));
    secret_list_unmask_log();
    log_info("model.failed", LOG_STR("error", "abcdefghi"));
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    n = pread(file, lines, sizeof(lines), 0);
    assert_true(n > 0);
    strbuf_append_bytes(out, lines, (size_t)n);
}

static void values_are_hidden_in_log_lines_of_the_thread(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    secret_list_set(&list, "LONG", "abcdefghi");
    log_two_lines(&list, &out);
    assert_non_null(strstr(out.text, "\"error\":\"it said <secret-hidden>, <secret-hidden>\""));
    assert_non_null(strstr(out.text, "\"error\":\"abcdefghi\""));
}

static void start(struct conversation *conversation)
{
    json_auto_t *spec = test_json(
        "{\"agent\": {\"tools\": [{\"name\": \"terminal\"}, {\"name\": \"file_editor\"}]},"
        " \"client_tools\": [{\"name\": \"paint\", \"description\": \"d\", \"parameters\": {"
        "   \"type\": \"object\", \"properties\": {\"color\": {\"type\": \"string\","
        "   \"enum\": [\"create\", \"red\"]}, \"words\": {\"type\": \"string\"}}}}]}");

    conversation->spec = json_incref(spec);
}

static void a_call_keeps_its_form_and_is_run_as_it_was_written(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(toolset_freep) struct toolset *tools = NULL;
    json_auto_t *secrets = test_json("{\"A\": \"create\", \"B\": \"swordfish\"}");
    static const struct {
        const char *tool;
        const char *arguments;
        const char *kept;
        const char *withheld; /* of the action that is run; NULL: the stored one is */
    } cases[] = {
        {"file_editor",
         "{\"command\":\"create\",\"path\":\"/w/swordfish\",\"file_text\":\"c3dvcmRmaXNo\","
         "\"summary\":\"create\"}",
         "{\"command\":\"create\",\"path\":\"/w/swordfish\",\"file_text\":\"<secret-hidden>\","
         "\"summary\":\"<secret-hidden>\"}",
         "c3dvcmRmaXNo"},
        {"terminal", "{\"command\":\"echo \\\"swordfish\\\"\"}",
         "{\"command\":\"echo \\\"<secret-hidden>\\\"\"}", "echo \\\"swordfish\\\""},
        /* One that is not valid is never run. */
        {"terminal", "{\"command\":\"swordfish\",\"extra\":[\"create\"]}",
         "{\"command\":\"<secret-hidden>\",\"extra\":[\"<secret-hidden>\"]}", NULL},
        {"terminal", "{\"command\":\"ls $B\"}", "{\"command\":\"ls $B\"}", NULL},
        {"paint", "{\"color\":\"create\",\"words\":\"create\"}",
         "{\"color\":\"create\",\"words\":\"<secret-hidden>\"}", "\"words\":\"create\""},
    };

    (void)state;
    secret_list_read(&list, secrets);
    start(&conversation);
    tools = toolset_new(test_catalogue(), &conversation);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};
        CLEANUP(strbuf_done) struct strbuf run = STRBUF_INIT;
        json_auto_t *withheld = NULL;

        tool_call_check(tools, cases[i].tool, cases[i].arguments, &check);
        withheld = secret_list_mask_call(&list, &conversation, &check);
        assert_string_equal(check.arguments, cases[i].kept);
        assert_int_equal(withheld != NULL, cases[i].withheld != NULL);
        assert_int_equal(secret_list_is_masked(check.action), cases[i].withheld != NULL);
        if (withheld == NULL)
            continue;
        json_append_text(&run, withheld);
        assert_non_null(strstr(run.text, cases[i].withheld));
        assert_false(secret_list_is_masked(withheld));
    }
}

static void commands_get_the_secrets_they_name(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    json_auto_t *secrets = test_json("{\"TOKEN\": \"t\", \"OTHER\": \"o\", \"not a name\": \"n\"}");
    json_auto_t *env = NULL;

    (void)state;
    secret_list_read(&list, secrets);
    env = secret_list_env(&list, "echo $token; echo not a name");
    assert_int_equal(json_object_size(env), 1);
    assert_string_equal(json_text_or(env, "TOKEN", ""), "t");
    assert_null(secret_list_env(&list, "ls"));
}

static void value_that_was_looked_up_anew_leaves_the_old_one_hidden(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *env = NULL;

    (void)state;
    secret_list_set(&list, "A", "abcdef");
    secret_list_set(&list, "A", "abcdef");
    assert_int_equal(list.n, 1);
    secret_list_set(&list, "A", "ghijkl");
    secret_list_mask_text(&list, "abcdef ghijkl", &out);
    assert_string_equal(out.text, "<secret-hidden> <secret-hidden>");
    env = secret_list_env(&list, "echo $A");
    assert_int_equal(json_object_size(env), 1);
    assert_string_equal(json_text_or(env, "A", ""), "ghijkl");
}

int secret_list_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_free_text_of_events_is_changed),
        cmocka_unit_test(values_are_hidden_in_text),
        cmocka_unit_test(values_that_were_replaced_stay_hidden),
        cmocka_unit_test(values_are_hidden_in_log_lines_of_the_thread),
        cmocka_unit_test(a_call_keeps_its_form_and_is_run_as_it_was_written),
        cmocka_unit_test(commands_get_the_secrets_they_name),
        cmocka_unit_test(value_that_was_looked_up_anew_leaves_the_old_one_hidden),
    };

    return cmocka_run_group_tests_name("mask", tests, NULL, NULL);
}

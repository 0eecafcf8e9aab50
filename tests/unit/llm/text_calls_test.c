/* Calls as text: how functions, calls and results are shown to a model, and how its calls are read.
 */
#include "llm/text_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "llm/llm_prompt.h"
#include "support/json_path.h"
#include "support/test_catalogue.h"

#define FUNCTIONS                                                                                  \
    "[{\"type\":\"function\",\"function\":{\"name\":\"terminal\",\"description\":\"Runs it.\","    \
    "\"parameters\":{\"type\":\"object\",\"required\":[\"command\",\"security_risk\"],"            \
    "\"properties\":{\"command\":{\"type\":\"string\",\"description\":\"The command.\"},"          \
    "\"timeout\":{\"type\":\"number\"},\"n\":{\"type\":\"integer\"},"                              \
    "\"reset\":{\"type\":\"boolean\"},\"list\":{\"type\":\"array\"},"                              \
    "\"security_risk\":{\"type\":\"string\",\"enum\":[\"LOW\",\"HIGH\"]}}}}}]"
#define CALL(parameters) "<function=terminal>\n" parameters "</function>"
#define COMMAND "<parameter=command>ls</parameter>\n"

static json_t *json_from(const char *text)
{
    json_t *json = NULL;
    struct error err = ERROR_INIT;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return json;
}

static enum text_call_kind read_text(const char *text, struct text_call *call)
{
    json_auto_t *functions = json_from(FUNCTIONS);

    return text_call_read(functions, text, strlen(text), call);
}

static void assert_read(const char *text, const char *words, const char *arguments)
{
    CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;

    assert_int_equal(read_text(text, &call), TEXT_CALL_READ);
    assert_string_equal(call.words.text, words);
    assert_string_equal(call.name.text, "terminal");
    assert_string_equal(call.arguments.text, arguments);
    assert_int_equal(call.problem.len, 0);
}

static void assert_bad(const char *text, const char *problem)
{
    CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;

    assert_int_equal(read_text(text, &call), TEXT_CALL_BAD);
    assert_string_equal(call.problem.text, problem);
}

static void a_call_is_read_with_the_words_before_it(void **state)
{
    (void)state;
    assert_read("I look.\n\n" CALL(COMMAND) "\nand more", "I look.", "{\"command\":\"ls\"}");
    assert_read(CALL(COMMAND) CALL("<parameter=command>rm</parameter>"), "",
                "{\"command\":\"ls\"}");
    assert_read("hm </think>\nI look. <tool_call>\n" CALL(COMMAND), "I look.",
                "{\"command\":\"ls\"}");
}

static void the_stop_word_may_be_missing(void **state)
{
    (void)state;
    assert_read("<function=terminal>\n" COMMAND, "", "{\"command\":\"ls\"}");
    assert_read("<function=terminal>\n<parameter=command>\nls\n</function>", "",
                "{\"command\":\"ls\"}");
}

static void one_line_end_on_each_side_is_not_of_the_value(void **state)
{
    (void)state;
    assert_read(CALL("<parameter=command>\n\na\n b\n\n</parameter>\n"), "",
                "{\"command\":\"\\na\\n b\\n\"}");
}

static void a_value_may_have_end_tags(void **state)
{
    (void)state;
    assert_read(CALL("<parameter=command>echo '</parameter>' '</function>'</parameter>\n"), "",
                "{\"command\":\"echo '</parameter>' '</function>'\"}");
}

static void values_have_the_types_of_their_parameters(void **state)
{
    (void)state;
    assert_read(CALL(COMMAND "<parameter=timeout>2.5</parameter><parameter=n> 7 </parameter>"
                             "<parameter=reset>True</parameter><parameter=list>[1]</parameter>"
                             "<parameter=security_risk>LOW</parameter>"),
                "",
                "{\"command\":\"ls\",\"timeout\":2.5,\"n\":7,\"reset\":true,\"list\":[1],"
                "\"security_risk\":\"LOW\"}");
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    assert_bad(CALL(""), "The call of 'terminal' lacks the required parameter 'command'.");
    assert_bad(CALL(COMMAND "<parameter=n>many</parameter>"),
               "The parameter 'n' of 'terminal' must be a whole number.");
    assert_bad(CALL(COMMAND "<parameter=list>[1</parameter>"),
               "The parameter 'list' of 'terminal' must be a list in JSON.");
    assert_bad(CALL(COMMAND "<parameter=cmd>x</parameter>"),
               "The function 'terminal' has no parameter 'cmd'.");
    assert_bad(CALL(COMMAND "<parameter=security_risk>SEVERE</parameter>"),
               "The parameter 'security_risk' of 'terminal' must be one of [\"LOW\",\"HIGH\"].");
}

static void other_functions_are_read_as_they_are(void **state)
{
    CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;

    (void)state;
    assert_int_equal(
        read_text("<function=execute_bash><parameter=command>7</parameter></function>", &call),
        TEXT_CALL_READ);
    assert_string_equal(call.name.text, "execute_bash");
    assert_string_equal(call.arguments.text, "{\"command\":\"7\"}");
}

static void incomplete_calls_are_none(void **state)
{
    static const char *const texts[] = {"<function=", "<function=terminal",
                                        "<function=terminal>\n<parameter=comm",
                                        "<function=terminal>\n<parameter=command>ls"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;

        assert_int_equal(read_text(texts[i], &call), TEXT_CALL_CUT);
    }
}

static void parameters_and_names_have_limits(void **state)
{
    CLEANUP(strbuf_done) struct strbuf many = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;

    (void)state;
    strbuf_append(&many, "<function=terminal>");
    for (int i = 0; i <= TEXT_CALL_PARAMETERS_MAX; i++)
        strbuf_append(&many, "<parameter=command>x</parameter>");
    assert_bad(many.text, "A call has at most 64 parameters.");
    strbuf_append(&name, "<function=");
    for (int i = 0; i <= TEXT_CALL_NAME_MAX_BYTES; i++)
        strbuf_append_char(&name, 'a');
    strbuf_append(&name, "></function>");
    assert_int_equal(read_text(name.text, &call), TEXT_CALL_CUT);
}

static void words_without_a_call_are_words(void **state)
{
    CLEANUP(text_call_done) struct text_call call = TEXT_CALL_INIT;

    (void)state;
    assert_int_equal(read_text("so</think> It is <b>done</b>.\n", &call), TEXT_CALL_NONE);
    assert_string_equal(call.words.text, "It is <b>done</b>.");
}

/* --- the prompt --- */

static void begin(struct llm_prompt *prompt, const char *model)
{
    json_auto_t *functions = json_from(FUNCTIONS);
    json_auto_t *spec = json_object();

    json_put_text(spec, "model", model);
    json_put_text(spec, "base_url", "http://h");
    json_put(spec, "native_tool_calling", json_false());
    llm_prompt_begin(prompt, test_catalogue(), spec);
    llm_prompt_set_tools(prompt, functions);
}

static void add(struct llm_prompt *prompt, const char *message)
{
    json_auto_t *json = json_from(message);

    llm_prompt_add(prompt, json);
}

static void add_a_conversation(struct llm_prompt *prompt)
{
    add(prompt, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"go\"}]}");
    add(prompt, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I do.\"}],"
                "\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":"
                "{\"name\":\"terminal\",\"arguments\":\"{\\\"command\\\":\\\"a\\\\nb\\\","
                "\\\"n\\\":3}\"}}]}");
    add(prompt, "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"name\":\"terminal\","
                "\"content\":[{\"type\":\"text\",\"text\":\"out\"}]}");
}

static void functions_are_described_in_the_system_text(void **state)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;

    (void)state;
    begin(&prompt, "openai/x");
    add(&prompt, "{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"S\"}]}");
    assert_int_equal(prompt.tools.len, 0);
    assert_non_null(strstr(prompt.messages.text, "\"text\":\"S\\n\\nYou can call"));
    assert_non_null(strstr(prompt.messages.text, "FUNCTION 1: terminal"));
    assert_non_null(
        strstr(prompt.messages.text, "Parameter 1: command (string, required): The command."));
    assert_non_null(strstr(prompt.messages.text, "Allowed values: [\\\"LOW\\\",\\\"HIGH\\\"]."));
}

static void calls_and_results_become_words(void **state)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    CLEANUP(strbuf_done) struct strbuf messages = STRBUF_INIT;

    (void)state;
    begin(&prompt, "openai/devstral-x");
    add_a_conversation(&prompt);
    strbuf_appendf(&messages, "[%s]", prompt.messages.text);
    assert_json_at(messages.text, "[0].role", "\"system\"");
    assert_json_at(messages.text, "[1].content", "[{\"type\":\"text\",\"text\":\"go\"}]");
    assert_json_at(messages.text, "[2].tool_calls", NULL);
    assert_json_at(messages.text, "[2].content[1].text",
                   "\"<function=terminal>\\n<parameter=command>\\na\\nb\\n</parameter>\\n"
                   "<parameter=n>3</parameter>\\n</function>\"");
    assert_json_at(messages.text, "[3]",
                   "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                   "\"EXECUTION RESULT of [terminal]:\\nout\"}]}");
    assert_int_equal(prompt.end.calls.n_calls, 1);
}

static void only_the_first_words_have_an_example_around_them(void **state)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    CLEANUP(strbuf_done) struct strbuf messages = STRBUF_INIT;

    (void)state;
    begin(&prompt, "openai/x");
    add_a_conversation(&prompt);
    add(&prompt, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"more\"}]}");
    strbuf_appendf(&messages, "[%s]", prompt.messages.text);
    assert_json_at(messages.text, "[1].content[1].text", "\"go\"");
    assert_json_at(messages.text, "[4].content", "[{\"type\":\"text\",\"text\":\"more\"}]");
}

static void every_format_has_no_tools_and_a_description(void **state)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;

    (void)state;
    begin(&prompt, "anthropic/claude-sonnet-4-5");
    add_a_conversation(&prompt);
    assert_int_equal(prompt.tools.len, 0);
    assert_non_null(strstr(prompt.system.text, "FUNCTION 1: terminal"));
    assert_null(strstr(prompt.messages.text, "tool_use"));
    assert_non_null(strstr(prompt.messages.text, "EXECUTION RESULT of [terminal]:"));
}

/* --- the reply --- */

static void take(const char *text, const char *finish_reason, struct llm_reply *reply)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;

    begin(&prompt, "openai/x");
    add_a_conversation(&prompt);
    reply->text = mem_dup_text(text);
    reply->finish_reason = mem_dup_text(finish_reason);
    text_calls_take(&prompt.calls, &prompt.end.calls, reply);
}

static void a_reply_gets_its_call(void **state)
{
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;

    (void)state;
    take("I do.\n" CALL(COMMAND), "stop", &reply);
    assert_string_equal(reply.text, "I do.");
    assert_int_equal(reply.n_calls, 1);
    assert_string_equal(reply.calls[0].id, "toolu_02");
    assert_string_equal(reply.calls[0].name, "terminal");
    assert_string_equal(reply.calls[0].arguments, "{\"command\":\"ls\"}");
    assert_null(reply.call_problem);
}

static void a_reply_gets_its_problem(void **state)
{
    CLEANUP(llm_reply_done) struct llm_reply bad = LLM_REPLY_INIT;
    CLEANUP(llm_reply_done) struct llm_reply open = LLM_REPLY_INIT;
    CLEANUP(llm_reply_done) struct llm_reply cut = LLM_REPLY_INIT;

    (void)state;
    take(CALL(""), "stop", &bad);
    assert_non_null(strstr(bad.call_problem, "lacks the required parameter 'command'"));
    assert_int_equal(bad.n_calls, 0);
    take("<function=terminal>\n<parameter=command>ls", "stop", &open);
    assert_non_null(strstr(open.call_problem, "incomplete"));
    take("<function=terminal>\n<parameter=command>ls", "length", &cut);
    assert_null(cut.call_problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_read_with_the_words_before_it),
        cmocka_unit_test(the_stop_word_may_be_missing),
        cmocka_unit_test(one_line_end_on_each_side_is_not_of_the_value),
        cmocka_unit_test(a_value_may_have_end_tags),
        cmocka_unit_test(values_have_the_types_of_their_parameters),
        cmocka_unit_test(what_does_not_fit_is_told),
        cmocka_unit_test(other_functions_are_read_as_they_are),
        cmocka_unit_test(incomplete_calls_are_none),
        cmocka_unit_test(parameters_and_names_have_limits),
        cmocka_unit_test(words_without_a_call_are_words),
        cmocka_unit_test(functions_are_described_in_the_system_text),
        cmocka_unit_test(calls_and_results_become_words),
        cmocka_unit_test(only_the_first_words_have_an_example_around_them),
        cmocka_unit_test(every_format_has_no_tools_and_a_description),
        cmocka_unit_test(a_reply_gets_its_call),
        cmocka_unit_test(a_reply_gets_its_problem),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

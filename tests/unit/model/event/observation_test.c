#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/observation_text.h"
#include "model/limits.h"
#include "unit/model/model_test.h"

static void terminal_says_where_and_how_it_ended(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *observation =
        json_of("{'kind': 'TerminalObservation', 'is_error': false,"
                " 'content': [{'type': 'text', 'text': 'out'}],"
                " 'metadata': {'exit_code': -1, 'prefix': '[p]', 'suffix': '[s]',"
                " 'working_dir': '/w', 'py_interpreter_path': ''}}");

    (void)state;
    observation_append_text(observation, &text);
    assert_string_equal(text.text, "[p]out[s]\n[Current working directory: /w]");
}

static void long_output_loses_its_middle(void **state)
{
    CLEANUP(strbuf_done) struct strbuf long_text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *observation =
        json_of("{'kind': 'FileEditorObservation', 'content': [{'type': 'text'}]}");

    (void)state;
    for (int i = 0; i < TOOL_TEXT_MAX_CHARS; i++)
        strbuf_append(&long_text, "\xc3\xa4");
    strbuf_append(&long_text, "end");
    json_put_text(json_array_get(json_object_get(observation, "content"), 0), "text",
                  long_text.text);
    observation_append_text(observation, &text);
    assert_true(utf8_is_valid(text.text, text.len));
    assert_non_null(strstr(text.text, "\n[... 3 characters left out ...]\n"));
    assert_true(text_ends_with(text.text, "end"));
    assert_int_equal(utf8_length(text.text, text.len),
                     TOOL_TEXT_MAX_CHARS + strlen("\n[... 3 characters left out ...]\n"));
}

/* The terminal has cut it itself, and says in its middle where all of it is. */
static void output_that_just_fits_keeps_its_middle_beside_what_stands_around_it(void **state)
{
    CLEANUP(strbuf_done) struct strbuf long_text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *observation =
        json_of("{'kind': 'TerminalObservation', 'content': [{'type': 'text'}],"
                " 'metadata': {'exit_code': 0, 'suffix': '[s]', 'working_dir': '/w'}}");

    (void)state;
    for (int i = 0; i < TOOL_TEXT_MAX_CHARS; i++)
        strbuf_append(&long_text, "x");
    json_put_text(json_array_get(json_object_get(observation, "content"), 0), "text",
                  long_text.text);
    strbuf_appendf(&expected,
                   "%s[s]\n[Current working directory: /w]\n[Command finished with exit code 0]",
                   long_text.text);
    observation_append_text(observation, &text);
    assert_string_equal(text.text, expected.text);
}

static void odd_observations_are_empty_texts(void **state)
{
    static const char *const cases[] = {"{}", "{'kind': 5, 'content': {}}",
                                        "{'kind': 'TerminalObservation', 'metadata': []}",
                                        "{'content': [1, {'type': 'image'}]}"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_auto_t *observation = json_of(cases[i]);

        observation_append_text(observation, &text);
        assert_string_equal(text.text, "");
    }
}

static void each_kind_has_its_text(void **state)
{
    static const struct {
        const char *observation;
        const char *text;
    } cases[] = {
        {"{'kind': 'TerminalObservation', 'content': [{'text': 'a'}, {'text': 'b'}],"
         " 'metadata': {'exit_code': 2, 'working_dir': '', 'py_interpreter_path': '/py'}}",
         "ab\n[Python interpreter: /py]\n[Command finished with exit code 2]"},
        {"{'kind': 'TerminalObservation', 'content': [{'text': 'a'}]}", "a"},
        {"{'kind': 'TaskObservation', 'task_id': 't', 'subagent': 's', 'status': 'done',"
         " 'content': [{'text': 'a'}]}",
         "[Task: t, sub-agent: s, status: done]\na"},
        {"{'kind': 'TaskObservation'}", "[Task: , sub-agent: , status: ]\n"},
        {"{'kind': 'FileEditorObservation', 'content': [{'text': 'a'}, {'text': 'b'}]}", "ab"},
        {"{'kind': 'BrowserObservation', 'content': [{'text': 'a'}, {'text': 'b'}]}", "ab"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_auto_t *observation = json_of(cases[i].observation);

        observation_append_text(observation, &text);
        assert_string_equal(text.text, cases[i].text);
    }
}

static void head_and_tail_of_long_output_have_one_length(void **state)
{
    CLEANUP(strbuf_done) struct strbuf long_text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *observation = json_of("{'content': [{'type': 'text'}]}");

    (void)state;
    for (int i = 0; i < TOOL_TEXT_MAX_CHARS + 2; i++) {
        strbuf_append_char(&long_text, (char)('a' + i % 26));
        if (i == TOOL_TEXT_MAX_CHARS / 2 || i == TOOL_TEXT_MAX_CHARS / 2 + 1)
            continue;
        if (i == TOOL_TEXT_MAX_CHARS / 2 + 2)
            strbuf_append(&expected, "\n[... 2 characters left out ...]\n");
        strbuf_append_char(&expected, (char)('a' + i % 26));
    }
    json_put_text(json_array_get(json_object_get(observation, "content"), 0), "text",
                  long_text.text);
    observation_append_text(observation, &text);
    assert_string_equal(text.text, expected.text);
}

static void browsers_text_is_not_cut(void **state)
{
    CLEANUP(strbuf_done) struct strbuf long_text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *observation =
        json_of("{'kind': 'BrowserObservation', 'content': [{'type': 'text'}]}");

    (void)state;
    while (long_text.len <= TOOL_TEXT_MAX_CHARS)
        strbuf_append(&long_text, "0123456789");
    json_put_text(json_array_get(json_object_get(observation, "content"), 0), "text",
                  long_text.text);
    observation_append_text(observation, &text);
    assert_string_equal(text.text, long_text.text);
}

int observation_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminal_says_where_and_how_it_ended),
        cmocka_unit_test(long_output_loses_its_middle),
        cmocka_unit_test(output_that_just_fits_keeps_its_middle_beside_what_stands_around_it),
        cmocka_unit_test(odd_observations_are_empty_texts),
        cmocka_unit_test(each_kind_has_its_text),
        cmocka_unit_test(head_and_tail_of_long_output_have_one_length),
        cmocka_unit_test(browsers_text_is_not_cut),
    };

    return cmocka_run_group_tests_name("model/observation", tests, NULL, NULL);
}

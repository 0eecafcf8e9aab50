#include "sandbox/terminal/terminal_text.h"

#include "base/strbuf.h"
#include "base/text.h"
#include "unit/sandbox/sandbox_test.h"

static void suffixes_begin_as_clients_expect(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    terminal_text_completed(&out, 0, '\0');
    assert_string_equal(out.text, "\n[The command completed with exit code 0.]");
    strbuf_reset(&out);
    terminal_text_completed(&out, 130, 'C');
    assert_string_equal(out.text, "\n[The command completed with exit code 130. CTRL+C was sent.]");
    strbuf_reset(&out);
    terminal_text_silent(&out, 30, TERMINAL_TOOL);
    assert_true(text_starts_with(out.text, "\n[The command has no new output after 30 seconds. "));
    strbuf_reset(&out);
    terminal_text_timed_out(&out, 5, TERMINAL_TOOL);
    assert_true(text_starts_with(out.text, "\n[The command timed out after 5.0 seconds. "));
    strbuf_reset(&out);
    terminal_text_not_executed(&out, "ls", TERMINAL_TOOL);
    assert_true(text_starts_with(out.text, "\n[Your command \"ls\" is NOT executed. The previous "
                                           "command is still running - "));
}

/* Each API names its own tool, and writes numbers in its own way. */
static void hint_names_the_tool(void **state)
{
    static const struct {
        enum terminal_api face;
        const char *timed_out;
        const char *end;
    } cases[] = {
        {TERMINAL_TOOL, "\n[The command timed out after 5.0 seconds. You may wait longer by ",
         "use the timeout parameter of the terminal tool for later commands.]"},
        {TERMINAL_RUN, "\n[The command timed out after 5 seconds. You may wait longer by ",
         "use the timeout parameter of the execute_bash tool for later commands.]"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

        terminal_text_timed_out(&out, 5, cases[i].face);
        assert_true(text_starts_with(out.text, cases[i].timed_out));
        assert_true(text_ends_with(out.text, cases[i].end));
        strbuf_reset(&out);
        terminal_text_silent(&out, 0.5, cases[i].face);
        assert_true(
            text_starts_with(out.text, "\n[The command has no new output after 0.5 seconds. You "));
        assert_true(text_ends_with(out.text, cases[i].end));
        strbuf_reset(&out);
        terminal_text_not_executed(&out, "ls", cases[i].face);
        assert_true(text_ends_with(out.text, cases[i].end));
    }
}

static void seconds_read_as_floats(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    terminal_text_seconds(&out, 0.25);
    strbuf_append_char(&out, ' ');
    terminal_text_seconds(&out, 120);
    assert_string_equal(out.text, "0.25 120.0");
}

static void literals_are_told_from_commands(void **state)
{
    static const char *const literals[] = {"[{", "[\"a\"]", "['a']", "{\"a\":1}", "{'a'}", "[[1]]"};
    static const char *const others[] = {"[ -f x ]", "[[ a ]]", "{ ls; }", "(ls)", "", "[[", "ls"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(literals); i++)
        assert_true(terminal_text_is_literal(literals[i]));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(terminal_text_is_literal(others[i]));
}

int terminal_text_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suffixes_begin_as_clients_expect),
        cmocka_unit_test(hint_names_the_tool),
        cmocka_unit_test(seconds_read_as_floats),
        cmocka_unit_test(literals_are_told_from_commands),
    };

    return cmocka_run_group_tests_name("terminal_text", tests, NULL, NULL);
}

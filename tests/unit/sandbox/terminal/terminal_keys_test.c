#include "sandbox/terminal/terminal_keys.h"
#include "unit/sandbox/sandbox_test.h"

static void control_keys_have_three_spellings(void **state)
{
    (void)state;
    assert_string_equal(terminal_key_bytes("C-c"), "\x03");
    assert_string_equal(terminal_key_bytes("c-C"), "\x03");
    assert_string_equal(terminal_key_bytes("CTRL-z"), "\x1a");
    assert_string_equal(terminal_key_bytes("ctrl+a"), "\x01");
    assert_int_equal(terminal_key_control_letter("ctrl+d"), 'D');
    assert_int_equal(terminal_key_control_letter("C-cc"), '\0');
}

static void named_keys_send_their_sequences(void **state)
{
    (void)state;
    assert_string_equal(terminal_key_bytes("enter"), "\r");
    assert_string_equal(terminal_key_bytes("UP"), "\x1b[A");
    assert_string_equal(terminal_key_bytes("PgDn"), "\x1b[6~");
    assert_string_equal(terminal_key_bytes("BS"), "\x7f");
}

static void other_text_is_no_key(void **state)
{
    (void)state;
    assert_null(terminal_key_bytes(""));
    assert_null(terminal_key_bytes("C-"));
    assert_null(terminal_key_bytes("C-1"));
    assert_null(terminal_key_bytes("UP "));
    assert_null(terminal_key_bytes("hello"));
}

int terminal_keys_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_keys_have_three_spellings),
        cmocka_unit_test(named_keys_send_their_sequences),
        cmocka_unit_test(other_text_is_no_key),
    };

    return cmocka_run_group_tests_name("terminal_keys", tests, NULL, NULL);
}

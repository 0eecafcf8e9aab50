#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "unit/base/base_test.h"

static void failing_is_one_line_that_says_where(void **state)
{
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(error_set(&err, ERROR_NOT_FOUND, "no %s", "cat"), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_string_equal(err.message, "no cat");
    assert_non_null(strstr(err.where, "error_test.c:"));
}

static void context_stands_before_the_cause(void **state)
{
    struct error err = ERROR_INIT;
    const char *where = NULL;

    (void)state;
    assert_int_equal(error_set(&err, ERROR_TIMEOUT, "late"), -1);
    where = err.where;
    assert_int_equal(error_wrap(&err, "host %d", 7), -1);
    assert_string_equal(err.message, "host 7: late");
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_ptr_equal(err.where, where);
}

static void failure_of_that_code_alone_is_reworded(void **state)
{
    struct error err = ERROR_INIT;
    const char *where = NULL;

    (void)state;
    assert_int_equal(error_set(&err, ERROR_NOT_FOUND, "no row"), -1);
    where = err.where;
    assert_int_equal(error_reword(&err, ERROR_CONFLICT, "taken"), -1);
    assert_string_equal(err.message, "no row");
    assert_int_equal(error_reword(&err, ERROR_NOT_FOUND, "not there: %s", err.message), -1);
    assert_string_equal(err.message, "not there: no row");
    assert_string_equal(err.where, where);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void long_messages_are_cut_at_a_character(void **state)
{
    struct error err = ERROR_INIT;
    static const unsigned char euro[] = {0xe2, 0x82, 0xac};
    char text[2 * ERROR_MESSAGE_BYTES] = "x";

    (void)state;
    for (size_t i = 1; i + 3 < sizeof(text); i += 3)
        memcpy(text + i, euro, sizeof(euro));
    assert_int_equal(error_set(&err, ERROR_INVALID, "%s", text), -1);
    assert_true(utf8_is_valid(err.message, strlen(err.message)));
    assert_true(strlen(err.message) > ERROR_MESSAGE_BYTES - 5);
    assert_null(strchr(err.message, '?'));
    assert_int_equal(error_wrap(&err, "%s", text), -1);
    assert_true(utf8_is_valid(err.message, strlen(err.message)));
    assert_null(strchr(err.message, '?'));
    /* The cause is cut where the context leaves it no room. */
    assert_int_equal(error_set(&err, ERROR_INVALID, "%s", text), -1);
    assert_int_equal(error_wrap(&err, "ab"), -1);
    assert_true(utf8_is_valid(err.message, strlen(err.message)));
    assert_null(strchr(err.message, '?'));
    assert_true(strlen(err.message) > ERROR_MESSAGE_BYTES - 5);
}

/* Characters cut in the middle by a precision, and bytes that are not UTF-8. */
/* As long as there is room for, and one byte more. */
static void longest_message_is_kept_whole(void **state)
{
    struct error err = ERROR_INIT;
    char text[ERROR_MESSAGE_BYTES + 1] = "";

    (void)state;
    memset(text, 'x', ERROR_MESSAGE_BYTES - 1);
    assert_int_equal(error_set(&err, ERROR_INVALID, "%s", text), -1);
    assert_string_equal(err.message, text);
    text[ERROR_MESSAGE_BYTES - 1] = 'y';
    assert_int_equal(error_set(&err, ERROR_INVALID, "%s", text), -1);
    assert_int_equal(strlen(err.message), ERROR_MESSAGE_BYTES - 1);
    assert_null(strchr(err.message, 'y'));
}

static void messages_are_utf8_whatever_the_arguments(void **state)
{
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(error_set(&err, ERROR_INVALID, "'%.4s' is none", "abc\xc3\xa9"), -1);
    assert_string_equal(err.message, "'abc?' is none");
    assert_int_equal(error_wrap(&err, "%s", "\xff"), -1);
    assert_string_equal(err.message, "?: 'abc?' is none");
    assert_int_equal(error_reword(&err, ERROR_INVALID, "\xc3\xa9 \xed\xa0\x80"), -1);
    assert_string_equal(err.message, "\xc3\xa9 ???");
}

static void only_passing_trouble_is_transient(void **state)
{
    (void)state;
    for (unsigned code = 0; code < ERROR_N_CODES; code++) {
        struct error err = {.code = (enum error_code)code};
        int is_passing =
            code == ERROR_UNAVAILABLE || code == ERROR_TIMEOUT || code == ERROR_RATE_LIMITED;

        assert_int_equal(error_is_transient(&err), is_passing);
        assert_true(strlen(error_code_to_string(err.code)) > 0);
    }
}

static void lost_races_are_conflicts_and_stale_leases(void **state)
{
    (void)state;
    for (unsigned code = 0; code < ERROR_N_CODES; code++) {
        struct error err = {.code = (enum error_code)code};

        assert_int_equal(error_is_lost_race(&err), code == ERROR_CONFLICT || code == ERROR_STALE);
    }
}

int error_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_is_one_line_that_says_where),
        cmocka_unit_test(context_stands_before_the_cause),
        cmocka_unit_test(failure_of_that_code_alone_is_reworded),
        cmocka_unit_test(long_messages_are_cut_at_a_character),
        cmocka_unit_test(longest_message_is_kept_whole),
        cmocka_unit_test(messages_are_utf8_whatever_the_arguments),
        cmocka_unit_test(only_passing_trouble_is_transient),
        cmocka_unit_test(lost_races_are_conflicts_and_stale_leases),
    };

    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}

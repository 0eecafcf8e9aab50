#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "unit/base/base_test.h"

static void texts_compare_as_they_read(void **state)
{
    (void)state;
    assert_true(text_equal("a", "a"));
    assert_false(text_equal("a", "A"));
    assert_true(text_equal_nocase("aBc", "AbC"));
    assert_true(text_starts_with("abc", "ab"));
    assert_true(text_starts_with("abc", ""));
    assert_false(text_starts_with("a", "ab"));
    assert_true(text_ends_with("abc", "bc"));
    assert_false(text_ends_with("c", "bc"));
    assert_true(text_equal_secret("key", "key"));
    assert_false(text_equal_secret("key", "kez"));
    assert_false(text_equal_secret("key", "keyy"));
    assert_true(text_is_blank(" \t\n"));
    assert_false(text_is_blank(" x "));
}

struct int_case {
    const char *text;
    int64_t value;
    int rc;
};

static void only_whole_numbers_in_range_are_read(void **state)
{
    static const struct int_case cases[] = {
        {"0", 0, 0},     {"100", 100, 0}, {"-5", -5, 0}, {"101", 0, -1},
        {"", 0, -1},     {"1x", 0, -1},   {" 1", 0, -1}, {"1 ", 0, -1},
        {"0x10", 0, -1}, {"1.0", 0, -1},  {"-6", 0, -1}, {"99999999999999999999", 0, -1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        int64_t value = 0;

        assert_int_equal(text_parse_int(cases[i].text, -5, 100, &value, &err), cases[i].rc);
        assert_int_equal(value, cases[i].value);
        assert_int_equal(err.code, cases[i].rc == 0 ? ERROR_NONE : ERROR_INVALID);
    }
}

/* RFC 3629, section 4, and what Unicode, table 3-7, leaves out. */
static void utf8_is_told_from_other_bytes(void **state)
{
    static const char *const valid[] = {"",
                                        "a",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf"};
    static const char *const broken[] = {"\x80",
                                         "\xc0\x80",
                                         "\xc1\xbf",
                                         "\xc2",
                                         "\xc2\x41",
                                         "\xe0\x9f\xbf",
                                         "\xed\xa0\x80",
                                         "\xe2\x82",
                                         "\xf0\x8f\xbf\xbf",
                                         "\xf4\x90\x80\x80",
                                         "\xf5\x80\x80\x80",
                                         "\xff",
                                         "a\xfe"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(valid); i++)
        assert_true(utf8_is_valid(valid[i], strlen(valid[i])));
    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;

        assert_false(utf8_is_valid(broken[i], strlen(broken[i])));
        utf8_append_repaired(&repaired, broken[i], strlen(broken[i]));
        assert_true(utf8_is_valid(repaired.text, repaired.len));
        assert_non_null(strstr(repaired.text, "\xef\xbf\xbd"));
    }
}

/* What lies behind the bytes does not count, whatever it is. */
static void only_the_given_bytes_are_looked_at(void **state)
{
    CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;

    (void)state;
    assert_true(utf8_is_valid("ab\xff", 2));
    assert_true(utf8_is_valid("\xff", 0));
    assert_false(utf8_is_valid("a\xc3\xa4", 2));
    assert_true(utf8_is_valid("a\0b", 3));
    assert_int_equal(utf8_length("ab\xc3\xa4", 3), 3);
    assert_int_equal(utf8_length("abc", 2), 2);
    assert_int_equal(utf8_offset("abc", 2, 5), 2);
    utf8_append_repaired(&repaired, "a\xc3\xa4", 2);
    assert_string_equal(repaired.text, "a\xef\xbf\xbd");
}

static void repair_keeps_what_is_whole(void **state)
{
    CLEANUP(strbuf_done) struct strbuf repaired = STRBUF_INIT;

    (void)state;
    utf8_append_repaired(&repaired, "\xe2\x82\xac\0\xe2z", 6);
    assert_string_equal(repaired.text, "\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbdz");
}

static void characters_are_counted_not_bytes(void **state)
{
    const char *text = "a\xe2\x82\xac\xc3\xa4";

    (void)state;
    assert_int_equal(utf8_length(text, strlen(text)), 3);
    assert_int_equal(utf8_offset(text, strlen(text), 0), 0);
    assert_int_equal(utf8_offset(text, strlen(text), 2), 4);
    assert_int_equal(utf8_offset(text, strlen(text), 3), 6);
    assert_int_equal(utf8_offset(text, strlen(text), 9), 6);
}

static void white_space_alone_is_blank(void **state)
{
    (void)state;
    assert_true(text_is_blank(""));
    assert_true(text_is_blank(" \t\r\n\f\v"));
    assert_false(text_is_blank("\xc2\xa0"));
    assert_false(text_is_blank("\n."));
}

static void numbers_are_told_why_they_are_refused(void **state)
{
    struct error err = ERROR_INIT;
    int64_t value = 3;

    (void)state;
    assert_int_equal(text_parse_int("x", 0, 9, &value, &err), -1);
    assert_string_equal(err.message, "'x' is not a whole number");
    assert_int_equal(text_parse_int("10", 0, 9, &value, &err), -1);
    assert_string_equal(err.message, "10 is not between 0 and 9");
    assert_int_equal(text_parse_int("-1", 0, 9, &value, &err), -1);
    assert_int_equal(text_parse_int("9223372036854775808", 0, INT64_MAX, &value, &err), -1);
    assert_int_equal(value, 3);
    assert_int_equal(text_parse_int("9", 0, 9, &value, &err), 0);
    assert_int_equal(value, 9);
    assert_int_equal(text_parse_int("9223372036854775807", 0, INT64_MAX, &value, &err), 0);
    assert_int_equal(value, INT64_MAX);
}

int text_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_compare_as_they_read),
        cmocka_unit_test(only_whole_numbers_in_range_are_read),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(only_the_given_bytes_are_looked_at),
        cmocka_unit_test(repair_keeps_what_is_whole),
        cmocka_unit_test(characters_are_counted_not_bytes),
        cmocka_unit_test(white_space_alone_is_blank),
        cmocka_unit_test(numbers_are_told_why_they_are_refused),
    };

    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}

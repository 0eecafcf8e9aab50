#include "base/clock.h"

#include <string.h>

#include "base/error.h"
#include "unit/base/base_test.h"

struct clock_case {
    const char *text;
    int64_t utc_us; /* -1: refused */
};

static void times_are_read_with_and_without_a_zone(void **state)
{
    static const struct clock_case cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:01", 1000000},
        {"1970-01-01 00:00:01", 1000000},
        {"1970-01-01t00:00:01z", 1000000},
        {"1970-01-01T00:00:00.5Z", 500000},
        {"1970-01-01T00:00:00.123456Z", 123456},
        {"1970-01-01T00:00:00.1234567Z", 123456},
        {"1970-01-01T02:00:00+02:00", 0},
        {"1969-12-31T22:30:00-01:30", 0},
        {"1970-01-01T02:00:00+0200", 0},
        {"2026-01-15T10:30:00.123456", 1768473000123456},
        {"2024-02-29T00:00:00Z", 1709164800000000},
        {"2026-01-15", 1768435200000000},
        {"9999-12-31T23:59:59+00:01", 253402300739000000},
        {"", -1},
        {"2026-01-15T", -1},
        {"2026-01", -1},
        {"9999-12-31T23:59:59-00:01", -1},
        {"0001-01-01T00:00:00+00:01", -1},
        {"0000-12-31T23:59:59", -1},
        {"2026-13-15T10:30:00", -1},
        {"2026-01-32T10:30:00", -1},
        {"2026-01-15T25:30:00", -1},
        {"2026-01-15T10:30:00X", -1},
        {"2026-01-15T10:30:00+99:00", -1},
        {"2026-01-15T10:30:00Z trailing", -1},
        {"2026-02-31T10:30:00Z", -1},
        {"2025-02-29T00:00:00Z", -1},
        {"2026- 1-15T10:30:00Z", -1},
        {"2026-01-15T10:30:+1Z", -1},
        {"1970-01-01T00:00:00+02", -1},
        {"now", -1},
        {"1970-01-01T00:00:60Z", 60000000},
        {"1970-01-01T23:59:59Z", 86399000000},
        {"1970-01-01T00:00:01,5Z", 1500000},
        {"1970-01-01T00:00:01.Z", 1000000},
        {"1970-01-01T00:30:00 00:30", 0},
        {"1970-01-01T23:00:00+23:00", 0},
        {"1970-01-01T00:59:00+00:59", 0},
        {"1970-12-31", 31449600000000},
        {"1970-01-01T00:00:61Z", -1},
        {"1970-01-01T00:60:00Z", -1},
        {"1970-01-01T24:00:00Z", -1},
        {"1970-01-01T00:00:00+24:00", -1},
        {"1970-01-01T00:00:00+00:60", -1},
        {"1970-01-01T00:00:00+0", -1},
        {"1970-01-01T00:00:00+00:0", -1},
        {"1970-01-00T00:00:00Z", -1},
        {"1970-00-01T00:00:00Z", -1},
        {"1970-01-01X00:00:00Z", -1},
        {"1970-01-01T00:00Z", -1},
        {"1970/01/01", -1},
        {"197-01-01", -1},
        {"1970-01-01T00.00.00", -1},
        {"1900-02-29", -1},
        {"2000-02-29", 951782400000000},
        {"9999-12-31T23:59:59.999999Z", 253402300799999999},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        int64_t utc_us = -1;
        int rc = clock_parse(cases[i].text, &utc_us, &err);

        if (rc != (cases[i].utc_us < 0 ? -1 : 0) || utc_us != cases[i].utc_us)
            fail_msg("%s", cases[i].text);
        assert_int_equal(utc_us, cases[i].utc_us);
    }
}

static void years_of_four_digits_are_read_from_the_first_on(void **state)
{
    struct error err = ERROR_INIT;
    int64_t utc_us = 0;
    char text[CLOCK_TEXT_BYTES];

    (void)state;
    assert_int_equal(clock_parse("0001-01-01T00:00:00", &utc_us, &err), 0);
    assert_int_equal(utc_us, -62135596800000000);
    clock_format_naive(utc_us, text);
    assert_string_equal(text, "0001-01-01T00:00:00.000000");
}

static void times_are_written_with_six_digits(void **state)
{
    char text[CLOCK_TEXT_BYTES];

    (void)state;
    clock_format_naive(1768473000123456, text);
    assert_string_equal(text, "2026-01-15T10:30:00.123456");
    clock_format_z(1768473000000001, text);
    assert_string_equal(text, "2026-01-15T10:30:00.000001Z");
    clock_format_z(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999999Z");
    clock_format_z(-1000000, text);
    assert_string_equal(text, "1969-12-31T23:59:59.000000Z");
    clock_format_z(253402300799999999, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999999Z");
    clock_format_naive(INT64_MAX, text);
    assert_int_equal(strlen(text), CLOCK_TEXT_BYTES - 1);
}

static void what_is_written_reads_back(void **state)
{
    struct error err = ERROR_INIT;
    int64_t now_us = clock_utc_us();
    int64_t read_us = 0;
    char text[CLOCK_TEXT_BYTES];

    (void)state;
    clock_format_z(now_us, text);
    assert_int_equal(clock_parse(text, &read_us, &err), 0);
    assert_int_equal(read_us, now_us);
}

static void monotonic_clock_does_not_go_back(void **state)
{
    int64_t first_us = clock_monotonic_us();
    int64_t second_us = clock_monotonic_us();

    (void)state;
    assert_true(second_us >= first_us);
    assert_true(clock_monotonic_ms() >= first_us / 1000);
    assert_true(clock_monotonic_ms() <= clock_monotonic_us() / 1000);
}

int clock_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_with_and_without_a_zone),
        cmocka_unit_test(years_of_four_digits_are_read_from_the_first_on),
        cmocka_unit_test(times_are_written_with_six_digits),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(monotonic_clock_does_not_go_back),
    };

    return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}

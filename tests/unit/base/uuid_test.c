#include "base/text.h"
#include "base/uuid.h"
#include "unit/base/base_test.h"

static void both_forms_read_as_the_dashed_one(void **state)
{
    struct uuid uuid = UUID_INIT;
    char hex[UUID_HEX_BYTES];

    (void)state;
    assert_false(uuid_is_set(&uuid));
    assert_true(uuid_parse("0B2C8359-CA3B-401F-A002-45D39680560A", &uuid));
    assert_string_equal(uuid.text, "0b2c8359-ca3b-401f-a002-45d39680560a");
    assert_true(uuid_parse("0b2c8359ca3b401fa00245d39680560a", &uuid));
    assert_string_equal(uuid.text, "0b2c8359-ca3b-401f-a002-45d39680560a");
    uuid_to_hex(&uuid, hex);
    assert_string_equal(hex, "0b2c8359ca3b401fa00245d39680560a");
}

static void anything_else_is_none(void **state)
{
    static const char *const texts[] = {
        "",
        "x",
        "0b2c8359ca3b401fa00245d39680560",
        "0b2c8359ca3b401fa00245d39680560az",
        "0b2c8359-ca3b-401f-a002-45d39680560a0",
        "0b2c8359-ca3b-401f-a002-45d39680560g",
        "0b2c8359ca3b-401f-a002-45d39680560a--",
        "0b2c8359-ca3b401f-a002-45d3968-0560a",
        "{0b2c8359ca3b401fa00245d39680560a}",
    };
    struct uuid uuid = UUID_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_false(uuid_parse(texts[i], &uuid));
    assert_false(uuid_is_set(&uuid));
}

/* RFC 9562, section 5.4. */
static void random_ones_are_of_version_4(void **state)
{
    struct uuid a = uuid_random();
    struct uuid b = uuid_random();
    struct uuid read = UUID_INIT;

    (void)state;
    assert_true(uuid_parse(a.text, &read));
    assert_int_equal(a.text[14], '4');
    assert_true(a.text[19] == '8' || a.text[19] == '9' || a.text[19] == 'a' || a.text[19] == 'b');
    assert_false(text_equal(a.text, b.text));
}

/* The start of the name's SHA-256. */
static void a_name_has_one(void **state)
{
    struct uuid a = uuid_from_name("abc");
    struct uuid empty = uuid_from_name("");

    (void)state;
    assert_string_equal(a.text, "ba7816bf-8f01-cfea-4141-40de5dae2223");
    assert_string_equal(empty.text, "e3b0c442-98fc-1c14-9afb-f4c8996fb924");
}

int uuid_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_read_as_the_dashed_one),
        cmocka_unit_test(anything_else_is_none),
        cmocka_unit_test(random_ones_are_of_version_4),
        cmocka_unit_test(a_name_has_one),
    };

    return cmocka_run_group_tests_name("base/uuid", tests, NULL, NULL);
}

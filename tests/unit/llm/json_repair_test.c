/*
 * Malformed JSON that models and their servers send: what is mended, and what stays a fault.
 */
#include "llm/json_repair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"

static void malformed_json_is_repaired(void **state)
{
    static const struct {
        const char *text;
        const char *repaired; /* the string's bytes */
    } cases[] = {
        {"\"a\\ud800b\"", "a\xef\xbf\xbd"
                          "b"},
        {"\"\\udc00\"", "\xef\xbf\xbd"},
        {"\"\\udfff\"", "\xef\xbf\xbd"},
        {"\"\\ud7ff\\ud800\"", "\xed\x9f\xbf\xef\xbf\xbd"},
        {"\"\\ue000\\ud800\"", "\xee\x80\x80\xef\xbf\xbd"},
        {"\"\\ud83d\\ude00\\u0000\"", "\xf0\x9f\x98\x80\xef\xbf\xbd"},
        {"\"\\udbff\\udfff\\udbff\"", "\xf4\x8f\xbf\xbf\xef\xbf\xbd"},
        {"\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\"\\ud83dx\\ude00\"", "\xef\xbf\xbdx\xef\xbf\xbd"},
        {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                               "A"},
        {"\"\\\\ud800\xff\"", "\\ud800\xef\xbf\xbd"},
        {"\"\\n\\\"\xff\"", "\n\"\xef\xbf\xbd"},
        {"\"\\nd800\xff\"", "\nd800\xef\xbf\xbd"},
        {"\"\\ud83dxude00\"", "\xef\xbf\xbdxude00"},
        {"\"\\ud83d\\nde00\"", "\xef\xbf\xbd\nde00"},
        {"\"\xff\\t\"", "\xef\xbf\xbd\t"},
        {"\"\\u00e9\\u00E9\xff\"", "\xc3\xa9\xc3\xa9\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        json_auto_t *json = NULL;

        if (json_parse_lenient(cases[i].text, strlen(cases[i].text), &json, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_string_equal(json_string_value(json), cases[i].repaired);
    }
}

static void other_faults_of_json_stay(void **state)
{
    static const char *const texts[] = {"",  "\"\\u12\"", "\"\\ud8\"",     "\"\\", "\"\\ux000\"",
                                        "{", "[1,]",      "\"\\ud83d\\u\""};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = ERROR_INIT;
        json_auto_t *json = NULL;

        assert_int_equal(json_parse_lenient(texts[i], strlen(texts[i]), &json, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_null(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_json_is_repaired),
        cmocka_unit_test(other_faults_of_json_stay),
    };

    json_setup();
    return cmocka_run_group_tests_name("json_repair", tests, NULL, NULL);
}

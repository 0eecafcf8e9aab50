#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/preview.h"
#include "unit/model/model_test.h"

struct label_case {
    const char *label;
    int port;
};

static void labels_are_numbers_or_names(void **state)
{
    static const struct label_case cases[] = {
        {"8080", 8080},    {"1", 1},          {"65535", 65535}, {"vscode", PREVIEW_EDITOR_PORT},
        {"work-1", 12000}, {"work-2", 12001}, {"", 0},          {"0", 0},
        {"08080", 0},      {"65536", 0},      {"-1", 0},        {"+80", 0},
        {"80a", 0},        {"work-3", 0},     {"8080-x", 0},    {"99999999999999999999", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (preview_port_of_label(cases[i].label) != cases[i].port)
            fail_msg("%s is %d", cases[i].label, preview_port_of_label(cases[i].label));
    }
}

static void the_port_of_the_server_is_not_shown(void **state)
{
    (void)state;
    assert_true(preview_port_is_allowed(80));
    assert_true(preview_port_is_allowed(65535));
    assert_false(preview_port_is_allowed(PREVIEW_ACTION_PORT));
    assert_false(preview_port_is_allowed(0));
    assert_false(preview_port_is_allowed(65536));
}

static void origins_stand_below_the_pages_host(void **state)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;

    (void)state;
    preview_append_url(&url, "https://deft.example.com:8443", "abcdefghijklmnop", 5173);
    assert_string_equal(url.text, "https://5173-abcdefghijklmnop.sandbox.deft.example.com:8443");
}

static void an_editors_token_is_of_its_sandbox_and_does_not_tell_its_key(void **state)
{
    char one[PREVIEW_EDITOR_TOKEN_BYTES] = "";
    char other[PREVIEW_EDITOR_TOKEN_BYTES] = "";

    (void)state;
    preview_editor_token("a key", one);
    preview_editor_token("another key", other);
    assert_int_equal(strspn(one, "0123456789abcdef"), 32);
    assert_string_not_equal(one, other);
    preview_editor_token("a key", other);
    assert_string_equal(one, other);
}

int preview_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_numbers_or_names),
        cmocka_unit_test(the_port_of_the_server_is_not_shown),
        cmocka_unit_test(origins_stand_below_the_pages_host),
        cmocka_unit_test(an_editors_token_is_of_its_sandbox_and_does_not_tell_its_key),
    };

    return cmocka_run_group_tests_name("model/preview", tests, NULL, NULL);
}

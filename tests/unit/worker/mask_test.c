#include "worker/worker_test.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "worker/agent/mask.h"
#include "worker/events.h"

static void a_growing_text_settles_before_what_may_be_a_value(void **state)
{
    static const struct {
        const char *text;
        size_t settled;
    } cases[] = {
        {"", 0},      {"no value", 8}, {"x ab", 2},     {"x abc", 2},    {"abcd", 0},
        {"abcde", 0}, {"abcdef", 6},   {"abcdefab", 6}, {"abc abc!", 8},
    };
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    json_auto_t *secrets = json_object();

    (void)state;
    json_put_text(secrets, "SHORT", "abc");
    json_put_text(secrets, "LONG", "abcdef");
    secret_list_read(&list, secrets);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(mask_settled_length(&list, cases[i].text), cases[i].settled);
}

static void values_are_hidden_wherever_they_stand(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *secrets =
        test_json("{\"A\": \"abc\", \"LONG\": {\"value\": \"abcdef\"}, \"NO\": {}}");
    json_auto_t *json = test_json("{\"x\": [\"an abcdef here\", 1], \"y\": {\"z\": \"abc\"}}");

    (void)state;
    secret_list_read(&list, secrets);
    assert_int_equal(list.n, 2);
    mask_append(&list, "abcdef, abc and ab", &out);
    assert_string_equal(out.text, "<secret-hidden>, <secret-hidden> and ab");
    mask_json(&list, json);
    strbuf_reset(&out);
    json_append_text(&out, json);
    assert_null(strstr(out.text, "abc"));
}

static void commands_get_the_secrets_they_name(void **state)
{
    CLEANUP(secret_list_done) struct secret_list list = SECRET_LIST_INIT;
    json_auto_t *secrets = test_json("{\"TOKEN\": \"t\", \"OTHER\": \"o\", \"not a name\": \"n\"}");
    json_auto_t *env = NULL;

    (void)state;
    secret_list_read(&list, secrets);
    env = secret_list_env(&list, "echo $token; echo not a name");
    assert_int_equal(json_object_size(env), 1);
    assert_string_equal(json_text_or(env, "TOKEN", ""), "t");
    assert_null(secret_list_env(&list, "ls"));
}

int mask_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_growing_text_settles_before_what_may_be_a_value),
        cmocka_unit_test(values_are_hidden_wherever_they_stand),
        cmocka_unit_test(commands_get_the_secrets_they_name),
    };

    return cmocka_run_group_tests_name("mask", tests, NULL, NULL);
}

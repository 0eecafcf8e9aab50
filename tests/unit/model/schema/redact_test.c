#include "base/attr.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

static void secrets_are_hidden_wherever_they_are(void **state)
{
    json_auto_t *input =
        json_of("{'api_key': 'x', 'GITHUB_TOKEN': 'y', 'n_tokens': 5, 'plain': 'hello',"
                " 'headers': {'X-Any': 'z'}, 'list': ['ghp_abc', 'fine', {'password': ['deep']}]}");
    json_auto_t *expected = json_of(
        "{'api_key': '<redacted>', 'GITHUB_TOKEN': '<redacted>', 'n_tokens': 5, 'plain': 'hello',"
        " 'headers': {'X-Any': '<redacted>'},"
        " 'list': ['<redacted>', 'fine', {'password': ['<redacted>']}]}");
    json_auto_t *copy = redact_copy(input);

    (void)state;
    assert_json_equal(copy, expected);
}

static void problem_of_a_secret_does_not_show_it(void **state)
{
    static const struct json_path body = {NULL, "body", 0};
    static const struct json_path place = {&body, "api_key", 0};
    json_auto_t *problems = json_array();
    json_auto_t *input = json_string("hunter2");

    (void)state;
    validation_error_add_value(problems, &place, "is bad", input);
    assert_string_equal(json_text_or(json_array_get(problems, 0), "input", ""), "<redacted>");
}

static void problem_without_input_says_null(void **state)
{
    static const struct json_path body = {NULL, "body", 0};
    json_auto_t *problems = json_array();

    (void)state;
    validation_error_add_value(problems, &body, "is bad", NULL);
    assert_true(json_is_null(json_object_get(json_array_get(problems, 0), "input")));
}

static void names_of_secrets_are_known(void **state)
{
    static const char *const secret[] = {
        "authorization", "cookie", "credential", "key",          "password",   "secret", "session",
        "token",         "value",  "API_Key",    "my_passwords", "Set-Cookie", "xkey",   "TOKENS",
    };
    static const char *const plain[] = {"", "ke", "name", "k-e-y", "passwor", "valu", "kez"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
        assert_true(redact_is_secret_name(secret[i]));
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        assert_false(redact_is_secret_name(plain[i]));
}

static void keys_of_services_are_hidden(void **state)
{
    static const char *const heads[] = {"sk-",     "gsk_",        "hf_",    "tgp_v1_", "ghp_",
                                        "gho_",    "github_pat_", "glpat-", "ctx7sk-", "cla_",
                                        "sntryu_", "lin_api_",    "tvly-",  "ATATT3x", "xoxb-",
                                        "xoxp-",   "AKIA",        "Bearer "};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        CLEANUP(strbuf_done) struct strbuf inside = STRBUF_INIT;
        json_auto_t *value = json_string(heads[i]);
        json_auto_t *other = NULL;
        json_auto_t *copy = redact_copy(value);
        json_auto_t *other_copy = NULL;

        strbuf_appendf(&inside, "x%s", heads[i]);
        other = json_text_of(inside.text);
        other_copy = redact_copy(other);
        assert_json_is(copy, "'<redacted>'");
        assert_json_equal(other_copy, other);
    }
}

static void all_of_some_maps_is_hidden(void **state)
{
    static const char *const maps[] = {"env", "environment", "headers", "extra_headers", "ENV"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
        json_auto_t *value = json_object();
        json_auto_t *copy = NULL;

        json_put(value, maps[i], json_of("{'a': 'b', 'c': [1, 'd', {'e': 'f'}]}"));
        copy = redact_copy(value);
        assert_json_is(json_object_get(copy, maps[i]),
                       "{'a': '<redacted>', 'c': [1, '<redacted>', {'e': '<redacted>'}]}");
    }
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
        json_auto_t *value = NULL;
        json_auto_t *copy = NULL;

        for (size_t i = 0; i < 1000 + extra; i++)
            strbuf_append(&text, "\xc3\xa4");
        for (size_t i = 0; i < 1000; i++)
            strbuf_append(&expected, "\xc3\xa4");
        value = json_text_of(text.text);
        copy = redact_copy(value);
        assert_string_equal(json_string_value(copy), expected.text);
    }
}

static void problems_are_entries_with_their_place(void **state)
{
    static const struct json_path body = {NULL, "body", 0};
    static const struct json_path list = {&body, "list", 0};
    static const struct json_path item = {&list, NULL, 3};
    static const struct json_path member = {&item, "n", 0};
    json_auto_t *problems = json_array();
    json_auto_t *input = json_of("{'password': 'x', 'a': 1}");

    (void)state;
    validation_error_add(problems, &member,
                         &(struct validation_error){"t", "m", json_of("{'c': 1}")}, input);
    validation_error_add_value(problems, &item, "is bad", input);
    assert_json_is(problems,
                   "[{'type': 't', 'loc': ['body', 'list', 3, 'n'], 'msg': 'm',"
                   " 'input': {'password': '<redacted>', 'a': 1}, 'ctx': {'c': 1}},"
                   " {'type': 'value_error', 'loc': ['body', 'list', 3],"
                   " 'msg': 'Value error, is bad', 'input': {'password': '<redacted>', 'a': 1},"
                   " 'ctx': {'error': {}}}]");
}

static void problems_are_told_in_words(void **state)
{
    static const struct {
        const char *loc;
        const char *text;
    } cases[] = {
        {"['body', 'a', 3, 'body']", "a.3.body: m"},
        {"['a', 'body']", "a.body: m"},
        {"[0]", "0: m"},
        {"['body']", "m"},
        {"[]", "m"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_auto_t *problem = json_of("{'msg': 'm'}");

        json_put(problem, "loc", json_of(cases[i].loc));
        validation_error_append_text(problem, &text);
        assert_string_equal(text.text, cases[i].text);
    }
}

int redact_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden_wherever_they_are),
        cmocka_unit_test(problem_of_a_secret_does_not_show_it),
        cmocka_unit_test(problem_without_input_says_null),
        cmocka_unit_test(names_of_secrets_are_known),
        cmocka_unit_test(keys_of_services_are_hidden),
        cmocka_unit_test(all_of_some_maps_is_hidden),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(problems_are_entries_with_their_place),
        cmocka_unit_test(problems_are_told_in_words),
    };

    return cmocka_run_group_tests_name("model/redact", tests, NULL, NULL);
}

#include "model/plugins/repository.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "unit/model/model_test.h"

static void assert_credentials(const char *url, const char *credentials, const char *username,
                               const char *password)
{
    CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *request = json_object();
    json_auto_t *body = NULL;

    json_put_text(request, "url", url);
    json_put(request, "credentials", json_loads(credentials, JSON_DECODE_ANY, NULL));
    assert_int_equal(repository_spec_read(request, &spec, &err), 0);
    body = repository_credentials(&spec);
    assert_string_equal(json_text_or(body, "username", ""), username);
    assert_string_equal(json_text_or(body, "password", ""), password);
    assert_null(strchr(json_text_or(body, "url", ""), '@'));
}

static void each_forge_gets_the_user_name_it_wants(void **state)
{
    (void)state;
    assert_credentials("https://github.com/a/b", "{\"token\":\"t\"}", "x-access-token", "t");
    assert_credentials("https://gitlab.com/a/b", "{\"token\":\"t\"}", "oauth2", "t");
    assert_credentials("https://git.example/a/b", "{\"token\":\"t\",\"provider\":\"gitlab\"}",
                       "oauth2", "t");
    assert_credentials("https://bitbucket.org/a/b", "{\"token\":\"t\"}", "x-token-auth", "t");
    assert_credentials("https://x/a/b", "{\"token\":\"me:t:u\",\"provider\":\"bitbucket\"}", "me",
                       "t:u");
    assert_credentials("https://x/a", "{\"token\":\"t\",\"username\":\"me\"}", "me", "t");
    assert_credentials("https://me:t@x/a", "null", "me", "t");
    assert_credentials("https://t@github.com/a/b", "null", "x-access-token", "t");
    assert_credentials("https://old:o@x/a", "{\"token\":\"t\",\"username\":\"me\"}", "me", "t");
}

static void an_id_is_that_of_the_wish_without_its_token(void **state)
{
    CLEANUP(strbuf_done) struct strbuf one = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf same = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf other = STRBUF_INIT;
    struct uuid conversation = UUID_INIT;
    struct repository_spec spec = REPOSITORY_SPEC_INIT;
    char url[] = "https://a/b";
    char branch[] = "main";

    (void)state;
    assert_true(uuid_parse("0b8f2c1e-5a44-4a0b-9c55-1f2f6f0a000f", &conversation));
    spec.url = url;
    repository_append_id(&spec, &conversation, REPOSITORY_SETUP, 1, &one);
    secret_set(&spec.token, "token");
    repository_append_id(&spec, &conversation, REPOSITORY_SETUP, 1, &same);
    spec.branch = branch;
    repository_append_id(&spec, &conversation, REPOSITORY_SETUP, 1, &other);
    secret_done(&spec.token);
    assert_string_equal(one.text, same.text);
    assert_false(text_equal(one.text, other.text));
    assert_true(text_starts_with(one.text, "repository:"));
    assert_true(text_ends_with(one.text, ":setup:1"));
}

static void the_set_up_runs_in_the_repository_whatever_it_is_called(void **state)
{
    struct repository_spec spec = REPOSITORY_SPEC_INIT;
    json_auto_t *action = repository_action(&spec, REPOSITORY_SETUP, "/w/it's", "/w/it's/$(x)");

    (void)state;
    assert_string_equal(
        json_text_or(json_object_get(action, "args"), "command", ""),
        "cd '/w/it'\\''s/$(x)' && chmod +x .openhands/setup.sh && . ./.openhands/setup.sh; "
        "_setup_status=$?; cd '/w/it'\\''s'; (exit $_setup_status)");
    assert_int_equal(json_int_or(json_object_get(action, "args"), "timeout", 0),
                     REPOSITORY_SETUP_S);
}

static void what_cannot_be_meant_is_refused(void **state)
{
    static const char *const bad[] = {
        "{\"credentials\":{\"token\":\"t\"}}",
        "{\"url\":\"https://a/b\",\"setup_timeout_s\":601}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
        json_auto_t *request = json_loads(bad[i], 0, NULL);
        struct error err = ERROR_INIT;

        assert_int_equal(repository_spec_read(request, &spec, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

int repository_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_forge_gets_the_user_name_it_wants),
        cmocka_unit_test(an_id_is_that_of_the_wish_without_its_token),
        cmocka_unit_test(the_set_up_runs_in_the_repository_whatever_it_is_called),
        cmocka_unit_test(what_cannot_be_meant_is_refused),
    };

    return cmocka_run_group_tests_name("model/repository", tests, NULL, NULL);
}

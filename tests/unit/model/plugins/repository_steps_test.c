/*
 * Repositories of requests, and each step of preparing one as the sandbox gets it.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "model/plugins/repository.h"
#include "unit/model/model_test.h"

static int read_text(const char *request, struct repository_spec *spec_out, struct error *err)
{
    json_auto_t *json = json_of(request);

    return repository_spec_read(json, spec_out, err);
}

static const char *or_none(const char *text)
{
    return text != NULL ? text : "none";
}

static void requests_name_a_repository_and_its_account(void **state)
{
    static const struct {
        const char *request;
        const char *url;
        const char *name;
        const char *branch;
        const char *username;
        const char *token;
        int64_t setup_timeout_s;
        int64_t expires_in_s;
    } cases[] = {
        {"{}", "none", "none", "none", "none", "", 600, 0},
        {"{'url': 'github:a/b', 'name': 'n', 'branch': 'v', 'setup_timeout_s': 599}",
         "https://github.com/a/b.git", "n", "v", "none", "", 599, 0},
        {"{'url': 'https://github.com/a/b/tree/main', 'name': '', 'branch': null}",
         "https://github.com/a/b", "none", "main", "none", "", 600, 0},
        {"{'url': 'https://github.com/a/b/tree/main', 'branch': 'v'}", "https://github.com/a/b",
         "none", "v", "none", "", 600, 0},
        {"{'url': 'https://github.com/a/b/tree/main', 'branch': ''}", "https://github.com/a/b",
         "none", "none", "none", "", 600, 0},
        {"{'url': 'https://t@gitlab.com/a/b'}", "https://gitlab.com/a/b", "none", "none", "oauth2",
         "t", 600, 0},
        {"{'url': 'https://:t@gitlab.com/a/b'}", "https://gitlab.com/a/b", "none", "none", "oauth2",
         "t", 600, 0},
        {"{'url': 'https://me:t@gitlab.com/a/b'}", "https://gitlab.com/a/b", "none", "none", "me",
         "t", 600, 0},
        {"{'url': 'https://github.com/a/b', 'credentials': {'token': 't', 'expires_in_s': 5}}",
         "https://github.com/a/b", "none", "none", "x-access-token", "t", 600, 5},
        {"{'url': 'https://bitbucket.org/a/b', 'credentials': {'token': 'u:t'}}",
         "https://bitbucket.org/a/b", "none", "none", "x-token-auth", "u:t", 600, 0},
        {"{'url': 'https://x.test/a', 'credentials': {'token': 't'}}", "https://x.test/a", "none",
         "none", "x-access-token", "t", 600, 0},
        {"{'url': 'https://x.test/a', 'credentials': {'token': 't', 'provider': 'gitlab'}}",
         "https://x.test/a", "none", "none", "oauth2", "t", 600, 0},
        {"{'url': 'https://x.test/a', 'credentials': {'token': 't', 'provider': 'github'}}",
         "https://x.test/a", "none", "none", "x-access-token", "t", 600, 0},
        {"{'url': 'https://x.test/a', 'credentials': {'token': 't', 'provider': 'bitbucket'}}",
         "https://x.test/a", "none", "none", "x-token-auth", "t", 600, 0},
        {"{'url': 'https://x.test/a', 'credentials': {'token': 'u:t', 'provider': 'bitbucket'}}",
         "https://x.test/a", "none", "none", "u", "t", 600, 0},
        {"{'url': 'https://x.test/a', 'credentials': {'token': 'u:t', 'provider': 'bitbucket',"
         " 'username': 'me'}}",
         "https://x.test/a", "none", "none", "me", "u:t", 600, 0},
        {"{'url': 'https://me:t@x.test/a', 'credentials': {'token': 'other'}}", "https://x.test/a",
         "none", "none", "x-access-token", "other", 600, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
        struct error err = ERROR_INIT;

        if (read_text(cases[i].request, &spec, &err) < 0)
            fail_msg("%s: %s", cases[i].request, err.message);
        assert_string_equal(or_none(spec.url), cases[i].url);
        assert_string_equal(or_none(spec.name), cases[i].name);
        assert_string_equal(or_none(spec.branch), cases[i].branch);
        assert_string_equal(or_none(spec.username), cases[i].username);
        assert_string_equal(secret_reveal(&spec.token), cases[i].token);
        assert_int_equal(spec.setup_timeout_s, cases[i].setup_timeout_s);
        assert_int_equal(spec.expires_in_s, cases[i].expires_in_s);
    }
}

static void wrong_requests_are_refused(void **state)
{
    static const char *const requests[] = {
        "{'url': 'x'}",
        "{'setup_timeout_s': 601}",
        "{'credentials': {'token': 't'}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(read_text(requests[i], &spec, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_null(spec.url);
    }
}

static void credentials_are_told_to_the_sandbox(void **state)
{
    CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
    json_auto_t *once = NULL;
    json_auto_t *for_long = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_text("{'url': 'https://me:t@x.test/a'}", &spec, &err), 0);
    for_long = repository_credentials(&spec);
    assert_json_is(for_long, "{'url': 'https://x.test/a', 'username': 'me', 'password': 't'}");
    spec.expires_in_s = 1;
    once = repository_credentials(&spec);
    assert_json_is(once, "{'url': 'https://x.test/a', 'username': 'me', 'password': 't',"
                         " 'expires_in_s': 1}");
}

static void each_step_is_an_action(void **state)
{
    static const struct {
        const char *request;
        enum repository_step step;
        const char *status;
        const char *action;
    } cases[] = {
        {"{}", REPOSITORY_CLONE, "PREPARING_REPOSITORY",
         "{'tool': 'repository', 'working_dir': '/w d', 'args': {'step': 'init'}}"},
        {"{'url': 'https://x.test/a', 'name': 'n', 'branch': 'v'}", REPOSITORY_CLONE,
         "PREPARING_REPOSITORY",
         "{'tool': 'repository', 'working_dir': '/w d', 'args': {'step': 'clone',"
         " 'url': 'https://x.test/a', 'name': 'n', 'branch': 'v', 'timeout_ms': 600000}}"},
        {"{'setup_timeout_s': 5}", REPOSITORY_SETUP, "RUNNING_SETUP_SCRIPT",
         "{'tool': 'terminal', 'working_dir': '/w d', 'args': {'timeout': 5, 'command':"
         " 'cd \\u0027/w d/a\\u0027 && chmod +x .openhands/setup.sh && . ./.openhands/setup.sh;"
         " _setup_status=$?; cd \\u0027/w d\\u0027; (exit $_setup_status)'}}"},
        {"{}", REPOSITORY_STOP, "RUNNING_SETUP_SCRIPT",
         "{'tool': 'terminal', 'working_dir': '/w d',"
         " 'args': {'command': 'C-c', 'timeout': 5, 'is_input': true}}"},
        {"{}", REPOSITORY_RESET, "RUNNING_SETUP_SCRIPT",
         "{'tool': 'terminal', 'working_dir': '/w d',"
         " 'args': {'command': '', 'timeout': 5, 'reset': true}}"},
        {"{}", REPOSITORY_HOOKS, "SETTING_UP_GIT_HOOKS",
         "{'tool': 'repository', 'working_dir': '/w d/a', 'args': {'step': 'hooks'}}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
        json_auto_t *action = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(read_text(cases[i].request, &spec, &err), 0);
        action = repository_action(&spec, cases[i].step, "/w d", "/w d/a");
        assert_json_is(action, cases[i].action);
        assert_string_equal(repository_status(cases[i].step), cases[i].status);
    }
}

static void an_id_follows_from_all_that_is_done(void **state)
{
    static const struct {
        const char *request;
        enum repository_step step;
        int attempt;
        const char *end;
    } cases[] = {
        {"{'url': 'https://x.test/a'}", REPOSITORY_CLONE, 1, ":clone:1"},
        {"{'url': 'https://x.test/a'}", REPOSITORY_SETUP, 2, ":setup:2"},
        {"{'url': 'https://x.test/a'}", REPOSITORY_STOP, 1, ":stop:1"},
        {"{'url': 'https://x.test/a'}", REPOSITORY_RESET, 1, ":reset:1"},
        {"{'url': 'https://x.test/a'}", REPOSITORY_HOOKS, 1, ":hooks:1"},
        {"{'url': 'https://x.test/b'}", REPOSITORY_CLONE, 1, ":clone:1"},
        {"{'url': 'https://x.test/a', 'name': 'n'}", REPOSITORY_CLONE, 1, ":clone:1"},
        {"{'url': 'https://x.test/a', 'branch': 'n'}", REPOSITORY_CLONE, 1, ":clone:1"},
        {"{}", REPOSITORY_CLONE, 1, ":clone:1"},
    };
    const struct uuid conversation = {"00000000-0000-4000-8000-00000000000a"};
    json_auto_t *seen = json_object();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(repository_spec_done) struct repository_spec spec = REPOSITORY_SPEC_INIT;
        CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
        struct error err = ERROR_INIT;
        const size_t n_head = strlen("repository:") + 24;

        assert_int_equal(read_text(cases[i].request, &spec, &err), 0);
        repository_append_id(&spec, &conversation, cases[i].step, cases[i].attempt, &id);
        repository_append_id(&spec, &conversation, cases[i].step, cases[i].attempt, &again);
        assert_string_equal(id.text, again.text);
        assert_memory_equal(id.text, "repository:", strlen("repository:"));
        assert_int_equal(strspn(id.text + strlen("repository:"), "0123456789abcdef"), 24);
        assert_string_equal(id.text + n_head, cases[i].end);
        assert_null(json_object_get(seen, id.text));
        json_put(seen, id.text, json_true());
    }
}

int repository_step_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_name_a_repository_and_its_account),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(credentials_are_told_to_the_sandbox),
        cmocka_unit_test(each_step_is_an_action),
        cmocka_unit_test(an_id_follows_from_all_that_is_done),
    };

    return cmocka_run_group_tests_name("model/repository steps", tests, NULL, NULL);
}

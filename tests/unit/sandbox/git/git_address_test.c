#include "sandbox/git/git_address.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "unit/sandbox/sandbox_test.h"

static void what_runs_programs_or_looks_like_an_option_is_no_address(void **state)
{
    static const char *const good[] = {"https://a/b", "http://a:1/b", "ssh://g@a/b", "git://a/b",
                                       "git@a.test:b/c"};
    static const char *const bad[] = {"",          "a",          "/etc",       "file:///etc",
                                      "ext::sh",   "a@b::c",     "-oX@a:b",    "git@-a:b",
                                      "https://",  "https://-a", "https:///",  "https://a b",
                                      "ftp://a/b", "a/b@c:d",    "https://a\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(git_address_is_remote(good[i]));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(git_address_is_remote(bad[i]));
}

static void an_origin_is_one_spelling_of_a_host(void **state)
{
    static const char *const pairs[][2] = {
        {"https://GitHub.com/a/b.git", "https://github.com"},
        {"https://a:443/x", "https://a"},
        {"https://a:4430/x", "https://a:4430"},
        {"http://a:80", "http://a"},
        {"http://[::1]:8080/x?y", "http://[::1]:8080"},
    };
    static const char *const none[] = {"ssh://a/b", "git@a:b", "https://me@a/b", "https://a=b/c",
                                       "https://"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        CLEANUP(strbuf_done) struct strbuf origin = STRBUF_INIT;

        assert_true(git_address_origin(pairs[i][0], &origin));
        assert_string_equal(origin.text, pairs[i][1]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        CLEANUP(strbuf_done) struct strbuf origin = STRBUF_INIT;

        assert_false(git_address_origin(none[i], &origin));
    }
}

static void a_name_is_the_last_part_and_one_folder(void **state)
{
    static const char *const pairs[][2] = {{"https://a/b/web.git", "web"},
                                           {"https://a/b/web/", "web"},
                                           {"git@a:web.git", "web"},
                                           {"https://a/b/x.github.io?y#z", "x.github.io"}};
    static const char *const bad[] = {"https://a/..", "https://a/.git", "https://a/-x",
                                      "https://a/b/..git"};
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

        assert_int_equal(git_address_name(pairs[i][0], &name, &err), 0);
        assert_string_equal(name.text, pairs[i][1]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

        assert_int_equal(git_address_name(bad[i], &name, &err), -1);
    }
}

int git_address_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_programs_or_looks_like_an_option_is_no_address),
        cmocka_unit_test(an_origin_is_one_spelling_of_a_host),
        cmocka_unit_test(a_name_is_the_last_part_and_one_folder),
    };

    return cmocka_run_group_tests_name("git_address", tests, NULL, NULL);
}

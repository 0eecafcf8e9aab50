#include <string.h>

#include "base/error.h"
#include "model/plugins/plugin_source.h"
#include "unit/model/model_test.h"

struct source_case {
    const char *text;
    const char *address;
    const char *ref;
    const char *repo_path;
    const char *password;
};

static void assert_text(const char *ours, const char *theirs)
{
    if (theirs == NULL)
        assert_null(ours);
    else
        assert_string_equal(ours, theirs);
}

static void sources_are_read_in_the_words_of_users(void **state)
{
    static const struct source_case cases[] = {
        {"github:a/b", "https://github.com/a/b.git", NULL, NULL, NULL},
        {"github:a/b.git", "https://github.com/a/b.git", NULL, NULL, NULL},
        {"github:a/b/skills/one/", "https://github.com/a/b.git", NULL, "skills/one", NULL},
        {"gitlab:a/b", "https://gitlab.com/a/b.git", NULL, NULL, NULL},
        {"https://github.com/a/b", "https://github.com/a/b", NULL, NULL, NULL},
        {"https://github.com/a/b/tree/v1/skills/one?tab=x", "https://github.com/a/b", "v1",
         "skills/one", NULL},
        {"https://gitlab.com/a/g/b/-/tree/main/x", "https://gitlab.com/a/g/b", "main", "x", NULL},
        {"https://host.example/a/tree/b", "https://host.example/a/tree/b", NULL, NULL, NULL},
        {"https://tok%2Fen@github.com/a/b", "https://github.com/a/b", NULL, NULL, "tok/en"},
        {"https://me:pa%20ss@host.example:8/a", "https://host.example:8/a", NULL, NULL, "pa ss"},
        {"https://host.example/a@b", "https://host.example/a@b", NULL, NULL, NULL},
        {"ssh://git@host.example/a", "ssh://git@host.example/a", NULL, NULL, NULL},
        {"git@host.example:a/b.git", "git@host.example:a/b.git", NULL, NULL, NULL},
        {"file:///srv/a", "/srv/a", NULL, NULL, NULL},
        {"/srv/a", "/srv/a", NULL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(plugin_source_read(cases[i].text, NULL, NULL, &source, &err), 0);
        assert_string_equal(source.address, cases[i].address);
        assert_text(source.ref, cases[i].ref);
        assert_text(source.repo_path, cases[i].repo_path);
        assert_text(source.password, cases[i].password);
    }
}

static void what_is_given_beside_wins(void **state)
{
    CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(
        plugin_source_read("https://github.com/a/b/tree/v1/x", "v2", "y/z", &source, &err), 0);
    assert_string_equal(source.ref, "v2");
    assert_string_equal(source.repo_path, "y/z");
}

static void sources_and_paths_that_lead_elsewhere_are_refused(void **state)
{
    static const char *const texts[] = {"",         "x",           "a/b",     "../x",
                                        "github:a", "github:../b", "github:", "~/x"};
    static const char *const paths[] = {"..",  "a/..",   "../a", "/a",   "a//b",
                                        "./a", "a/./b/", "a\\b", "a\nb", "/"};
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;

        assert_int_equal(plugin_source_read(texts[i], NULL, NULL, &source, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_null(source.address);
    }
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        CLEANUP(plugin_source_done) struct plugin_source source = PLUGIN_SOURCE_INIT;

        assert_int_equal(plugin_source_read("github:a/b", NULL, paths[i], &source, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

int source_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_read_in_the_words_of_users),
        cmocka_unit_test(what_is_given_beside_wins),
        cmocka_unit_test(sources_and_paths_that_lead_elsewhere_are_refused),
    };

    return cmocka_run_group_tests_name("model/source", tests, NULL, NULL);
}

/*
 * git_find_base(): with which commit the files of a folder are compared.
 */
#include "sandbox/git/git.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/git/git_tests.h"

/* Commits one, two and three, tagged, on main. */
#define COMMITS                                                                                    \
    "git init -q -b main; for i in one two three; do echo $i > a; git add a;"                      \
    "git commit -q -m $i; git tag $i; done; "

/* Finds the base of the workspace after a script; into *base. */
static int find_base(struct action_bench *bench, const char *script, const char *ref,
                     struct strbuf *base, struct error *err)
{
    CLEANUP(git_done) struct git git = GIT_INIT;

    bench_shell(bench, "rm -rf .git a b");
    bench_shell(bench, script);
    assert_int_equal(git_open(&git, bench->workspace, err), 0);
    return git_find_base(&git, ref, base, err);
}

static void base_is_the_first_of_several(void **state)
{
    static const struct {
        const char *script;
        const char *ref; /* NULL: by default */
        const char *base;
    } cases[] = {
        {COMMITS, "one", "one"},
        {COMMITS, "HEAD~1", "two"},
        {COMMITS, "HEAD", "three"},
        /* the upstream */
        {COMMITS "git update-ref refs/remotes/origin/main one", NULL, "one"},
        {COMMITS "git branch -q up two; git branch -q -u up;"
                 "git update-ref refs/remotes/origin/main one",
         NULL, "two"},
        /* unless it is HEAD and nothing has changed */
        {COMMITS "git update-ref refs/remotes/origin/main three;"
                 "git update-ref refs/remotes/origin/HEAD one",
         NULL, "one"},
        {COMMITS "git update-ref refs/remotes/origin/main three; echo x > a;"
                 "git update-ref refs/remotes/origin/HEAD one",
         NULL, "three"},
        /* the origin's default branch, where they parted */
        {COMMITS "git checkout -q --detach; git update-ref refs/remotes/origin/HEAD two;"
                 "git update-ref refs/remotes/origin/main one",
         NULL, "two"},
        {COMMITS "git checkout -q --detach two; echo x > a; git commit -q -a -m x;"
                 "git update-ref refs/remotes/origin/main three",
         NULL, "two"},
        {COMMITS "git checkout -q --detach; git update-ref refs/remotes/origin/main two;"
                 "git update-ref refs/remotes/origin/master one",
         NULL, "two"},
        {COMMITS "git checkout -q --detach; git update-ref refs/remotes/origin/master one", NULL,
         "one"},
        /* or that branch, where they have nothing in common */
        {COMMITS "git checkout -q --orphan o; git commit -q -m o;"
                 "git update-ref refs/remotes/origin/main two",
         NULL, "two"},
        /* a local main or master */
        {COMMITS "git checkout -q -b b one; echo x > a; git commit -q -a -m x", NULL, "one"},
        {COMMITS "git branch -q -m master; git checkout -q -b b two; echo x > a;"
                 "git commit -q -a -m x",
         NULL, "two"},
        {COMMITS "git checkout -q --orphan master; git commit -q -m o; git checkout -q -b b main;"
                 "git branch -q -f main two",
         NULL, "two"},
        /* HEAD itself */
        {COMMITS "git branch -q -m other", NULL, "three"},
        {COMMITS, NULL, "three"},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(find_base(bench, cases[i].script, cases[i].ref, &base, &err), 0);
        if (strcmp(base.text, bench_shell_line(bench, bench_text(bench, "git rev-parse %s",
                                                                 cases[i].base))) != 0)
            fail_msg("case %zu: %s", i,
                     bench_shell_line(bench, bench_text(bench, "git name-rev %s", base.text)));
    }
}

static void repository_without_commits_is_compared_with_nothing(void **state)
{
    static const char *const refs[] = {NULL, "HEAD"};
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(refs); i++) {
        CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(find_base(bench, "git init -q", refs[i], &base, &err), 0);
        assert_string_equal(base.text, git_empty_tree);
    }
}

static void unknown_revision_is_refused(void **state)
{
    static const char *const refs[] = {"none", "", "--all", "one:a", "HEAD~9"};
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(refs); i++) {
        CLEANUP(strbuf_done) struct strbuf base = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(find_base(bench, COMMITS, refs[i], &base, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(err.message, bench_text(bench, "Unknown revision: %s", refs[i]));
        assert_int_equal(base.len, 0);
    }
}

static void commands_answer_with_what_git_says(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;

    bench_shell(bench, COMMITS);
    assert_int_equal(git_open(&git, bench->workspace, &err), 0);
    assert_int_equal(git_run(&git, GIT_ARGS("tag", "-l"), &out, &err), 0);
    assert_string_equal(out.text, "one\nthree\ntwo\n");
    /* only the first line, which replaces what was there */
    assert_true(git_ask(&git, GIT_ARGS("tag", "-l"), &out));
    assert_string_equal(out.text, "one");
    assert_false(git_ask(&git, GIT_ARGS("tag", "-l", "none"), &out));
    assert_false(git_ask(&git, GIT_ARGS("none"), &out));
    assert_int_equal(git_run(&git, GIT_ARGS("show", "-q", "none"), &out, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(strncmp(err.message, "git show: fatal: ", 17), 0);
    assert_int_equal(git_run(&git, GIT_ARGS("-c", "a.b=c", "diff", "--quiet", "one"), &out, &err),
                     -1);
    assert_string_equal(err.message, "git diff: it failed");
    /* the variable that is set already stays */
    git_put_variable(&git, "DEFT_A", "1");
    git_put_variable(&git, "DEFT_A", "2");
    assert_true(git_ask(&git, GIT_ARGS("-c", "alias.a=!echo $DEFT_A", "a"), &out));
    assert_true(git_has_repository(&git));
    bench_shell(bench, "rm -r .git");
    assert_false(git_has_repository(&git));
}

static void first_parent_or_nothing_is_the_parent(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(git_done) struct git git = GIT_INIT;
    CLEANUP(strbuf_done) struct strbuf parent = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf none = STRBUF_INIT;
    struct error err = ERROR_INIT;

    bench_shell(bench, COMMITS);
    assert_int_equal(git_open(&git, bench->workspace, &err), 0);
    git_find_parent(&git, "three", &parent);
    assert_string_equal(parent.text, bench_shell_line(bench, "git rev-parse two"));
    git_find_parent(&git, "one", &none);
    assert_string_equal(none.text, git_empty_tree);
}

int git_base_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(base_is_the_first_of_several),
        BENCH_TEST(repository_without_commits_is_compared_with_nothing),
        BENCH_TEST(unknown_revision_is_refused),
        BENCH_TEST(commands_answer_with_what_git_says),
        BENCH_TEST(first_parent_or_nothing_is_the_parent),
    };

    return cmocka_run_group_tests_name("sandbox/git_base", tests, NULL, NULL);
}

/*
 * The pre-commit hook: installed next to one that is there, run by git itself.
 */
#include "sandbox/git/git_hooks.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/git/git_tests.h"

#define SCRIPT ".openhands/pre-commit.sh"
#define HOOK ".git/hooks/pre-commit"

static void install(struct action_bench *bench, const char *folder, bool expected)
{
    struct error err = ERROR_INIT;
    bool is_installed = !expected;

    if (git_hooks_install(bench_path(bench, folder), &is_installed, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(is_installed, expected);
}

static void commit(struct action_bench *bench)
{
    bench_shell(bench, "git commit -q --allow-empty -m x");
}

static void repository_without_script_gets_no_hook(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q; rm -rf .git/hooks");
    install(bench, "", false);
    assert_false(bench_has(bench, ".git/hooks"));
}

static void script_runs_before_a_commit(void **state)
{
    struct action_bench *bench = *state;
    struct stat info = {0};

    bench_shell(bench, "git init -q; rm -rf .git/hooks");
    bench_write(bench, SCRIPT, "echo sh >> ran\n");
    install(bench, "", true);
    commit(bench);
    assert_file(bench, "ran", "sh\n");
    assert_int_equal(stat(bench_path(bench, HOOK), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0755);
    /* An executable one has its own interpreter. */
    bench_write(bench, SCRIPT, "#!/bin/bash\necho $BASH >> ran\n");
    bench_shell(bench, "chmod +x " SCRIPT);
    commit(bench);
    assert_file(bench, "ran", "sh\n/bin/bash\n");
    /* Its failure ends the commit. */
    bench_write(bench, SCRIPT, "#!/bin/sh\nexit 1\n");
    bench_shell(bench, "! git commit -q --allow-empty -m x");
    bench_shell(bench, "rm " SCRIPT);
    commit(bench);
}

static void hook_that_is_there_runs_first(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q; mkdir -p .git/hooks");
    bench_write(bench, SCRIPT, "echo script >> ran\n");
    bench_write(bench, HOOK, "#!/bin/sh\necho local >> ran; test ! -e stop\n");
    bench_shell(bench, "chmod +x " HOOK);
    install(bench, "", true);
    commit(bench);
    assert_file(bench, "ran", "local\nscript\n");
    /* Installing it again moves nothing. */
    install(bench, "", true);
    commit(bench);
    assert_file(bench, "ran", "local\nscript\nlocal\nscript\n");
    bench_write(bench, "stop", "");
    bench_shell(bench, "! git commit -q --allow-empty -m x");
    assert_file(bench, "ran", "local\nscript\nlocal\nscript\nlocal\n");
}

static void two_other_hooks_are_a_conflict(void **state)
{
    struct action_bench *bench = *state;
    struct error err = ERROR_INIT;
    bool is_installed = false;

    bench_shell(bench, "git init -q; mkdir -p .git/hooks");
    bench_write(bench, SCRIPT, "");
    bench_write(bench, HOOK, "one");
    bench_write(bench, HOOK ".local", "two");
    assert_int_equal(git_hooks_install(bench->workspace, &is_installed, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_string_equal(err.message,
                        bench_text(bench,
                                   "There is another hook, and %s/.git/hooks/pre-commit.local "
                                   "already exists",
                                   bench->workspace));
    assert_file(bench, HOOK, "one");
    assert_file(bench, HOOK ".local", "two");
}

static void worktree_shares_the_hooks_of_its_repository(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q -b main r; cd r; rm -rf .git/hooks; mkdir .openhands;"
                       "echo 'echo x >> ran' > " SCRIPT "; git add .; git commit -q -m x;"
                       "git worktree add -q ../w -b w");
    install(bench, "w", true);
    assert_true(bench_has(bench, "r/" HOOK));
    bench_shell(bench, "cd w; git commit -q --allow-empty -m x");
    assert_file(bench, "w/ran", "x\n");
}

static void folder_without_repository_is_refused(void **state)
{
    struct action_bench *bench = *state;
    struct error err = ERROR_INIT;
    bool is_installed = false;

    bench_write(bench, SCRIPT, "");
    assert_int_equal(git_hooks_install(bench->workspace, &is_installed, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message,
                        bench_text(bench, "%s is not a git repository", bench->workspace));
}

int git_hooks_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(repository_without_script_gets_no_hook),
        BENCH_TEST(script_runs_before_a_commit),
        BENCH_TEST(hook_that_is_there_runs_first),
        BENCH_TEST(two_other_hooks_are_a_conflict),
        BENCH_TEST(worktree_shares_the_hooks_of_its_repository),
        BENCH_TEST(folder_without_repository_is_refused),
    };

    return cmocka_run_group_tests_name("sandbox/git_hooks", tests, NULL, NULL);
}

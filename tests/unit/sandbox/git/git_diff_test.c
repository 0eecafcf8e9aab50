/*
 * GET /api/git/diff: the two versions of a file.
 */
#include "sandbox/git/git_diff.h"

#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/git/git_tests.h"

static const char *diff_line(struct action_bench *bench, const char *query)
{
    return bench_text(bench, "GET /api/git/diff?path=%s/%s", bench->workspace, query);
}

#define VERSIONS(modified, original) "{\"modified\":" modified ",\"original\":" original "}"

static void both_versions_are_told(void **state)
{
    static const char *const cases[][2] = {
        {"a", VERSIONS("\"two\\n\"", "\"one\"")},
        {"d/b", VERSIONS("\"new\"", "\"old\"")},
        {"new", VERSIONS("\"new\"", "\"\"")},
        {"gone", VERSIONS("\"\"", "\"gone\"")},
        {"e/f/gone", VERSIONS("\"\"", "\"deep\"")},
        {"a&ref=v1", VERSIONS("\"two\\n\"", "\"zero\"")},
        {"a&commit=v1", VERSIONS("\"zero\"", "\"\"")},
        {"a&commit=HEAD", VERSIONS("\"one\"", "\"zero\"")},
        {"gone&commit=HEAD", VERSIONS("\"gone\"", "\"\"")},
        {"none&commit=HEAD", VERSIONS("\"\"", "\"\"")},
        {"d&commit=HEAD", VERSIONS("\"\"", "\"\"")},
    };
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q -b main; mkdir -p d e/f; echo zero > a; git add a;"
                       "git commit -q -m 0; git tag v1; echo one > a; printf old > d/b;"
                       "echo gone > gone; echo deep > e/f/gone; git add .; git commit -q -m 1;"
                       "printf 'two\\n\\n' > a; printf new > d/b; printf new > new;"
                       "rm -r gone e");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_answers(bench, diff_line(bench, cases[i][0]), "", NULL, 200, "", cases[i][1]);
}

static void wrong_question_is_refused(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q -b main; mkdir d; echo x > a; git add a; git commit -q -m 0");
    assert_answers(bench, "GET /api/git/diff", "", NULL, 422, "detail[0].loc",
                   "[\"query\",\"path\"]");
    assert_answers(bench, "GET /api/git/diff?path=a", "", NULL, 400, "detail",
                   "\"Path must be absolute\"");
    assert_answers(bench, diff_line(bench, "a&ref=HEAD&commit=HEAD"), "", NULL, 400, "detail",
                   "\"Only one of ref and commit may be given\"");
    assert_answers(bench, diff_line(bench, "a&ref=none"), "", NULL, 400, "detail",
                   "\"Unknown revision: none\"");
    assert_answers(bench, diff_line(bench, "a&commit=none"), "", NULL, 400, "detail",
                   "\"Unknown revision: none\"");
    assert_answers(bench, diff_line(bench, "d"), "", NULL, 400, "detail", "\"Path is not a file\"");
    assert_answers(bench, diff_line(bench, "none"), "", NULL, 400, "detail",
                   bench_text(bench, "\"File does not exist: %s/none\"", bench->workspace));
}

static void file_without_repository_has_no_versions(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "a", "x");
    assert_answers(bench, diff_line(bench, "a"), "", NULL, 200, "", VERSIONS("null", "null"));
    assert_answers(bench, diff_line(bench, "none"), "", NULL, 400, "detail",
                   bench_text(bench, "\"File does not exist: %s/none\"", bench->workspace));
    assert_answers(bench, diff_line(bench, "none&commit=HEAD"), "", NULL, 200, "",
                   VERSIONS("null", "null"));
}

static void large_versions_are_not_shown(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q -b main; truncate -s 1048576 fits; truncate -s 1048577 large;"
                       "git add .; git commit -q -m 0; echo > fits; echo > large");
    assert_answers(bench, diff_line(bench, "fits"), "", NULL, 200, "modified", "\"\"");
    assert_answers(bench, diff_line(bench, "large"), "", NULL, 400, "detail",
                   "\"The file is too large to be shown\"");
    bench_shell(bench, "truncate -s 1048576 fits; echo > large; git commit -q -a -m 1;"
                       "truncate -s 1048577 large");
    assert_answers(bench, diff_line(bench, "large"), "", NULL, 400, "detail",
                   "\"The file is too large to be shown\"");
    bench_shell(bench, "truncate -s 1048576 large");
    assert_answers(bench, diff_line(bench, "large"), "", NULL, 200, "original", "\"\"");
}

int git_diff_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(both_versions_are_told),
        BENCH_TEST(wrong_question_is_refused),
        BENCH_TEST(file_without_repository_has_no_versions),
        BENCH_TEST(large_versions_are_not_shown),
    };

    return cmocka_run_group_tests_name("sandbox/git_diff", tests, NULL, NULL);
}

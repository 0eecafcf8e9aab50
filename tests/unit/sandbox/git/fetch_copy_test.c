/*
 * POST /repositories/fetch with a commit: a copy of its files, and what is told of them.
 */
#include "sandbox/git/fetch_copy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/git/git_tests.h"

/* A repository ../app with a tag v1. */
#define APP                                                                                        \
    "git init -q -b main ../app; cd ../app; mkdir d; echo one > r.md; echo code > d/c.txt;"        \
    "ln -s r.md link; git add .; git commit -q -m 1; git tag v1; echo two > r.md; "                \
    "git commit -q -a -m 2"

/* Fetches ../app with further members of the order. */
static struct bench_reply fetch(struct action_bench *bench, const char *more)
{
    return bench_ask(bench, "POST /repositories/fetch", "",
                     bench_text(bench, "{\"source\":\"%s/app\"%s}", bench->folder, more));
}

static void copy_has_the_files_of_the_commit(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, APP);
    reply =
        fetch(bench, bench_text(bench, ",\"ref\":\"v1\",\"folder\":\"%s/c/d\"", bench->workspace));
    assert_reply(reply, 200, "",
                 bench_text(bench,
                            "{\"path\":\"%s/c/d\",\"files\":[{\"path\":\"d/c.txt\",\"size_bytes\":5"
                            "},{\"path\":\"link\",\"size_bytes\":4},{\"path\":\"r.md\",\"size_bytes"
                            "\":4,\"text\":\"one\\n\"}],\"resolved_ref\":\"%s\"}",
                            bench->workspace,
                            bench_shell_line(bench, "git -C ../app rev-parse v1")));
    assert_file(bench, "c/d/r.md", "one\n");
    /* A link is a file with its target. */
    assert_file(bench, "c/d/link", "r.md");
    assert_string_equal(bench_shell_line(bench, "ls -A c"), "d");
}

static void later_copy_replaces_the_earlier_one(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply first = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply second = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, APP);
    first =
        fetch(bench, bench_text(bench, ",\"ref\":\"v1\",\"folder\":\"%s/c\"", bench->workspace));
    assert_int_equal(first.status, 200);
    bench_write(bench, "c/left", "x");
    second =
        fetch(bench, bench_text(bench, ",\"ref\":\"main\",\"repo_path\":\"d\",\"folder\":\"%s/c\"",
                                bench->workspace));
    assert_reply(second, 200, "path", bench_text(bench, "\"%s/c/d\"", bench->workspace));
    assert_reply(second, 200, "files", "[{\"path\":\"c.txt\",\"size_bytes\":5}]");
    assert_file(bench, "c/r.md", "two\n");
    assert_false(bench_has(bench, "c/left"));
}

static void what_cannot_be_fetched_is_told(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply none = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply part = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, APP);
    none =
        fetch(bench, bench_text(bench, ",\"ref\":\"none\",\"folder\":\"%s/c\"", bench->workspace));
    assert_reply(none, 200, "files", NULL);
    assert_reply(none, 200, "unreachable", "\"git fetch: fatal: couldn't find remote ref none\"");
    part =
        fetch(bench, bench_text(bench, ",\"ref\":\"v1\",\"repo_path\":\"none\",\"folder\":\"%s/c\"",
                                bench->workspace));
    assert_reply(part, 400, "detail", "\"There is no folder none\"");
    assert_string_equal(bench_shell_line(bench, "ls -A"), "");
}

static void order_that_is_wrong_is_refused(void **state)
{
    static const struct {
        const char *order;
        const char *detail;
    } cases[] = {
        {"{\"source\":\"x\",\"ref\":\"v1\",\"folder\":\"/tmp/c\"}",
         "\"The source is neither a path nor a git URL\""},
        {"{\"source\":\"ext::sh\",\"folder\":\"/tmp/c\"}",
         "\"The source is neither a path nor a git URL\""},
        {"{\"source\":\"/x\",\"ref\":\"-x\",\"folder\":\"/tmp/c\"}",
         "\"The ref is not a valid branch, tag or commit\""},
        {"{\"source\":\"/x\",\"ref\":\"v1\",\"folder\":\"c\"}",
         "\"The folder must be an absolute path\""},
        {"{\"source\":\"/x\",\"ref\":\"v1\",\"folder\":\"/tmp/../c\"}",
         "\"The folder must be an absolute path\""},
        {"{\"source\":\"/x\",\"ref\":\"v1\"}", "\"The folder must be an absolute path\""},
        {"{\"source\":\"/x\",\"repo_path\":\"/d\"}",
         "\"repo_path must be a path within the repository\""},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_answers(bench, "POST /repositories/fetch", "", cases[i].order, 400, "detail",
                       cases[i].detail);
}

/* What is in the folder gives way to the copy, so it must be one of its own. */
static void folder_that_is_another_one_keeps_its_files(void **state)
{
    static const char *const folders[] = {"keep/..",      "keep/.",  "keep/",
                                          "keep/../keep", "keep//d", "keep/./d"};
    struct action_bench *bench = *state;

    bench_shell(bench, APP);
    bench_shell(bench, "mkdir keep; touch keep/x");
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            fetch(bench, bench_text(bench, ",\"ref\":\"v1\",\"folder\":\"%s/%s\"", bench->workspace,
                                    folders[i]));

        assert_reply(reply, 400, "detail", "\"The folder must be an absolute path\"");
        assert_string_equal(bench_shell_line(bench, "echo $(find . -type f)"), "./keep/x");
    }
}

/* Names that begin with dots are no steps upwards. */
static void folder_may_be_hidden(void **state)
{
    static const char *const folders[] = {".c", "..c", "...", ".c/.d"};
    struct action_bench *bench = *state;

    bench_shell(bench, APP);
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            fetch(bench, bench_text(bench, ",\"ref\":\"v1\",\"folder\":\"%s/%s\"", bench->workspace,
                                    folders[i]));

        assert_reply(reply, 200, "path",
                     bench_text(bench, "\"%s/%s\"", bench->workspace, folders[i]));
        assert_file(bench, bench_text(bench, "%s/r.md", folders[i]), "one\n");
    }
}

static void copy_that_cannot_be_moved_is_an_error(void **state)
{
    struct action_bench *bench = *state;
    const struct fetch_copy copy = {.folder = bench_path(bench, "c")};
    struct error err = ERROR_INIT;

    assert_int_equal(fetch_copy_place(&copy, bench_path(bench, "none"), &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "Moving the copy into place: No such file or directory");
}

static void credential_that_git_cannot_carry_is_refused(void **state)
{
    static const char *const credentials[] = {
        "{\"password\":\"secret\\nx\"}",
        "{\"password\":\"secret\\rx\"}",
        "{\"password\":\"correct-horse\",\"username\":\"a\\nb\"}",
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(credentials); i++)
        assert_answers(bench, "POST /repositories/fetch", "",
                       bench_text(bench,
                                  "{\"source\":\"https://host/app\",\"folder\":\"%s/c\","
                                  "\"credentials\":%s}",
                                  bench->workspace, credentials[i]),
                       400, "detail", "\"git cannot use such a credential\"");
    assert_string_equal(bench_shell_line(bench, "ls -A"), "");
}

static void copies_left_behind_are_removed(void **state)
{
    struct action_bench *bench = *state;
    const struct timespec old[] = {{0, 0}, {1500000000, 0}};
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, APP);
    bench_shell(bench, "mkdir old.new-1 young.new-2 other; touch old.new-1/x");
    assert_int_equal(utimensat(AT_FDCWD, bench_path(bench, "old.new-1"), old, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, bench_path(bench, "other"), old, 0), 0);
    reply =
        fetch(bench, bench_text(bench, ",\"ref\":\"v1\",\"folder\":\"%s/c\"", bench->workspace));
    assert_int_equal(reply.status, 200);
    assert_string_equal(bench_shell_line(bench, "ls -A | tr '\\n' ' '"), "c other young.new-2 ");
}

static void text_is_told_of_a_few_types(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "mkdir -p ../app/.git ../app/1/2/3/4/5/6/7/8; cd ../app;"
                       "for f in a.md b.json c.yml d.yaml e.txt .git/f.md 1/2/3/4/5/6/7/g.md"
                       " 1/2/3/4/5/6/7/8/h.md; do echo x > $f; done;"
                       "truncate -s 524289 large.md; truncate -s 524288 fits.md");
    reply = fetch(bench, "");
    assert_reply(reply, 200, "files[0]",
                 "{\"path\":\"1/2/3/4/5/6/7/g.md\",\"size_bytes\":2,\"text\":\"x\\n\"}");
    assert_reply(reply, 200, "files[1].text", "\"x\\n\"");
    assert_reply(reply, 200, "files[2].text", "\"x\\n\"");
    assert_reply(reply, 200, "files[3].text", "\"x\\n\"");
    assert_reply(reply, 200, "files[4].text", "\"x\\n\"");
    assert_reply(reply, 200, "files[5]", "{\"path\":\"e.txt\",\"size_bytes\":2}");
    assert_reply(reply, 200, "files[6].size_bytes", "524288");
    assert_reply(reply, 200, "files[7]", "{\"path\":\"large.md\",\"size_bytes\":524289}");
    assert_reply(reply, 200, "files[8]", NULL);
    assert_reply(reply, 200, "path", bench_text(bench, "\"%s/app\"", bench->folder));
    assert_reply(reply, 200, "resolved_ref", NULL);
}

static void files_told_are_bounded(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply many = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply large = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "mkdir ../app; cd ../app; touch $(seq 10001 12001)");
    many = fetch(bench, "");
    assert_reply(many, 200, "files[1999].path", "\"12000\"");
    assert_reply(many, 200, "files[2000]", NULL);
    bench_shell(bench, "cd ../app; rm *; for i in 1 2 3 4 5 6 7; do head -c 524288 /dev/zero | "
                       "tr '\\0' x > $i.md; done");
    large = fetch(bench, "");
    assert_reply(large, 200, "files[6]", "{\"path\":\"7.md\",\"size_bytes\":524288}");
    assert_non_null(strstr(large.body.text, "\"6.md\",\"size_bytes\":524288,\"text\":"));
}

int fetch_copy_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(copy_has_the_files_of_the_commit),
        BENCH_TEST(later_copy_replaces_the_earlier_one),
        BENCH_TEST(what_cannot_be_fetched_is_told),
        BENCH_TEST(order_that_is_wrong_is_refused),
        BENCH_TEST(folder_that_is_another_one_keeps_its_files),
        BENCH_TEST(folder_may_be_hidden),
        BENCH_TEST(copy_that_cannot_be_moved_is_an_error),
        BENCH_TEST(credential_that_git_cannot_carry_is_refused),
        BENCH_TEST(copies_left_behind_are_removed),
        BENCH_TEST(text_is_told_of_a_few_types),
        BENCH_TEST(files_told_are_bounded),
    };

    return cmocka_run_group_tests_name("sandbox/fetch_copy", tests, NULL, NULL);
}

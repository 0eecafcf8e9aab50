/*
 * GET /api/file/archive: a folder as a tar, or the changes of a repository as a patch.
 */
#include "sandbox/files/archive.h"

#include <string.h>

#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/files/files_tests.h"

#define REPOSITORY                                                                                 \
    "git init -q -b main; echo one > a; git add a; git commit -q -m first;"                        \
    "git remote add origin https://user:token@example.org/team/app.git; "

static const char *archive_line(struct action_bench *bench, const char *query)
{
    return bench_text(bench, "GET /api/file/archive?path=%s%s", bench->workspace, query);
}

/* The names in an archive of the workspace, in one line. */
static const char *names_of(struct action_bench *bench, const char *query)
{
    CLEANUP(bench_reply_done) struct bench_reply reply = bench_ask(
        bench, bench_text(bench, "%s&format=tar.gz", archive_line(bench, query)), "", NULL);

    assert_int_equal(reply.status, 200);
    assert_header(&reply, "content-type", "application/gzip");
    bench_write_bytes(bench, "../archive", reply.body.text, reply.body.len);
    return bench_shell_line(bench, "tar -tzf ../archive | grep -v '/$' | sort | tr '\\n' ' '");
}

static void folder_is_archived_without_what_can_be_rebuilt(void **state)
{
    static const char *const rebuilt[] = {
        "node_modules", ".venv", "venv",   "__pycache__", ".pytest_cache", ".mypy_cache",
        ".ruff_cache",  ".tox",  ".cache", ".npm",        ".gradle",
    };
    static const char *const secret[] = {".git/config", ".git/credentials", ".git-credentials",
                                         ".netrc"};
    struct action_bench *bench = *state;

    bench_write(bench, "a/b", "x");
    bench_write(bench, "c", "x");
    for (size_t i = 0; i < ARRAY_SIZE(rebuilt); i++)
        bench_write(bench, bench_text(bench, "a/%s/x", rebuilt[i]), "x");
    for (size_t i = 0; i < ARRAY_SIZE(secret); i++)
        bench_write(bench, secret[i], "x");
    assert_string_equal(names_of(bench, ""), "./a/b ./c ");
    assert_string_equal(names_of(bench, "&use_default_excludes=true"), "./a/b ./c ");
    assert_string_equal(names_of(bench, "&exclude=b&exclude="), "./c ");
    assert_string_equal(names_of(bench, "&exclude=b&exclude=c"), "");
    /* Files that may hold keys are never in it. */
    assert_string_equal(names_of(bench, "&use_default_excludes=0"),
                        "./a/.cache/x ./a/.gradle/x ./a/.mypy_cache/x ./a/.npm/x "
                        "./a/.pytest_cache/x ./a/.ruff_cache/x ./a/.tox/x ./a/.venv/x "
                        "./a/__pycache__/x ./a/b ./a/node_modules/x ./a/venv/x ./c ");
    assert_string_equal(names_of(bench, "&use_default_excludes=FALSE&exclude=a"), "./c ");
}

static void archive_is_named_after_its_folder(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_ask(bench, archive_line(bench, "&format=tar.gz"), "", NULL);

    assert_header(&reply, "content-disposition", "attachment; filename=\"work.tar.gz\"");
    assert_header(&reply, "x-archive-base-commit", NULL);
}

static void folder_that_is_not_there_cannot_be_archived(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "file", "x");
    assert_answers(bench, "GET /api/file/archive", "", NULL, 422, "detail[0].loc",
                   "[\"query\",\"path\"]");
    assert_answers(bench, "GET /api/file/archive?path=x", "", NULL, 400, "detail",
                   "\"Path must be absolute\"");
    assert_answers(bench, archive_line(bench, "/none"), "", NULL, 404, "detail",
                   "\"Path not found\"");
    assert_answers(bench, archive_line(bench, "/file"), "", NULL, 400, "detail",
                   "\"Path is not a directory\"");
    assert_answers(bench, archive_line(bench, ""), "", NULL, 400, "detail",
                   bench_text(bench, "\"No git repository at %s\"", bench->workspace));
}

static void patch_has_the_changes_since_the_base(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    const char *index = NULL;
    const char *head = NULL;

    bench_shell(bench, REPOSITORY "echo two > a; echo new > b; mkdir venv; echo x > venv/x");
    index = bench_shell_line(bench, "sha1sum .git/index");
    head = bench_shell_line(bench, "git rev-parse HEAD");
    reply = bench_ask(bench, archive_line(bench, ""), "", NULL);
    assert_int_equal(reply.status, 200);
    assert_header(&reply, "content-type", "text/x-patch; charset=utf-8");
    assert_header(&reply, "content-disposition", "attachment; filename=\"changes.patch\"");
    assert_header(&reply, "x-archive-base-commit", head);
    assert_header(&reply, "x-archive-base-ref", head);
    assert_header(&reply, "x-archive-head-commit", head);
    assert_header(&reply, "x-archive-branch", "main");
    assert_header(&reply, "x-archive-repo-root",
                  bench_text(bench, "%%2Ftmp%%2F%s%%2Fwork", bench->folder + strlen("/tmp/")));
    assert_header(&reply, "x-archive-repo-remote", "https%3A%2F%2Fexample.org%2Fteam%2Fapp.git");
    assert_string_equal(reply.body.text,
                        "diff --git a/a b/a\nindex 5626abf..f719efd 100644\n--- a/a\n+++ b/a\n"
                        "@@ -1 +1 @@\n-one\n+two\n"
                        "diff --git a/b b/b\nnew file mode 100644\nindex 0000000..3e75765\n"
                        "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+new\n");
    /* The repository's own index stays as it is, and no copy of it is left. */
    assert_string_equal(bench_shell_line(bench, "sha1sum .git/index"), index);
    assert_string_equal(bench_shell_line(bench, "git status --porcelain | tr '\\n' ' '"),
                        " M a ?? b ?? venv/ ");
}

static void patch_may_leave_out_and_compare_with_another_base(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply whole = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, REPOSITORY "git tag v1; mkdir -p d venv; echo two > a; echo x > d/a;"
                                  "echo x > b; echo x > d/b; git add .; git commit -q -m second");
    reply = bench_ask(bench, archive_line(bench, "&base_ref=v1&exclude=d/a&exclude=b"), "", NULL);
    assert_int_equal(reply.status, 200);
    assert_header(&reply, "x-archive-base-ref", "v1");
    assert_header(&reply, "x-archive-base-commit", bench_shell_line(bench, "git rev-parse v1"));
    assert_string_equal(reply.body.text,
                        "diff --git a/a b/a\nindex 5626abf..f719efd 100644\n--- a/a\n+++ b/a\n"
                        "@@ -1 +1 @@\n-one\n+two\n");
    whole = bench_ask(bench, archive_line(bench, "&base_ref=v1&exclude=d"), "", NULL);
    assert_non_null(strstr(whole.body.text, "a/b b/b"));
    assert_null(strstr(whole.body.text, "d/b"));
    assert_answers(bench, archive_line(bench, "&base_ref=none"), "", NULL, 400, "detail",
                   "\"Unknown revision: none\"");
    assert_answers(bench, archive_line(bench, "&base_ref=none&format=tar.gz"), "", NULL, 400,
                   "detail", "\"Unknown revision: none\"");
}

static void error_has_no_headers_of_the_archive(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, REPOSITORY "rm -r .git/objects/$(git rev-parse HEAD: | cut -c 1-2)");
    reply = bench_ask(bench, archive_line(bench, "&base_ref=HEAD"), "", NULL);
    assert_int_equal(reply.status, 400);
    assert_header(&reply, "x-archive-base-commit", NULL);
    assert_header(&reply, "content-disposition", NULL);
    assert_header(&reply, "content-type", "application/json");
}

/* Only the copy of the index knows that an ignored file is tracked. */
static void ignored_file_that_is_tracked_is_no_change(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, REPOSITORY "echo c > c; echo c > .gitignore; git add -f c .gitignore;"
                                  "git commit -q -m second; echo two > a");
    reply = bench_ask(bench, archive_line(bench, "&base_ref=HEAD"), "", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body.text,
                        "diff --git a/a b/a\nindex 5626abf..f719efd 100644\n--- a/a\n+++ b/a\n"
                        "@@ -1 +1 @@\n-one\n+two\n");
}

/* The first one, at most three folders below, in the order of names. */
static void repository_below_the_folder_is_found(void **state)
{
    static const struct {
        const char *make;
        const char *found; /* NULL: none */
    } cases[] = {
        {"git init -q b; git init -q c", "b"},
        {"git init -q a/x/y; git init -q b", "a%2Fx%2Fy"},
        {"git init -q a/x/y/z", NULL},
        {"git init -q .a", NULL},
        {"git init -q ../elsewhere; ln -s ../elsewhere a", NULL},
    };
    struct action_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        bench_shell(bench, "rm -rf ./* .a");
        bench_shell(bench, cases[i].make);
        reply = bench_ask(bench, archive_line(bench, ""), "", NULL);
        assert_int_equal(reply.status, cases[i].found != NULL ? 200 : 400);
        assert_header(&reply, "x-archive-repo-root",
                      cases[i].found != NULL
                          ? bench_text(bench, "%%2Ftmp%%2F%s%%2Fwork%%2F%s",
                                       bench->folder + strlen("/tmp/"), cases[i].found)
                          : NULL);
    }
}

/* A repository without commits has no head, no branch's commit and no remote. */
static void empty_repository_is_compared_with_nothing(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "git init -q -b trunk; echo x > a");
    reply = bench_ask(bench, archive_line(bench, ""), "", NULL);
    assert_int_equal(reply.status, 200);
    assert_header(&reply, "x-archive-base-commit", "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    assert_header(&reply, "x-archive-branch", "trunk");
    assert_header(&reply, "x-archive-head-commit", NULL);
    assert_header(&reply, "x-archive-repo-remote", NULL);
    assert_non_null(strstr(reply.body.text, "+x\n"));
}

static void remote_is_named_without_its_password(void **state)
{
    static const char *const remotes[][2] = {
        {"https://user:token@example.org/a", "https%3A%2F%2Fexample.org%2Fa"},
        {"https://token@example.org", "https%3A%2F%2Fexample.org"},
        {"https://example.org/a@b", "https%3A%2F%2Fexample.org%2Fa%40b"},
        {"git@example.org:team/app", "git%40example.org%3Ateam%2Fapp"},
    };
    struct action_bench *bench = *state;

    bench_shell(bench, REPOSITORY);
    for (size_t i = 0; i < ARRAY_SIZE(remotes); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

        bench_shell(bench, bench_text(bench, "git remote set-url origin %s", remotes[i][0]));
        reply = bench_ask(bench, archive_line(bench, "&format=tar.gz"), "", NULL);
        assert_int_equal(reply.status, 200);
        assert_header(&reply, "x-archive-repo-remote", remotes[i][1]);
    }
}

int archive_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(folder_is_archived_without_what_can_be_rebuilt),
        BENCH_TEST(archive_is_named_after_its_folder),
        BENCH_TEST(folder_that_is_not_there_cannot_be_archived),
        BENCH_TEST(patch_has_the_changes_since_the_base),
        BENCH_TEST(patch_may_leave_out_and_compare_with_another_base),
        BENCH_TEST(error_has_no_headers_of_the_archive),
        BENCH_TEST(ignored_file_that_is_tracked_is_no_change),
        BENCH_TEST(repository_below_the_folder_is_found),
        BENCH_TEST(empty_repository_is_compared_with_nothing),
        BENCH_TEST(remote_is_named_without_its_password),
    };

    return cmocka_run_group_tests_name("sandbox/archive", tests, NULL, NULL);
}

/*
 * /api/git/changes and /api/git/commits on real repositories.
 */
#include "sandbox/git/git_routes.h"

#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/git/git_tests.h"

static const char *line_of(struct action_bench *bench, const char *route, const char *query)
{
    return bench_text(bench, "GET /api/git/%s?path=%s%s", route, bench->workspace, query);
}

#define ITEM(status, path) "{\"status\":\"" status "\",\"path\":\"" path "\"}"

static void changes_are_told_in_order(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q -b main; mkdir d; for f in changed deleted type d/same;"
                       "do echo x > $f; done; echo ignored > .gitignore; git add .;"
                       "git commit -q -m first; git tag v1; echo y > changed; rm deleted type;"
                       "ln -s x type; echo x > ignored; echo x > new; echo x > d/added;"
                       "git add d/added; git init -q nested; echo x > nested/x");
    assert_answers(
        bench, line_of(bench, "changes", ""), "", NULL, 200, "",
        "[" ITEM("UPDATED", "changed") "," ITEM("ADDED", "d/added") "," ITEM(
            "DELETED", "deleted") "," ITEM("ADDED", "nested") "," ITEM("ADDED",
                                                                       "new") "," ITEM("UPDATED",
                                                                                       "type") "]");
    /* Relative to the folder, and of it alone. */
    assert_answers(bench, line_of(bench, "changes", "/d"), "", NULL, 200, "",
                   "[" ITEM("ADDED", "added") "]");
    bench_shell(bench, "rm -r nested; git add .; git commit -q -m second");
    assert_answers(bench, line_of(bench, "changes", ""), "", NULL, 200, "", "[]");
    assert_answers(bench, line_of(bench, "changes", "/d&ref=v1"), "", NULL, 200, "",
                   "[" ITEM("ADDED", "added") "]");
    assert_answers(bench, line_of(bench, "changes", "&ref=none"), "", NULL, 400, "detail",
                   "\"Unknown revision: none\"");
}

static void unfinished_merge_is_an_update(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q -b main; echo 1 > a; git add a; git commit -q -m 1;"
                       "git checkout -q -b b; echo 2 > a; git commit -q -a -m 2;"
                       "git checkout -q main; echo 3 > a; git commit -q -a -m 3;"
                       "git merge -q b >/dev/null || true");
    assert_answers(bench, line_of(bench, "changes", "&ref=HEAD"), "", NULL, 200, "",
                   "[" ITEM("UPDATED", "a") "]");
}

static void folder_without_repository_has_no_changes(void **state)
{
    static const char *const routes[] = {"changes", "commits", "commits/HEAD/changes"};
    struct action_bench *bench = *state;

    bench_write(bench, "file", "x");
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        const char *nothing = i == 1 ? "{\"commits\":[],\"has_more\":false}" : "[]";

        assert_answers(bench, line_of(bench, routes[i], ""), "", NULL, 200, "", nothing);
        assert_answers(bench, line_of(bench, routes[i], "/none"), "", NULL, 200, "", nothing);
        assert_answers(bench, line_of(bench, routes[i], "/file"), "", NULL, 200, "", nothing);
        assert_answers(bench, bench_text(bench, "GET /api/git/%s", routes[i]), "", NULL, 422,
                       "detail[0].loc", "[\"query\",\"path\"]");
        assert_answers(bench, bench_text(bench, "GET /api/git/%s?path=x", routes[i]), "", NULL, 400,
                       "detail", "\"Path must be absolute\"");
    }
    bench_shell(bench, "git init -q");
    assert_answers(bench, line_of(bench, "commits", ""), "", NULL, 200, "",
                   "{\"commits\":[],\"has_more\":false}");
    assert_answers(bench, line_of(bench, "changes", ""), "", NULL, 200, "",
                   "[" ITEM("ADDED", "file") "]");
}

static void commits_are_told_newest_first(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "git init -q -b main; for i in 1 2 3; do git commit -q --allow-empty "
                       "-m \"subject $i\" -m body; done");
    reply = bench_ask(bench, line_of(bench, "commits", ""), "", NULL);
    assert_reply(reply, 200, "commits[0]",
                 bench_text(bench,
                            "{\"sha\":\"%s\",\"short_sha\":\"%s\",\"subject\":\"subject 3\","
                            "\"author\":\"Ann\",\"timestamp\":\"2020-01-02T03:04:05+00:00\"}",
                            bench_shell_line(bench, "git rev-parse HEAD"),
                            bench_shell_line(bench, "git rev-parse --short HEAD")));
    assert_reply(reply, 200, "commits[2].subject", "\"subject 1\"");
    assert_reply(reply, 200, "commits[3]", NULL);
    assert_reply(reply, 200, "has_more", "false");
    assert_answers(bench, line_of(bench, "commits", "&limit=3"), "", NULL, 200, "has_more",
                   "false");
    assert_answers(bench, line_of(bench, "commits", "&limit=2"), "", NULL, 200, "has_more", "true");
    assert_answers(bench, line_of(bench, "commits", "&limit=2"), "", NULL, 200, "commits[2]", NULL);
    assert_answers(bench, line_of(bench, "commits", "&limit=1"), "", NULL, 200,
                   "commits[0].subject", "\"subject 3\"");
    assert_answers(bench, line_of(bench, "commits", "&limit=1"), "", NULL, 200, "has_more", "true");
}

static void fifty_commits_are_told_or_as_many_as_asked_for(void **state)
{
    struct action_bench *bench = *state;
    static const struct {
        const char *query;
        const char *last; /* the last commit told */
        const char *next;
    } cases[] = {
        {"", "commits[49]", "commits[50]"},
        {"&limit=0", "commits[49]", "commits[50]"},
        {"&limit=201", "commits[49]", "commits[50]"},
        {"&limit=x", "commits[49]", "commits[50]"},
        {"&limit=1", "commits[0]", "commits[1]"},
        {"&limit=200", "commits[199]", "commits[200]"},
    };

    bench_shell(bench, "git init -q -b main; (for i in $(seq 201); do printf 'commit "
                       "refs/heads/main\\ncommitter A <a@b> %s +0000\\ndata 1\\nx' $i; "
                       "done) | git fast-import --quiet");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply =
            bench_ask(bench, line_of(bench, "commits", cases[i].query), "", NULL);

        assert_reply(reply, 200, bench_text(bench, "%s.subject", cases[i].last), "\"x\"");
        assert_reply(reply, 200, cases[i].next, NULL);
        assert_reply(reply, 200, "has_more", "true");
    }
}

static void changes_of_a_commit_are_told(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "git init -q -b main; mkdir d; echo x > a; echo x > d/b; git add .;"
                       "git commit -q -m 1; git tag v1; echo y > a; rm d/b; echo x > c;"
                       "git add .; git commit -q -m 2; echo z > a");
    assert_answers(bench, line_of(bench, "commits/v1/changes", ""), "", NULL, 200, "",
                   "[" ITEM("ADDED", "a") "," ITEM("ADDED", "d/b") "]");
    assert_answers(bench, line_of(bench, "commits/HEAD/changes", ""), "", NULL, 200, "",
                   "[" ITEM("UPDATED", "a") "," ITEM("ADDED", "c") "," ITEM("DELETED", "d/b") "]");
    assert_answers(bench, line_of(bench, "commits/none/changes", ""), "", NULL, 400, "detail",
                   "\"Unknown revision: none\"");
}

int git_routes_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(changes_are_told_in_order),
        BENCH_TEST(unfinished_merge_is_an_update),
        BENCH_TEST(folder_without_repository_has_no_changes),
        BENCH_TEST(commits_are_told_newest_first),
        BENCH_TEST(fifty_commits_are_told_or_as_many_as_asked_for),
        BENCH_TEST(changes_of_a_commit_are_told),
    };

    return cmocka_run_group_tests_name("sandbox/git_routes", tests, NULL, NULL);
}

/*
 * POST /files/collect: which files of which folders are told.
 */
#include "sandbox/files/project_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "unit/sandbox/action_bench.h"
#include "unit/sandbox/files/files_tests.h"

static struct bench_reply collect(struct action_bench *bench, const char *places)
{
    return bench_ask(bench, "POST /files/collect", "",
                     bench_text(bench, "{\"places\":[%s]}", places));
}

/* Asserts "place:path below the test's folder" of each file told, in one line. */
static void assert_collected(struct action_bench *bench, const char *places, const char *expected)
{
    CLEANUP(bench_reply_done) struct bench_reply reply = collect(bench, places);
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
    json_auto_t *body = json_loads(reply.body.text, 0, NULL);
    const json_t *file = NULL;
    size_t i = 0;

    assert_int_equal(reply.status, 200);
    json_array_foreach (json_object_get(body, "files"), i, file)
        strbuf_appendf(&found, "%d:%s ", (int)json_int_or(file, "place", -1),
                       json_text_or(file, "path", "") + strlen(bench->folder) + 1);
    assert_string_equal(found.text, expected);
}

#define PLACE(rest)                                                                                \
    bench_text(bench, "{\"folder\":\"%s\",\"names\":[\"*.md\",7,\"agents.txt\"]" rest "}",         \
               bench->workspace)

static void files_are_told_by_name_and_depth(void **state)
{
    struct action_bench *bench = *state;

    bench_shell(bench, "mkdir -p a/b/c/d .hid; for f in 1.md a/2.MD a/b/3.md a/b/c/4.md"
                       " a/b/c/d/5.md .hid/6.md x.txt AGENTS.txt; do echo x > $f; done;"
                       "ln -s none dead.md; mkdir folder.md");
    assert_collected(bench, PLACE(""), "0:work/1.md 0:work/AGENTS.txt ");
    assert_collected(bench, PLACE(",\"depth\":1"), "0:work/1.md 0:work/AGENTS.txt ");
    assert_collected(bench, PLACE(",\"depth\":2"),
                     "0:work/.hid/6.md 0:work/1.md 0:work/AGENTS.txt 0:work/a/2.MD ");
    assert_collected(bench, PLACE(",\"depth\":4"),
                     "0:work/.hid/6.md 0:work/1.md 0:work/AGENTS.txt 0:work/a/2.MD "
                     "0:work/a/b/3.md 0:work/a/b/c/4.md ");
    /* No deeper than four. */
    assert_collected(bench, PLACE(",\"depth\":5"),
                     "0:work/.hid/6.md 0:work/1.md 0:work/AGENTS.txt 0:work/a/2.MD "
                     "0:work/a/b/3.md 0:work/a/b/c/4.md ");
    assert_collected(bench, PLACE(",\"sub\":\"a/b\""), "0:work/a/b/3.md ");
}

static void file_has_its_place_path_and_text(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    bench_write(bench, "a.md", "text\n");
    reply = collect(
        bench, bench_text(bench, "{},{\"folder\":\"%s\",\"names\":[\"a.md\"]}", bench->workspace));
    assert_reply(
        reply, 200, "",
        bench_text(
            bench,
            "{\"files\":[{\"place\":1,\"path\":\"%s/a.md\",\"text\":\"text\\n\"}],\"skipped\":[]}",
            bench->workspace));
}

static void home_and_root_of_the_repository_are_searched(void **state)
{
    struct action_bench *bench = *state;

    bench_write(bench, "../home/.deft/h.md", "x");
    bench_write(bench, ".git/HEAD", "x");
    bench_write(bench, "r.md", "x");
    bench_write(bench, "a/b/b.md", "x");
    assert_collected(bench, "{\"folder\":\"~\",\"sub\":\".deft\",\"names\":[\"*\"]}",
                     "0:home/.deft/h.md ");
    assert_collected(bench,
                     bench_text(bench,
                                "{\"folder\":\"%s/a/b\",\"names\":[\"*.md\"],\"with_root\":true}",
                                bench->workspace),
                     "0:work/r.md 0:work/a/b/b.md ");
    assert_collected(
        bench, bench_text(bench, "{\"folder\":\"%s/a/b\",\"names\":[\"*.md\"]}", bench->workspace),
        "0:work/a/b/b.md ");
    /* The folder is the root itself: once is enough. */
    assert_collected(bench,
                     bench_text(bench,
                                "{\"folder\":\"%s\",\"names\":[\"*.md\"],\"with_root\":true}",
                                bench->workspace),
                     "0:work/r.md ");
    assert_collected(bench,
                     bench_text(bench,
                                "{\"folder\":\"%s/a/b\",\"sub\":\"b\",\"names\":[\"*\"],"
                                "\"with_root\":true}",
                                bench->workspace),
                     "");
    bench_shell(bench, "rm -r .git");
    assert_collected(bench,
                     bench_text(bench,
                                "{\"folder\":\"%s/a/b\",\"names\":[\"*.md\"],\"with_root\":true}",
                                bench->workspace),
                     "0:work/a/b/b.md ");
    assert_collected(bench, "{\"folder\":\"work\",\"names\":[\"*\"]}", "");
    assert_collected(bench, "{\"folder\":\"/none\",\"names\":[\"*\"]}", "");
}

static void files_over_a_limit_are_left_out(void **state)
{
    struct action_bench *bench = *state;
    const char *all = bench_text(bench, "{\"folder\":\"%s\",\"names\":[\"*\"]}", bench->workspace);
    CLEANUP(bench_reply_done) struct bench_reply sixteen = {0, STRBUF_INIT, STRBUF_INIT};
    CLEANUP(bench_reply_done) struct bench_reply many = {0, STRBUF_INIT, STRBUF_INIT};

    bench_shell(bench, "head -c 524288 /dev/zero | tr '\\0' x > fits;"
                       "head -c 524289 /dev/zero | tr '\\0' x > more");
    assert_collected(bench, all, "0:work/fits ");
    /* 8 MiB together. */
    bench_shell(bench, "rm more; for i in $(seq 11 30); do cp fits $i; done");
    sixteen = collect(bench, all);
    assert_reply(sixteen, 200, "files[15].path", bench_text(bench, "\"%s/26\"", bench->workspace));
    assert_reply(sixteen, 200, "files[16]", NULL);
    bench_shell(bench, "rm *; for i in $(seq 1001 1502); do echo > $i; done");
    many = collect(bench, all);
    assert_reply(many, 200, "files[499].path", bench_text(bench, "\"%s/1500\"", bench->workspace));
    assert_reply(many, 200, "files[500]", NULL);
}

static void places_must_be_a_short_list(void **state)
{
    struct action_bench *bench = *state;
    static const char *const bodies[] = {"", "[]", "{}", "{\"places\":{}}", "{\"places\":1"};
    CLEANUP(strbuf_done) struct strbuf places = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
        assert_answers(bench, "POST /files/collect", "", bodies[i], 400, "detail",
                       "\"places must be a list\"");
    for (int i = 0; i < 64; i++)
        strbuf_append(&places, i > 0 ? ",{}" : "{}");
    assert_collected(bench, places.text, "");
    strbuf_append(&places, ",{}");
    {
        CLEANUP(bench_reply_done) struct bench_reply reply = collect(bench, places.text);

        assert_reply(reply, 400, "detail", "\"places must be a list\"");
    }
}

int project_files_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(files_are_told_by_name_and_depth),
        BENCH_TEST(file_has_its_place_path_and_text),
        BENCH_TEST(home_and_root_of_the_repository_are_searched),
        BENCH_TEST(files_over_a_limit_are_left_out),
        BENCH_TEST(places_must_be_a_short_list),
    };

    return cmocka_run_group_tests_name("sandbox/project_files", tests, NULL, NULL);
}

/*
 * Taking checkpoints: what is in them, what one costs, and that a workspace cannot make them run
 * anything.
 */
#include "sandbox/checkpoint/file_snapshot.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/checkpoint/left_out.h"
#include "sandbox/checkpoint/parent_folder.h"
#include "unit/sandbox/checkpoint/checkpoint_bench.h"
#include "unit/sandbox/checkpoint/checkpoint_tests.h"

/* Asserts what git lists of the checkpoint: "mode path" lines. */
static void assert_listed(struct checkpoint_bench *bench, const struct file_snapshot *snapshot,
                          const char *lines)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    strbuf_appendf(&line,
                   "$GIT fsck --strict; $GIT ls-tree -r %s | sed 's/ [^\\t]*\\t/ /' > $STATE/found;"
                   "printf '%s' | diff - $STATE/found",
                   snapshot->tree.hex, lines);
    bench_run(bench, line.text);
}

static void files_links_and_modes_are_kept(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;

    bench_run(bench, "echo a > a; mkdir -p d/e a-b; echo x > d/e/f; echo y > a-b/z; echo z > a.txt;"
                     "echo run > tool; chmod 755 tool; ln -s ../nowhere link; mkdir empty;"
                     "mkfifo pipe; echo s > .env");
    bench_take(bench, &snapshot);
    assert_listed(bench, &snapshot,
                  "100644 .env\\n100644 a\\n100644 a-b/z\\n100644 a.txt\\n100644 d/e/f\\n"
                  "120000 link\\n100755 tool\\n");
    assert_int_equal(snapshot.files.n, 7);
    assert_int_equal(snapshot.n_read, 7);
    assert_int_equal(snapshot.n_skipped, 0);
}

static void empty_and_missing_folders_are_empty_trees(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot empty = FILE_SNAPSHOT_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot missing = FILE_SNAPSHOT_INIT;

    bench_take(bench, &empty);
    bench_run(bench, "rmdir ../work");
    bench_take(bench, &missing);
    assert_int_equal(mkdir(bench->workspace, 0755), 0);
    assert_string_equal(empty.tree.hex, missing.tree.hex);
    assert_listed(bench, &empty, "");
}

static void git_folders_and_rebuilt_ones_are_left_out(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;

    bench_run(bench,
              "git init -q .; git init -q web; echo 1 > web/file; mkdir -p node_modules/x tree"
              " web/.venv; echo 1 > node_modules/x/y; echo 1 > web/.venv/a;"
              "echo 'gitdir: x' > tree/.git; echo 1 > tree/file; echo 1 > venv");
    bench_take(bench, &snapshot);
    assert_listed(bench, &snapshot, "100644 tree/file\\n100644 venv\\n100644 web/file\\n");
    assert_true(left_out(".git", false));
    assert_false(left_out("node_modules", false));
    assert_false(left_out(".gitignore", false));
}

/* Until all files are old enough to be known by their times. */
#define SETTLE "while find . -newerct '0.3 seconds ago' | grep -q .; do :; done"

static void second_checkpoint_reads_what_changed(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot first = FILE_SNAPSHOT_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot second = FILE_SNAPSHOT_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot third = FILE_SNAPSHOT_INIT;

    bench_run(bench, "mkdir d; for i in 1 2 3 4 5 6 7 8 9; do echo $i > d/$i; done;"
                     "touch -d '1 hour' d/*");
    bench_take(bench, &first);
    assert_int_equal(first.n_read, 9);
    /* Fresh files may change again within the same time stamp, so they are read once more: these
     * stay fresh. */
    bench_take(bench, &second);
    assert_int_equal(second.n_read, 9);
    assert_string_equal(second.tree.hex, first.tree.hex);
    bench_run(bench, "touch d/*; " SETTLE);
    file_snapshot_done(&second);
    second = (struct file_snapshot)FILE_SNAPSHOT_INIT;
    bench_take(bench, &second);
    bench_run(bench, "echo changed > d/5; rm d/6");
    bench_take(bench, &third);
    assert_int_equal(third.n_read, 1);
    assert_int_equal(third.files.n, 8);
    assert_string_not_equal(third.tree.hex, first.tree.hex);
}

/* Size and times are as before: the change time tells. */
static void forged_times_do_not_hide_a_change(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot first = FILE_SNAPSHOT_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot second = FILE_SNAPSHOT_INIT;

    bench_run(bench, "echo one > file; touch -d '2020-01-01' file; " SETTLE);
    bench_take(bench, &first);
    bench_run(bench, "echo two > file; touch -d '2020-01-01' file");
    bench_take(bench, &second);
    assert_string_not_equal(second.tree.hex, first.tree.hex);
}

static void large_and_unreadable_files_are_named(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;
    const json_t *entry = NULL;

    bench_run(bench, "head -c 16777216 /dev/zero > most; head -c 16777217 /dev/zero > large");
    bench_take(bench, &snapshot);
    assert_listed(bench, &snapshot, "100644 most\\n");
    assert_int_equal(snapshot.n_skipped, 1);
    entry = json_array_get(snapshot.skipped, 0);
    assert_string_equal(json_text_or(entry, "path", ""), "large");
    assert_string_equal(json_text_or(entry, "reason", ""), "too large");
}

static void many_skipped_files_are_counted(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;

    bench_run(bench, "for i in $(seq 60); do truncate -s 20000000 $i; done");
    bench_take(bench, &snapshot);
    assert_int_equal(snapshot.n_skipped, 60);
    assert_int_equal(json_array_size(snapshot.skipped), 50);
}

static void deep_folders_end_somewhere(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;

    bench_run(bench, "echo 1 > file; p=.; for i in $(seq 80); do p=$p/d; done; mkdir -p $p;"
                     "echo 1 > $p/below");
    bench_take(bench, &snapshot);
    assert_int_equal(snapshot.n_skipped, 1);
    assert_int_equal(snapshot.files.n, 1);
}

static void many_folders_side_by_side_are_read(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;

    bench_run(bench, "mkdir $(seq 1000); echo 1 > 1/file; echo 1 > 1000/file");
    bench_take(bench, &snapshot);
    assert_int_equal(snapshot.files.n, 2);
}

static void too_many_files_are_refused(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;
    struct error err = ERROR_INIT;

    bench_run(bench, "seq 50001 | xargs -n 5000 touch");
    assert_int_equal(object_store_open(&store, bench->state, &object_store_default_limits, &err),
                     0);
    assert_int_equal(
        file_snapshot_take(&store, bench->workspace, clock_monotonic_ms() + 60000, &snapshot, &err),
        -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_string_equal(err.message, "More than 50000 files");
}

/* The time limit ends one checkpoint; what it has read, the next one need not read. */
static void time_limit_ends_it(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;
    struct error err = ERROR_INIT;

    bench_run(bench, "echo 1 > file");
    assert_int_equal(object_store_open(&store, bench->state, &object_store_default_limits, &err),
                     0);
    assert_int_equal(file_snapshot_take(&store, bench->workspace, 0, &snapshot, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
}

/* A folder that was listed may be a link when its files are read. */
static void links_on_the_way_to_a_file_are_not_followed(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(fd_close) int root = open(bench->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(fd_close) int parent = -1;
    const char *name = NULL;

    bench_run(bench, "mkdir -p d/e ../out/e; ln -s ../out link; ln -s ../../out d/link");
    assert_int_equal(parent_folder_open(root, "link/file", PARENT_EXISTS, &name), -1);
    assert_int_equal(parent_folder_open(root, "link/e/file", PARENT_EXISTS, &name), -1);
    assert_int_equal(parent_folder_open(root, "d/link/e/file", PARENT_EXISTS, &name), -1);
    assert_int_equal(parent_folder_open(root, "link/new/file", PARENT_IS_MADE, &name), -1);
    parent = parent_folder_open(root, "d/e/file", PARENT_EXISTS, &name);
    assert_true(parent >= 0);
    assert_string_equal(name, "file");
    bench_run(bench, "test ! -e ../out/new; test ! -e new");
}

/* The sandbox's git would run each of these for `git add`. */
static void nothing_of_the_workspace_is_run(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;

    bench_run(bench,
              "git init -q .; printf '#!/bin/sh\\ntouch %s/ran\\n' $STATE > evil; chmod 755 evil;"
              "git config core.fsmonitor ./evil; git config filter.x.clean ./evil;"
              "git config core.hooksPath .; cp evil post-index-change; cp evil pre-commit;"
              "echo '* filter=x' > .gitattributes; printf '[filter \"x\"]\\nclean=%s/evil\\n'"
              " $PWD > $STATE/.gitconfig; echo 1 > file");
    bench_take(bench, &snapshot);
    bench_run(bench, "test ! -e $STATE/ran");
    assert_listed(bench, &snapshot,
                  "100644 .gitattributes\\n100755 evil\\n100644 file\\n100755 post-index-change\\n"
                  "100755 pre-commit\\n");
}

/* Bytes are kept as they are, whatever attributes would convert. */
static void contents_are_not_converted(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot snapshot = FILE_SNAPSHOT_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    bench_run(bench, "echo '* text eol=crlf ident' > .gitattributes;"
                     "printf 'a\\r\\nb\\n$Id$\\0' > file");
    bench_take(bench, &snapshot);
    strbuf_appendf(&line, "$GIT cat-file blob %s:file | cmp - file", snapshot.tree.hex);
    bench_run(bench, line.text);
}

int file_snapshot_tests(void)
{
    const struct CMUnitTest tests[] = {
        CHECKPOINT_TEST(files_links_and_modes_are_kept),
        CHECKPOINT_TEST(empty_and_missing_folders_are_empty_trees),
        CHECKPOINT_TEST(git_folders_and_rebuilt_ones_are_left_out),
        CHECKPOINT_TEST(second_checkpoint_reads_what_changed),
        CHECKPOINT_TEST(forged_times_do_not_hide_a_change),
        CHECKPOINT_TEST(large_and_unreadable_files_are_named),
        CHECKPOINT_TEST(many_skipped_files_are_counted),
        CHECKPOINT_TEST(deep_folders_end_somewhere),
        CHECKPOINT_TEST(many_folders_side_by_side_are_read),
        CHECKPOINT_TEST(too_many_files_are_refused),
        CHECKPOINT_TEST(time_limit_ends_it),
        CHECKPOINT_TEST(links_on_the_way_to_a_file_are_not_followed),
        CHECKPOINT_TEST(nothing_of_the_workspace_is_run),
        CHECKPOINT_TEST(contents_are_not_converted),
    };

    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}

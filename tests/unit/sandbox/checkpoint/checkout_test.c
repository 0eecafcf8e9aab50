/*
 * Setting a workspace back: what is written and removed, and what is not touched.
 */
#include "sandbox/checkpoint/checkout.h"

#include <string.h>

#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/checkpoint/checkpoint_tool.h"
#include "sandbox/checkpoint/file_snapshot.h"
#include "sandbox/checkpoint/left_out.h"
#include "sandbox/checkpoint/object_store.h"
#include "sandbox/checkpoint/tree.h"
#include "unit/sandbox/checkpoint/checkpoint_bench.h"
#include "unit/sandbox/checkpoint/checkpoint_tests.h"

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): ld's */
int64_t __real_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_ms(void);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the clock takes no context */
/* How often the time is looked at before it is over; -1: the real time. */
static int n_looks = -1;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

int64_t __wrap_clock_monotonic_ms(void)
{
    if (n_looks == 0)
        return INT64_MAX;
    n_looks -= n_looks > 0;
    return __real_clock_monotonic_ms();
}

/* looks: see n_looks. */
static int set_back_within(struct checkpoint_bench *bench, const struct object_id *tree, int looks,
                           struct checkout_result *result, struct error *err)
{
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot present = FILE_SNAPSHOT_INIT;
    const struct checkout_order order = {&store, bench->workspace, &present.files, tree,
                                         __real_clock_monotonic_ms() + 600000};
    int rc = 0;

    bench_take(bench, &present);
    if (object_store_open(&store, bench->state, &object_store_default_limits, err) < 0)
        return -1;
    n_looks = looks;
    rc = checkout_run(&order, result, err);
    n_looks = -1;
    return rc;
}

static int set_back(struct checkpoint_bench *bench, const struct object_id *tree,
                    struct checkout_result *result, struct error *err)
{
    return set_back_within(bench, tree, -1, result, err);
}

static void expect_set_back(struct checkpoint_bench *bench, const struct file_snapshot *to,
                            struct checkout_result *result)
{
    struct error err = ERROR_INIT;

    if (set_back(bench, &to->tree, result, &err) < 0)
        fail_msg("%s", err.message);
}

#define REMEMBER "cp -a . $STATE/copy"
#define AS_REMEMBERED "diff -r --no-dereference . $STATE/copy"

static void files_are_as_they_were(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot then = FILE_SNAPSHOT_INIT;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;

    bench_run(bench, "mkdir -p d/e f; echo 1 > same; echo 2 > changed; echo 3 > d/e/removed;"
                     "echo 4 > mode; chmod 755 mode; ln -s same link; echo 5 > f/g;"
                     "echo 6 > tofolder; mkdir tofile; echo 7 > tofile/x; " REMEMBER);
    bench_take(bench, &then);
    bench_run(bench, "echo other > changed; rm -r d; chmod 644 mode; rm link; ln -s changed link;"
                     "mkdir -p new/er; echo 8 > new/er/file; rm tofolder; mkdir tofolder;"
                     "echo 9 > tofolder/x; rm -r tofile; echo 10 > tofile");
    expect_set_back(bench, &then, &result);
    bench_run(bench, AS_REMEMBERED "; test -x mode; test ! -e new");
    assert_int_equal(result.n_written, 6);
    assert_int_equal(result.n_removed, 3);
    assert_int_equal(json_array_size(result.kept), 0);
}

static void what_is_not_in_checkpoints_stays(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot then = FILE_SNAPSHOT_INIT;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;

    bench_run(bench, "git init -q .; mkdir -p node_modules; echo 1 > file; echo a > big");
    bench_take(bench, &then);
    bench_run(bench,
              "echo 2 > file; echo x > node_modules/x; git add file; truncate -s 20000000 big;"
              "mkdir -p new/.venv; echo y > new/.venv/y; echo z > new/z;"
              "cp -a .git $STATE/dotgit");
    expect_set_back(bench, &then, &result);
    bench_run(bench, "diff -r .git $STATE/dotgit; test $(cat file) = 1; test -e node_modules/x;"
                     "test -e new/.venv/y; test ! -e new/z; test $(stat -c %s big) = 20000000");
    assert_int_equal(json_array_size(result.kept), 1);
    assert_string_equal(json_string_value(json_array_get(result.kept, 0)), "big");
}

static void rest_of_a_killed_restore_is_in_no_checkpoint(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot then = FILE_SNAPSHOT_INIT;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;

    bench_run(bench, "echo 1 > file; echo rest > " FRESH_FILE_NAME);
    bench_take(bench, &then);
    assert_int_equal(then.files.n, 1);
    bench_run(bench, "echo other > file");
    expect_set_back(bench, &then, &result);
    assert_int_equal(result.n_removed, 0);
    bench_run(bench, "test $(cat file) = 1; test ! -e " FRESH_FILE_NAME);
}

/* Each file is looked at three times: to be read, removed and written. */
static void time_that_is_over_ends_a_restore_between_two_files(void **state)
{
    enum { LOOKS = 3 + 4 + 3 };
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot then = FILE_SNAPSHOT_INIT;

    bench_run(bench, "echo 1 > a; echo 2 > b; echo 3 > c; " REMEMBER);
    bench_take(bench, &then);
    for (int looks = 0; looks < LOOKS; looks++) {
        CLEANUP(checkout_result_done) struct checkout_result part = CHECKOUT_RESULT_INIT;
        CLEANUP(checkout_result_done) struct checkout_result rest = CHECKOUT_RESULT_INIT;
        CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
        size_t n_written = looks > 7 ? (size_t)looks - 7 : 0;
        size_t n_removed = looks > 6 ? 1 : 0;
        struct error err = ERROR_INIT;

        bench_run(bench, "echo 4 > a; echo 5 > b; echo 6 > c; echo 7 > d");
        assert_int_equal(set_back_within(bench, &then.tree, looks, &part, &err), -1);
        assert_int_equal(err.code, ERROR_TIMEOUT);
        strbuf_appendf(&words, "it took too long: %zu files were written and %zu removed",
                       n_written, n_removed);
        assert_string_equal(err.message, words.text);
        assert_int_equal(part.n_written, n_written);
        assert_int_equal(part.n_removed, n_removed);
        expect_set_back(bench, &then, &rest);
        assert_int_equal(rest.n_written, 3 - n_written);
        bench_run(bench, AS_REMEMBERED);
    }
}

/* The checkpoint of the files before is told even then: they can be set back to it. */
static void restore_that_ends_early_tells_what_was_before(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot then = FILE_SNAPSHOT_INIT;
    CLEANUP(file_snapshot_done) struct file_snapshot now = FILE_SNAPSHOT_INIT;
    json_auto_t *args = json_object();
    json_auto_t *told = NULL;
    struct checkpoint_call call = {args, bench->workspace, bench->state, 0};

    bench_run(bench, "echo 1 > a");
    bench_take(bench, &then);
    bench_run(bench, "echo 2 > a");
    bench_take(bench, &now);
    json_put_text(args, "id", then.tree.hex);
    told = checkpoint_tool_run(&call);
    assert_string_equal(json_text_or(told, "before", ""), now.tree.hex);
    assert_true(json_is_true(json_object_get(told, "is_error")));
    assert_int_equal(json_int_or(told, "n_written", -1), 0);
    json_decref(told);
    call.deadline_ms = INT64_MAX;
    told = checkpoint_tool_run(&call);
    assert_true(json_is_false(json_object_get(told, "is_error")));
    assert_int_equal(json_int_or(told, "n_written", -1), 1);
    bench_run(bench, "test $(cat a) = 1");
}

static void nothing_changes_if_an_object_is_damaged(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot then = FILE_SNAPSHOT_INIT;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct error err = ERROR_INIT;

    bench_run(bench, "echo 1 > a; echo 2 > b");
    bench_take(bench, &then);
    strbuf_appendf(&line,
                   "rm a b; echo 3 > c; o=%s; : > $STATE/checkpoints/current.git/objects/"
                   "$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)",
                   then.files.items[1].id.hex);
    bench_run(bench, line.text);
    assert_int_equal(set_back(bench, &then.tree, &result, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    bench_run(bench, "test ! -e a; test -e c");
}

static void unknown_checkpoint_is_refused(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;
    struct object_id id = OBJECT_ID_INIT;
    struct error err = ERROR_INIT;

    bench_run(bench, "echo 1 > a");
    assert_true(
        object_id_read("00000000000000000000000000000000000000000000000000000000000000ff", &id));
    assert_int_equal(set_back(bench, &id, &result, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    bench_run(bench, "test -e a");
}

/* Folders that became links meanwhile lead out of the workspace. */
static void links_are_not_followed(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(file_snapshot_done) struct file_snapshot then = FILE_SNAPSHOT_INIT;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;

    bench_run(bench, "mkdir d; echo 1 > d/file");
    bench_take(bench, &then);
    bench_run(bench, "rm -r d; mkdir ../out; echo mine > ../out/file; ln -s ../out d;"
                     "mkdir d2; ln -s ../out d2/node_modules");
    expect_set_back(bench, &then, &result);
    bench_run(bench, "test $(cat ../out/file) = mine; test ! -L d; test $(cat d/file) = 1");
}

/* A tree from another sandbox may name anything. */
static void append_entry(struct strbuf *tree, const char *mode, const char *name,
                         const struct object_id *id)
{
    unsigned char raw[OBJECT_RAW_BYTES] = {0};
    struct error err = ERROR_INIT;

    assert_int_equal(hex_decode(id->hex, raw, sizeof(raw), &err), 0);
    strbuf_appendf(tree, "%s %s", mode, name);
    strbuf_append_char(tree, '\0');
    strbuf_append_bytes(tree, raw, sizeof(raw));
}

static void names_that_are_no_entries_are_refused(void **state)
{
    static const struct {
        const char *mode;
        const char *name;
    } bad[] = {{"100644", ".."},
               {"100644", "."},
               {"100644", "a/b"},
               {"100644", ""},
               {"100644", ".git"},
               {"40000", ".git"},
               {"100644", FRESH_FILE_NAME},
               {"40000", "node_modules"},
               {"160000", "sub"},
               {"100600", "a"},
               {"1006440", "a"},
               {"x", "a"},
               {"", "a"},
               {"77777777777", "a"}};
    struct checkpoint_bench *bench = *state;

    bench_run(bench, "echo 1 > a");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;
        CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf blob = STRBUF_INIT;
        struct object_id blob_id = OBJECT_ID_INIT;
        struct object_id id = OBJECT_ID_INIT;
        struct error err = ERROR_INIT;

        {
            CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;

            assert_int_equal(
                object_store_open(&store, bench->state, &object_store_default_limits, &err), 0);
            strbuf_append(&blob, "evil");
            assert_int_equal(object_store_write(&store, OBJECT_BLOB, &blob, &blob_id, &err), 0);
            append_entry(&tree, bad[i].mode, bad[i].name, &blob_id);
            assert_int_equal(object_store_write(&store, OBJECT_TREE, &tree, &id, &err), 0);
        }
        if (set_back(bench, &id, &result, &err) == 0 || err.code != ERROR_INVALID)
            fail_msg("%s %s: %s", bad[i].mode, bad[i].name, err.message);
    }
    bench_run(bench, "test $(cat a) = 1; test ! -e ../evil");
}

/* A link and a folder of the same name: what is in the folder must not go where the link points. */
static void folder_that_is_a_link_too_is_not_entered(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;
    CLEANUP(strbuf_done) struct strbuf blob = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf below = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;
    struct object_id id = OBJECT_ID_INIT;
    struct error err = ERROR_INIT;

    bench_run(bench, "mkdir ../out");
    {
        CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;

        assert_int_equal(
            object_store_open(&store, bench->state, &object_store_default_limits, &err), 0);
        strbuf_append(&blob, "../out");
        assert_int_equal(object_store_write(&store, OBJECT_BLOB, &blob, &id, &err), 0);
        append_entry(&tree, "120000", "a", &id);
        append_entry(&below, "100644", "file", &id);
        assert_int_equal(object_store_write(&store, OBJECT_TREE, &below, &id, &err), 0);
        append_entry(&tree, "40000", "a", &id);
        assert_int_equal(object_store_write(&store, OBJECT_TREE, &tree, &id, &err), 0);
    }
    assert_int_equal(set_back(bench, &id, &result, &err), 0);
    bench_run(bench, "test -L a; test ! -e ../out/file");
    assert_int_equal(json_array_size(result.kept), 1);
}

/* As if the name were too long for the file system, or the disk full: the folder cannot be made. */
static void file_whose_folder_cannot_be_made_is_written_nowhere(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(checkout_result_done) struct checkout_result result = CHECKOUT_RESULT_INIT;
    CLEANUP(strbuf_done) struct strbuf blob = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf middle = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;
    char name[300] = "";
    struct object_id id = OBJECT_ID_INIT;
    struct error err = ERROR_INIT;

    memset(name, 'x', sizeof(name) - 1);
    bench_run(bench, "mkdir -p b/node_modules");
    {
        CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;

        assert_int_equal(
            object_store_open(&store, bench->state, &object_store_default_limits, &err), 0);
        assert_int_equal(object_store_write(&store, OBJECT_BLOB, &blob, &id, &err), 0);
        append_entry(&inner, "100644", "file", &id);
        assert_int_equal(object_store_write(&store, OBJECT_TREE, &inner, &id, &err), 0);
        append_entry(&middle, "40000", "b", &id);
        assert_int_equal(object_store_write(&store, OBJECT_TREE, &middle, &id, &err), 0);
        append_entry(&tree, "40000", name, &id);
        assert_int_equal(object_store_write(&store, OBJECT_TREE, &tree, &id, &err), 0);
    }
    assert_int_equal(set_back(bench, &id, &result, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(result.n_written, 0);
    bench_run(bench, "test ! -e b/file");
}

static void truncated_trees_are_refused(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;
    struct object_id blob = OBJECT_ID_INIT;
    struct object_id id = OBJECT_ID_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(object_store_open(&store, bench->state, &object_store_default_limits, &err),
                     0);
    assert_int_equal(object_store_write(&store, OBJECT_BLOB, &tree, &blob, &err), 0);
    append_entry(&tree, "100644", "a", &blob);
    for (size_t len = tree.len - 1; len > 0; len--) {
        CLEANUP(file_list_done) struct file_list files = FILE_LIST_INIT;

        strbuf_truncate(&tree, len);
        assert_int_equal(object_store_write(&store, OBJECT_TREE, &tree, &id, &err), 0);
        assert_int_equal(tree_read(&store, &id, &files, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

/* Each level names the one below twice: 2^64 files without limits. */
static void tree_bombs_end(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_list_done) struct file_list files = FILE_LIST_INIT;
    json_auto_t *ids = json_array();
    struct object_id id = OBJECT_ID_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(object_store_open(&store, bench->state, &object_store_default_limits, &err),
                     0);
    for (int level = 0; level < 40; level++) {
        CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;

        if (level > 0) {
            append_entry(&tree, "40000", "a", &id);
            append_entry(&tree, "40000", "b", &id);
        }
        assert_int_equal(object_store_write(&store, OBJECT_TREE, &tree, &id, &err), 0);
    }
    assert_int_equal(tree_read(&store, &id, &files, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_int_equal(tree_list_missing(&store, &id, 10, ids, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void deep_trees_are_refused(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_list_done) struct file_list files = FILE_LIST_INIT;
    struct object_id id = OBJECT_ID_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(object_store_open(&store, bench->state, &object_store_default_limits, &err),
                     0);
    for (int n_folders = 0; n_folders <= FILE_DEPTH_MAX + 1; n_folders++) {
        CLEANUP(strbuf_done) struct strbuf tree = STRBUF_INIT;

        if (n_folders > 0)
            append_entry(&tree, "40000", "a", &id);
        assert_int_equal(object_store_write(&store, OBJECT_TREE, &tree, &id, &err), 0);
        assert_int_equal(tree_read(&store, &id, &files, &err), n_folders > FILE_DEPTH_MAX ? -1 : 0);
    }
    assert_int_equal(err.code, ERROR_INVALID);
}

int checkout_tests(void)
{
    const struct CMUnitTest tests[] = {
        CHECKPOINT_TEST(files_are_as_they_were),
        CHECKPOINT_TEST(what_is_not_in_checkpoints_stays),
        CHECKPOINT_TEST(rest_of_a_killed_restore_is_in_no_checkpoint),
        CHECKPOINT_TEST(time_that_is_over_ends_a_restore_between_two_files),
        CHECKPOINT_TEST(restore_that_ends_early_tells_what_was_before),
        CHECKPOINT_TEST(nothing_changes_if_an_object_is_damaged),
        CHECKPOINT_TEST(unknown_checkpoint_is_refused),
        CHECKPOINT_TEST(links_are_not_followed),
        CHECKPOINT_TEST(names_that_are_no_entries_are_refused),
        CHECKPOINT_TEST(folder_that_is_a_link_too_is_not_entered),
        CHECKPOINT_TEST(file_whose_folder_cannot_be_made_is_written_nowhere),
        CHECKPOINT_TEST(truncated_trees_are_refused),
        CHECKPOINT_TEST(tree_bombs_end),
        CHECKPOINT_TEST(deep_trees_are_refused),
    };

    return cmocka_run_group_tests_name("checkout", tests, NULL, NULL);
}

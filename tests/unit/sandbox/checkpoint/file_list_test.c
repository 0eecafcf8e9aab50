/*
 * Lists of files that are kept from one checkpoint to the next.
 */
#include "sandbox/checkpoint/file_list.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "sandbox/checkpoint/object_store.h"
#include "unit/sandbox/checkpoint/checkpoint_bench.h"
#include "unit/sandbox/checkpoint/checkpoint_tests.h"

#define ID(digit) digit "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void open_store(const struct checkpoint_bench *bench, struct object_store *store)
{
    struct error err = ERROR_INIT;

    if (object_store_open(store, bench->state, &object_store_default_limits, &err) < 0)
        fail_msg("%s", err.message);
}

/* id: NULL, not stored yet. */
static void add(struct file_list *list, const char *path, const char *id)
{
    struct listed_file *file = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(file_list_add(list, path, FILE_MODE_PROGRAM, &file, &err), 0);
    file->state = (struct file_state){
        .size = INT64_C(5000000000), .modified_ns = -2, .changed_ns = 3, .inode = UINT64_MAX};
    if (id != NULL)
        assert_true(object_id_read(id, &file->id));
}

static void save(const struct file_list *list, struct object_store *store)
{
    struct error err = ERROR_INIT;

    if (file_list_save(list, store, "/w", &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_loaded(const struct object_store *store, const char *workspace, size_t n)
{
    CLEANUP(file_list_done) struct file_list list = FILE_LIST_INIT;

    file_list_load(&list, store, workspace);
    assert_int_equal(list.n, n);
}

static void stored_files_are_kept_whole(void **state)
{
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_list_done) struct file_list list = FILE_LIST_INIT;
    CLEANUP(file_list_done) struct file_list loaded = FILE_LIST_INIT;
    const struct listed_file *file = NULL;

    open_store(*state, &store);
    add(&list, "b/two", ID("1"));
    add(&list, "c", NULL);
    add(&list, "a", ID("2"));
    save(&list, &store);
    file_list_load(&loaded, &store, "/w");
    assert_int_equal(loaded.n, 2);
    assert_string_equal(loaded.items[0].path, "a");
    assert_null(file_list_find(&loaded, "c"));
    file = file_list_find(&loaded, "b/two");
    assert_non_null(file);
    assert_int_equal(file->mode, FILE_MODE_PROGRAM);
    assert_string_equal(file->id.hex, ID("1"));
    assert_true(file->state.size == INT64_C(5000000000));
    assert_true(file->state.modified_ns == -2);
    assert_true(file->state.changed_ns == 3);
    assert_true(file->state.inode == UINT64_MAX);
    assert_loaded(&store, "/other", 0);
}

/* Whatever is missing at its end: the files before are known. */
static void cut_list_has_the_files_before(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_list_done) struct file_list list = FILE_LIST_INIT;
    size_t n_whole = 0;

    open_store(bench, &store);
    add(&list, "a", ID("1"));
    add(&list, "b", ID("2"));
    save(&list, &store);
    for (size_t n_cut = 0; n_cut < 100; n_cut++) {
        CLEANUP(file_list_done) struct file_list loaded = FILE_LIST_INIT;

        if (n_cut > 0)
            bench_run(bench, "truncate -s -1 $STATE/checkpoints/current.git/notes/files-*");
        file_list_load(&loaded, &store, "/w");
        assert_int_equal(loaded.n, n_cut == 0 ? 2 : 1);
        assert_string_equal(loaded.items[0].path, "a");
        n_whole += loaded.n == 2;
    }
    assert_int_equal(n_whole, 1);
}

static void list_that_is_none_is_empty(void **state)
{
    static const char *const lines[] = {"printf ''", "printf x", "head -c 200 /dev/zero",
                                        "head -c 2000 /dev/urandom"};
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(file_list_done) struct file_list list = FILE_LIST_INIT;

    open_store(bench, &store);
    add(&list, "a", ID("1"));
    save(&list, &store);
    assert_loaded(&store, "/w", 1);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

        strbuf_appendf(&line,
                       "for f in $STATE/checkpoints/current.git/notes/files-*; do %s > $f; done",
                       lines[i]);
        bench_run(bench, line.text);
        assert_loaded(&store, "/w", 0);
    }
}

static void list_has_an_end(void **state)
{
    CLEANUP(file_list_done) struct file_list list = FILE_LIST_INIT;
    struct listed_file *file = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 0; i < FILE_LIST_MAX; i++)
        assert_int_equal(file_list_add(&list, "x", FILE_MODE_PLAIN, &file, &err), 0);
    assert_int_equal(file_list_add(&list, "x", FILE_MODE_PLAIN, &file, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_int_equal(list.n, FILE_LIST_MAX);
}

int file_list_tests(void)
{
    const struct CMUnitTest tests[] = {
        CHECKPOINT_TEST(stored_files_are_kept_whole),
        CHECKPOINT_TEST(cut_list_has_the_files_before),
        CHECKPOINT_TEST(list_that_is_none_is_empty),
        CHECKPOINT_TEST(list_has_an_end),
    };

    return cmocka_run_group_tests_name("file list", tests, NULL, NULL);
}

/*
 * The store of objects: that git can read it, that damage is noticed, and that its size is bounded.
 */
#include "sandbox/checkpoint/object_store.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "unit/sandbox/checkpoint/checkpoint_bench.h"
#include "unit/sandbox/checkpoint/checkpoint_tests.h"

static void open_store(const struct checkpoint_bench *bench, struct object_store *store)
{
    struct error err = ERROR_INIT;

    if (object_store_open(store, bench->state, &object_store_default_limits, &err) < 0)
        fail_msg("%s", err.message);
}

static struct object_id put(struct object_store *store, const char *text)
{
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    struct object_id id = OBJECT_ID_INIT;
    struct error err = ERROR_INIT;

    strbuf_append(&content, text);
    assert_int_equal(object_store_write(store, OBJECT_BLOB, &content, &id, &err), 0);
    return id;
}

static int get(const struct object_store *store, enum object_kind kind, const struct object_id *id,
               struct strbuf *text, struct error *err)
{
    return object_store_read(store, kind, id, text, err);
}

static void git_names_and_reads_objects_alike(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct object_id id = OBJECT_ID_INIT;

    open_store(bench, &store);
    id = put(&store, "hello\n");
    assert_int_equal(get(&store, OBJECT_BLOB, &id, &text, &err), 0);
    assert_string_equal(text.text, "hello\n");
    strbuf_appendf(&line,
                   "test \"$($GIT cat-file blob %s)\" = hello;"
                   "test \"$(echo hello | $GIT hash-object --stdin)\" = %s; $GIT fsck --strict",
                   id.hex, id.hex);
    bench_run(bench, line.text);
}

static void object_of_another_kind_is_refused(void **state)
{
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct object_id id = OBJECT_ID_INIT;

    open_store(*state, &store);
    id = put(&store, "x");
    assert_int_equal(get(&store, OBJECT_TREE, &id, &text, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(text.len, 0);
    id.hex[0] = id.hex[0] == '0' ? '1' : '0';
    assert_int_equal(get(&store, OBJECT_BLOB, &id, &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_false(object_store_has(&store, &id));
}

static void damaged_object_is_noticed(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct object_id one = OBJECT_ID_INIT;
    struct object_id two = OBJECT_ID_INIT;

    open_store(bench, &store);
    one = put(&store, "one");
    two = put(&store, "two");
    strbuf_appendf(&line, "cd $STATE/checkpoints/current.git/objects; cp %.2s/%s %.2s/%s", one.hex,
                   one.hex + 2, two.hex, two.hex + 2);
    bench_run(bench, line.text);
    assert_int_equal(get(&store, OBJECT_BLOB, &two, &text, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    strbuf_reset(&line);
    strbuf_appendf(&line, "cd $STATE/checkpoints/current.git/objects; : > %.2s/%s", one.hex,
                   one.hex + 2);
    bench_run(bench, line.text);
    assert_int_equal(get(&store, OBJECT_BLOB, &one, &text, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

/* A small file that inflates to more than an object may have. */
static void bomb_is_refused(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct object_id id = OBJECT_ID_INIT;

    open_store(bench, &store);
    strbuf_reserve(&content, OBJECT_MAX_BYTES + 1);
    memset(content.text, 'x', OBJECT_MAX_BYTES + 1);
    content.len = OBJECT_MAX_BYTES + 1;
    content.text[content.len] = '\0';
    assert_int_equal(object_store_write(&store, OBJECT_BLOB, &content, &id, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    strbuf_truncate(&content, OBJECT_MAX_BYTES);
    assert_int_equal(object_store_write(&store, OBJECT_BLOB, &content, &id, &err), 0);
    assert_int_equal(object_store_read_file(&store, &id, &bytes, &err), 0);
    strbuf_reset(&content);
    assert_int_equal(object_store_read(&store, OBJECT_BLOB, &id, &content, &err), 0);
    assert_int_equal(content.len, OBJECT_MAX_BYTES);
    bench_run(bench, "head -c 200000000 /dev/zero | python3 -c 'import sys,zlib;"
                     "sys.stdout.buffer.write(zlib.compress(b\"blob 200000000\\0\" +"
                     " sys.stdin.buffer.read()))' > $STATE/bomb");
    strbuf_reset(&bytes);
    bench_run(bench, "mv $STATE/bomb $STATE/checkpoints/current.git/notes/bomb");
    assert_int_equal(object_store_get_note(&store, "bomb", &bytes, &err), 0);
    assert_int_equal(object_store_write_file(&store, &id, &bytes, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

static void foreign_object_is_checked_against_its_name(void **state)
{
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct object_id one = OBJECT_ID_INIT;
    struct object_id other = OBJECT_ID_INIT;

    open_store(*state, &store);
    one = put(&store, "one");
    assert_int_equal(object_store_read_file(&store, &one, &bytes, &err), 0);
    assert_true(
        object_id_read("0000000000000000000000000000000000000000000000000000000000000000", &other));
    assert_int_equal(object_store_write_file(&store, &other, &bytes, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_false(object_store_has(&store, &other));
}

static void names_are_64_lower_case_digits(void **state)
{
    static const char *const bad[] = {
        "",
        "abc",
        "../../../../etc/passwd",
        "A000000000000000000000000000000000000000000000000000000000000000",
        "00000000000000000000000000000000000000000000000000000000000000000",
        "000000000000000000000000000000000000000000000000000000000000000/",
    };
    struct object_id id = OBJECT_ID_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(object_id_read(bad[i], &id));
    assert_false(object_id_read(NULL, &id));
    assert_string_equal(id.hex, "");
}

static void full_store_begins_anew_and_keeps_the_last(void **state)
{
    const struct checkpoint_bench *bench = *state;
    const struct object_store_limits small = {.max_bytes = 8192, .min_free_bytes = 0};
    struct object_id ids[3] = {OBJECT_ID_INIT, OBJECT_ID_INIT, OBJECT_ID_INIT};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        assert_int_equal(object_store_open(&store, bench->state, &small, &err), 0);
        strbuf_appendf(&text, "%zu", i);
        ids[i] = put(&store, text.text);
        strbuf_append(&text, " and more");
        (void)put(&store, text.text);
        assert_true(object_store_has(&store, &ids[i]));
        assert_int_equal(object_store_has(&store, &ids[0]), i < 2);
        if (i > 0)
            assert_true(object_store_has(&store, &ids[i - 1]));
    }
}

/* What several checkpoints have written counts together. */
static void store_fills_up_over_several_checkpoints(void **state)
{
    const struct checkpoint_bench *bench = *state;
    const struct object_store_limits small = {.max_bytes = 8192, .min_free_bytes = 0};
    struct object_id first = OBJECT_ID_INIT;
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < 6; i++) {
        CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        assert_int_equal(object_store_open(&store, bench->state, &small, &err), 0);
        strbuf_appendf(&text, "%zu", i);
        if (i == 0)
            first = put(&store, text.text);
        else
            (void)put(&store, text.text);
        assert_int_equal(object_store_has(&store, &first), i < 4);
    }
}

/* Its size may be of any length; what is no number counts as none. */
static void size_is_read_as_it_was_noted(void **state)
{
    static const struct {
        const char *noted;
        bool is_kept;
    } sizes[] = {{"5000000000", false}, {"4000000000", true}, {"-5", true}, {"5000000000x", true}};
    struct checkpoint_bench *bench = *state;
    const struct object_store_limits large = {.max_bytes = INT64_C(4500000000),
                                              .min_free_bytes = 0};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
        CLEANUP(object_store_done) struct object_store again = OBJECT_STORE_INIT;
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
        struct object_id id = OBJECT_ID_INIT;
        struct error err = ERROR_INIT;

        bench_run(bench, "rm -rf $STATE/checkpoints");
        assert_int_equal(object_store_open(&store, bench->state, &large, &err), 0);
        id = put(&store, "x");
        object_store_done(&store);
        store = (struct object_store)OBJECT_STORE_INIT;
        strbuf_appendf(&line, "printf %%s %s > $STATE/checkpoints/current.git/notes/size",
                       sizes[i].noted);
        bench_run(bench, line.text);
        assert_int_equal(object_store_open(&again, bench->state, &large, &err), 0);
        bench_run(bench, sizes[i].is_kept ? "test ! -e $STATE/checkpoints/older.git"
                                          : "test -e $STATE/checkpoints/older.git");
        assert_true(object_store_has(&again, &id));
    }
}

static void full_disk_is_told(void **state)
{
    const struct checkpoint_bench *bench = *state;
    const struct object_store_limits large = {.max_bytes = 1, .min_free_bytes = INT64_MAX};
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(object_store_open(&store, bench->state, &large, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.message, "The disk has less than"));
}

static void unfinished_repository_is_completed(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;

    bench_run(bench, "mkdir -p $STATE/checkpoints/current.git/objects;"
                     "yes half | head -n 99 > $STATE/checkpoints/current.git/config.new");
    open_store(bench, &store);
    (void)put(&store, "x");
    bench_run(bench, "$GIT fsck --strict");
}

static void repository_that_cannot_be_made_is_told(void **state)
{
    struct checkpoint_bench *bench = *state;
    CLEANUP(object_store_done) struct object_store store = OBJECT_STORE_INIT;
    struct error err = ERROR_INIT;

    bench_run(bench, "mkdir -p $STATE/checkpoints/current.git/config.new/x");
    assert_int_equal(object_store_open(&store, bench->state, &object_store_default_limits, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

int object_store_tests(void)
{
    const struct CMUnitTest tests[] = {
        CHECKPOINT_TEST(git_names_and_reads_objects_alike),
        CHECKPOINT_TEST(object_of_another_kind_is_refused),
        CHECKPOINT_TEST(damaged_object_is_noticed),
        CHECKPOINT_TEST(bomb_is_refused),
        CHECKPOINT_TEST(foreign_object_is_checked_against_its_name),
        CHECKPOINT_TEST(names_are_64_lower_case_digits),
        CHECKPOINT_TEST(full_store_begins_anew_and_keeps_the_last),
        CHECKPOINT_TEST(store_fills_up_over_several_checkpoints),
        CHECKPOINT_TEST(size_is_read_as_it_was_noted),
        CHECKPOINT_TEST(full_disk_is_told),
        CHECKPOINT_TEST(unfinished_repository_is_completed),
        CHECKPOINT_TEST(repository_that_cannot_be_made_is_told),
    };

    return cmocka_run_group_tests_name("object store", tests, NULL, NULL);
}

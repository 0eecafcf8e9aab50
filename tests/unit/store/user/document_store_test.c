/*
 * The store's guarantees for documents: complete, in order, sealed, no lost updates.
 */
#include "store/user/document_store.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "store/store_fixture.h"
#include "support/pg.h"
#include "support/sql.h"

static struct document put(const struct document_scope *scope, const char *name, const char *secret)
{
    struct document document = document_new(COLLECTION_PROFILES, name);
    struct error err = ERROR_INIT;

    json_put_text(document.body, "model", "m-1");
    if (secret != NULL) {
        document.secrets = json_object();
        json_put_text(document.secrets, "api_key", secret);
    }
    assert_done(document_store_put(scope, &document, 0, &err), &err);
    assert_int_equal(document.revision, 1);
    return document;
}

static struct document get(const struct document_scope *scope, const char *name)
{
    struct document document = DOCUMENT_INIT;
    struct error err = ERROR_INIT;

    assert_done(document_store_get(scope, COLLECTION_PROFILES, name, &document, &err), &err);
    return document;
}

static void document_comes_back_as_it_was_put(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document made = put(&test.scope, "fast", "sk-hidden");
        CLEANUP(document_done) struct document named = get(&test.scope, "fast");
        CLEANUP(document_done) struct document by_id = DOCUMENT_INIT;

        assert_done(
            document_store_get_by_id(&test.scope, COLLECTION_PROFILES, &made.id, &by_id, &err),
            &err);
        assert_string_equal(named.id.text, made.id.text);
        assert_string_equal(by_id.name, "fast");
        assert_string_equal(json_text_or(named.body, "model", ""), "m-1");
        assert_string_equal(json_text_or(named.secrets, "api_key", ""), "sk-hidden");
        assert_int_equal(named.revision, 1);
        assert_true(named.created_at_us > 0);
    }
}

static void row_holds_no_secret_in_clear(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document made = put(&test.scope, "sealed", "sk-needle-81");

        assert_int_equal(test_sql_count("SELECT count(*) FROM documents"
                                        " WHERE documents::text LIKE '%needle-81%'"),
                         0);
        assert_int_equal(made.revision, 1);
    }
}

static void sealed_part_opens_only_where_it_was_sealed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document first = put(&test.scope, "first", "sk-1");
        CLEANUP(document_done) struct document second = put(&test.scope, "second", "sk-2");
        CLEANUP(document_done) struct document moved = DOCUMENT_INIT;

        strbuf_appendf(&sql,
                       "UPDATE documents SET sealed = (SELECT sealed FROM documents WHERE"
                       " id = '%s') WHERE id = '%s'",
                       first.id.text, second.id.text);
        test_sql(sql.text);
        assert_int_equal(
            document_store_get(&test.scope, COLLECTION_PROFILES, "second", &moved, &err), -1);
        assert_int_equal(err.code, ERROR_INTERNAL);
    }
}

static void writer_who_has_not_seen_the_newest_is_refused(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document made = put(&test.scope, "one", NULL);
        CLEANUP(document_done) struct document early = get(&test.scope, "one");
        CLEANUP(document_done) struct document again = document_new(COLLECTION_PROFILES, "one");

        assert_done(document_store_put(&test.scope, &made, 0, &err), &err);
        assert_int_equal(made.revision, 2);
        assert_int_equal(document_store_put(&test.scope, &early, 0, &err), -1);
        assert_int_equal(err.code, ERROR_STALE);
        assert_int_equal(early.revision, 1);
        assert_int_equal(document_store_put(&test.scope, &again, 0, &err), -1);
        assert_int_equal(err.code, ERROR_STALE);
    }
}

static void rename_keeps_id_and_secret_and_takes_no_other_name(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document taken = put(&test.scope, "taken", NULL);
        CLEANUP(document_done) struct document made = put(&test.scope, "old", "sk-1");
        struct document_change change = {
            .kind = DOCUMENT_RENAME, .document = &made, .new_name = taken.name};

        assert_int_equal(document_store_write(&test.scope, &change, 1, &err), -1);
        assert_int_equal(err.code, ERROR_CONFLICT);
        change.new_name = "new";
        assert_done(document_store_write(&test.scope, &change, 1, &err), &err);
        assert_string_equal(made.name, "new");
        {
            CLEANUP(document_done) struct document renamed = get(&test.scope, "new");

            assert_string_equal(renamed.id.text, made.id.text);
            assert_string_equal(json_text_or(renamed.secrets, "api_key", ""), "sk-1");
        }
    }
}

static void of_several_changes_all_are_done_or_none(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document kept = put(&test.scope, "kept", NULL);
        CLEANUP(document_done) struct document stale = get(&test.scope, "kept");
        CLEANUP(document_done) struct document fresh = document_new(COLLECTION_PROFILES, "fresh");
        CLEANUP(document_done) struct document found = DOCUMENT_INIT;
        const struct document_change changes[] = {
            {.kind = DOCUMENT_PUT, .document = &fresh},
            {.kind = DOCUMENT_DELETE, .document = &stale},
        };

        assert_done(document_store_put(&test.scope, &kept, 0, &err), &err);
        assert_int_equal(document_store_write(&test.scope, changes, 2, &err), -1);
        assert_int_equal(err.code, ERROR_STALE);
        assert_int_equal(
            document_store_get(&test.scope, COLLECTION_PROFILES, "fresh", &found, &err), -1);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
    }
}

static void list_is_by_name_of_one_user_and_collection(void **state)
{
    struct test_document_scope mine;
    struct test_document_scope other;
    CLEANUP(document_list_done) struct document_list list = DOCUMENT_LIST_INIT;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &mine);
    store_open_document_scope(*state, &other);
    {
        CLEANUP(document_done) struct document b = put(&mine.scope, "b", "sk-b");
        CLEANUP(document_done) struct document a = put(&mine.scope, "a", NULL);
        CLEANUP(document_done) struct document foreign = put(&other.scope, "c", NULL);

        assert_done(document_store_list(&mine.scope, COLLECTION_PROFILES, &list, &err), &err);
        assert_int_equal(list.n, 2);
        assert_string_equal(list.items[0].name, a.name);
        assert_string_equal(list.items[1].name, b.name);
        assert_string_equal(json_text_or(list.items[1].secrets, "api_key", ""), "sk-b");
        assert_null(document_list_find(&list, foreign.name));
        assert_non_null(document_list_find(&list, "b"));
    }
}

static void full_collection_takes_no_more(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document first = put(&test.scope, "first", NULL);
        CLEANUP(document_done) struct document second = document_new(COLLECTION_PROFILES, "second");

        assert_int_equal(document_store_put(&test.scope, &second, 1, &err), -1);
        assert_int_equal(err.code, ERROR_CONFLICT);
        assert_done(document_store_put(&test.scope, &first, 1, &err), &err);
        assert_done(document_store_put(&test.scope, &second, 2, &err), &err);
    }
}

/* A text that makes a JSON object of that many bytes: {"text": …}. */
static json_t *object_of(size_t n_bytes)
{
    CLEANUP(mem_freep) char *empty = NULL;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *object = json_object();

    json_put_text(object, "text", "");
    empty = json_to_text(object);
    for (size_t i = strlen(empty); i < n_bytes; i++)
        strbuf_append_char(&text, 'x');
    json_put_text(object, "text", text.text);
    return object;
}

static void document_that_would_be_too_large_is_refused(void **state)
{
    static const struct {
        size_t body_bytes;
        size_t secret_bytes;
        enum error_code code;
    } cases[] = {
        {DOCUMENT_MAX_BYTES, 100, ERROR_NONE},
        {DOCUMENT_MAX_BYTES + 1, 100, ERROR_TOO_LARGE},
        {100, DOCUMENT_MAX_BYTES / 2, ERROR_NONE},
        {100, DOCUMENT_MAX_BYTES, ERROR_TOO_LARGE},
    };
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(document_done) struct document document = document_new(COLLECTION_PROFILES, "big");
        struct error err = ERROR_INIT;

        json_decref(document.body);
        document.body = object_of(cases[i].body_bytes);
        document.secrets = object_of(cases[i].secret_bytes);
        if (document_store_put(&test.scope, &document, 0, &err) == 0)
            assert_done(document_store_delete(&test.scope, COLLECTION_PROFILES, "big", &err), &err);
        assert_int_equal(err.code, cases[i].code);
        if (cases[i].code != ERROR_NONE)
            assert_string_equal(err.message, "profiles 'big' would be too large");
    }
}

static void missing_document_is_a_new_one(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document made = put(&test.scope, "there", "sk-1");
        CLEANUP(document_done) struct document there = DOCUMENT_INIT;
        CLEANUP(document_done) struct document fresh = DOCUMENT_INIT;
        CLEANUP(document_done) struct document unread = DOCUMENT_INIT;

        assert_done(
            document_store_get_or_new(&test.scope, COLLECTION_PROFILES, "there", &there, &err),
            &err);
        assert_string_equal(there.id.text, made.id.text);
        assert_int_equal(there.revision, 1);
        assert_done(
            document_store_get_or_new(&test.scope, COLLECTION_SECRETS, "there", &fresh, &err),
            &err);
        assert_int_equal(fresh.revision, 0);
        assert_int_equal(fresh.collection, COLLECTION_SECRETS);
        assert_string_equal(fresh.name, "there");
        assert_int_equal(json_object_size(fresh.body), 0);
        test.keyring.seal[0] = (unsigned char)~test.keyring.seal[0];
        assert_int_equal(
            document_store_get_or_new(&test.scope, COLLECTION_PROFILES, "there", &unread, &err),
            -1);
        assert_int_equal(err.code, ERROR_INTERNAL);
    }
}

static void only_a_write_changes_the_time_of_a_document(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document made = put(&test.scope, "timed", NULL);
        CLEANUP(document_done) struct document before = DOCUMENT_INIT;
        CLEANUP(document_done) struct document after = DOCUMENT_INIT;

        test_sql("UPDATE documents SET created_at = '2026-01-02T03:04:05.000006Z',"
                 " updated_at = '2026-01-02T03:04:06Z' WHERE name = 'timed'");
        before = get(&test.scope, "timed");
        assert_int_equal(before.created_at_us, INT64_C(1767323045000006));
        assert_int_equal(before.updated_at_us, INT64_C(1767323046000000));
        json_put_text(made.body, "model", "m-2");
        assert_done(document_store_put(&test.scope, &made, 0, &err), &err);
        after = get(&test.scope, "timed");
        assert_int_equal(after.created_at_us, before.created_at_us);
        assert_true(after.updated_at_us > before.updated_at_us);
        assert_int_equal(after.revision, 2);
        assert_string_equal(json_text_or(after.body, "model", ""), "m-2");
    }
}

static void documents_are_empty_after_they_are_freed(void **state)
{
    struct document document = document_new(COLLECTION_SECRETS, "gone");
    struct document_list list = {.items = mem_alloc_array(1, sizeof(struct document)), .n = 1};

    (void)state;
    assert_true(uuid_is_set(&document.id));
    list.items[0] = document_new(COLLECTION_SECRETS, "also gone");
    document_done(&document);
    assert_null(document.name);
    assert_null(document.body);
    document_done(NULL);
    document_list_done(&list);
    assert_null(list.items);
    assert_int_equal(list.n, 0);
}

static void deleted_document_is_gone(void **state)
{
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    {
        CLEANUP(document_done) struct document made = put(&test.scope, "gone", NULL);

        assert_done(document_store_delete(&test.scope, COLLECTION_PROFILES, made.name, &err), &err);
        assert_int_equal(document_store_delete(&test.scope, COLLECTION_PROFILES, made.name, &err),
                         -1);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
        assert_int_equal(document_store_put(&test.scope, &made, 0, &err), -1);
        assert_int_equal(err.code, ERROR_STALE);
    }
}

/* Ids are not secret: a document is its user's alone, whoever knows its id and revision. */
static void document_of_another_user_is_neither_read_nor_changed(void **state)
{
    struct test_document_scope mine;
    struct test_document_scope other;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &mine);
    store_open_document_scope(*state, &other);
    {
        CLEANUP(document_done) struct document made = put(&mine.scope, "mine", NULL);
        CLEANUP(document_done) struct document now = DOCUMENT_INIT;
        const struct document_change changes[] = {
            {.kind = DOCUMENT_PUT, .document = &made},
            {.kind = DOCUMENT_RENAME, .document = &made, .new_name = "theirs"},
            {.kind = DOCUMENT_DELETE, .document = &made},
        };

        for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
            assert_int_equal(document_store_write(&other.scope, &changes[i], 1, &err), -1);
            assert_int_equal(err.code, ERROR_STALE);
        }
        assert_int_equal(
            document_store_get_by_id(&other.scope, COLLECTION_PROFILES, &made.id, &now, &err), -1);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
        assert_int_equal(document_store_delete(&other.scope, COLLECTION_PROFILES, "mine", &err),
                         -1);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
        now = get(&mine.scope, "mine");
        assert_int_equal(now.revision, 1);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_comes_back_as_it_was_put),
        cmocka_unit_test(row_holds_no_secret_in_clear),
        cmocka_unit_test(sealed_part_opens_only_where_it_was_sealed),
        cmocka_unit_test(writer_who_has_not_seen_the_newest_is_refused),
        cmocka_unit_test(rename_keeps_id_and_secret_and_takes_no_other_name),
        cmocka_unit_test(of_several_changes_all_are_done_or_none),
        cmocka_unit_test(list_is_by_name_of_one_user_and_collection),
        cmocka_unit_test(full_collection_takes_no_more),
        cmocka_unit_test(document_that_would_be_too_large_is_refused),
        cmocka_unit_test(missing_document_is_a_new_one),
        cmocka_unit_test(only_a_write_changes_the_time_of_a_document),
        cmocka_unit_test(documents_are_empty_after_they_are_freed),
        cmocka_unit_test(deleted_document_is_gone),
        cmocka_unit_test(document_of_another_user_is_neither_read_nor_changed),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

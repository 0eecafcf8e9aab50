/*
 * Values as statements take them and as rows give them: numbers, flags, ids, JSON, times, arrays.
 */
#include <stdint.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "store/db/db.h"
#include "store/db/db_query.h"
#include "store/store_fixture.h"
#include "support/pg.h"

#define ID "0f8fad5b-d9cb-469f-a165-70867728950e"

static void numbers_flags_and_ids_become_text(void **state)
{
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *json = json_loads("{\"a\": [1, null]}", 0, NULL);
    struct uuid id = UUID_INIT;

    (void)state;
    assert_string_equal(db_int(0).text, "0");
    assert_string_equal(db_int(INT64_MAX).text, "9223372036854775807");
    assert_string_equal(db_int(INT64_MIN).text, "-9223372036854775808");
    assert_string_equal(db_flag(true), "true");
    assert_string_equal(db_flag(false), "false");
    assert_null(db_uuid(&id));
    assert_true(uuid_parse(ID, &id));
    assert_string_equal(db_uuid(&id), ID);
    assert_null(db_json_text(NULL));
    text = db_json_text(json);
    assert_string_equal(text, "{\"a\":[1,null]}");
}

static void arrays_quote_what_must_be_quoted(void **state)
{
    static const struct {
        const char *items[4];
        size_t n;
        const char *expected;
    } cases[] = {
        {{NULL}, 0, "{}"},
        {{"a"}, 1, "{\"a\"}"},
        {{"a", "b", ""}, 3, "{\"a\",\"b\",\"\"}"},
        {{"a,b", "{", "}", "NULL"}, 4, "{\"a,b\",\"{\",\"}\",\"NULL\"}"},
        {{NULL, "a", NULL}, 3, "{NULL,\"a\",NULL}"},
        {{"\"", "\\", "a\"b\\c"}, 3, "{\"\\\"\",\"\\\\\",\"a\\\"b\\\\c\"}"},
        {{"{", "x"}, 2, "{\"{\",\"x\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;

        db_array_begin(&array);
        for (size_t k = 0; k < cases[i].n; k++)
            db_array_add(&array, cases[i].items[k]);
        db_array_end(&array);
        assert_string_equal(array.text, cases[i].expected);
    }
}

static void array_arrives_as_it_was(void **state)
{
    static const char SQL_ITEMS[] = "SELECT item FROM unnest($1::text[]) WITH ORDINALITY"
                                    " AS list (item, n) ORDER BY n";
    static const char *const items[] = {"plain", "", NULL, "a \"quoted\" \\ one, {}", "NULL", "\n"};
    const struct store_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf array = STRBUF_INIT;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct error err = ERROR_INIT;
    const int n = (int)(sizeof(items) / sizeof(items[0]));

    db_array_begin(&array);
    for (int i = 0; i < n; i++)
        db_array_add(&array, items[i]);
    db_array_end(&array);
    assert_done(db_read(fixture->db, SQL_ITEMS, DB_PARAMS(array.text), &rows, &err), &err);
    assert_int_equal(PQntuples(rows), n);
    for (int i = 0; i < n; i++) {
        if (items[i] == NULL)
            assert_null(db_text(rows, i, 0));
        else
            assert_string_equal(db_text(rows, i, 0), items[i]);
    }
}

static void cells_are_read_by_their_kind(void **state)
{
    static const char SQL_CELLS[] =
        "SELECT 'words', -12::bigint, 9223372036854775807, true, false, '" ID "'::uuid, 'no id'";
    const struct store_fixture *fixture = *state;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *copy = NULL;
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(db_read(fixture->db, SQL_CELLS, DB_NO_PARAMS, &rows, &err), &err);
    assert_string_equal(db_text(rows, 0, 0), "words");
    copy = db_dup(rows, 0, 0);
    assert_string_equal(copy, "words");
    assert_ptr_not_equal(copy, db_text(rows, 0, 0));
    assert_int_equal(db_number(rows, 0, 1), -12);
    assert_int_equal(db_number(rows, 0, 2), INT64_MAX);
    assert_true(db_bool(rows, 0, 3));
    assert_false(db_bool(rows, 0, 4));
    id = db_cell_uuid(rows, 0, 5);
    assert_string_equal(id.text, ID);
    id = db_cell_uuid(rows, 0, 6);
    assert_false(uuid_is_set(&id));
}

static void null_cells_are_empty(void **state)
{
    static const char SQL_NULLS[] = "SELECT NULL::text, NULL::bigint, NULL::boolean, NULL::uuid";
    const struct store_fixture *fixture = *state;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;

    assert_done(db_read(fixture->db, SQL_NULLS, DB_NO_PARAMS, &rows, &err), &err);
    assert_null(db_text(rows, 0, 0));
    assert_null(db_dup(rows, 0, 0));
    assert_int_equal(db_number(rows, 0, 1), 0);
    assert_false(db_bool(rows, 0, 2));
    id = db_cell_uuid(rows, 0, 3);
    assert_false(uuid_is_set(&id));
    db_rows_done(&rows);
    assert_null(rows);
}

static void stored_json_that_cannot_be_read_is_our_own_fault(void **state)
{
    static const char SQL_JSON[] = "SELECT '{\"a\": 1}' AS good, '{\"a\": ' AS bad";
    const struct store_fixture *fixture = *state;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    json_auto_t *good = NULL;
    json_auto_t *bad = NULL;
    struct error err = ERROR_INIT;

    assert_done(db_read(fixture->db, SQL_JSON, DB_NO_PARAMS, &rows, &err), &err);
    assert_done(db_json(rows, 0, 0, &good, &err), &err);
    assert_int_equal(json_int_or(good, "a", 0), 1);
    assert_int_equal(db_json(rows, 0, 1, &bad, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_memory_equal(err.message, "column bad: ", strlen("column bad: "));
    assert_null(bad);
}

static void stored_time_that_cannot_be_read_is_our_own_fault(void **state)
{
    struct error err = ERROR_INIT;
    int64_t utc_us = 0;

    (void)state;
    assert_done(db_read_time("2026-01-02T03:04:05.000006", &utc_us, &err), &err);
    assert_int_equal(utc_us, INT64_C(1767323045000006));
    assert_int_equal(db_read_time("yesterday", &utc_us, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_memory_equal(err.message, "a stored time: ", strlen("a stored time: "));
    assert_int_equal(utc_us, INT64_C(1767323045000006));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_flags_and_ids_become_text),
        cmocka_unit_test(arrays_quote_what_must_be_quoted),
        cmocka_unit_test(array_arrives_as_it_was),
        cmocka_unit_test(cells_are_read_by_their_kind),
        cmocka_unit_test(null_cells_are_empty),
        cmocka_unit_test(stored_json_that_cannot_be_read_is_our_own_fault),
        cmocka_unit_test(stored_time_that_cannot_be_read_is_our_own_fault),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/zip.h"
#include "unit/base/base_test.h"

enum { N_MANY = 65536, END_BYTES = 22, LOCATOR_BYTES = 20, END64_BYTES = 56 };

static int collect(void *state, const char *bytes, size_t len, struct error *err)
{
    (void)err;
    strbuf_append_bytes(state, bytes, len);
    return 0;
}

static int refuse(void *state, const char *bytes, size_t len, struct error *err)
{
    (void)state;
    (void)bytes;
    (void)len;
    return error_set(err, ERROR_UNAVAILABLE, "full");
}

static uint64_t number_at(const char *bytes, int n_bytes)
{
    uint64_t number = 0;

    for (int i = n_bytes - 1; i >= 0; i--)
        number = number << 8U | (unsigned char)bytes[i];
    return number;
}

/* What APPNOTE 6.3 says of one stored file, byte by byte; 3610a686 is the CRC-32 of "hello". */
static void one_file_is_written_as_the_note_says(void **state)
{
    static const char expected[] =
        "PK\3\4\x14\0\0\x08\0\0\0\0\x21\0\x86\xa6\x10\x36\5\0\0\0\5\0\0\0\5\0\0\0a.txthello"
        "PK\1\2\x2d\3\x14\0\0\x08\0\0\0\0\x21\0\x86\xa6\x10\x36\5\0\0\0\5\0\0\0\5\0\0\0"
        "\0\0\0\0\0\0\0\0\xa4\x81\0\0\0\0a.txt"
        "PK\5\6\0\0\0\0\1\0\1\0\x33\0\0\0\x28\0\0\0\0";
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(&out, collect);
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(zip_add(&zip, "a.txt", "hello", 5, &err), 0);
    assert_int_equal(zip_finish(&zip, &err), 0);
    assert_int_equal(out.len, sizeof(expected));
    assert_memory_equal(out.text, expected, sizeof(expected));
}

static void more_files_than_the_short_end_can_count_have_a_long_one(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(&out, collect);
    struct error err = ERROR_INIT;
    const char *end = NULL;
    const char *locator = NULL;
    const char *end64 = NULL;

    (void)state;
    for (int i = 0; i < N_MANY; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(zip_add(&zip, name, "", 0, &err), 0);
    }
    assert_int_equal(zip_finish(&zip, &err), 0);
    end = out.text + out.len - END_BYTES;
    locator = end - LOCATOR_BYTES;
    end64 = locator - END64_BYTES;
    assert_memory_equal(end, "PK\5\6", 4);
    assert_int_equal(number_at(end + 10, 2), 0xFFFF);
    assert_memory_equal(locator, "PK\6\7", 4);
    assert_int_equal(number_at(locator + 8, 8), (uint64_t)(end64 - out.text));
    assert_memory_equal(end64, "PK\6\6", 4);
    assert_int_equal(number_at(end64 + 32, 8), N_MANY);
    /* Where the directory is, its first entry stands. */
    assert_memory_equal(out.text + number_at(end64 + 48, 8), "PK\1\2", 4);
}

static void what_the_sink_says_comes_back(void **state)
{
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(NULL, refuse);
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(zip_add(&zip, "a", "b", 1, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "full");
}

/* So many empty files; the archive's last records. */
static void write_files(int n_files, struct strbuf *out)
{
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(out, collect);
    struct error err = ERROR_INIT;

    for (int i = 0; i < n_files; i++)
        assert_int_equal(zip_add(&zip, "a", "", 0, &err), 0);
    assert_int_equal(zip_finish(&zip, &err), 0);
}

static void short_end_counts_up_to_its_limit(void **state)
{
    CLEANUP(strbuf_done) struct strbuf most = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf more = STRBUF_INIT;
    const char *end = NULL;

    (void)state;
    write_files(N_MANY - 2, &most);
    end = most.text + most.len - END_BYTES;
    assert_int_equal(number_at(end + 8, 2), N_MANY - 2);
    assert_int_equal(number_at(end + 10, 2), N_MANY - 2);
    assert_memory_not_equal(end - LOCATOR_BYTES, "PK\6\7", 4);
    /* 65535 means that the long end has the count. */
    write_files(N_MANY - 1, &more);
    end = more.text + more.len - END_BYTES - LOCATOR_BYTES;
    assert_memory_equal(end, "PK\6\7", 4);
    assert_int_equal(number_at(end + 4, 4), 0);
    assert_int_equal(number_at(end + 16, 4), 1);
    end -= END64_BYTES;
    assert_int_equal(number_at(end + 4, 8), END64_BYTES - 12);
    assert_int_equal(number_at(end + 12, 2), 3 << 8 | 45);
    assert_int_equal(number_at(end + 14, 2), 45);
    assert_int_equal(number_at(end + 16, 4), 0);
    assert_int_equal(number_at(end + 20, 4), 0);
    assert_int_equal(number_at(end + 24, 8), N_MANY - 1);
    assert_int_equal(number_at(end + 32, 8), N_MANY - 1);
    assert_int_equal(number_at(end + 40, 8), (uint64_t)(N_MANY - 1) * 47);
    assert_int_equal(number_at(end + 48, 8), (uint64_t)(N_MANY - 1) * 31);
}

static void errors_of_the_end_come_back(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(zip_done) struct zip zip = ZIP_INIT(&out, collect);
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(zip_add(&zip, "a", "b", 1, &err), 0);
    zip.sink.write = refuse;
    assert_int_equal(zip_finish(&zip, &err), -1);
    assert_string_equal(err.message, "full");
}

int zip_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file_is_written_as_the_note_says),
        cmocka_unit_test(more_files_than_the_short_end_can_count_have_a_long_one),
        cmocka_unit_test(what_the_sink_says_comes_back),
        cmocka_unit_test(short_end_counts_up_to_its_limit),
        cmocka_unit_test(errors_of_the_end_come_back),
    };

    return cmocka_run_group_tests_name("base/zip", tests, NULL, NULL);
}

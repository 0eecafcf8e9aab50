#include "runtime/docker/tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "unit/runtime/runtime_test.h"

#define BLOCK 512

static void file_takes_header_and_whole_blocks(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct tar_entry entry = {.name = "a", .mode = 0755, .owner = 10001, .group = 10001};

    (void)state;
    tar_append_file(&out, &entry, "hello", 5);
    tar_append_end(&out);
    assert_int_equal(out.len, 4 * BLOCK);
    assert_string_equal(out.text + 100, "0000755");
    assert_string_equal(out.text + 108, "0023421");
    assert_string_equal(out.text + 124, "00000000005");
    assert_memory_equal(out.text + BLOCK, "hello", 6);
}

static void checksum_counts_itself_as_spaces(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct tar_entry entry = {
        .name = "workspace/", .mode = 0755, .owner = 10001, .group = 10001};
    unsigned sum = 0;
    unsigned written = 0;

    (void)state;
    tar_append_directory(&out, &entry);
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : (unsigned char)out.text[i];
    for (size_t i = 148; i < 154; i++)
        written = 8 * written + (unsigned)(out.text[i] - '0');
    assert_int_equal(written, sum);
    assert_int_equal(out.text[156], '5');
}

static void whole_blocks_get_no_padding(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct tar_entry entry = {.name = "a", .mode = 0444};
    const char bytes[BLOCK] = {1};

    (void)state;
    tar_append_file(&out, &entry, bytes, sizeof(bytes));
    assert_int_equal(out.len, 2 * BLOCK);
}

int test_tar(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_takes_header_and_whole_blocks),
        cmocka_unit_test(checksum_counts_itself_as_spaces),
        cmocka_unit_test(whole_blocks_get_no_padding),
    };

    return cmocka_run_group_tests_name("runtime/tar", tests, NULL, NULL);
}

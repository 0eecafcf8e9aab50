#include "sandbox/terminal/shell_record.h"

#include <string.h>

#include "base/strbuf.h"
#include "sandbox/terminal/shell.h"
#include "unit/sandbox/sandbox_test.h"

#define RECORD(key)                                                                                \
    key "\0"                                                                                       \
        "3\0"                                                                                      \
        "42\0"                                                                                     \
        "/tmp\0"                                                                                   \
        "/bin:/usr/bin\0"

static void a_whole_record_is_read_and_removed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
    struct shell_record record = {0};
    static const char text[] = RECORD("n;1");

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(text) - 1; i++) {
        strbuf_append_bytes(&bytes, text + i, 1);
        assert_false(shell_record_next(&bytes, "n;1", &kept, &record));
    }
    strbuf_append_bytes(&bytes, "\0", 1);
    assert_true(shell_record_next(&bytes, "n;1", &kept, &record));
    assert_int_equal(record.exit_code, 3);
    assert_int_equal(record.background_pid, 42);
    assert_string_equal(record.cwd, "/tmp");
    assert_string_equal(record.path, "/bin:/usr/bin");
    assert_int_equal(bytes.len, 0);
}

static void foreign_bytes_and_other_keys_are_skipped(void **state)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
    struct shell_record record = {0};
    static const char text[] = "noise\0" RECORD("n;1") "n;22" RECORD("n;2");

    (void)state;
    strbuf_append_bytes(&bytes, text, sizeof(text) - 1);
    assert_false(shell_record_next(&bytes, "x;2", &kept, &record));
    assert_true(shell_record_next(&bytes, "n;2", &kept, &record));
    assert_int_equal(record.exit_code, 3);
    assert_false(shell_record_next(&bytes, "n;2", &kept, &record));
}

static void nonsense_numbers_and_floods_do_no_harm(void **state)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
    struct shell_record record = {0};
    static const char text[] = "n;1\0"
                               "x\0"
                               "\0"
                               "\0"
                               "\0";

    (void)state;
    for (int i = 0; i < 300000; i++)
        strbuf_append(&bytes, "flood");
    assert_false(shell_record_next(&bytes, "n;1", &kept, &record));
    assert_true(bytes.len <= 1024 * 1024);
    strbuf_append_bytes(&bytes, text, sizeof(text) - 1);
    assert_true(shell_record_next(&bytes, "n;1", &kept, &record));
    assert_int_equal(record.exit_code, -1);
    assert_int_equal(record.background_pid, -1);
    assert_string_equal(record.cwd, "");
}

int shell_record_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_record_is_read_and_removed),
        cmocka_unit_test(foreign_bytes_and_other_keys_are_skipped),
        cmocka_unit_test(nonsense_numbers_and_floods_do_no_harm),
    };

    return cmocka_run_group_tests_name("shell_record", tests, NULL, NULL);
}

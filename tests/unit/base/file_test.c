#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

static void bytes_written_are_read_back(void **state)
{
    char path[] = "/tmp/deft-file-test-XXXXXX";
    CLEANUP(fd_close) int fd = mkostemp(path, O_CLOEXEC);
    CLEANUP(strbuf_done) struct strbuf read = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf capped = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, "a\0b", 3, &err), 0);
    assert_int_equal(file_read(path, 3, &read, &err), 0);
    assert_memory_equal(read.text, "a\0b", 4);
    assert_int_equal(file_read(path, 2, &capped, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_int_equal(unlink(path), 0);
}

static void pipe_without_a_writer_is_not_waited_for(void **state)
{
    char dir[] = "/tmp/deft-file-test-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_non_null(mkdtemp(dir));
    strbuf_appendf(&path, "%s/pipe", dir);
    assert_int_equal(mkfifo(path.text, 0600), 0);
    assert_int_equal(file_read(path.text, 10, &text, &err), 0);
    assert_int_equal(text.len, 0);
    assert_int_equal(unlink(path.text), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void missing_file_is_not_found(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(file_read("/nonexistent/file", 10, &text, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void writing_nowhere_is_an_error(void **state)
{
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(fd_write_all(-1, "x", 1, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

static void descriptor_is_taken_or_closed_once(void **state)
{
    int ends[2] = {-1, -1};
    int taken = -1;
    int none = -1;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    taken = fd_take(&ends[0]);
    assert_true(taken >= 0);
    assert_int_equal(ends[0], -1);
    fd_close(&taken);
    assert_int_equal(taken, -1);
    fd_close(&ends[1]);
    assert_int_equal(ends[1], -1);
    fd_close(&none);
    assert_int_equal(none, -1);
    assert_int_equal(fd_take(&none), -1);
}

static void what_cannot_be_read_is_named(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(file_read("/proc", 10, &text, &err), -1);
    assert_string_equal(err.message, "/proc: read: Is a directory");
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(file_read("/dev/null/x", 10, &text, &err), -1);
    assert_string_equal(err.message, "open /dev/null/x: Not a directory");
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(file_read("/nonexistent", 10, &text, &err), -1);
    assert_string_equal(err.message, "open /nonexistent: No such file or directory");
    assert_int_equal(fd_write_all(-1, "x", 1, &err), -1);
    assert_string_equal(err.message, "write: Bad file descriptor");
    assert_int_equal(fd_write_all(-1, "", 0, &err), 0);
}

/* The bound is that of the file: what was there before does not count. */
static void file_is_appended_to_what_was_there(void **state)
{
    char path[] = "/tmp/deft-file-test-XXXXXX";
    CLEANUP(fd_close) int fd = mkostemp(path, O_CLOEXEC);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf written = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 0; i < 50000; i++)
        strbuf_append_char(&written, (char)('a' + i % 26));
    assert_int_equal(fd_write_all(fd, written.text, written.len, &err), 0);
    strbuf_append(&text, "before");
    assert_int_equal(file_read(path, written.len, &text, &err), 0);
    assert_int_equal(strncmp(text.text, "before", 6), 0);
    assert_string_equal(text.text + 6, written.text);
    assert_int_equal(file_read(path, written.len - 1, &text, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_int_equal(unlink(path), 0);
}

int file_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_written_are_read_back),
        cmocka_unit_test(pipe_without_a_writer_is_not_waited_for),
        cmocka_unit_test(missing_file_is_not_found),
        cmocka_unit_test(writing_nowhere_is_an_error),
        cmocka_unit_test(descriptor_is_taken_or_closed_once),
        cmocka_unit_test(what_cannot_be_read_is_named),
        cmocka_unit_test(file_is_appended_to_what_was_there),
    };

    return cmocka_run_group_tests_name("base/file", tests, NULL, NULL);
}

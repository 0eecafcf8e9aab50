#include <fcntl.h>
#include <stdlib.h>
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

int file_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_written_are_read_back),
        cmocka_unit_test(pipe_without_a_writer_is_not_waited_for),
        cmocka_unit_test(missing_file_is_not_found),
        cmocka_unit_test(writing_nowhere_is_an_error),
    };

    return cmocka_run_group_tests_name("base/file", tests, NULL, NULL);
}

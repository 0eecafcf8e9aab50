/*
 * Files of text: which are read, and that an edited one keeps its encoding, line ends and mode.
 */
#include "sandbox/core/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/atomic_write.h"
#include "sandbox/core/folder.h"
#include "support/descriptors.h"
#include "unit/sandbox/core/core_tests.h"

struct bench {
    char folder[32];
    char path[40];
};

static int set_up(void **state)
{
    struct bench *bench = NEW(struct bench);

    memcpy(bench->folder, "/tmp/deft-text-XXXXXX", sizeof("/tmp/deft-text-XXXXXX"));
    assert_non_null(mkdtemp(bench->folder));
    memcpy(bench->path, bench->folder, strlen(bench->folder));
    memcpy(bench->path + strlen(bench->folder), "/file", sizeof("/file"));
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    folder_remove(bench->folder);
    mem_free(bench);
    return 0;
}

static void write_bytes(const char *path, const char *bytes, size_t len)
{
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    struct error err = ERROR_INIT;

    assert_int_equal(fd_write_all(fd, bytes, len, &err), 0);
}

static void assert_bytes(const char *path, const char *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf found = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(file_read(path, MAX_EDIT_FILE_BYTES, &found, &err), 0);
    assert_int_equal(found.len, len);
    assert_memory_equal(found.text, bytes, len);
}

static void text_is_read_and_written_as_it_was(void **state)
{
    static const struct {
        const char *bytes;
        const char *text;
        bool has_bom;
        bool has_crlf;
        bool is_latin1;
    } cases[] = {
        {"", "", false, false, false},
        {"a\nb", "a\nb", false, false, false},
        {"\xEF\xBB\xBFx\n", "x\n", true, false, false},
        {"a\r\nb\r\n", "a\nb\n", false, true, false},
        {"\xEF\xBB\xBF"
         "a\r\nb",
         "a\nb", true, true, false},
        {"a\r\nb\n", "a\r\nb\n", false, false, false},
        {"\na\r\n", "\na\r\n", false, false, false},
        {"a\rb\r\n", "a\rb\n", false, true, false},
        {"a\r", "a\r", false, false, false},
        {"\xe9 \xc0\xff\r\n", "\xc3\xa9 \xc3\x80\xc3\xbf\n", false, true, true},
        {"\xc3\xa9", "\xc3\xa9", false, false, false},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
        struct error err = ERROR_INIT;

        write_bytes(bench->path, cases[i].bytes, strlen(cases[i].bytes));
        assert_int_equal(textfile_read(bench->path, &file, &err), 0);
        assert_string_equal(file.text.text, cases[i].text);
        assert_int_equal(file.has_bom, cases[i].has_bom);
        assert_int_equal(file.has_crlf, cases[i].has_crlf);
        assert_int_equal(file.is_latin1, cases[i].is_latin1);
        assert_int_equal(textfile_write(bench->path, &file, &err), 0);
        assert_bytes(bench->path, cases[i].bytes, strlen(cases[i].bytes));
    }
    textfile_done(NULL);
}

static void binary_files_are_refused(void **state)
{
    static const size_t places[] = {0, 1, 100000};
    struct bench *bench = *state;

    for (size_t i = 0; i < 2 * ARRAY_SIZE(places); i++) {
        CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
        struct error err = ERROR_INIT;

        /* Also in a file that is no UTF-8. */
        strbuf_append(&bytes, i % 2 == 0 ? "" : "\xe9");
        while (bytes.len < places[i / 2])
            strbuf_append_char(&bytes, 'x');
        strbuf_append_char(&bytes, '\0');
        strbuf_append(&bytes, "end");
        write_bytes(bench->path, bytes.text, bytes.len);
        assert_int_equal(textfile_read(bench->path, &file, &err), -1);
        assert_int_equal(err.code, ERROR_UNSUPPORTED);
        assert_string_equal(err.message, "the file is binary");
    }
}

static void what_is_no_text_file_is_refused(void **state)
{
    struct bench *bench = *state;
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    CLEANUP(strbuf_done) struct strbuf below = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(textfile_read(bench->path, &file, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(textfile_read(bench->folder, &file, &err), -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    assert_string_equal(err.message, "not a regular file");
    write_bytes(bench->path, "x", 1);
    strbuf_appendf(&below, "%s/x", bench->path);
    assert_int_equal(textfile_read(below.text, &file, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(truncate(bench->path, MAX_EDIT_FILE_BYTES + 1), 0);
    assert_int_equal(textfile_read(bench->path, &file, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_string_equal(err.message, "10.0 MB");
    assert_int_equal(truncate(bench->path, 0), 0);
    assert_int_equal(textfile_read(bench->path, &file, &err), 0);
}

static void text_that_latin1_lacks_is_refused(void **state)
{
    struct bench *bench = *state;
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    struct error err = ERROR_INIT;

    write_bytes(bench->path, "\xe9", 1);
    assert_int_equal(textfile_read(bench->path, &file, &err), 0);
    strbuf_append(&file.text, "\xe2\x82\xac");
    assert_int_equal(textfile_write(bench->path, &file, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message,
                        "the file is Latin-1, which lacks some characters of the text");
    assert_bytes(bench->path, "\xe9", 1);
}

static void written_file_keeps_mode_owner_and_link(void **state)
{
    struct bench *bench = *state;
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct stat info;
    uid_t owner = geteuid() == 0 ? 12345 : geteuid();

    strbuf_append(&file.text, "text");
    strbuf_appendf(&link, "%s/link", bench->folder);
    write_bytes(bench->path, "x", 1);
    if (geteuid() == 0)
        assert_int_equal(chown(bench->path, owner, getegid()), 0);
    assert_int_equal(chmod(bench->path, 04751), 0);
    assert_int_equal(symlink(bench->path, link.text), 0);
    assert_int_equal(textfile_write(link.text, &file, &err), 0);
    assert_int_equal(lstat(link.text, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(bench->path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 04751);
    assert_int_equal(info.st_uid, owner);
    assert_bytes(bench->path, "text", 4);
}

/* Until it is committed, the file is as it was; nothing else stays in its folder. */
static void write_that_ends_early_changes_nothing(void **state)
{
    struct bench *bench = *state;
    struct atomic_write file = ATOMIC_WRITE_INIT;
    struct error err = ERROR_INIT;
    int n_descriptors = descriptors_count();

    write_bytes(bench->path, "old", 3);
    assert_int_equal(atomic_write_begin(&file, bench->path, &err), 0);
    assert_int_equal(write(file.fd, "new", 3), 3);
    assert_bytes(bench->path, "old", 3);
    atomic_write_done(&file);
    atomic_write_done(NULL);
    assert_int_equal(descriptors_count(), n_descriptors);
    assert_bytes(bench->path, "old", 3);
    assert_int_equal(unlink(bench->path), 0);
    assert_int_equal(rmdir(bench->folder), 0);
    assert_int_equal(mkdir(bench->folder, 0700), 0);
}

static void failure_of_a_write_has_its_code(void **state)
{
    static const struct {
        int why;
        enum error_code code;
    } cases[] = {
        {EACCES, ERROR_FORBIDDEN}, {EPERM, ERROR_FORBIDDEN},      {EROFS, ERROR_FORBIDDEN},
        {ENOENT, ERROR_INVALID},   {ENAMETOOLONG, ERROR_INVALID}, {ELOOP, ERROR_INVALID},
        {EIO, ERROR_UNAVAILABLE},  {ENOSPC, ERROR_UNAVAILABLE},
    };
    CLEANUP(textfile_done) struct textfile file = TEXTFILE_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        errno = cases[i].why;
        assert_int_equal(atomic_write_error_code(), cases[i].code);
    }
    assert_int_equal(textfile_write("/none/file", &file, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message, "writing /none/file: No such file or directory");
}

static void missing_folders_are_made(void **state)
{
    struct bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct stat info;

    strbuf_appendf(&path, "%s/a/b/c", bench->folder);
    for (int i = 0; i < 2; i++)
        assert_int_equal(textfile_make_parents(path.text, &err), 0);
    assert_int_equal(stat(path.text, &info), -1);
    strbuf_truncate(&path, path.len - 2);
    assert_int_equal(stat(path.text, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    write_bytes(bench->path, "x", 1);
    strbuf_reset(&path);
    strbuf_appendf(&path, "%s/d/e", bench->path);
    assert_int_equal(textfile_make_parents(path.text, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    strbuf_appendf(&message, "%s is not a directory", bench->path);
    assert_string_equal(err.message, message.text);
    assert_int_equal(textfile_make_parents("/proc/none/x", &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.message, "creating /proc/none: No such file or directory");
}

int textfile_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_is_read_and_written_as_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(binary_files_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_text_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_that_latin1_lacks_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(written_file_keeps_mode_owner_and_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(write_that_ends_early_changes_nothing, set_up, tear_down),
        cmocka_unit_test(failure_of_a_write_has_its_code),
        cmocka_unit_test_setup_teardown(missing_folders_are_made, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("sandbox/textfile", tests, NULL, NULL);
}

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text_folder.h"
#include "unit/base/base_test.h"

#define DIR_TEMPLATE "/tmp/deft-text-folder-XXXXXX"

struct folders {
    char dir[sizeof(DIR_TEMPLATE)];
    char overrides[sizeof(DIR_TEMPLATE)];
};

static void write_bytes(const char *dir, const char *name, const void *bytes, size_t len)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/%s", dir, name);
    fd = open(path.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes, len, &err), 0);
}

static void write_text(const char *dir, const char *name, const char *text)
{
    write_bytes(dir, name, text, strlen(text));
}

static int set_up(void **state)
{
    struct folders *folders = calloc(1, sizeof(*folders));

    assert_non_null(folders);
    (void)snprintf(folders->dir, sizeof(folders->dir), DIR_TEMPLATE);
    (void)snprintf(folders->overrides, sizeof(folders->overrides), DIR_TEMPLATE);
    assert_non_null(mkdtemp(folders->dir));
    assert_non_null(mkdtemp(folders->overrides));
    *state = folders;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"/a/x.txt", "/a", "/b.tsv", "/notes.md", "/.hidden.txt"};
    struct folders *folders = *state;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf other = STRBUF_INIT;

        strbuf_appendf(&path, "%s%s", folders->dir, names[i]);
        strbuf_appendf(&other, "%s%s", folders->overrides, names[i]);
        (void)remove(path.text);
        (void)remove(other.text);
    }
    (void)rmdir(folders->dir);
    (void)rmdir(folders->overrides);
    free(folders);
    return 0;
}

static void make_subfolder(const char *dir)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/a", dir);
    assert_int_equal(mkdir(path.text, S_IRWXU), 0);
}

static void files_of_the_second_folder_replace_those_of_the_same_name(void **state)
{
    const struct folders *folders = *state;
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
    struct error err = ERROR_INIT;

    make_subfolder(folders->dir);
    make_subfolder(folders->overrides);
    write_text(folders->dir, "a/x.txt", "first");
    write_text(folders->dir, "b.tsv", "table");
    write_text(folders->dir, "notes.md", "");
    write_text(folders->dir, ".hidden.txt", "");
    write_text(folders->overrides, "a/x.txt", "second");
    assert_int_equal(text_folder_read(folders->dir, folders->overrides, &folder, &err), 0);
    assert_int_equal(folder.n, 2);
    assert_string_equal(folder.files[0].name, "a/x.txt");
    assert_string_equal(folder.files[0].text, "second");
    assert_string_equal(text_folder_find(&folder, "b.tsv")->text, "table");
    assert_null(text_folder_find(&folder, "notes.md"));
}

static void assert_refused(const struct folders *folders, const char *overrides,
                           enum error_code code, const char *words)
{
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(text_folder_read(folders->dir, overrides, &folder, &err), -1);
    assert_int_equal(err.code, code);
    if (strstr(err.message, words) == NULL)
        fail_msg("%s", err.message);
}

static void a_file_that_is_no_text_is_refused_by_name(void **state)
{
    const struct folders *folders = *state;
    char *large = malloc(TEXT_FILE_MAX_BYTES + 1);

    assert_non_null(large);
    memset(large, 'x', TEXT_FILE_MAX_BYTES + 1);
    write_text(folders->dir, "b.tsv", " \n");
    assert_refused(folders, "", ERROR_INVALID, "/b.tsv: the file is empty");
    write_text(folders->dir, "b.tsv", "caf\xe9");
    assert_refused(folders, "", ERROR_INVALID, "/b.tsv: the file is not UTF-8 text");
    write_bytes(folders->dir, "b.tsv", "a\0b", 3);
    assert_refused(folders, "", ERROR_INVALID, "/b.tsv: the file is not UTF-8 text");
    write_bytes(folders->dir, "b.tsv", large, TEXT_FILE_MAX_BYTES + 1);
    assert_refused(folders, "", ERROR_TOO_LARGE, "/b.tsv: larger than");
    free(large);
}

static void a_missing_folder_is_refused(void **state)
{
    const struct folders *folders = *state;

    assert_refused(folders, "/nonexistent/folder", ERROR_NOT_FOUND,
                   "open the folder /nonexistent/folder");
}

static void files_are_sorted_and_know_where_they_are_from(void **state)
{
    const struct folders *folders = *state;
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const struct text_file *file = NULL;
    struct error err = ERROR_INIT;

    make_subfolder(folders->dir);
    make_subfolder(folders->overrides);
    write_text(folders->dir, "b.tsv", "table");
    write_text(folders->overrides, "a/x.txt", "added");
    assert_int_equal(text_folder_read(folders->dir, folders->overrides, &folder, &err), 0);
    assert_int_equal(folder.n, 2);
    assert_string_equal(folder.files[0].name, "a/x.txt");
    assert_true(folder.files[0].is_override);
    assert_string_equal(folder.files[1].name, "b.tsv");
    file = text_folder_find(&folder, "b.tsv");
    assert_ptr_equal(file, &folder.files[1]);
    assert_false(file->is_override);
    assert_int_equal(file->len, strlen("table"));
    strbuf_appendf(&path, "%s/b.tsv", folders->dir);
    assert_string_equal(file->path, path.text);
    text_folder_done(&folder);
    assert_int_equal(folder.n, 0);
    assert_null(folder.files);
    text_folder_done(NULL);
    /* Without a second folder. */
    assert_int_equal(text_folder_read(folders->dir, "", &folder, &err), 0);
    assert_int_equal(folder.n, 1);
}

static void name_of(int i, char name[16])
{
    (void)snprintf(name, 16, "%d.txt", i);
}

static void folder_has_a_largest_number_of_files(void **state)
{
    const struct folders *folders = *state;
    CLEANUP(text_folder_done) struct text_folder folder = TEXT_FOLDER_INIT;
    struct error err = ERROR_INIT;
    char name[16];

    for (int i = 0; i < TEXT_FOLDER_MAX_FILES; i++) {
        name_of(i, name);
        write_text(folders->dir, name, "x");
    }
    assert_int_equal(text_folder_read(folders->dir, "", &folder, &err), 0);
    assert_int_equal(folder.n, TEXT_FOLDER_MAX_FILES);
    write_text(folders->dir, "b.tsv", "x");
    assert_refused(folders, "", ERROR_TOO_LARGE, "more than 1000 files");
    for (int i = 0; i < TEXT_FOLDER_MAX_FILES; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        name_of(i, name);
        strbuf_appendf(&path, "%s/%s", folders->dir, name);
        assert_int_equal(unlink(path.text), 0);
    }
}

int text_folder_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_of_the_second_folder_replace_those_of_the_same_name,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_text_is_refused_by_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_missing_folder_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_sorted_and_know_where_they_are_from, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(folder_has_a_largest_number_of_files, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("base/text_folder", tests, NULL, NULL);
}

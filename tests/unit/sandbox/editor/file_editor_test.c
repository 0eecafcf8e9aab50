#include "sandbox/editor/file_editor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/editor/file_editor_result.h"
#include "unit/sandbox/sandbox_test.h"

struct bench {
    struct file_editor *editor;
    char path[64];
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    int fd = -1;

    assert_non_null(bench);
    memcpy(bench->path, "/tmp/deft-editor-XXXXXX", sizeof("/tmp/deft-editor-XXXXXX"));
    fd = mkstemp(bench->path);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)unlink(bench->path);
    bench->editor = file_editor_new();
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;

    (void)unlink(bench->path);
    file_editor_free(bench->editor);
    free(bench);
    return 0;
}

/* Runs a command whose arguments are given as for json_build(), the path apart. */
static json_t *edit(const struct bench *bench, json_t *args)
{
    json_t *observation = NULL;

    assert_non_null(args);
    json_put_text(args, "path", bench->path);
    observation = file_editor_execute(bench->editor, args, "/tmp");
    json_decref(args);
    return observation;
}

static void numbers_stand_before_lines(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    file_editor_append_numbered(&out, "a\nb\nc", 2, 3);
    assert_string_equal(out.text, "     2\tb\n     3\tc\n");
    assert_int_equal(file_editor_count_lines(""), 0);
    assert_int_equal(file_editor_count_lines("a"), 1);
    assert_int_equal(file_editor_count_lines("a\n"), 1);
    assert_int_equal(file_editor_count_lines("a\n\n"), 2);
}

static void undo_goes_back_step_by_step(void **state)
{
    const struct bench *bench = *state;
    struct error err = ERROR_INIT;
    json_auto_t *made =
        edit(bench, json_build(&err, "{s:s, s:s}", "command", "create", "file_text", "0\n"));

    assert_false(json_is_true(json_object_get(made, "is_error")));
    for (int n = '0'; n < '9'; n++) {
        const char old_str[] = {(char)n, '\0'};
        const char new_str[] = {(char)(n + 1), '\0'};
        json_auto_t *done =
            edit(bench, json_build(&err, "{s:s, s:s, s:s}", "command", "str_replace", "old_str",
                                   old_str, "new_str", new_str));

        assert_false(json_is_true(json_object_get(done, "is_error")));
    }
    for (int n = '8'; n >= '0'; n--) {
        const char text[] = {(char)n, '\n', '\0'};
        json_auto_t *undone = edit(bench, json_build(&err, "{s:s}", "command", "undo_edit"));

        assert_string_equal(json_string_value(json_object_get(undone, "new_content")), text);
    }
}

static void insertion_ends_lines_where_needed(void **state)
{
    const struct bench *bench = *state;
    struct error err = ERROR_INIT;
    json_auto_t *made =
        edit(bench, json_build(&err, "{s:s, s:s}", "command", "create", "file_text", "a\nb"));
    json_auto_t *end = edit(bench, json_build(&err, "{s:s, s:I, s:s}", "command", "insert",
                                              "insert_line", (json_int_t)2, "new_str", "c"));
    json_auto_t *top = edit(bench, json_build(&err, "{s:s, s:I, s:s}", "command", "insert",
                                              "insert_line", (json_int_t)0, "new_str", "0\n"));

    assert_false(json_is_true(json_object_get(made, "is_error")));
    assert_string_equal(json_string_value(json_object_get(end, "new_content")), "a\nb\nc");
    assert_string_equal(json_string_value(json_object_get(top, "new_content")), "0\na\nb\nc");
}

static void a_failing_edit_changes_nothing(void **state)
{
    const struct bench *bench = *state;
    struct error err = ERROR_INIT;
    json_auto_t *made =
        edit(bench, json_build(&err, "{s:s, s:s}", "command", "create", "file_text", "x x\n"));
    json_auto_t *failed = edit(bench, json_build(&err, "{s:s, s:s, s:s}", "command", "str_replace",
                                                 "old_str", "x", "new_str", "y"));
    json_auto_t *viewed = edit(bench, json_build(&err, "{s:s}", "command", "view"));
    const json_t *part = json_array_get(json_object_get(viewed, "content"), 0);

    assert_false(json_is_true(json_object_get(made, "is_error")));
    assert_true(json_is_true(json_object_get(failed, "is_error")));
    assert_null(json_object_get(failed, "path"));
    assert_non_null(strstr(json_string_value(json_object_get(part, "text")), "     1\tx x\n"));
}

int file_editor_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stand_before_lines),
        cmocka_unit_test_setup_teardown(undo_goes_back_step_by_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(insertion_ends_lines_where_needed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failing_edit_changes_nothing, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("file_editor", tests, NULL, NULL);
}

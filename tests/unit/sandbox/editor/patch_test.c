/*
 * Patches: how they are read, and how a file's text changes by them.
 */
#include "sandbox/editor/patch.h"

#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "unit/sandbox/sandbox_test.h"

#define PATCH(lines) "*** Begin Patch\n" lines "*** End Patch\n"
#define UPDATE(lines) PATCH("*** Update File: f\n" lines)

static void patches_are_read(void **state)
{
    CLEANUP(patch_done) struct file_patch patch = PATCH_INIT;
    struct error err = ERROR_INIT;
    int rc =
        patch_read(&patch,
                   "\n" PATCH("*** Add File: a/b.txt\n+one\n+\n+two\n*** Delete File: gone\n"
                              "*** Update File: f\n*** Move to: g\n@@ int main\n x\n-y\n+z\n@@\n"
                              "\n-q\n*** End of File\n"),
                   &err);

    (void)state;
    if (rc < 0)
        fail_msg("%s", err.message);
    assert_int_equal(patch.n_files, 3);
    assert_int_equal(patch.files[0].kind, PATCH_ADD);
    assert_string_equal(patch.files[0].path, "a/b.txt");
    assert_string_equal(patch.files[0].added.text, "one\n\ntwo\n");
    assert_int_equal(patch.files[1].kind, PATCH_DELETE);
    assert_string_equal(patch.files[1].path, "gone");
    assert_int_equal(patch.files[2].kind, PATCH_UPDATE);
    assert_string_equal(patch.files[2].move_path, "g");
    assert_int_equal(patch.files[2].n_hunks, 2);
    assert_string_equal(patch.files[2].hunks[0].anchor, "int main");
    assert_string_equal(patch.files[2].hunks[0].is.text, "x\ny\n");
    assert_string_equal(patch.files[2].hunks[0].will_be.text, "x\nz\n");
    assert_false(patch.files[2].hunks[0].is_at_end);
    assert_null(patch.files[2].hunks[1].anchor);
    assert_string_equal(patch.files[2].hunks[1].is.text, "\nq\n");
    assert_string_equal(patch.files[2].hunks[1].will_be.text, "\n");
    assert_true(patch.files[2].hunks[1].is_at_end);
}

static void malformed_patches_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } rows[] = {
        {"", "first line must be *** Begin Patch"},
        {"*** Update File: f\n", "line 1 (*** Update File: f)"},
        {"*** Begin Patch\n*** Add File: f\n+x\n", "last line must be *** End Patch"},
        {PATCH(""), "changes no file"},
        {PATCH("+x\n"), "expected *** Add File"},
        {PATCH("*** Add File: f\nx\n"), "line 3 (x)"},
        {PATCH("*** Delete File: f\n-x\n"), "a deleted file has no lines"},
        {PATCH("*** Add File: \n+x\n"), "has no name"},
        {UPDATE(""), "The update of f changes nothing"},
        {UPDATE("@@\n?x\n"), "begins with a blank, + or -"},
        {PATCH("*** Add File: f\n+x\n*** Delete File: f\n"), "names f twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(patch_done) struct file_patch patch = PATCH_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(patch_read(&patch, rows[i].text, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        if (strstr(err.message, rows[i].words) == NULL)
            fail_msg("%s", err.message);
    }
}

static void texts_change_by_patches(void **state)
{
    static const struct {
        const char *patch;
        const char *before;
        const char *after;
        int fuzz;
    } rows[] = {
        {UPDATE("@@\n a\n-b\n+B\n c\n"), "a\nb\nc\n", "a\nB\nc\n", 0},
        {UPDATE(" a\n-b\n+B\n"), "x\na\nb\ny\n", "x\na\nB\ny\n", 0},
        /* Two hunks, the second of which fits only after the first. */
        {UPDATE("@@\n-a\n+1\n@@\n-a\n+2\n"), "a\na\na\n", "1\n2\na\n", 0},
        {UPDATE("@@ def g():\n-  return 1\n+  return 2\n"),
         "def f():\n  return 1\ndef g():\n  return 1\n",
         "def f():\n  return 1\ndef g():\n  return 2\n", 0},
        {UPDATE("@@\n-a\n+b\n"), "a  \n", "b\n", 1},
        {UPDATE("@@\n-a\n+b\n"), "\t a\n", "b\n", 100},
        {UPDATE("@@\n-a\n+b\n*** End of File\n"), "a\nx\na\n", "a\nx\nb\n", 0},
        {UPDATE("@@\n-a\n+b\n*** End of File\n"), "a\nx\n", "b\nx\n", 10000},
        {UPDATE("@@\n+end\n"), "a\n", "a\nend\n", 0},
        {UPDATE("@@\n+end\n"), "a", "a\nend\n", 0},
        {UPDATE("@@ a\n+after\n"), "a\nb\n", "a\nafter\nb\n", 0},
        {UPDATE("@@\n-b\n"), "a\nb", "a\n", 0},
        {UPDATE("@@\n-a\n+b\n"), "x\na\nlast without newline", "x\nb\nlast without newline", 0},
        {UPDATE("@@\n\n-a\n"), "\na\n", "\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(patch_done) struct file_patch patch = PATCH_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;
        int fuzz = 0;

        if (patch_read(&patch, rows[i].patch, &err) < 0 ||
            patch_apply(&patch.files[0], rows[i].before, &out, &fuzz, &err) < 0)
            fail_msg("%zu: %s", i, err.message);
        if (strcmp(out.text, rows[i].after) != 0)
            fail_msg("%zu: %s", i, out.text);
        assert_int_equal(fuzz, rows[i].fuzz);
    }
}

static void what_is_not_found_is_named(void **state)
{
    static const struct {
        const char *patch;
        const char *before;
        const char *words;
    } rows[] = {
        {UPDATE("@@\n-lost\n+b\n"), "a\n", "lost"},
        {UPDATE("@@ nowhere\n-a\n+b\n"), "a\n", "nowhere"},
        {UPDATE("@@\n-b\n+1\n@@\n-a\n+2\n"), "a\nb\n", "not found in f"},
        {UPDATE("@@\n-a\n-b\n-c\n"), "a\nb\n", "not found in f"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(patch_done) struct file_patch patch = PATCH_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;
        int fuzz = 0;

        assert_int_equal(patch_read(&patch, rows[i].patch, &err), 0);
        assert_int_equal(patch_apply(&patch.files[0], rows[i].before, &out, &fuzz, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        if (strstr(err.message, rows[i].words) == NULL)
            fail_msg("%s", err.message);
    }
}

int patch_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches_are_read),
        cmocka_unit_test(malformed_patches_are_refused),
        cmocka_unit_test(texts_change_by_patches),
        cmocka_unit_test(what_is_not_found_is_named),
    };

    return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}

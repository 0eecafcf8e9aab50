#include "runtime/build/build_form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"
#include "unit/runtime/runtime_test.h"

#define TYPE "multipart/form-data; boundary=xyz"
#define PART(name, value)                                                                          \
    "--xyz\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"
#define FILE_PART(value)                                                                           \
    "--xyz\r\nContent-Disposition: form-data; name=\"context\"; filename=\"context.tar.gz\"\r\n"   \
    "Content-Type: application/gzip\r\n\r\n" value "\r\n"

static int read_text(const char *type, const char *text, struct build_form *form, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_append(&body, text);
    return build_form_read(type, &body, form, err);
}

static void form_is_read_in_any_order(void **state)
{
    CLEANUP(build_form_done) struct build_form form = BUILD_FORM_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(read_text("Multipart/Form-Data; charset=x; boundary=\"xyz\"",
                               "preamble\r\n" PART("tags", "h/a:2") FILE_PART("Zm9v\nYmFy")
                                   PART("other", "--x") PART("target_image", "h/a:1")
                                       PART("tags", "h/a:1") "--xyz--\r\n",
                               &form, &err),
                     0);
    assert_string_equal(form.context.text, "foobar");
    assert_int_equal(json_array_size(form.names), 2);
    assert_string_equal(json_string_value(json_array_get(form.names, 0)), "h/a:1");
    assert_string_equal(json_string_value(json_array_get(form.names, 1)), "h/a:2");
}

struct bad_form {
    const char *type;
    const char *text;
};

static void what_is_no_form_is_refused(void **state)
{
    static const struct bad_form forms[] = {
        {"application/json", "{}"},
        {"multipart/form-data", PART("target_image", "a") FILE_PART("Zm9v") "--xyz--"},
        {TYPE, ""},
        {TYPE, "--xyz--"},
        {TYPE, PART("target_image", "a") "--xyz--"},
        {TYPE, FILE_PART("Zm9v") "--xyz--"},
        {TYPE, PART("target_image", "a") FILE_PART("Zm9v")},
        {TYPE, PART("target_image", "a") FILE_PART("Zm9v") "--xyz"},
        {TYPE, PART("target_image", "a") FILE_PART("Z m9v") "--xyz--"},
        {TYPE, PART("target_image", "a") FILE_PART("Zm9v") FILE_PART("Zm9v") "--xyz--"},
        {TYPE, PART("target_image", "\xff") FILE_PART("Zm9v") "--xyz--"},
        {TYPE, "--xyz\r\nno headers\r\n--xyz--"},
        {TYPE, "--xyz\r\nno headers\r\n" PART("target_image", "a") FILE_PART("Zm9v") "--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=\"context\r\n\r\n\r\n--xyz--"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\n\r\n--xyz--"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        struct build_form form = BUILD_FORM_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(read_text(forms[i].type, forms[i].text, &form, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_null(form.names);
    }
}

/* printf aaaa | gzip -n */
static const unsigned char four[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
                                     0x00, 0x03, 0x4b, 0x4c, 0x4c, 0x4c, 0x04, 0x00,
                                     0x45, 0xe5, 0x98, 0xad, 0x04, 0x00, 0x00, 0x00};

static void archives_unpack_to_a_limit(void **state)
{
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    strbuf_append_bytes(&context, four, sizeof(four));
    assert_int_equal(build_form_check_context(&context, 4, &err), 0);
    assert_int_equal(build_form_check_context(&context, 3, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    /* Members follow each other: what the second unpacks to counts, too. */
    strbuf_append_bytes(&context, four, sizeof(four));
    assert_int_equal(build_form_check_context(&context, 8, &err), 0);
    assert_int_equal(build_form_check_context(&context, 7, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void torn_and_foreign_archives_are_refused(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof(four); len++) {
        CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
        struct error err = ERROR_INIT;

        strbuf_append_bytes(&context, four, len);
        assert_int_equal(build_form_check_context(&context, 100, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

int test_build_form(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_is_read_in_any_order),
        cmocka_unit_test(what_is_no_form_is_refused),
        cmocka_unit_test(archives_unpack_to_a_limit),
        cmocka_unit_test(torn_and_foreign_archives_are_refused),
    };

    return cmocka_run_group_tests_name("runtime/build_form", tests, NULL, NULL);
}

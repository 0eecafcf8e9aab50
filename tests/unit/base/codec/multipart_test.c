#include "base/codec/multipart.h"

#include <string.h>

#include "base/error.h"
#include "unit/base/base_test.h"

static const char type[] = "multipart/form-data; boundary=\"b1\"";

static int collect(void *state, const char *bytes, size_t len, struct error *err)
{
    (void)err;
    strbuf_append_bytes(state, bytes, len);
    return 0;
}

/* Feeds a body in pieces of `step`; *out gets the field. Returns whether it was complete. */
static bool parse(const char *body, size_t len, size_t step, struct strbuf *out)
{
    CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
    const struct multipart_target target = {.state = out, .take = collect};
    struct error err = ERROR_INIT;

    assert_int_equal(multipart_init(&multipart, type, "file", &err), 0);
    for (size_t at = 0; at < len; at += step) {
        size_t n = len - at < step ? len - at : step;

        if (multipart_feed(&multipart, body + at, n, &target, &err) < 0)
            return false;
    }
    return multipart_is_complete(&multipart);
}

static void the_field_is_found_in_pieces_of_any_size(void **state)
{
    static const char body[] = "preamble\r\n--b1\r\n"
                               "Content-Disposition: form-data; name=\"other\"\r\n\r\nno\r\n"
                               "--b1\r\ncontent-disposition: form-data; filename=\"name=x\"; "
                               "name=\"file\"\r\nContent-Type: a/b\r\n\r\n"
                               "one\r\n--b\r\n\r\n--b\r\ntwo\r\n--b1--\r\nepilogue";

    (void)state;
    for (size_t step = 1; step < sizeof(body); step++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

        assert_true(parse(body, sizeof(body) - 1, step, &out));
        assert_string_equal(out.text, "one\r\n--b\r\n\r\n--b\r\ntwo");
    }
}

static void empty_fields_and_missing_ends_are_told_apart(void **state)
{
    static const char empty[] =
        "--b1\r\nContent-Disposition: form-data; name=file\r\n\r\n\r\n--b1--\r\n";
    static const char torn[] =
        "--b1\r\nContent-Disposition: form-data; name=file\r\n\r\nabc\r\n--b";
    static const char none[] = "--b1--\r\n";
    static const char broken[] = "--b1xx\r\n";
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    assert_true(parse(empty, sizeof(empty) - 1, 7, &out));
    assert_int_equal(out.len, 0);
    assert_false(parse(torn, sizeof(torn) - 1, 7, &out));
    assert_false(parse(none, sizeof(none) - 1, 7, &out));
    assert_false(parse(broken, sizeof(broken) - 1, 7, &out));
}

static void other_content_types_are_refused(void **state)
{
    static const char *const bad[] = {
        "", "text/plain", "multipart/form-data",
        "multipart/form-data; boundary=", "multipart/mixed; boundary=a"};
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};

        assert_int_equal(multipart_init(&multipart, bad[i], "file", &err), -1);
    }
}

static void endless_headers_are_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    strbuf_append(&body, "--b1\r\n");
    for (int i = 0; i < 10000; i++)
        strbuf_append(&body, "X: y\r\n");
    strbuf_append(&body, "Content-Disposition: form-data; name=file\r\n\r\nabc\r\n--b1--\r\n");
    assert_false(parse(body.text, body.len, 1000, &out));
    assert_int_equal(out.len, 0);
}

static int append_name(void *state, const char *name, struct error *err)
{
    (void)err;
    strbuf_appendf(state, "<%s:", name);
    return 0;
}

static int append_end(void *state, struct error *err)
{
    (void)err;
    strbuf_append_char(state, '>');
    return 0;
}

static void all_parts_are_passed_on_in_order(void **state)
{
    static const char body[] = "--b1\r\nContent-Disposition: form-data; name=a\r\n\r\none\r\n"
                               "--b1\r\nX: y\r\n\r\n\r\n"
                               "--b1\r\nContent-Disposition: form-data; name=\"torn\r\n\r\n-\r\n"
                               "--b1\r\nContent-Disposition: form-data; name=\"b c\"\r\n\r\n"
                               "two\r\n--b1--";

    (void)state;
    for (size_t step = 1; step < sizeof(body); step++) {
        CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        const struct multipart_target target = {
            .state = &out, .begin = append_name, .take = collect, .end = append_end};
        struct error err = ERROR_INIT;

        assert_int_equal(multipart_init(&multipart, type, NULL, &err), 0);
        for (size_t at = 0; at < sizeof(body) - 1; at += step) {
            size_t n = sizeof(body) - 1 - at < step ? sizeof(body) - 1 - at : step;

            assert_false(multipart_is_complete(&multipart));
            assert_int_equal(multipart_feed(&multipart, body + at, n, &target, &err), 0);
        }
        assert_true(multipart_is_complete(&multipart));
        assert_string_equal(out.text, "<a:one><:><:-><b c:two>");
    }
}

/* A boundary of n characters. */
static int init_with_boundary(size_t n)
{
    CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_append(&text, "multipart/form-data; boundary=");
    for (size_t i = 0; i < n; i++)
        strbuf_append_char(&text, 'b');
    return multipart_init(&multipart, text.text, "file", &err);
}

static void boundary_has_seventy_characters_at_most(void **state)
{
    (void)state;
    assert_int_equal(init_with_boundary(1), 0);
    assert_int_equal(init_with_boundary(70), 0);
    assert_int_equal(init_with_boundary(71), -1);
    assert_int_equal(init_with_boundary(5000), -1);
    multipart_done(NULL);
}

static void only_the_first_part_of_that_name_is_the_field(void **state)
{
    static const char body[] =
        "--b1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\none\r\n"
        "--b1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b\"\r\n\r\ntwo\r\n"
        "--b1--";
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    assert_true(parse(body, sizeof(body) - 1, sizeof(body), &out));
    assert_string_equal(out.text, "one");
}

/* The name of the file in a part with these headers. */
static void read_filename_of(const char *headers, struct strbuf *name_out)
{
    CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct multipart_target target = {.state = &out, .take = collect};
    struct error err = ERROR_INIT;

    strbuf_appendf(&body, "--b1\r\n%s\r\n\r\nx\r\n--b1--", headers);
    assert_int_equal(multipart_init(&multipart, type, "file", &err), 0);
    assert_int_equal(multipart_feed(&multipart, body.text, body.len, &target, &err), 0);
    assert_true(multipart_is_complete(&multipart));
    strbuf_append(name_out, multipart.filename.text);
}

#define DISPOSITION "Content-Disposition: form-data; name=\"file\""

static void file_name_is_that_of_the_field(void **state)
{
    static const struct {
        const char *headers;
        const char *name;
    } cases[] = {
        {DISPOSITION, ""},
        {DISPOSITION "; filename=\"a b.txt\"", "a b.txt"},
        {DISPOSITION "; FILENAME=\"a.txt\"; x=y", "a.txt"},
        {DISPOSITION "; filename=a.txt", "a.txt"},
        {DISPOSITION "; filename=a.txt\r\nX: \"y\"", "a.txt"},
        {DISPOSITION "; filename*=UTF-8''a%20%C3%A4+.txt", "a \xc3\xa4+.txt"},
        {DISPOSITION "; filename=\"no.txt\"; filename*=utf-8'en'yes.txt; x=y", "yes.txt"},
        {DISPOSITION "; filename*=none; filename=\"no.txt\"", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

        read_filename_of(cases[i].headers, &name);
        assert_string_equal(name.text, cases[i].name);
    }
}

/* Which part is the field. */
static void name_is_read_from_its_header_alone(void **state)
{
    static const struct {
        const char *headers;
        bool is_field;
    } cases[] = {
        {"Content-Disposition: form-data; name=\"file\"", true},
        {"CONTENT-DISPOSITION:form-data;NAME=file", true},
        {"Content-Disposition: form-data;\tname=file; x=y", true},
        {"X: y\r\nContent-Disposition: form-data; name=file", true},
        {"Content-Disposition: form-data; name=\"files\"", false},
        {"Content-Disposition: form-data; name=\"fil\"", false},
        {"Content-Disposition: form-data; filename=\"file\"", false},
        {"Content-Disposition: form-data\r\nX: y; name=file", false},
        {"X: y; name=file", false},
        {"Content-Disposition: form-data; name=\"file", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

        strbuf_appendf(&body, "--b1\r\n%s\r\n\r\nx\r\n--b1--", cases[i].headers);
        if (parse(body.text, body.len, body.len, &out) != cases[i].is_field)
            fail_msg("%s", cases[i].headers);
        assert_string_equal(out.text, cases[i].is_field ? "x" : "");
    }
}

static void malformed_bodies_are_refused(void **state)
{
    static const struct {
        const char *body;
        const char *message;
    } cases[] = {
        {"--b1xx", "the multipart body is malformed"},
        {"--b1\r\nX: y\r\n--b1\r\n\r\n", "a part's headers are not terminated"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        const struct multipart_target target = {.state = &out, .take = collect};
        struct error err = ERROR_INIT;

        assert_int_equal(multipart_init(&multipart, type, "file", &err), 0);
        assert_int_equal(
            multipart_feed(&multipart, cases[i].body, strlen(cases[i].body), &target, &err), -1);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static int refuse_bytes(void *state, const char *bytes, size_t len, struct error *err)
{
    (void)state;
    (void)bytes;
    (void)len;
    return error_set(err, ERROR_TOO_LARGE, "full");
}

static int refuse_name(void *state, const char *name, struct error *err)
{
    (void)state;
    return error_set(err, ERROR_CONFLICT, "no %s", name);
}

static int refuse_end(void *state, struct error *err)
{
    (void)state;
    return error_set(err, ERROR_TIMEOUT, "late");
}

static void error_of_the_target_ends_it(void **state)
{
    static const char body[] =
        "--b1\r\nContent-Disposition: form-data; name=file\r\n\r\nx\r\n--b1--";
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct {
        struct multipart_target target;
        const char *message;
    } cases[] = {
        {{&out, append_name, append_end, refuse_bytes}, "full"},
        {{&out, refuse_name, append_end, collect}, "no file"},
        {{&out, append_name, refuse_end, collect}, "late"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(multipart_done) struct multipart multipart = {.pending = STRBUF_INIT};
        struct error err = ERROR_INIT;

        assert_int_equal(multipart_init(&multipart, type, NULL, &err), 0);
        assert_int_equal(multipart_feed(&multipart, body, sizeof(body) - 1, &cases[i].target, &err),
                         -1);
        assert_string_equal(err.message, cases[i].message);
    }
}

int multipart_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_field_is_found_in_pieces_of_any_size),
        cmocka_unit_test(empty_fields_and_missing_ends_are_told_apart),
        cmocka_unit_test(other_content_types_are_refused),
        cmocka_unit_test(endless_headers_are_refused),
        cmocka_unit_test(all_parts_are_passed_on_in_order),
        cmocka_unit_test(boundary_has_seventy_characters_at_most),
        cmocka_unit_test(only_the_first_part_of_that_name_is_the_field),
        cmocka_unit_test(file_name_is_that_of_the_field),
        cmocka_unit_test(name_is_read_from_its_header_alone),
        cmocka_unit_test(malformed_bodies_are_refused),
        cmocka_unit_test(error_of_the_target_ends_it),
    };

    return cmocka_run_group_tests_name("multipart", tests, NULL, NULL);
}

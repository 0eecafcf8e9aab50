#include "runtime/build/build_context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <zlib.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/build/dockerfile.h"
#include "unit/runtime/runtime_test.h"

#define FILE_OF_ALLOWED "FROM docker.io/a/b\n"
#define FILE_OF_EVIL "FROM 127.0.0.1:1/x\n"
#define BLOCK 512
#define MOST 1000000

/* An entry as an attacker may write it. */
struct entry {
    const char *name;
    char type;
    const char *bytes;
    const char *prefix;
    const char *magic; /* NULL: ustar */
};

static void append_entry(struct strbuf *tar, const struct entry *entry)
{
    char header[BLOCK] = {0};
    const char *bytes = entry->bytes != NULL ? entry->bytes : "";
    size_t len = strlen(bytes);
    const char *magic = entry->magic != NULL ? entry->magic : "ustar";

    (void)snprintf(header, 100, "%s", entry->name);
    (void)snprintf(header + 124, 12, "%011o", (unsigned)len);
    header[156] = entry->type;
    (void)snprintf(header + 257, 8, "%s", magic);
    if (entry->prefix != NULL)
        (void)snprintf(header + 345, 155, "%s", entry->prefix);
    strbuf_append_bytes(tar, header, BLOCK);
    strbuf_append_bytes(tar, bytes, len);
    while (tar->len % BLOCK != 0)
        strbuf_append_bytes(tar, "", 1);
}

static void compress_to(const struct strbuf *tar, struct strbuf *out)
{
    char packed[65536];
    z_stream stream = {.next_in = (unsigned char *)tar->text, .avail_in = (unsigned)tar->len};

    stream.next_out = (unsigned char *)packed;
    stream.avail_out = sizeof(packed);
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    strbuf_append_bytes(out, packed, sizeof(packed) - stream.avail_out);
    (void)deflateEnd(&stream);
}

/* The images of an archive of these entries, which end with no name; NULL: refused. */
static json_t *list(const struct entry *entries, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf tar = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    char end[2 * BLOCK] = {0};
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;

    for (; entries->name != NULL; entries++)
        append_entry(&tar, entries);
    strbuf_append_bytes(&tar, end, sizeof(end));
    compress_to(&tar, &context);
    if (build_context_list_images(&context, MOST, &images, err) < 0)
        return NULL;
    return json_incref(images.bases);
}

#define ENTRIES(...) ((const struct entry[]){__VA_ARGS__, {.name = NULL}})

static void the_file_at_the_root_counts(void **state)
{
    const struct entry *const archives[] = {
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"./Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"Dockerfile", '\0', FILE_OF_ALLOWED, .magic = ""}),
        ENTRIES({"a/", '5', NULL, NULL, NULL}, {"a/Dockerfile", '0', FILE_OF_EVIL, NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}, {"b", '2', NULL, NULL, NULL}),
        ENTRIES({"x", 'x', "19 path=Dockerfile\n", NULL, NULL},
                {"short", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"x", 'x', "12 mtime=12\n19 path=Dockerfile\n14 comment=ab\n", NULL, NULL},
                {"short", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"x", 'x', "12 mtime=12\n", NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"g", 'g', "12 comment=\n", NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"././@LongLink", 'L', "Dockerfile", NULL, NULL},
                {"short", '0', FILE_OF_ALLOWED, NULL, NULL}),
        /* A long name is that of the next entry alone. */
        ENTRIES({"././@LongLink", 'L', "other", NULL, NULL}, {"short", '0', "", NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"x", 'x', "19 path=Dockerfile\n", NULL, NULL},
                {"short", '0', FILE_OF_ALLOWED, NULL, NULL}, {"b", '0', "", NULL, NULL}),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(archives); i++) {
        struct error err = ERROR_INIT;
        json_auto_t *images = list(archives[i], &err);

        if (json_array_size(images) != 1)
            fail_msg("%zu: %s", i, err.message);
        assert_string_equal(json_string_value(json_array_get(images, 0)), "docker.io/a/b");
    }
}

static void another_file_cannot_take_its_place(void **state)
{
    const struct entry *const archives[] = {
        ENTRIES({"a", '0', "no such file", NULL, NULL}),
        ENTRIES({"a/Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"dockerfile", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"Dockerfile", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"./a/..//Dockerfile", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"/Dockerfile", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"../Dockerfile", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"Dockerfile", '2', NULL, NULL, NULL}, {"a", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"Dockerfile", '1', NULL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"Dockerfile", '5', NULL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}, {"a", '2', NULL, NULL, NULL},
                {"a/Dockerfile", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"a/b/Dockerfile", '0', FILE_OF_EVIL, NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}, {"a", '2', NULL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"x", 'x', "19 path=Dockerfile\n", NULL, NULL},
                {"b", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"l", 'L', "Dockerfile", NULL, NULL}, {"b", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"g", 'g', "19 path=Dockerfile\n", NULL, NULL},
                {"b", '0', FILE_OF_EVIL, NULL, NULL}),
        ENTRIES({"x", 'x', "19 path=Dockerfile\n", NULL, NULL}, {"l", 'L', "other", NULL, NULL},
                {"b", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"x", 'x', "10 size=1\n", NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"x", 'x', "22 GNU.sparse.major=1\n", NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"x", 'x', "99 path=Dockerfile\n", NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {".wh.Dockerfile", '0', "", NULL, NULL}),
        ENTRIES({"Dockerfile", 'S', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"Dockerfile", '7', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                {"a", '2', "bytes of a link", NULL, NULL}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, .prefix = "p", .magic = "ustar  "}),
        ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, .prefix = "p"}),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(archives); i++) {
        struct error err = ERROR_INIT;
        json_auto_t *images = list(archives[i], &err);

        if (images != NULL)
            fail_msg("%zu passed", i);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void what_is_cut_off_or_goes_on_is_refused(void **state)
{
    struct error err = ERROR_INIT;
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    const struct entry entry = {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL};

    (void)state;
    for (size_t cut = 1; cut < 2 * BLOCK; cut += 100) {
        CLEANUP(strbuf_done) struct strbuf tar = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;

        append_entry(&tar, &entry);
        strbuf_truncate(&tar, tar.len - cut);
        compress_to(&tar, &context);
        assert_int_equal(build_context_list_images(&context, MOST, &images, &err), -1);
    }
    {
        CLEANUP(strbuf_done) struct strbuf tar = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
        char end[BLOCK] = {0};

        append_entry(&tar, &entry);
        strbuf_append_bytes(&tar, end, sizeof(end));
        append_entry(&tar, &entry);
        compress_to(&tar, &context);
        assert_int_equal(build_context_list_images(&context, MOST, &images, &err), -1);
        assert_int_equal(build_context_list_images(&context, BLOCK, &images, &err), -1);
        assert_int_equal(err.code, ERROR_TOO_LARGE);
    }
}

/* Each refusal has its reason. */
static void refusals_say_why(void **state)
{
    const struct {
        const struct entry *entries;
        const char *message;
    } cases[] = {
        {ENTRIES({"a", '0', "", NULL, NULL}), "context: has no Dockerfile"},
        {ENTRIES({".wh.a", '0', "", NULL, NULL}), "context: has files that delete others"},
        {ENTRIES({"DOCKERFILE", '0', "", NULL, NULL}),
         "context: its Dockerfile is spelt differently"},
        {ENTRIES({"Dockerfile", '2', NULL, NULL, NULL}),
         "context: its Dockerfile is not a regular file"},
        {ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                 {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
         "context: has two files Dockerfile"},
        {ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}, {"a", '2', NULL, NULL, NULL},
                 {"a/b", '0', "", NULL, NULL}),
         "context: has files below a link"},
        {ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}, {"a", '1', NULL, NULL, NULL},
                 {"a/b/c", '0', "", NULL, NULL}),
         "context: has files below a link"},
        {ENTRIES({"a", '6', "x", NULL, NULL}), "context: has a link or a folder with content"},
        {ENTRIES({"a", '1', "x", NULL, NULL}), "context: has a link or a folder with content"},
        {ENTRIES({"a", '7', "", NULL, NULL}), "context: has an entry of an unknown kind"},
        {ENTRIES({"a", '/', "", NULL, NULL}), "context: has an entry of an unknown kind"},
        {ENTRIES({"\xff", '0', "", NULL, NULL}),
         "context: has a file name that is too long or not UTF-8"},
        {ENTRIES({"a", '0', "", .prefix = "p", .magic = "ustar  "}),
         "context: has an unsupported tar format; use ustar or pax"},
        {ENTRIES({"x", 'x', "10 size=1\n", NULL, NULL}), "context: has sparse or very large files"},
        {ENTRIES({"x", 'x', "19 path=Dockerfile ", NULL, NULL}),
         "context: has an invalid extended header"},
        {ENTRIES({"x", 'x', "19path=Dockerfile1\n", NULL, NULL}),
         "context: has an invalid extended header"},
        {ENTRIES({"x", 'x', "2 \n", NULL, NULL}), "context: has an invalid extended header"},
        {ENTRIES({"x", 'x', "a path=b\n", NULL, NULL}), "context: has an invalid extended header"},
        {ENTRIES({"x", 'x', "0000019 path=Dockerf\n", NULL, NULL}),
         "context: has an invalid extended header"},
        {ENTRIES({"x", 'x', "8 path=\n", NULL, NULL}), "context: has a file with two names"},
        {ENTRIES({"g", 'g', "9 path=a\n", NULL, NULL}), "context: has a file with two names"},
        {ENTRIES({"l", 'L', "a", NULL, NULL}, {"l", 'L', "b", NULL, NULL}),
         "context: has a file with two names"},
        {ENTRIES({"l", 'L', "", NULL, NULL}, {"a", '0', "", NULL, NULL}),
         "context: has no Dockerfile"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        json_auto_t *images = list(cases[i].entries, &err);

        assert_null(images);
        assert_string_equal(err.message, cases[i].message);
    }
}

/* An entry whose header holds exactly these bytes at an offset. */
static void assert_patched(size_t at, const char *bytes, size_t len, const char *message)
{
    const struct entry entry = {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL};
    CLEANUP(strbuf_done) struct strbuf tar = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(dockerfile_images_done) struct dockerfile_images images = DOCKERFILE_IMAGES_INIT;
    struct error err = ERROR_INIT;
    int rc = 0;

    append_entry(&tar, &entry);
    memcpy(tar.text + at, bytes, len);
    compress_to(&tar, &context);
    rc = build_context_list_images(&context, MOST, &images, &err);
    if (message != NULL)
        assert_string_equal(err.message, message);
    assert_int_equal(rc, message != NULL ? -1 : 0);
    assert_int_equal(json_array_size(images.bases), message != NULL ? 0 : 1);
}

static void size_is_octal_between_blanks(void **state)
{
    static const char bad[] = "context: has an entry with an invalid size";

    (void)state;
    assert_int_equal(strlen(FILE_OF_ALLOWED), 023);
    assert_patched(124, "          23", 12, NULL);
    assert_patched(124, "23 \0        ", 12, NULL);
    assert_patched(124, "\0\0 000023\0 \0", 12, NULL);
    assert_patched(124, "00000000028\0", 12, bad);
    assert_patched(124, "0000000002/\0", 12, bad);
    assert_patched(124, "2 3         ", 12, bad);
    assert_patched(124, "\x80\0\0\0\0\0\0\0\0\0\0\023", 12, bad);
    assert_patched(508, "tar", 3, "context: has an unsupported tar format; use ustar or pax");
    /* Two blocks of content, of which one is there. */
    assert_patched(124, "00000001001\0", 12, "context: is truncated");
}

/* Up to 4096 bytes, by the two parts of a header or by an extended one. */
static void names_have_a_length(void **state)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *most = NULL;
    json_auto_t *more = NULL;

    (void)state;
    for (int i = 0; i < 4096; i++)
        strbuf_append_char(&name, 'a');
    most = list(ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                        {"l", 'L', name.text, NULL, NULL}, {"b", '0', "", NULL, NULL}),
                &err);
    assert_int_equal(json_array_size(most), 1);
    strbuf_append_char(&name, 'a');
    more = list(ENTRIES({"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL},
                        {"l", 'L', name.text, NULL, NULL}, {"b", '0', "", NULL, NULL}),
                &err);
    assert_null(more);
    assert_string_equal(err.message, "context: has a file name that is too long or not UTF-8");
}

static void headers_and_dockerfiles_have_a_size(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;
    json_auto_t *ignored = NULL;
    json_auto_t *large_link = NULL;
    json_auto_t *large_file = NULL;

    (void)state;
    for (size_t i = 0; i < 64UL * 1024; i++)
        strbuf_append_char(&text, 'a');
    ignored = list(ENTRIES({"K", 'K', text.text, NULL, NULL},
                           {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
                   &err);
    assert_int_equal(json_array_size(ignored), 1);
    strbuf_append_char(&text, 'a');
    large_link = list(ENTRIES({"K", 'K', text.text, NULL, NULL},
                              {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
                      &err);
    assert_null(large_link);
    assert_string_equal(err.message, "context: has an extended header that is too large");
    while (text.len <= DOCKERFILE_MAX_BYTES)
        strbuf_append(&text, "aaaaaaaa");
    large_file = list(ENTRIES({"Dockerfile", '0', text.text, NULL, NULL}), &err);
    assert_null(large_file);
    assert_string_equal(err.message, "context: its Dockerfile is too large");
}

/* A file that fills its blocks has no padding. */
static void content_may_fill_its_blocks(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    strbuf_append(&text, FILE_OF_ALLOWED);
    while (text.len < 3 * BLOCK) {
        json_auto_t *images = NULL;

        strbuf_append_char(&text, '#');
        if (text.len % BLOCK > 1 && text.len % BLOCK < BLOCK - 1)
            continue;
        images = list(ENTRIES({"Dockerfile", '0', text.text, NULL, NULL}), &err);
        if (json_array_size(images) != 1)
            fail_msg("%zu: %s", text.len, err.message);
    }
}

int test_build_context(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_at_the_root_counts),
        cmocka_unit_test(another_file_cannot_take_its_place),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(size_is_octal_between_blanks),
        cmocka_unit_test(names_have_a_length),
        cmocka_unit_test(headers_and_dockerfiles_have_a_size),
        cmocka_unit_test(content_may_fill_its_blocks),
        cmocka_unit_test(what_is_cut_off_or_goes_on_is_refused),
    };

    return cmocka_run_group_tests_name("runtime/build_context", tests, NULL, NULL);
}

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
        ENTRIES({"x", 'x', "12 mtime=12\n", NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"g", 'g', "12 comment=\n", NULL, NULL},
                {"Dockerfile", '0', FILE_OF_ALLOWED, NULL, NULL}),
        ENTRIES({"././@LongLink", 'L', "Dockerfile", NULL, NULL},
                {"short", '0', FILE_OF_ALLOWED, NULL, NULL}),
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

int test_build_context(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_at_the_root_counts),
        cmocka_unit_test(another_file_cannot_take_its_place),
        cmocka_unit_test(what_is_cut_off_or_goes_on_is_refused),
    };

    return cmocka_run_group_tests_name("runtime/build_context", tests, NULL, NULL);
}

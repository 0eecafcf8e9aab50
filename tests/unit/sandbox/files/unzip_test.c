/*
 * Archives whose numbers are wrong, or lead out of the bytes that there are.
 */
#include "sandbox/files/unzip.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "unit/sandbox/sandbox_test.h"

enum { LOCAL_BYTES = 30, STORED = 0, DEFLATED = 8, HELLO_CRC = 0x3610A686 };

#define FULL_32 0xFFFFFFFFU
#define NAME "a.txt"
/* Where the data of the one file begins. */
#define DATA_AT (LOCAL_BYTES + strlen(NAME))

static const char hello[] = "hello";
static const char deflated_hello[] = "\xcb\x48\xcd\xc9\xc9\x07";

/* The archive's entry of its only file. */
struct said {
    const char *name;
    unsigned method;
    unsigned flags;
    uint32_t crc;
    uint64_t packed;
    uint64_t size;
    uint64_t at; /* of the file */
    unsigned mode;
    uint64_t n;          /* of files */
    uint64_t far;        /* of the long end record; 0: there is none */
    uint64_t directory;  /* as the long end record has it; 0: there is none */
    const char *comment; /* of the file; NULL: none */
};

static struct said say_hello(unsigned method)
{
    return (struct said){.name = NAME,
                         .method = method,
                         .crc = HELLO_CRC,
                         .packed = method == STORED ? 5 : sizeof(deflated_hello),
                         .size = 5,
                         .mode = 0644,
                         .n = 1};
}

static void put(struct strbuf *out, uint64_t number, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        strbuf_append_char(out, (char)(number >> 8 * i));
}

static void put_local(struct strbuf *out, const struct said *said)
{
    strbuf_append(out, "PK\3\4");
    put(out, 20, 2);
    put(out, said->flags, 2);
    put(out, said->method, 2);
    put(out, 0, 4);
    put(out, said->crc, 4);
    put(out, said->packed, 4);
    put(out, said->size, 4);
    put(out, strlen(said->name), 2);
    put(out, 0, 2);
    strbuf_append(out, said->name);
    if (said->method == STORED)
        strbuf_append(out, hello);
    else
        strbuf_append_bytes(out, deflated_hello, sizeof(deflated_hello));
}

/* All numbers are in the extra field, as in archives of more than 4 GiB. */
static void put_entry(struct strbuf *out, const struct said *said)
{
    strbuf_append(out, "PK\1\2");
    put(out, 0x031E, 2);
    put(out, 45, 2);
    put(out, said->flags, 2);
    put(out, said->method, 2);
    put(out, 0, 4);
    put(out, said->crc, 4);
    put(out, FULL_32, 4);
    put(out, FULL_32, 4);
    put(out, strlen(said->name), 2);
    put(out, 28, 2);
    put(out, said->comment != NULL ? strlen(said->comment) : 0, 2);
    put(out, 0, 4);
    put(out, (uint64_t)said->mode << 16, 4);
    put(out, FULL_32, 4);
    strbuf_append(out, said->name);
    put(out, 1, 2);
    put(out, 24, 2);
    put(out, said->size, 8);
    put(out, said->packed, 8);
    put(out, said->at, 8);
    strbuf_append(out, said->comment != NULL ? said->comment : "");
}

static void put_end(struct strbuf *out, const struct said *said, size_t directory)
{
    size_t len = out->len - directory;

    if (said->far != 0) {
        strbuf_append(out, "PK\6\7");
        put(out, 0, 4);
        put(out, said->far, 8);
        put(out, 1, 4);
    }
    strbuf_append(out, "PK\5\6");
    put(out, 0, 4);
    put(out, said->n, 2);
    put(out, said->n, 2);
    put(out, len, 4);
    put(out, said->far != 0 ? FULL_32 : directory, 4);
    put(out, 0, 2);
}

/* The long end record; all but its signature, number and directory is ignored. */
static void put_far_end(struct strbuf *out, const struct said *said)
{
    strbuf_append(out, "PK\6\6");
    put(out, 0, 8);
    put(out, 0, 8);
    put(out, 0, 4);
    put(out, 0, 8);
    put(out, said->n, 8);
    put(out, 0, 8);
    put(out, said->directory, 8);
}

static void put_archive(struct strbuf *out, const struct said *said)
{
    struct said all = *said;
    size_t directory = 0;

    put_local(out, said);
    directory = out->len;
    put_entry(out, said);
    if (said->directory != 0) {
        all.far = out->len;
        put_far_end(out, said);
    }
    put_end(out, &all, directory);
}

struct folder {
    char path[32];
    char inside[40]; /* what is unpacked goes there */
    char file[48];
};

static int make_folder(void **state)
{
    struct folder *folder = NEW(struct folder);

    memcpy(folder->path, "/tmp/deft-unzip-XXXXXX", sizeof("/tmp/deft-unzip-XXXXXX"));
    assert_non_null(mkdtemp(folder->path));
    (void)snprintf(folder->inside, sizeof(folder->inside), "%s/in", folder->path);
    (void)snprintf(folder->file, sizeof(folder->file), "%s/" NAME, folder->inside);
    assert_int_equal(mkdir(folder->inside, 0700), 0);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;

    (void)unlink(folder->file);
    (void)rmdir(folder->inside);
    assert_int_equal(rmdir(folder->path), 0);
    mem_free(folder);
    return 0;
}

static enum error_code unpack(const struct folder *folder, const char *bytes, size_t len)
{
    CLEANUP(fd_close) int fd = memfd_create("archive", MFD_CLOEXEC);
    struct error err = ERROR_INIT;

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes, len, &err), 0);
    if (unzip_into(fd, folder->inside, &err) < 0)
        return err.code;
    return ERROR_NONE;
}

static enum error_code unpack_said(const struct folder *folder, const struct said *said)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;

    put_archive(&archive, said);
    return unpack(folder, archive.text, archive.len);
}

static void assert_hello(const struct folder *folder, mode_t mode)
{
    CLEANUP(fd_close) int fd = open(folder->file, O_RDONLY | O_CLOEXEC);
    char bytes[16] = "";
    struct stat info = {.st_mode = 0};

    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), 5);
    assert_memory_equal(bytes, hello, 5);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_mode & S_IXUSR, mode & S_IXUSR);
    assert_int_equal(unlink(folder->file), 0);
}

static void stored_and_deflated_files_are_unpacked(void **state)
{
    static const unsigned methods[] = {STORED, DEFLATED};

    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        struct said said = say_hello(methods[i]);

        assert_int_equal(unpack_said(*state, &said), ERROR_NONE);
        assert_hello(*state, 0);
        said.mode = 0755;
        assert_int_equal(unpack_said(*state, &said), ERROR_NONE);
        assert_hello(*state, 0755);
    }
}

/* The long end record has the true place of the directory. */
static void long_end_record_is_read(void **state)
{
    struct said said = say_hello(STORED);

    said.directory = DATA_AT + strlen(hello);
    assert_int_equal(unpack_said(*state, &said), ERROR_NONE);
    assert_hello(*state, 0);
    said.directory++;
    assert_int_equal(unpack_said(*state, &said), ERROR_INVALID);
}

/* An archive of two files, of which the first has a comment; a comment of the whole follows. */
static void files_after_a_comment_are_found(void **state)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;
    struct said first = say_hello(STORED);
    struct said second = say_hello(DEFLATED);
    size_t directory = 0;

    first.name = "x/";
    first.comment = "a comment";
    first.packed = 0;
    first.size = 0;
    put_local(&archive, &first);
    second.at = archive.len;
    second.n = 2;
    put_local(&archive, &second);
    directory = archive.len;
    put_entry(&archive, &first);
    put_entry(&archive, &second);
    put_end(&archive, &second, directory);
    archive.text[archive.len - 2] = 9;
    strbuf_append(&archive, "PK\5\6 end.");
    assert_int_equal(unpack(*state, archive.text, archive.len), ERROR_NONE);
    assert_hello(*state, 0);
    {
        struct folder *folder = *state;
        CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;

        strbuf_appendf(&inner, "%s/x", folder->inside);
        assert_int_equal(rmdir(inner.text), 0);
    }
}

/* A sum of two of them is small again: it must not be taken for a place in the archive. */
static void numbers_that_overflow_are_refused(void **state)
{
    const uint64_t packed[] = {UINT64_MAX, UINT64_MAX - DATA_AT, UINT64_MAX - DATA_AT + 1,
                               UINT64_MAX - DATA_AT + 2, UINT64_MAX / 2};
    const uint64_t places[] = {UINT64_MAX, UINT64_MAX - LOCAL_BYTES + 1, UINT64_MAX - LOCAL_BYTES};
    struct said said = say_hello(DEFLATED);

    for (size_t i = 0; i < ARRAY_SIZE(packed); i++) {
        said.packed = packed[i];
        assert_int_equal(unpack_said(*state, &said), ERROR_INVALID);
    }
    said = say_hello(DEFLATED);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        said.at = places[i];
        assert_int_equal(unpack_said(*state, &said), ERROR_INVALID);
    }
    said = say_hello(DEFLATED);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        said.far = places[i];
        assert_int_equal(unpack_said(*state, &said), ERROR_INVALID);
    }
    said = say_hello(DEFLATED);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        said.directory = places[i];
        assert_int_equal(unpack_said(*state, &said), ERROR_INVALID);
    }
}

static void numbers_that_contradict_the_data_are_refused(void **state)
{
    static const unsigned methods[] = {STORED, DEFLATED};

    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        const struct said right = say_hello(methods[i]);
        struct said wrong[] = {right, right, right, right, right, right, right};

        wrong[0].size = 4;
        wrong[1].size = 6;
        wrong[2].crc ^= 1;
        wrong[3].flags = 1;
        wrong[4].method = 12;
        wrong[5].packed = right.packed - 1;
        wrong[6].n = 2;
        for (size_t j = 0; j < ARRAY_SIZE(wrong); j++) {
            if (unpack_said(*state, &wrong[j]) != ERROR_INVALID)
                fail_msg("method %u, case %zu", methods[i], j);
        }
    }
}

static void archive_that_unpacks_to_too_much_is_refused(void **state)
{
    struct said said = say_hello(DEFLATED);

    said.size = (UINT64_C(8) << 30) + 1;
    assert_int_equal(unpack_said(*state, &said), ERROR_TOO_LARGE);
    said.size = UINT64_MAX;
    assert_int_equal(unpack_said(*state, &said), ERROR_TOO_LARGE);
}

static void archive_that_is_cut_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf archive = STRBUF_INIT;
    const struct said said = say_hello(STORED);

    put_archive(&archive, &said);
    for (size_t len = 0; len < archive.len; len++)
        assert_int_equal(unpack(*state, archive.text, len), ERROR_INVALID);
    assert_int_equal(unpack(*state, archive.text, archive.len), ERROR_NONE);
}

static void names_that_lead_out_are_refused(void **state)
{
    static const char *const names[] = {"../out", "/tmp/out", "x/../../out", "..", "x/..", ""};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct said said = say_hello(STORED);

        said.name = names[i];
        if (unpack_said(*state, &said) != ERROR_INVALID)
            fail_msg("%s", names[i]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int unzip_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stored_and_deflated_files_are_unpacked),
        TEST(long_end_record_is_read),
        TEST(files_after_a_comment_are_found),
        TEST(numbers_that_overflow_are_refused),
        TEST(numbers_that_contradict_the_data_are_refused),
        TEST(archive_that_unpacks_to_too_much_is_refused),
        TEST(archive_that_is_cut_is_refused),
        TEST(names_that_lead_out_are_refused),
    };

    return cmocka_run_group_tests_name("sandbox/unzip", tests, NULL, NULL);
}

#include "sandbox/files/unzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/textfile.h"
#include "sandbox/http/path_scope.h"

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    MAX_COMMENT_BYTES = 65535,
    ZIP64_EXTRA = 0x0001,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    IS_ENCRYPTED = 0x0001,
    MADE_BY_UNIX = 3,
    MODE_EXECUTE = 0111,
    MODE_DIRECTORY = 0777,
    MODE_FILE = 0666,
    CHUNK_BYTES = 64 * 1024,
    MAX_ENTRIES = 500000,
};

#define SIGNATURE_END 0x06054B50U
#define SIGNATURE_END64 0x06064B50U
#define SIGNATURE_LOCATOR 0x07064B50U
#define SIGNATURE_ENTRY 0x02014B50U
#define SIGNATURE_LOCAL 0x04034B50U
#define FULL_16 0xFFFFU
#define FULL_32 0xFFFFFFFFU
#define MAX_UNPACKED_BYTES (INT64_C(8) << 30)

struct archive {
    const unsigned char *bytes;
    size_t len;
};

struct unpacking {
    struct archive archive;
    const char *folder;
    int64_t left_bytes;
};

/* One file of the archive, as listed in its directory. */
struct zip_entry {
    const char *name;
    size_t name_len;
    unsigned method;
    unsigned flags;
    unsigned mode; /* 0: unknown */
    uint32_t crc;
    uint64_t packed;
    uint64_t size;
    uint64_t at;
};

static uint64_t number_at(const unsigned char *bytes, int n_bytes)
{
    uint64_t number = 0;

    for (int i = n_bytes - 1; i >= 0; i--)
        number = number << 8U | bytes[i];
    return number;
}

static bool has_room(const struct archive *archive, uint64_t at, uint64_t len)
{
    return at <= archive->len && len <= archive->len - at;
}

static void archive_done(struct archive *archive)
{
    if (archive->bytes != NULL)
        (void)munmap((void *)(uintptr_t)archive->bytes, archive->len);
}

static int broken(struct error *err)
{
    return error_set(err, ERROR_INVALID, "the file is not a zip archive, or is damaged");
}

/* Finds the end record of the directory, searching backwards: a comment may follow it. */
static int find_end(const struct archive *archive, size_t *at_out, struct error *err)
{
    size_t least = archive->len > END_BYTES + MAX_COMMENT_BYTES
                       ? archive->len - END_BYTES - MAX_COMMENT_BYTES
                       : 0;

    if (archive->len < END_BYTES)
        return broken(err);
    for (size_t at = archive->len - END_BYTES + 1; at > least; at--) {
        if (number_at(archive->bytes + at - 1, 4) != SIGNATURE_END)
            continue;
        *at_out = at - 1;
        return 0;
    }
    return broken(err);
}

/* Finds the directory's offset and number of files. */
static int find_directory(const struct archive *archive, uint64_t *at_out, uint64_t *n_out,
                          struct error *err)
{
    const unsigned char *bytes = archive->bytes;
    size_t end = 0;
    uint64_t far = 0;

    if (find_end(archive, &end, err) < 0)
        return -1;
    *n_out = number_at(bytes + end + 10, 2);
    *at_out = number_at(bytes + end + 16, 4);
    if (*n_out != FULL_16 && *at_out != FULL_32)
        return 0;
    if (end < LOCATOR_BYTES || number_at(bytes + end - LOCATOR_BYTES, 4) != SIGNATURE_LOCATOR)
        return 0;
    far = number_at(bytes + end - LOCATOR_BYTES + 8, 8);
    if (!has_room(archive, far, END64_BYTES) || number_at(bytes + far, 4) != SIGNATURE_END64)
        return broken(err);
    *n_out = number_at(bytes + far + 32, 8);
    *at_out = number_at(bytes + far + 48, 8);
    return 0;
}

static void take_far(const unsigned char **at, size_t *left, uint64_t *number)
{
    if (*number != FULL_32 || *left < 8)
        return;
    *number = number_at(*at, 8);
    *at += 8;
    *left -= 8;
}

/* The zip64 extra field holds the numbers that do not fit in 32 bits, in this order. */
static void read_extra(const unsigned char *extra, size_t len, struct zip_entry *entry)
{
    while (len >= 4) {
        size_t part = (size_t)number_at(extra + 2, 2);
        const unsigned char *at = extra + 4;

        if (part > len - 4)
            return;
        if (number_at(extra, 2) == ZIP64_EXTRA) {
            size_t left = part;

            take_far(&at, &left, &entry->size);
            take_far(&at, &left, &entry->packed);
            take_far(&at, &left, &entry->at);
        }
        extra += 4 + part;
        len -= 4 + part;
    }
}

/* Reads the entry at *at_io and moves that past it. */
static int read_entry(const struct archive *archive, uint64_t *at_io, struct zip_entry *entry,
                      struct error *err)
{
    const unsigned char *bytes = NULL;
    size_t extra = 0;
    size_t comment = 0;

    if (!has_room(archive, *at_io, ENTRY_BYTES))
        return broken(err);
    bytes = archive->bytes + *at_io;
    if (number_at(bytes, 4) != SIGNATURE_ENTRY)
        return broken(err);
    entry->name_len = (size_t)number_at(bytes + 28, 2);
    extra = (size_t)number_at(bytes + 30, 2);
    comment = (size_t)number_at(bytes + 32, 2);
    if (!has_room(archive, *at_io, ENTRY_BYTES + entry->name_len + extra + comment))
        return broken(err);
    entry->name = (const char *)bytes + ENTRY_BYTES;
    entry->flags = (unsigned)number_at(bytes + 8, 2);
    entry->method = (unsigned)number_at(bytes + 10, 2);
    entry->crc = (uint32_t)number_at(bytes + 16, 4);
    entry->packed = number_at(bytes + 20, 4);
    entry->size = number_at(bytes + 24, 4);
    entry->at = number_at(bytes + 42, 4);
    entry->mode = bytes[5] == MADE_BY_UNIX ? (unsigned)number_at(bytes + 40, 2) : 0;
    read_extra(bytes + ENTRY_BYTES + entry->name_len, extra, entry);
    *at_io += ENTRY_BYTES + entry->name_len + extra + comment;
    return 0;
}

/* Finds the entry's data. */
static int find_data(const struct archive *archive, const struct zip_entry *entry,
                     const unsigned char **data_out, struct error *err)
{
    const unsigned char *bytes = NULL;
    uint64_t start = 0;

    if (!has_room(archive, entry->at, LOCAL_BYTES))
        return broken(err);
    bytes = archive->bytes + entry->at;
    if (number_at(bytes, 4) != SIGNATURE_LOCAL)
        return broken(err);
    start = entry->at + LOCAL_BYTES + number_at(bytes + 26, 2) + number_at(bytes + 28, 2);
    if (!has_room(archive, start, entry->packed))
        return broken(err);
    *data_out = archive->bytes + start;
    return 0;
}

/* --- writing --- */

/* Writes a piece; never more than the entry's size. */
static int write_piece(int fd, const unsigned char *bytes, size_t len, uint64_t *left_io,
                       uint32_t *crc_io, struct error *err)
{
    if (len > *left_io)
        return error_set(err, ERROR_INVALID,
                         "a file of the archive is larger than its declared size");
    *left_io -= len;
    *crc_io = (uint32_t)crc32(*crc_io, bytes, (uInt)len);
    return fd_write_all(fd, (const char *)bytes, len, err);
}

static int copy_stored(int fd, const unsigned char *data, const struct zip_entry *entry,
                       uint32_t *crc, struct error *err)
{
    uint64_t left = entry->size;
    uint64_t packed = entry->packed;

    while (packed > 0) {
        size_t len = packed < CHUNK_BYTES ? (size_t)packed : CHUNK_BYTES;

        if (write_piece(fd, data, len, &left, crc, err) < 0)
            return -1;
        data += len;
        packed -= len;
    }
    return left == 0 ? 0 : broken(err);
}

static int inflate_all(z_stream *stream, unsigned char chunk[CHUNK_BYTES], int fd,
                       const struct zip_entry *entry, uint32_t *crc, struct error *err)
{
    uint64_t packed = entry->packed;
    uint64_t left = entry->size;
    int rc = Z_OK;

    while (rc == Z_OK) {
        if (stream->avail_in == 0 && packed > 0) {
            stream->avail_in = packed < CHUNK_BYTES ? (uInt)packed : CHUNK_BYTES;
            packed -= stream->avail_in;
        }
        stream->next_out = chunk;
        stream->avail_out = CHUNK_BYTES;
        rc = inflate(stream, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END)
            return broken(err);
        if (write_piece(fd, chunk, CHUNK_BYTES - stream->avail_out, &left, crc, err) < 0)
            return -1;
    }
    return left == 0 ? 0 : broken(err);
}

static int copy_deflated(int fd, const unsigned char *data, const struct zip_entry *entry,
                         uint32_t *crc, struct error *err)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data};
    unsigned char chunk[CHUNK_BYTES] = {0};
    int rc = 0;

    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return error_set(err, ERROR_UNAVAILABLE, "not enough memory to unpack");
    rc = inflate_all(&stream, chunk, fd, entry, crc, err);
    (void)inflateEnd(&stream);
    return rc;
}

static int copy_data(const struct archive *archive, const struct zip_entry *entry, int fd,
                     struct error *err)
{
    const unsigned char *data = NULL;
    uint32_t crc = 0;
    int rc = 0;

    if ((entry->flags & IS_ENCRYPTED) != 0 ||
        (entry->method != METHOD_STORED && entry->method != METHOD_DEFLATED))
        return error_set(err, ERROR_INVALID, "the archive uses an unsupported compression method");
    if (find_data(archive, entry, &data, err) < 0)
        return -1;
    rc = entry->method == METHOD_STORED ? copy_stored(fd, data, entry, &crc, err)
                                        : copy_deflated(fd, data, entry, &crc, err);
    if (rc == 0 && crc != entry->crc)
        return broken(err);
    return rc;
}

/* A name must be relative, without "..", and existing links in its path must not lead out. */
static int make_path(const struct unpacking *unpacking, const struct zip_entry *entry,
                     struct strbuf *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;

    strbuf_append_char(&inner, '/');
    strbuf_append_bytes(&inner, entry->name, entry->name_len);
    strbuf_append_char(&inner, '/');
    strbuf_appendf(path, "%s/", unpacking->folder);
    strbuf_append_bytes(path, entry->name, entry->name_len);
    if (entry->name_len == 0 || entry->name[0] == '/' ||
        memchr(entry->name, '\0', entry->name_len) != NULL || strstr(inner.text, "/../") != NULL ||
        !path_scope_contains(unpacking->folder, path->text))
        return error_set(err, ERROR_INVALID,
                         "the archive has a name that leads outside the folder");
    return 0;
}

static int unpack_file(const struct unpacking *unpacking, const struct zip_entry *entry,
                       const char *path, struct error *err)
{
    mode_t mode = MODE_FILE | (entry->mode & MODE_EXECUTE);
    CLEANUP(fd_close) int fd = -1;

    if (textfile_make_parents(path, err) < 0)
        return -1;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "writing %s: %m", path);
    return copy_data(&unpacking->archive, entry, fd, err);
}

static int unpack_entry(struct unpacking *unpacking, const struct zip_entry *entry,
                        struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (make_path(unpacking, entry, &path, err) < 0)
        return -1;
    if (entry->size > (uint64_t)unpacking->left_bytes)
        return error_set(err, ERROR_TOO_LARGE, "the archive unpacks to more than %lld bytes",
                         (long long)MAX_UNPACKED_BYTES);
    unpacking->left_bytes -= (int64_t)entry->size;
    if (text_ends_with(path.text, "/"))
        return textfile_make_parents(path.text, err);
    return unpack_file(unpacking, entry, path.text, err);
}

static int unpack_all(struct unpacking *unpacking, struct error *err)
{
    uint64_t at = 0;
    uint64_t n = 0;

    if (find_directory(&unpacking->archive, &at, &n, err) < 0)
        return -1;
    if (n > MAX_ENTRIES)
        return error_set(err, ERROR_TOO_LARGE, "the archive has more than %d files", MAX_ENTRIES);
    for (uint64_t i = 0; i < n; i++) {
        struct zip_entry entry = {.name = NULL};

        if (read_entry(&unpacking->archive, &at, &entry, err) < 0 ||
            unpack_entry(unpacking, &entry, err) < 0)
            return -1;
    }
    return 0;
}

int unzip_into(int archive_fd, const char *folder, struct error *err)
{
    CLEANUP(archive_done) struct archive archive = {NULL, 0};
    struct unpacking unpacking = {.folder = folder, .left_bytes = MAX_UNPACKED_BYTES};
    struct stat info;
    void *bytes = NULL;

    if (fstat(archive_fd, &info) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "reading the archive: %m");
    if (info.st_size < END_BYTES)
        return broken(err);
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, archive_fd, 0);
    if (bytes == MAP_FAILED)
        return error_set(err, ERROR_UNAVAILABLE, "reading the archive: %m");
    archive = (struct archive){bytes, (size_t)info.st_size};
    unpacking.archive = archive;
    return unpack_all(&unpacking, err);
}

#include "base/zip.h"

#include <string.h>

#include <zlib.h>

#include "base/error.h"

enum {
    VERSION_PLAIN = 20,
    VERSION_ZIP64 = 45,
    NAMES_ARE_UTF8 = 0x0800,
    DATE_1980 = 0x0021, /* the first date of the format; events carry their own times */
    MADE_BY_UNIX = 3 << 8,
    MODE_FILE = 0100644,
    ZIP64_EXTRA = 0x0001,
    ZIP64_EXTRA_BYTES = 12,
    ZIP64_END_BYTES = 44, /* after its own length field */
};

#define FULL_16 0xFFFFU
#define FULL_32 0xFFFFFFFFU

static void put(struct strbuf *out, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        strbuf_append_char(out, (char)(unsigned char)(value >> (8 * i)));
}

void zip_done(struct zip *zip)
{
    strbuf_done(&zip->directory);
}

static int send(struct zip *zip, const char *bytes, size_t len, struct error *err)
{
    zip->at += len;
    return len > 0 ? zip->sink.write(zip->sink.state, bytes, len, err) : 0;
}

/* Times, checksum, sizes and name: identical in the local header and in the directory. */
static void put_facts(struct strbuf *out, uint32_t crc, size_t len, const char *name)
{
    put(out, NAMES_ARE_UTF8, 2);
    put(out, 0, 2); /* stored */
    put(out, 0, 2);
    put(out, DATE_1980, 2);
    put(out, crc, 4);
    put(out, len, 4);
    put(out, len, 4);
    put(out, strlen(name), 2);
}

static void note_file(struct zip *zip, uint32_t crc, size_t len, const char *name)
{
    bool is_far = zip->at >= FULL_32;

    put(&zip->directory, 0x02014B50, 4);
    put(&zip->directory, MADE_BY_UNIX | VERSION_ZIP64, 2);
    put(&zip->directory, is_far ? VERSION_ZIP64 : VERSION_PLAIN, 2);
    put_facts(&zip->directory, crc, len, name);
    put(&zip->directory, is_far ? ZIP64_EXTRA_BYTES : 0, 2);
    put(&zip->directory, 0, 2); /* comment */
    put(&zip->directory, 0, 2); /* disk */
    put(&zip->directory, 0, 2); /* text or not */
    put(&zip->directory, (uint64_t)MODE_FILE << 16, 4);
    put(&zip->directory, is_far ? FULL_32 : zip->at, 4);
    strbuf_append(&zip->directory, name);
    if (!is_far)
        return;
    put(&zip->directory, ZIP64_EXTRA, 2);
    put(&zip->directory, 8, 2);
    put(&zip->directory, zip->at, 8);
}

int zip_add(struct zip *zip, const char *name, const char *bytes, size_t len, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
    uint32_t crc = (uint32_t)crc32_z(0, (const unsigned char *)bytes, len);

    if (len >= FULL_32)
        return error_set(err, ERROR_TOO_LARGE, "%s is too large for the archive", name);
    note_file(zip, crc, len, name);
    zip->n_files++;
    put(&head, 0x04034B50, 4);
    put(&head, VERSION_PLAIN, 2);
    put_facts(&head, crc, len, name);
    put(&head, 0, 2); /* extra */
    strbuf_append(&head, name);
    if (send(zip, head.text, head.len, err) < 0)
        return -1;
    return send(zip, bytes, len, err);
}

/* The zip64 end record, for values too large for the short one. */
static void put_zip64_end(const struct zip *zip, struct strbuf *out)
{
    uint64_t end_at = zip->at + zip->directory.len;

    put(out, 0x06064B50, 4);
    put(out, ZIP64_END_BYTES, 8);
    put(out, MADE_BY_UNIX | VERSION_ZIP64, 2);
    put(out, VERSION_ZIP64, 2);
    put(out, 0, 4);
    put(out, 0, 4);
    put(out, zip->n_files, 8);
    put(out, zip->n_files, 8);
    put(out, zip->directory.len, 8);
    put(out, zip->at, 8);
    put(out, 0x07064B50, 4);
    put(out, 0, 4);
    put(out, end_at, 8);
    put(out, 1, 4);
}

static uint64_t at_most(uint64_t value, uint64_t full)
{
    return value < full ? value : full;
}

int zip_finish(struct zip *zip, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf end = STRBUF_INIT;

    if (zip->n_files >= FULL_16 || zip->at >= FULL_32 || zip->directory.len >= FULL_32)
        put_zip64_end(zip, &end);
    put(&end, 0x06054B50, 4);
    put(&end, 0, 2);
    put(&end, 0, 2);
    put(&end, at_most(zip->n_files, FULL_16), 2);
    put(&end, at_most(zip->n_files, FULL_16), 2);
    put(&end, at_most(zip->directory.len, FULL_32), 4);
    put(&end, at_most(zip->at, FULL_32), 4);
    put(&end, 0, 2);
    if (send(zip, zip->directory.text, zip->directory.len, err) < 0)
        return -1;
    return send(zip, end.text, end.len, err);
}

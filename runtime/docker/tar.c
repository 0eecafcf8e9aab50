#include "runtime/docker/tar.h"

#include <assert.h>
#include <string.h>

#include "base/strbuf.h"

#define BLOCK_BYTES 512

struct header {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char rest[247];
};

static_assert(sizeof(struct header) == BLOCK_BYTES, "a tar header is one block");

static const char zeros[2 * BLOCK_BYTES];

static void octal(char *field, size_t width, size_t value)
{
    for (size_t i = width - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
    field[width - 1] = '\0';
}

static void append_header(struct strbuf *out, const struct tar_entry *entry, char type, size_t len)
{
    struct header header = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    unsigned char bytes[BLOCK_BYTES] = {0};
    size_t sum = 0;

    assert(strlen(entry->name) < sizeof(header.name));
    memcpy(header.name, entry->name, strlen(entry->name));
    octal(header.mode, sizeof(header.mode), entry->mode);
    octal(header.uid, sizeof(header.uid), entry->owner);
    octal(header.gid, sizeof(header.gid), entry->group);
    octal(header.size, sizeof(header.size), len);
    octal(header.mtime, sizeof(header.mtime), 0);
    /* The checksum is computed with its own field set to spaces. */
    memset(header.checksum, ' ', sizeof(header.checksum));
    memcpy(bytes, &header, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        sum += bytes[i];
    octal(header.checksum, sizeof(header.checksum) - 1, sum);
    strbuf_append_bytes(out, &header, sizeof(header));
}

void tar_append_directory(struct strbuf *out, const struct tar_entry *entry)
{
    append_header(out, entry, '5', 0);
}

void tar_append_file(struct strbuf *out, const struct tar_entry *entry, const void *bytes,
                     size_t len)
{
    append_header(out, entry, '0', len);
    strbuf_append_bytes(out, bytes, len);
    if (len % BLOCK_BYTES != 0)
        strbuf_append_bytes(out, zeros, BLOCK_BYTES - len % BLOCK_BYTES);
}

void tar_append_end(struct strbuf *out)
{
    strbuf_append_bytes(out, zeros, sizeof(zeros));
}

#include "runtime/build/build_context.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/build/build_form.h"
#include "runtime/build/dockerfile.h"

#define BLOCK_BYTES 512
#define NAME_MAX_BYTES 4096UL
/* Total length of names of links and of non-empty folders. */
#define NAMES_MAX_BYTES (16UL * 1024 * 1024)
#define EXTENDED_MAX_BYTES (64UL * 1024)

#define DOCKERFILE "Dockerfile"

/* Offsets and lengths of header fields. */
enum {
    AT_NAME = 0,
    AT_SIZE = 124,
    AT_TYPE = 156,
    AT_LINK = 157,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
    AT_TRAILER = 508,
    NAME_BYTES = 100,
    SIZE_BYTES = 12,
    PREFIX_BYTES = 155,
};

/* Destination of an entry's data. */
enum purpose { PURPOSE_NONE, PURPOSE_DOCKERFILE, PURPOSE_EXTENDED, PURPOSE_LONG_NAME };

struct context_reader {
    char block[BLOCK_BYTES];
    size_t n_block;
    int64_t n_left; /* of the entry's data, including padding to a block */
    int64_t n_data; /* of the entry's data */
    char type;
    enum purpose purpose;
    struct strbuf data;
    struct strbuf long_name; /* of the next entry; "": use the header's name */
    struct strbuf dockerfile;
    bool has_dockerfile;
    bool is_over;
    json_t *folders; /* non-empty ones: name → true */
    json_t *links;
    size_t n_names;
};

static int refuse(const char *why, struct error *err)
{
    return error_set(err, ERROR_INVALID, "context: %s", why);
}

/* --- names --- */

/* "./a//b/../c" → "a/c"; ".." at the root stays at the root. */
static void clean_name(const char *name, struct strbuf *out)
{
    const char *at = name;

    strbuf_reset(out);
    while (*at != '\0') {
        size_t len = strcspn(at, "/");

        if (len == 2 && memcmp(at, "..", 2) == 0) {
            const char *slash = memrchr(out->text, '/', out->len);

            strbuf_truncate(out, slash != NULL ? (size_t)(slash - out->text) : 0);
        } else if (len > 0 && !(len == 1 && *at == '.')) {
            if (out->len > 0)
                strbuf_append_char(out, '/');
            strbuf_append_bytes(out, at, len);
        }
        at += len + (at[len] == '/');
    }
}

static int note_name(struct context_reader *reader, json_t *names, const char *name,
                     struct error *err)
{
    reader->n_names += strlen(name) + 1;
    if (reader->n_names > NAMES_MAX_BYTES)
        return refuse("has too many files", err);
    json_put(names, name, json_true());
    return 0;
}

/* Adds all parent folders of a name; those of a known folder are known. */
static int note_folders(struct context_reader *reader, const char *name, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;

    strbuf_append(&folder, name);
    for (;;) {
        const char *slash = memrchr(folder.text, '/', folder.len);

        if (slash == NULL)
            return 0;
        strbuf_truncate(&folder, (size_t)(slash - folder.text));
        if (json_object_get(reader->folders, folder.text) != NULL)
            return 0;
        if (note_name(reader, reader->folders, folder.text, err) < 0)
            return -1;
    }
}

/* --- headers --- */

static bool is_zero(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\0')
            return false;
    }
    return true;
}

/* Octal digits, surrounded by blanks and NULs. */
static int read_size(const char *field, int64_t *size_out, struct error *err)
{
    size_t i = 0;
    int64_t size = 0;

    while (i < SIZE_BYTES && (field[i] == ' ' || field[i] == '\0'))
        i++;
    while (i < SIZE_BYTES && field[i] >= '0' && field[i] <= '7')
        size = size * 8 + (field[i++] - '0');
    while (i < SIZE_BYTES && (field[i] == ' ' || field[i] == '\0'))
        i++;
    if (i < SIZE_BYTES)
        return refuse("has an entry with an invalid size", err);
    *size_out = size;
    return 0;
}

static int read_name(struct context_reader *reader, struct strbuf *name, struct error *err)
{
    const char *block = reader->block;
    bool is_posix = memcmp(block + AT_MAGIC, "ustar", 6) == 0;

    if (reader->long_name.len > 0) {
        clean_name(reader->long_name.text, name);
        strbuf_reset(&reader->long_name);
        return 0;
    }
    if (!is_posix && block[AT_PREFIX] != '\0')
        return refuse("has an unsupported tar format; use ustar or pax", err);
    if (is_posix && memcmp(block + AT_TRAILER, "tar", 3) == 0)
        return refuse("has an unsupported tar format; use ustar or pax", err);
    {
        CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT;

        if (is_posix && block[AT_PREFIX] != '\0') {
            strbuf_append_bytes(&raw, block + AT_PREFIX, strnlen(block + AT_PREFIX, PREFIX_BYTES));
            strbuf_append_char(&raw, '/');
        }
        strbuf_append_bytes(&raw, block + AT_NAME, strnlen(block + AT_NAME, NAME_BYTES));
        clean_name(raw.text, name);
    }
    return 0;
}

/* Accepts one regular file "Dockerfile"; refuses other spellings, which engines fall back to. */
static int check_root(struct context_reader *reader, const char *name, char type, struct error *err)
{
    if (text_starts_with(name, ".wh."))
        return refuse("has files that delete others", err);
    if (strcasecmp(name, DOCKERFILE) != 0)
        return 0;
    if (!text_equal(name, DOCKERFILE))
        return refuse("its " DOCKERFILE " is spelt differently", err);
    if (type != '0' && type != '\0')
        return refuse("its " DOCKERFILE " is not a regular file", err);
    if (reader->has_dockerfile)
        return refuse("has two files " DOCKERFILE, err);
    reader->has_dockerfile = true;
    reader->purpose = PURPOSE_DOCKERFILE;
    return 0;
}

static int take_file(struct context_reader *reader, char type, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    if (read_name(reader, &name, err) < 0)
        return -1;
    if (name.len == 0)
        return 0;
    if (name.len > NAME_MAX_BYTES || !utf8_is_valid(name.text, name.len))
        return refuse("has a file name that is too long or not UTF-8", err);
    if (strchr(name.text, '/') == NULL && check_root(reader, name.text, type, err) < 0)
        return -1;
    if ((type == '1' || type == '2') && note_name(reader, reader->links, name.text, err) < 0)
        return -1;
    return note_folders(reader, name.text, err);
}

static bool has_no_data(char type)
{
    return type >= '1' && type <= '6';
}

static int begin_special(struct context_reader *reader, enum purpose purpose, struct error *err)
{
    if (reader->n_data > (int64_t)EXTENDED_MAX_BYTES)
        return refuse("has an extended header that is too large", err);
    reader->purpose = purpose;
    return 0;
}

static int take_header(struct context_reader *reader, struct error *err)
{
    char type = reader->block[AT_TYPE];

    if (is_zero(reader->block, BLOCK_BYTES)) {
        reader->is_over = true;
        return 0;
    }
    if (read_size(reader->block + AT_SIZE, &reader->n_data, err) < 0)
        return -1;
    if (has_no_data(type) && reader->n_data != 0)
        return refuse("has a link or a folder with content", err);
    reader->type = type;
    reader->n_left = (reader->n_data + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    reader->purpose = PURPOSE_NONE;
    strbuf_reset(&reader->data);
    switch (type) {
    case 'x':
    case 'g':
        return begin_special(reader, PURPOSE_EXTENDED, err);
    case 'L':
        return begin_special(reader, PURPOSE_LONG_NAME, err);
    case 'K':
        return begin_special(reader, PURPOSE_NONE, err);
    default:
        if (type != '\0' && (type < '0' || type > '6'))
            return refuse("has an entry of an unknown kind", err);
        return take_file(reader, type, err);
    }
}

/* --- entries --- */

/* A record "key=value" of an extended header: takes names, refuses records that change sizes. */
static int take_record(struct context_reader *reader, const char *record, size_t len,
                       struct error *err)
{
    static const char path[] = "path=";

    if (len >= strlen(path) && memcmp(record, path, strlen(path)) == 0) {
        if (reader->type == 'g' || memchr(record, '\0', len) != NULL || reader->long_name.len > 0 ||
            len == strlen(path))
            return refuse("has a file with two names", err);
        strbuf_append_bytes(&reader->long_name, record + strlen(path), len - strlen(path));
        return 0;
    }
    if ((len >= 5 && memcmp(record, "size=", 5) == 0) ||
        (len >= 10 && memcmp(record, "GNU.sparse", 10) == 0))
        return refuse("has sparse or very large files", err);
    return 0;
}

/* A sequence of "length key=value\n". */
static int take_records(struct context_reader *reader, struct error *err)
{
    const char *at = reader->data.text;
    size_t left = reader->data.len;

    while (left > 0 && *at != '\0') {
        size_t digits = strspn(at, "0123456789");
        size_t len = 0;

        for (size_t i = 0; i < digits && digits <= 6; i++)
            len = len * 10 + (size_t)(at[i] - '0');
        if (digits == 0 || digits > 6 || at[digits] != ' ' || len > left || len < digits + 2 ||
            at[len - 1] != '\n')
            return refuse("has an invalid extended header", err);
        if (take_record(reader, at + digits + 1, len - digits - 2, err) < 0)
            return -1;
        at += len;
        left -= len;
    }
    return 0;
}

static int take_long_name(struct context_reader *reader, struct error *err)
{
    if (reader->long_name.len > 0)
        return refuse("has a file with two names", err);
    strbuf_append(&reader->long_name, reader->data.text); /* up to its first NUL */
    return reader->long_name.len > 0 ? 0 : refuse("has a file without a name", err);
}

static int end_entry(struct context_reader *reader, struct error *err)
{
    switch (reader->purpose) {
    case PURPOSE_NONE:
        break;
    case PURPOSE_DOCKERFILE:
        strbuf_append_bytes(&reader->dockerfile, reader->data.text, reader->data.len);
        break;
    case PURPOSE_EXTENDED:
        return take_records(reader, err);
    case PURPOSE_LONG_NAME:
        return take_long_name(reader, err);
    }
    return 0;
}

static int take_data(struct context_reader *reader, struct error *err)
{
    size_t n = reader->n_data < BLOCK_BYTES ? (size_t)reader->n_data : BLOCK_BYTES;

    reader->n_data -= (int64_t)n;
    reader->n_left -= BLOCK_BYTES;
    if (reader->purpose != PURPOSE_NONE) {
        strbuf_append_bytes(&reader->data, reader->block, n);
        if (reader->data.len > DOCKERFILE_MAX_BYTES)
            return refuse("its " DOCKERFILE " is too large", err);
    }
    return reader->n_left == 0 ? end_entry(reader, err) : 0;
}

static int take_block(struct context_reader *reader, struct error *err)
{
    if (reader->is_over)
        return is_zero(reader->block, BLOCK_BYTES) ? 0 : refuse("has data after its end", err);
    return reader->n_left > 0 ? take_data(reader, err) : take_header(reader, err);
}

static int take_bytes(void *owner, const unsigned char *bytes, size_t len, struct error *err)
{
    struct context_reader *reader = owner;

    while (len > 0) {
        size_t space = BLOCK_BYTES - reader->n_block;
        size_t n = len < space ? len : space;

        memcpy(reader->block + reader->n_block, bytes, n);
        reader->n_block += n;
        bytes += n;
        len -= n;
        if (reader->n_block < BLOCK_BYTES)
            return 0;
        reader->n_block = 0;
        if (take_block(reader, err) < 0)
            return -1;
    }
    return 0;
}

/* --- the whole --- */

/* Through a link to a folder, a file of another name could replace the Dockerfile. */
static int check_links(const struct context_reader *reader, struct error *err)
{
    const char *name = NULL;
    json_t *is_there = NULL;

    json_object_foreach (reader->links, name, is_there) {
        if (json_object_get(reader->folders, name) != NULL)
            return refuse("has files below a link", err);
    }
    return 0;
}

static int read_all(struct context_reader *reader, const struct strbuf *context, int64_t max_bytes,
                    struct error *err)
{
    const struct unpack_sink sink = {take_bytes, reader};

    if (build_form_unpack(context, max_bytes, &sink, err) < 0)
        return -1;
    if (reader->n_block > 0 || reader->n_left > 0)
        return refuse("is truncated", err);
    if (!reader->has_dockerfile)
        return refuse("has no " DOCKERFILE, err);
    return check_links(reader, err);
}

int build_context_list_images(const struct strbuf *context, int64_t max_bytes,
                              struct dockerfile_images *images_out, struct error *err)
{
    struct context_reader reader = {.data = STRBUF_INIT,
                                    .long_name = STRBUF_INIT,
                                    .dockerfile = STRBUF_INIT,
                                    .folders = json_object(),
                                    .links = json_object()};
    int rc = read_all(&reader, context, max_bytes, err);

    if (rc == 0)
        rc = dockerfile_list_images(reader.dockerfile.text, reader.dockerfile.len, images_out, err);
    strbuf_done(&reader.data);
    strbuf_done(&reader.long_name);
    strbuf_done(&reader.dockerfile);
    json_decref(reader.folders);
    json_decref(reader.links);
    return rc;
}

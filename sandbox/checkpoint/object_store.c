#include "sandbox/checkpoint/object_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <zlib.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/folder.h"
#include "sandbox/core/identity.h"

enum {
    FOLDER_MODE = 0700,
    FILE_MODE = 0600,
    PREFIX_DIGITS = 2,
    HEADER_MAX_BYTES = 32,
    BLOCK_BYTES = 4096,
    UNPACK_BYTES = 256 * 1024,
    MAX_FILE_BYTES = OBJECT_MAX_BYTES + OBJECT_MAX_BYTES / 1000 + 1024, /* what does not compress */
    MAX_NOTE_BYTES = 64 * 1024 * 1024,
    MAX_NEW_BYTES = 512 * 1024 * 1024, /* while it is open */
    SPEED = 1,                         /* of zlib: time matters more than size */
};

const struct object_store_limits object_store_default_limits = {
    .max_bytes = INT64_C(1) << 30, .min_free_bytes = INT64_C(256) << 20};

static const char *const kind_names[] = {[OBJECT_BLOB] = "blob", [OBJECT_TREE] = "tree"};

/* The minimum that git accepts as a repository, so that its tools can examine a store. */
static const struct repository_part {
    const char *name;
    const char *text; /* NULL: a directory */
} parts[] = {
    {"", NULL},
    {"objects/", NULL},
    {"refs/", NULL},
    {"refs/heads/", NULL},
    {"notes/", NULL},
    {"config", "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
               "[extensions]\n\tobjectFormat = sha256\n"},
    {"HEAD", "ref: refs/heads/main\n"},
};

/* --- files of the server's user --- */

static int write_file(const char *path, const void *bytes, size_t len, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf fresh = STRBUF_INIT;
    CLEANUP(fd_close) int fd = -1;

    /* The lock is held: there is one writer. */
    strbuf_appendf(&fresh, "%s.new", path);
    fd = open(fresh.text, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "open %s: %m", fresh.text);
    if (fd_write_all(fd, bytes, len, err) < 0)
        return error_wrap(err, "%s", fresh.text);
    if (rename(fresh.text, path) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "rename %s: %m", fresh.text);
    return 0;
}

static int make_folder(const char *path, struct error *err)
{
    if (mkdir(path, FOLDER_MODE) < 0 && errno != EEXIST)
        return error_set(err, ERROR_UNAVAILABLE, "mkdir %s: %m", path);
    return 0;
}

/* The last part is there: so are the others. */
static bool is_repository(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_appendf(&path, "%s/%s", folder, parts[ARRAY_SIZE(parts) - 1].name);
    return identity_has_access(path.text, F_OK);
}

static int make_repository(const char *folder, struct error *err)
{
    if (is_repository(folder))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        int rc = 0;

        strbuf_appendf(&path, "%s/%s", folder, parts[i].name);
        rc = parts[i].text == NULL
                 ? make_folder(path.text, err)
                 : write_file(path.text, parts[i].text, strlen(parts[i].text), err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static void append_note_path(const struct object_store *store, const char *name,
                             struct strbuf *path)
{
    strbuf_appendf(path, "%s/notes/%s", store->current, name);
}

/* --- size --- */

#define SIZE_NOTE "size"

static int64_t read_size(const struct object_store *store)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    int64_t size = 0;

    append_note_path(store, SIZE_NOTE, &path);
    if (file_read(path.text, HEADER_MAX_BYTES, &text, &ignored) < 0 ||
        text_parse_int(text.text, 0, INT64_MAX, &size, &ignored) < 0)
        return 0;
    return size;
}

static void save_size(const struct object_store *store)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    int64_t size = read_size(store) + store->n_new_bytes;

    append_note_path(store, SIZE_NOTE, &path);
    strbuf_appendf(&text, "%lld", (long long)size);
    error_ignore(write_file(path.text, text.text, text.len, &ignored),
                 "the limit is then reached a little later");
}

static int check_room(const char *folder, const struct object_store_limits *limits,
                      struct error *err)
{
    struct statvfs disk = {.f_bavail = 0};

    if (statvfs(folder, &disk) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "statvfs %s: %m", folder);
    if ((int64_t)disk.f_bavail * (int64_t)disk.f_frsize < limits->min_free_bytes)
        return error_set(err, ERROR_UNAVAILABLE,
                         "The disk has less than %lld MB left for checkpoints",
                         (long long)(limits->min_free_bytes >> 20));
    return 0;
}

static int start_anew_if_full(struct object_store *store, const struct object_store_limits *limits,
                              struct error *err)
{
    if (read_size(store) < limits->max_bytes)
        return 0;
    folder_remove(store->older);
    if (rename(store->current, store->older) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "rename %s: %m", store->current);
    return make_repository(store->current, err);
}

/* --- opening --- */

static int take_lock(struct object_store *store, const char *folder, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    int rc = 0;

    strbuf_appendf(&path, "%s/lock", folder);
    store->lock = open(path.text, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (store->lock < 0)
        return error_set(err, ERROR_UNAVAILABLE, "open %s: %m", path.text);
    do
        rc = flock(store->lock, LOCK_EX);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return error_set(err, ERROR_UNAVAILABLE, "lock %s: %m", path.text);
    return 0;
}

static int open_locked(struct object_store *store, const char *parent,
                       const struct object_store_limits *limits, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf current = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf older = STRBUF_INIT;

    strbuf_appendf(&folder, "%s/checkpoints", parent);
    strbuf_appendf(&current, "%s/current.git", folder.text);
    strbuf_appendf(&older, "%s/older.git", folder.text);
    store->current = strbuf_take(&current);
    store->older = strbuf_take(&older);
    if (make_folder(folder.text, err) < 0 || take_lock(store, folder.text, err) < 0 ||
        check_room(folder.text, limits, err) < 0 || make_repository(store->current, err) < 0)
        return -1;
    return start_anew_if_full(store, limits, err);
}

int object_store_open(struct object_store *store, const char *folder,
                      const struct object_store_limits *limits, struct error *err)
{
    int rc = 0;

    identity_open_as_server();
    rc = open_locked(store, folder, limits, err);
    identity_open_as_commands();
    return rc;
}

void object_store_done(struct object_store *store)
{
    if (store->lock >= 0 && store->n_new_bytes > 0) {
        identity_open_as_server();
        save_size(store);
        identity_open_as_commands();
    }
    fd_close(&store->lock);
    mem_freep(&store->current);
    mem_freep(&store->older);
}

/* --- objects --- */

bool object_id_read(const char *text, struct object_id *id_out)
{
    if (text == NULL || strlen(text) != sizeof(id_out->hex) - 1 ||
        strspn(text, "0123456789abcdef") != sizeof(id_out->hex) - 1)
        return false;
    memcpy(id_out->hex, text, sizeof(id_out->hex));
    return true;
}

static void append_object_path(const char *repository, const struct object_id *id,
                               struct strbuf *path)
{
    strbuf_appendf(path, "%s/objects/%.*s/%s", repository, PREFIX_DIGITS, id->hex,
                   id->hex + PREFIX_DIGITS);
}

static bool has_file(const char *repository, const struct object_id *id)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    append_object_path(repository, id, &path);
    return identity_has_access(path.text, F_OK);
}

bool object_store_has(const struct object_store *store, const struct object_id *id)
{
    bool has = false;

    identity_open_as_server();
    has = has_file(store->current, id) || has_file(store->older, id);
    identity_open_as_commands();
    return has;
}

/* bytes: compressed. */
static int place(struct object_store *store, const struct object_id *id, const void *bytes,
                 size_t len, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (store->n_new_bytes > MAX_NEW_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "More than %d MB have changed",
                         MAX_NEW_BYTES / (1024 * 1024));
    strbuf_appendf(&folder, "%s/objects/%.*s", store->current, PREFIX_DIGITS, id->hex);
    append_object_path(store->current, id, &path);
    if (make_folder(folder.text, err) < 0 || write_file(path.text, bytes, len, err) < 0)
        return -1;
    store->n_new_bytes += (int64_t)((len / BLOCK_BYTES + 1) * BLOCK_BYTES);
    return 0;
}

static int place_framed(struct object_store *store, const struct object_id *id,
                        const struct strbuf *framed, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf packed = STRBUF_INIT;
    uLongf len = compressBound(framed->len);

    if (has_file(store->current, id))
        return 0;
    strbuf_reserve(&packed, len);
    if (compress2((unsigned char *)packed.text, &len, (const unsigned char *)framed->text,
                  framed->len, SPEED) != Z_OK)
        return error_set(err, ERROR_INTERNAL, "compressing an object");
    return place(store, id, packed.text, len, err);
}

int object_store_write(struct object_store *store, enum object_kind kind,
                       const struct strbuf *content, struct object_id *id_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf framed = STRBUF_INIT;
    int rc = 0;

    if (content->len > OBJECT_MAX_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "An object of more than %d bytes", OBJECT_MAX_BYTES);
    strbuf_appendf(&framed, "%s %zu", kind_names[kind], content->len);
    strbuf_append_char(&framed, '\0');
    strbuf_append_bytes(&framed, content->text, content->len);
    crypto_sha256_hex(framed.text, framed.len, id_out->hex);
    identity_open_as_server();
    rc = place_framed(store, id_out, &framed, err);
    identity_open_as_commands();
    return rc;
}

/* --- reading --- */

static int read_packed(const struct object_store *store, const struct object_id *id,
                       struct strbuf *bytes_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    append_object_path(has_file(store->current, id) ? store->current : store->older, id, &path);
    if (file_read(path.text, MAX_FILE_BYTES, bytes_out, err) < 0)
        return err->code == ERROR_TOO_LARGE
                   ? -1
                   : error_set(err, ERROR_NOT_FOUND, "The object %s is missing", id->hex);
    return 0;
}

static int report_damage(const struct object_id *id, struct error *err)
{
    return error_set(err, ERROR_INVALID, "The object %s is damaged", id->hex);
}

/* Inflates at most one object, whatever the file says. */
static int unpack(const struct strbuf *bytes, struct strbuf *framed)
{
    z_stream stream = {.next_in = (unsigned char *)bytes->text, .avail_in = (uInt)bytes->len};
    int rc = Z_OK;

    if (inflateInit(&stream) != Z_OK)
        return -1;
    while (rc == Z_OK && framed->len <= OBJECT_MAX_BYTES + HEADER_MAX_BYTES) {
        strbuf_reserve(framed, UNPACK_BYTES);
        stream.next_out = (unsigned char *)framed->text + framed->len;
        stream.avail_out = UNPACK_BYTES;
        rc = inflate(&stream, Z_NO_FLUSH);
        framed->len = (size_t)((char *)stream.next_out - framed->text);
    }
    (void)inflateEnd(&stream);
    framed->text[framed->len] = '\0';
    return rc == Z_STREAM_END && framed->len <= OBJECT_MAX_BYTES + HEADER_MAX_BYTES ? 0 : -1;
}

/* Whether that is the object; then where its content begins. */
static bool is_object(const struct strbuf *framed, const struct object_id *id,
                      const enum object_kind *kind, size_t *at_out)
{
    CLEANUP(strbuf_done) struct strbuf header = STRBUF_INIT;
    struct object_id real = OBJECT_ID_INIT;
    const char *end = memchr(framed->text, '\0', framed->len);

    crypto_sha256_hex(framed->text, framed->len, real.hex);
    if (!text_equal(real.hex, id->hex) || end == NULL)
        return false;
    *at_out = (size_t)(end - framed->text) + 1;
    if (kind == NULL)
        return true;
    strbuf_appendf(&header, "%s %zu", kind_names[*kind], framed->len - *at_out);
    return text_equal(header.text, framed->text);
}

int object_store_read(const struct object_store *store, enum object_kind kind,
                      const struct object_id *id, struct strbuf *content_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf framed = STRBUF_INIT;
    size_t at = 0;

    if (object_store_read_file(store, id, &bytes, err) < 0)
        return -1;
    if (unpack(&bytes, &framed) < 0 || !is_object(&framed, id, &kind, &at))
        return report_damage(id, err);
    strbuf_append_bytes(content_out, framed.text + at, framed.len - at);
    return 0;
}

int object_store_read_file(const struct object_store *store, const struct object_id *id,
                           struct strbuf *bytes_out, struct error *err)
{
    int rc = 0;

    identity_open_as_server();
    rc = read_packed(store, id, bytes_out, err);
    identity_open_as_commands();
    return rc;
}

int object_store_write_file(struct object_store *store, const struct object_id *id,
                            const struct strbuf *bytes, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf framed = STRBUF_INIT;
    size_t at = 0;
    int rc = 0;

    if (bytes->len > MAX_FILE_BYTES || unpack(bytes, &framed) < 0 ||
        !is_object(&framed, id, NULL, &at))
        return report_damage(id, err);
    identity_open_as_server();
    rc = has_file(store->current, id) ? 0 : place(store, id, bytes->text, bytes->len, err);
    identity_open_as_commands();
    return rc;
}

/* --- notes --- */

int object_store_put_note(struct object_store *store, const char *name, const struct strbuf *bytes,
                          struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    int rc = 0;

    append_note_path(store, name, &path);
    identity_open_as_server();
    rc = write_file(path.text, bytes->text, bytes->len, err);
    identity_open_as_commands();
    return rc;
}

int object_store_get_note(const struct object_store *store, const char *name,
                          struct strbuf *bytes_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    int rc = 0;

    append_note_path(store, name, &path);
    identity_open_as_server();
    rc = file_read(path.text, MAX_NOTE_BYTES, bytes_out, err);
    identity_open_as_commands();
    return rc;
}

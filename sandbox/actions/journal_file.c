#include "sandbox/actions/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/identity.h"

enum { CRC_DIGITS = 8, FILE_MODE = 0600, MAX_FILE_BYTES = 256 * 1024 * 1024 };

static const char file_name[] = "journal";
static const char new_name[] = "journal.new";

static unsigned checksum_of(const char *bytes, size_t len)
{
    return (unsigned)crc32_z(0, (const unsigned char *)bytes, len);
}

void journal_line_append(struct strbuf *line, const json_t *record)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    json_append_text(&text, record);
    strbuf_reserve(line, text.len + CRC_DIGITS + 2);
    strbuf_appendf(line, "%08x ", checksum_of(text.text, text.len));
    strbuf_append_bytes(line, text.text, text.len);
    strbuf_append_char(line, '\n');
}

int journal_line_parse(const char *line, size_t len, json_t **record_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf digits = STRBUF_INIT;
    json_t *record = NULL;

    if (len <= CRC_DIGITS + 1 || line[CRC_DIGITS] != ' ')
        return error_set(err, ERROR_INVALID, "an incomplete line");
    strbuf_appendf(&digits, "%08x", checksum_of(line + CRC_DIGITS + 1, len - CRC_DIGITS - 1));
    if (memcmp(digits.text, line, CRC_DIGITS) != 0)
        return error_set(err, ERROR_INVALID, "a line with a wrong checksum");
    if (json_parse(line + CRC_DIGITS + 1, len - CRC_DIGITS - 1, &record, err) < 0)
        return -1;
    if (!json_is_object(record)) {
        json_decref(record);
        return error_set(err, ERROR_INVALID, "a line that is not an object");
    }
    *record_out = record;
    return 0;
}

/* Passes each complete line to the reader; returns the offset of the first broken one. */
static size_t read_lines(const struct strbuf *text, const struct journal_reader *reader)
{
    size_t at = 0;

    while (at < text->len) {
        const char *end = memchr(text->text + at, '\n', text->len - at);
        struct error ignored = ERROR_INIT;
        json_auto_t *record = NULL;
        size_t len = 0;

        if (end == NULL)
            break;
        len = (size_t)(end - text->text) - at;
        if (journal_line_parse(text->text + at, len, &record, &ignored) < 0)
            break;
        reader->line(reader->owner, record, (int64_t)at, len);
        at += len + 1;
    }
    return at;
}

static void append_path(struct strbuf *path, const char *dir, const char *name)
{
    strbuf_appendf(path, "%s/%s", dir, name);
}

static void sync_directory(const char *dir)
{
    CLEANUP(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        (void)fsync(fd);
}

static int open_file(struct journal_file *file, const char *name, int flags, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    append_path(&path, file->dir, name);
    file->fd = open(path.text, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, FILE_MODE);
    if (file->fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "open %s: %m", path.text);
    return 0;
}

static int open_and_read(struct journal_file *file, const char *dir,
                         const struct journal_reader *reader, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    file->dir = mem_dup_text(dir);
    if (open_file(file, file_name, 0, err) < 0)
        return -1;
    append_path(&path, dir, file_name);
    if (file_read(path.text, MAX_FILE_BYTES, &text, err) < 0) {
        fd_close(&file->fd);
        return -1;
    }
    file->size = (int64_t)read_lines(&text, reader);
    if (ftruncate(file->fd, file->size) < 0) {
        fd_close(&file->fd);
        return error_set(err, ERROR_UNAVAILABLE, "truncating the journal: %m");
    }
    sync_directory(dir);
    return 0;
}

int journal_file_open(struct journal_file *file, const char *dir,
                      const struct journal_reader *reader, struct error *err)
{
    int rc = 0;

    identity_open_as_server();
    rc = open_and_read(file, dir, reader, err);
    identity_open_as_commands();
    return rc;
}

void journal_file_close(struct journal_file *file)
{
    fd_close(&file->fd);
    mem_freep(&file->dir);
}

static int write_at(int fd, int64_t offset, const struct strbuf *text, struct error *err)
{
    size_t done = 0;

    while (done < text->len) {
        ssize_t n = pwrite(fd, text->text + done, text->len - done, offset + (int64_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(err, ERROR_UNAVAILABLE, "writing the journal: %m");
        done += (size_t)n;
    }
    return 0;
}

int journal_file_append(struct journal_file *file, const struct strbuf *line,
                        enum journal_sync sync, struct error *err)
{
    if (write_at(file->fd, file->size, line, err) < 0) {
        (void)!ftruncate(file->fd, file->size);
        return -1;
    }
    if (sync == JOURNAL_SYNC && fdatasync(file->fd) < 0) {
        (void)!ftruncate(file->fd, file->size);
        return error_set(err, ERROR_UNAVAILABLE, "syncing the journal: %m");
    }
    file->size += (int64_t)line->len;
    return 0;
}

int journal_file_read(const struct journal_file *file, int64_t offset, size_t len,
                      struct strbuf *line, struct error *err)
{
    size_t done = 0;

    strbuf_reserve(line, len);
    while (done < len) {
        ssize_t n = pread(file->fd, line->text + line->len, len - done, offset + (int64_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(err, ERROR_UNAVAILABLE, "reading the journal: %m");
        line->len += (size_t)n;
        done += (size_t)n;
    }
    line->text[line->len] = '\0';
    return 0;
}

static int rename_new(struct journal_file *file, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf from = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf to = STRBUF_INIT;

    append_path(&from, file->dir, new_name);
    append_path(&to, file->dir, file_name);
    if (rename(from.text, to.text) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "replacing the journal: %m");
    sync_directory(file->dir);
    return 0;
}

static int replace_file(struct journal_file *file, const struct strbuf *text, struct error *err)
{
    struct journal_file fresh = {.fd = -1, .dir = file->dir};

    if (open_file(&fresh, new_name, O_TRUNC, err) < 0)
        return -1;
    if (write_at(fresh.fd, 0, text, err) < 0 || fdatasync(fresh.fd) < 0 ||
        rename_new(&fresh, err) < 0) {
        fd_close(&fresh.fd);
        return error_set(err, ERROR_UNAVAILABLE, "compacting the journal: %m");
    }
    fd_close(&file->fd);
    file->fd = fresh.fd;
    file->size = (int64_t)text->len;
    return 0;
}

int journal_file_replace(struct journal_file *file, const struct strbuf *text, struct error *err)
{
    int rc = 0;

    identity_open_as_server();
    rc = replace_file(file, text, err);
    identity_open_as_commands();
    return rc;
}

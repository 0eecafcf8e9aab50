#include "sandbox/core/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/atomic_write.h"

static const char bom[] = "\xEF\xBB\xBF";

void textfile_done(struct textfile *file)
{
    if (file != NULL)
        strbuf_done(&file->text);
}

static void from_latin1(struct strbuf *text)
{
    CLEANUP(strbuf_done) struct strbuf wide = STRBUF_INIT;

    for (size_t i = 0; i < text->len; i++) {
        unsigned char c = (unsigned char)text->text[i];

        if (c < 0x80) {
            strbuf_append_char(&wide, (char)c);
        } else {
            strbuf_append_char(&wide, (char)(0xC0U | (c >> 6U)));
            strbuf_append_char(&wide, (char)(0x80U | (c & 0x3FU)));
        }
    }
    strbuf_reset(text);
    strbuf_append_bytes(text, wide.text, wide.len);
}

static int to_latin1(const struct strbuf *text, struct strbuf *out, struct error *err)
{
    for (size_t i = 0; i < text->len; i++) {
        unsigned char c = (unsigned char)text->text[i];

        if (c < 0x80) {
            strbuf_append_char(out, (char)c);
            continue;
        }
        if (c != 0xC2 && c != 0xC3)
            return error_set(err, ERROR_INVALID,
                             "the file is Latin-1, which lacks some characters of the text");
        i++;
        strbuf_append_char(out, (char)(((c & 0x03U) << 6U) | ((unsigned)text->text[i] & 0x3FU)));
    }
    return 0;
}

/* True when there are line ends and each is CRLF; only then the file can be restored exactly. */
static bool all_lines_end_crlf(const struct strbuf *text)
{
    bool any = false;

    for (size_t i = 0; i < text->len; i++) {
        if (text->text[i] != '\n')
            continue;
        if (i == 0 || text->text[i - 1] != '\r')
            return false;
        any = true;
    }
    return any;
}

static void drop_carriage_returns(struct strbuf *text)
{
    size_t kept = 0;

    for (size_t i = 0; i < text->len; i++) {
        if (text->text[i] != '\r' || text->text[i + 1] != '\n')
            text->text[kept++] = text->text[i];
    }
    strbuf_truncate(text, kept);
}

static void add_carriage_returns(struct strbuf *text)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < text->len; i++) {
        if (text->text[i] == '\n')
            strbuf_append_char(&out, '\r');
        strbuf_append_char(&out, text->text[i]);
    }
    strbuf_reset(text);
    strbuf_append_bytes(text, out.text, out.len);
}

static int decode(struct textfile *file, struct error *err)
{
    if (memchr(file->text.text, '\0', file->text.len) != NULL)
        return error_set(err, ERROR_UNSUPPORTED, "the file is binary");
    if (utf8_is_valid(file->text.text, file->text.len)) {
        file->has_bom = text_starts_with(file->text.text, bom);
        if (file->has_bom)
            strbuf_remove_head(&file->text, sizeof(bom) - 1);
    } else {
        file->is_latin1 = true;
        from_latin1(&file->text);
    }
    file->has_crlf = all_lines_end_crlf(&file->text);
    if (file->has_crlf)
        drop_carriage_returns(&file->text);
    return 0;
}

int textfile_read(const char *path, struct textfile *file, struct error *err)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return error_set(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_UNAVAILABLE, "%s: %m",
                         path);
    if (!S_ISREG(info.st_mode))
        return error_set(err, ERROR_UNSUPPORTED, "not a regular file");
    if (info.st_size > MAX_EDIT_FILE_BYTES)
        return error_set(err, ERROR_TOO_LARGE, "%.1f MB", (double)info.st_size / (1024 * 1024));
    if (file_read(path, MAX_EDIT_FILE_BYTES, &file->text, err) < 0)
        return -1;
    return decode(file, err);
}

static int encode(const struct textfile *file, struct strbuf *out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_append_bytes(&text, file->text.text, file->text.len);
    if (file->has_crlf)
        add_carriage_returns(&text);
    if (file->is_latin1)
        return to_latin1(&text, out, err);
    if (file->has_bom)
        strbuf_append(out, bom);
    strbuf_append_bytes(out, text.text, text.len);
    return 0;
}

int textfile_write(const char *path, const struct textfile *file, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(atomic_write_done) struct atomic_write target = ATOMIC_WRITE_INIT;

    if (encode(file, &bytes, err) < 0)
        return -1;
    if (atomic_write_begin(&target, path, err) < 0)
        return -1;
    if (fd_write_all(target.fd, bytes.text, bytes.len, err) < 0)
        return -1;
    return atomic_write_commit(&target, err);
}

static bool is_directory(const char *path)
{
    int why = errno;
    struct stat info;
    bool is = stat(path, &info) == 0 && S_ISDIR(info.st_mode);

    errno = why;
    return is;
}

int textfile_make_parents(const char *path, struct error *err)
{
    CLEANUP(mem_freep) char *parent = mem_dup_text(path);
    char *slash = strchr(parent + 1, '/');

    for (; slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(parent, 0777) == 0 || is_directory(parent)) {
            *slash = '/';
            continue;
        }
        if (errno == EEXIST)
            return error_set(err, ERROR_INVALID, "%s is not a directory", parent);
        return error_set(err, atomic_write_error_code(), "creating %s: %m", parent);
    }
    return 0;
}

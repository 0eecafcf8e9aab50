#include "sandbox/terminal/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/textfile.h"

enum { FILES_MAX = 32, NAME_CHARS = 8, FILE_MODE = 0644 };

#define FILE_MAX_BYTES ((size_t)8 * 1024 * 1024)
#define PREFIX "terminal_output_"

struct output_file {
    char *folder;
    char *path; /* its temporary name */
    int fd;
    size_t len;
};

struct output_file *output_file_begin(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct output_file *file = NULL;
    struct error ignored = ERROR_INIT;
    char token[CRYPTO_TOKEN_BYTES];
    int fd = -1;

    crypto_random_token(token);
    strbuf_appendf(&path, "%s/" PREFIX "%s.part", folder, token);
    if (textfile_make_parents(path.text, &ignored) < 0)
        return NULL;
    fd = open(path.text, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return NULL;
    file = NEW(struct output_file);
    file->folder = mem_dup_text(folder);
    file->path = strbuf_take(&path);
    file->fd = fd;
    return file;
}

void output_file_write(struct output_file *file, const char *text, size_t len)
{
    struct error ignored = ERROR_INIT;
    size_t room = FILE_MAX_BYTES - file->len;
    size_t n = len < room ? len : room;

    if (n == 0)
        return;
    if (fd_write_all(file->fd, text, n, &ignored) < 0)
        file->len = FILE_MAX_BYTES; /* a full disk: keeps what was written */
    else
        file->len += n;
}

/* terminal_output_<first digits of its SHA-256>.txt */
static int append_name(const struct output_file *file, struct strbuf *out)
{
    char hash[CRYPTO_HASH_HEX_BYTES];
    struct stat info;
    void *bytes = NULL;

    if (fstat(file->fd, &info) < 0 || info.st_size == 0)
        return -1;
    bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (bytes == MAP_FAILED)
        return -1;
    crypto_sha256_hex(bytes, (size_t)info.st_size, hash);
    (void)munmap(bytes, (size_t)info.st_size);
    strbuf_appendf(out, "%s/" PREFIX "%.*s.txt", file->folder, NAME_CHARS, hash);
    return 0;
}

static int is_output(const struct dirent *entry)
{
    return text_starts_with(entry->d_name, PREFIX);
}

/* Removes the oldest file when there are too many; one is enough, since each output adds one. */
static void remove_oldest(const char *folder)
{
    CLEANUP(strbuf_done) struct strbuf oldest = STRBUF_INIT;
    struct dirent **entries = NULL;
    struct timespec before = {0};
    int n = scandir(folder, &entries, is_output, NULL);

    for (int i = 0; i < n; i++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        struct stat info;

        strbuf_appendf(&path, "%s/%s", folder, entries[i]->d_name);
        if (lstat(path.text, &info) == 0 &&
            (oldest.len == 0 || info.st_mtim.tv_sec < before.tv_sec ||
             (info.st_mtim.tv_sec == before.tv_sec && info.st_mtim.tv_nsec < before.tv_nsec))) {
            before = info.st_mtim;
            strbuf_reset(&oldest);
            strbuf_append(&oldest, path.text);
        }
        free(entries[i]);
    }
    free(entries);
    if (n > FILES_MAX)
        (void)unlink(oldest.text);
}

void output_file_end(struct output_file *file, struct strbuf *path_out)
{
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;

    if (append_name(file, &name) == 0 && rename(file->path, name.text) == 0) {
        strbuf_append(path_out, name.text);
        mem_freep(&file->path);
    }
    remove_oldest(file->folder);
    output_file_free(file);
}

void output_file_free(struct output_file *file)
{
    if (file == NULL)
        return;
    if (file->path != NULL)
        (void)unlink(file->path);
    mem_free(file->path);
    mem_free(file->folder);
    fd_close(&file->fd);
    mem_free(file);
}

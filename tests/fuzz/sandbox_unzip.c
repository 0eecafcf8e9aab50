/*
 * Archives: files are written only inside the folder, even if a link in it points elsewhere.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "sandbox/files/unzip.h"

enum { FILE_MAX_BYTES = 1 << 20, OPEN_FOLDERS = 16 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Larger files fail with EFBIG. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const struct rlimit limit = {FILE_MAX_BYTES, FILE_MAX_BYTES};

    (void)argc;
    (void)argv;
    (void)signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static size_t count_entries(const char *path)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, NULL);

    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return n < 2 ? 0 : (size_t)n - 2;
}

static void unpack(const uint8_t *data, size_t size, const char *folder)
{
    CLEANUP(fd_close) int fd = memfd_create("archive", MFD_CLOEXEC);
    struct error err = ERROR_INIT;
    int rc = 0;

    assert(fd >= 0);
    rc = fd_write_all(fd, data, size, &err);
    assert(rc == 0);
    if (unzip_into(fd, folder, &err) < 0)
        assert(err.code != ERROR_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char root[] = "/dev/shm/deft-fuzz-unzip-XXXXXX";
    CLEANUP(strbuf_done) struct strbuf inner = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf outer = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    int rc = size > FILE_MAX_BYTES || mkdtemp(root) == NULL;

    if (rc != 0)
        return 0;
    strbuf_appendf(&inner, "%s/in", root);
    strbuf_appendf(&outer, "%s/out", root);
    strbuf_appendf(&link, "%s/in/l", root);
    rc = mkdir(inner.text, S_IRWXU) | mkdir(outer.text, S_IRWXU) | symlink(outer.text, link.text);
    assert(rc == 0);
    unpack(data, size, inner.text);
    assert(count_entries(root) == 2);
    assert(count_entries(outer.text) == 0);
    rc = nftw(root, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    assert(rc == 0);
    return 0;
}

#include "sandbox/core/folder.h"

#include <ftw.h>
#include <stdio.h>

enum { OPEN_FOLDERS = 16 };

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

void folder_remove(const char *path)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): a fork has one thread */
    (void)nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

#include "sandbox/checkpoint/parent_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"

enum { FOLDER_MODE = 0777 };

/* Enters one folder, never through a link; -1 with errno. */
static int enter(int folder, const char *name, enum parent_need need)
{
    if (need == PARENT_IS_MADE && mkdirat(folder, name, FOLDER_MODE) < 0 && errno != EEXIST)
        return -1;
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int parent_folder_open(int root, const char *path, enum parent_need need, const char **name_out)
{
    CLEANUP(mem_freep) char *rest = mem_dup_text(path);
    int folder = fcntl(root, F_DUPFD_CLOEXEC, 0);
    char *name = rest;
    char *slash = NULL;

    for (slash = strchr(name, '/'); slash != NULL && folder >= 0; slash = strchr(name, '/')) {
        int below = -1;

        *slash = '\0';
        below = enter(folder, name, need);
        fd_close(&folder);
        folder = below;
        name = slash + 1;
    }
    *name_out = path + (name - rest);
    return folder;
}

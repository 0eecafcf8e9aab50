#include "support/descriptors.h"

#include <dirent.h>
#include <stdlib.h>

int descriptors_count(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    if (folder == NULL)
        abort();
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's */
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        n += entry->d_name[0] != '.';
    (void)closedir(folder);
    return n - 1; /* less that of the folder */
}

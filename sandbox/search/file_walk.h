/*
 * A walk through all files below a folder, for searches. Hidden entries and folders of installed
 * packages are left out, links are not followed.
 *
 * Blocks: only in forks (core/fork_task.h).
 */
#ifndef DEFT_SANDBOX_SEARCH_FILE_WALK_H
#define DEFT_SANDBOX_SEARCH_FILE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

struct walked_file {
    const char *path;     /* absolute */
    const char *relative; /* to the folder of the walk */
    off_t size;
    int64_t changed_ns;
};

struct file_walk {
    /* Called for each regular file. */
    void (*found)(void *owner, const struct walked_file *file);
    void *owner;
    int64_t until_ms; /* monotonic; then the walk ends */
    size_t n_entries; /* set by the walk */
    bool is_cut;      /* set if a limit ended it before the end */
};

/* ERROR_INVALID, with words for the model, if the folder is none. */
int file_walk_run(struct file_walk *walk, const char *folder, struct error *err) NONNULL MUST_CHECK;

#endif

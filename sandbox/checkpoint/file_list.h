/*
 * The files of a workspace at one time: paths, modes, and the objects that hold their contents. A
 * list is also kept with the file system's numbers, so that unchanged files are not read again.
 *
 * Ownership: a list owns its paths until file_list_done().
 * Threading: no state.
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_FILE_LIST_H
#define DEFT_SANDBOX_CHECKPOINT_FILE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "sandbox/checkpoint/object_store.h"

struct error;
struct stat;

/* Modes of git's trees. */
#define FILE_MODE_PLAIN 0100644U
#define FILE_MODE_PROGRAM 0100755U
#define FILE_MODE_LINK 0120000U
#define FILE_MODE_FOLDER 040000U

enum {
    FILE_LIST_MAX = 50000,
    FILE_PATH_MAX_BYTES = 4000,
    FILE_DEPTH_MAX = 64, /* folders on a path */
};

/* What tells that a file has changed; size -1: unknown. */
struct file_state {
    int64_t size;
    int64_t modified_ns;
    int64_t changed_ns;
    uint64_t inode;
};

struct listed_file {
    char *path; /* below the workspace */
    uint32_t mode;
    struct object_id id;
    struct file_state state;
};

struct file_list {
    struct listed_file *items;
    size_t n;
    size_t size;
};

/* clang-format off */
#define FILE_LIST_INIT {NULL, 0, 0}
/* clang-format on */

void file_list_done(struct file_list *list);
/* Appends a file with a copy of the path; ERROR_TOO_LARGE above FILE_LIST_MAX. */
int file_list_add(struct file_list *list, const char *path, uint32_t mode,
                  struct listed_file **file_out, struct error *err) NONNULL MUST_CHECK;
/* Removes the files without an id. */
void file_list_drop_empty(struct file_list *list) NONNULL;
/* Sorts by path, byte by byte: the order of git's index. */
void file_list_sort(struct file_list *list) NONNULL;
/* The file of that path in a sorted list; NULL if there is none. */
const struct listed_file *file_list_find(const struct file_list *list,
                                         const char *path) NONNULL MUST_CHECK;

struct file_state file_state_of(const struct stat *info) NONNULL MUST_CHECK;

/* Keeps the list of a workspace in the store. */
int file_list_save(const struct file_list *list, struct object_store *store, const char *workspace,
                   struct error *err) NONNULL MUST_CHECK;
/* Loads a kept list, sorted; an empty one if there is none or it is damaged. */
void file_list_load(struct file_list *list, const struct object_store *store,
                    const char *workspace) NONNULL;

#endif

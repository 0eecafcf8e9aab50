/*
 * Takes a checkpoint: writes the files of a workspace into the store, and names them by a tree
 * object. Only files that changed since the workspace's previous checkpoint are read.
 *
 * Not in it are the names of left_out.h, other file systems, empty folders, and what is neither a
 * file nor a link. Files above OBJECT_MAX_BYTES and unreadable ones are left out and named.
 *
 * Ownership: file_snapshot_done() releases. Blocks: for forks.
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_FILE_SNAPSHOT_H
#define DEFT_SANDBOX_CHECKPOINT_FILE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "sandbox/checkpoint/file_list.h"
#include "sandbox/checkpoint/object_store.h"

struct error;

struct file_snapshot {
    struct object_id tree;
    struct file_list files; /* sorted */
    size_t n_read;          /* files that were read */
    size_t n_skipped;
    json_t *skipped; /* [{"path", "reason"}], the first ones */
};

/* clang-format off */
#define FILE_SNAPSHOT_INIT {OBJECT_ID_INIT, FILE_LIST_INIT, 0, 0, NULL}
/* clang-format on */

void file_snapshot_done(struct file_snapshot *snapshot);
/*
 * Takes a checkpoint of the folder; a missing one is empty. deadline_ms: clock_monotonic_ms().
 * ERROR_TIMEOUT after it: what was read by then is not read again the next time. ERROR_TOO_LARGE,
 * ERROR_UNAVAILABLE.
 */
int file_snapshot_take(struct object_store *store, const char *workspace, int64_t deadline_ms,
                       struct file_snapshot *snapshot, struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * Sets a workspace back to a checkpoint: writes the files that differ, and removes those that came
 * later. What checkpoints leave out stays as it is, and so does anything that the checkpoint of the
 * present files does not contain: nothing is lost.
 *
 * Blocks: for forks. Ownership: checkout_result_done() releases.
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_CHECKOUT_H
#define DEFT_SANDBOX_CHECKPOINT_CHECKOUT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct file_list;
struct object_id;
struct object_store;

struct checkout_order {
    const struct object_store *store;
    const char *workspace;
    const struct file_list *present; /* of the workspace, by a checkpoint that was just taken */
    const struct object_id *tree;    /* the wanted files */
    int64_t deadline_ms;             /* clock_monotonic_ms() */
};

struct checkout_result {
    size_t n_written;
    size_t n_removed;
    json_t *kept; /* paths that were in the way and not touched, the first ones */
};

/* clang-format off */
#define CHECKOUT_RESULT_INIT {0, 0, NULL}
/* clang-format on */

void checkout_result_done(struct checkout_result *result);
/*
 * All needed objects are checked before the first file changes: ERROR_NOT_FOUND, ERROR_INVALID and
 * ERROR_TOO_LARGE leave the workspace untouched. ERROR_UNAVAILABLE if a file cannot be written.
 * ERROR_TIMEOUT after the deadline, between two files: a part of them may have been set back.
 */
int checkout_run(const struct checkout_order *order, struct checkout_result *result,
                 struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * Lists of files as git's tree objects, and back.
 *
 * Blocks: for forks. Source: git's Documentation, gitformat-pack, "tree"
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_TREE_H
#define DEFT_SANDBOX_CHECKPOINT_TREE_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "sandbox/checkpoint/object_store.h"

struct error;
struct file_list;

/* Writes the trees of a sorted list; *tree_out is the one that names all files. */
int tree_write(struct object_store *store, const struct file_list *files,
               struct object_id *tree_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Appends the files below a tree, in the order of a sorted list. The tree may come from another
 * sandbox: ERROR_INVALID for names that are no entries of a folder, or are left out of checkpoints,
 * ERROR_TOO_LARGE, ERROR_NOT_FOUND.
 */
int tree_read(const struct object_store *store, const struct object_id *tree,
              struct file_list *files, struct error *err) NONNULL MUST_CHECK;
/*
 * Appends to *ids, a list of texts, objects below a tree, and the tree itself, that the store does
 * not have, at most `max`. Errors as tree_read().
 */
int tree_list_missing(const struct object_store *store, const struct object_id *tree, size_t max,
                      json_t *ids, struct error *err) NONNULL MUST_CHECK;

#endif

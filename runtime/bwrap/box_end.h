/*
 * Ends sandboxes and removes their folders.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_BWRAP_BOX_END_H
#define DEFT_RUNTIME_BWRAP_BOX_END_H

#include "base/attr.h"

struct bwrap_host;
struct error;

/* Asks it to end, kills it after a timeout, removes its folder; success if it does not exist. */
int box_end(struct bwrap_host *host, const char *box, struct error *err) NONNULL MUST_CHECK;
/* The same for all boxes of a runtime. */
int boxes_end(struct bwrap_host *host, const char *runtime_id,
              struct error *err) NONNULL MUST_CHECK;
/* Removes a folder recursively. */
int bwrap_folder_remove(const char *path, struct error *err) NONNULL MUST_CHECK;

#endif

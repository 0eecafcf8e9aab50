/*
 * The files that a search found: the newest hundred of them, as the observation lists them.
 *
 * Ownership: the caller owns the struct until found_files_done().
 */
#ifndef DEFT_SANDBOX_SEARCH_FOUND_FILES_H
#define DEFT_SANDBOX_SEARCH_FOUND_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct walked_file;

enum { FOUND_SHOWN_MAX = 100 };

struct found_file {
    char *path;
    int64_t changed_ns;
};

struct search_results {
    struct found_file *items;
    size_t n;
};

/* clang-format off */
#define FOUND_FILES_INIT {NULL, 0}
/* clang-format on */

void found_files_done(struct search_results *files);
void found_files_add(struct search_results *files, const struct walked_file *file) NONNULL;
/* Sorts them, newest first, and returns the paths of the first FOUND_SHOWN_MAX; a new array. */
json_t *found_files_to_json(struct search_results *files) NONNULL MUST_CHECK;

#endif

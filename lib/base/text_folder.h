/*
 * The text files of a folder and its subfolders, with a second folder whose files replace those of
 * the same name: data that a process reads once, at its start.
 *
 * Ownership: text_folder_done() releases the files.
 * Threading: no state.
 */
#ifndef DEFT_BASE_TEXT_FOLDER_H
#define DEFT_BASE_TEXT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;

enum { TEXT_FILE_MAX_BYTES = 1048576, TEXT_FOLDER_MAX_FILES = 1000 };

struct text_file {
    char *name; /* below its folder, such as "prompt/role.txt" */
    char *path;
    char *text; /* UTF-8 without a NUL; never empty */
    size_t len;
    bool is_override; /* of the second folder */
};

struct text_folder {
    struct text_file *files; /* sorted by name */
    size_t n;
};

/* clang-format off */
#define TEXT_FOLDER_INIT {NULL, 0}
/* clang-format on */

void text_folder_done(struct text_folder *folder);
/*
 * Reads all .txt and .tsv files of dir and of its subfolders, one level deep, and replaces or adds
 * those of `overrides`, unless it is "". Hidden files are left out. The message of an error names
 * the file: ERROR_NOT_FOUND or ERROR_UNAVAILABLE when it cannot be read, ERROR_TOO_LARGE,
 * ERROR_INVALID for an empty one and for bytes that are not text.
 */
int text_folder_read(const char *dir, const char *overrides, struct text_folder *folder_out,
                     struct error *err) NONNULL MUST_CHECK;
/* The file of that name, or NULL. */
const struct text_file *text_folder_find(const struct text_folder *folder,
                                         const char *name) NONNULL MUST_CHECK;

#endif

/*
 * Patches as models of OpenAI write them: files between "*** Begin Patch" and "*** End Patch", each
 * added, deleted or updated, with lines found by their context rather than by number.
 *
 * Ownership: the caller owns a patch until patch_done(); it owns copies of all texts.
 * Threading: pure.
 */
#ifndef DEFT_SANDBOX_EDITOR_PATCH_H
#define DEFT_SANDBOX_EDITOR_PATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

enum patch_kind { PATCH_ADD, PATCH_DELETE, PATCH_UPDATE };

/* Lines that replace others. */
struct patch_hunk {
    char *anchor;     /* a line before them, from "@@ line"; NULL: none */
    struct strbuf is; /* each with a newline: context and removed lines */
    struct strbuf will_be;
    bool is_at_end; /* of the file */
};

struct patch_file {
    enum patch_kind kind;
    char *path;
    char *move_path;     /* NULL: not moved */
    struct strbuf added; /* of PATCH_ADD */
    struct patch_hunk *hunks;
    size_t n_hunks;
};

struct file_patch {
    struct patch_file *files;
    size_t n_files;
};

/* clang-format off */
#define PATCH_INIT {NULL, 0}
/* clang-format on */

void patch_done(struct file_patch *patch);
/* ERROR_INVALID, with the number of the line, for the model. */
int patch_read(struct file_patch *patch, const char *text, struct error *err) NONNULL MUST_CHECK;
/*
 * Appends the file's text with its hunks applied. *fuzz_io grows by 1 for each hunk that matches
 * but for white space at ends of lines, 100 for one that does but for all at their borders, and
 * 10000 for one that is not at the end of the file, as it says. ERROR_INVALID if one is not found.
 */
int patch_apply(const struct patch_file *file, const char *text, struct strbuf *out, int *fuzz_io,
                struct error *err) NONNULL MUST_CHECK;

#endif

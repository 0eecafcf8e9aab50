/*
 * The result of an editor command before it becomes an observation. Shared by the editor's files.
 */
#ifndef DEFT_SANDBOX_EDITOR_FILE_EDITOR_RESULT_H
#define DEFT_SANDBOX_EDITOR_FILE_EDITOR_RESULT_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

struct file_editor_result {
    struct strbuf text;
    char *image_url; /* of a viewed image, or NULL */
    bool is_new;     /* prev_exist is false */
    bool has_old;
    struct strbuf old_content;
    bool has_new;
    struct strbuf new_content;
};

/* clang-format off */
#define FILE_EDITOR_RESULT_INIT {STRBUF_INIT, NULL, false, false, STRBUF_INIT, false, STRBUF_INIT}
/* clang-format on */

void file_editor_result_done(struct file_editor_result *result);

/* Lines first..last of text (1-based, inclusive, within it), numbered as by `cat -n`. */
void file_editor_append_numbered(struct strbuf *out, const char *text, size_t first,
                                 size_t last) NONNULL;
/* Counts lines as an editor does: one more than newlines, without an empty last one. */
size_t file_editor_count_lines(const char *text) NONNULL MUST_CHECK;

/*
 * The view command. args may have view_range. Failures: the message is for the model.
 */
int file_editor_view(const char *path, const json_t *args, struct file_editor_result *result,
                     struct error *err) NONNULL MUST_CHECK;

#endif

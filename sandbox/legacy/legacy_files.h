/*
 * The actions of the older API that read and change files. Relative paths begin in the shell's
 * folder. Failures that a model can correct are error observations, others are errors.
 *
 * Ownership: the caller owns the observations. Errors: ERROR_INVALID for malformed arguments.
 */
#ifndef DEFT_SANDBOX_LEGACY_LEGACY_FILES_H
#define DEFT_SANDBOX_LEGACY_LEGACY_FILES_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct file_editor;

/* Context of file actions; borrowed. */
struct legacy_context {
    struct file_editor *editor;
    const char *working_dir;
};

/* path, start, end, impl_source, view_range. */
int legacy_files_read(const struct legacy_context *context, const json_t *args,
                      json_t **observation_out, struct error *err) NONNULL MUST_CHECK;
/* path, content, start, end. */
int legacy_files_write(const struct legacy_context *context, const json_t *args,
                       json_t **observation_out, struct error *err) NONNULL MUST_CHECK;
/* path, command, file_text, old_str, new_str, insert_line. */
int legacy_files_edit(const struct legacy_context *context, const json_t *args,
                      json_t **observation_out, struct error *err) NONNULL MUST_CHECK;

#endif

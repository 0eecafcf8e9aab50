/*
 * The actions of the older API that read and change files. Relative paths begin in the shell's
 * folder. Failures that a model can correct are error observations, others are errors.
 *
 * Ownership: the caller owns the observations. Errors: ERROR_INVALID for malformed arguments.
 */
#ifndef DEFT_SANDBOX_LEGACY_EXECUTE_FILES_H
#define DEFT_SANDBOX_LEGACY_EXECUTE_FILES_H

#include <jansson.h>

#include "base/attr.h"

struct editor;
struct error;

/* Context of file actions; borrowed. */
struct execute_place {
    struct editor *editor;
    const char *working_dir;
};

/* path, start, end, impl_source, view_range. */
int execute_read(const struct execute_place *place, const json_t *args, json_t **observation_out,
                 struct error *err) NONNULL MUST_CHECK;
/* path, content, start, end. */
int execute_write(const struct execute_place *place, const json_t *args, json_t **observation_out,
                  struct error *err) NONNULL MUST_CHECK;
/* path, command, file_text, old_str, new_str, insert_line. */
int execute_edit(const struct execute_place *place, const json_t *args, json_t **observation_out,
                 struct error *err) NONNULL MUST_CHECK;

#endif

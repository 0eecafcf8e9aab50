/*
 * The file_editor tool: view, create, str_replace, insert, undo_edit.
 *
 * A failing call is an observation with is_error, not an error.
 * Ownership: struct file_editor owns the versions that undo_edit can bring back.
 */
#ifndef DEFT_SANDBOX_EDITOR_FILE_EDITOR_H
#define DEFT_SANDBOX_EDITOR_FILE_EDITOR_H

#include <jansson.h>

#include "base/attr.h"

struct file_editor;

struct file_editor *file_editor_new(void) MUST_CHECK;
void file_editor_free(struct file_editor *editor);
/*
 * Executes the action's fields (an object, without kind). working_dir: for the hint when a path is
 * relative. The caller owns the FileEditorObservation.
 */
json_t *file_editor_execute(struct file_editor *editor, const json_t *args,
                            const char *working_dir) NONNULL MUST_CHECK;

#endif

/*
 * The file_editor tool: view, create, str_replace, insert, undo_edit.
 *
 * A failing call is an observation with is_error, not an error.
 * Ownership: struct editor owns the versions that undo_edit can bring back.
 */
#ifndef DEFT_SANDBOX_EDITOR_EDITOR_H
#define DEFT_SANDBOX_EDITOR_EDITOR_H

#include <jansson.h>

#include "base/attr.h"

struct editor;

struct editor *editor_new(void) MUST_CHECK;
void editor_free(struct editor *editor);
/*
 * Executes the action's fields (an object, without kind). working_dir: for the hint when a path is
 * relative. The caller owns the FileEditorObservation.
 */
json_t *editor_execute(struct editor *editor, const json_t *args,
                       const char *working_dir) NONNULL MUST_CHECK;

#endif

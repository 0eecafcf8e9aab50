/*
 * The change made by an edit, as a unified diff without context.
 */
#ifndef DEFT_SANDBOX_EDITOR_LINE_DIFF_H
#define DEFT_SANDBOX_EDITOR_LINE_DIFF_H

#include "base/attr.h"

struct strbuf;

/*
 * Appends the diff of two texts under one name; nothing when they are equal. It is one hunk, from
 * the first differing line to the last one, since an edit changes one place.
 */
void line_diff_append(struct strbuf *out, const char *name, const char *before,
                      const char *after) NONNULL;

#endif

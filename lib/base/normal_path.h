/*
 * Paths in one spelling: without empty parts, "." and "..".
 */
#ifndef DEFT_BASE_NORMAL_PATH_H
#define DEFT_BASE_NORMAL_PATH_H

#include <stddef.h>

#include "base/attr.h"

struct strbuf;

/*
 * Appends each part of the path, with a slash before it; ".." removes a part, but nothing before
 * offset root of the text. Links are not looked at.
 */
void normal_path_append(struct strbuf *out, size_t root, const char *path) NONNULL;
/* The absolute path of one that may be relative to the folder; "/" for the root. */
void normal_path_append_absolute(struct strbuf *out, const char *folder, const char *path) NONNULL;

#endif

/*
 * The path that a file route is about: the query's path, or the rest of the URL's; and how the
 * answer names a file.
 */
#ifndef DEFT_SANDBOX_HTTP_FILE_PATH_H
#define DEFT_SANDBOX_HTTP_FILE_PATH_H

#include "base/attr.h"

struct error;
struct request;
struct strbuf;

/* An absolute path; the caller frees. ERROR_INVALID `Path must be absolute`. */
int file_path_read(const struct request *request, char **path_out,
                   struct error *err) NONNULL MUST_CHECK;

/* Appends a Content-Disposition that has the answer kept as a file of that name (RFC 6266). */
void file_name_append_disposition(const char *name, struct strbuf *out) NONNULL;

#endif

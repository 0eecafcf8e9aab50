/*
 * The path that a file route acts on: the query's path, or the rest of the URL's; and the file name
 * in the answer.
 */
#ifndef DEFT_SANDBOX_HTTP_FILE_PATH_H
#define DEFT_SANDBOX_HTTP_FILE_PATH_H

#include "base/attr.h"

struct error;
struct server_request;
struct strbuf;

/* An absolute path; the caller frees. ERROR_INVALID `Path must be absolute`. */
int file_path_read(const struct server_request *request, char **path_out,
                   struct error *err) NONNULL MUST_CHECK;

/* Appends a Content-Disposition that makes clients save the answer under that name (RFC 6266). */
void file_name_append_disposition(const char *name, struct strbuf *out) NONNULL;

#endif

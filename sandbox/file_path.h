/*
 * The path that a file route is about: the query's path, or the rest of the URL's.
 */
#ifndef DEFT_SANDBOX_FILE_PATH_H
#define DEFT_SANDBOX_FILE_PATH_H

#include "base/attr.h"

struct error;
struct request;

/* An absolute path; the caller frees. ERROR_INVALID `Path must be absolute`. */
int file_path_read(const struct request *request, char **path_out,
                   struct error *err) NONNULL MUST_CHECK;

#endif

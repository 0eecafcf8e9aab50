/*
 * A folder as an archive: all of it, or only what has changed according to git.
 */
#ifndef DEFT_SANDBOX_FILES_ARCHIVE_H
#define DEFT_SANDBOX_FILES_ARCHIVE_H

#include "base/attr.h"

struct server_request;

/* GET ?path=&format=&base_ref=&use_default_excludes=&exclude= -> 200 bytes | 400 | 404 */
void archive_handle(struct server_request *request) NONNULL;

#endif

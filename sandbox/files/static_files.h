/*
 * Files served to a browser: typed by their name, a folder as its index.html.
 */
#ifndef DEFT_SANDBOX_FILES_STATIC_FILES_H
#define DEFT_SANDBOX_FILES_STATIC_FILES_H

#include "base/attr.h"

struct server_request;

/* GET ?file= -> 200 bytes | 206 | 400 outside X-Deft-Inside | 404 */
void static_files_handle(struct server_request *request) NONNULL;

#endif

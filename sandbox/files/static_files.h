/*
 * Files served to a browser: typed by their name, a folder as its index.html.
 */
#ifndef DEFT_SANDBOX_FILES_SHOWN_H
#define DEFT_SANDBOX_FILES_SHOWN_H

#include "base/attr.h"

struct request;

/* GET ?file= -> 200 bytes | 206 | 400 outside X-Deft-Inside | 404 */
void shown_handle(struct request *request) NONNULL;

#endif

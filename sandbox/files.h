/*
 * Routes below /api/file: upload, download, directories.
 * Source: docs/api/action-server.md
 */
#ifndef DEFT_SANDBOX_FILES_H
#define DEFT_SANDBOX_FILES_H

#include "base/attr.h"

struct request;

void files_begin_upload(struct request *request) NONNULL;
void files_handle_upload(struct request *request) NONNULL;
void files_handle_download(struct request *request) NONNULL;
void files_handle_create_directory(struct request *request) NONNULL;
void files_handle_home(struct request *request) NONNULL;
void files_handle_search(struct request *request) NONNULL;

#endif

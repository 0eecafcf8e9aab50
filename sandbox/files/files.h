/*
 * Routes below /api/file: upload, download, directories.
 * Source: docs/api/action-server.md
 */
#ifndef DEFT_SANDBOX_FILES_FILES_H
#define DEFT_SANDBOX_FILES_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/attr.h"

struct server_request;

/* Handlers of the route table, sandbox/action_routes.c; the first is called before the body. */
void files_begin_upload(struct server_request *request) NONNULL;
void files_handle_upload(struct server_request *request) NONNULL;
void files_handle_download(struct server_request *request) NONNULL;
void files_handle_create_directory(struct server_request *request) NONNULL;
void files_handle_home(struct server_request *request) NONNULL;
void files_handle_search(struct server_request *request) NONNULL;

struct opened_file {
    int fd;
    struct stat info;
};

/* Opens a regular file; false: the request has been answered with 400, 403 or 404 and a message. */
bool files_open(struct server_request *request, const char *path,
                struct opened_file *file_out) NONNULL MUST_CHECK;
/*
 * Answers with the file's bytes, or the requested range; takes ownership of the descriptor.
 * content_type must be a constant.
 */
void files_answer(struct server_request *request, const struct opened_file *file,
                  const char *content_type) NONNULL;

#endif

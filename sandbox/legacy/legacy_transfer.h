/*
 * Uploads of files and downloads of folders for clients of the older action API: an uploaded zip
 * archive is unpacked in place, and a folder is sent as one. A failure is a 500 whose message
 * begins with the status it would have.
 * Source: docs/api/action-execution.md
 */
#ifndef DEFT_SANDBOX_LEGACY_EXECUTE_TRANSFER_H
#define DEFT_SANDBOX_LEGACY_EXECUTE_TRANSFER_H

#include "base/attr.h"

struct request;

/* POST ?destination=&recursive= multipart `file` -> 200 {"filename","destination","recursive"} */
void execute_upload_begin(struct request *request) NONNULL;
void execute_upload_handle(struct request *request) NONNULL;
/* GET ?path= -> 200 zip */
void execute_download_handle(struct request *request) NONNULL;

#endif

/*
 * Uploads of files and downloads of folders for clients of the older action API: an uploaded zip
 * archive is unpacked in place, and a folder is sent as one. A failure is a 500 whose message
 * begins with the status it would have.
 * Source: docs/api/action-execution.md
 */
#ifndef DEFT_SANDBOX_LEGACY_LEGACY_TRANSFER_H
#define DEFT_SANDBOX_LEGACY_LEGACY_TRANSFER_H

#include "base/attr.h"

struct server_request;

/* POST ?destination=&recursive= multipart `file` -> 200 {"filename","destination","recursive"} */
void legacy_upload_begin(struct server_request *request) NONNULL;
void legacy_upload_handle(struct server_request *request) NONNULL;
/* GET ?path= -> 200 zip */
void legacy_download_handle(struct server_request *request) NONNULL;

#endif

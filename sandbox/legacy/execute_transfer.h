/*
 * Files up and folders down, as clients of the older action API send and expect them: a zip archive
 * is unpacked where it arrives, and a folder leaves as one. What fails is a 500 whose words begin
 * with the status it would be.
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

/*
 * Unpacks a zip archive from an untrusted source into a folder, and nowhere else: a name that leads
 * out of it, by "..", a leading slash or an existing link, is an error. Blocks: only in forks.
 *
 * Source: PKWARE APPNOTE 6.3: stored and deflated files, zip64.
 * Decision: docs/decisions/0026-zip-in-the-sandbox.md, 0070-archives-and-checksums.md
 */
#ifndef DEFT_SANDBOX_FILES_UNZIP_H
#define DEFT_SANDBOX_FILES_UNZIP_H

#include "base/attr.h"

struct error;

/*
 * Files unpacked before an error stay. ERROR_INVALID for an invalid archive, or one that leads out;
 * ERROR_TOO_LARGE; ERROR_UNAVAILABLE with the system's message.
 */
int unzip_into(int archive_fd, const char *folder, struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * Unpacks a zip archive of whatever making into a folder, and nowhere else: a name that leads out
 * of it, by "..", by a slash at its beginning or by a link that is there, ends the work. Blocks:
 * only for jobs (job.h).
 *
 * Source: PKWARE APPNOTE 6.3: stored and deflated files, zip64.
 */
#ifndef DEFT_SANDBOX_FILES_UNZIP_H
#define DEFT_SANDBOX_FILES_UNZIP_H

#include "base/attr.h"

struct error;

/*
 * What was unpacked before an error stays. ERROR_INVALID for what is no such archive, or leads out;
 * ERROR_TOO_LARGE; ERROR_UNAVAILABLE with the system's words.
 */
int unzip_into(int archive_fd, const char *folder, struct error *err) NONNULL MUST_CHECK;

#endif

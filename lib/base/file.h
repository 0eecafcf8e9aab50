/*
 * Reading small whole files, and descriptors that close themselves.
 */
#ifndef DEFT_BASE_FILE_H
#define DEFT_BASE_FILE_H

#include <stddef.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* For CLEANUP(fd_close) on an int; -1 is fine. */
void fd_close(int *fd) NONNULL;
/* Moves a descriptor out of a CLEANUP variable. */
int fd_take(int *fd) NONNULL MUST_CHECK;
/* Appends the file's bytes; ERROR_NOT_FOUND, ERROR_TOO_LARGE above max_bytes, ERROR_UNAVAILABLE. */
int file_read(const char *path, size_t max_bytes, struct strbuf *out,
              struct error *err) NONNULL MUST_CHECK;
/* Writes all bytes, retrying short writes and EINTR. */
int fd_write_all(int fd, const void *bytes, size_t len, struct error *err) MUST_CHECK;

#endif

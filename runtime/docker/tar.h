/*
 * Writes archives for the engine's archive call, in memory: directories and regular files only.
 *
 * Source: POSIX.1-2017, pax, "ustar Interchange Format".
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_DOCKER_TAR_H
#define DEFT_RUNTIME_DOCKER_TAR_H

#include <stddef.h>

#include "base/attr.h"

struct strbuf;

struct tar_entry {
    const char *name; /* relative, at most 99 bytes */
    unsigned mode;    /* permission bits */
    unsigned owner;   /* uid */
    unsigned group;   /* gid */
};

/* Appends a directory. */
void tar_append_directory(struct strbuf *out, const struct tar_entry *entry) NONNULL;
/* Appends a regular file with its contents. */
void tar_append_file(struct strbuf *out, const struct tar_entry *entry, const void *bytes,
                     size_t len) NONNULL;
/* Appends the two zero blocks that end an archive. */
void tar_append_end(struct strbuf *out) NONNULL;

#endif

/*
 * The command that starts a sandbox: bubblewrap and its arguments. Reads the tree that the sandbox
 * gets, changes nothing.
 *
 * Ownership: a list of arguments is released with arguments_done().
 * Source:    bwrap(1)
 */
#ifndef DEFT_RUNTIME_BWRAP_BWRAP_ARGUMENTS_H
#define DEFT_RUNTIME_BWRAP_BWRAP_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* Inherited descriptors; all others are closed. */
enum {
    BWRAP_LISTENER_FD = 3,
    BWRAP_STATUS_FD = 4,
    BWRAP_SECCOMP_FD = 5,
    BWRAP_PREVIEW_FD = 6,
    BWRAP_N_FDS = 7
};

struct arguments {
    char **items; /* ends with NULL unless empty */
    size_t n;
};

void arguments_done(struct arguments *arguments) NONNULL;
/* Appends a copy of the text. */
void arguments_add(struct arguments *arguments, const char *text) NONNULL;

/* A folder of the host, and the path of its read-only mount. */
struct bwrap_mount {
    const char *from;
    const char *to;
};

/* Paths on the host. */
struct bwrap_paths {
    const char *root; /* "": the host's files */
    const char *agent_build;
    const char *workspace;
    const char *journal;
    const char *user; /* the home folder's files */
    const struct bwrap_mount *views;
    size_t n_views;
    int64_t tmp_bytes;
    int64_t shm_bytes;
    bool has_host_network;
    bool has_seccomp;
};

/* ERROR_UNAVAILABLE if the root cannot be read. */
int bwrap_arguments_append(struct arguments *arguments, const struct bwrap_paths *places,
                           struct error *err) NONNULL MUST_CHECK;

#endif

/*
 * State of the process back end.
 *
 * Ownership: bwrap_backend.h creates and releases it.
 * Threading: settings and names are read-only after the first preparation; the lock guards the
 * rest.
 */
#ifndef DEFT_RUNTIME_BWRAP_BWRAP_HOST_H
#define DEFT_RUNTIME_BWRAP_BWRAP_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/lock.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/prealloc.h"
#include "runtime/bwrap/bwrap_settings.h"
#include "runtime/bwrap/cgroup.h"

#define BOX_ID_BYTES 32
#define AGENT_BUILD_BYTES 16

/* A box whose end is awaited. */
struct watched_box {
    char box[BOX_ID_BYTES];
    int pidfd;
    bool is_child; /* our child: must be waited for */
};

struct bwrap_host {
    struct backend backend; /* must be first */
    struct bwrap_settings settings;
    struct prealloc *prealloc; /* homes that are in no row yet */
    char agent_build[AGENT_BUILD_BYTES];
    struct cgroups cgroups;
    int wake_fd;
    struct lock lock;   /* guards all below */
    struct error state; /* ERROR_NONE: bubblewrap works here */
    struct watched_box *watched;
    size_t n_watched;
    bool is_stopping;
};

#endif

/*
 * Sandboxes as processes of this host, each in namespaces of its own that bubblewrap makes: for a
 * machine without a container engine. They isolate less: one kernel and one set of files, those of
 * the default image or of the host, for all; no network of their own that rules could bound.
 *
 * What is known of a sandbox lies in files (boxes/), so that a service that is started again finds
 * it: nothing ends with the service.
 *
 * Ownership: the backend's free function releases it; settings' texts live as long as the process.
 */
#ifndef DEFT_RUNTIME_BWRAP_PROCESS_H
#define DEFT_RUNTIME_BWRAP_PROCESS_H

#include <stdint.h>

#include "base/attr.h"

struct backend;
struct error;

struct process_settings {
    const char *instance;
    const char *folder;  /* where everything is kept; others may pass through it */
    const char *root;    /* tree of the default image; "": the host's programs, read-only */
    const char *image;   /* the one name that a start may give */
    const char *network; /* "none", or "host" */
    const char *cgroups; /* where control groups are; "none": none are made */
    const char *action_binary;
    const char *ca_bundle;       /* "" or missing: none */
    const char *seccomp_profile; /* JSON text; "": none */
    int64_t ready_ms;
    int64_t memory_bytes; /* this and processors: where control groups can be made */
    int64_t nano_cpus;
    int64_t n_pids;
    int64_t n_files;
    int64_t oom_score_adj;
    int64_t tmp_bytes;
    int64_t shm_bytes;
    int64_t disk_bytes; /* of one file; 0: any */
};

/* ERROR_NOT_FOUND when deft-action is missing; ERROR_INVALID for settings that make no sense. */
int process_new(const struct process_settings *settings, struct backend **backend_out,
                struct error *err) NONNULL MUST_CHECK;

#endif

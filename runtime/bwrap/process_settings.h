/*
 * What an operator sets for the back end of processes.
 *
 * Ownership: texts live as long as the process.
 */
#ifndef DEFT_RUNTIME_BWRAP_PROCESS_SETTINGS_H
#define DEFT_RUNTIME_BWRAP_PROCESS_SETTINGS_H

#include <stdint.h>

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

#endif

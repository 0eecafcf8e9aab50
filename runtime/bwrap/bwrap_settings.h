/*
 * Settings of the process back end.
 *
 * Ownership: texts live as long as the process.
 */
#ifndef DEFT_RUNTIME_BWRAP_BWRAP_SETTINGS_H
#define DEFT_RUNTIME_BWRAP_BWRAP_SETTINGS_H

#include <stdint.h>

struct bwrap_settings {
    const char *instance;
    const char *folder;  /* for all files; other users can traverse it (mode 0711) */
    const char *root;    /* tree of the default image; "": the host's files, read-only */
    const char *image;   /* the only name that a start may give */
    const char *network; /* "none", or "host" */
    const char *cgroups; /* their mount point; "none": use none */
    const char *action_binary;
    const char *ca_bundle;       /* "" or missing: none */
    const char *seccomp_profile; /* JSON text; "": none */
    int64_t ready_ms;
    int64_t memory_bytes; /* this and processors: only with control groups */
    int64_t nano_cpus;
    int64_t n_pids;
    int64_t n_files;
    int64_t oom_score_adj;
    int64_t tmp_bytes;
    int64_t shm_bytes;
    int64_t disk_bytes; /* of one file; 0: unlimited */
};

#endif

/*
 * Control groups of the host, version 1 or 2, as far as this process may make them: they bound the
 * memory and the processes of a sandbox, and hold it still.
 *
 * Ownership: a struct groups is a plain value; a sandbox's group is known by the sandbox's name.
 * Threading: read-only after groups_find().
 * Source:    Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/
 */
#ifndef DEFT_RUNTIME_PROCESS_GROUP_H
#define DEFT_RUNTIME_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

enum group_kind { GROUP_MEMORY, GROUP_PIDS, GROUP_FREEZER, GROUP_N_KINDS };

struct groups {
    char roots[GROUP_N_KINDS][128]; /* folder of ours in each hierarchy; "": it cannot be had */
    bool is_unified;
};

struct group_limits {
    int64_t memory_bytes;
    int64_t n_pids;
};

/* Finds out what can be had here, in groups of that name. */
void groups_find(struct groups *groups, const char *name) NONNULL;
/* Removes our own folders; those with something in them stay. */
void groups_remove(const struct groups *groups) NONNULL;
/* "memory, processes, freezing"; "nothing". */
void groups_describe(const struct groups *groups, char text[64]) NONNULL;

/* Makes a sandbox's group. What cannot be bounded is not: groups_describe() has said so. */
void group_make(const struct groups *groups, const char *name,
                const struct group_limits *limits) NONNULL;
/* Descriptors of the files through which a process enters ("0"); -1 where there is none. */
void group_open(const struct groups *groups, const char *name, int fds[GROUP_N_KINDS]) NONNULL;
void group_remove(const struct groups *groups, const char *name) NONNULL;
bool group_has_freezer(const struct groups *groups, const char *name) NONNULL MUST_CHECK;
/* Returns when all in it are held, or go on. */
int group_freeze(const struct groups *groups, const char *name,
                 struct error *err) NONNULL MUST_CHECK;
int group_thaw(const struct groups *groups, const char *name, struct error *err) NONNULL MUST_CHECK;
bool group_is_frozen(const struct groups *groups, const char *name) NONNULL MUST_CHECK;
/* Whether something in it was ended for want of memory. */
bool group_ran_out_of_memory(const struct groups *groups, const char *name) NONNULL MUST_CHECK;

#endif

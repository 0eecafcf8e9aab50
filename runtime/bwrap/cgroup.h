/*
 * Control groups of the host, as far as this process may create them: they limit a sandbox's
 * memory, processes and processors, freeze it, and end all of it at once.
 *
 * Freezing and ending need version 2, which reports both by an event; they need no controller, so
 * they work next to version 1, too. Limits are set in whichever version has the controller.
 *
 * Ownership: a struct cgroups is a plain value; a sandbox's group has the sandbox's name.
 * Threading: read-only after cgroups_find().
 * Source:    Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/
 */
#ifndef DEFT_RUNTIME_BWRAP_CGROUP_H
#define DEFT_RUNTIME_BWRAP_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct strbuf;

enum cgroup_kind { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_FREEZER, CGROUP_N_KINDS };

struct cgroups {
    char roots[CGROUP_N_KINDS][128]; /* our folder in each hierarchy; "": not available */
    bool is_unified[CGROUP_N_KINDS]; /* that hierarchy is version 2 */
};

struct cgroup_limits {
    int64_t memory_bytes;
    int64_t n_pids;
    int64_t nano_cpus;
};

/* Finds out which kinds are available below `top` (/sys/fs/cgroup); `name` names our folders. */
void cgroups_find(struct cgroups *cgroups, const char *top, const char *name) NONNULL;
/* Removes our folders; non-empty ones are kept. */
void cgroups_remove(const struct cgroups *cgroups) NONNULL;
/* "memory, processes, processors, freezing"; "nothing". */
void cgroups_describe(const struct cgroups *cgroups, char text[64]) NONNULL;

/* Creates a sandbox's group. Skips limits that are not available, see cgroups_describe(). */
void cgroup_make(const struct cgroups *cgroups, const char *name,
                 const struct cgroup_limits *limits) NONNULL;
/* Appends the folder with the sandbox's limits, and the path where programs expect it; false if
 * there is none of that kind, or another kind's view includes it. */
bool cgroup_append_mount(const struct cgroups *cgroups, enum cgroup_kind kind, const char *name,
                         struct strbuf *from, struct strbuf *to) NONNULL MUST_CHECK;
/* Descriptors of the files by which a process enters (it writes "0"); -1: none. */
void cgroup_open(const struct cgroups *cgroups, const char *name, int fds[CGROUP_N_KINDS]) NONNULL;
/* Success if it does not exist; ERROR_UNAVAILABLE if it is not empty. */
int cgroup_remove(const struct cgroups *cgroups, const char *name,
                  struct error *err) NONNULL MUST_CHECK;
/* Whether it can be frozen and ended as a whole. */
bool cgroup_has_freezer(const struct cgroups *cgroups, const char *name) NONNULL MUST_CHECK;
/* Return once all of its processes are frozen, or running again. */
int cgroup_freeze(const struct cgroups *cgroups, const char *name,
                  struct error *err) NONNULL MUST_CHECK;
int cgroup_thaw(const struct cgroups *cgroups, const char *name,
                struct error *err) NONNULL MUST_CHECK;
bool cgroup_is_frozen(const struct cgroups *cgroups, const char *name) NONNULL MUST_CHECK;
/* Ends all of its processes, and returns when none are left. */
int cgroup_end(const struct cgroups *cgroups, const char *name,
               struct error *err) NONNULL MUST_CHECK;
/* Whether one of its processes was ended for lack of memory. */
bool cgroup_ran_out_of_memory(const struct cgroups *cgroups, const char *name) NONNULL MUST_CHECK;

#endif

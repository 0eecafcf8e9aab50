/*
 * Control groups of the host, as far as this process may create them: they limit a sandbox's
 * memory, processes and processors, freeze it, and end all of it at once.
 *
 * Freezing and ending need version 2, which reports both by an event; they need no controller, so
 * they work next to version 1, too. Limits are set in whichever version has the controller.
 *
 * Ownership: a struct groups is a plain value; a sandbox's group has the sandbox's name.
 * Threading: read-only after groups_find().
 * Source:    Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/
 */
#ifndef DEFT_RUNTIME_BWRAP_PROCESS_GROUP_H
#define DEFT_RUNTIME_BWRAP_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct strbuf;

enum group_kind { GROUP_MEMORY, GROUP_PIDS, GROUP_CPU, GROUP_LIFE, GROUP_N_KINDS };

struct groups {
    char roots[GROUP_N_KINDS][128]; /* our folder in each hierarchy; "": not available */
    bool is_unified[GROUP_N_KINDS]; /* that hierarchy is version 2 */
};

struct group_limits {
    int64_t memory_bytes;
    int64_t n_pids;
    int64_t nano_cpus;
};

/* Finds out which kinds are available below `top` (/sys/fs/cgroup); `name` names our folders. */
void groups_find(struct groups *groups, const char *top, const char *name) NONNULL;
/* Removes our folders; non-empty ones are kept. */
void groups_remove(const struct groups *groups) NONNULL;
/* "memory, processes, processors, freezing"; "nothing". */
void groups_describe(const struct groups *groups, char text[64]) NONNULL;

/* Creates a sandbox's group. Skips limits that are not available, see groups_describe(). */
void group_make(const struct groups *groups, const char *name,
                const struct group_limits *limits) NONNULL;
/* Appends the folder with the sandbox's limits, and the path where programs expect it; false if
 * there is none of that kind, or another kind's view includes it. */
bool group_append_view(const struct groups *groups, enum group_kind kind, const char *name,
                       struct strbuf *from, struct strbuf *to) NONNULL MUST_CHECK;
/* Descriptors of the files by which a process enters (it writes "0"); -1: none. */
void group_open(const struct groups *groups, const char *name, int fds[GROUP_N_KINDS]) NONNULL;
/* Success if it does not exist; ERROR_UNAVAILABLE if it is not empty. */
int group_remove(const struct groups *groups, const char *name,
                 struct error *err) NONNULL MUST_CHECK;
/* Whether it can be frozen and ended as a whole. */
bool group_has_life(const struct groups *groups, const char *name) NONNULL MUST_CHECK;
/* Return once all of its processes are frozen, or running again. */
int group_freeze(const struct groups *groups, const char *name,
                 struct error *err) NONNULL MUST_CHECK;
int group_thaw(const struct groups *groups, const char *name, struct error *err) NONNULL MUST_CHECK;
bool group_is_frozen(const struct groups *groups, const char *name) NONNULL MUST_CHECK;
/* Ends all of its processes, and returns when none are left. */
int group_end(const struct groups *groups, const char *name, struct error *err) NONNULL MUST_CHECK;
/* Whether one of its processes was ended for lack of memory. */
bool group_ran_out_of_memory(const struct groups *groups, const char *name) NONNULL MUST_CHECK;

#endif

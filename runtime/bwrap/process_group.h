/*
 * Control groups of the host, as far as this process may make them: they bound the memory, the
 * processes and the processors of a sandbox, hold it still, and end all of it at once.
 *
 * Holding and ending is version 2's alone, which tells of both by an event; it needs no controller,
 * so that it works beside version 1, too. Bounds are set in whichever version has the controller.
 *
 * Ownership: a struct groups is a plain value; a sandbox's group is known by the sandbox's name.
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
    char roots[GROUP_N_KINDS][128]; /* folder of ours in each hierarchy; "": it cannot be had */
    bool is_unified[GROUP_N_KINDS]; /* that hierarchy is version 2's */
};

struct group_limits {
    int64_t memory_bytes;
    int64_t n_pids;
    int64_t nano_cpus;
};

/* Finds out what can be had below that folder (/sys/fs/cgroup), in groups of that name. */
void groups_find(struct groups *groups, const char *top, const char *name) NONNULL;
/* Removes our own folders; those with something in them stay. */
void groups_remove(const struct groups *groups) NONNULL;
/* "memory, processes, processors, freezing"; "nothing". */
void groups_describe(const struct groups *groups, char text[64]) NONNULL;

/* Makes a sandbox's group. What cannot be bounded is not: groups_describe() has said so. */
void group_make(const struct groups *groups, const char *name,
                const struct group_limits *limits) NONNULL;
/* Appends the folder of the files that say how it is bounded, and the one at which programs look
 * for them; false when there is none of that kind, or it is shown with another one. */
bool group_append_view(const struct groups *groups, enum group_kind kind, const char *name,
                       struct strbuf *from, struct strbuf *to) NONNULL MUST_CHECK;
/* Descriptors of the files through which a process enters ("0"); -1 where there is none. */
void group_open(const struct groups *groups, const char *name, int fds[GROUP_N_KINDS]) NONNULL;
/* A missing one is success; ERROR_UNAVAILABLE while something is in it. */
int group_remove(const struct groups *groups, const char *name,
                 struct error *err) NONNULL MUST_CHECK;
/* Whether it can be held and ended as a whole. */
bool group_has_life(const struct groups *groups, const char *name) NONNULL MUST_CHECK;
/* Return when all in it are held, or go on. */
int group_freeze(const struct groups *groups, const char *name,
                 struct error *err) NONNULL MUST_CHECK;
int group_thaw(const struct groups *groups, const char *name, struct error *err) NONNULL MUST_CHECK;
bool group_is_frozen(const struct groups *groups, const char *name) NONNULL MUST_CHECK;
/* Ends all in it, and returns when nothing is left. */
int group_end(const struct groups *groups, const char *name, struct error *err) NONNULL MUST_CHECK;
/* Whether something in it was ended for want of memory. */
bool group_ran_out_of_memory(const struct groups *groups, const char *name) NONNULL MUST_CHECK;

#endif

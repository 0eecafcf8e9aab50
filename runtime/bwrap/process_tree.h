/*
 * The descendants of a process of this host, as /proc shows them.
 *
 * Ownership: a list is released with process_tree_done().
 */
#ifndef DEFT_RUNTIME_BWRAP_PROCESS_TREE_H
#define DEFT_RUNTIME_BWRAP_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

struct process_entry {
    pid_t pid;
    pid_t parent;
    char state;                 /* as in proc(5): 'R', 'S', 'T', 'Z', … */
    unsigned long long started; /* ticks since boot: tells it from others with the same pid */
};

/* Parents before their children; the first one is the top. */
struct process_tree {
    struct process_entry *items;
    size_t n;
};

void process_tree_done(struct process_tree *tree) NONNULL;
/* ERROR_NOT_FOUND if there is no such process. */
int process_tree_read(pid_t top, struct process_tree *tree_out,
                      struct error *err) NONNULL MUST_CHECK;
/* False if there is no such process. */
bool process_entry_read(pid_t pid, struct process_entry *entry_out) NONNULL MUST_CHECK;
/*
 * Stop all processes, new ones included, and continue them. Parents are stopped first and continued
 * last, so that no shell sees a stopped child and takes it for its user's job control.
 */
int process_tree_stop(pid_t top, struct error *err) NONNULL MUST_CHECK;
int process_tree_continue(pid_t top, struct error *err) NONNULL MUST_CHECK;
/* Kills all of them, stopped first if possible, so that none can fork. */
int process_tree_end(pid_t top, struct error *err) NONNULL MUST_CHECK;
/* Whether the top process is stopped. */
bool process_tree_is_stopped(pid_t top) MUST_CHECK;
/*
 * The server: the first process, or its first child in a sandbox of an older version, whose first
 * process is bubblewrap's own. 0 if it has not started.
 */
pid_t process_tree_server(const struct process_tree *tree) NONNULL MUST_CHECK;
/* Whether only the server and waiting shells are running. */
bool process_tree_is_at_rest(const struct process_tree *tree) NONNULL MUST_CHECK;

#endif

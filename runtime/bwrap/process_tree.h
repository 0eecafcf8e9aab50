/*
 * The processes below one process of this host, as /proc shows them.
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
    char state; /* as in proc(5): 'R', 'S', 'T', 'Z', … */
    unsigned long long
        started; /* ticks after the host's start: tells it from others of that number */
};

/* Parents before their children; the first is the one that was asked for. */
struct process_tree {
    struct process_entry *items;
    size_t n;
};

void process_tree_done(struct process_tree *tree) NONNULL;
/* ERROR_NOT_FOUND when there is no such process. */
int process_tree_read(pid_t top, struct process_tree *tree_out,
                      struct error *err) NONNULL MUST_CHECK;
/* False when there is no such process. */
bool process_entry_read(pid_t pid, struct process_entry *entry_out) NONNULL MUST_CHECK;
/*
 * Holds all of them where they are; new ones that appear meanwhile, too. Parents first, and on
 * their way back last, so that no shell sees a child of its own held, and takes it for its user's
 * wish.
 */
int process_tree_stop(pid_t top, struct error *err) NONNULL MUST_CHECK;
int process_tree_continue(pid_t top, struct error *err) NONNULL MUST_CHECK;
/* Ends all of them, held before, so that none makes another one meanwhile. */
int process_tree_end(pid_t top, struct error *err) NONNULL MUST_CHECK;
/* Whether the one that was asked for is held. */
bool process_tree_is_stopped(pid_t top) MUST_CHECK;
/*
 * The server: the first process, or its first child in a sandbox of before, where bubblewrap's own
 * program was the first. 0 where it has not begun.
 */
pid_t process_tree_server(const struct process_tree *tree) NONNULL MUST_CHECK;
/* Whether only the server and shells that wait are there. */
bool process_tree_is_at_rest(const struct process_tree *tree) NONNULL MUST_CHECK;

#endif

/*
 * Start and end of each deft process: the options that all share, settings and log, and termination
 * signals. For main.c: nothing else prints, or chooses an exit status.
 *
 * Threading: all before the process's first thread.
 * Decision: docs/decisions/0053-heaps.md
 */
#ifndef DEFT_BASE_PROCESS_H
#define DEFT_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;
struct setting;

struct process {
    const char *name; /* "deft-worker" */
    const char *help; /* what --help prints */
    const struct setting *settings;
    size_t n_settings;
};

/*
 * Handles --help, --help-config and --version: prints to standard output and sets the exit status
 * in *status_out; false for any other option.
 */
bool process_answer(const struct process *process, const char *option,
                    int *status_out) NONNULL MUST_CHECK;
/* Reports an unknown option on standard error; returns the exit status. */
int process_refuse(const struct process *process, const char *option) NONNULL MUST_CHECK;
/*
 * Reads the settings (zeroed by the caller) and starts logging at the level that one of their
 * fields contains. ERROR_INVALID names the variable.
 */
int process_configure(const struct process *process, void *settings, const char *const *log_level,
                      struct error *err) NONNULL MUST_CHECK;
/* Reports on standard error why the process ends; returns the exit status. */
int process_complain(const struct process *process, const struct error *err) NONNULL MUST_CHECK;

/* A descriptor that becomes readable on SIGTERM or SIGINT; SIGPIPE is ignored. */
int process_open_stop(int *fd_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Bounds the memory that a process keeps after a load peak: its threads share few heaps, and freed
 * allocations of large_bytes or more return to the system, at the cost of a page fault per 4 KB:
 * large_bytes should be above what most requests need. Call before the first thread.
 */
void process_bound_heaps(int large_bytes);

/*
 * Returns what the calling thread's stack has held below its present depth to the kernel: the pages
 * that a deep call has touched stay the thread's until its end otherwise. Costs a system call, and
 * a page fault for each page that is used again: for threads that wait for long, in great numbers.
 * Only for threads made by pthread_create().
 */
void process_release_stack(void);

#endif

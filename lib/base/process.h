/*
 * How each of deft's processes begins and ends: the options that all have, settings and log, and
 * the signals that ask for the end. Belongs to main.c: nothing else prints, or chooses an exit
 * status.
 *
 * Threading: all before the process's first thread.
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
 * Answers --help, --help-config and --version on standard output, with the exit status in
 * *status_out; false for any other option.
 */
bool process_answer(const struct process *process, const char *option,
                    int *status_out) NONNULL MUST_CHECK;
/* Complains of an option on standard error; the exit status for that. */
int process_refuse(const struct process *process, const char *option) NONNULL MUST_CHECK;
/*
 * Reads the settings (zeroed by the caller) and begins to log at the level that is in one of their
 * fields. ERROR_INVALID names the variable.
 */
int process_configure(const struct process *process, void *settings, const char *const *log_level,
                      struct error *err) NONNULL MUST_CHECK;
/* Says on standard error why the process ends; the exit status for that. */
int process_complain(const struct process *process, const struct error *err) NONNULL MUST_CHECK;

/* SIGTERM and SIGINT as a descriptor that becomes readable; SIGPIPE is ignored. */
int process_open_stop(int *fd_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Bounds the memory that a process keeps after load: its threads share few heaps, and allocations
 * of large_bytes or more go back to the system when they are freed, which costs a page fault for
 * each 4 KB: it is more than what most requests need. Call it before the first thread.
 */
void process_bound_heaps(int large_bytes);

#endif

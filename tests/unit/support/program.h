/*
 * Runs a program of the build as a process of its own.
 *
 * Ownership: program_wait() releases a started program.
 */
#ifndef DEFT_TESTS_UNIT_SUPPORT_PROGRAM_H
#define DEFT_TESTS_UNIT_SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

struct strbuf;

struct program {
    pid_t pid;
    int in_fd;  /* to its input; -1: closed */
    int out_fd; /* from its output */
    int err_fd; /* from its errors */
};

/* arguments[0] is the program's path; the list ends with NULL. */
struct program program_start(char *const *arguments) NONNULL MUST_CHECK;
void program_end_input(struct program *program) NONNULL;
/* Reads what it writes until the text was there; false when it ended before. */
bool program_await(struct program *program, const char *text) NONNULL MUST_CHECK;
/* Ends its input, appends what it writes until it ends, and returns its exit status, or -1. */
int program_wait(struct program *program, struct strbuf *out, struct strbuf *err) NONNULL;
/* As above for a program without input. */
int program_run(char *const *arguments, struct strbuf *out, struct strbuf *err) NONNULL;

#endif

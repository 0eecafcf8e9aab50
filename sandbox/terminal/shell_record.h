/*
 * The records that a shell writes to its pipe at the end of each command: five fields, each ended
 * by NUL. The first is "nonce;number"; other data is skipped.
 */
#ifndef DEFT_SANDBOX_TERMINAL_SHELL_RECORD_H
#define DEFT_SANDBOX_TERMINAL_SHELL_RECORD_H

#include <stdbool.h>

#include "base/attr.h"

struct strbuf;

/* Exit code of a command that disabled the shell's records. */
#define SHELL_EXIT_UNKNOWN (-1)

/* The shell's report of a finished command. */
struct shell_record {
    int exit_code;
    int background_pid; /* of the last background job; -1: none */
    const char *cwd;    /* both borrowed until the next command */
    const char *path;
};

/*
 * Finds the next complete record with that key in the bytes and removes it and everything before
 * it. The texts of *record_out are copied to *kept. False when there is none yet.
 */
bool shell_record_next(struct strbuf *bytes, const char *key, struct strbuf *kept,
                       struct shell_record *record_out) NONNULL MUST_CHECK;

#endif

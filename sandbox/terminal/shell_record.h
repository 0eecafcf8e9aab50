/*
 * The records that a shell writes on its pipe at the end of each command: five fields, each ended
 * by NUL. The first is "nonce;number"; what does not begin so is skipped.
 */
#ifndef DEFT_SANDBOX_TERMINAL_SHELL_RECORD_H
#define DEFT_SANDBOX_TERMINAL_SHELL_RECORD_H

#include <stdbool.h>

#include "base/attr.h"

struct strbuf;

/* Of a command that took away the shell's way to say it. */
#define SHELL_EXIT_UNKNOWN (-1)

/* What a shell said when a command was over. */
struct shell_record {
    int exit_code;
    int background_pid; /* of the last background job, -1 */
    const char *cwd;    /* both borrowed until the next command */
    const char *path;
};

/*
 * Finds the next complete record of that key in the bytes and removes it with all before it. The
 * texts of *record_out are copied to *kept. False when there is none yet.
 */
bool shell_record_next(struct strbuf *bytes, const char *key, struct strbuf *kept,
                       struct shell_record *record_out) NONNULL MUST_CHECK;

#endif

/*
 * Runs programs to completion and captures their output. Blocks: only in forks, never on the
 * loop's thread.
 *
 * Ownership: the caller's; program_result_done() releases.
 */
#ifndef DEFT_SANDBOX_CORE_PROGRAM_H
#define DEFT_SANDBOX_CORE_PROGRAM_H

#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

struct program {
    const char *path;
    const char *const *argv; /* ends with NULL */
    char *const *envp;       /* ends with NULL */
    int out_fd;              /* receives its output; -1: into the result */
    size_t max_out_bytes;
};

struct program_result {
    int exit_code; /* 128 + n when a signal n ended it */
    struct strbuf out;
    struct strbuf complaint; /* start of its standard error, trimmed */
};

/* clang-format off */
#define PROGRAM_RESULT_INIT {0, STRBUF_INIT, STRBUF_INIT}
/* clang-format on */

void program_result_done(struct program_result *result);
/*
 * Runs it to completion, without input. ERROR_UNAVAILABLE when it cannot run, ERROR_TOO_LARGE when
 * it prints too much (it is then killed).
 */
int program_run(const struct program *program, struct program_result *result,
                struct error *err) NONNULL MUST_CHECK;

#endif
